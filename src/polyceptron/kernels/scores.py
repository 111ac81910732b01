"""The layout of hyperplanes, the primitives that read rows, and the scores themselves.

**One arithmetic.** Scores come from :func:`score_rows` in every kernel, so
training, pruned training, online passes and prediction agree to the last bit.
A score is ``b_k`` plus the products in column order, each step one fused
multiply-add, so dense and CSR rows agree as well. Each primitive has a plain Python
body beside the compiled one; that is what runs under ``NUMBA_DISABLE_JIT=1``.

**Layout.** Hyperplanes travel as *panels*: ``panel[p, j, l]`` is coefficient
``j`` of hyperplane ``4 p + l`` (see :func:`to_panels`). Lanes past the last
hyperplane have zero weights and the largest bias, so they never are the minimum.
A single hyperplane is the two-dimensional ``panel[0, j]``: the number of
dimensions tells the compiler how wide its vectors are.
"""

import numpy as np

from polyceptron.kernels.emit import emitted, kernel
from polyceptron.kernels.vector import LANES, dense_tile, sparse_tile
from polyceptron.utils.types import Floats


def to_panels(W: Floats, b: Floats, is_wide: bool = False) -> tuple[Floats, Floats]:
    """Arrange (K, d) hyperplanes and their biases as panels of four; a copy.

    One hyperplane has no lanes beside it unless it is to be ``is_wide``, where kernels are not
    worth compiling for one.
    """
    K, d = W.shape
    if K == 1 and not is_wide:
        return np.array(W, order="C"), np.array(b)
    n_panels = -(-K // LANES)
    padded = np.zeros((n_panels * LANES, d))
    padded[:K] = W
    bias = np.full(n_panels * LANES, np.finfo(np.float64).max)
    bias[:K] = b
    panel = padded.reshape(n_panels, LANES, d).transpose(0, 2, 1)
    return np.ascontiguousarray(panel), bias


def from_panels(panel: Floats, bias: Floats, K: int) -> tuple[Floats, Floats]:
    """Undo :func:`to_panels`; a copy."""
    if panel.ndim == 2:
        return panel.copy(), bias.copy()
    W = panel.transpose(0, 2, 1).reshape(-1, panel.shape[1])[:K]
    return np.array(W, order="C"), bias[:K].copy()


@emitted
def plane(panel, k):
    """Weights of hyperplane k: a view."""
    return panel[k] if panel.ndim == 2 else panel[k // LANES, :, k % LANES]


@emitted
def score_rows(X, rows, panel, bias, S, h, at):
    """Scores of these rows into ``S[at:]`` and the least of each row into ``h[at:]``."""
    if isinstance(X, tuple):
        sparse_tile(X[0], X[1], X[2], rows, panel, bias, S, h, at)
    else:
        dense_tile(X, rows, panel, bias, S, h, at)


@emitted
def score_four(X, i, n, panel, bias, S, h):
    """Score the next four rows, or those that n leaves, into S and h; how many they are."""
    z = n - 1
    score_rows(X, (i, min(i + 1, z), min(i + 2, z), min(i + 3, z)), panel, bias, S, h, 0)
    return min(4, n - i)


@emitted
def add_row(X, i, factor, out):
    """out += factor * x_i."""
    if isinstance(X, tuple):
        data, indices, indptr = X
        for j in range(indptr[i], indptr[i + 1]):
            out[indices[j]] += factor * data[j]
    else:
        for j in range(X.shape[1]):
            out[j] += factor * X[i, j]


@emitted
def row_values(X, i):
    """What is stored of row i: a view."""
    return X[0][X[2][i] : X[2][i + 1]] if isinstance(X, tuple) else X[i]


@emitted
def first_equal(S, t, least, K):
    """Least k with S[t, k] == least: ties go to the first hyperplane.

    Without a branch: processors cannot guess it, and a wrong guess costs more than the search.
    """
    found = K - 1
    for k in range(K - 2, -1, -1):
        found = k if S[t, k] == least else found
    return found


@emitted
def eight_from(i):
    """Eight rows in a row."""
    return i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7


@emitted
def score_neighbours(X, start, n, panel, bias, S, h):
    """Score rows from start on, 24 at a time, into S and h; how many there were.

    Sparse rows are not: their ends would have to be known for all.
    """
    if isinstance(X, tuple):
        return 0
    whole = n // 24 * 24
    for t in range(0, whole, 24):
        i = start + t
        score_rows(X, eight_from(i) + eight_from(i + 8) + eight_from(i + 16), panel, bias, S, h, t)
    return whole


@kernel
def decide(X, panel, bias, h):
    """h[i] = min_k score of row i. True if no score overflowed on the way."""
    n = h.shape[0]
    probe, least = np.zeros(8), np.empty(4)
    for i in range(score_neighbours(X, 0, n, panel, bias, probe, h), n, 4):
        for t in range(score_four(X, i, n, panel, bias, probe, least)):
            h[i + t] = least[t]
    total = 0.0
    for one in probe:
        total += one
    return total == 0.0


@kernel
def margins(X, panel, bias, scores):
    """scores[i, k] of every row; as many columns as the panels have lanes."""
    n = scores.shape[0]
    S, h, least = np.empty((4, bias.shape[0])), np.empty(4), np.empty(n)
    for i in range(score_neighbours(X, 0, n, panel, bias, scores, least), n, 4):
        for t in range(score_four(X, i, n, panel, bias, S, h)):
            for k in range(S.shape[1]):
                scores[i + t, k] = S[t, k]


@kernel
def inverse_norms(X, out):
    """out[i] <= 1 / |[x_i, 1]| in float32, rounded towards zero."""
    for i in range(out.shape[0]):
        square = 1.0
        for x in row_values(X, i):
            square += np.float64(x) * x
        inverse = (1.0 - 2e-7) / np.sqrt(square)
        out[i] = np.float32(inverse) if inverse > 2e-38 else np.float32(0.0)


@kernel
def assign_block(X, panel, bias, K, assigned):
    """assigned[i] = argmin_k of row i: the sets S_k."""
    S, h = np.empty((4, bias.shape[0])), np.empty(4)
    n = assigned.shape[0]
    for i in range(0, n, 4):
        for t in range(score_four(X, i, n, panel, bias, S, h)):
            assigned[i + t] = first_equal(S, t, h[t], K)
