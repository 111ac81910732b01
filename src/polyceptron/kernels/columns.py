"""Columns of dense rows: their ends, their moments, a map of them."""

import numpy as np

from polyceptron.kernels.emit import kernel


@kernel
def column_ends(X, least, greatest):
    """Widen the range of each column to these dense rows; the first row not finite, or -1."""
    bad = -1
    for i in range(X.shape[0]):
        n_bad = 0
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            least[j] = min(least[j], x)
            greatest[j] = max(greatest[j], x)
            n_bad += 0 if abs(x) < np.inf else 1
        if n_bad and bad < 0:
            bad = i
    return bad


@kernel
def column_moments(X, weight, unit, mean, squares):
    """Weighted mean of ``unit * x`` over dense rows, and the sum of squares about it.

    Returns the weight of the rows.
    """
    n, d = X.shape
    total = 0.0
    for i in range(n):
        w = weight[i] if weight.shape[0] > 0 else 1.0
        total += w
        for j in range(d):
            mean[j] += w * (np.float64(X[i, j]) * unit[j])
    for j in range(d):
        mean[j] /= total
    for i in range(n):
        w = weight[i] if weight.shape[0] > 0 else 1.0
        for j in range(d):
            off = np.float64(X[i, j]) * unit[j] - mean[j]
            squares[j] += w * off * off
    return total


@kernel
def map_columns(X, scale, shift, out):
    """``out = X * scale + shift`` by columns, rounded twice in float64; out may be X itself."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[i, j] = np.float64(X[i, j]) * scale[j] + shift[j]
