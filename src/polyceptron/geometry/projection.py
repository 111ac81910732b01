"""The nearest point of a polyhedron, with features held or limited, and how far it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron.geometry._nearest import EPS, Limits, shortest
from polyceptron.geometry.faces import (
    GeometryError,
    as_roots,
    dense_rows,
    empty,
    question,
    unit_faces,
)
from polyceptron.polyhedron import Polyhedron, scaled_faces
from polyceptron.scoring import scores
from polyceptron.utils.types import Floats

_HAIRS = tuple(4.0**power for power in range(11))
"""How far beyond the faces to aim, in roundings of their sums: the nearest that will do."""


Limit: TypeAlias = Floats | float


class Nearest(NamedTuple):
    """The nearest point, or None and what excludes each other: faces, lower and upper limits."""

    x: Floats | None
    faces: NDArray[np.intp]
    lower: NDArray[np.intp]
    upper: NDArray[np.intp]


class Goal:
    """Where to go: faces ``W x + b >= 0``, and the square roots of the features' weights."""

    def __init__(self, W: Floats, b: Floats, roots: Floats) -> None:
        self.W, self.b, self.roots = W, b, roots
        self.faces = unit_faces(W, b)
        # Powers of two bring the margins, whose signs are exact, to the scale of unit faces.
        scaled, offsets, self._norms = scaled_faces(W, b)
        far = np.finfo(float).max
        self._scaled = scaled, np.clip(offsets, -far, far)

    @np.errstate(over="ignore", invalid="ignore")
    def nearest(
        self, x: Floats, lower: Limit = -np.inf, upper: Limit = np.inf, beyond: Limit = 0.0
    ) -> Nearest:
        """Return the point within the limits and faces that is nearest to x.

        A feature whose limits are equal has that value. `beyond` says how far beyond each face
        to aim. Raises a GeometryError where distances overflow.
        """
        lower, upper = np.broadcast_to(lower, x.shape), np.broadcast_to(upper, x.shape)
        free = lower < upper
        start = np.where(free, x, lower)
        margins = self.distances(start) - beyond
        A = self.faces.A[:, free] / self.roots[free]
        norms = np.linalg.norm(A, axis=1)
        # What free features cannot move holds, or does not.
        held = norms == 0
        stuck = np.flatnonzero(held & (margins < 0))
        if stuck.size:
            return Nearest(None, stuck[:1], stuck[:0], stuck[:0])
        moving = np.flatnonzero(~held)
        limits = Limits(
            A[moving] / norms[moving, None],
            -margins[moving] / norms[moving],
            (lower - x)[free] * self.roots[free],
            (upper - x)[free] * self.roots[free],
        )
        if not np.isfinite(limits.c).all():
            raise too_large()
        z, support = shortest(limits)
        places, K, n = np.flatnonzero(free), len(moving), int(free.sum())
        deciding = (
            moving[support[support < K]],
            places[support[(support >= K) & (support < K + n)] - K],
            places[support[support >= K + n] - K - n],
        )
        if z is None:
            return Nearest(None, *deciding)
        start[free] += z / self.roots[free]
        if not np.isfinite(start).all():
            raise too_large()
        return Nearest(np.clip(start, lower, upper), *deciding)

    def aims(self, x: Floats, lower: Limit = -np.inf, upper: Limit = np.inf) -> Iterator[Nearest]:
        """Yield the nearest point, then nearest points a hair farther in, ever farther.

        The last has no point but what excludes each other, if there is no room.
        """
        exact = self.nearest(x, lower, upper)
        yield exact
        if exact.x is None:
            return
        hair = self._rounding(np.maximum(np.abs(x), np.abs(exact.x)))
        for factor in _HAIRS:
            found = self.nearest(x, lower, upper, factor * hair)
            if found.x is None:
                # No room beyond the faces: only a number that is exact will do, as in x = 1/2.
                short = np.where(exact.x == x, x, _rounded(exact.x, x))
                yield exact._replace(x=np.clip(short, lower, upper))
            yield found
            if found.x is None:
                return

    def _rounding(self, size: Floats) -> Floats:
        """How far from each face a margin may have the wrong sign, where numbers have this size."""
        with np.errstate(over="ignore"):
            hair = EPS * (np.abs(self.faces.A) @ size + np.abs(self.faces.b))
            # Where all is zero, the least that shows in the product with a normal.
            least = 1e-315 * np.maximum(1.0, 1.0 / np.abs(self.W).max(axis=1))
        return np.asarray(np.maximum(hair, least))

    def distances(self, x: Floats) -> Floats:
        """The signed Euclidean distance of x to every face."""
        return np.asarray(scores(x[None, :], *self._scaled)[0] / self._norms)


def too_large() -> GeometryError:
    """The error of rows that are so far away that no floating-point number says how far."""
    return GeometryError("the numbers are too large: distances to the faces overflow")


def _rounded(x: Floats, start: Floats) -> Floats:
    """The numbers with so few digits that the last roundings on the way from start are gone."""
    size = float(max(np.abs(x).max(initial=0.0), np.abs(start).max(initial=0.0)))
    if not 1e-100 < size < 1e100:
        return x
    return np.round(x, 12 - int(np.ceil(np.log10(size))))


def length(change: Floats, roots: Floats) -> float:
    """The weighted Euclidean length of a change, without overflow."""
    return math.hypot(*(change * roots))


def first(aims: Iterator[Nearest], accepts: Callable[[Floats], bool]) -> Nearest:
    """The first point that is accepted, or none and what excludes it."""
    found = next(aims)
    while found.x is not None and not accepts(found.x):
        found = next(aims, found._replace(x=None))
    return found


@question
def project(polyhedron: Polyhedron, X: Any, weights: ArrayLike | None = None) -> Floats:
    """Return the nearest point inside for every row; rows inside stay where they are.

    Parameters
    ----------
    polyhedron : Polyhedron
    X : array-like of shape (n_samples, n_features) or (n_features,)
        Rows, or a single one.
    weights : array-like of shape (n_features,), optional
        What a unit of each feature costs: nearest is the least
        ``sum_j weights[j] * (new[j] - x[j])**2``. One each by default.

    Returns
    -------
    ndarray of the shape of X
        ``polyhedron.contains`` holds for every row, unless the polyhedron is so flat that there
        is no floating-point number inside.

    Raises
    ------
    GeometryError
        If the polyhedron is empty.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.geometry import project
    >>> triangle = Polyhedron([[1, 0], [0, 1], [-1, -1]], [0, 0, 2])
    >>> project(triangle, [[2, 2], [1, -3], [0.5, 0.5]])
    array([[1. , 1. ],
           [1. , 0. ],
           [0.5, 0.5]])
    """
    rows, single = dense_rows(polyhedron, X)
    goal = Goal(polyhedron.W, polyhedron.b, as_roots(weights, polyhedron.n_features))
    nearest = rows.copy()
    for i in np.flatnonzero(~polyhedron.contains(rows)):
        inner = first(goal.aims(rows[i]), lambda new: bool(polyhedron.contains([new])[0]))
        found = inner if inner.x is not None else goal.nearest(rows[i])
        if found.x is None:
            raise empty(found.faces, polyhedron.n_faces)
        nearest[i] = found.x
    return nearest[0] if single else nearest


@question
def distance(polyhedron: Polyhedron, X: Any, weights: ArrayLike | None = None) -> Any:
    """Return how far every row is from the polyhedron: 0 inside, infinite if it is empty.

    The weighted Euclidean distance, a float for a single row; arguments are those of `project`.
    ``Polyhedron.distance`` is to each face instead.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.geometry import distance
    >>> corner = Polyhedron([[-1, 0], [0, -1]], [0, 0])
    >>> distance(corner, [[3, 4], [-1, -1]])
    array([5., 0.])
    """
    rows, single = dense_rows(polyhedron, X)
    goal = Goal(polyhedron.W, polyhedron.b, as_roots(weights, polyhedron.n_features))
    far = np.zeros(len(rows))
    for i in np.flatnonzero(~polyhedron.contains(rows)):
        found = goal.nearest(rows[i]).x
        far[i] = np.inf if found is None else length(found - rows[i], goal.roots)
    return float(far[0]) if single else far
