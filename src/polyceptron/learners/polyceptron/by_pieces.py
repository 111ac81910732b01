"""A union learned again piece by piece, each around the faces of its own that stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from polyceptron.calibration import calibrated
from polyceptron.data.source import ArraySource
from polyceptron.data.training import TrainingData
from polyceptron.learners.polyceptron.fitted import LearnedUnion
from polyceptron.learners.polyceptron.hyperplanes import Setting
from polyceptron.learners.polyceptron.knowledge import Knowledge
from polyceptron.learners.polyceptron.parameters import allowed_faces, is_auto
from polyceptron.learners.polyceptron.promises import broken_promises, known_of_class
from polyceptron.learners.polyceptron.refit import Around, StartPiece
from polyceptron.learners.polyceptron.rounding import rows_in_user_units
from polyceptron.learners.polyceptron.sample import Sample
from polyceptron.polyhedron import Polyhedron
from polyceptron.scoring import scores
from polyceptron.utils.text import count_digits, printed_face
from polyceptron.utils.types import Flags, Floats

if TYPE_CHECKING:
    from polyceptron.learners.polyceptron.learner import Polyceptron

_SWEEPS = 3
"""How often the pieces take turns, at most."""


class Worth(NamedTuple):
    """How good a union is: the greater the better, the first number before the second."""

    n_known: int
    """Rows that have to be inside and are."""
    right: float
    """Weight of the rows that are answered right."""


class PieceByPiece:
    """The pieces of one class, which take turns.

    A piece is learned from the rows that no other piece holds, around its faces that stay. What
    comes out takes its place unless the union answers the rows worse.
    """

    def __init__(
        self, model: Polyceptron, training: TrainingData, inside: int, start: list[StartPiece]
    ) -> None:
        self._model, self._inside = model, inside
        self._labels, self._names = training.classes.tolist(), training.source.feature_names
        rows = rows_in_user_units(training, Sample.of(training).numbers)
        rows = rows.take(np.flatnonzero(rows.weights))
        self._X, self._weight = rows.matrix, rows.weights
        self._is_inside = (rows.y > 0) == (inside == training.inside)
        self._known = self._knowledge(None)
        for piece in start:  # which refuses faces that stay against what is known
            self._knowledge(piece.kept)
        self.pieces = [self._allowed(piece) for piece in start]
        self._fits: dict[int, Polyceptron] = {}

    def learned(self) -> LearnedUnion:
        """What comes of the turns."""
        for _ in range(_SWEEPS):
            turns = [self._take_turn(p) for p in range(len(self.pieces))]
            if not any(turns):
                break
        there = [piece for piece in self.pieces if len(piece.faces)]
        left = [piece for piece in there if piece.n_kept or self._is_needed(piece)] or there
        missing = ~self._held(self._known.rows, left)
        if missing.any():
            raise ValueError(
                f"row {missing.argmax()} of must_contain is in no piece, as faces stay: no rule "
                "can have both; leave out one of them"
            )
        names = self._model._names
        pieces = [Polyhedron(one.faces[:, :-1], one.faces[:, -1], names) for one in left]
        h = np.max([scores(self._X, one.W, one.b).min(axis=1) for one in pieces], axis=0)
        link = calibrated(h, self._is_inside, self._weight)
        n_faces, fits = sum(piece.n_faces for piece in pieces), list(self._fits.values())
        how = (fits[0].margin_, fits[0].penalty_, fits[0].sampled_) if fits else (None, None, False)
        chosen = Setting(self._inside, n_faces, *how, n_polyhedra=len(pieces))
        n_iter = max([1, *(one.n_iter_ for one in fits)])
        given = tuple(one.n_kept for one in left)
        return LearnedUnion(pieces, chosen, link, 0, n_iter, self._table(chosen), given=given)

    # --- one piece ------------------------------------------------------------------------

    def _take_turn(self, p: int) -> bool:
        """Learn a piece again; whether it is another one now."""
        before = self.pieces[p]
        if before.is_whole:
            return False
        new, fit = self._again(p)
        if np.array_equal(new.faces, before.faces):
            return False
        pieces = [*self.pieces[:p], new, *self.pieces[p + 1 :]]
        if self._worth(pieces) < self._worth(self.pieces):
            return False
        self.pieces = pieces
        self._fits.pop(p, None)
        if fit is not None:
            self._fits[p] = fit
        return True

    def _again(self, p: int) -> tuple[StartPiece, Polyceptron | None]:
        """A piece as the rows ask for it that no other holds, and the fit if there was one."""
        piece, others = self.pieces[p], [*self.pieces[:p], *self.pieces[p + 1 :]]
        only_kept = piece._replace(faces=piece.kept)
        known, may_hold = self._known.rows, _holds(self._X, piece.kept)
        admitted = _holds(known, piece.kept) & ~self._held(known, others)
        free = ~self._held(self._X, others)
        is_needed = piece.n_kept or admitted.any()
        if not (free & may_hold & self._is_inside).any() and is_needed:
            free |= self._is_inside  # which do not ask for it, and say where it does no harm
        if not (free & ~self._is_inside).any() and not piece.n_kept:
            free |= ~self._is_inside
        here = free & may_hold
        if not (here & self._is_inside).any():
            return (only_kept if admitted.any() or not is_needed else piece), None
        if not (here & ~self._is_inside).any():
            return only_kept, None
        if not self._known.groups[:, _varying(self._X[here])].any():
            return piece, None  # no column that it may use varies
        limits = self._limits(piece, others, int(free.sum()))
        if limits is None:
            return piece, None
        limits["must_contain"] = known[admitted] if admitted.any() else None
        fit = self._fitted(free, limits)
        found = np.column_stack([fit.coef_, fit.intercept_])[len(fit.rule_.locked) :]
        return piece._replace(faces=np.vstack([piece.kept, found])), fit

    def _limits(
        self, piece: StartPiece, others: list[StartPiece], n_rows: int
    ) -> dict[str, Any] | None:
        """Parameters that say what the other pieces leave to a piece; None if that is nothing."""
        most = allowed_faces(self._model.max_faces)
        left = most.most - sum(one.n_learned for one in others)
        left = max(left, piece.n_learned)  # a rule that was given may have more than that
        if not left:
            return None
        limits: dict[str, Any] = {"max_faces": min(most.usual, left)}
        if not is_auto(self._model.n_hyperplanes):
            limits["n_hyperplanes"] = min(int(self._model.n_hyperplanes), left, n_rows)
        return limits | {"fixed_faces": piece.kept if piece.n_kept else None}

    def _fitted(self, rows: Flags, own: dict[str, Any]) -> Polyceptron:
        """One polyhedron, learned from these rows."""
        once = {"inside": True, "n_polyhedra": 1, "class_weight": None, "checkpoint": None}
        fit: Polyceptron = clone(self._model).set_params(**once, **own)
        fit._check_parameters()
        X, y, weight = self._X[rows], self._is_inside[rows], self._weight[rows]
        list(fit._learn(ArraySource(X, y, weight, feature_names=self._names)))
        return fit

    def _allowed(self, piece: StartPiece) -> StartPiece:
        """A piece without faces that no fit would give: they would break what is promised."""
        learned = [_is_allowed(self._model, self._known, face) for face in piece.faces]
        own = [k < piece.n_kept or is_allowed for k, is_allowed in enumerate(learned)]
        return piece._replace(faces=piece.faces[own])

    # --- the union --------------------------------------------------------------------------

    def _knowledge(self, faces: Any) -> Knowledge:
        """What is known of the class, with these faces."""
        given = {**self._model._given, "fixed_faces": faces}
        if faces is not None:  # a row has to be in one of the pieces
            given["must_contain"] = None
        return Knowledge.of(given, self._X.shape[1], self._names)

    def _is_needed(self, piece: StartPiece) -> bool:
        """Whether a row, or one of those that have to be inside, is in this piece."""
        return any(self._held(rows, [piece]).any() for rows in (self._X, self._known.rows))

    def _worth(self, pieces: list[StartPiece]) -> Worth:
        right = self._held(self._X, pieces) == self._is_inside
        known = int(self._held(self._known.rows, pieces).sum())
        return Worth(known, float(self._weight[right].sum()))

    def _held(self, X: Any, pieces: list[StartPiece]) -> Flags:
        """Where a piece holds; one without faces, which was let go, holds nowhere."""
        found = np.zeros(X.shape[0], bool)
        for piece in pieces:
            if len(piece.faces):
                found |= _holds(X, piece.faces)
        return found

    def _table(self, chosen: Setting) -> dict[str, list[Any]]:
        """What was tried for the pieces, or the union alone where nothing was."""
        tables = [fit.selection_ for fit in self._fits.values()]
        if tables:
            joined = {name: [v for one in tables for v in one[name]] for name in tables[0]}
            own, other = self._labels[self._inside], self._labels[1 - self._inside]
            return joined | {"inside": [own if inside else other for inside in joined["inside"]]}
        share = self._worth(self.pieces).right / float(self._weight.sum())
        line = chosen._asdict() | {"accuracy": share, "chosen": True}
        line["inside"] = self._labels[self._inside]
        return {name: [value] for name, value in line.items()}


def _is_allowed(model: Polyceptron, known: Knowledge, face: Floats) -> bool:
    """Whether a fit could give a face: what it may have of signs, groups, terms and digits."""
    w, _, _ = printed_face(face[:-1], float(face[-1]))
    there = w != 0
    n_terms, n_digits = int(there.sum()), max(map(count_digits, w[there].tolist()))
    limits = (model.max_terms, n_terms), (model.digits, n_digits)
    is_short = all(most is None or is_auto(most) or n <= int(most) for most, n in limits)
    may_stand = known.groups[:, there].all(axis=1).any()
    return bool(is_short and may_stand and (known.signs * w >= 0).all())


def _keeps_promises(model: Polyceptron, around: Around) -> bool:
    """Whether the rule to begin with is one that a fit could give, but for faces that stay."""
    if broken_promises(model._given, around.rule):
        return False
    for p, (one, place, _) in enumerate(around.rule.pieces):
        known = known_of_class(model._given, around.rule, place)
        learned = [k for k in range(one.n_faces) if (p, k) not in around.kept]
        faces = np.column_stack([one.W, one.b])[learned]
        if not all(_is_allowed(model, known, face) for face in faces):
            return False
    return True


def is_worse(model: Polyceptron, around: Around, training: TrainingData) -> bool:
    """Whether the rule to begin with answers more of the rows right, and keeps what is promised."""
    numbers = Sample.of(training).numbers
    rows = rows_in_user_units(training, numbers)
    if numbers is None:
        numbers = np.arange(training.source.n_samples)
    codes = training.source.take(numbers).codes
    before, after = (
        float(rows.weights[one.decide(rows.matrix).place == codes].sum())
        for one in (around.rule, model.rule_)
    )
    return before > after and _keeps_promises(model, around)


def _varying(X: Any) -> Flags:
    """Columns that are not the same in all rows."""
    ends = X.min(axis=0), X.max(axis=0)
    low, high = (one.toarray() if hasattr(one, "toarray") else one for one in ends)
    return np.asarray(high > low).ravel()


def _holds(X: Any, faces: Floats) -> Flags:
    """Where all faces hold: everywhere where there are none."""
    if not len(faces):
        return np.ones(X.shape[0], bool)
    found = scores(X, faces[:, :-1].copy(), faces[:, -1].copy()) >= 0
    return np.asarray(found.all(axis=1))
