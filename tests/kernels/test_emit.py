"""The compiler of kernels against Python, on what kernels write."""

import numpy as np
import pytest

from polyceptron.kernels.emit import emitted, kernel


@emitted
def step_of(X, i):
    if isinstance(X, tuple):
        return X[0][i] * 2.0
    return X[i]


def sums(X, n, out):
    """Loops, branches, early returns, chains and whatever else kernels use."""
    total, kept = 0, np.full(3, -1)
    work = np.zeros((3, 4))
    work[1] = 2.5
    work[:, 2] = 7.0
    for i in range(n - 1, -1, -1):
        if i % 5 == 3:
            continue
        if i == 1 or (n > 100 and work[0, 0] > 1.0):
            break
        total += step_of(X, i) if -1 < i < n else 0
    k = 0
    while k < 3 and kept[k] < 0:
        kept[k] = (k - 7) // 2
        k += 1
    out[0], out[1], out[2] = total, kept[2] + work[2, 2], max(-n % 4, k)
    for w in work[1, 1:]:
        out[3] += w
    out[4:][: n + 9] = 1.0 / (1.0 + abs(min(-total, 3.5)))
    if n > 5:
        return n, True
    return k, not total > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
@pytest.mark.parametrize("n", [0, 1, 4, 9])
def test_as_python(n, dtype):
    x = np.arange(10).astype(dtype) - dtype(2)
    plain = dict(
        sums.__globals__, step_of=lambda X, i: X[0][i] * 2.0 if isinstance(X, tuple) else X[i]
    )
    python = type(sums)(sums.__code__, plain)
    wide = x.astype(float)  # as kernels read them
    for rows, same in ((x, wide), ((x, x), (wide, wide))):
        expected, found = np.zeros(8), np.zeros(8)
        assert compiled_sums(rows, n, found) == python(same, n, expected)
        np.testing.assert_allclose(found, expected, rtol=1e-15)


compiled_sums = kernel(sums)


def test_slices_end_where_the_array_does():
    out = np.zeros(3)
    assert lengths(np.empty(0), out) == 0
    np.testing.assert_array_equal(out, [0, 2, 0])


@kernel
def lengths(empty, out):
    out[0] = empty[64:128].shape[0]
    out[1] = out[1:70].shape[0]
    out[2] = out[2:1].shape[0]
    return empty.shape[0]


def test_what_is_not_known_is_named():
    @kernel
    def bad(x):
        return x @ x

    if hasattr(bad, "source"):  # not where nothing is compiled
        with pytest.raises(Exception, match=r"test_emit.py:\d+.*x @ x"):
            bad(np.ones(3))
