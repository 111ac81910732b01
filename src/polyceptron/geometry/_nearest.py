"""The one program behind most answers: the shortest z that meets some inequalities, exactly.

Least distance programming (Lawson and Hanson, *Solving Least Squares Problems*, chapter 23): by
duality, the shortest z with A z >= c comes from a nonnegative least squares problem, whose
solution also says which inequalities decide it, or which exclude each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron.utils.types import Floats

EPS = float(np.finfo(float).eps)
_NO_RESIDUAL = 1e-8
"""Of the dual: below it there is no z, or one this much longer than the greatest violation."""
_MISSED = 1e-10
"""Inequalities missed by more than this share of the scale exclude each other."""


class Limits(NamedTuple):
    """``A z >= c`` with rows of length one, and ``lower <= z <= upper``."""

    A: Floats
    c: Floats
    lower: Floats | float = -np.inf
    upper: Floats | float = np.inf

    def rows(self, which: NDArray[np.intp]) -> Floats:
        """The left sides of some inequalities; those of limits are made when asked for."""
        K, n = self.A.shape
        rows = np.zeros((len(which), n))
        for i, index in enumerate(which):
            if index < K:
                rows[i] = self.A[index]
            else:
                rows[i, (index - K) % n] = 1.0 if index < K + n else -1.0
        return rows


class Shortest(NamedTuple):
    """The shortest z and the inequalities that hold it, or None and those in conflict."""

    z: Floats | None
    support: NDArray[np.intp]


def shortest(limits: Limits) -> Shortest:
    """Return the shortest z within the limits.

    Inequalities come in when the solution without them misses them, so none of them is far
    away at the scale of the solution, whatever else there is.
    """
    A, c = limits.A, limits.c
    z = np.zeros(A.shape[1])
    lower, upper = (np.broadcast_to(side, z.shape) for side in (limits.lower, limits.upper))
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
        found = _least_distance(limits.rows(working), needed[working], scale)
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
    z = _polished(A, c / scale, z, support)
    # A compromise between inequalities that just exclude each other meets neither.
    missed = c / scale - A @ z
    if missed.max() > _MISSED * max(least / scale, _norm(z)):
        return Shortest(None, support)
    return Shortest(z * scale, support)


def _polished(A: Floats, c: Floats, z: Floats, support: NDArray[np.intp]) -> Floats:
    """The shortest point on the faces that hold z, where that is no worse."""
    exact: Floats = np.asarray(np.linalg.lstsq(A[support], c[support], rcond=None)[0], float)
    longer = _norm(exact) > _norm(z) * (1 + 1e-6)
    worse = (c - A @ exact).max() > max((c - A @ z).max(), 0.0) + 4 * EPS * (1 + _norm(z))
    return z if longer or worse else exact


def _norm(z: Floats) -> float:
    size = float(np.abs(z).max(initial=0.0))
    return 0.0 if size == 0 else size * float(np.linalg.norm(z / size))
