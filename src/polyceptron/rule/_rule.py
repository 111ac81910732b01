"""The rule: polyhedra, each with the class of its rows, and the class otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron.calibration import Link
from polyceptron.data.encoding import Encoding
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import _answers, _tree, _words
from polyceptron.rule._answers import Decision
from polyceptron.utils.checks import as_label_array
from polyceptron.utils.lazy import need
from polyceptron.utils.types import Floats, Indices

if TYPE_CHECKING:
    from polyceptron.rule.editing import Edit, Editing

_LEAST_DIGITS = 3
"""Of a text that is not all of a rule: with fewer it says too little of rows that are not known."""


class Piece(NamedTuple):
    """A polyhedron, and the place of its class among the classes of the rule.

    Leaves of a tree have the shares of the classes among the training rows in them, too.
    """

    polyhedron: Polyhedron
    place: int
    shares: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Rule:
    """Unions of polyhedra by class: all that a fitted learner knows of new rows.

    A piece scores a row by its least margin, h(x) = min_k (w_k . x + b_k), and contains it where
    that is at least 0. A class scores by the best of its pieces. The answer to a row is

    - with a link for every class and no ``otherwise``: the class that is most probable;
    - else the class of the first piece that contains the row. Where none does, it is
      ``otherwise``; without that, the class of the best piece. The leaves of a tree are such
      pieces: they share out the space, and a row on a face belongs to the first.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        The labels, sorted.
    pieces : sequence of Piece
        At least one.
    otherwise : int, optional
        The place of the class of rows that no piece contains.
    links : sequence of Link or None, optional
        For each class, how its score becomes a probability.
    locked : sequence of pairs of int, optional
        Faces that `edit` does not change: places of piece and face.
    edits : sequence of Edit, optional
        What was done to it by hand. Rules are equal that answer alike, however they came about.
    encoding : Encoding, optional
        How the columns of a table become the features, where some are text or gaps are filled:
        that of a pipeline of scikit-learn. Such tables are then answered as well.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.rule import Rule
    >>> low = Polyhedron([[-1.0]], [1.0], ["dose"])
    >>> high = Polyhedron([[1.0]], [-5.0], ["dose"])
    >>> rule = Rule.inside(["fine", "harm"], 1, low, high)
    >>> print(rule)
    harm if this holds (piece 1 of 2):
      face 0: dose <= 1
    harm if this holds (piece 2 of 2):
      face 0: dose >= 5
    Otherwise fine.
    >>> rule.predict([[0], [3], [7]]).tolist()
    ['harm', 'fine', 'harm']
    """

    classes: NDArray[Any]
    pieces: tuple[Piece, ...]
    otherwise: int | None = None
    links: tuple[Link | None, ...] = ()
    locked: tuple[tuple[int, int], ...] = ()
    edits: tuple[Edit, ...] = ()
    encoding: Encoding | None = None

    def __post_init__(self) -> None:
        classes = as_label_array(self.classes).copy()
        classes.flags.writeable = False
        pieces = tuple(Piece(*piece) for piece in self.pieces)
        self.__dict__.update(classes=classes, pieces=pieces, links=tuple(self.links))
        self.__dict__.update(locked=_places_of_faces(self.locked, pieces), edits=tuple(self.edits))
        if not pieces:
            raise ValueError("pieces must not be empty")
        first = self.pieces[0].polyhedron
        for piece in self.pieces:
            named = piece.polyhedron.n_features, piece.polyhedron.feature_names
            if named != (first.n_features, first.feature_names):
                raise ValueError("pieces must all have the same features")
            if not 0 <= piece.place < len(classes):
                raise ValueError(f"a piece has the place {piece.place} of {len(classes)} classes")
            if len(piece.shares) != len(classes) * bool(self.pieces[0].shares):
                raise ValueError("pieces must have a share for each class, or none must have any")
        if self.otherwise is not None and not 0 <= self.otherwise < len(classes):
            raise ValueError(f"otherwise is the place {self.otherwise} of {len(classes)} classes")
        if len(self.links) not in (0, len(classes)):
            raise ValueError(f"links must have {len(classes)} items, or none")
        if self.encoding and len(self.encoding.feature_names) != first.n_features:
            raise ValueError(f"encoding must give {first.n_features} features")
        if self.otherwise is None and None in self.links:
            raise ValueError("links must be given for every class where nothing is otherwise")

    @classmethod
    def inside(
        cls, classes: ArrayLike, place: int, *polyhedra: Polyhedron, link: Link | None = None
    ) -> Rule:
        """The rule of two classes, that at `place` being the union of polyhedra.

        The link says how scores become probabilities of the class inside.
        """
        links = () if link is None else (link, None) if place == 0 else (None, link)
        return cls(np.asarray(classes), tuple(Piece(p, place) for p in polyhedra), 1 - place, links)

    @property
    def n_features(self) -> int:
        """The number of columns of the rows."""
        return self.pieces[0].polyhedron.n_features

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """What the columns are called, if that is known."""
        return self.pieces[0].polyhedron.feature_names

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are called: x0, x1, ... where nobody has said."""
        return self.feature_names or tuple(f"x{j}" for j in range(self.n_features))

    @property
    def labels(self) -> list[Any]:
        """The classes as plain values of Python."""
        return list(self.classes.tolist())

    def places_of(self, labels: NDArray[Any]) -> Indices:
        """The places of labels among the classes."""
        known = {label: place for place, label in enumerate(self.labels)}
        for label in labels.tolist():
            if label not in known:
                unknown = f"{label!r}, which is not among the classes {self.labels!r}"
                raise ValueError(f"y has the label {unknown}")
        return np.array([known[label] for label in labels.tolist()], np.intp)

    @cached_property
    def polyhedra(self) -> dict[Any, tuple[Polyhedron, ...]]:
        """For each class that has any, the polyhedra whose union it is."""
        return {
            self.labels[place]: tuple(one.polyhedron for one in self.pieces if one.place == place)
            for place in sorted({one.place for one in self.pieces})
        }

    @cached_property
    def inside_place(self) -> int | None:
        """The place of the only class that has polyhedra, all others being outside of them."""
        places = {piece.place for piece in self.pieces}
        return self.pieces[0].place if self.otherwise is not None and len(places) == 1 else None

    @property
    def is_partition(self) -> bool:
        """Whether the pieces share out the space, as the leaves of a tree do."""
        return self.otherwise is None and not self.links

    @property
    def is_most_probable(self) -> bool:
        """Whether the answer is the class that its own pieces make most probable."""
        return self.otherwise is None and bool(self.links)

    @property
    def has_probabilities(self) -> bool:
        """Whether `predict_proba` has an answer."""
        return bool(self.links) or bool(self.pieces[0].shares)

    def renamed(self, names: Any) -> Rule:
        """The same rule, its features called otherwise."""
        names = None if names is None else tuple(names)
        pieces = (
            one._replace(polyhedron=Polyhedron(one[0].W, one[0].b, names)) for one in self.pieces
        )
        return replace(self, pieces=tuple(pieces), encoding=None)

    def features(self, X: Any) -> Any:
        """The features of the rows of a table, by the encoding; without one, X itself.

        A table has names, or as many columns as the encoding reads; other rows are features.
        """
        return _answers.features_of(self, X)

    def scores(self, X: Any, n_jobs: int | None = 1) -> Floats:
        """h(x) of every row by every piece, which contains the row where it is at least 0.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        n_jobs : int or None, default=1
            Threads for many rows, here and below; -1 is all cores, None is one or what
            `joblib.parallel_config` says. Answers are the same.
        """
        return _answers.scores_of_pieces(self, self._rows(X), n_jobs)

    def decide(
        self,
        X: Any,
        *,
        faces: bool = False,
        probabilities: bool = False,
        n_jobs: int | None = 1,
    ) -> Decision:
        """The answer to every row, and what it rests on.

        Its face of least margin, and the probabilities of classes, if they are asked for.
        """
        if probabilities:
            self._check_probabilities()
        rows = self._rows(X)
        return _answers.decided(self, rows, n_jobs, faces=faces, probabilities=probabilities)

    def decide_by(self, h: Floats) -> Decision:
        """The answers to rows of which the `scores` are known."""
        return _answers.decided_by_scores(self, h)

    def decision_function(self, X: Any, n_jobs: int | None = 1) -> Floats:
        """Signed scores as scikit-learn has them.

        Of two classes, h(x) with the sign that the second is positive; of more, a column for each:
        its log-odds where it has a link, else the score of the best of its pieces.
        """
        return _answers.signed_scores(self, self._rows(X), n_jobs)

    def predict(self, X: Any, n_jobs: int | None = 1) -> NDArray[Any]:
        """The label of every row."""
        return _answers.predicted(self, X, n_jobs)

    def predict_proba(self, X: Any, n_jobs: int | None = 1) -> Floats:
        """The probability of each class: an array of shape (n_samples, n_classes)."""
        self._check_probabilities()
        return _answers.probabilities_of_rows(self, self._rows(X), n_jobs)

    def predict_log_proba(self, X: Any, n_jobs: int | None = 1) -> Floats:
        """The logarithm of `predict_proba`, exact where the link allows it."""
        self._check_probabilities()
        return _answers.log_probabilities(self, self._rows(X), n_jobs)

    def log_odds(self, h: Floats) -> Floats:
        """Those of each class by its own pieces, of rows of which the `scores` are known."""
        return _answers.log_odds_of_classes(self, h)

    def _check_probabilities(self) -> None:
        if not self.has_probabilities:
            raise ValueError("this rule has no probabilities: its learner gives scores only")

    def _rows(self, X: Any) -> Any:
        """The rows as the kernels take them: validated arrays as they are."""
        return _answers.rows_of(self, X)

    @cached_property
    def faces(self) -> tuple[Floats, list[list[int]]]:
        """Every face once, a row [w, b] each; and those of each piece, by number.

        Numbers count from 1, and -k is the other side of k. Equal are faces to the last bit.
        """
        return _tree.distinct_faces(self)

    @cached_property
    def splits(self) -> dict[tuple[int, int], int]:
        """Where the pieces are the leaves of a tree in preorder, how it shares out rows; else {}.

        Of the pieces from `start` that agree in their first `depth` faces, those from
        ``splits[start, depth]`` on have the next one the other way round.
        """
        return _tree.splits_of_tree(self)

    @cached_property
    def _exponents(self) -> dict[int, Indices]:
        """The powers of two of the faces of pieces that rows were explained by so far."""
        return {}

    def which(self, piece: int) -> str:
        """The number of a piece, counted from 1, where the class does not tell which it is."""
        known = len(self.polyhedra) if self.otherwise is None else 1
        n = len(self.pieces)
        return f" (piece {piece + 1} of {n})" if n > known else ""

    def in_words(self, labels: Sequence[str] = ()) -> tuple[list[str], str]:
        """For each piece what it answers and when, and the answer besides; `labels` as shown."""
        return _words.rule_in_words(self, labels)

    def to_text(self, digits: int | None = None) -> str:
        """The rule in words; numbers as for `Polyhedron.to_text`."""
        return _words.text_of_rule(self, digits)

    def to_columns(self, digits: int | None = None) -> dict[str, list[Any]]:
        """The columns of `to_frame`, as lists; the text has so many digits, if these are given."""
        return _words.columns_of_faces(self, digits)

    def to_frame(self, library: str = "pandas", digits: int | None = None) -> Any:
        """The faces as a frame, one row each, with the numbers of the text.

        There is a column for each feature, not a row for each term: so a face is one line of a
        spreadsheet, and coefficients are compared, sorted and multiplied as they are.

        Parameters
        ----------
        library : {"pandas", "polars"}, default="pandas"
            What the frame is of, by the names of scikit-learn's `set_output`.
        digits : int, optional
            Significant digits of the text; by default it has those that decide.

        Returns
        -------
        frame
            "class" is that of the rows inside. "piece" and "face" are counted from 0, as by
            `decide` and in `pieces`. "text" is the inequality, and the same are the columns
            "w[name]", "sense" and "offset": the sum of ``w[name] * name`` is >= or <= the offset.

        Examples
        --------
        >>> from polyceptron import Polyhedron, Rule
        >>> triangle = Polyhedron([[1, 0], [-1, -2]], [0, 4], ["age", "dose"])
        >>> print(Rule.inside(["no", "yes"], 1, triangle).to_frame().to_string(index=False))
        class  piece  face              text sense  offset  w[age]  w[dose]
          yes      0     0          age >= 0    >=     0.0     1.0      0.0
          yes      0     1 2*dose + age <= 4    <=     4.0     1.0      2.0
        """
        if library not in ("pandas", "polars"):
            raise ValueError(f"library must be 'pandas' or 'polars'; got {library!r}")
        return need(library, "a frame").DataFrame(self.to_columns(digits))

    def rounded(self, digits: int) -> Rule:
        """The rule that ``to_text(digits)`` says."""
        pieces = (one._replace(polyhedron=one[0].rounded(digits)) for one in self.pieces)
        return replace(self, pieces=tuple(pieces))

    def edit(self, X: Any = None, y: Any = None) -> Editing:
        """Change faces by hand: lock, move, drop, replace or round them, one after the other.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features), optional
            Rows on which changes are shown.
        y : array-like of shape (n_samples,), optional
            Their labels: then confusion matrices are shown, and `Editing.calibrate` works.

        Examples
        --------
        >>> from polyceptron import Polyhedron, Rule
        >>> rule = Rule.inside(["no", "yes"], 1, Polyhedron([[1], [-1]], [-5, 7], ["dose"]))
        >>> step = rule.edit([[4], [6]]).move(0, to=4, why="guideline of 2026")
        >>> print(step.rule)
        yes if all 2 hold:
          face 0: dose >= 4
          face 1: dose <= 7
        Otherwise no.
        >>> print(step.change, step.rule.edits[0].why)
        1 of 2 rows switch. guideline of 2026
        """
        from polyceptron.rule.editing import Editing

        return Editing.of(self, X, y)

    def digits_for(self, X: Any) -> int | None:
        """The fewest digits with which the text of the rule answers these rows as the rule does.

        At least three. None where no number is enough, or where the text is short with all digits.

        Examples
        --------
        >>> from polyceptron import Polyhedron, Rule
        >>> rule = Rule.inside(["no", "yes"], 1, Polyhedron([[2 / 3]], [-100]))
        >>> rule.digits_for([[149], [151]]), rule.digits_for([[149.99], [150.01]])
        (3, 4)
        """
        rows = self._rows(X)
        if all(piece.polyhedron.is_short for piece in self.pieces):
            return None
        place = self.decide(rows).place
        told = ((n, self.rounded(n).decide(rows).place) for n in range(_LEAST_DIGITS, 17))
        return next((n for n, one in told if np.array_equal(one, place)), None)

    def agreement(self, X: Any, digits: int | None = None) -> int:
        """How many of these rows are answered alike by the rule and by its text."""
        told = self if digits is None else self.rounded(digits)
        return int((told.decide(X).place == self.decide(X).place).sum())

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """The rule as a table, for notebooks."""
        return self.to_html()

    def to_html(self, remarks: Sequence[str] = (), details: Sequence[str] = ()) -> str:
        """The rule as a table with the numbers and names of its text, coloured as in pictures.

        Faces of a single piece have their own colours, several pieces those of their classes.

        Parameters
        ----------
        remarks, details : sequence of str, optional
            Sentences to show below: all of them, and all but the first on a click.
        """
        return _words.html_of_rule(self, remarks, details)

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{label!r}: {len(union)} x {[part.n_faces for part in union]}"
            for label, union in self.polyhedra.items()
        )
        return f"<Rule of {len(self.classes)} classes, {self.n_features} features; {shown}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rule):
            return NotImplemented
        return self.classes.dtype.kind == other.classes.dtype.kind and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return tuple(self.labels), self.pieces, self.otherwise, self.links

    def __reduce__(self) -> tuple[Any, ...]:
        whole = self.classes, self.pieces, self.otherwise, self.links, self.locked, self.edits
        return Rule, (*whole, self.encoding)


def _places_of_faces(faces: Any, pieces: tuple[Piece, ...]) -> tuple[tuple[int, int], ...]:
    """Places of faces, in their order; they must be there."""
    for p, k in faces:
        if not (0 <= p < len(pieces) and 0 <= k < pieces[p].polyhedron.n_faces):
            raise ValueError(f"locked has the place {(p, k)!r}, where no face is")
    return tuple(sorted({(int(p), int(k)) for p, k in faces}))
