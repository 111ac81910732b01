"""Likelihoods of a block and their slopes.

SPLA's is logistic: ``P(y | x) = 1 / (1 + exp(-y h(x)))``. Polyceptron's is that of a union of
products of logistics, with a share of wrong labels.
"""

import numpy as np
from numba import types
from numba.extending import overload

from polyceptron.kernels.jit import compiled
from polyceptron.kernels.scores import add_row, first_equal, score_four
from polyceptron.kernels.vector import fma, multiply_tile, power_of_two


@compiled
def likelihood_block(X, y, weight, panel, bias, K, assigned, totals):
    """Log-likelihood of a block of rows, and its sets S_k.

    ``assigned[i]`` is the hyperplane least for row i; ``totals[k]`` gains the weighted
    log-likelihood and mistakes of the rows of S_k.
    """
    S, h = np.empty((4, bias.shape[0])), np.empty(4)
    n = assigned.shape[0]
    for i in range(0, n, 4):
        for t in range(score_four(X, i, n, panel, bias, S, h)):
            r = first_equal(S, t, h[t], K)
            w = weight[i + t] if weight.shape[0] > 0 else 1.0
            room = y[i + t] * h[t]
            assigned[i + t] = r
            totals[r, 0] += w * (min(room, 0.0) - np.log1p(np.exp(-abs(room))))
            totals[r, 1] += w if (h[t] >= 0.0) != (y[i + t] > 0) else 0.0


@compiled
def logistic_block(X, y, weight, panel, bias, assigned, G, g):
    """Log-likelihood of a block with the sets S_k held fixed; its gradient is added to G and g."""
    S, h = np.empty((4, bias.shape[0])), np.empty(4)
    n = assigned.shape[0]
    total = 0.0
    for i in range(0, n, 4):
        for t in range(score_four(X, i, n, panel, bias, S, h)):
            r = assigned[i + t]
            w = weight[i + t] if weight.shape[0] > 0 else 1.0
            room = y[i + t] * S[t, r]
            small = np.exp(-abs(room))  # never overflows
            total += w * (min(room, 0.0) - np.log1p(small))
            s = y[i + t] * w * (small if room > 0 else 1.0) / (1.0 + small)
            add_row(X, i + t, s, G[r])
            g[r] += s
    return total


@compiled
def hardened_block(X, target, weight, panel, bias, ends, G, g):
    """Minus the log-likelihood of ``h = max_m min_k score``, a share ``target`` of a row inside.

    ``ends`` are those of the faces of each piece; the slope is added to G and g.
    """
    S, h = np.empty((4, bias.shape[0])), np.empty(4)
    n = target.shape[0]
    total = 0.0
    for i in range(0, n, 4):
        for t in range(score_four(X, i, n, panel, bias, S, h)):
            best, face, first = -np.inf, 0, 0
            for end in ends:
                least = first
                for k in range(first, end):
                    least = k if S[t, k] < S[t, least] else least
                if S[t, least] > best:
                    best, face = S[t, least], least
                first = end
            w = weight[i + t] if weight.shape[0] > 0 else 1.0
            small = np.exp(-abs(best))  # never overflows
            total += w * (max(best, 0.0) + np.log1p(small) - target[i + t] * best)
            s = w * ((1.0 if best > 0 else small) / (1.0 + small) - target[i + t])
            add_row(X, i + t, s, G[face])
            g[face] += s
    return total


# --- the likelihood of a union ---------------------------------------------------------------
# Rows are taken 64 at a time, so that scores and slopes are small products of matrices and every
# other loop is one of independent lanes, which the compiler vectorises, exp included. Every
# product and sum is one fused multiply-add, in the order of columns or of rows: the bits are
# those of any machine.

_ROWS = 64
_LOG2, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 0.693147180369123816490, 1.90821492927058770002e-10


def room_for(X, n, d):
    """How many columns 64 rows have at most that are not all zero."""
    if not isinstance(X, tuple):
        return d
    return min(d, max(X[2][min(i + _ROWS, n)] - X[2][i] for i in range(0, n, _ROWS)))


@overload(room_for)
def _room_for(X, n, d):
    def dense(X, n, d):
        return d

    def sparse(X, n, d):
        indptr, most = X[2], np.int64(1)
        for i in range(0, n, _ROWS):
            most = max(most, np.int64(indptr[min(i + _ROWS, n)] - indptr[i]))
        return min(np.int64(d), most)

    return sparse if isinstance(X, types.BaseTuple) else dense


def has_gaps(X):
    """Whether rows are sparse: 64 of them have only some of the columns."""
    return isinstance(X, tuple)


@overload(has_gaps)
def _has_gaps(X):
    sparse = isinstance(X, types.BaseTuple)
    return lambda X: sparse  # noqa: ARG005 - Numba wants the name


def load_rows(X, start, n, rows, columns, used, place):
    """The rows from ``start`` on, below n, as rows [x, 1] and as columns; how many these are.

    Of sparse rows only columns that occur are taken, in their order: ``used``. ``place`` has room
    for all columns, and is -1 before and after.
    """
    rows[:], columns[:] = 0.0, 0.0
    m = columns.shape[0]
    if isinstance(X, tuple):
        data, indices, indptr = X
        here = slice(indptr[start], indptr[n])
        found = np.unique(indices[here])
        m = len(found)
        used[:m] = found
        for i in range(start, n):
            for p in range(indptr[i], indptr[i + 1]):
                rows[i - start, np.searchsorted(found, indices[p])] += data[p]
    else:
        rows[: n - start, :m] = X[start:n]
    columns[:m] = rows.T[:m]
    rows[:, m] = 1.0
    return m


@compiled
def _find_columns(indices, used, place):
    """The columns that occur, sorted, into ``used``, and which of them it is into ``place``."""
    m = 0
    for index in indices:
        j = np.int64(index)
        if place[j] < 0:
            place[j] = 0
            used[m] = j
            m += 1
    used[:m].sort()
    for q in range(m):
        place[used[q]] = q
    return m


@overload(load_rows)
def _load_rows(X, start, n, rows, columns, used, place):
    def dense(X, start, n, rows, columns, used, place):
        if n - start < _ROWS:
            rows[:] = 0.0
            columns[:] = 0.0
        for i in range(start, n):
            for j in range(X.shape[1]):
                rows[i - start, j] = columns[j, i - start] = X[i, j]
        rows[:, X.shape[1]] = 1.0
        return X.shape[1]

    def sparse(X, start, n, rows, columns, used, place):
        data, indices, indptr = X
        m = _find_columns(indices[indptr[start] : indptr[n]], used, place)
        rows[:, :m] = 0.0
        columns[:m] = 0.0
        for i in range(start, n):
            for p in range(indptr[i], indptr[i + 1]):
                q = place[np.int64(indices[p])]
                rows[i - start, q] += data[p]
                columns[q, i - start] = rows[i - start, q]
        for q in range(m):
            place[used[q]] = -1
        rows[:, m] = 1.0
        return m

    return sparse if isinstance(X, types.BaseTuple) else dense


@compiled
def exp_minus(score, limit):
    """exp(-score), with the score held within the limit: 2^k times a polynomial."""
    x = min(max(-score, -limit), limit)
    k = np.floor(fma(x, _LOG2, 0.5))
    r = fma(-k, _LN2_LOW, fma(-k, _LN2_HIGH, x))
    p = fma(1.0 / 6227020800.0, r, 1.0 / 479001600.0)
    p = fma(p, r, 1.0 / 39916800.0)
    p = fma(p, r, 1.0 / 3628800.0)
    p = fma(p, r, 1.0 / 362880.0)
    p = fma(p, r, 1.0 / 40320.0)
    p = fma(p, r, 1.0 / 5040.0)
    p = fma(p, r, 1.0 / 720.0)
    p = fma(p, r, 1.0 / 120.0)
    p = fma(p, r, 1.0 / 24.0)
    p = fma(p, r, 1.0 / 6.0)
    p = fma(p, r, 0.5)
    p = fma(p, r, 1.0)
    return fma(p, r, 1.0) * power_of_two(k)


@compiled
def _join_face(E, limit, D):
    """Take a face into account: D = prod (1 + e) - 1 of its piece; scores become e / (1 + e)."""
    for i in range(_ROWS):
        e = exp_minus(E[i], limit)
        D[i] = fma(e, 1.0 + D[i], D[i])
        E[i] = e / (1.0 + e)


@compiled
def _join_pieces(E, ends, limit, D, odds, outside):
    """From scores to e / (1 + e), the odds 1 / D of each piece, and what is outside of all."""
    outside[:] = 1.0
    first = 0
    for m in range(ends.shape[0]):
        D[:] = 0.0
        for k in range(first, ends[m]):
            _join_face(E[k], limit, D)
        for i in range(_ROWS):
            odds[m, i] = 1.0 / D[i]
            outside[i] *= D[i] / (1.0 + D[i])
        first = ends[m]


@compiled
def _judge(y, weight, noise, outside, p, c, t):
    """Likelihoods p of the labels, and what slopes in scores and in the noise have in common."""
    share = 1.0 - 2.0 * noise
    for i in range(y.shape[0]):
        side = 1.0 - outside[i] if y[i] > 0 else outside[i]
        p[i] = fma(share, side, noise)
        r = weight[i] / p[i]
        t[i] = r * fma(-2.0, side, 1.0)
        c[i] = y[i] * share * outside[i] * r
    c[y.shape[0] :] = 0.0


@compiled
def _log_likelihood(p, weight):
    """The sum of logarithms of likelihoods, of which none is below the noise."""
    n, total = p.shape[0], 0.0
    if weight.shape[0] > 0:
        for i in range(n):
            total += weight[i] * np.log(p[i])
        return total
    joint = 1.0
    for i in range(n):
        joint *= p[i]
    return np.log(joint)  # one for all


@compiled
def _to_slopes(E, ends, c, odds):
    first = 0
    for m in range(ends.shape[0]):
        for k in range(first, ends[m]):
            for i in range(_ROWS):
                E[k, i] *= c[i] * odds[m, i]
        first = ends[m]


@compiled
def _take(W, G, g, used, width, w, slope):
    """Weights and slopes of the columns that are used, with those of the bias behind them."""
    for k in range(W.shape[0]):
        for q in range(width):
            w[k, q], slope[k, q] = W[k, used[q]], G[k, used[q]]
        slope[k, width] = g[k]


@compiled
def _put_back(slope, used, width, G, g):
    for k in range(G.shape[0]):
        for q in range(width):
            G[k, used[q]] = slope[k, q]
        g[k] = slope[k, width]


@compiled
def _multiply_add(A, B, n, m, C):
    """C[:, :m] += A[:, :n] B[:n, :m], and perhaps up to three columns more."""
    for k in range(0, A.shape[0], 4):
        for j in range(0, m - 4, 8):
            multiply_tile(A, k, B, (j, j + 4), C, n)
        if (m - 1) % 8 < 4:
            multiply_tile(A, k, B, (m - 1 - (m - 1) % 8,), C, n)


@compiled
def _score_limit(ends):
    """So large that no product of a piece overflows."""
    widest = np.int64(ends[0])
    for m in range(1, ends.shape[0]):
        widest = max(widest, np.int64(ends[m] - ends[m - 1]))
    return min(40.0, 690.0 / widest - 0.7)  # a face adds up to log 2


@compiled
def union_block(X, y, weight, W, b, ends, noise, G, g):
    """Log-likelihood of a block, and its slope in `noise`; that in [w_k, b_k] is added to G, g.

    ``P(inside | x) = noise + (1 - 2 noise) (1 - prod_m (1 - prod_k 1 / (1 + exp(-score_mk))))``;
    the faces of piece m end at ``ends[m]``.
    """
    n = y.shape[0]
    F, d = W.shape
    M = ends.shape[0]
    wide, F4 = room_for(X, n, d), F + -F % 4
    columns = np.zeros((wide, _ROWS))
    rows = np.zeros((_ROWS, wide + 1 + -(wide + 1) % 4))  # and a column of ones
    w, slope = np.zeros((F4, wide)), np.zeros((F4, rows.shape[1]))
    used, place = np.arange(wide), np.full(d, -1)
    E, odds = np.zeros((F4, _ROWS)), np.empty((M, _ROWS))
    D, outside, ones = np.empty(_ROWS), np.empty(_ROWS), np.ones(_ROWS)
    p, c, t = np.empty(_ROWS), np.empty(_ROWS), np.empty(_ROWS)
    limit, moves = _score_limit(ends), has_gaps(X)
    total, of_noise = 0.0, 0.0
    for start in range(0, n, _ROWS):
        stop = min(start + _ROWS, n)
        width = load_rows(X, start, stop, rows, columns, used, place)
        if moves or start == 0:
            _take(W, G, g, used, width, w, slope)
        for k in range(F):
            E[k] = b[k]
        _multiply_add(w, columns, width, _ROWS, E)
        _join_pieces(E, ends, limit, D, odds, outside)
        r = weight[start:stop]  # none where all count alike
        _judge(y[start:stop], r if r.shape[0] > 0 else ones, noise, outside, p, c, t)
        total += _log_likelihood(p[: stop - start], r)
        for i in range(stop - start):
            of_noise += t[i]
        _to_slopes(E, ends, c, odds)
        _multiply_add(E, rows, _ROWS, width + 1, slope)
        if moves or stop == n:
            _put_back(slope, used, width, G, g)
    return total, of_noise
