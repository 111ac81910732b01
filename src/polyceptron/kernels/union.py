"""The likelihood of a union of products of logistics with a share of wrong labels, and its ascent.

``P(inside | x) = noise + (1 - 2 noise) (1 - prod_m (1 - prod_k 1 / (1 + exp(-score_mk))))``. Where
rows have shares inside instead of labels, h = max_m min_k score_mk itself is fitted to these.

Rows are taken 64 at a time, so that scores and slopes are small products of matrices and every
other loop is one of independent lanes, which the compiler vectorises, exp included. Every
product and sum is one fused multiply-add, in the order of columns or of rows: the bits are
those of any machine.
"""

import numpy as np

from polyceptron.kernels.descent import HERE, TRIAL, add_scaled, advance, begin, dot
from polyceptron.kernels.emit import called, emitted, kernel
from polyceptron.kernels.vector import fma, multiply_tile, power_of_two

LEAST_NOISE = 1e-4
_ROWS = 64
_LOG2, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 0.693147180369123816490, 1.90821492927058770002e-10


# --- rows, 64 at a time ------------------------------------------------------------------------


def pack_rows(X):
    """Dense rows as tiles of 64, each by columns and by rows [x, 1]: what an ascent reads often."""
    n, d = X.shape
    n_tiles = (n + _ROWS - 1) // _ROWS
    columns = np.zeros((n_tiles, d, _ROWS))
    rows = np.zeros((n_tiles, _ROWS, d + 1 + -(d + 1) % 4))
    _fill_tiles(X, columns, rows)
    return columns, rows


@kernel
def _fill_tiles(X, columns, rows):
    n, d = X.shape
    for i in range(n):
        tile, t = i // _ROWS, i % _ROWS
        for j in range(d):
            columns[tile, j, t] = rows[tile, t, j] = X[i, j]
        rows[tile, t, d] = 1.0


@emitted
def _room_for(X, n, d):
    """How many columns 64 rows have at most that are not all zero."""
    if not isinstance(X, tuple) or len(X) == 2:
        return d
    most = 1
    for i in range(0, n, _ROWS):
        most = max(most, X[2][min(i + _ROWS, n)] - X[2][i])
    return min(d, most)


@emitted
def _shell_sort(values):
    """Shell's sort."""
    gap = values.shape[0]
    while gap > 1:
        gap = gap // 2
        for k in range(gap, values.shape[0]):
            one, at = values[k], k
            while at >= gap and values[at - gap] > one:
                values[at] = values[at - gap]
                at -= gap
            values[at] = one


@called
def _find_columns(indices, used, place):
    """The columns that occur, sorted, into ``used``, and which of them it is into ``place``."""
    m = 0
    for j in indices:
        if place[j] < 0:
            place[j] = 0
            used[m] = j
            m += 1
    _shell_sort(used[:m])
    for q in range(m):
        place[used[q]] = q
    return m


@called
def _load_sparse(X, start, n, columns, rows, used, place):
    data, indices, indptr = X
    m = _find_columns(indices[indptr[start] : indptr[n]], used, place)
    rows[:, :m] = 0.0
    columns[:m] = 0.0
    for i in range(start, n):
        for p in range(indptr[i], indptr[i + 1]):
            q = place[indices[p]]
            rows[i - start, q] += data[p]
            columns[q, i - start] = rows[i - start, q]
    for q in range(m):
        place[used[q]] = -1
    rows[:, m] = 1.0
    return m


@emitted
def load_rows(X, start, n, columns, rows, used, place):
    """The rows from ``start`` on, below n, as columns and as rows [x, 1]; how many columns.

    Of sparse rows only columns that occur are taken, in their order: ``used``. ``place`` has room
    for all columns, and is -1 before and after.
    """
    if not isinstance(X, tuple):
        _load_dense(X, start, n, columns, rows)
        return columns, rows, X.shape[1]
    if len(X) == 2:
        tile = start // _ROWS
        return X[0][tile], X[1][tile], X[0].shape[1]
    return columns, rows, _load_sparse(X, start, n, columns, rows, used, place)


@emitted
def _load_dense(X, start, n, columns, rows):
    if n - start < _ROWS:
        rows[:] = 0.0
        columns[:] = 0.0
    for i in range(start, n):
        for j in range(X.shape[1]):
            rows[i - start, j] = columns[j, i - start] = X[i, j]
    rows[:, X.shape[1]] = 1.0


@called
def _multiply_add(A, B, n, m, C):
    """C[:, :m] += A[:, :n] B[:n, :m], and perhaps up to three columns more."""
    for k in range(0, A.shape[0], 4):
        for j in range(0, m - 4, 8):
            multiply_tile(A, k, B, (j, j + 4), C, n)
        if (m - 1) % 8 < 4:
            multiply_tile(A, k, B, (m - 1 - (m - 1) % 8,), C, n)


@emitted
def _take(theta, slope, used, width, w, s):
    """Weights and slopes of the columns that are used, with those of the bias behind them."""
    d = theta.shape[1] - 1
    for k in range(theta.shape[0]):
        for q in range(width):
            w[k, q], s[k, q] = theta[k, used[q]], slope[k, used[q]]
        s[k, width] = slope[k, d]


@emitted
def _put_back(s, used, width, slope):
    d = slope.shape[1] - 1
    for k in range(slope.shape[0]):
        for q in range(width):
            slope[k, used[q]] = s[k, q]
        slope[k, d] = s[k, width]


# --- from scores to likelihoods and slopes -----------------------------------------------------


@emitted
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


@emitted
def _score_limit(ends):
    """So large that no product of a piece overflows."""
    widest = ends[0]
    for m in range(1, ends.shape[0]):
        widest = max(widest, ends[m] - ends[m - 1])
    return min(40.0, 690.0 / widest - 0.7)  # a face adds up to log 2


@emitted
def _join_face(E, limit, D):
    """Take a face into account: D = prod (1 + e) - 1 of its piece; scores become e / (1 + e)."""
    for i in range(_ROWS):
        e = exp_minus(E[i], limit)
        D[i] = fma(e, 1.0 + D[i], D[i])
        E[i] = e / (1.0 + e)


@emitted
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


@emitted
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


@emitted
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


@emitted
def _to_slopes(E, ends, c, odds):
    first = 0
    for m in range(ends.shape[0]):
        for k in range(first, ends[m]):
            for i in range(_ROWS):
                E[k, i] *= c[i] * odds[m, i]
        first = ends[m]


@emitted
def _judge_hard(E, ends, target, weight):
    """The log-likelihood of max_m min_k E[k] for shares inside; scores become slopes."""
    total = 0.0
    for i in range(target.shape[0]):
        best, face, first = -np.inf, 0, 0
        for end in ends:
            least = first
            for k in range(first, end):
                least = k if E[k, i] < E[least, i] else least
            if E[least, i] > best:
                best, face = E[least, i], least
            first = end
        small = np.exp(-abs(best))  # never overflows
        total += weight[i] * (target[i] * best - max(best, 0.0) - np.log1p(small))
        slope = weight[i] * (target[i] - (1.0 if best > 0 else small) / (1.0 + small))
        for k in range(E.shape[0]):
            E[k, i] = slope if k == face else 0.0
    for k in range(E.shape[0]):
        for i in range(target.shape[0], _ROWS):
            E[k, i] = 0.0
    return total


@kernel
def noise_of(logit):
    """A share of wrong labels below a half."""
    return LEAST_NOISE + (0.5 - LEAST_NOISE) * _logistic(logit)


@emitted
def _logistic(x):
    small = np.exp(-abs(x))
    return (1.0 if x > 0 else small) / (1.0 + small)


def union_part(X, y, weight, target, flat, ends):
    """Slope and value of a block's log-likelihood at ``flat``, in one array.

    That is [w_1, b_1, ..., w_F, b_F] and the logit of the noise; the faces of piece m end at
    ``ends[m]``. With shares inside as ``target`` it is that of the hard rule, without noise.
    """
    part = np.empty(flat.shape[0] + 1)
    _set_part(X, y, weight, target, flat, ends, part)
    return part


@kernel
def _set_part(X, y, weight, target, flat, ends, part):
    n, F = y.shape[0], ends[-1]
    theta, noise = flat[:-1].reshape((F, -1)), noise_of(flat[-1])
    part[:] = 0.0
    slope, d = part[:-2].reshape((F, -1)), theta.shape[1] - 1
    wide, F4 = _room_for(X, n, d), F + -F % 4
    columns = np.zeros((wide, _ROWS))
    rows = np.zeros((_ROWS, wide + 1 + -(wide + 1) % 4))  # and a column of ones
    w, s = np.zeros((F4, wide)), np.zeros((F4, rows.shape[1]))
    used, place = np.empty(wide, np.int64), np.full(d, -1)
    for j in range(wide):
        used[j] = j
    E, odds = np.zeros((F4, _ROWS)), np.empty((ends.shape[0], _ROWS))
    D, outside, ones = np.empty(_ROWS), np.empty(_ROWS), np.full(_ROWS, 1.0)
    p, c, t = np.empty(_ROWS), np.empty(_ROWS), np.empty(_ROWS)
    limit, is_hard = _score_limit(ends), target.shape[0] > 0
    moves = isinstance(X, tuple) and len(X) == 3  # of sparse rows, 64 have only some columns
    total, of_noise = 0.0, 0.0
    for start in range(0, n, _ROWS):
        stop = min(start + _ROWS, n)
        by_column, by_row, width = load_rows(X, start, stop, columns, rows, used, place)
        if moves or start == 0:
            _take(theta, slope, used, width, w, s)
        for k in range(F):
            E[k] = theta[k, d]
        _multiply_add(w, by_column, width, _ROWS, E)
        own = weight[start:stop]  # none where all count alike
        r = own if own.shape[0] > 0 else ones
        if is_hard:
            total += _judge_hard(E, ends, target[start:stop], r)
        else:
            _join_pieces(E, ends, limit, D, odds, outside)
            _judge(y[start:stop], r, noise, outside, p, c, t)
            total += _log_likelihood(p[: stop - start], own)
            for i in range(stop - start):
                of_noise += t[i]
            _to_slopes(E, ends, c, odds)
        _multiply_add(E, by_row, _ROWS, width + 1, s)
        if moves or stop == n:
            _put_back(s, used, width, slope)
    share = _logistic(flat[-1])
    part[-2] = of_noise * (0.5 - LEAST_NOISE) * share * (1.0 - share)
    part[-1] = total


def removal_costs(X, y, weight, theta, ends):
    """What the log-likelihood loses without each face, then without each piece, at the least noise.

    1 / D are the odds of a piece, D = prod (1 + e) - 1 over its faces.
    """
    costs = np.zeros(theta.shape[0] + ends.shape[0])
    _add_costs(X, y, weight, theta, ends, costs)
    return costs


@kernel
def _add_costs(X, y, weight, theta, ends, costs):
    n, F, d, M = y.shape[0], theta.shape[0], theta.shape[1] - 1, ends.shape[0]
    wide, F4 = _room_for(X, n, d), F + -F % 4
    columns, rows = np.zeros((wide, _ROWS)), np.zeros((_ROWS, wide + 1 + -(wide + 1) % 4))
    w, s, unused = np.zeros((F4, wide)), np.zeros((F4, rows.shape[1])), np.zeros(theta.shape)
    used, place = np.empty(wide, np.int64), np.full(d, -1)
    for j in range(wide):
        used[j] = j
    E, D = np.zeros((F4, _ROWS)), np.empty((M, _ROWS))
    outside, rest, p = np.empty(_ROWS), np.empty(_ROWS), np.empty(_ROWS)
    limit, moves = _score_limit(ends), isinstance(X, tuple) and len(X) == 3
    for start in range(0, n, _ROWS):
        stop = min(start + _ROWS, n)
        by_column, _, width = load_rows(X, start, stop, columns, rows, used, place)
        if moves or start == 0:
            _take(theta, unused, used, width, w, s)
        for k in range(F):
            E[k] = theta[k, d]
        _multiply_add(w, by_column, width, _ROWS, E)
        _to_exponentials(E, ends, limit, D)
        here, own = y[start:stop], weight[start:stop]
        _outside_of_others(D, -1, outside)
        before = _log_of(here, outside, p, own)
        first = 0
        for m in range(M):
            _outside_of_others(D, m, rest)
            costs[F + m] += before - _log_of(here, rest, p, own)
            for k in range(first, ends[m]):
                for i in range(_ROWS):
                    left = max((D[m, i] - E[k, i]) / (1.0 + E[k, i]), 0.0)
                    outside[i] = rest[i] * (left / (1.0 + left))
                costs[k] += before - _log_of(here, outside, p, own)
            first = ends[m]


@emitted
def _to_exponentials(E, ends, limit, D):
    first = 0
    for m in range(ends.shape[0]):
        D[m] = 0.0
        for k in range(first, ends[m]):
            for i in range(_ROWS):
                E[k, i] = exp_minus(E[k, i], limit)
                D[m, i] = fma(E[k, i], 1.0 + D[m, i], D[m, i])
        first = ends[m]


@emitted
def _outside_of_others(D, but, out):
    out[:] = 1.0
    for m in range(D.shape[0]):
        if m != but:
            for i in range(_ROWS):
                out[i] *= D[m, i] / (1.0 + D[m, i])


@called
def _log_of(y, outside, p, weight):
    """The log-likelihood of labels by what is outside."""
    for i in range(y.shape[0]):
        side = 1.0 - outside[i] if y[i] > 0 else outside[i]
        p[i] = fma(1.0 - 2.0 * LEAST_NOISE, side, LEAST_NOISE)
    return _log_likelihood(p[: y.shape[0]], weight)


# --- the penalised likelihood as a function of one flat array ------------------------------------


def penalised(part, flat, F, penalty, unit, is_noisy):
    """Minus the log-likelihood in units, and penalty / 2 |w_k|^2 of each face: value and slope."""
    slope = np.empty(flat.shape[0])
    return _penalise(part, flat, F, penalty, unit, is_noisy, slope), slope


@kernel
def _penalise(part, flat, F, penalty, unit, is_noisy, slope):
    size = (flat.shape[0] - 1) // F
    square = 0.0
    for i in range(flat.shape[0] - 1):
        slope[i] = part[i] / -unit
        if i % size < size - 1:  # biases are free
            slope[i] = fma(penalty, flat[i], slope[i])
            square = fma(flat[i], flat[i], square)
    slope[-1] = part[-2] / -unit if is_noisy else 0.0
    return 0.5 * penalty * square - part[-1] / unit


def descend_union(X, y, weight, target, start, ends, penalty, unit, is_noisy, n_steps, ftol):
    """L-BFGS from ``start`` on the penalised likelihood of one block of rows."""
    points, state = begin(start)
    how = penalty, unit, is_noisy, n_steps, ftol
    _descend(X, y, weight, target, points, state, ends, *how)
    return points[HERE].copy()


@kernel
def _descend(X, y, weight, target, points, state, ends, penalty, unit, is_noisy, n_steps, ftol):
    flat = points[TRIAL]
    part, slope = np.empty(flat.shape[0] + 1), np.empty(flat.shape[0])
    going = True
    while going:
        _set_part(X, y, weight, target, flat, ends, part)
        value = _penalise(part, flat, ends[-1], penalty, unit, is_noisy, slope)
        going = advance(points, state, value, slope, n_steps, ftol)


def leapfrog(X, y, weight, flat, slope, ends, penalty, unit, speed, step, n_leaps, lost):
    """A trajectory of Hamiltonian Monte Carlo at a posterior exp(-unit * loss).

    Returns where it ends, the loss and slope there, and the energy of loss and speed. ``lost`` is
    the energy at which it is given up.
    """
    flat, slope, speed = flat.copy(), slope.copy(), speed.copy()
    how = penalty, unit, step, n_leaps, lost
    value, energy = _hamiltonian_leap(X, y, weight, flat, slope, speed, ends, *how)
    return flat, value, slope, energy


@kernel
def _hamiltonian_leap(X, y, weight, flat, slope, speed, ends, penalty, unit, step, n_leaps, lost):
    part, no_target, value, energy = np.empty(flat.shape[0] + 1), np.empty(0), 0.0, 0.0
    for _ in range(n_leaps):
        add_scaled(speed, -0.5 * step * unit, slope, speed)
        add_scaled(flat, step, speed, flat)
        _set_part(X, y, weight, no_target, flat, ends, part)
        value = _penalise(part, flat, ends[-1], penalty, unit, True, slope)
        add_scaled(speed, -0.5 * step * unit, slope, speed)
        energy = unit * value + 0.5 * dot(speed, speed)
        if not energy < lost:  # too long a step: every further one would be longer
            return value, np.inf
    return value, energy
