"""Likelihoods of a block and their slopes.

SPLA's is logistic: ``P(y | x) = 1 / (1 + exp(-y h(x)))``. Polyceptron's is that of a union of
products of logistics, with a share of wrong labels.
"""

import numpy as np
from numba import types
from numba.extending import overload

from polyceptron.kernels.jit import compiled
from polyceptron.kernels.scores import add_row, first_equal, score_four
from polyceptron.kernels.vector import fma


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
# Rows are taken 64 at a time, a column of them after the other, so that every loop is one of
# independent lanes, which the compiler vectorises, exp included. Every product and sum is one
# fused multiply-add, and the slope is summed row by row: the bits are those of any machine.

_ROWS = 64
_LOG2, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 0.693147180369123816490, 1.90821492927058770002e-10

_WHOLE, _ONE = 6755399441055744.0, 1023 << 52


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


def load_rows(X, start, n, rows, columns, used, place):
    """The rows from ``start`` on, below n, as rows and as columns; how many columns these are.

    Of sparse rows only columns that occur are taken, in their order: ``used``. ``place`` has room
    for all columns, and is -1 before and after.
    """
    rows[:], columns[:] = 0.0, 0.0
    m = rows.shape[1]
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
        rows[: n - start] = X[start:n]
    columns[:] = rows.T
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
        return m

    return sparse if isinstance(X, types.BaseTuple) else dense


def take_used(X, values, used, m, room):
    """The values of the columns that are used."""
    return values[used[:m]] if isinstance(X, tuple) else values


@overload(take_used)
def _take_used(X, values, used, m, room):
    def dense(X, values, used, m, room):
        return values

    def sparse(X, values, used, m, room):
        for q in range(m):
            room[q] = values[used[q]]
        return room[:m]

    return sparse if isinstance(X, types.BaseTuple) else dense


def put_back(X, values, used, m, out):
    """Undo `take_used`, with what was made of the values."""
    if isinstance(X, tuple):
        out[used[:m]] = values[:m]


@overload(put_back)
def _put_back(X, values, used, m, out):
    def dense(X, values, used, m, out):
        pass

    def sparse(X, values, used, m, out):
        for q in range(m):
            out[used[q]] = values[q]

    return sparse if isinstance(X, types.BaseTuple) else dense


@compiled
def _face_scores(w, bias, columns, scores):
    """scores[i] = bias + w . x_i, the products in column order."""
    d = columns.shape[0]
    scores[:] = bias
    for j in range(0, d - d % 4, 4):
        w0, w1, w2, w3 = w[j], w[j + 1], w[j + 2], w[j + 3]
        x0, x1, x2, x3 = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
        for i in range(_ROWS):
            scores[i] = fma(w3, x3[i], fma(w2, x2[i], fma(w1, x1[i], fma(w0, x0[i], scores[i]))))
    for j in range(d - d % 4, d):
        for i in range(_ROWS):
            scores[i] = fma(w[j], columns[j, i], scores[i])


@compiled
def exp_minus(scores, limit, power, out):
    """out[i] = exp(-scores[i]), with scores held within the limit: 2^k times a polynomial.

    ``power`` has room for 2^k, built as bits: those of k are the last ones of k + 1.5 * 2^52.
    """
    bits = power.view(np.int64)
    for i in range(scores.shape[0]):
        x = min(max(-scores[i], -limit), limit)
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
        out[i] = fma(p, r, 1.0)
        power[i] = k + _WHOLE
    for i in range(scores.shape[0]):
        bits[i] = (bits[i] << 52) + _ONE
    for i in range(scores.shape[0]):
        out[i] *= power[i]


@compiled
def _join_face(E, D):
    """Take a face into account: D = prod (1 + e) - 1 of its piece; e becomes e / (1 + e)."""
    for i in range(_ROWS):
        e = E[i]
        D[i] = fma(e, 1.0 + D[i], D[i])
        E[i] = e / (1.0 + e)


@compiled
def _join_piece(D, odds, outside):
    """Take a piece into account: its odds are 1 / D, and D / (1 + D) is left of the outside."""
    for i in range(_ROWS):
        odds[i] = 1.0 / D[i]
        outside[i] *= D[i] / (1.0 + D[i])


@compiled
def _multiply(a, b, out):
    for i in range(_ROWS):
        out[i] = a[i] * b[i]


@compiled
def _add_slope(slope, rows, G):
    """G += sum_i slope_i x_i, in the order of the rows; returns the sum of the slope."""
    total = 0.0
    for i in range(0, _ROWS, 4):
        s0, s1, s2, s3 = slope[i], slope[i + 1], slope[i + 2], slope[i + 3]
        x0, x1, x2, x3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        total += (s0 + s1) + (s2 + s3)
        for j in range(G.shape[0]):
            G[j] = fma(s3, x3[j], fma(s2, x2[j], fma(s1, x1[j], fma(s0, x0[j], G[j]))))
    return total


@compiled
def _score_limit(ends):
    """So large that no product of a piece overflows."""
    widest = np.int64(ends[0])
    for m in range(1, ends.shape[0]):
        widest = max(widest, np.int64(ends[m] - ends[m - 1]))
    return min(40.0, 690.0 / widest)


@compiled
def union_block(X, y, weight, W, b, ends, noise, G, g):
    """Log-likelihood of a block, and its slope in `noise`; that in [w_k, b_k] is added to G, g.

    ``P(inside | x) = noise + (1 - 2 noise) (1 - prod_m (1 - prod_k 1 / (1 + exp(-score_mk))))``;
    the faces of piece m end at ``ends[m]``.
    """
    n = y.shape[0]
    F, d = W.shape
    M = ends.shape[0]
    wide = room_for(X, n, d)
    rows, columns = np.zeros((_ROWS, wide)), np.zeros((wide, _ROWS))
    used, place, room = np.empty(wide, np.int64), np.full(d, -1), np.empty(wide)
    E, odds = np.empty((F, _ROWS)), np.empty((M, _ROWS))
    scores, power, D = np.empty(_ROWS), np.empty(_ROWS), np.empty(_ROWS)
    outside, c = np.empty(_ROWS), np.zeros(_ROWS)
    limit = _score_limit(ends)
    total, of_noise = 0.0, 0.0
    for start in range(0, n, _ROWS):
        n_rows = min(_ROWS, n - start)
        width = load_rows(X, start, start + n_rows, rows, columns, used, place)
        outside[:] = 1.0
        first = 0
        for m in range(M):
            D[:] = 0.0
            for k in range(first, ends[m]):
                _face_scores(take_used(X, W[k], used, width, room), b[k], columns[:width], scores)
                exp_minus(scores, limit, power, E[k])
                _join_face(E[k], D)
            _join_piece(D, odds[m], outside)
            first = ends[m]
        joint = 1.0  # of likelihoods, each at least the noise: one logarithm for all
        c[:] = 0.0
        for i in range(n_rows):
            sign, w = y[start + i], 1.0
            side = 1.0 - outside[i] if sign > 0 else outside[i]
            p = noise + (1.0 - 2.0 * noise) * side
            if weight.shape[0] > 0:
                w = weight[start + i]
                total += w * np.log(p)
            else:
                joint *= p
            of_noise += w * (1.0 - 2.0 * side) / p
            c[i] = sign * w * (1.0 - 2.0 * noise) * outside[i] / p
        total += np.log(joint)
        first = 0
        for m in range(M):
            _multiply(c, odds[m], D)
            for k in range(first, ends[m]):
                _multiply(E[k], D, E[k])
                slope = take_used(X, G[k], used, width, room)
                g[k] += _add_slope(E[k], rows, slope)
                put_back(X, slope, used, width, G[k])
            first = ends[m]
    return total, of_noise
