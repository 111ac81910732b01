"""One face of a soft union with few terms, while all others stay as they are.

The probability of a row's label is then ``start + gain * logistic(score)`` of that face alone, and
a few steps of Fisher scoring find its weights. ``columns`` holds the columns in question, one after
another. Signs are those that weights may have: 1, -1, or 0 for any.
"""

import numpy as np

from polyceptron.kernels.descent import dot
from polyceptron.kernels.jit import compiled, inlined
from polyceptron.kernels.union import exp_minus
from polyceptron.kernels.vector import fma

_LEAST = 1e-12
"""Probability of a label."""
_RIDGE, _LONGEST, _SHORTER, _TRIES, _GAINED = 1e-4, 5.0, 0.35, 6, 1e-6


@compiled
def term_gains(columns, slope, gains):
    """What a first step along each column gains: its gradient squared by its curvature.

    ``slope`` is that of the loss in the score of every row. Into ``gains``, signed as the gradient.
    """
    for j in range(columns.shape[0]):
        g, h = 0.0, 1e-12
        for i in range(columns.shape[1]):
            x = columns[j, i]
            g = fma(slope[i], x, g)
            h = fma(abs(slope[i]) * x, x, h)
        gains[j] = g * abs(g) / h


@inlined
def _loss(columns, used, start, gain, weight, v, penalty, s, p):
    """Minus the penalised log-likelihood; logistics of scores into s, likelihoods into p."""
    m, n = used.shape[0], start.shape[0]
    for i in range(n):
        s[i] = v[m]
    for q in range(m):
        column = columns[used[q]]
        for i in range(n):
            s[i] = fma(v[q], column[i], s[i])
    total, joint = 0.0, 1.0
    for i in range(n):
        s[i] = 1.0 / (1.0 + exp_minus(s[i], 40.0))
        p[i] = max(fma(gain[i], s[i], start[i]), _LEAST)
    for i in range(n):
        if weight.shape[0] > 0:
            total -= weight[i] * np.log(p[i])
        else:
            joint *= p[i]
            if joint < 1e-250:
                total -= np.log(joint)
                joint = 1.0
    total -= np.log(joint)
    for q in range(m):
        total = fma(0.5 * penalty * v[q], v[q], total)
    return total


@inlined
def _solve(H, g):
    """H^-1 g of a positive definite matrix; both are overwritten, g by the answer."""
    m = g.shape[0]
    for i in range(m):
        for j in range(i + 1, m):
            f = H[j, i] / H[i, i]
            for k in range(i, m):
                H[j, k] -= f * H[i, k]
            g[j] -= f * g[i]
    for i in range(m - 1, -1, -1):
        for j in range(i + 1, m):
            g[i] -= H[i, j] * g[j]
        g[i] /= H[i, i]


@inlined
def _information(columns, used, r, h, v, penalty, g, H):
    """Slope and Fisher information from those in the scores of rows, r and h."""
    m, n = used.shape[0], r.shape[0]
    hx = np.empty(n)
    for q in range(m + 1):
        if q < m:
            for i in range(n):
                hx[i] = h[i] * columns[used[q], i]
            g[q] = fma(penalty, v[q], dot(r, columns[used[q]]))
        else:
            hx[:] = h
            g[q] = r.sum()
        for k in range(q):
            H[q, k] = H[k, q] = dot(hx, columns[used[k]])
        H[q, q] = (dot(hx, columns[used[q]]) + penalty if q < m else h.sum()) + _RIDGE


@inlined
def _hold(used, signs, v, g, H):
    """Weights that a step would take beyond zero, which they may not pass, stay at it."""
    for q in range(used.shape[0]):
        if v[q] == 0.0 and signs[used[q]] * g[q] > 0:
            H[q] = 0.0
            H[:, q] = 0.0
            H[q, q], g[q] = 1.0, 0.0


@compiled
def fit_face(columns, used, start, gain, weight, signs, first, penalty, n_steps):
    """Weights of the columns ``used`` and the bias behind them, from ``first``: loss and answer."""
    m, n, v = used.shape[0], start.shape[0], first.copy()
    s, p, s2, p2 = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    r, h, g, H = np.empty(n), np.empty(n), np.empty(m + 1), np.empty((m + 1, m + 1))
    loss = _loss(columns, used, start, gain, weight, v, penalty, s, p)
    for _ in range(n_steps):
        for i in range(n):
            w = weight[i] if weight.shape[0] > 0 else 1.0
            t = gain[i] * s[i] * (1.0 - s[i])
            r[i] = -w * t / p[i]
            h[i] = w * t * t / max(p[i] * (1.0 - p[i]), 1e-9)
        _information(columns, used, r, h, v, penalty, g, H)
        _hold(used, signs, v, g, H)
        _solve(H, g)
        size = min(1.0, _LONGEST / max(np.abs(g).max(), 1e-12))
        there, found = v, np.inf
        for _try in range(_TRIES):
            there = v - size * g
            for q in range(m):
                if signs[used[q]] * there[q] < 0:
                    there[q] = 0.0
            found = _loss(columns, used, start, gain, weight, there, penalty, s2, p2)
            if found < loss:
                break
            size *= _SHORTER
        if not found < loss:
            break
        before, loss, v = loss, found, there
        s, s2, p, p2 = s2, s, p2, p
        if before - loss < _GAINED * loss:
            break
    return loss, v


@compiled
def best_swap(columns, n_own, start, gain, weight, signs, first, penalty, n_out, n_steps):
    """The best face with one of the columns behind the first ``n_own`` in place of one of these.

    It is one of the first ``n_out`` that goes, and none if that is 0. ``first`` has a weight for
    every column, and the bias. Returns the loss, the columns and the weights.
    """
    m = n_own if n_out > 0 else n_own + 1
    best, best_used, best_v = np.inf, np.empty(m, np.int64), np.empty(m + 1)
    for out in range(max(n_out, 1)):
        for new in range(n_own, columns.shape[0]):
            used, v, q = np.empty(m, np.int64), np.empty(m + 1), 0
            for j in range(n_own):
                if n_out == 0 or j != out:
                    used[q] = j
                    q += 1
            used[q] = new
            for q in range(m):
                v[q] = first[used[q]]
            v[m] = first[columns.shape[0]]
            loss, v = fit_face(columns, used, start, gain, weight, signs, v, penalty, n_steps)
            if loss < best:
                best, best_used, best_v = loss, used, v
    return best, best_used, best_v
