"""Likelihoods and their slopes against loops; SPLA's is logistic, the other a noisy product."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import naive
from kernel_cases import NO_WEIGHT, PLAIN, REAL, Case, every_kind, kinds_for, real
from polyceptron import kernels
from polyceptron.data.blocks import frozen
from polyceptron.kernels.likelihood import exp_minus

SHAPES = (
    REAL
    if PLAIN
    else [(1, 1, 1), (1, 20, 65), (2, 3, 64), (3, 10, 7), (4, 130, 65), (5, 3, 301), (9, 20, 8)]
)
sizes = pytest.mark.parametrize("size", [1.0, 1e3])


def scaled(K, d, n, size):
    case = real(K, d, n)
    return case._replace(W=size * case.W, b=size * case.b)


def either_weight(case):
    """What the kernel is given, and what it means."""
    return (case.weight, case.weight), (NO_WEIGHT, np.ones(len(case.y)))


def some_sets(case):
    return np.random.default_rng(0).integers(0, case.K, len(case.y)).astype(np.int32)


def likelihood(case, kind, weight):
    assigned, by_set = np.full(len(case.y), -1, np.int32), np.zeros((case.K, 2))
    kernels.likelihood_block(
        case.rows(kind), case.y, weight, *case.panels, case.K, assigned, by_set
    )
    return assigned, by_set


def logistic(case, kind, weight, assigned):
    G, g = case.zeros()
    value = kernels.logistic_block(case.rows(kind), case.y, weight, *case.panels, assigned, G, g)
    return value, G, g


def pieces_of(K):
    """Ends of the faces of one piece, and of several."""
    return [np.array(ends) for ends in ([K], [1, K], [1, K - 1, K])[: min(K, 3)]]


def union(case, kind, weight, ends, noise):
    G, g = case.zeros()
    rows = case.rows(kind)
    found = kernels.union_block(rows, case.y, weight, case.W, case.b, ends, noise, G, g)
    return (*found, G, g)


def hardened(case, kind, weight, ends):
    G, g = case.zeros()
    target = np.linspace(0, 1, len(case.y))
    total = kernels.hardened_block(case.rows(kind), target, weight, *case.panels, ends, G, g)
    return total, G, g


@sizes
@pytest.mark.parametrize(("K", "d", "n"), SHAPES)
def test_likelihood_block(K, d, n, size):
    case = scaled(K, d, n, size)
    for weight, weights in either_weight(case):
        expected = naive.likelihood_block(case.X, case.y, weights, case.W, case.b)
        for kind in kinds_for(K):
            found = likelihood(case, kind, weight)
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_allclose(found[1], expected[1], rtol=1e-11)


@sizes
@pytest.mark.parametrize(("K", "d", "n"), SHAPES)
def test_logistic_block(K, d, n, size):
    case = scaled(K, d, n, size)
    assigned = some_sets(case)
    for weight, weights in either_weight(case):
        expected = naive.logistic_block(case.X, case.y, weights, case.W, case.b, assigned)
        for kind in kinds_for(K):
            found = logistic(case, kind, weight, assigned)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("noise", "size"), [(1e-4, 1.0), (1e-4, 1e3), (0.06, 1e3), (0.4, 1.0)])
@pytest.mark.parametrize(("K", "d", "n"), [(1, 3, 41), (2, 5, 64), (5, 3, 130), (9, 6, 41)])
def test_union_block(K, d, n, noise, size):
    case = scaled(K, d, n, size)
    for weight, weights in either_weight(case):
        for ends in pieces_of(K):
            expected = naive.union_block(case.X, case.y, weights, case.W, case.b, ends, noise)
            for kind in every_kind(K):
                found = union(case, kind, weight, ends, noise)
                for one, other in zip(found, expected, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@sizes
@pytest.mark.parametrize("K", [1, 2, 5])
def test_hardened_block(K, size):
    case = scaled(K, 3, 41, size)
    target = np.linspace(0, 1, 41)
    for weight, weights in either_weight(case):
        for ends in pieces_of(K):
            expected = naive.hardened_block(case.X, target, weights, case.W, case.b, ends)
            for kind in kinds_for(K):
                for one, other in zip(hardened(case, kind, weight, ends), expected, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def test_exp_is_that_of_the_library():
    x = np.concatenate([np.linspace(-40, 40, 20_001), [0.0, -0.0, 1e-300, 5e-324]])
    found = [exp_minus(one, 40.0) for one in x]
    np.testing.assert_allclose(found, np.exp(-x), rtol=4 * np.finfo(float).eps, atol=0)
    found = [exp_minus(one, 40.0) for one in (1e3, -np.inf)]
    np.testing.assert_allclose(found, np.exp([-40.0, 40.0]), rtol=1e-15)


@sizes
@pytest.mark.parametrize(("K", "d", "n"), SHAPES)
def test_kinds_of_rows_agree_to_the_last_bit(K, d, n, size):
    case = scaled(K, d, n, size)
    first, *others = (
        [
            *likelihood(case, kind, case.weight),
            *logistic(case, kind, case.weight, some_sets(case)),
            *(one for ends in pieces_of(K) for one in union(case, kind, case.weight, ends, 0.06)),
            *(one for ends in pieces_of(K) for one in hardened(case, kind, case.weight, ends)),
        ]
        for kind in kinds_for(K)
    )
    for found in others:
        for one, other in zip(found, first, strict=True):
            np.testing.assert_array_equal(one, other)


def slopes(value, case, *more):
    """Of ``value(case, *more)`` in [W, b] and what else it takes, by differences."""

    def at(point):
        theta = point[: case.W.size + case.K].reshape(case.K, -1)
        moved = case._replace(W=theta[:, :-1].copy(), b=theta[:, -1].copy())
        return value(moved, *point[case.W.size + case.K :])

    return approx_fprime(np.append(np.column_stack([case.W, case.b]).ravel(), more), at)


@pytest.mark.parametrize("K", [1, 2, 5])
def test_gradients_are_those_of_the_values(K):
    case = real(K, 3, 60)
    assigned = naive.assign_block(case.X, case.W, case.b).astype(np.int32)
    value, G, g = logistic(case, "float64", case.weight, assigned)
    expected = slopes(lambda case: logistic(case, "float64", case.weight, assigned)[0], case)
    found = np.column_stack([G, g]).ravel()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    # Where no row changes hands, the true likelihood is the one of fixed sets.
    assert likelihood(case, "float64", case.weight)[1][:, 0].sum() == pytest.approx(
        value, rel=1e-13
    )
    for ends in pieces_of(K):
        _, of_noise, G, g = union(case, "float64", case.weight, ends, 0.1)
        expected = slopes(
            lambda case, noise, ends=ends: union(case, "float64", case.weight, ends, noise)[0],
            case,
            0.1,
        )
        found = np.append(np.column_stack([G, g]).ravel(), of_noise)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", kinds_for(1))
def test_large_scores_stay_finite(kind):
    """Not even log(0), and a right row far away still counts a little."""
    y, assigned = frozen(np.array([1, -1], np.int8)), np.zeros(2, np.int32)
    for score in (50.0, 800.0, 1e6, 1e300):
        case = Case(np.ones((2, 1)), y, NO_WEIGHT, np.array([[score]]), np.zeros(1))
        assert likelihood(case, kind, NO_WEIGHT)[1].tolist() == [[-score, 1]]
        value, G, g = logistic(case, kind, NO_WEIGHT, assigned)
        assert (value, G[0, 0], g[0]) == (-score, -1, -1)
    right = Case(np.ones((1, 1)), y[:1], NO_WEIGHT, np.array([[50.0]]), np.zeros(1))
    by_set = likelihood(right, kind, NO_WEIGHT)[1]
    assert by_set[0, 0] == pytest.approx(-np.exp(-50), rel=1e-12)
