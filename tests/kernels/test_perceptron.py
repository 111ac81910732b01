"""Batch gradients, pruning and the online pass against their loop-only versions."""

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
    NO_WEIGHT,
    Case,
    batch,
    check,
    every_kind,
    kinds_for,
    online,
    real,
    whole,
)
from polyceptron import kernels
from polyceptron.data.blocks import frozen, kernel_rows


@CASES
def test_batch_block(make, K, d, n):
    case = make(K, d, n)
    for margin, weight in [(0.0, NO_WEIGHT), (2.0, case.weight)]:
        weights = weight if len(weight) else np.ones(n)
        expected = naive.batch_block(case.X, case.y, weights, case.W, case.b, margin)
        for kind in kinds_for(K):
            found = batch(case, kind, weight, margin, NO_KEYS)
            for one, other in zip(found, expected, strict=True):
                check(one, other, make)


@CASES
def test_batch_block_makes_keys(make, K, d, n):
    case, margin, credit = make(K, d, n), 1.0, 0.125
    expected = naive.batch_block(case.X, case.y, np.ones(n), case.W, case.b, margin)
    bounds = naive.key_bounds(case.X, case.y, case.W, case.b, margin, credit)
    for kind in kinds_for(K):
        keys = np.full(n, np.nan, np.float32)
        found = batch(case, kind, NO_WEIGHT, margin, keys, np.inf, credit)
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
        found = batch(case, kind, NO_WEIGHT, margin, keys, threshold, credit)
        for one, other in zip(found, expected, strict=True):
            check(one, other, make)
        passed = np.setdiff1d(np.arange(n), seen)
        np.testing.assert_array_equal(keys[passed], before[passed])
        check_keys(keys[seen], np.maximum(bounds[seen], before[seen]), credit)


@CASES
def test_frozen_block(make, K, d, n):
    case, margin = make(K, d, n), 1.0
    assigned = np.random.default_rng(0).integers(0, K, n).astype(np.int32)
    expected = naive.frozen_block(case.X, case.y, case.weight, case.W, case.b, margin, assigned)
    for kind in every_kind(K):
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
        case.rows("float64"), case.y, NO_WEIGHT, *case.panels, 0.0, assigned, *found
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


@CASES
def test_online_pass(make, K, d, n):
    case = make(K, d, n)
    shuffled = np.random.default_rng(0).permutation(n)
    for weight, order, margin in [
        (NO_WEIGHT, NO_ROWS, 0.0),
        (case.weight, shuffled, 1.0),
    ]:
        expected = naive.online_pass(
            case.X, case.y, weight if len(weight) else np.ones(n),
            order if len(order) else range(n), case.W, case.b, 0.5, 0.25, margin,
        )  # fmt: skip
        for kind in kinds_for(K):
            found = online(case, kind, weight, order, *NO_SUMS, margin=margin)
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
            G, g, totals = batch(tied, kind, NO_WEIGHT, 0.0, NO_KEYS)
            assert totals[2] > 0
            others = np.arange(K) != first
            assert not G[others].any()
            assert not g[others].any()
            # One row that counts moves the first of the equals.
            one = Case(*(a[1:2] for a in tied[:3]), W, b)
            V, *_ = online(one, kind, one.weight, NO_ROWS, *NO_SUMS, margin=1e9)
            moved = (V != W).any(axis=1)
            assert moved[first] == one.X.any()
            assert not moved[others].any()


def test_no_rows():
    case = whole(4, 3, 7)
    for kind in kinds_for(4):
        rows, h = kernel_rows(KINDS[kind](case.X[:0])), np.empty(0)
        kernels.decide(rows, *case.panels, h)
        panel, bias = case.panels
        y, order = frozen(np.empty(0, np.int8)), NO_ROWS
        counts = kernels.online_pass(
            rows, y, NO_WEIGHT, order, panel, bias, 4, 0.5, 0.25, 0.0,
            *NO_SUMS, 0,
        )  # fmt: skip
        assert counts == (0, 0)
        np.testing.assert_array_equal(panel, case.panels[0])
