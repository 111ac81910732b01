"""The value that everything ends in: a polyhedron ``{x : Wx + b >= 0}`` with named columns."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron.scoring import least_margins, rows_for_kernels, scores
from polyceptron.utils import notebook
from polyceptron.utils.checks import as_columns, as_count, as_floats, as_names, check_faces
from polyceptron.utils.text import MOST_SHORT, count_digits, inequality, printed_faces
from polyceptron.utils.types import Floats

_N_JOBS = 2
"""Threads for many rows: what takes the time is to read them."""


@dataclass(frozen=True, eq=False, slots=True, init=False, repr=False)
class Polyhedron:
    """The set of all x with ``W[k] . x + b[k] >= 0`` for every face k.

    Parameters
    ----------
    W : array-like of shape (n_faces, n_features)
        The normals of the faces, pointing inwards. None may be all zero.
    b : array-like of shape (n_faces,)
        The offsets of the faces.
    feature_names : iterable of str, optional
        What the columns are called, all different.

    Attributes
    ----------
    W, b : ndarray of float64
        Read-only copies of what was given.
    feature_names : tuple of str or None

    Examples
    --------
    A triangle:

    >>> from polyceptron import Polyhedron
    >>> triangle = Polyhedron([[1, 0], [0, 1], [-1, -2]], [0, 0, 4], ["age", "dose"])
    >>> print(triangle)
    age >= 0
    dose >= 0
    2*dose + age <= 4
    >>> rows = [[1, 1], [3, 1], [4, 0]]
    >>> triangle.contains(rows)
    array([ True, False,  True])
    >>> triangle.decision(rows), triangle.active_face(rows)
    (array([ 1., -1.,  0.]), array([0, 2, 1]))
    >>> triangle.distance([[0, 5]]).round(2)
    array([[ 0.  ,  5.  , -2.68]])
    """

    W: Floats
    b: Floats
    feature_names: tuple[str, ...] | None

    def __init__(
        self, W: ArrayLike, b: ArrayLike, feature_names: Iterable[str] | None = None
    ) -> None:
        normals, offsets = as_floats(W, "W", copy=True), as_floats(b, "b", copy=True)
        check_faces(normals, offsets)
        normals.flags.writeable = offsets.flags.writeable = False
        object.__setattr__(self, "W", normals)
        object.__setattr__(self, "b", offsets)
        object.__setattr__(self, "feature_names", as_names(feature_names, normals.shape[1]))

    @property
    def n_faces(self) -> int:
        """The number of inequalities, K."""
        return int(self.W.shape[0])

    @property
    def n_features(self) -> int:
        """The number of columns, d."""
        return int(self.W.shape[1])

    def margins(self, X: Any) -> Floats:
        """Return ``X @ W.T + b``, the slack of every row at every face.

        A row's answer does not depend on the rows it came with, to the last bit.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Columns count by position; a frame with our names in another order is refused.

        Returns
        -------
        ndarray of shape (n_samples, n_faces)
        """
        rows = rows_for_kernels(X, self.n_features, self.feature_names)
        return scores(rows, self.W, self.b, self.feature_names, _N_JOBS)

    def decision(self, X: Any) -> Floats:
        """Return h(x), the least margin of every row; inside means h(x) >= 0."""
        rows = rows_for_kernels(X, self.n_features, self.feature_names)
        h, finite = least_margins(rows, self.W, self.b, _N_JOBS)
        return h if finite else np.asarray(self.margins(rows).min(axis=1))  # mends overflow

    def contains(self, X: Any) -> NDArray[np.bool_]:
        """Return which rows are inside. A row on a face is inside."""
        return self.decision(X) >= 0

    def active_face(self, X: Any) -> NDArray[np.intp]:
        """Return the face with the least margin for every row; ties go to the first face."""
        return np.asarray(self.margins(X).argmin(axis=1))

    def distance(self, X: Any) -> Floats:
        """Return the signed Euclidean distance of every row to every face.

        It is positive on the inner side, with the signs of `margins`, and of the same shape.
        """
        W, b, norms = scaled_faces(self.W, self.b)
        rows = rows_for_kernels(X, self.n_features, self.feature_names)
        with np.errstate(over="ignore"):
            return scores(rows, W, b, self.feature_names, _N_JOBS) / norms

    def normalized(self) -> "Polyhedron":
        """Return the same set with normals of length one, so that margins are distances."""
        W, b = self._unit_faces()
        far = np.flatnonzero(~np.isfinite(b))
        if far.size:
            raise ValueError(
                f"face {far[0]} is further from the origin than float64 can hold "
                f"(b[{far[0]}] is {self.b[far[0]]})"
            )
        return Polyhedron(W, b, self.feature_names)

    def pullback(self, scale: ArrayLike, shift: ArrayLike) -> "Polyhedron":
        """Return ``{x : scale * x + shift is in this polyhedron}``.

        A polyhedron learned on scaled columns comes back to the user's units by it.

        Parameters
        ----------
        scale, shift : float or array-like of shape (n_features,)
            A factor, not zero, and an addend for each column, or one for all.

        Examples
        --------
        >>> learned = Polyhedron([[1.0]], [-3.0], ["z"])  # of z = (x - 10) / 2
        >>> learned.pullback(1 / 2, -10 / 2).contains([[15], [17]])
        array([False,  True])
        """
        factors = as_columns(scale, "scale", self.n_features)
        addends = as_columns(shift, "shift", self.n_features)
        zero = np.flatnonzero(factors == 0)
        if zero.size:
            raise ValueError(f"scale must not be zero; scale[{zero[0]}] is 0.0")
        with np.errstate(over="ignore"):
            W = self.W * factors
        return Polyhedron(W, scores(addends[None, :], self.W, self.b)[0], self.feature_names)

    def equals(
        self,
        other: "Polyhedron",
        *,
        rtol: float = 1e-9,
        atol: float = 1e-12,
        any_order: bool = False,
    ) -> bool:
        """Return whether both have the same inequalities, within a tolerance.

        Each face counts up to a positive factor: faces are compared with unit normals, every
        coefficient by ``|a - b| <= atol + rtol * max(|a|, |b|)``. Names are compared where both
        have them. Redundant faces count: this compares inequalities, not sets of points.

        Parameters
        ----------
        other : Polyhedron
        rtol, atol : float
        any_order : bool
            Whether the faces may come in another order.

        Examples
        --------
        >>> square = Polyhedron([[1, 0], [0, 1], [-1, 0], [0, -1]], [0, 0, 1, 1])
        >>> turned = Polyhedron([[0, 2], [-2, 0], [0, -2], [2, 0]], [0, 2, 2, 0])
        >>> square.equals(turned), square.equals(turned, any_order=True)
        (False, True)
        """
        if self.W.shape != other.W.shape:
            return False
        names, other_names = self.feature_names, other.feature_names
        if names is not None and other_names is not None and names != other_names:
            return False
        ours, theirs = (np.column_stack(p._unit_faces()) for p in (self, other))
        if not any_order:
            return bool(_close(ours, theirs, rtol, atol).all())
        from scipy.optimize import linear_sum_assignment

        # Whether every face here has a face of its own there.
        pairs = np.asarray(_close(ours[:, None, :], theirs[None, :, :], rtol, atol).all(axis=2))
        return bool(pairs[linear_sum_assignment(pairs, maximize=True)].all())

    def to_text(self, digits: int | None = None) -> str:
        """Return the inequalities, one a line, as `contains` knows them.

        Columns without names are x0, x1, ...; a name that is not one plain word is quoted.

        Parameters
        ----------
        digits : int, optional
            Round numbers to so many significant digits: short, but not what decides. By default
            they are read back to the last bit, each face but for a power of two.

        Examples
        --------
        >>> p = Polyhedron([[0.8341, -1.2049], [0, -2]], [-12.41, 94], ["age", "body mass"])
        >>> print(p)
        0.8341*age - 1.2049*"body mass" >= 12.41
        "body mass" <= 47
        >>> print(p.to_text(2))
        0.83*age - 1.2*"body mass" >= 12
        "body mass" <= 47
        """
        digits = None if digits is None else as_count(digits, "digits")
        names = self.feature_names or tuple(f"x{j}" for j in range(self.n_features))
        return "\n".join(
            inequality(w, float(b), names, digits) for w, b in zip(self.W, self.b, strict=True)
        )

    def rounded(self, digits: int) -> "Polyhedron":
        """Return the polyhedron that ``to_text(digits)`` says."""
        W, b, exponents = printed_faces(self.W, self.b)
        faces = np.column_stack([W, b])
        read = [float(f"{value:.{digits}g}") for value in faces.ravel().tolist()]
        largest = np.finfo(float).max
        shown = np.clip(read, -largest, largest).reshape(faces.shape)
        shown = np.ldexp(shown, exponents[:, None])
        return Polyhedron(shown[:, :-1], shown[:, -1], self.feature_names)

    @property
    def printed(self) -> "Polyhedron":
        """The same set with the numbers of its text: each face without a power of two."""
        W, b, _ = printed_faces(self.W, self.b)
        return Polyhedron(W, b, self.feature_names)

    @property
    def is_short(self) -> bool:
        """Whether the numbers of the text were rounded: those of most learners have 17 digits."""
        W, b, _ = printed_faces(self.W, self.b)
        return all(
            count_digits(value) <= MOST_SHORT for value in [*W[W != 0].tolist(), *b.tolist()]
        )

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """The inequalities as a table, for notebooks."""
        return notebook.rules_html([notebook.FaceGroup(self.to_text().splitlines())])

    def __repr__(self) -> str:
        return f"Polyhedron(n_faces={self.n_faces}, n_features={self.n_features})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Polyhedron):
            return NotImplemented
        return (
            self.feature_names == other.feature_names
            and np.array_equal(self.W, other.W)
            and np.array_equal(self.b, other.b)
        )

    def __hash__(self) -> int:
        # Adding zero gives -0.0 and 0.0, which are equal, the same bytes.
        return hash(((self.W + 0.0).tobytes(), (self.b + 0.0).tobytes(), self.feature_names))

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor: numpy does not pickle the read-only flag.
        return Polyhedron, (self.W, self.b, self.feature_names)

    def _unit_faces(self) -> tuple[Floats, Floats]:
        W, b, norms = scaled_faces(self.W, self.b)
        with np.errstate(over="ignore"):
            return W / norms[:, None], b / norms


def scaled_faces(W: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    """Return W and b with normals of about one, and the norms of the normals.

    The factors are powers of two, hence exact: the norms of tiny and huge normals neither
    underflow nor overflow, and no sign of a margin changes.
    """
    _, exponents = np.frexp(np.abs(W).max(axis=1))
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(W, -exponents[:, None])
        return scaled, np.ldexp(b, -exponents), np.linalg.norm(scaled, axis=1)


def _close(a: Floats, b: Floats, rtol: float, atol: float) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        near: NDArray[np.bool_] = np.abs(a - b) <= atol + rtol * np.maximum(np.abs(a), np.abs(b))
    # Infinite offsets, of faces too far away for float64, are equal or not close.
    near |= a == b
    return near
