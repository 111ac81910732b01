"""Ends, moments, a map of columns and a digest of arrays."""

import numpy as np
import pytest

from polyceptron import kernels
from polyceptron.data.blocks import frozen

DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def dense(dtype, n=65, d=3):
    return frozen(np.random.default_rng(0).standard_normal((n, d)).astype(dtype))


@DTYPES
def test_column_ends(dtype):
    X = dense(dtype)
    least, greatest = np.full(3, np.inf), np.array([-np.inf, 1e6, -np.inf])
    assert kernels.column_ends(X, least, greatest) == -1
    np.testing.assert_array_equal(least, X.min(axis=0))
    np.testing.assert_array_equal(greatest[[0, 2]], X.max(axis=0)[[0, 2]])
    assert greatest[1] == 1e6  # a range only widens


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@DTYPES
def test_column_ends_name_the_first_row_not_finite(dtype, value):
    X = dense(dtype).copy()
    X[[5, 9], [2, 0]] = value
    assert kernels.column_ends(frozen(X), np.zeros(3), np.zeros(3)) == 5


@DTYPES
def test_column_moments(dtype):
    X, unit = dense(dtype), np.array([1.0, 0.5, 4.0])
    scaled = X.astype(float) * unit
    for weight in (frozen(np.empty(0)), frozen(np.random.default_rng(1).random(65))):
        weights = weight if len(weight) else np.ones(65)
        mean, squares = np.zeros(3), np.zeros(3)
        total = kernels.column_moments(X, weight, unit, mean, squares)
        assert total == pytest.approx(weights.sum(), rel=1e-14)
        expected = np.average(scaled, axis=0, weights=weights)
        np.testing.assert_allclose(mean, expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(squares, weights @ (scaled - expected) ** 2, rtol=1e-12)


@DTYPES
def test_map_columns(dtype):
    X, scale, shift = dense(dtype), np.array([1.0, -2.0, 0.1]), np.array([0.0, 1.0, 1e-3])
    out = np.empty(X.shape)
    kernels.map_columns(X, scale, shift, out)
    np.testing.assert_array_equal(out, X.astype(float) * scale + shift)
