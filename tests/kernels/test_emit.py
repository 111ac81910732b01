"""The compiler of kernels against Python, on what kernels write."""

# ruff: noqa: ARG001, F823, F841, PLW0120, RET502, RET503 - what kernels may not have

import importlib

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
        is_compiled = hasattr(compiled_sums, "source")  # if not, float32 stays what it is
        np.testing.assert_allclose(found, expected, rtol=1e-15 if is_compiled else 1e-6)


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


# --- what is not known is refused, and what is known is as in Python ------------------------------


def last(x, unused):
    return x[-3:].shape[0]


def shifts(i, unused):
    return (i >> 1) + (i // 4) * 10 + (i % -3) * 100


def of_bools(i, unused):
    return min(i > 0, i > 5), max(i > 0, i > 5)


def of_uint64(i, unused):
    return max(np.uint64(i), np.uint64(1)) > np.uint64(7), np.uint64(2.0**63 + 2048.0) > np.uint64(
        i
    )


def once(unused, x):
    x[int(next_of(x))] += 1.0
    x[int(next_of(x))] -= 3.0
    return x[0]


@emitted
def next_of(x):
    x[0] += 1.0
    return x[0]


@pytest.mark.parametrize(
    ("function", "one"),
    [(last, np.ones(2)), (last, np.ones(5)), (shifts, -9), (shifts, 9), (of_bools, 3),
     (of_uint64, 2**62), (once, 0)],
)  # fmt: skip
def test_it_means_what_python_means(function, one):
    x, same = np.zeros(5), np.zeros(5)
    expected = 2.0 if function is once else function(one, same)
    assert kernel(function)(one, x) == expected
    np.testing.assert_array_equal(x, [2, 1, -3, 0, 0] if function is once else same)


def divided(a, b, out):
    out[0], out[1], out[2], out[3] = a // b, a % b, a // -1, a % -1
    return out[: 4 * b].reshape((b, -1)).shape[0] if b == 0 else 1


def test_division_by_zero_stops_no_process():
    if hasattr(kernel(divided), "source"):
        divide, out = kernel(divided), np.zeros(4, np.int64)
        for a, b in [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, -1), (7, 1), (-(2**62), -1)]:
            assert divide(a, b, out) == 1
            assert out.tolist() == [a // b, a % b, -a, 0]
        assert divide(7, 0, out) == 0
        assert out.tolist() == [0, 0, -7, 0]
        divide(-(2**63), -1, out)
        assert out.tolist() == [-(2**63), 0, -(2**63), 0]


def widened(n, unused):
    total, other = 0, n > 1
    for _ in range(n):
        total += 0.5
    other = other + 1
    return total, other


def test_variables_that_become_floats():
    assert kernel(widened)(3, 0) == (1.5, 2)


@emitted
def calls_itself(i):
    return 1 if i < 1 else calls_itself(i - 1)


def recursive(x, i):
    return calls_itself(i)


def step_of_a_slice(x, i):
    return x[::2].shape[0]


def for_else(x, i):
    for k in range(i):
        i = k
    else:
        i = 7
    return i


def while_else(x, i):
    while i < 0:
        i += 1
    else:
        i = 7
    return i


def argument_with_a_name(x, i):
    return np.zeros(i, dtype=np.int64)[0]


def full_of_another_type(x, i):
    return np.full(i, 0, np.float64)[0]


def plus(x, i):
    return +i


def inverted(x, i):
    return ~i


def minus_of_a_bool(x, i):
    return -(i > 0)


def rest_of_uint64(x, i):
    return np.uint64(i) % np.uint64(10)


def signs_mixed(x, i):
    return np.uint64(1) > i


def shapes_compared(x, i):
    return x.shape == (i,)


def array_compared(x, i):
    return 1 if x == 0 else 2


def truth_of_an_array(x, i):
    return 1 if x else 2


def asked_for_a_type(x, i):
    return isinstance(i, int)


def value_of_or(x, i):
    return i or 3


def array_into_array(x, i):
    x[1:] = x[:-1]


def read_before(x, i):
    for t in range(i):
        if t > 0:
            i += sums  # a global of this name is another
        sums = t
    return i


def range_of_a_float(x, i):
    for k in range(x[0]):
        i = k
    return i


def index_is_a_float(x, i):
    return x[x[0]]


def other_shape(x, i):
    return x.reshape((2, 3))[0, 0]


def reshaped_strides(x, i):
    return x.reshape((i, -1)).reshape((i, -1))[0, 0]


def cube(x, i):
    if i**3:
        return 1
    return 2


def too_few(x, i):
    a, b = (1, 2, 3)
    return a + b


def returned_at_times(x, i):
    if i > 0:
        return 1


def nothing_at_times(x, i):
    if i > 0:
        return
    return 1


def test_a_source_that_has_changed_is_not_compiled(tmp_path, monkeypatch):
    """As where a package is upgraded while a process runs: its lines are those of others now."""
    before = "from polyceptron.kernels.emit import kernel\n"
    before += "@kernel\ndef first(x):\n    return x + 1\n"
    file = tmp_path / "changed_module.py"
    file.write_text(before)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("changed_module")
    if hasattr(module.first, "source"):
        for after in (before.replace("first", "other"), before.replace("+ 1", "+ 2"), ""):
            file.write_text(after)
            with pytest.raises(Exception, match="cannot compile `first`: the file is not what"):
                module.first(1)
    file.write_text(before)
    assert module.first(1) == 2


def written(x, i):
    x[i] = 3.0


def added(x, i):
    x[:][i] += 3.0


def filled(x, i):
    x[i:] = 3.0


def written_to_either(x, i):
    y = np.zeros(4)
    z = x if i > 0 else y
    z[i] = 3.0


@kernel
def read_of_either(x, i):
    y = np.full(4, 7.0)
    z = y if i > 2 else x
    y[3] = 8.0
    return z[i]


def test_read_only_or_not():
    x = np.arange(4.0)
    for _ in range(2):
        assert (read_of_either(x, 2), read_of_either(x, 3)) == (2.0, 8.0)
        x.flags.writeable = False


@pytest.mark.parametrize("function", [written, added, filled, written_to_either])
def test_read_only_arrays_are_not_written(function):
    x = np.zeros(4)
    kernel(function)(x, 2)
    assert x[2] == 3.0
    x.flags.writeable = False
    with pytest.raises(Exception, match="read-only"):
        kernel(function)(x[1:], 2)
    assert x[3] == (3.0 if function is filled else 0.0)


def make(step_of):
    def around(x, i):
        return i * step_of

    return around


@pytest.mark.parametrize(
    "function",
    [step_of_a_slice, for_else, while_else, argument_with_a_name, full_of_another_type, plus,
     inverted, minus_of_a_bool, rest_of_uint64, signs_mixed, shapes_compared, array_compared,
     truth_of_an_array, asked_for_a_type, value_of_or, array_into_array, read_before,
     range_of_a_float, index_is_a_float, other_shape, reshaped_strides, cube, too_few, recursive,
     returned_at_times, nothing_at_times, make(2)],
)  # fmt: skip
def test_refused(function):
    """Never another meaning than Python's: what the compiler does not know, it says."""
    compiled_function = kernel(function)
    if hasattr(compiled_function, "source"):
        with pytest.raises(Exception, match=r"test_emit.py:\d+: cannot compile `"):
            compiled_function(np.arange(6.0), 2)
