"""Sums of an L-BFGS step in an order of their own: the bits are those of any machine."""

import numpy as np

from polyceptron.kernels.jit import compiled
from polyceptron.kernels.vector import fma


@compiled
def dot(a, b):
    """a . b, in eight sums of every eighth product."""
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    n = a.shape[0] - a.shape[0] % 8
    for i in range(0, n, 8):
        s0, s1 = fma(a[i], b[i], s0), fma(a[i + 1], b[i + 1], s1)
        s2, s3 = fma(a[i + 2], b[i + 2], s2), fma(a[i + 3], b[i + 3], s3)
        s4, s5 = fma(a[i + 4], b[i + 4], s4), fma(a[i + 5], b[i + 5], s5)
        s6, s7 = fma(a[i + 6], b[i + 6], s6), fma(a[i + 7], b[i + 7], s7)
    for i in range(n, a.shape[0]):
        s0 = fma(a[i], b[i], s0)
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@compiled
def add_scaled(x, t, d, out):
    """out = x + t d."""
    for i in range(x.shape[0]):
        out[i] = fma(t, d[i], x[i])


@compiled
def descent_direction(g, S, Y, n, out):
    """-H g into ``out``, with H of the last steps S and changes Y of the slope, n in all so far.

    Pair number i is in row i modulo the number of rows.
    """
    m = S.shape[0]
    alpha = np.empty(m)
    for i in range(g.shape[0]):
        out[i] = -g[i]
    last = n - 1
    for i in range(last, max(n - m, 0) - 1, -1):
        s, y = S[i % m], Y[i % m]
        alpha[i % m] = dot(s, out) / dot(s, y)
        add_scaled(out, -alpha[i % m], y, out)
    if n > 0:
        s, y = S[last % m], Y[last % m]
        scale = dot(s, y) / dot(y, y)
        for i in range(out.shape[0]):
            out[i] *= scale
    for i in range(max(n - m, 0), n):
        s, y = S[i % m], Y[i % m]
        add_scaled(out, alpha[i % m] - dot(y, out) / dot(s, y), s, out)
