"""How well a rule answers labelled rows, in numbers and in plain words."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from polyceptron.data.blocks import count_threads
from polyceptron.data.identifiers import find_identifiers
from polyceptron.data.scaling import identity
from polyceptron.data.source import Source, View
from polyceptron.rule import Rule, as_rule, is_pipeline, show_label
from polyceptron.utils.text import quoted
from polyceptron.verdict._tally import Tally, tally_block

__all__ = ["ClassScore", "Tally", "Verdict", "VerdictWarning", "find_identifiers", "judge"]

_MOST_LISTED = 3
_WEAK = 2 / 3
"""A class is weak of which a smaller share is found."""
_FALSE = 0.5
"""Answers are noted of which a smaller share is right."""
_ADVICE = {
    "class_weight": 'weights that make up for rare classes (class_weight="balanced", --balanced)',
    "n_polyhedra": 'several polyhedra (Polyceptron with n_polyhedra="auto")',
    "tree": "another learner, such as the tree OC1 (--learner oc1)",
    "standardize": "standardize=True, if it is off",
}

Amount = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0, le=sys.float_info.max)]
"""A number of rows, or their weight."""


class VerdictWarning(UserWarning):
    """A fitted rule never answers one of its classes, or answers against what is known."""


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
    broken : list of int or float
        Rows that are answered each class, as it is the most probable one, though a locked face of
        it fails, as those do that were given; in each of its polyhedra. Empty where that cannot be.
    identifiers : list of str
        Columns that look as if they told rows apart.
    asked : list of str
        Advice that is left out, as the learner was asked for it already, or is it.
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
    broken: list[Amount] = []
    identifiers: list[str] = []
    asked: list[Literal["class_weight", "n_polyhedra", "tree", "standardize"]] = []

    def __post_init__(self) -> None:
        C, n, faces = len(self.labels), len(self.n_faces), sum(self.n_faces)
        if C == 0 or [len(line) for line in self.answers] != [C] * C:
            raise ValueError("answers must be as many rows and columns as there are labels")
        if len(self.broken) not in (0, C):
            raise ValueError("broken must be a number for each of labels, or be empty")
        if {*map(len, self.contains)} != {n}:
            raise ValueError("contains must be a number for each of n_faces, twice")
        if {*map(len, self.rejects)} not in ({0}, {faces}):
            raise ValueError("rejects must be a number for each face, twice, or be empty")

    @classmethod
    def of(
        cls,
        rule: Rule,
        tally: Tally,
        what: str = "rows",
        identifiers: Sequence[str] = (),
        asked: Sequence[Any] = (),
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
            broken=tally.broken.tolist() if rule.is_most_probable and rule.locked else [],
            identifiers=list(identifiers),
            asked=list(asked),
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
        return [
            *self._on_broken(),
            *self._on_answers(),
            *self._on_pieces(),
            *self._on_columns(),
            *self.to_try,
        ]

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
        claims = ("the rule of no class", self.unclaimed), ("the rules of several", self.contested)
        for whose, rows in claims:
            share = f"{_share(rows or 0, self.counted) or 0.0:.2%}"
            if share != "0.00%":
                told = f"{share} of the rows{learned} satisfy {whose}"
                yield f"{told}: there the most probable class is answered."
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
                "every row: leave it out (`--drop` of commands), as it says nothing of new rows."
            )

    @property
    def to_try(self) -> list[str]:
        """What may give a better rule, a sentence each."""
        weak = self.weak_classes
        rare = any(len(self.labels) * one.rows < self.rows for one in weak)
        known = {*self.asked} if rare else {*self.asked, "class_weight"}
        left = [advice for name, advice in _ADVICE.items() if name not in known]
        found = [f"To try: {'; '.join(left)}."] if weak and left else []
        # Of several classes, a piece counts also where it contains no row.
        alone = self.unclaimed is None and not self.never_answered
        if alone and (self.empty_pieces or self.idle_faces):
            found.append("Fewer polyhedra or inequalities would answer these rows the same.")
        return found

    @property
    def warning(self) -> str | None:
        """What a fit warns of: classes that are never answered, and answers against given faces."""
        found = [self._never(), *self._on_broken()]
        return " ".join(one for one in found if one) or None

    def _on_broken(self) -> Iterator[str]:
        for label, n in zip(self.labels, self.broken, strict=False):
            if n:
                yield (
                    f"{_how_many(n)} {self.what} are answered {show_label(label)} though a locked "
                    "face of it does not hold: with more than two classes the answer is the most "
                    "probable class, and faces that are given or locked hold for its polyhedra."
                )

    def _never(self) -> str | None:
        if not self.never_answered:
            return None
        named = ", ".join(map(show_label, self.never_answered))
        which = f"class{'es' * (len(self.never_answered) > 1)} {named}"
        label, share = self.majority
        return (
            f"the fitted rule never answers the {which}: {self.accuracy:.2%} of the {self.what} "
            f"are right, where always answering {show_label(label)} gives {share:.2%}. "
            f"{' '.join([*self.to_try[:1], 'See verdict_ for more.'])}"
        )

    def __str__(self) -> str:
        label, share = self.majority
        lines = [
            f"Of {_how_many(self.rows)} {self.what}, {self.accuracy:.2%} are answered right.",
            f"Always answering {show_label(label)} would be right for {share:.2%}.",
            f"Balanced accuracy: {self.balanced_accuracy:.2%}.",
        ]
        for one in self.classes:
            told = "never answered" if one.precision is None else f"precision {one.precision:.2%}"
            found = "no rows" if one.recall is None else f"recall {one.recall:.2%}"
            lines.append(f"{show_label(one.label)} ({_how_many(one.rows)} rows): {told}, {found}.")
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


def _how_many(rows: Any) -> str:
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


def _asked(model: Any) -> list[Any]:
    """Advice that a learner with these parameters needs no more; of a bare rule nothing is known.

    One polyhedron is as much of an answer to how many there may be as several are.
    """
    model = model.steps[-1][1] if is_pipeline(model) else model
    if not hasattr(model, "get_params"):
        return []
    given = model.get_params(deep=False)
    followed = {
        "class_weight": given.get("class_weight") is not None,
        "n_polyhedra": "n_polyhedra" in given,
        "tree": model.rule_.is_partition,
        "standardize": given.get("standardize", True),
    }
    return [name for name, is_so in followed.items() if is_so]


def judge(model: Any, source: Source, n_jobs: int | None = 1, what: str = "rows") -> Verdict:
    """The verdict on a model, or a bare rule, by the rows of a source: one pass over its blocks."""
    rule = as_rule(model)
    places = rule.places_of(source.classes)
    threads = count_threads(n_jobs, source.n_samples)
    data = source.blocks(View(identity(source.n_features), None), threads)
    tally = data.reduce(partial(tally_block, rule, places))
    return Verdict.of(rule, tally, what, find_identifiers(source), _asked(model))
