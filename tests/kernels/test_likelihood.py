"""The logistic likelihood of SPLA and its slope against loops."""

import numpy as np
import pytest

import naive
from kernel_cases import (
    NO_WEIGHT,
    PLAIN,
    REAL,
    Case,
    either_weight,
    kinds_for,
    real,
    scaled,
    slopes,
)
from polyceptron import kernels
from polyceptron.data.blocks import frozen

SHAPES = (
    REAL
    if PLAIN
    else [(1, 1, 1), (1, 20, 65), (2, 3, 64), (3, 10, 7), (4, 130, 65), (5, 3, 301), (9, 20, 8)]
)
sizes = pytest.mark.parametrize("size", [1.0, 1e3])


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


@sizes
@pytest.mark.parametrize(("K", "d", "n"), SHAPES)
def test_kinds_of_rows_agree_to_the_last_bit(K, d, n, size):
    case = scaled(K, d, n, size)
    first, *others = (
        [
            *likelihood(case, kind, case.weight),
            *logistic(case, kind, case.weight, some_sets(case)),
        ]
        for kind in kinds_for(K)
    )
    for found in others:
        for one, other in zip(found, first, strict=True):
            np.testing.assert_array_equal(one, other)


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
