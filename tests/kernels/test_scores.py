"""Panels, and the kernels that only score: against loops, and what they promise about bits."""

import numpy as np
import pytest

import naive
from kernel_cases import (
    CASES,
    KINDS,
    KS,
    NO_KEYS,
    NO_ROWS,
    NO_SUMS,
    PLAIN,
    Case,
    batch,
    check,
    every_kind,
    kinds_for,
    online,
    real,
)
from polyceptron import kernels
from polyceptron.data.blocks import frozen, kernel_rows


@CASES
def test_decide(make, K, d, n):
    case = make(K, d, n)
    expected = naive.decide(case.X, case.W, case.b)
    for kind in every_kind(K):
        h = np.full(n, np.nan)
        kernels.decide(case.rows(kind), *case.panels, h)
        check(h, expected, make)


@pytest.mark.parametrize("K", [1, 4, 5])
@pytest.mark.parametrize("row", [0, 23, 24, 48, 50])
@pytest.mark.parametrize("kind", ["float64", "csr32"])
def test_decide_notices_overflow(K, row, kind):
    """Also of a hyperplane that is not the least, in a tile as in the rows that it leaves."""
    X, W, b = np.ones((51, 3)), np.ones((K, 3)), np.zeros(K)
    panels, h = kernels.to_panels(W, b), np.empty(51)
    assert kernels.decide(kernel_rows(KINDS[kind](X)), *panels, h)
    W[-1], X[row] = 1e200, 1e200
    with np.errstate(all="ignore"):  # where nothing is compiled
        assert not kernels.decide(kernel_rows(KINDS[kind](X)), *kernels.to_panels(W, b), h)
    assert h[row] == (np.inf if K == 1 else 3e200)


@CASES
def test_margins(make, K, d, n):
    case = make(K, d, n)
    expected = naive.margins(case.X, case.W, case.b)
    panel, bias = case.panels
    for kind in kinds_for(K):
        scores = np.full((n, len(bias)), np.nan)
        kernels.margins(case.rows(kind), panel, bias, scores)
        check(scores[:, :K], expected, make)
        assert (scores[:, K:] == np.finfo(float).max).all()


@CASES
def test_inverse_norms(make, K, d, n):
    case = make(K, d, n)
    expected = naive.inverse_norms(case.X)
    for kind in every_kind(K):
        found = np.full(n, np.nan, np.float32)
        kernels.inverse_norms(case.rows(kind), found)
        assert (found <= expected).all()
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@CASES
def test_assign_block(make, K, d, n):
    case = make(K, d, n)
    expected = naive.assign_block(case.X, case.W, case.b)
    for kind in kinds_for(K):
        found = np.full(n, -1, np.int32)
        kernels.assign_block(case.rows(kind), *case.panels, K, found)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("d", [1, 3, 20])
def test_panels_round_trip(K, d):
    rng = np.random.default_rng(K)
    W, b = rng.standard_normal((K, d)), rng.standard_normal(K)
    panel, bias = kernels.to_panels(W, b)
    V, c = kernels.from_panels(panel, bias, K)
    np.testing.assert_array_equal(V, W)
    np.testing.assert_array_equal(c, b)
    for k in range(K):
        w = panel[k] if K == 1 else panel[k // 4, :, k % 4]
        np.testing.assert_array_equal(w, W[k])
    for copy in (panel, bias, V, c):  # nothing is shared
        copy[:] = 7
    assert not (W == 7).any()
    assert not (b == 7).any()


def test_panels_of_a_transposed_array():
    W = np.arange(15.0).reshape(3, 5).T
    panel, bias = kernels.to_panels(W, np.zeros(5))
    np.testing.assert_array_equal(kernels.from_panels(panel, bias, 5)[0], W)


@pytest.mark.parametrize("K", KS)
def test_padded_lanes_never_win(K):
    """Not even where every real score is as large as scores get."""
    case = Case(np.ones((9, 3)), None, None, np.full((K, 3), 1e307), np.full(K, 1e307))
    for kind in kinds_for(K):
        h, assigned = np.empty(9), np.full(9, -1, np.int32)
        kernels.decide(case.rows(kind), *case.panels, h)
        kernels.assign_block(case.rows(kind), *case.panels, K, assigned)
        assert (h == 4e307).all()
        assert (assigned == 0).all()


@pytest.mark.parametrize("K", [1, 5])
def test_dense_and_sparse_rows_agree_to_the_last_bit(K):
    case = real(K, 130, 65)
    expected = None
    for kind in kinds_for(K):
        h, scores = np.empty(65), np.empty((65, len(case.panels[1])))
        kernels.decide(case.rows(kind), *case.panels, h)
        kernels.margins(case.rows(kind), *case.panels, scores)
        np.testing.assert_array_equal(h, scores.min(axis=1))
        found = [
            h,
            scores,
            *batch(case, kind, case.weight, 0.5, NO_KEYS),
            *online(case, kind, case.weight, NO_ROWS, *NO_SUMS),
        ]
        expected = expected or found
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", ["float64", "float32", "csr32"])
@pytest.mark.parametrize("K", [1, 5])
def test_a_score_does_not_depend_on_the_company(K, kind):
    case = real(K, 20, 1500)
    whole_h = np.empty(1500)
    kernels.decide(case.rows(kind), *case.panels, whole_h)
    rng = np.random.default_rng(0)
    order = rng.permutation(1500)
    h = np.empty(1500)
    kernels.decide(kernel_rows(KINDS[kind](case.X[order])), *case.panels, h)
    np.testing.assert_array_equal(h, whole_h[order])
    for size in [1, 3, 8, 13, 500]:
        for start in rng.choice(1500 - size, 5):
            part, h = KINDS[kind](case.X[start : start + size]), np.empty(size)
            kernels.decide(kernel_rows(part), *case.panels, h)
            np.testing.assert_array_equal(h, whole_h[start : start + size])


def test_scores_are_fused():
    """b + x w rounds once: 1 - (1 + 2**-30)(1 - 2**-30) is 2**-60, not 0."""
    h = np.empty(1)
    for K in (1, 2):
        W, b = np.full((K, 1), -(1 - 2.0**-30)), np.ones(K)
        kernels.decide(frozen(np.array([[1 + 2.0**-30]])), *kernels.to_panels(W, b), h)
        assert h[0] == (0.0 if PLAIN else 2.0**-60)


def test_empty_sparse_rows():
    """Rows without entries score the biases, in the middle and at both ends."""
    X = np.zeros((13, 5))
    X[3], X[7] = 1, -2
    case = Case(X, None, None, np.ones((2, 5)), np.array([1.0, 3.0]))
    h = np.empty(13)
    kernels.decide(case.rows("csr32"), *case.panels, h)
    expected = np.ones(13)
    expected[3], expected[7] = 6, -9
    np.testing.assert_array_equal(h, expected)
