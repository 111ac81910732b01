"""SPLA's likelihood of a block and its slope: ``P(y | x) = 1 / (1 + exp(-y h(x)))``."""

import numpy as np

from polyceptron.kernels.emit import kernel
from polyceptron.kernels.scores import add_row, first_equal, score_four


@kernel
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


@kernel
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
