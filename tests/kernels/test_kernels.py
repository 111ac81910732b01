"""Every kernel against its loop-only version, and what the kernels promise about bits."""

import os
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from polyceptron import kernels
from polyceptron.data.blocks import frozen, kernel_rows
from polyceptron.kernels.scores import plane

KS = [1, 2, 4, 5, 9]
DS = [1, 3, 20, 130]
NS = [1, 7, 8, 64, 65, 1500]
SHAPES = [(K, d, n) for K in KS for d in DS for n in NS]
REAL = [(1, 20, 65), (2, 3, 1500), (4, 130, 64), (5, 20, 1500), (9, 1, 7)]
# test_compilation.py runs these tests without JIT too, on the plain Python bodies: small then.
PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
if PLAIN:
    SHAPES = REAL = [(1, 3, 8), (2, 1, 1), (4, 3, 65), (5, 20, 7), (9, 3, 64)]

NO_ROWS = np.empty(0, np.int64)
NO_FLOATS = np.empty(0)
NO_SUMS = np.zeros((0, 0))
INFINITE = np.float32(np.inf)


def with_int64_indices(X):
    rows = sp.csr_matrix(X)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


KINDS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "csr32": sp.csr_matrix,
    "csr64": with_int64_indices,
}


def kinds_for(K):
    """Indices of int64 need no vectors of their own: one width will do."""
    return [kind for kind in KINDS if kind != "csr64" or K > 1]


class Case(NamedTuple):
    """Some rows and hyperplanes; y and weight as the kernels take them."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    W: np.ndarray
    b: np.ndarray

    @property
    def K(self):  # noqa: N802 - as everywhere
        return len(self.b)

    @property
    def panels(self):
        return kernels.to_panels(self.W, self.b)

    def rows(self, kind):
        return kernel_rows(KINDS[kind](self.X))

    def zeros(self):
        return np.zeros(self.W.shape), np.zeros(self.K)


@cache
def whole(K, d, n):
    """Small whole numbers: scores are exact in any order of summation, and often tie."""
    rng = np.random.default_rng([K, d, n])
    X = rng.integers(-3, 4, (n, d)) * (rng.random((n, d)) < 0.5)
    X[:: max(1, n // 5)] = 0  # empty rows in CSR
    return Case(
        X.astype(float),
        frozen(rng.choice([-1, 1], n).astype(np.int8)),
        frozen(rng.integers(1, 4, n).astype(float)),
        rng.integers(-2, 3, (K, d)).astype(float),
        rng.integers(-2, 3, K).astype(float),
    )


@cache
def real(K, d, n):
    rng = np.random.default_rng([K, d, n, 1])
    X = rng.standard_normal((n, d)).astype(np.float32).astype(float)  # the same in float32
    X[rng.random((n, d)) < 0.3] = 0
    y = rng.choice([-1, 1], n).astype(np.int8)
    W, b = rng.standard_normal((K, d)), rng.standard_normal(K)
    return Case(X, frozen(y), frozen(rng.random(n) + 0.5), W, b)


CASES = pytest.mark.parametrize(
    ("make", "K", "d", "n"),
    [(whole, *shape) for shape in SHAPES] + [(real, *shape) for shape in REAL],
)


def check(found, expected, make):
    """Exactly equal where the arithmetic is exact, else but for rounding."""
    if make is whole:
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-11)


# --- the kernels ----------------------------------------------------------------------


@CASES
def test_decide(make, K, d, n):
    case = make(K, d, n)
    expected = naive.decide(case.X, case.W, case.b)
    for kind in kinds_for(K):
        h = np.full(n, np.nan)
        kernels.decide(case.rows(kind), *case.panels, h)
        check(h, expected, make)


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
    for kind in kinds_for(K):
        found = np.full(n, np.nan, np.float32)
        kernels.inverse_norms(case.rows(kind), found)
        assert (found <= expected).all()
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def batch(case, kind, weight, margin, keys, threshold=INFINITE, credit=0.0):
    """G, g and totals; `keys` change."""
    rows, (G, g), totals = case.rows(kind), case.zeros(), np.zeros(4)
    inverse_norm = np.empty(len(keys), np.float32)
    if len(keys):
        kernels.inverse_norms(rows, inverse_norm)
    kernels.batch_block(
        rows, case.y, weight, *case.panels, margin, G, g, totals,
        keys, inverse_norm, threshold, credit,
    )  # fmt: skip
    return G, g, totals


@CASES
def test_batch_block(make, K, d, n):
    case = make(K, d, n)
    for margin, weight in [(0.0, frozen(NO_FLOATS)), (2.0, case.weight)]:
        weights = weight if len(weight) else np.ones(n)
        expected = naive.batch_block(case.X, case.y, weights, case.W, case.b, margin)
        for kind in kinds_for(K):
            found = batch(case, kind, weight, margin, np.empty(0, np.float32))
            for one, other in zip(found, expected, strict=True):
                check(one, other, make)


@CASES
def test_batch_block_makes_keys(make, K, d, n):
    case, margin, credit = make(K, d, n), 1.0, 0.125
    expected = naive.batch_block(case.X, case.y, np.ones(n), case.W, case.b, margin)
    bounds = naive.key_bounds(case.X, case.y, case.W, case.b, margin, credit)
    for kind in kinds_for(K):
        keys = np.full(n, np.nan, np.float32)
        found = batch(case, kind, frozen(NO_FLOATS), margin, keys, INFINITE, credit)
        for one, other in zip(found, expected, strict=True):
            check(one, other, make)
        check_keys(keys, bounds, credit)


def check_keys(keys, bounds, credit):
    """Never more than the bound, and little less; rows that count must only stay open."""
    assert (keys <= np.maximum(bounds, credit)).all()
    np.testing.assert_allclose(keys, bounds, rtol=1e-6, atol=1e-6)


@CASES
def test_batch_block_passes_over_rows(make, K, d, n):
    case, margin, credit, threshold = make(K, d, n), 1.0, 0.125, np.float32(0.25)
    before = np.random.default_rng(n).choice(np.float32([-2, 0.25, 0.3, 5]), n)
    seen = naive.open_rows(before, 0.25)
    expected = naive.batch_block(case.X, case.y, np.ones(n), case.W, case.b, margin, seen)
    bounds = naive.key_bounds(case.X, case.y, case.W, case.b, margin, credit)
    for kind in kinds_for(K):
        keys = before.copy()
        found = batch(case, kind, frozen(NO_FLOATS), margin, keys, threshold, credit)
        for one, other in zip(found, expected, strict=True):
            check(one, other, make)
        passed = np.setdiff1d(np.arange(n), seen)
        np.testing.assert_array_equal(keys[passed], before[passed])
        check_keys(keys[seen], np.maximum(bounds[seen], before[seen]), credit)


@CASES
def test_assign_block(make, K, d, n):
    case = make(K, d, n)
    expected = naive.assign_block(case.X, case.W, case.b)
    for kind in kinds_for(K):
        found = np.full(n, -1, np.int32)
        kernels.assign_block(case.rows(kind), *case.panels, K, found)
        np.testing.assert_array_equal(found, expected)


@CASES
def test_frozen_block(make, K, d, n):
    case, margin = make(K, d, n), 1.0
    assigned = np.random.default_rng(0).integers(0, K, n).astype(np.int32)
    expected = naive.frozen_block(case.X, case.y, case.weight, case.W, case.b, margin, assigned)
    for kind in kinds_for(K):
        found = case.zeros()
        kernels.frozen_block(
            case.rows(kind), case.y, case.weight, *case.panels, margin, assigned, *found
        )
        for one, other in zip(found, expected, strict=True):
            check(one, other, make)


def test_frozen_block_without_weights():
    case = whole(4, 3, 65)
    assigned = naive.assign_block(case.X, case.W, case.b).astype(np.int32)
    expected = naive.frozen_block(case.X, case.y, np.ones(65), case.W, case.b, 0.0, assigned)
    found = case.zeros()
    kernels.frozen_block(
        case.rows("float64"), case.y, frozen(NO_FLOATS), *case.panels, 0.0, assigned, *found
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("bias_unit", [1.0, 0.25])
@pytest.mark.parametrize("K", KS)
def test_gradient_norms(K, bias_unit):
    case = real(K, 20, 8)
    expected = naive.gradient_norms(case.W, case.b, bias_unit)
    assert kernels.gradient_norms(case.W, case.b, bias_unit) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("K", KS)
def test_descend(K):
    case, other = whole(K, 20, 8), whole(K, 20, 7)
    expected = naive.descend(case.W, case.b, other.W, other.b, 0.5, 0.125)
    panel, bias = case.panels
    moved = kernels.descend(panel, bias, other.W, other.b, 0.5, 0.125)
    for found, exact in zip(kernels.from_panels(*moved, K), expected, strict=True):
        np.testing.assert_array_equal(found, exact)
    # Lanes past the last hyperplane stay out of the way, and what was given stays.
    assert (moved[1][K:] == np.finfo(float).max).all()
    np.testing.assert_array_equal(panel, case.panels[0])
    np.testing.assert_array_equal(bias, case.panels[1])


def online(case, kind, weight, order, U, u, seen=0, margin=1.0):
    panel, bias = case.panels
    counts = kernels.online_pass(
        case.rows(kind), case.y, weight, order, panel, bias, case.K, 0.5, 0.25, margin, U, u, seen
    )
    assert (bias[case.K :] == np.finfo(float).max).all()
    return *kernels.from_panels(panel, bias, case.K), *counts


@CASES
def test_online_pass(make, K, d, n):
    case = make(K, d, n)
    shuffled = np.random.default_rng(0).permutation(n)
    for weight, order, margin in [
        (frozen(NO_FLOATS), NO_ROWS, 0.0),
        (case.weight, shuffled, 1.0),
    ]:
        expected = naive.online_pass(
            case.X, case.y, weight if len(weight) else np.ones(n),
            order if len(order) else range(n), case.W, case.b, 0.5, 0.25, margin,
        )  # fmt: skip
        for kind in kinds_for(K):
            found = online(case, kind, weight, order, NO_SUMS, NO_FLOATS, margin=margin)
            for one, other in zip(found, expected, strict=True):
                check(one, other, make)


@CASES
def test_online_pass_keeps_the_average(make, K, d, n):
    case = make(K, d, n)
    mean_W, mean_b, *_ = naive.online_pass(
        case.X, case.y, case.weight, range(n), case.W, case.b, 0.5, 0.25, 1.0, average=True
    )
    for kind in kinds_for(K):
        U, u = case.zeros()
        W, b, *_ = online(case, kind, case.weight, NO_ROWS, U, u)
        np.testing.assert_allclose(W - U / n, mean_W, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(b - u / n, mean_b, rtol=1e-12, atol=1e-9)


def test_average_goes_on_over_calls():
    case = whole(4, 3, 65)
    U, u = case.zeros()
    W, b, *_ = online(case, "float64", case.weight, NO_ROWS, U, u)
    later = case._replace(W=W, b=b)
    W, b, *_ = online(later, "float64", case.weight, NO_ROWS, U, u, seen=65)
    twice = Case(*(np.concatenate([a, a]) for a in case[:3]), case.W, case.b)
    mean_W, mean_b, *_ = naive.online_pass(
        *twice[:3], range(130), case.W, case.b, 0.5, 0.25, 1.0, average=True
    )
    np.testing.assert_allclose(W - U / 130, mean_W, rtol=1e-13)
    np.testing.assert_allclose(b - u / 130, mean_b, rtol=1e-13)


@pytest.mark.parametrize("seed", [0, 1, 7 << 32, (5 << 32) + 3, 2**63 + 11, 2**64 - 1])
@pytest.mark.parametrize("n", [0, 1, 2, 65, 1000])
def test_shuffle(n, seed):
    order = np.full(n, -1, np.int64)
    with np.errstate(over="ignore"):  # plain Python would tell of what 64 bits are for
        kernels.shuffle(order, np.uint64(seed))
    assert order.tolist() == naive.shuffle(n, seed)
    assert sorted(order.tolist()) == list(range(n))


def test_every_permutation_is_as_likely():
    order, counts = np.empty(3, np.int64), {}
    with np.errstate(over="ignore"):
        for seed in range(6000):
            kernels.shuffle(order, np.uint64(seed))
            counts[tuple(order)] = counts.get(tuple(order), 0) + 1
    assert len(counts) == 6
    assert all(850 < count < 1150 for count in counts.values())  # 5 sigma about 1000


# --- what they promise ----------------------------------------------------------------


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
        np.testing.assert_array_equal(plane(panel, k), W[k])
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


@pytest.mark.parametrize("K", [2, 4, 5, 9])
def test_ties_go_to_the_least_hyperplane(K):
    """Equal hyperplanes: the first of them has all rows, gets every update, and no other moves."""
    case = whole(K, 3, 65)
    for first in range(K):
        W, b = np.tile(case.W[0], (K, 1)), np.full(K, case.b[0])
        b[:first] += 100
        tied = case._replace(W=W, b=b)
        for kind in kinds_for(K):
            assigned = np.full(65, -1, np.int32)
            kernels.assign_block(tied.rows(kind), *tied.panels, K, assigned)
            assert (assigned == first).all()
            G, g, totals = batch(tied, kind, frozen(NO_FLOATS), 0.0, np.empty(0, np.float32))
            assert totals[2] > 0
            others = np.arange(K) != first
            assert not G[others].any()
            assert not g[others].any()
            # One row that counts moves the first of the equals.
            one = Case(*(a[1:2] for a in tied[:3]), W, b)
            V, *_ = online(one, kind, one.weight, NO_ROWS, NO_SUMS, NO_FLOATS, margin=1e9)
            moved = (V != W).any(axis=1)
            assert moved[first] == one.X.any()
            assert not moved[others].any()


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
            *batch(case, kind, case.weight, 0.5, np.empty(0, np.float32)),
            *online(case, kind, case.weight, NO_ROWS, NO_SUMS, NO_FLOATS),
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
        kernels.decide(np.array([[1 + 2.0**-30]]), *kernels.to_panels(W, b), h)
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


def test_no_rows():
    case = whole(4, 3, 7)
    for kind in KINDS:
        rows, h = kernel_rows(KINDS[kind](case.X[:0])), np.empty(0)
        kernels.decide(rows, *case.panels, h)
        panel, bias = case.panels
        y, order = frozen(np.empty(0, np.int8)), NO_ROWS
        counts = kernels.online_pass(
            rows, y, frozen(NO_FLOATS), order, panel, bias, 4, 0.5, 0.25, 0.0,
            NO_SUMS, NO_FLOATS, 0,
        )  # fmt: skip
        assert counts == (0, 0)
        np.testing.assert_array_equal(panel, case.panels[0])
