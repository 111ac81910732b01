"""Loop-only versions of the kernels, the loops of the paper, and nothing clever: the specification.

Hyperplanes are plain (K, d) weights and K biases, rows are dense. Arrays are containers only:
every number is computed by Python itself. Where an answer is a set of arrays, they are new.
"""

import math
from typing import Any

import numpy as np


def scores(x: list[float], W: list[list[float]], b: list[float]) -> list[float]:
    """w_k . x + b_k, summed in column order from b_k on."""
    found = []
    for w, bias in zip(W, b, strict=True):
        total = bias
        for w_j, x_j in zip(w, x, strict=True):
            total += w_j * x_j
        found.append(total)
    return found


def least(values: list[float]) -> int:
    """Place of the least value; ties go to the first."""
    best = 0
    for k in range(1, len(values)):
        if values[k] < values[best]:
            best = k
    return best


def _lists(*arrays: Any) -> list[Any]:
    return [np.asarray(array).tolist() for array in arrays]


def margins(X, W, b):
    X, W, b = _lists(X, W, b)
    return np.array([scores(x, W, b) for x in X])


def decide(X, W, b):
    X, W, b = _lists(X, W, b)
    return np.array([min(scores(x, W, b)) for x in X])


def assign_block(X, W, b):
    X, W, b = _lists(X, W, b)
    return np.array([least(scores(x, W, b)) for x in X])


def norm(x: list[float]) -> float:
    """Length of [x, 1]."""
    total = 1.0
    for x_j in x:
        total += x_j * x_j
    return math.sqrt(total)


def inverse_norms(X):
    return np.array([1.0 / norm(x) for x in np.asarray(X).tolist()])


def batch_block(X, y, weight, W, b, margin, looked_at=None):
    """Minus the gradient (G, g), and the criterion, mistakes, rows that count, rows looked at.

    `looked_at` lists the rows that pruning leaves; all of them by default.
    """
    X, y, weight, W, b = _lists(X, y, weight, W, b)
    G, g = [[0.0] * len(w) for w in W], [0.0] * len(b)
    totals = [0.0] * 4
    for i in range(len(X)) if looked_at is None else looked_at:
        totals[3] += 1
        s = scores(X[i], W, b)
        r = least(s)
        if y[i] * s[r] > margin:
            continue
        for j, x_j in enumerate(X[i]):
            G[r][j] += y[i] * weight[i] * x_j
        g[r] += y[i] * weight[i]
        totals[0] += weight[i] * (margin - y[i] * s[r])
        totals[1] += weight[i] if is_mistake(s[r], y[i]) else 0.0
        totals[2] += weight[i]
    return np.array(G), np.array(g), np.array(totals)


def is_mistake(h: float, y: int) -> bool:
    """A row with h = 0 is inside."""
    return (h >= 0) != (y > 0)


def open_rows(keys, threshold: float) -> list[int]:
    """The rows that pruning leaves: those whose key does not exceed the threshold."""
    return [i for i, key in enumerate(np.asarray(keys).tolist()) if key <= threshold]


def key_bounds(X, y, W, b, margin, credit):
    """What a row's key may be at most: how far the hyperplanes may move, and the way so far."""
    X, y, W, b = _lists(X, y, W, b)
    return np.array(
        [
            (y_i * min(scores(x, W, b)) - margin) / norm(x) + credit
            for x, y_i in zip(X, y, strict=True)
        ]
    )


def frozen_block(X, y, weight, W, b, margin, assigned):
    """As batch_block, each row charged to the hyperplane it was assigned to."""
    X, y, weight, W, b, assigned = _lists(X, y, weight, W, b, assigned)
    G, g = [[0.0] * len(w) for w in W], [0.0] * len(b)
    for i, x in enumerate(X):
        r = assigned[i]
        if y[i] * scores(x, W, b)[r] <= margin:
            for j, x_j in enumerate(x):
                G[r][j] += y[i] * weight[i] * x_j
            g[r] += y[i] * weight[i]
    return np.array(G), np.array(g)


def frozen_criterion(X, y, weight, W, b, margin, assigned) -> list[float]:
    """f_k of the paper for every k: the criterion with the sets S_k held fixed."""
    X, y, weight, W, b, assigned = _lists(X, y, weight, W, b, assigned)
    f = [0.0] * len(b)
    for i, x in enumerate(X):
        r = assigned[i]
        room = y[i] * scores(x, W, b)[r] - margin
        if room < 0:
            f[r] -= weight[i] * room
    return f


def gradient_norms(G, g, bias_unit=1.0) -> float:
    G, g = _lists(G, g)
    total = 0.0
    for G_k, g_k in zip(G, g, strict=True):
        square = (bias_unit * g_k) ** 2
        for value in G_k:
            square += value * value
        total += math.sqrt(square)
    return total


def descend(W, b, G, g, step, bias_step):
    W, b, G, g = _lists(W, b, G, g)
    for k in range(len(b)):
        for j in range(len(W[k])):
            W[k][j] += step * G[k][j]
        b[k] += bias_step * g[k]
    return np.array(W), np.array(b)


def online_pass(X, y, weight, order, W, b, step, bias_step, margin, average=False):
    """One pass of Algorithm 2.

    Returns W, b, the mistakes and the updates; with `average`, the means of W and b after each
    row in the place of W and b.
    """
    X, y, weight, W, b = _lists(X, y, weight, W, b)
    sum_W, sum_b = [[0.0] * len(w) for w in W], [0.0] * len(b)
    mistakes = updates = 0
    for i in np.asarray(order).tolist():
        s = scores(X[i], W, b)
        r = least(s)
        if y[i] * s[r] <= margin:
            for j, x_j in enumerate(X[i]):
                W[r][j] += step * y[i] * weight[i] * x_j
            b[r] += bias_step * y[i] * weight[i]
            mistakes += is_mistake(s[r], y[i])
            updates += 1
        for k in range(len(b)):
            sum_b[k] += b[k]
            for j in range(len(W[k])):
                sum_W[k][j] += W[k][j]
    if average:
        n = len(y)
        W = [[value / n for value in row] for row in sum_W]
        b = [value / n for value in sum_b]
    return np.array(W), np.array(b), mistakes, updates


def shuffle(n: int, seed: int) -> list[int]:
    """Fisher-Yates from the back, by the high half of each splitmix64 number."""
    order = list(range(n))
    state = seed
    for i in range(n - 1, 0, -1):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        z = z ^ (z >> 31)
        j = (z >> 32) * (i + 1) >> 32
        order[i], order[j] = order[j], order[i]
    return order


def algorithm_1(
    X, y, W, b, *, step=0.1, tol=50.0, max_iter=1000, margin=0.0, inner_steps=1, weight=None
):
    """The batch algorithm with our errata.

    Returns the last W and b, and for each iteration the criterion, the mistakes, the sum of
    gradient norms and the weight of the rows that count before it.
    """
    weight = np.ones(len(y)) if weight is None else weight
    history = []
    while True:
        G, g, totals = batch_block(X, y, weight, W, b, margin)
        history.append((totals[0], totals[1], gradient_norms(G, g), totals[2]))
        if history[-1][2] < tol or totals[2] == 0 or len(history) == max_iter:
            return W, b, np.array(history)
        sets = assign_block(X, W, b)
        W, b = descend(W, b, G, g, step, step)
        for _ in range(inner_steps - 1):
            G, g = frozen_block(X, y, weight, W, b, margin, sets)
            W, b = descend(W, b, G, g, step, step)


def algorithm_2(X, y, W, b, *, step=1.0, max_iter=300, margin=0.0):
    """The online algorithm in the given order; mistakes and updates of each pass."""
    weight, history = np.ones(len(y)), []
    for _ in range(max_iter):
        W, b, *counts = online_pass(X, y, weight, range(len(y)), W, b, step, step, margin)
        history.append(counts)
        if counts[1] == 0:
            break
    return W, b, np.array(history, dtype=float)


def log_sigmoid(z: float) -> float:
    """log(1 / (1 + exp(-z))), for z of any size."""
    return min(z, 0.0) - math.log1p(math.exp(-abs(z)))


def likelihood_block(X, y, weight, W, b):
    """The sets S_k, and for each of them the log-likelihood and the mistakes of its rows."""
    X, y, weight, W, b = _lists(X, y, weight, W, b)
    assigned, by_set = [], [[0.0, 0.0] for _ in b]
    for i, x in enumerate(X):
        s = scores(x, W, b)
        r = least(s)
        assigned.append(r)
        by_set[r][0] += weight[i] * log_sigmoid(y[i] * s[r])
        by_set[r][1] += weight[i] if is_mistake(s[r], y[i]) else 0.0
    return np.array(assigned), np.array(by_set)


def logistic_block(X, y, weight, W, b, assigned):
    """The log-likelihood with the sets S_k held fixed, and its gradient (G, g)."""
    X, y, weight, W, b, assigned = _lists(X, y, weight, W, b, assigned)
    total, G, g = 0.0, [[0.0] * len(w) for w in W], [0.0] * len(b)
    for i, x in enumerate(X):
        r = assigned[i]
        z = y[i] * scores(x, W, b)[r]
        total += weight[i] * log_sigmoid(z)
        slope = y[i] * weight[i] * math.exp(log_sigmoid(-z))
        for j, x_j in enumerate(x):
            G[r][j] += slope * x_j
        g[r] += slope
    return total, np.array(G), np.array(g)


def union_block(X, y, weight, W, b, ends, noise):
    """The log-likelihood of a noisy union of products of logistics, its slope in the noise, (G, g).

    The faces of piece m end at ends[m].
    """
    X, y, weight, W, b = _lists(X, y, weight, W, b)
    total, of_noise, G, g = 0.0, 0.0, [[0.0] * len(w) for w in W], [0.0] * len(b)
    pieces = [range(first, end) for first, end in zip([0, *ends], ends, strict=False)]
    for i, x in enumerate(X):
        s = scores(x, W, b)
        log_q = [sum(log_sigmoid(s[k]) for k in faces) for faces in pieces]
        outside = math.prod(-math.expm1(one) for one in log_q)
        # Of one piece the product is known to more digits than what it leaves.
        inside = math.exp(log_q[0]) if len(pieces) == 1 else 1.0 - outside
        side = inside if y[i] > 0 else outside
        p = (1.0 - noise) * side + noise * (1.0 - side)
        total += weight[i] * math.log(p)
        of_noise += weight[i] * (1.0 - 2.0 * side) / p
        for m, faces in enumerate(pieces):
            others = math.prod(-math.expm1(one) for j, one in enumerate(log_q) if j != m)
            for k in faces:
                tail = math.exp(log_q[m] + log_sigmoid(-s[k]))
                slope = y[i] * weight[i] * (1.0 - 2.0 * noise) * others * tail / p
                for j, x_j in enumerate(x):
                    G[k][j] += slope * x_j
                g[k] += slope
    return total, of_noise, np.array(G), np.array(g)


def hardened_block(X, target, weight, W, b, ends):
    """Minus the log-likelihood of h = max_m min_k score for shares inside, and its slope (G, g)."""
    X, target, weight, W, b = _lists(X, target, weight, W, b)
    total, G, g = 0.0, [[0.0] * len(w) for w in W], [0.0] * len(b)
    pieces = [range(first, end) for first, end in zip([0, *ends], ends, strict=False)]
    for i, x in enumerate(X):
        s = scores(x, W, b)
        least = [min(faces, key=lambda k: s[k]) for faces in pieces]
        k = max(least, key=lambda k: s[k])
        total -= weight[i] * (
            target[i] * log_sigmoid(s[k]) + (1.0 - target[i]) * log_sigmoid(-s[k])
        )
        slope = weight[i] * (math.exp(log_sigmoid(s[k])) - target[i])
        for j, x_j in enumerate(x):
            G[k][j] += slope * x_j
        g[k] += slope
    return total, np.array(G), np.array(g)


def noise(logit: float) -> float:
    """The share of wrong labels: from 1e-4 to a half."""
    return 1e-4 + (0.5 - 1e-4) * math.exp(log_sigmoid(logit))


def mixture_loss(X, y, weight, flat, K, penalty):
    """Minus the penalised mean log-likelihood at [w_1, b_1, ..., w_K, b_K, logit]; its slope."""
    weight, flat = _lists(weight, flat)
    size, logit = (len(flat) - 1) // K, flat[-1]
    theta = [flat[k * size : (k + 1) * size] for k in range(K)]
    W, b = [one[:-1] for one in theta], [one[-1] for one in theta]
    total, of_noise, G, g = union_block(X, y, weight, W, b, [K], noise(logit))
    n = 0.0
    for one in weight:
        n += one
    value, slope = -total / n, []
    for k in range(K):
        for j, w_j in enumerate(W[k]):
            value += penalty / 2 * w_j * w_j
            slope.append(penalty * w_j - float(G[k][j]) / n)
        slope.append(-float(g[k]) / n)
    share = math.exp(log_sigmoid(logit))
    slope.append(-of_noise * (0.5 - 1e-4) * share * (1.0 - share) / n)
    return value, np.array(slope)


def dot(a, b):
    total = 0.0
    for one, other in zip(a, b, strict=True):
        total += one * other
    return total


def descent_direction(g, pairs):
    """-H g of the pairs (s, y), H built by the update of BFGS from its usual first guess."""
    n = len(g)
    H = np.eye(n)
    if pairs:
        s, y = pairs[-1]
        H *= (s @ y) / (y @ y)
    for s, y in pairs:
        V = np.eye(n) - np.outer(y, s) / (s @ y)
        H = V.T @ H @ V + np.outer(s, s) / (s @ y)
    return -H @ g


def face_loss(columns, start, gain, weight, v, penalty):
    """Minus the penalised log-likelihood of start + gain * logistic(score), and its slope in v.

    ``columns`` are those of the face, one after another, and v their weights and the bias.
    """
    columns, start, gain, weight, v = _lists(columns, start, gain, weight, v)
    total, slope = 0.0, [0.0] * len(v)
    for i in range(len(start)):
        x = [column[i] for column in columns]
        s = math.exp(log_sigmoid(scores(x, [v[:-1]], [v[-1]])[0]))
        p = start[i] + gain[i] * s
        total -= weight[i] * math.log(p)
        for j, x_j in enumerate([*x, 1.0]):
            slope[j] -= weight[i] * gain[i] * s * (1.0 - s) * x_j / p
    for j, v_j in enumerate(v[:-1]):
        total += penalty / 2 * v_j * v_j
        slope[j] += penalty * v_j
    return total, np.array(slope)


def term_gains(columns, slope):
    """The gradient of each column squared, by its curvature, with the sign of the gradient."""
    columns, slope = _lists(columns, slope)
    found = []
    for column in columns:
        g, h = 0.0, 1e-12
        for x, s in zip(column, slope, strict=True):
            g += s * x
            h += abs(s) * x * x
        found.append(g * abs(g) / h)
    return np.array(found)


def swaps(n_own, n_columns, n_out):
    """Which columns a face may have with a new one, for one of the first n_out if there are any."""
    outs = range(n_out) if n_out else [None]
    news = range(n_own, n_columns)
    return [[*[j for j in range(n_own) if j != out], new] for out in outs for new in news]
