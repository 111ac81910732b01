"""The steps of the paper: batch gradients with and without pruning, and the online pass."""

import numpy as np

from polyceptron.kernels.emit import emitted, kernel
from polyceptron.kernels.scores import (
    add_row,
    eight_from,
    first_equal,
    plane,
    score_four,
    score_neighbours,
    score_rows,
)
from polyceptron.kernels.vector import at_most, fetch_row, lowest_bit

CHUNK = 96
"""Rows scored before their mistakes are collected."""
_SCAN = 3840
"""Rows looked at before those that are open are scored."""
FAIR_PASSES = 40
"""Passes before a run may be given up."""


@kernel
def batch_block(
    X, y, weight, panel, bias, margin, G, g, totals, keys, inverse_norm, threshold, credit
):  # fmt: skip
    """Gradient of the criterion over a block of rows, added to G and g.

    A row counts where ``y h <= margin``; it is charged to its least hyperplane.
    ``totals`` gains the criterion, the weights of the mistakes and of the rows that
    count, and the number of rows looked at. With ``keys`` (see
    :class:`polyceptron.optim.criterion.Pruning`)
    only rows with ``keys[i] <= threshold`` are looked at, and theirs are raised if
    the new bound is better; an infinite threshold renews every key.
    """
    S = np.empty((CHUNK, bias.shape[0]))
    h = np.empty(CHUNK)
    listed = np.empty(_SCAN + 1, np.int64)
    for t in range(_SCAN + 1):
        listed[t] = t
    bad = np.empty(CHUNK + 1, np.int64)
    tracked = keys.shape[0] > 0
    renew = threshold == np.inf
    n = y.shape[0]
    for first in range(0, n, _SCAN):
        n_listed = min(_SCAN, n - first)
        if tracked and not renew:
            n_listed = _list_open_rows(X, keys, first, n_listed, threshold, listed)
        totals[3] += n_listed
        for base in range(0, n_listed, CHUNK):
            stop = min(base + CHUNK, n_listed)
            start, m = first + listed[base], stop - base
            if listed[stop - 1] - listed[base] == m - 1:
                _score_chunk(X, start, m, panel, bias, S, h)
                n_bad = _list_bad_neighbours(y, start, m, h, margin, bad)
            else:
                _score_listed(X, listed, base, stop, first, panel, bias, S, h)
                n_bad = _list_bad(y, listed, base, stop, first, h, margin, bad)
            if tracked:
                for t in range(m):
                    i = first + listed[base + t]
                    bound = (y[i] * h[t] - margin) * inverse_norm[i] + credit
                    keys[i] = _new_key(keys[i], bound, renew)
            for q in range(n_bad):
                t = bad[q]
                i = first + listed[base + t]
                w = weight[i] if weight.shape[0] > 0 else 1.0
                r = first_equal(S, t, h[t], G.shape[0])
                s = y[i] * w
                add_row(X, i, s, G[r])
                g[r] += s
                totals[0] += margin * w - s * h[t]
                totals[1] += w if (h[t] >= 0.0) != (y[i] > 0) else 0.0
                totals[2] += w


@emitted
def _list_open_rows(X, keys, first, n, threshold, listed):
    """List the rows from first on whose key does not exceed the threshold, less first.

    Most of 32 have none: a vector comparison or two pass over them. The others are far apart, so
    they are fetched while the list grows.
    """
    count = 0
    whole = n // 32 * 32
    for group in range(0, whole, 32):
        bits = at_most(keys, first + group, threshold)
        while bits != 0:
            listed[count] = group + lowest_bit(bits)
            if not isinstance(X, tuple):
                fetch_row(X, first + listed[count])
            count += 1
            bits = bits & (bits - 1)
    for t in range(whole, n):
        listed[count] = t
        count += 1 if keys[first + t] <= threshold else 0
    return count


@emitted
def _new_key(key, bound, renew):
    """The bound rounded down, where it is better or the key is to be renewed."""
    found = np.float32(bound - abs(bound) * 2e-7 - 2e-45)
    if np.isnan(bound):  # an overflow leaves the row open
        found = np.float32(-np.inf)
    return found if renew or found > key else key


@emitted
def _list_bad_neighbours(y, start, n, h, margin, bad):
    """List the rows that count of n from start on: without a branch, which nobody could guess."""
    n_bad = 0
    for t in range(n):
        bad[n_bad] = t
        n_bad += 1 if y[start + t] * h[t] <= margin else 0
    return n_bad


@emitted
def _list_bad(y, listed, start, stop, first, h, margin, bad):
    """The same of the rows ``first + listed[start:stop]``."""
    n_bad = 0
    for t in range(stop - start):
        bad[n_bad] = t
        n_bad += 1 if y[first + listed[start + t]] * h[t] <= margin else 0
    return n_bad


@emitted
def _score_chunk(X, start, n, panel, bias, S, h):
    """Scores and minima of n rows from start on."""
    z = start + n - 1
    for t in range(score_neighbours(X, start, n, panel, bias, S, h), n, 4):
        i = start + t
        four = (i, min(i + 1, z), min(i + 2, z), min(i + 3, z))
        score_rows(X, four, panel, bias, S, h, t)


@emitted
def _score_listed(X, listed, start, stop, first, panel, bias, S, h):
    """Scores and minima of the rows ``first + listed[start:stop]``."""
    z = stop - 1
    for t in range(start, stop, 4):
        four = (first + listed[t], first + listed[min(t + 1, z)],
                first + listed[min(t + 2, z)], first + listed[min(t + 3, z)])  # fmt: skip
        score_rows(X, four, panel, bias, S, h, t - start)


@kernel
def frozen_block(X, y, weight, panel, bias, margin, assigned, G, g):
    """Gradient over a block of rows with the sets S_k held fixed."""
    S, h = np.empty((4, bias.shape[0])), np.empty(4)
    n = assigned.shape[0]
    for i in range(0, n, 4):
        for t in range(score_four(X, i, n, panel, bias, S, h)):
            r = assigned[i + t]
            w = weight[i + t] if weight.shape[0] > 0 else 1.0
            if y[i + t] * S[t, r] <= margin:
                add_row(X, i + t, y[i + t] * w, G[r])
                g[r] += y[i + t] * w


@kernel
def gradient_norms(G, g, bias_unit):
    """Sum over k of |[G_k, bias_unit * g_k]|: what the paper compares with gamma."""
    total = 0.0
    for k in range(G.shape[0]):
        square = (bias_unit * g[k]) ** 2
        for j in range(G.shape[1]):
            square += G[k, j] * G[k, j]
        total += np.sqrt(square)
    return total


def descend(panel, bias, G, g, step, bias_step):
    """Hyperplanes moved along their gradients: a new panel and bias."""
    new_panel, new_bias = panel.copy(), bias.copy()
    _add_gradients(new_panel, new_bias, G, g, step, bias_step)
    return new_panel, new_bias


@kernel
def _add_gradients(panel, bias, G, g, step, bias_step):
    for k in range(G.shape[0]):
        w = plane(panel, k)
        for j in range(G.shape[1]):
            w[j] += step * G[k, j]
        bias[k] += bias_step * g[k]


@emitted
def score_ahead(X, rows, panel, bias, S, h):
    """Score the next eight rows, given by their numbers, or the first two of them."""
    if isinstance(X, tuple):  # they go two by two anyway, so there is nothing to gain by more
        score_rows(X, (rows[0], rows[1]), panel, bias, S, h, 0)
        return 2
    score_rows(X, rows, panel, bias, S, h, 0)
    return 8


@kernel
def online_pass(X, y, weight, order, panel, bias, K, step, bias_step, margin, U, u, seen):
    """One pass of Algorithm 2; see `one_pass`."""
    return one_pass(X, y, weight, order, panel, bias, K, step, bias_step, margin, U, u, seen)


@emitted
def one_pass(X, y, weight, order, panel, bias, K, step, bias_step, margin, U, u, seen):
    """One pass of Algorithm 2 over the rows in this order; panel and bias move in place.

    Some rows are scored ahead (dense: eight; sparse: two), and taken up to the first that
    counts (``y h <= margin``), whose update makes the later scores stale. With a
    non-empty ``U`` the sums behind averaged weights are kept:
    ``average = W - U / rows seen``. Returns the mistakes (rows on the wrong side when met)
    and the updates.
    """
    n = y.shape[0]
    S = np.empty((8, bias.shape[0]))
    h = np.empty(8)
    shuffled = order.shape[0] > 0
    mistakes = 0
    updates = 0
    t = 0
    z = n - 1
    while t < n:
        if not isinstance(X, tuple) and not shuffled and t + 8 <= n:
            n_ahead = score_ahead(X, eight_from(t), panel, bias, S, h)
            n_bad = 0
            for q in range(n_ahead):
                n_bad += 0 if y[t + q] * h[q] > margin else 1
            if n_bad == 0:
                t += n_ahead
                continue
        else:
            eight = (t, min(t + 1, z), min(t + 2, z), min(t + 3, z),
                     min(t + 4, z), min(t + 5, z), min(t + 6, z), min(t + 7, z))  # fmt: skip
            if shuffled:
                a, b, c, d, e, f, g, o = eight
                eight = (order[a], order[b], order[c], order[d],
                         order[e], order[f], order[g], order[o])  # fmt: skip
            n_ahead = min(score_ahead(X, eight, panel, bias, S, h), n - t)
        q = 0
        while q < n_ahead and y[order[t + q] if shuffled else t + q] * h[q] > margin:
            q += 1
        t += q
        if q < n_ahead:
            i = order[t] if shuffled else t
            s = y[i] * weight[i] if weight.shape[0] > 0 else 1.0 * y[i]
            r = first_equal(S, q, h[q], K)
            add_row(X, i, step * s, plane(panel, r))
            bias[r] += bias_step * s
            if U.shape[0] > 0:
                add_row(X, i, step * s * (seen + t), U[r])
                u[r] += bias_step * s * (seen + t)
            mistakes += 1 if (h[q] >= 0.0) != (y[i] > 0) else 0
            updates += 1
            t += 1
    return mistakes, updates


@kernel
def shuffle(order, seed):
    """Fill order with the permutation that belongs to this seed.

    Fisher-Yates with splitmix64 (Steele, Lea & Flood 2014): the same everywhere,
    and a few microseconds for a thousand rows.
    """
    n = order.shape[0]
    state = np.uint64(seed)
    for i in range(n):
        order[i] = i
    for i in range(n - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        z = state
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        # The high 32 bits scaled to 0..i: the bias is below i / 2**32.
        j = np.int64(((z >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
        order[i], order[j] = order[j], order[i]


@kernel
def online_passes(X, y, weight, panel, bias, K, margin, seed, n_passes, hopeless, U, u):
    """Passes in orders of their own until one makes no update; panel and bias move in place.

    ``U`` and ``u`` are the sums of `online_pass` since the first quarter of the passes, over as
    many rows as are returned, with how many passes there were and whether the last made no update.
    Without a margin, updates on more than the share ``hopeless`` of the rows end it after 40.
    """
    n, seen = y.shape[0], 0
    order = np.empty(n, np.int64)
    for number in range(n_passes):
        if number == n_passes // 4:
            U[:] = 0.0
            u[:] = 0.0
            seen = 0
        shuffle(order, (np.uint64(seed) << np.uint64(32)) + np.uint64(number))
        _, updates = one_pass(X, y, weight, order, panel, bias, K, 1.0, 1.0, margin, U, u, seen)
        seen += n
        if updates == 0:
            return seen, number + 1, True
        if margin == 0.0 and number >= FAIR_PASSES and updates > hopeless * n:
            return seen, n_passes, False
    return seen, n_passes, False
