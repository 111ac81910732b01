"""One linear support vector machine whose rows have costs and margins of their own.

It is the quadratic program::

    minimise   |w|^2 / 2 + sum_i a_i u_i        over w, b, u >= 0
    such that  y_i (w . x_i + b) + u_i >= t_i   for every row i

scikit-learn's machines know costs, but have the margin 1 for all rows. A primal-dual interior-point
method with Mehrotra's predictor and corrector solves it: some 20 steps, whatever the rows are, each
of which costs one product of the rows with themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from polyceptron.utils.types import Floats

_GAP = 1e-9
"""How far above the optimum an answer may be, relative to it."""
_STEPS = 100
_BACK = 0.995
"""The part of the way to the nearest bound that a step goes."""


def fit_hinge(X: Floats, y: Floats, margins: Floats, costs: Floats) -> Floats:
    """Return [w, b] of an optimum; rows of cost 0 do not matter.

    Where all others are of one class, w is 0.
    """
    used = costs > 0
    X, y, t, a = X[used], y[used], margins[used], costs[used]
    if not y.size or (y == y[0]).all():
        b = y[0] * max(t.max(), 0.0) if y.size else 0.0
        return np.append(np.zeros(X.shape[1]), b)
    centre = X.mean(axis=0)  # of columns far from zero the offset would swallow the digits
    X = X - centre
    if X.shape[1] <= len(y):
        theta = _follow_path(X, y, t, a)
    else:
        Q, R = np.linalg.qr(X.T)  # w is a sum of rows: their coordinates in their own span will do
        theta = _follow_path(R.T, y, t, a)
        theta = np.append(Q @ theta[:-1], theta[-1])
    return np.append(theta[:-1], theta[-1] - theta[:-1] @ centre)


class _Iterate(NamedTuple):
    """Hyperplane, slacks and multipliers; a step is one, too.

    ``s`` = Z theta + u - t and ``u`` are at least 0 with the multipliers ``alpha`` and
    ``beta`` = a - alpha. All four stay above 0, so both problems stay feasible but for
    H theta = Z' alpha.
    """

    theta: Floats
    alpha: Floats
    beta: Floats
    s: Floats
    u: Floats

    def moved(self, step: _Iterate, length: float) -> _Iterate:
        return _Iterate(*(here + length * by for here, by in zip(self, step, strict=True)))

    def room(self, step: _Iterate) -> float:
        """How many such steps there are until one of the four is 0."""
        parts = zip(self[1:], step[1:], strict=True)
        steepest = min(float((by / here).min()) for here, by in parts)
        return -1.0 / steepest if steepest < 0 else np.inf

    @property
    def gap(self) -> float:
        return float(self.alpha @ self.s + self.beta @ self.u)


def _follow_path(X: Floats, y: Floats, t: Floats, a: Floats) -> Floats:
    """[w, b] from a point within all bounds along the central path; zeros if numbers fail."""
    largest = float(a.max())
    a = a / largest  # the objective in this unit, so that multipliers are about 1
    Z = y[:, None] * np.column_stack([X, np.ones(len(y))])
    H = np.append(np.full(X.shape[1], 1.0 / largest), 0.0)
    u = 1.0 + np.maximum(t, 0.0)
    at = _Iterate(np.zeros(len(H)), a / 2, a / 2, u - t, u)
    with np.errstate(all="ignore"):
        for _ in range(_STEPS):
            residual = H * at.theta - Z.T @ at.alpha
            value = float(H @ (at.theta * at.theta) / 2 + a @ at.u)
            off = float(abs(residual).max() / (abs(Z).T @ at.alpha).max())
            if at.gap <= _GAP * value and (off <= _GAP or at.gap <= 1e-6 * _GAP * value):
                break
            following = _next_iterate(at, Z, H, residual)
            if following is None:
                break
            at = following
    return at.theta


def _next_iterate(at: _Iterate, Z: Floats, H: Floats, residual: Floats) -> _Iterate | None:
    """One step of predictor and corrector; None where the numbers allow no other."""
    D = 1.0 / (at.s / at.alpha + at.u / at.beta)
    M = Z.T @ (D[:, None] * Z)
    M.flat[:: len(H) + 1] += H
    factor, failed = lapack.dpotrf(M)
    if failed:
        return None

    def towards(r_s: Floats, r_u: Floats) -> _Iterate:
        """The step that makes up for these shortfalls of alpha s and beta u."""
        q = r_s / at.alpha - r_u / at.beta
        theta, _ = lapack.dpotrs(factor, Z.T @ (D * q) - residual)
        alpha = D * (q - Z @ theta)
        s, u = (r_s - at.s * alpha) / at.alpha, (r_u + at.u * alpha) / at.beta
        return _Iterate(theta, alpha, -alpha, s, u)

    step = towards(-at.alpha * at.s, -at.beta * at.u)
    after = at.moved(step, min(1.0, at.room(step))).gap
    centre = (after / at.gap) ** 3 * at.gap / (2 * len(D))
    step = towards(
        centre - at.alpha * at.s - step.alpha * step.s, centre - at.beta * at.u - step.beta * step.u
    )
    following = at.moved(step, min(1.0, _BACK * at.room(step)))
    return following if np.isfinite(following.gap) and following.gap > 0 else None
