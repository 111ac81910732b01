"""What a caller knows of the class inside: read, and held to by the rule at last."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyceptron.data.blocks import ArrayBlocks, kernel_rows
from polyceptron.data.encoding import missing_columns
from polyceptron.data.training import TrainingData
from polyceptron.inequalities import parse_inequality
from polyceptron.learners.polyceptron.clearance import Clearance
from polyceptron.learners.polyceptron.few_terms import FaceLimits, nearest_pieces
from polyceptron.learners.polyceptron.rounding import rows_in_user_units, short_offsets
from polyceptron.learners.polyceptron.sample import Sample
from polyceptron.polyhedron import Polyhedron
from polyceptron.scoring import as_rows, scores
from polyceptron.utils.checks import place_of
from polyceptron.utils.text import printed_face, printed_faces
from polyceptron.utils.types import Floats

NAMES = ("monotonic_cst", "fixed_faces", "features_of_faces", "must_contain")
"""The parameters that say it."""
OF_THE_INSIDE = ("monotonic_cst", "fixed_faces", "must_contain")
"""Those that speak of one class."""
_PULL, _MOST_PULL = 0.1, 10.0
"""Weight of rows that have to be inside, as a share of that of all rows, and of one at most."""
_REACH = 0.05
"""How far beyond a row a face may go for a short number, in standard deviations of its scores."""


class Knowledge(NamedTuple):
    """In the columns and units of X."""

    signs: NDArray[np.int8]
    """Which way the class gets likelier as a column rises; 0 for any."""
    faces: Floats
    """Rows [w, b] of inequalities that hold for the class, whatever else is learned."""
    groups: NDArray[np.bool_]
    """Columns that may stand together in a face, a line for each group."""
    rows: Any
    """Rows that have to be inside."""

    @classmethod
    def of(
        cls, given: Mapping[str, Any], n_features: int, names: Sequence[str] | None
    ) -> Knowledge:
        """Read the parameters; those that are wrong are a ValueError that says how."""
        columns = list(names) if names is not None else [f"x{j}" for j in range(n_features)]
        faces = _read_faces(given["fixed_faces"], columns)
        rows = _read_rows(given["must_contain"], n_features, names)
        _check_possible(rows, faces, columns)
        signs = _read_signs(given["monotonic_cst"], columns)
        _check_signs(signs, faces, columns)
        return cls(signs, faces, _read_groups(given["features_of_faces"], columns), rows)

    @property
    def is_free(self) -> bool:
        """Whether any coefficient may stand in any face."""
        return not self.signs.any() and bool(self.groups.all())

    @property
    def is_of_the_inside(self) -> bool:
        """Whether something is known of one class."""
        return bool(self.signs.any() or len(self.faces) or self.rows.shape[0])

    def narrowed(
        self, training: TrainingData, sample: Sample, inside: int
    ) -> tuple[ArrayBlocks, FaceLimits, Any]:
        """Rows of which there is something to learn, limits of that, and rows that are inside.

        Where a given face does not hold, rows are outside whatever is learned. Rows that have to be
        inside are added to the others.
        """
        groups = self.groups[:, sample.columns]
        groups = groups[groups.any(axis=1)]
        if not len(groups):
            raise ValueError("features_of_faces: all columns of its groups are constant")
        limits = FaceLimits(len(sample.columns), self.signs[sample.columns], groups)
        data = sample.data
        if len(self.faces):
            rows = rows_in_user_units(training, sample.numbers)
            data = data.take(np.flatnonzero(self.admits(rows.matrix)))
        own = self._own_rows(training, sample)
        if own.shape[0]:
            n, sign = own.shape[0], np.int8(1 if inside == 1 else -1)
            pull = min(max(1.0, _PULL * data.n_samples / n), _MOST_PULL)
            weight = np.append(data.weights, np.full(n, pull))
            stack = np.vstack if isinstance(own, np.ndarray) else sparse.vstack
            y = np.append(data.y, np.full(n, sign))
            data = data.like(stack([data.matrix, own]), y, weight / weight.mean())
        if not ((data.y > 0) == (inside == 1)).any():
            own, which = f"the class {training.classes.tolist()[inside]!r}", "the other"
            if len(training.source.classes) > 2:  # whoever learns one against the others names it
                own, which = "it", "another"
            raise ValueError(
                f"fixed_faces leave no row of {own} inside; are they of {which} class, or in "
                "other units? `inside` says which class they are of"
            )
        return data, limits, own

    def _own_rows(self, training: TrainingData, sample: Sample) -> Any:
        """The rows that have to be inside, as those of the sample are."""
        there, rows = sample.data.matrix, self.rows
        if not isinstance(there, np.ndarray):
            rows = sparse.csr_matrix(rows)
        elif sparse.issparse(rows):
            rows = rows.toarray()
        X: Any = training.coordinates.transform(kernel_rows(rows.astype(there.dtype)))
        X = sparse.csr_matrix(X, shape=rows.shape) if isinstance(X, tuple) else X
        return X[:, sample.columns]

    def plain(self) -> dict[str, Any]:
        """The parameters as arrays, which say the same."""
        return {
            "monotonic_cst": self.signs.astype(float) if self.signs.any() else None,
            "fixed_faces": self.faces if len(self.faces) else None,
            "features_of_faces": None if self.groups.all() else self.groups.astype(float),
            "must_contain": None if not self.rows.shape[0] else _as_dense(self.rows),
        }

    def admits(self, X: Any) -> NDArray[np.bool_]:
        """Where all inequalities that are given hold."""
        if not len(self.faces):
            return np.ones(X.shape[0], bool)
        return np.asarray((self._margins(X) >= 0).all(axis=1))

    def _margins(self, X: Any) -> Floats:
        return scores(X, self.faces[:, :-1].copy(), self.faces[:, -1].copy())

    def held_to(
        self, pieces: list[Polyhedron], X: Any, names: Sequence[str] | None
    ) -> list[Polyhedron]:
        """The pieces with the given faces in each, and moved so that rows are inside that must be.

        Rows X tell how large scores are. Without a piece the given faces are one.
        """
        if pieces:
            pieces = _with_rows(pieces, self.rows, X)
        if not len(self.faces):
            return pieces
        sizes = np.abs(self._margins(X)).mean(axis=0)
        pairs = zip(self.faces[:, :-1], self.faces[:, -1].tolist(), sizes.tolist(), strict=True)
        given = [_near_one(w, c, size) for w, c, size in pairs]
        W, b = np.array([w for w, _ in given]), np.array([c for _, c in given])
        others = [(one.W, one.b) for one in pieces] or [(W[:0], b[:0])]
        return [Polyhedron(np.vstack([W, V]), np.append(b, c), names) for V, c in others]


def of_class(given: Mapping[str, Any], label: Any) -> dict[str, Any]:
    """What is known of one of more than two classes, by the names of the parameters."""
    return {name: (given[name] or {}).get(label) for name in OF_THE_INSIDE}


def plain_by_class(
    given: Mapping[str, Any], labels: list[Any], n_features: int, names: Sequence[str] | None
) -> dict[str, Any]:
    """The parameters as arrays; what is known of more than two classes by their labels."""
    if len(labels) == 2:
        return Knowledge.of(given, n_features, names).plain()
    each: dict[str, Any] = dict.fromkeys(NAMES)
    for label in labels:
        with naming_class(label):
            known = Knowledge.of({**given, **of_class(given, label)}, n_features, names).plain()
        each["features_of_faces"] = known["features_of_faces"]
        for name in OF_THE_INSIDE:
            if known[name] is not None:
                each[name] = (each[name] or {}) | {label: known[name]}
    return each


@contextmanager
def naming_class(label: Any) -> Iterator[None]:
    """Make errors say of which of several classes they are."""
    try:
        yield
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        raise ValueError(f"class {label!r}: {error}") from None


def check_by_class(name: str, given: Any, labels: list[Any]) -> None:
    """Refuse what is known of more than two classes and does not say of which."""
    if given is None:
        return
    wrong = [label for label in given if label not in labels] if isinstance(given, Mapping) else []
    if wrong or not isinstance(given, Mapping):
        what = f"{wrong[0]!r:.60}" if wrong else f"{given!r:.60}"
        raise ValueError(
            f"with {len(labels)} classes, {name} must be a dict from the label of a class to what "
            f"is known of it; the labels are {labels!r}, got {what}"
        )


# --- reading ------------------------------------------------------------------------------


def _place_of_column(name: str, column: Any, columns: list[str]) -> int:
    """The place of a column that is named, or counted."""
    if isinstance(column, str) and column not in columns:
        raise ValueError(f"{name}: {missing_columns([column], columns)}")
    return place_of(column, columns, name, ValueError)


def _read_signs(given: Any, columns: list[str]) -> NDArray[np.int8]:
    name, signs = "monotonic_cst", np.zeros(len(columns), np.int8)
    if given is None:
        return signs
    if hasattr(given, "items"):  # a dict, or a pandas Series
        pairs = [
            (_place_of_column(name, column, columns), value) for column, value in given.items()
        ]
    else:
        values = np.asarray(given, object)
        if values.shape != (len(columns),):
            raise ValueError(
                f"{name} must have a number for each of the {len(columns)} columns, or be a dict "
                f"from columns; got shape {values.shape}"
            )
        pairs = list(enumerate(values.tolist()))
    for place, value in pairs:
        if np.ndim(value) or value not in (-1, 0, 1):
            raise ValueError(f"{name} must be 1, -1 or 0 for {columns[place]!r}; got {value!r}")
        signs[place] = value
    return signs


def _read_faces(given: Any, columns: list[str]) -> Floats:
    d = len(columns)
    if given is None:
        return np.empty((0, d + 1))
    if isinstance(given, Polyhedron):
        given = _by_names(given, columns), given.b
    if isinstance(given, str):
        given = [given]
    if isinstance(given, tuple) and len(given) == 2 and not isinstance(given[0], str):
        A, b = (_numbers_of_given(one) for one in given)
        if A.ndim != 2 or b.shape != A.shape[:1]:
            raise ValueError(
                f"fixed_faces as (A, b) must be of shapes (m, {d}) and (m,), and says "
                f"A @ x + b >= 0; got {A.shape} and {b.shape}"
            )
        faces = np.column_stack([A, b])
    elif isinstance(given, np.ndarray):
        faces = _numbers_of_given(given)
        if faces.ndim != 2:
            raise ValueError(
                f"fixed_faces as an array must have rows [w, b] of {d + 1} numbers; got shape "
                f"{faces.shape}"
            )
    else:
        read = [_read_face(one, columns) for one in _listed_items(given)]
        faces = np.array([np.append(w, b) for w, b in read]).reshape(-1, d + 1)
    if faces.shape[1] != d + 1:
        raise ValueError(f"fixed_faces have {faces.shape[1] - 1} columns, and X has {d}")
    if not np.isfinite(faces).all() or not faces[:, :-1].any(axis=1).all():
        raise ValueError(
            "fixed_faces must be finite, and each must have a coefficient other than 0"
        )
    # The same face twice, also times a power of two, is one.
    printed = [(*v.tolist(), c) for v, c, _ in (printed_face(f[:-1], float(f[-1])) for f in faces)]
    return faces[sorted({one: printed.index(one) for one in printed}.values())]


def _listed_items(given: Any) -> list[Any]:
    """The items of a list; what is none is one item, to be refused."""
    return list(given) if isinstance(given, list | tuple) else [given]


def _numbers_of_given(given: Any) -> Floats:
    try:
        return np.asarray(given, float)
    except (TypeError, ValueError):
        raise ValueError(f"fixed_faces must be numbers, or text; got {given!r:.80}") from None


def _by_names(given: Polyhedron, columns: list[str]) -> Floats:
    """Coefficients in the order of the columns, where the polyhedron has names of its own."""
    names = given.feature_names
    if names is None or list(names) == columns:
        return given.W
    W = np.zeros((given.n_faces, len(columns)))
    for j in np.flatnonzero(given.W.any(axis=0)).tolist():
        W[:, _place_of_column("fixed_faces", str(names[j]), columns)] = given.W[:, j]
    return W


def _read_face(text: Any, columns: list[str]) -> tuple[Floats, float]:
    if not isinstance(text, str):
        raise ValueError(
            "fixed_faces must be inequalities such as '2*age - bmi >= 14', a Polyhedron, a pair "
            f"(A, b), or an array of rows [w, b]; got {text!r:.80}"
        )
    try:
        return parse_inequality(text, columns)
    except ValueError as error:
        raise ValueError(f"fixed_faces: {error}") from None


def _read_groups(given: Any, columns: list[str]) -> NDArray[np.bool_]:
    name, d = "features_of_faces", len(columns)
    if given is None:
        return np.ones((1, d), bool)
    if isinstance(given, np.ndarray) and given.ndim == 2:
        groups = np.asarray(given == 1)
        if groups.shape[1] != d:
            raise ValueError(f"{name} as an array must have {d} columns; got {groups.shape[1]}")
        if not np.array_equal(groups, given):
            raise ValueError(f"{name} as an array must be 1 or 0 in each place; got {given!r:.80}")
    else:
        if not all(isinstance(one, list | tuple) for one in [given, *_listed_items(given)]):
            hint = "; max_terms=1 is for faces of one column each" if given == 1 else ""
            raise ValueError(f"{name} must be a list of lists of columns{hint}; got {given!r:.80}")
        groups = np.zeros((len(given), d), bool)
        for group, own in zip(groups, given, strict=True):
            group[[_place_of_column(name, column, columns) for column in own]] = True
    if not groups.size or not groups.any(axis=1).all():
        raise ValueError(f"{name} must have a group, and each group a column; got {given!r:.80}")
    return groups


def _read_rows(given: Any, n_features: int, names: Sequence[str] | None) -> Any:
    if given is None:
        return np.empty((0, n_features))
    try:
        rows = as_rows(given, n_features, names)
    except ValueError as error:
        raise ValueError(f"must_contain: {error}") from None
    values = rows if isinstance(rows, np.ndarray) else rows.data
    if not np.isfinite(values).all():
        raise ValueError("must_contain has a value that is not a finite number")
    return rows


def _as_dense(rows: Any) -> Floats:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, float)


def _check_possible(rows: Any, faces: Floats, columns: list[str]) -> None:
    if not len(faces) or not rows.shape[0]:
        return
    outside = scores(rows, faces[:, :-1].copy(), faces[:, -1].copy()) < 0
    if outside.any():
        row, face = np.argwhere(outside)[0].tolist()
        text = Polyhedron(faces[[face], :-1], faces[[face], -1], columns).to_text()
        raise ValueError(
            f"row {row} of must_contain is not where the fixed face {text!r} holds: no rule can "
            "have both; leave out one of them"
        )


def _check_signs(signs: NDArray[np.int8], faces: Floats, columns: list[str]) -> None:
    against = signs * faces[:, :-1] < 0
    if against.any():
        face, column = np.argwhere(against)[0].tolist()
        text = Polyhedron(faces[[face], :-1], faces[[face], -1], columns).to_text()
        raise ValueError(
            f"the fixed face {text!r} is against monotonic_cst, which is {signs[column]} for "
            f"{columns[column]!r}: no rule can have both; leave out one of them"
        )


# --- holding to it --------------------------------------------------------------------------


def _near_one(w: Floats, b: float, size: float) -> tuple[Floats, float]:
    """The face times a power of two that makes scores of this size about 1, if it prints alike."""
    e = -math.frexp(size)[1] if size > 0 else 0
    offer = np.ldexp(w, e), math.ldexp(b, e)
    texts = {Polyhedron([v], [c]).to_text() for v, c in (offer, (w, b))}
    return offer if len(texts) == 1 else (w, b)


def _with_rows(pieces: list[Polyhedron], rows: Any, X: Any) -> list[Polyhedron]:
    """The pieces moved as little as lets each of these rows into one of them."""
    if not rows.shape[0]:
        return pieces
    spreads = [scores(X, one.W, one.b).std(axis=0) + 1e-300 for one in pieces]
    short = [_shortfalls(rows, one) for one in pieces]
    nearest = nearest_pieces([part / by for part, by in zip(short, spreads, strict=True)])
    moved, clearance = [], Clearance(X)
    for m, piece in enumerate(pieces):
        b, own = piece.b.copy(), np.flatnonzero(nearest == m)
        for k in np.flatnonzero((short[m][own] < 0).any(axis=0)).tolist():
            v, _, e = printed_face(piece.W[k], float(b[k]))
            reach = _REACH * math.ldexp(float(spreads[m][k]), -e)
            z = scores(X, v[None], np.zeros(1))[:, 0]
            offers = list(_letting_in(rows[own], v, reach))
            clear = (c for c in offers if clearance.is_clear(v, c, z))
            b[k] = math.ldexp(-next(clear, offers[0]), e)
        moved.append(Polyhedron(piece.W, b, piece.feature_names))
    return moved


def _shortfalls(rows: Any, piece: Polyhedron) -> Floats:
    """By how much faces fail for rows: a little where not every program finds that they hold."""
    found: Floats = np.minimum(scores(rows, piece.W, piece.b), 0.0)
    clearance = Clearance(rows)
    for k, (v, c) in enumerate(zip(*printed_faces(piece.W, piece.b)[:2], strict=True)):
        z = scores(rows, v[None], np.zeros(1))[:, 0]
        unclear = clearance.unclear(v, -float(c), z)
        found[unclear, k] = np.minimum(found[unclear, k], -1e-300)
    return found


def _letting_in(rows: Any, v: Floats, reach: float) -> Iterator[float]:
    """Offsets c with which v . x >= c for these rows, as every program finds: the shortest first.

    At last, if there is none within reach, one that is as low as need be.
    """
    z, clearance, is_any = scores(rows, v[None], np.zeros(1))[:, 0], Clearance(rows), False
    least = float(z.min())

    def lets_in(c: float) -> bool:
        holds = scores(rows, v[None], np.array([-c]))[:, 0] >= 0
        return bool(holds.all()) and clearance.is_clear(v, c, z)

    for c in short_offsets(least, reach, is_below=True):
        if lets_in(c):
            is_any = True
            yield c
    if not is_any:
        yield next(filter(lets_in, _downwards(least)))


def _downwards(number: float) -> Iterator[float]:
    """Lower numbers, in steps that double: what terms lose in a sum may dwarf the sum."""
    step = math.ulp(number)
    while math.isfinite(number):
        yield number
        number, step = number - step, 2 * step
