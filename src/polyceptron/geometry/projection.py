"""The nearest point of a polyhedron, with features held or limited, and how far it is.

Behind it, and most answers about a polyhedron, is one program: the shortest z that meets some
inequalities. It is least distance programming (Lawson and Hanson, *Solving Least Squares Problems*,
chapter 23): by duality the answer comes from a nonnegative least squares problem, whose solution
also says which inequalities decide it, or which exclude each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron.geometry import faces as shared
from polyceptron.geometry.faces import question
from polyceptron.polyhedron import Polyhedron, scaled_faces
from polyceptron.scoring import scores
from polyceptron.utils.types import Floats

Limit: TypeAlias = Floats | float

EPS = float(np.finfo(float).eps)
_NO_RESIDUAL = 1e-8
"""Of the dual: below it there is no z, or one this much longer than the greatest violation."""
_MISSED = 1e-10
"""Inequalities missed by more than this share of the scale exclude each other."""
_HAIRS = tuple(4.0**power for power in range(11))
"""How far beyond the faces to aim, in roundings of their sums: the nearest that will do."""
_TOO_LARGE = "the numbers are too large: distances to the faces overflow"


class Shortest(NamedTuple):
    """The shortest z and the inequalities that hold it, or None and those in conflict."""

    z: Floats | None
    support: NDArray[np.intp]


def shortest(A: Floats, c: Floats, lower: Limit = -np.inf, upper: Limit = np.inf) -> Shortest:
    """Return the shortest z with ``A z >= c`` and ``lower <= z <= upper``; rows have length one."""
    # Inequalities come in when a solution misses them, so none of them is far away at its scale.
    K, d = A.shape
    z = np.zeros(d)
    lower, upper = np.broadcast_to(lower, d), np.broadcast_to(upper, d)
    needed = np.concatenate([c, lower, -upper])
    # An infinite limit is never missed.
    size = np.where(np.isfinite(needed), np.abs(needed), 0.0)
    active = working = np.empty(0, np.intp)
    for _ in range(len(needed) + 1):
        length = _norm(z)
        missed = np.concatenate([c - A @ z, lower - z, z - upper])
        # What is worked with is met as well as it can be.
        missed[working] = -np.inf
        new = np.flatnonzero(missed > 4 * EPS * (length + size))
        if new.size == 0:
            break
        working = np.concatenate([working, new])
        scale = max(length, float(missed[new].max()))
        rows = np.zeros((len(working), d))
        own, limits = working < K, working[working >= K] - K
        rows[own] = A[working[own]]
        rows[~own, limits % d] = np.where(limits < d, 1.0, -1.0)
        found = _least_distance(rows, needed[working], scale)
        active = working[found.support]
        if found.z is None:
            return Shortest(None, active)
        z = found.z
    return Shortest(z, active)


def _least_distance(A: Floats, c: Floats, scale: float) -> Shortest:
    """Return the shortest z with A z >= c, whose length is at least about `scale`."""
    from scipy.optimize import nnls

    target = np.append(np.zeros(A.shape[1]), 1.0)
    least = scale
    for attempt in range(6):
        dual = np.vstack([A.T, c / scale])
        u, residual = nnls(dual, target, maxiter=30 * max(dual.shape) + 100)
        support = np.flatnonzero(u > 0)
        room = 1.0 - (c / scale) @ u  # the square of the residual, but for rounding
        if residual < _NO_RESIDUAL or room <= 0.0:
            if attempt == 0:  # perhaps a solution that is far away at this scale
                scale *= 1e4
                continue
            return Shortest(None, support)
        z = A[support].T @ u[support] / room
        if _norm(z) <= 100:
            break
        scale *= _norm(z)
    z = _polished_point(A, c / scale, z, support)
    # A compromise between inequalities that just exclude each other meets neither.
    missed = c / scale - A @ z
    if missed.max() > _MISSED * max(least / scale, _norm(z)):
        return Shortest(None, support)
    return Shortest(z * scale, support)


def _polished_point(A: Floats, c: Floats, z: Floats, support: NDArray[np.intp]) -> Floats:
    """The shortest point on the faces that hold z, where that is no worse."""
    exact = np.asarray(np.linalg.lstsq(A[support], c[support], rcond=None)[0], float)
    longer = _norm(exact) > _norm(z) * (1 + 1e-6)
    worse = (c - A @ exact).max() > max((c - A @ z).max(), 0.0) + 4 * EPS * (1 + _norm(z))
    return z if longer or worse else exact


def _norm(z: Floats) -> float:
    return math.hypot(*z.tolist())  # without overflow


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
        self.faces = shared.unit_faces(W, b)
        # Powers of two bring the margins, whose signs are exact, to the scale of unit faces.
        scaled, offsets, self._norms = scaled_faces(W, b)
        far = np.finfo(float).max
        self._scaled = scaled, np.clip(offsets, -far, far)
        self._endless = np.isposinf(offsets)

    @np.errstate(over="ignore", invalid="ignore")
    def nearest(
        self, x: Floats, lower: Limit = -np.inf, upper: Limit = np.inf, beyond: Limit = 0.0
    ) -> Nearest:
        """Return the nearest point to x within the limits, so far `beyond` each face."""
        lower, upper = np.broadcast_to(lower, x.shape), np.broadcast_to(upper, x.shape)
        free = lower < upper
        start, roots = np.where(free, x, lower), self.roots[free]
        A, norms, margins = self._seen(start, free, beyond)
        # What free features cannot move holds, or does not.
        held = norms == 0
        stuck = np.flatnonzero(held & (margins < 0))
        if stuck.size:
            return Nearest(None, stuck[:1], stuck[:0], stuck[:0])
        moving = np.flatnonzero(~held)
        # Nor can they reach a face that is met and farther away than numbers go (inf - inf, too).
        far = np.isposinf(margins[moving] / norms[moving]) & np.isfinite(margins[moving])
        moving = moving[~(far | (self._endless & ~(margins <= 0))[moving])]
        A, c = A[moving] / norms[moving, None], -margins[moving] / norms[moving]
        if not np.isfinite(c).all():
            raise shared.GeometryError(_TOO_LARGE)
        z, support = shortest(A, c, *((side - x)[free] * roots for side in (lower, upper)))
        places, K, n = np.flatnonzero(free), len(moving), int(free.sum())
        deciding = (
            moving[support[support < K]],
            places[support[(support >= K) & (support < K + n)] - K],
            places[support[support >= K + n] - K - n],
        )
        if z is None:
            return Nearest(None, *deciding)
        start[free] += z / roots
        if not np.isfinite(start).all():
            raise shared.GeometryError(_TOO_LARGE)
        return Nearest(np.clip(start, lower, upper), *deciding)

    @np.errstate(over="ignore", invalid="ignore")
    def least_distance(self, x: Floats, lower: Floats, upper: Floats) -> float:
        """No point within the limits is nearer: what takes no program to know."""
        moved = (np.clip(x, lower, upper) - x) * self.roots
        free = lower < upper
        start = np.where(free, x, lower)
        _, norms, margins = self._seen(start, free)
        far = np.divide(-margins, norms, out=np.zeros_like(norms), where=norms > 0)
        stuck = bool(((norms == 0) & (margins < 0)).any())
        fixed = length(moved[~free], np.ones(int((~free).sum())))
        to_faces = math.hypot(fixed, float(far.max(initial=0.0)))
        return math.inf if stuck else max(to_faces, length(moved, np.ones(len(moved))))

    def _seen(
        self, start: Floats, free: NDArray[np.bool_], beyond: Limit = 0.0
    ) -> tuple[Floats, Floats, Floats]:
        """Normals along free features, in units of cost, their lengths, and margins of start."""
        margins = scores(start[None, :], *self._scaled)[0] / self._norms - beyond
        A = self.faces.A[:, free] / self.roots[free]
        return A, np.linalg.norm(A, axis=1), margins

    def aims(self, x: Floats, lower: Limit = -np.inf, upper: Limit = np.inf) -> Iterator[Nearest]:
        """Yield the nearest points, each a hair farther in; at last none, if there is no room."""
        exact = self.nearest(x, lower, upper)
        yield exact
        if exact.x is None:
            return
        hair = self._rounding(np.maximum(np.abs(x), np.abs(exact.x)))
        for factor in _HAIRS:
            found = self.nearest(x, lower, upper, factor * hair)
            if found.x is None:
                # No room beyond the faces: only a number that is exact will do, as in x = 1/2.
                short = np.where(exact.x == x, x, _rounded_point(exact.x, x))
                yield exact._replace(x=np.clip(short, lower, upper))
                yield found
                return
            yield found

    def _rounding(self, size: Floats) -> Floats:
        """How far from each face a margin may have the wrong sign, where numbers have this size."""
        with np.errstate(over="ignore"):
            hair = EPS * (np.abs(self.faces.A) @ size + np.abs(self.faces.b))
            # Where all is zero, the least that shows in the product with a normal.
            least = 1e-315 * np.maximum(1.0, 1.0 / np.abs(self.W).max(axis=1))
        return np.asarray(np.maximum(hair, least))


def _rounded_point(x: Floats, start: Floats) -> Floats:
    """The numbers with so few digits that the last roundings on the way from start are gone."""
    size = float(np.abs([x, start]).max())
    if not 1e-100 < size < 1e100:
        return x
    return np.round(x, 12 - int(np.ceil(np.log10(size))))


def length(change: Floats, roots: Floats) -> float:
    """The weighted Euclidean length of a change, without overflow."""
    return math.hypot(*(change * roots).tolist())


def first(aims: Iterator[Nearest], accepts: Callable[[Floats], bool]) -> Nearest:
    """The first point that is accepted, or none and what excludes it."""
    found = next(aims)
    while found.x is not None and not accepts(found.x):
        found = next(aims, found._replace(x=None))
    return found


@question
def project(polyhedron: Polyhedron, X: Any, weights: ArrayLike | None = None) -> Floats:
    """Return the nearest point inside for every row; rows inside stay where they are.

    ``polyhedron.contains`` holds for each, unless the polyhedron is so flat that there is no
    floating-point number inside.

    Parameters
    ----------
    polyhedron : Polyhedron
    X : array-like of shape (n_samples, n_features) or (n_features,)
        Rows, or a single one.
    weights : array-like of shape (n_features,), optional
        What a unit of each feature costs: nearest is the least
        ``sum_j weights[j] * (new[j] - x[j])**2``. One each by default.

    Examples
    --------
    >>> triangle = Polyhedron([[1, 0], [0, 1], [-1, -1]], [0, 0, 2])
    >>> project(triangle, [[2, 2], [1, -3], [0.5, 0.5]])
    array([[1. , 1. ],
           [1. , 0. ],
           [0.5, 0.5]])
    """
    rows, single = shared.dense_rows(polyhedron, X)
    goal = Goal(polyhedron.W, polyhedron.b, shared.as_roots(weights, polyhedron.n_features))
    nearest = rows.copy()
    for i in np.flatnonzero(~polyhedron.contains(rows)):
        inner = first(goal.aims(rows[i]), lambda new: bool(polyhedron.contains([new])[0]))
        found = inner if inner.x is not None else goal.nearest(rows[i])
        if found.x is None:
            raise shared.empty(found.faces, polyhedron.n_faces)
        nearest[i] = found.x
    return nearest[0] if single else nearest


@question
def distance(polyhedron: Polyhedron, X: Any, weights: ArrayLike | None = None) -> Any:
    """Return how far every row is from the polyhedron: 0 inside, infinite if it is empty.

    The weighted Euclidean distance, a float for a single row; arguments are those of `project`.
    ``Polyhedron.distance`` is to each face instead.

    Examples
    --------
    >>> corner = Polyhedron([[-1, 0], [0, -1]], [0, 0])
    >>> distance(corner, [[3, 4], [-1, -1]])
    array([5., 0.])
    """
    rows, single = shared.dense_rows(polyhedron, X)
    goal = Goal(polyhedron.W, polyhedron.b, shared.as_roots(weights, polyhedron.n_features))
    far = np.zeros(len(rows))
    for i in np.flatnonzero(~polyhedron.contains(rows)):
        found = goal.nearest(rows[i]).x
        far[i] = np.inf if found is None else length(found - rows[i], goal.roots)
    return float(far[0]) if single else far
