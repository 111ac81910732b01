"""Likelihoods of a block and their slopes.

SPLA's is logistic: ``P(y | x) = 1 / (1 + exp(-y h(x)))``. That of Polyceptron's refinement is a
noisy product: ``P(inside | x) = noise + (1 - 2 noise) prod_k 1 / (1 + exp(-score_k))``.
"""

import numpy as np

from polyceptron.kernels.jit import compiled
from polyceptron.kernels.scores import add_row, first_equal, score_four


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
def product_block(X, y, weight, panel, bias, K, noise, G, g):
    """Log-likelihood of a block, and its slope in `noise`; that in [w_k, b_k] is added to G, g."""
    S, h = np.empty((4, bias.shape[0])), np.empty(4)
    tail = np.empty(K)
    n = y.shape[0]
    total = 0.0
    of_noise = 0.0
    for i in range(0, n, 4):
        for t in range(score_four(X, i, n, panel, bias, S, h)):
            log_q = 0.0
            for k in range(K):
                small = np.exp(-abs(S[t, k]))  # never overflows
                log_q += min(S[t, k], 0.0) - np.log1p(small)
                tail[k] = (small if S[t, k] > 0 else 1.0) / (1.0 + small)
            q = np.exp(log_q)
            sign = y[i + t]
            side = q if sign > 0 else -np.expm1(log_q)
            p = noise + (1.0 - 2.0 * noise) * side
            w = weight[i + t] if weight.shape[0] > 0 else 1.0
            total += w * np.log(p)
            of_noise += w * (1.0 - 2.0 * side) / p
            c = sign * w * (1.0 - 2.0 * noise) * q / p
            for k in range(K):
                add_row(X, i + t, c * tail[k], G[k])
                g[k] += c * tail[k]
    return total, of_noise
