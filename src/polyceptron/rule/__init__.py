"""What a learner answers: polyhedra, each with the class of its rows, and the class otherwise."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron.calibration import Link
from polyceptron.data.encoding import Encoding
from polyceptron.inequalities import equation
from polyceptron.polyhedron import Polyhedron
from polyceptron.scoring import as_rows, is_kernel_ready, least_margins, scores
from polyceptron.utils import notebook
from polyceptron.utils.checks import as_count
from polyceptron.utils.lazy import need
from polyceptron.utils.palette import colour_of
from polyceptron.utils.text import inequality, one_side, printed_faces, quoted, short_number
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


class Decision(NamedTuple):
    """The answers to some rows, and what they rest on: an array each.

    ``place`` is that of the class among the classes of the rule. ``piece`` decides: it is the best
    one where none contains the row, or where all are of one class. ``score`` is that of
    `Rule.decision_function`, of several columns that of the answer; in a leaf, its share. ``face``
    is that of least margin, and ``slack`` how much that is in the numbers of its text, if they were
    asked for.
    """

    place: Indices
    piece: Indices
    score: Floats
    face: Indices | None = None
    slack: Floats | None = None


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
        classes = np.array(self.classes)
        classes.flags.writeable = False
        pieces = tuple(Piece(*piece) for piece in self.pieces)
        self.__dict__.update(classes=classes, pieces=pieces, links=tuple(self.links))
        self.__dict__.update(locked=_places(self.locked, pieces), edits=tuple(self.edits))
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
        if self.encoding is None or X is None:
            return X
        names, attributes = self.encoding.names, ("column_names", "columns", "keys")
        named = next((getattr(X, name) for name in attributes if hasattr(X, name)), None)
        if named is not None:
            there = {*(named() if callable(named) else named)}
            return self.encoding.transform(X) if there.issuperset(names) else X
        array = np.asarray(X)
        if array.ndim != 2 or array.shape[1] != len(names):
            return X
        numbers = set(self.encoding.kinds[0])
        return self.encoding.transform(
            {
                name: values.astype(float) if name in numbers else values
                for name, values in zip(names, array.T, strict=True)
            }
        )

    def scores(self, X: Any, n_jobs: int | None = 1) -> Floats:
        """h(x) of every row by every piece, which contains the row where it is at least 0.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        n_jobs : int or None, default=1
            Threads for many rows, here and below; -1 is all cores, None is one or what
            `joblib.parallel_config` says. Answers are the same.
        """
        rows = self._rows(X)
        return np.column_stack([_least(rows, piece.polyhedron, n_jobs) for piece in self.pieces])

    def decide(self, X: Any, *, faces: bool = False, n_jobs: int | None = 1) -> Decision:
        """The answer to every row, and what it rests on; its face of least margin if asked for."""
        rows = self._rows(X)
        if self.is_most_probable:
            decision = self.decide_by(self.scores(rows, n_jobs))
        else:
            decision = self._decided(*self._deciding(rows, n_jobs))
        return self._with_faces(rows, decision) if faces else decision

    def decide_by(self, h: Floats) -> Decision:
        """The answers to rows of which the `scores` are known."""
        if not self.is_most_probable:
            return self._decided(*self._best(h))
        odds, places = self.log_odds(h), np.array([one.place for one in self.pieces], np.intp)
        place = odds.argmax(axis=1)
        piece = np.where(places == place[:, None], h, -np.inf).argmax(axis=1)
        return Decision(place, piece, odds.max(axis=1))

    def _decided(self, piece: Indices, score: Floats) -> Decision:
        """The answers of the pieces that they rest on."""
        place = np.array([one.place for one in self.pieces], np.intp)[piece]
        if self.otherwise is not None:
            place = np.where(score >= 0, place, self.otherwise)
            score = self._signed(score)
        elif self.pieces[0].shares:
            score = np.array([one.shares[one.place] for one in self.pieces])[piece]
        return Decision(place, piece, score)

    def decision_function(self, X: Any, n_jobs: int | None = 1) -> Floats:
        """Signed scores as scikit-learn has them.

        Of two classes, h(x) with the sign that the second is positive; of more, a column for each:
        its log-odds where it has a link, else the score of the best of its pieces.
        """
        rows = self._rows(X)
        if self.inside_place is not None and len(self.classes) == 2:
            return self._signed(self._deciding(rows, n_jobs)[1])
        h = self.scores(rows, n_jobs)
        return self.log_odds(h) if self.links else self._by_class(h)

    def predict(self, X: Any, n_jobs: int | None = 1) -> NDArray[Any]:
        """The label of every row."""
        inside, outside = self.inside_place, self.otherwise
        if inside is None or outside is None or len(self.pieces) > 1:
            return np.asarray(self.classes[self.decide(X, n_jobs=n_jobs).place])
        rows, one = self._rows(X), self.pieces[0].polyhedron
        # Block by block, without an array of scores: that would take a quarter of the time.
        labels = self.classes[[outside, inside]]
        found, finite = least_margins(rows, one.W, one.b, n_jobs, labels)
        return found if finite else labels[one.contains(rows).astype(np.intp)]

    def predict_proba(self, X: Any, n_jobs: int | None = 1) -> Floats:
        """The probability of each class: an array of shape (n_samples, n_classes)."""
        if not self.has_probabilities:
            raise ValueError("this rule has no probabilities: its learner gives scores only")
        rows = self._rows(X)
        if not self.links:
            shares = np.array([piece.shares for piece in self.pieces])
            return np.asarray(shares[self._deciding(rows, n_jobs)[0]])
        if self.inside_place is None:
            return np.exp(self.predict_log_proba(rows, n_jobs))
        return self._by_link("both", rows, n_jobs)

    def predict_log_proba(self, X: Any, n_jobs: int | None = 1) -> Floats:
        """The logarithm of `predict_proba`, exact where the link allows it."""
        if self.links and self.inside_place is not None:
            return self._by_link("logarithms", self._rows(X), n_jobs)
        if self.links:
            each = self._logarithms(self.scores(X, n_jobs))[1]
            return np.asarray(each - np.logaddexp.reduce(each, axis=1, keepdims=True))
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, n_jobs))

    def _rows(self, X: Any) -> Any:
        """The rows as the kernels take them: validated arrays as they are."""
        if self.encoding is None and is_kernel_ready(X) and X.shape[1] == self.n_features:
            return X
        return as_rows(self.features(X), self.n_features, self.feature_names)

    def _deciding(self, rows: Any, n_jobs: int | None) -> tuple[Indices, Floats]:
        """The piece that the answer rests on, and its score; without scores in a tree."""
        if self.splits and self.pieces[0].shares:
            piece = self._routed(rows)
            return piece, np.zeros(len(piece))
        return self._best(self.scores(rows, n_jobs))

    def _best(self, h: Floats) -> tuple[Indices, Floats]:
        """The piece that decides, by the scores of all, and its own."""
        if len(self.pieces) == 1:
            return np.zeros(len(h), np.intp), h[:, 0]
        first = h if self.inside_place is not None else np.where(h >= 0, np.inf, h)
        piece = first.argmax(axis=1)
        return piece, h[np.arange(len(h)), piece]

    @cached_property
    def faces(self) -> tuple[Floats, list[list[int]]]:
        """Every face once, a row [w, b] each; and those of each piece, by number.

        Numbers count from 1, and -k is the other side of k. Equal are faces to the last bit.
        """
        distinct: list[Floats] = []
        numbers: dict[bytes, int] = {}
        pieces = []
        for piece in self.pieces:
            faces = np.column_stack([piece.polyhedron.W, piece.polyhedron.b])
            keys = [face.tobytes() for face in faces]
            for key, face in zip(keys, faces, strict=True):
                if key not in numbers:
                    distinct.append(face)
                    numbers[key], numbers[(-face).tobytes()] = len(distinct), -len(distinct)
            pieces.append([numbers[key] for key in keys])
        return np.array(distinct), pieces

    @cached_property
    def splits(self) -> dict[tuple[int, int], int]:
        """Where the pieces are the leaves of a tree in preorder, how it shares out rows; else {}.

        Of the pieces from `start` that agree in their first `depth` faces, those from
        ``splits[start, depth]`` on have the next one the other way round.
        """
        splits: dict[tuple[int, int], int] = {}
        faces = self.faces[1]
        waiting = [(0, len(faces), 0)] if self.is_partition else []
        while waiting:
            start, stop, depth = waiting.pop()
            if stop - start == 1 and len(faces[start]) == depth:
                continue
            tests = [one[depth] if depth < len(one) else 0 for one in faces[start:stop]]
            n, test = tests.count(tests[0]), tests[0]
            if n == len(tests) or tests != [test] * n + [-test] * (len(tests) - n):
                return {}
            splits[start, depth] = start + n
            waiting += [(start, start + n, depth + 1), (start + n, stop, depth + 1)]
        return splits

    def _routed(self, rows: Any) -> Indices:
        """The leaf of every row: test by test, each for the rows that come to it."""
        piece = np.zeros(rows.shape[0], np.intp)
        waiting = [(0, len(self.pieces), 0, np.arange(rows.shape[0]))]
        while waiting:
            start, stop, depth, here = waiting.pop()
            if stop - start == 1 or not len(here):
                piece[here] = start
                continue
            one, test = self.pieces[start].polyhedron, slice(depth, depth + 1)
            there = rows[here] if depth else rows
            passed = scores(there, one.W[test], one.b[test], self.feature_names)[:, 0] >= 0
            middle = self.splits[start, depth]
            waiting.append((start, middle, depth + 1, here[passed]))
            waiting.append((middle, stop, depth + 1, here[~passed]))
        return piece

    def _by_class(self, h: Floats) -> Floats:
        """The score of the best piece of each class; minus infinity for a class without any."""
        found = np.full((len(h), len(self.classes)), -np.inf)
        for column, piece in zip(h.T, self.pieces, strict=True):
            np.maximum(found[:, piece.place], column, out=found[:, piece.place])
        return found

    def _logarithms(self, h: Floats) -> Floats:
        """Those of P(not the class) and P(the class) by its own pieces, a column for each class."""
        pairs = zip(self._by_class(h).T, self.links, strict=True)
        both = [link.logarithms(best) for best, link in pairs if link is not None]
        return np.stack(both, axis=2)

    def log_odds(self, h: Floats) -> Floats:
        """Those of each class by its own pieces, of rows of which the `scores` are known."""
        pairs = zip(self._by_class(h).T, self.links, strict=True)
        return np.column_stack([link.log_odds(best) for best, link in pairs if link is not None])

    def _by_link(self, what: str, rows: Any, n_jobs: int | None) -> Floats:
        """What the link says of both classes, in their order."""
        link, h = self.links[self.inside_place or 0], self._deciding(rows, n_jobs)[1]
        both = getattr(link, what)(h)
        return np.column_stack(both if self.inside_place == 1 else both[::-1])

    def _signed(self, h: Floats) -> Floats:
        """H with the sign that the second of two classes is positive."""
        return -h if len(self.classes) == 2 and self.otherwise == 1 else h

    def _with_faces(self, rows: Any, decision: Decision) -> Decision:
        face = np.zeros(len(decision.place), np.intp)
        slack = np.zeros(len(decision.place))
        for number in np.unique(decision.piece):
            here = np.flatnonzero(decision.piece == number)
            part = self.pieces[number].polyhedron
            margins = scores(rows[here], part.W, part.b)
            face[here] = margins.argmin(axis=1)
            if number not in self._exponents:
                self._exponents[number] = printed_faces(part.W, part.b)[2]
            slack[here] = np.ldexp(margins.min(axis=1), -self._exponents[number][face[here]])
        return decision._replace(face=face, slack=slack)

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
        labels = labels or [show_label(label) for label in self.labels]
        headings = []
        for p, piece in enumerate(self.pieces):
            n = piece.polyhedron.n_faces
            how = "if this holds" if n == 1 else f"if all {n} hold"
            headings.append(f"{labels[piece.place]} {how}{self.which(p)}")
        if self.otherwise is not None:
            return headings, f"Otherwise {labels[self.otherwise]}."
        if self.links:
            most = "Where none or several hold, the answer is the class that is most probable."
            return headings, most
        return headings, "One of them holds for every row: they are the leaves of a tree."

    def to_text(self, digits: int | None = None) -> str:
        """The rule in words; numbers as for `Polyhedron.to_text`."""
        headings, besides = self.in_words()
        lines = []
        for heading, piece in zip(headings, self.pieces, strict=True):
            faces = texts_of_faces(piece.polyhedron, self.encoding, digits)
            lines += [f"{heading}:", *(f"  face {k}: {face}" for k, face in enumerate(faces))]
        return "\n".join([*lines, besides, *self._on_gaps()])

    def _on_gaps(self) -> list[str]:
        """What is taken for values that are missing, a sentence for each column."""
        columns = self.encoding.columns if self.encoding else ()
        found = []
        for one in columns:
            if one.fill is not None:
                fill = quoted(one.fill) if isinstance(one.fill, str) else short_number(one.fill)
                found.append(f"Where {quoted(one.name)} is missing, {fill} is taken.")
        return found

    def to_columns(self, digits: int | None = None) -> dict[str, list[Any]]:
        """The columns of `to_frame`, as lists; the text has so many digits, if these are given."""
        digits = None if digits is None else as_count(digits, "digits")
        rows: list[list[Any]] = []
        for p, piece in enumerate(self.pieces):
            one = piece.polyhedron
            for k, (w, b) in enumerate(zip(one.W, one.b.tolist(), strict=True)):
                text = inequality(w, b, self.names, digits)
                shown, sense, bound = one_side(w, b)
                rows.append([self.labels[piece.place], p, k, text, sense, bound, *shown.tolist()])
        names = ["class", "piece", "face", "text", "sense", "offset"]
        names += [f"w[{name}]" for name in self.names]
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))

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
        headings, besides = self.in_words()
        order = {place: k for k, place in enumerate(sorted({one.place for one in self.pieces}))}
        several = len(self.pieces) > 1 or self.inside_place is None
        groups = [
            notebook.FaceGroup(
                texts_of_faces(piece.polyhedron, self.encoding),
                heading,
                colour_of(order[piece.place]) if several else "",
            )
            for heading, piece in zip(headings, self.pieces, strict=True)
        ]
        return notebook.rules_html(groups, [besides, *self._on_gaps(), *remarks], details)

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


def as_rule(model: Any, name: str = "model", error: type[Exception] = ValueError) -> Rule:
    """The rule of a fitted learner, a Rule or a Polyhedron: "inside" of that, and "outside".

    A list or tuple of polyhedra, as `polyhedra_` has them, is their union. Of a fitted pipeline of
    scikit-learn that ends in a learner, it is a rule on the columns that the pipeline is given:
    `polyceptron.rule.pipelines` says how. Where there is none, raises an error of this type that
    calls the argument by this name.
    """
    if isinstance(model, Rule):
        return model
    if is_bare(model):
        union = [model] if isinstance(model, Polyhedron) else model
        return Rule.inside(["inside", "outside"], 0, *union)
    wanted = f"{name} must be a fitted learner of polyceptron, a Rule or a Polyhedron; got"
    if isinstance(model, type) or not hasattr(model, "predict"):
        raise error(f"{wanted} {model!r:.200}")
    if is_pipeline(model):
        from polyceptron.rule.pipelines import fold_pipeline

        return fold_pipeline(model, as_rule(model.steps[-1][1], name, error), error)
    rule = getattr(model, "rule_", None)
    if not isinstance(rule, Rule):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
        found = f"{wanted} a {type(model).__name__}"
        if hasattr(model, "best_estimator_"):
            found += ". Of a search, give best_estimator_"
        raise error(found)
    return rule


def is_pipeline(model: Any) -> bool:
    """Whether a model is a pipeline of scikit-learn, which is not imported for that."""
    sklearn = sys.modules.get("sklearn.pipeline")
    return sklearn is not None and isinstance(model, sklearn.Pipeline)


def is_bare(model: Any) -> bool:
    """Whether a model is a Polyhedron, or several of a union, without labels of its own."""
    if isinstance(model, list | tuple):
        return bool(model) and all(isinstance(one, Polyhedron) for one in model)
    return isinstance(model, Polyhedron)


def show_label(label: Any) -> str:
    """A label that cannot be taken for anything else: numbers bare, all others as names."""
    return str(label) if isinstance(label, int | float | np.number) else quoted(str(label))


def texts_of_faces(
    polyhedron: Polyhedron, encoding: Encoding | None = None, digits: int | None = None
) -> list[str]:
    """The faces in words; that of a column of two values alone is one of them: smoker = yes."""
    lines = polyhedron.to_text(digits).splitlines()
    faces = zip(lines, polyhedron.W, polyhedron.b.tolist(), strict=True)
    return [equation(w, b, encoding) or line for line, w, b in faces]


def _places(faces: Any, pieces: tuple[Piece, ...]) -> tuple[tuple[int, int], ...]:
    """Places of faces, in their order; they must be there."""
    for p, k in faces:
        if not (0 <= p < len(pieces) and 0 <= k < pieces[p].polyhedron.n_faces):
            raise ValueError(f"locked has the place {(p, k)!r}, where no face is")
    return tuple(sorted({(int(p), int(k)) for p, k in faces}))


def _least(rows: Any, polyhedron: Polyhedron, n_jobs: int | None) -> Floats:
    """h(x) of every row by one polyhedron."""
    h, finite = least_margins(rows, polyhedron.W, polyhedron.b, n_jobs)
    return h if finite else polyhedron.decision(rows)  # which mends overflow
