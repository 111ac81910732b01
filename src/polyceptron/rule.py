"""What a learner answers: polyhedra, each with the class of its rows, and the class otherwise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron.calibration import Link
from polyceptron.polyhedron import Polyhedron
from polyceptron.scoring import as_rows, decide, is_kernel_ready, scores
from polyceptron.utils.text import quoted
from polyceptron.utils.types import Floats

Places = NDArray[np.intp]


class Piece(NamedTuple):
    """A polyhedron, and the class of the rows in it.

    Parameters
    ----------
    polyhedron : Polyhedron
    place : int
        Of its class among the classes of the rule.
    shares : tuple of float
        Of the classes among the training rows in it, where the answer is a leaf of a tree.
    """

    polyhedron: Polyhedron
    place: int
    shares: tuple[float, ...] = ()


class Decision(NamedTuple):
    """The answers to some rows, and what they rest on: an array each.

    Parameters
    ----------
    place : of the class that is answered, among the classes of the rule
    piece : the piece that contains the row, or comes nearest to it by its score
    score : what `Rule.decision_function` has for the row; for the answer, where that has a column
        for each class; the share of the answer in a leaf of a tree
    face : of that piece, the one of least margin; -1 where there is none. Only if asked for
    slack : the margin of that face. Only if asked for
    """

    place: Places
    piece: Places
    score: Floats
    face: Places | None = None
    slack: Floats | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Rule:
    """Unions of polyhedra by class: all that a fitted learner knows of new rows.

    A piece scores a row by its least margin, h(x) = min_k (w_k . x + b_k), and a class by the best
    of its pieces. How that becomes an answer depends on what is given:

    - with ``otherwise``: the class of the best piece where that contains the row, else this one;
    - with a link for each class: the class that is most probable;
    - with neither: the class of the best piece. The pieces share out the space, as leaves do.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        The labels, sorted.
    pieces : sequence of Piece
        At least one; of equally good pieces the first decides.
    otherwise : int, optional
        The place of the class of rows that no piece contains.
    links : sequence of Link or None, optional
        For each class, how its score becomes a probability.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.rule import Piece, Rule
    >>> low = Polyhedron([[-1.0]], [1.0], ["dose"])
    >>> high = Polyhedron([[1.0]], [-5.0], ["dose"])
    >>> rule = Rule(["fine", "harm"], [Piece(low, 1), Piece(high, 1)], otherwise=0)
    >>> print(rule)
    harm if one of 2 holds:
      1. -dose >= -1
      2. dose >= 5
    otherwise fine
    >>> rule.predict([[0], [3], [7]]).tolist()
    ['harm', 'fine', 'harm']
    """

    classes: NDArray[Any]
    pieces: tuple[Piece, ...]
    otherwise: int | None = None
    links: tuple[Link | None, ...] = ()

    def __post_init__(self) -> None:
        classes = np.array(self.classes)
        classes.flags.writeable = False
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "pieces", tuple(self.pieces))
        object.__setattr__(self, "links", tuple(self.links))
        if not self.pieces:
            raise ValueError("pieces must not be empty")
        first = self.pieces[0].polyhedron
        for piece in self.pieces:
            named = piece.polyhedron.n_features, piece.polyhedron.feature_names
            if named != (first.n_features, first.feature_names):
                raise ValueError("pieces must all have the same features")
            if not 0 <= piece.place < len(classes):
                raise ValueError(f"a piece has the place {piece.place} of {len(classes)} classes")
        if self.otherwise is not None and not 0 <= self.otherwise < len(classes):
            raise ValueError(f"otherwise is the place {self.otherwise} of {len(classes)} classes")
        if len(self.links) not in (0, len(classes)):
            raise ValueError(f"links must have {len(classes)} items, or none")
        if self.otherwise is None and None in self.links:
            raise ValueError("links must be given for every class where nothing is otherwise")

    @classmethod
    def inside(
        cls, classes: ArrayLike, place: int, *polyhedra: Polyhedron, link: Link | None = None
    ) -> Rule:
        """The rule of two classes, one of which, at this place, is the union of polyhedra."""
        links = () if link is None else (link, None) if place == 0 else (None, link)
        return cls(np.asarray(classes), tuple(Piece(p, place) for p in polyhedra), 1 - place, links)

    # --- what it is made of -----------------------------------------------------------

    @property
    def n_features(self) -> int:
        return self.pieces[0].polyhedron.n_features

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        return self.pieces[0].polyhedron.feature_names

    @property
    def labels(self) -> list[Any]:
        """The classes as plain values of Python."""
        labels: list[Any] = self.classes.tolist()
        return labels

    @cached_property
    def polyhedra(self) -> dict[Any, tuple[Polyhedron, ...]]:
        """For each class that has any, the polyhedra whose union it is."""
        found: dict[Any, tuple[Polyhedron, ...]] = {}
        for place, label in enumerate(self.labels):
            union = tuple(piece.polyhedron for piece in self.pieces if piece.place == place)
            if union:
                found[label] = union
        return found

    @property
    def inside_place(self) -> int | None:
        """The place of the only class that has polyhedra, all others being outside of them."""
        places = {piece.place for piece in self.pieces}
        return self.pieces[0].place if self.otherwise is not None and len(places) == 1 else None

    @property
    def is_partition(self) -> bool:
        """Whether the pieces share out the space, as the leaves of a tree do."""
        return self.otherwise is None and not self.links

    @property
    def has_probabilities(self) -> bool:
        return bool(self.links) or bool(self.pieces[0].shares)

    def renamed(self, names: Any) -> Rule:
        """The same rule, its features called otherwise."""
        names = None if names is None else tuple(names)
        return replace(
            self,
            pieces=tuple(
                piece._replace(polyhedron=Polyhedron(piece.polyhedron.W, piece.polyhedron.b, names))
                for piece in self.pieces
            ),
        )

    # --- answers ----------------------------------------------------------------------

    def scores(self, X: Any, n_jobs: int | None = 1) -> Floats:
        """h(x) of every row by every piece; a piece contains the row where it is at least 0.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        n_jobs : int or None, default=1
            Threads for many rows; None is all cores. Answers do not depend on it.

        Returns
        -------
        ndarray of shape (n_samples, n_pieces)
        """
        rows = self._rows(X)
        return np.column_stack([_least(rows, piece.polyhedron, n_jobs) for piece in self.pieces])

    def decide(self, X: Any, *, faces: bool = False, n_jobs: int | None = 1) -> Decision:
        """The answer to every row, and with `faces` the face that it hangs on."""
        rows = self._rows(X)
        if self.otherwise is None and self.links:
            odds = self._log_odds(rows, n_jobs)
            place = odds.argmax(axis=1)
            piece = self._best_of(rows, place, n_jobs)
            decision = Decision(place, piece, odds[np.arange(len(place)), place])
        else:
            piece, h = self._best(rows, n_jobs)
            place = np.array([one.place for one in self.pieces], np.intp)[piece]
            if self.otherwise is None:
                shares = np.array([one.shares[one.place : one.place + 1] for one in self.pieces])
                score = shares[piece, 0] if shares.size else h
            else:
                place = np.where(h >= 0, place, self.otherwise)
                score = self._signed(h)
            decision = Decision(place, piece, score)
        return self._with_faces(rows, decision) if faces else decision

    def decision_function(self, X: Any, n_jobs: int | None = 1) -> Floats:
        """Signed scores as scikit-learn has them.

        Of two classes, h(x) with the sign that the second is positive; of more, a column for each:
        its log-odds where it has a link, else the score of the best of its pieces.
        """
        rows = self._rows(X)
        if self.otherwise is not None and len(self.classes) == 2:
            return self._signed(self._best(rows, n_jobs)[1])
        if self.links:
            return self._log_odds(rows, n_jobs)
        return self._by_class(rows, n_jobs)

    def predict(self, X: Any, n_jobs: int | None = 1) -> NDArray[Any]:
        """The label of every row."""
        labels: NDArray[Any] = self.classes[self.decide(X, n_jobs=n_jobs).place]
        return labels

    def predict_proba(self, X: Any, n_jobs: int | None = 1) -> Floats:
        """The probability of each class, columns in the order of the classes."""
        self._check_probabilities()
        rows = self._rows(X)
        if not self.links:
            shares = np.array([piece.shares for piece in self.pieces])
            return np.asarray(shares[self._best(rows, n_jobs)[0]])
        place = self.inside_place
        if place is None:
            each = self._each(rows, n_jobs)
            return np.asarray(each / each.sum(axis=1, keepdims=True))
        link = self.links[place]
        assert link is not None
        outside, inside = link.both(self._best(rows, n_jobs)[1])
        return np.column_stack([outside, inside] if place == 1 else [inside, outside])

    def predict_log_proba(self, X: Any, n_jobs: int | None = 1) -> Floats:
        """The logarithm of `predict_proba`, exact where the link allows it."""
        self._check_probabilities()
        place = self.inside_place
        link = self.links[place] if self.links and place is not None else None
        if link is None or place is None:
            with np.errstate(divide="ignore"):
                return np.log(self.predict_proba(X, n_jobs))
        outside, inside = link.logarithms(self._best(self._rows(X), n_jobs)[1])
        return np.column_stack([outside, inside] if place == 1 else [inside, outside])

    def _rows(self, X: Any) -> Any:
        """The rows as the kernels take them: validated arrays as they are."""
        if is_kernel_ready(X) and X.shape[1] == self.n_features:
            return X
        return as_rows(X, self.n_features, self.feature_names)

    def _best(self, rows: Any, n_jobs: int | None) -> tuple[Places, Floats]:
        """The piece of the greatest score, the first of equals, and that score."""
        best = _least(rows, self.pieces[0].polyhedron, n_jobs)
        piece = np.zeros(len(best), np.intp)
        for number, other in enumerate(self.pieces[1:], 1):
            h = _least(rows, other.polyhedron, n_jobs)
            better = h > best
            piece[better] = number
            best = np.where(better, h, best)
        return piece, best

    def _by_class(self, rows: Any, n_jobs: int | None) -> Floats:
        """The score of the best piece of each class; minus infinity for a class without any."""
        found = np.full((rows.shape[0], len(self.classes)), -np.inf)
        for piece in self.pieces:
            h = _least(rows, piece.polyhedron, n_jobs)
            np.maximum(found[:, piece.place], h, out=found[:, piece.place])
        return found

    def _best_of(self, rows: Any, place: Places, n_jobs: int | None) -> Places:
        """The best piece of the class at this place, for each row."""
        own = np.array([piece.place for piece in self.pieces])
        if len(np.unique(own)) == len(own) and np.array_equal(own, np.arange(len(own))):
            return place
        h = self.scores(rows, n_jobs)
        return np.asarray(np.where(own[None, :] == place[:, None], h, -np.inf).argmax(axis=1))

    def _each(self, rows: Any, n_jobs: int | None) -> Floats:
        """The probability of every class by its own pieces."""
        h = self._by_class(rows, n_jobs)
        columns = [link.both(h[:, j])[1] for j, link in enumerate(self.links) if link is not None]
        return np.column_stack(columns)

    def _log_odds(self, rows: Any, n_jobs: int | None) -> Floats:
        each = self._each(rows, n_jobs)
        odds: Floats = np.log(each) - np.log1p(-each)
        return odds

    def _signed(self, h: Floats) -> Floats:
        """H with the sign that the second of two classes is positive."""
        return -h if len(self.classes) == 2 and self.otherwise == 1 else h

    def _with_faces(self, rows: Any, decision: Decision) -> Decision:
        face = np.full(len(decision.place), -1, np.intp)
        slack = np.full(len(decision.place), np.inf)
        for number in np.unique(decision.piece):
            here = np.flatnonzero(decision.piece == number)
            part = self.pieces[number].polyhedron
            margins = scores(rows[here], part.W, part.b)
            face[here], slack[here] = margins.argmin(axis=1), margins.min(axis=1)
        return decision._replace(face=face, slack=slack)

    def _check_probabilities(self) -> None:
        if not self.has_probabilities:
            raise ValueError("this rule has no probabilities: its learner gives scores only")

    # --- as a value -------------------------------------------------------------------

    def to_text(self, digits: int = 3) -> str:
        """The rule in words: the inequalities of each class, and what holds otherwise."""
        lines = []
        for label, union in self.polyhedra.items():
            lines += _as_text(label, union, digits)
        if self.otherwise is not None:
            lines.append(f"otherwise {show_label(self.labels[self.otherwise])}")
        elif self.links:
            lines.append("where none or several hold, the class that is most probable")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{label!r}: {len(union)} x {[part.n_faces for part in union]}"
            for label, union in self.polyhedra.items()
        )
        return f"<Rule of {len(self.classes)} classes, {self.n_features} features; {shown}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rule):
            return NotImplemented
        return (
            self.classes.dtype.kind == other.classes.dtype.kind
            and np.array_equal(self.classes, other.classes)
            and self.pieces == other.pieces
            and self.otherwise == other.otherwise
            and self.links == other.links
        )

    def __hash__(self) -> int:
        return hash((tuple(self.labels), self.pieces, self.otherwise, self.links))

    def __reduce__(self) -> tuple[Any, ...]:
        return Rule, (self.classes, self.pieces, self.otherwise, self.links)


def as_rule(model: Any, name: str = "model") -> Rule:
    """The rule of a fitted learner, of a polyhedron (classes "inside", "outside"), or itself."""
    if isinstance(model, Rule):
        return model
    if isinstance(model, Polyhedron):
        return Rule.inside(["inside", "outside"], 0, model)
    if isinstance(model, type) or not hasattr(model, "predict"):
        raise ValueError(
            f"{name} must be a fitted learner of polyceptron, a Rule or a Polyhedron; "
            f"got {model!r:.200}"
        )
    rule = getattr(model, "rule_", None)
    if not isinstance(rule, Rule):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
        raise ValueError(
            f"{name} must be a fitted learner of polyceptron, a Rule or a Polyhedron; got a "
            f"{type(model).__name__}. Of a pipeline, give the last step, and rows as it sees them"
        )
    return rule


def show_label(label: Any) -> str:
    """A label that cannot be taken for anything else: numbers bare, all others as names."""
    return str(label) if isinstance(label, int | float | np.number) else quoted(str(label))


def _least(rows: Any, polyhedron: Polyhedron, n_jobs: int | None) -> Floats:
    """h(x) of every row by one polyhedron."""
    h, finite = decide(rows, polyhedron.W, polyhedron.b, n_jobs)
    return h if finite else polyhedron.decision(rows)  # which mends overflow


def _as_text(label: Any, union: tuple[Polyhedron, ...], digits: int) -> list[str]:
    name, n = show_label(label), len(union)
    if n == 1:
        how = "this holds" if union[0].n_faces == 1 else f"all {union[0].n_faces} hold"
        faces = union[0].to_text(digits).splitlines()
        return [f"{name} if {how}:", *(f"  {face}" for face in faces)]
    lines = [f"{name} if one of {n} holds:"]
    for number, part in enumerate(union, 1):
        first, *rest = part.to_text(digits).splitlines()
        indent = " " * len(f"  {number}. ")
        lines += [f"  {number}. {first}", *(f"{indent}and {face}" for face in rest)]
    return lines
