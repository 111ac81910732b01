"""How well a rule answers labelled rows: counts that add up, and what they say in plain words."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from scipy import sparse

from polyceptron.data.blocks import Block, count_threads
from polyceptron.data.scaling import identity
from polyceptron.data.source import Codes, Source, View
from polyceptron.rule import Rule, show_label
from polyceptron.scoring import as_rows, is_kernel_ready, scores
from polyceptron.utils.text import quoted
from polyceptron.utils.types import Floats

_SAMPLE_ROWS, _SAMPLE_VALUES = 20_000, 2_000_000
"""That tell whether a column is an identifier, at most."""
_FEWEST = 15
"""Rows below which any column of whole numbers may be of different ones."""
_REPEATS = 7
"""Of so many repeats that chance would give, none is left with a chance of 1 in 1,000."""
_NAMED = re.compile(r"(?i:(^|[^a-z])(id|uuid|index|key|row|nr|no|number)$)|[a-z](Id|ID)$")
_MOST_LISTED = 3
_WEAK = 2 / 3
"""A class is weak of which a smaller share is found."""
_FALSE = 0.5
"""Answers are noted of which a smaller share is right."""
_BALANCED = 'weights that make up for rare classes (class_weight="balanced", --balanced)'
_OTHERS = [
    'several polyhedra (Polyceptron with n_polyhedra="auto")',
    "another learner, such as the tree OC1 (--learner oc1)",
    "standardize=True, if it is off",
]

Amount = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0, le=sys.float_info.max)]
"""A number of rows, or their weight."""


class VerdictWarning(UserWarning):
    """A fitted rule never answers one of its classes."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a rule makes of some rows; the tallies of parts of the rows add up to that of all.

    Arrays have a line for each class of the rows, and a column for each answer (``answers``), piece
    (``contains``) and face (``rejects``); of a tree no faces, as there one rejects what another
    takes. ``claims`` counts rows that pieces of no class, of one and of several contain, where the
    most probable class is the answer.
    """

    answers: NDArray[Any]
    contains: NDArray[Any]
    rejects: NDArray[Any]
    claims: NDArray[Any]

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    @classmethod
    def of(cls, rule: Rule, X: Any, places: Codes, weight: Floats | None = None) -> Tally:
        """Count rows by the places of their classes, each once or with its weight."""
        rows = X if is_kernel_ready(X) else as_rows(X, rule.n_features, rule.feature_names)
        C, places = len(rule.classes), np.asarray(places, np.intp)

        def count(cells: Any, n: int, some: Any = slice(None)) -> NDArray[Any]:
            return np.bincount(cells[some], None if weight is None else weight[some], n)

        rejects = [np.empty((C, 0), int)]
        claims = count(np.zeros_like(places), 3)
        if rule.splits:  # the leaves of a tree: of many pieces each row is in one
            decision = rule.decide(rows)
            contains = [count(places, C, decision.piece == p) for p in range(len(rule.pieces))]
        else:
            least = []
            for piece in rule.pieces:
                margins = scores(rows, piece.polyhedron.W, piece.polyhedron.b).T.copy()
                rejects += [count(places, C, face < 0) for face in margins]
                least.append(margins.min(axis=0))
            decision = rule.decide_by(np.column_stack(least))
            contains = [count(places, C, h >= 0) for h in least]
            if rule.is_most_probable:
                claimed = np.zeros((C, len(places)), bool)
                for piece, h in zip(rule.pieces, least, strict=True):
                    claimed[piece.place] |= h >= 0
                claims = count(np.minimum(claimed.sum(axis=0), 2), 3)
        answers = count(C * places + decision.place, C**2).reshape(C, C)
        return cls(answers, np.column_stack(contains), np.column_stack(rejects), claims)


def _tally_block(rule: Rule, places: Codes, block: Block) -> Tally:
    """The tally of a block, the labels of which are at these places among those of the rule."""
    X: Any = block.X
    if isinstance(X, tuple):
        X = sparse.csr_matrix(block.arrays(), shape=(block.n_samples, rule.n_features))
    return Tally.of(rule, X, places[block.y], block.weight if block.weight.size else None)


class ClassScore(NamedTuple):
    """How well one class is answered."""

    label: Any
    rows: Any
    """Of this class."""
    precision: float | None
    """The share of its answers that are right; None where it is never answered."""
    recall: float | None
    """The share of its rows that are answered so; None where there are none."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How well a rule answers labelled rows; `str` puts it in plain sentences.

    Attributes
    ----------
    what : str
        Which rows these are, such as "rows learned from".
    labels : list
    answers : list of lists
        The confusion matrix: rows, or their weight, by class and answer.
    n_faces : list of int
        Of every piece.
    counted : int or float
        The rows that what follows is about: those learned from, where the answers are to others.
    contains : tuple of two lists
        How many rows every piece contains: of other classes, and of its own.
    rejects : tuple of two lists
        How many rows every face rejects, those of the first piece first: of other classes than its
        piece, and of the same. Empty for a tree, where one leaf takes what another rejects.
    unclaimed, contested : int or float, or None
        Rows that satisfy the rule of no class, and of several, where each class has one.
    identifiers : list of str
        Columns that look as if they told rows apart.
    """

    what: str = "rows"
    labels: list[bool | int | float | str]
    answers: list[list[Amount]]
    n_faces: list[Annotated[int, Meta(ge=1)]]
    counted: Amount
    contains: tuple[list[Amount], list[Amount]]
    rejects: tuple[list[Amount], list[Amount]]
    unclaimed: Amount | None = None
    contested: Amount | None = None
    identifiers: list[str] = []

    def __post_init__(self) -> None:
        C, n, faces = len(self.labels), len(self.n_faces), sum(self.n_faces)
        if C == 0 or [len(line) for line in self.answers] != [C] * C:
            raise ValueError("answers must be as many rows and columns as there are labels")
        if {*map(len, self.contains)} != {n}:
            raise ValueError("contains must be a number for each of n_faces, twice")
        if {*map(len, self.rejects)} not in ({0}, {faces}):
            raise ValueError("rejects must be a number for each face, twice, or be empty")

    @classmethod
    def of(
        cls, rule: Rule, tally: Tally, what: str = "rows", identifiers: Sequence[str] = ()
    ) -> Verdict:
        """What a tally says of a rule."""
        places = np.array([piece.place for piece in rule.pieces])
        n_faces = np.array([piece.polyhedron.n_faces for piece in rule.pieces])
        of_face = np.repeat(places, n_faces)[: tally.rejects.shape[1]]
        claims = tally.claims[[0, 2]].tolist() if rule.is_most_probable else [None, None]
        return cls(
            what=what,
            labels=rule.labels,
            answers=tally.answers.tolist(),
            n_faces=n_faces.tolist(),
            counted=tally.claims.sum().item(),
            contains=_others_and_own(tally.contains, places),
            rejects=_others_and_own(tally.rejects, of_face),
            unclaimed=claims[0],
            contested=claims[1],
            identifiers=list(identifiers),
        )

    @property
    def rows(self) -> Any:
        """How many there are, or their weight."""
        return sum(map(sum, self.answers))

    @property
    def accuracy(self) -> float:
        return _share(sum(line[j] for j, line in enumerate(self.answers)), self.rows) or 0.0

    @property
    def classes(self) -> list[ClassScore]:
        """How well each is answered."""
        found = []
        for j, (label, line) in enumerate(zip(self.labels, self.answers, strict=True)):
            answered = sum(one[j] for one in self.answers)
            precision, recall = _share(line[j], answered), _share(line[j], sum(line))
            found.append(ClassScore(label, sum(line), precision, recall))
        return found

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that there are."""
        recalls = [one.recall for one in self.classes if one.recall is not None]
        return sum(recalls) / max(len(recalls), 1)

    @property
    def majority(self) -> tuple[Any, float]:
        """The class of most rows, and its share: how often it would be right to answer it only."""
        most = max(self.classes, key=lambda one: one.rows)
        return most.label, _share(most.rows, self.rows) or 0.0

    @property
    def never_answered(self) -> list[Any]:
        """Classes that have rows, none of which is answered so, nor any other row."""
        return [one.label for one in self.classes if one.rows and one.precision is None]

    @property
    def empty_pieces(self) -> list[int]:
        """Numbers of the pieces, from 0, that contain no row."""
        return [p for p, pair in enumerate(zip(*self.contains, strict=True)) if not any(pair)]

    @property
    def idle_faces(self) -> list[tuple[int, int]]:
        """Faces that reject no row: the numbers of piece and face, from 0."""
        return [at for at, n in self._rejected() if not n]

    @property
    def closed_faces(self) -> list[tuple[int, int]]:
        """Faces that hold for no row: the numbers of piece and face, from 0."""
        # Weights are summed in several orders: all of them is all but the last digits.
        return [at for at, n in self._rejected() if n and n >= (1 - 1e-12) * self.counted]

    def _rejected(self) -> Iterator[tuple[tuple[int, int], Any]]:
        places = ((p, k) for p, n in enumerate(self.n_faces) for k in range(n))
        # Those of a tree are not counted.
        return zip(places, map(sum, zip(*self.rejects, strict=True)), strict=False)

    @property
    def weak_classes(self) -> list[ClassScore]:
        """Those that are never answered, or of which a third of the rows or more is missed."""
        return [one for one in self.classes if one.recall is not None and one.recall < _WEAK]

    @property
    def remarks(self) -> list[str]:
        """What a user should know beside the numbers, a sentence each, and then what to try."""
        return [*self._on_answers(), *self._on_pieces(), *self._on_columns(), *self.to_try]

    def _on_answers(self) -> Iterator[str]:
        label, share = self.majority
        for one in self.weak_classes:
            name, part = show_label(one.label), _share(one.rows, self.rows) or 0.0
            if one.precision is None:
                yield f"Class {name} is never answered, though it is {part:.2%} of the {self.what}."
            else:
                yield f"Of class {name} only {one.recall:.2%} is found."
        for one in self.classes:
            if one.precision is not None and one.precision < _FALSE:
                right = f"{one.precision:.2%} are right"
                yield f"Of the answers {show_label(one.label)} only {right}."
        if self.accuracy <= share and not self.never_answered:
            yield f"Always answering {show_label(label)} would be right at least as often."

    def _on_pieces(self) -> Iterator[str]:
        n, learned = len(self.n_faces), " learned from" if self.what != "rows" else ""
        if self.unclaimed is not None and self.contested is not None:
            claims = self.unclaimed, self.contested
            none, several = (_share(rows, self.counted) or 0.0 for rows in claims)
            if any(claims):
                yield (
                    f"{none:.2%} of the rows{learned} satisfy the rule of no class and "
                    f"{several:.2%} those of several: there the most probable class is answered."
                )
        if empty := [f"piece {p + 1} of {n}" for p in self.empty_pieces]:
            yield f"{_clause(empty, 'contain', 'pieces')} no row{learned}."
        for verb, faces in [("reject", self.idle_faces), ("hold for", self.closed_faces)]:
            of = [f" of piece {p + 1}" if n > 1 else "" for p, _ in faces]
            if names := [f"face {k}{where}" for (_, k), where in zip(faces, of, strict=True)]:
                yield f"{_clause(names, verb, 'faces')} no row{learned}."

    def _on_columns(self) -> Iterator[str]:
        for name in self.identifiers[:_MOST_LISTED]:
            yield (
                f"The column {quoted(name)} looks like an identifier, with a value of its own in "
                "every row: leave it out (--drop), as it says nothing of new rows."
            )

    @property
    def to_try(self) -> list[str]:
        """What may give a better rule, a sentence each."""
        weak = self.weak_classes
        rare = any(len(self.labels) * one.rows < self.rows for one in weak)
        found = [f"To try: {'; '.join([_BALANCED] * rare + _OTHERS)}."] if weak else []
        # Of several classes, a piece counts also where it contains no row.
        alone = self.unclaimed is None and not self.never_answered
        if alone and (self.empty_pieces or self.idle_faces):
            found.append("Fewer polyhedra or inequalities would answer these rows the same.")
        return found

    @property
    def warning(self) -> str | None:
        """What a fit warns of: classes that are never answered."""
        if not self.never_answered:
            return None
        named = ", ".join(map(show_label, self.never_answered))
        which = f"class{'es' * (len(self.never_answered) > 1)} {named}"
        label, share = self.majority
        return (
            f"the fitted rule never answers the {which}: {self.accuracy:.2%} of the {self.what} "
            f"are right, where always answering {show_label(label)} gives {share:.2%}. "
            f"{self.to_try[0]} See verdict_ for more."
        )

    def __str__(self) -> str:
        label, share = self.majority
        lines = [
            f"Of {_number(self.rows)} {self.what}, {self.accuracy:.2%} are answered right.",
            f"Always answering {show_label(label)} would be right for {share:.2%}.",
            f"Balanced accuracy: {self.balanced_accuracy:.2%}.",
        ]
        for one in self.classes:
            parts = "never answered", "no rows"
            if one.precision is not None:
                parts = f"precision {one.precision:.2%}", parts[1]
            if one.recall is not None:
                parts = parts[0], f"recall {one.recall:.2%}"
            lines.append(f"{show_label(one.label)} ({_number(one.rows)} rows): {', '.join(parts)}.")
        return "\n".join([*lines, *self.remarks])

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values: the counts, and what follows from them."""
        derived = (
            "rows", "accuracy", "balanced_accuracy", "majority", "never_answered", "empty_pieces",
            "idle_faces", "closed_faces", "remarks",
        )  # fmt: skip
        scores_of = [one._asdict() for one in self.classes]
        return (
            msgspec.structs.asdict(self)
            | {name: getattr(self, name) for name in derived}
            | {"classes": scores_of}
        )


def _share(part: Any, whole: Any) -> float | None:
    return part / whole if whole else None


def _number(rows: Any) -> str:
    return str(rows) if isinstance(rows, int) else f"{rows:.6g}"


def _clause(names: list[str], verb: str, kind: str) -> str:
    """Some things, or how many of a kind there are, with their verb."""
    if len(names) == 1:
        first, _, rest = verb.partition(" ")
        verb = " ".join([f"{first}s", rest]).strip()
    listed = f"{len(names)} {kind}" if len(names) > _MOST_LISTED else " and ".join(names)
    return f"{listed[0].upper()}{listed[1:]} {verb}"


def _others_and_own(counts: NDArray[Any], places: NDArray[Any]) -> Any:
    """Of each column what is not in the line at its place, and what is."""
    is_own = np.arange(len(counts))[:, None] == places
    return tuple(np.where(part, counts, 0).sum(axis=0).tolist() for part in (~is_own, is_own))


def judge(rule: Rule, source: Source, n_jobs: int | None = 1, what: str = "rows") -> Verdict:
    """The verdict on a rule by the rows of a source, in one pass over its blocks."""
    places = rule.places_of(source.classes)
    threads = count_threads(n_jobs, source.n_samples)
    data = source.blocks(View(identity(source.n_features), None), threads)
    tally = data.reduce(partial(_tally_block, rule, places))
    return Verdict.of(rule, tally, what, find_identifiers(source))


def find_identifiers(source: Source) -> list[str]:
    """Columns that look as if they told rows apart: whole numbers, all different, in a sample.

    They are no identifier if chance might have made them different, unless they rise from row to
    row, or the name of the column says so. Text that is all different is refused when it is read.
    """
    d, n = source.n_features, source.n_samples
    size = min(n, _SAMPLE_ROWS, _SAMPLE_VALUES // d)
    if size < _FEWEST or source.is_sparse:
        return []
    X: Any = source.take(np.arange(size, dtype=np.int64) * n // size).X
    names = source.feature_names or [f"x{j}" for j in range(d)]
    # Most columns are told from few rows.
    whole = np.flatnonzero(_all_different(X[:1000]))
    whole = whole[_all_different(X[:, whole])]
    return [names[j] for j in whole.tolist() if _is_no_chance(X[:, j], names[j])]


def _all_different(X: NDArray[Any]) -> NDArray[np.bool_]:
    """Which columns are whole numbers, no two of them the same."""
    whole = np.isfinite(X[0]) & (np.floor(X) == X).all(axis=0)
    different = np.zeros(X.shape[1], bool)
    values = np.sort(X[:, whole], axis=0)
    different[whole] = (values[1:] > values[:-1]).all(axis=0)
    return different


def _is_no_chance(values: NDArray[Any], name: str) -> bool:
    rises = bool((values[1:] > values[:-1]).all())
    repeats = len(values) ** 2 / 2 / (float(values.max()) - float(values.min()))
    return rises or repeats > _REPEATS or _NAMED.search(name) is not None
