"""Coordinates to learn in: there and back, and no number is too large or too small for them."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from polyceptron.data import scaling
from polyceptron.data.blocks import ArrayBlocks, kernel_rows
from polyceptron.data.scaling import Coordinates, block_ends, identity
from polyceptron.data.scaling import standardized_array as standardized

NONE = np.empty(0)
RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((200, 3)) * [1, 5, 0.01] + [0, -20, 3]


def transformed(coordinates, X):
    """CSR rows as a matrix."""
    found = coordinates.transform(kernel_rows(X))
    return sp.csr_matrix(found, shape=X.shape) if sp.issparse(X) else found


def within_range(X):
    data = ArrayBlocks(kernel_rows(X), np.ones(X.shape[0], np.int8), NONE, X.shape[1])
    return scaling.within_range(data.reduce(partial(block_ends, X.shape[1])))


def moments(X):
    return X.mean(axis=0), X.std(axis=0)


class TestStandardized:
    def test_zero_mean_unit_spread(self):
        mean, spread = moments(standardized(ROWS, NONE).transform(ROWS))
        np.testing.assert_allclose(mean, 0, atol=1e-12)
        np.testing.assert_allclose(spread, 1, rtol=1e-12)

    @pytest.mark.parametrize("size", [1e300, 1e-280, 1e150, 1e-150, 1e9])
    def test_any_size(self, size):
        X = ROWS * [size, 1, 1e-9]
        found = standardized(X, NONE).transform(X)
        np.testing.assert_allclose(found, standardized(ROWS, NONE).transform(ROWS), rtol=1e-9)

    @pytest.mark.parametrize("size", [1.7e308, 1e-300, 5e-324])
    def test_the_ends_of_what_a_float_holds(self, size):
        X = np.array([[-1.0, 1], [1, 2], [0, 3], [1, 4]]) * [size, 1]
        coordinates = standardized(X, NONE)
        assert np.isfinite(coordinates.scale).all()
        assert (coordinates.scale > 0).all()
        assert np.isfinite(coordinates.shift).all()
        assert np.abs(coordinates.transform(X)).max() < 10
        W, b, _ = coordinates.to_user(np.ones((1, 2)), np.zeros(1))
        assert np.isfinite(W).all()
        assert np.isfinite(b).all()

    @pytest.mark.parametrize("value", [0.0, 0.1, -3.3e-7, 1e300, -1e300, 1e-300, 1 / 3])
    def test_constant_columns_become_zero(self, value):
        X = np.column_stack([np.full(100, value), np.arange(100.0)])
        coordinates = standardized(X, NONE)
        assert np.isfinite(coordinates.scale).all()
        assert (coordinates.scale > 0).all()
        np.testing.assert_allclose(coordinates.transform(X)[:, 0], 0, atol=1e-12)

    @pytest.mark.parametrize("value", [7.7, 0.3, -1e-7])
    def test_a_constant_column_of_many_rows(self, value):
        """The sum of many equal numbers is rounded: their mean is not quite the number."""
        X = np.full((3000, 1), value)
        for rows in (X, sp.csr_matrix(X)):
            assert standardized(rows, NONE).scale[0] <= 1.01 / min(1, abs(value)) * 2

    def test_nearly_constant_column_still_counts(self):
        X = np.array([[1e6 + 1e-3], [1e6 - 1e-3]] * 5)
        np.testing.assert_allclose(np.abs(standardized(X, NONE).transform(X)), 1, rtol=1e-6)

    def test_weights_are_repeated_rows(self):
        times = RNG.integers(1, 5, len(ROWS))
        weighted = standardized(ROWS, times.astype(float))
        repeated = standardized(np.repeat(ROWS, times, axis=0), NONE)
        np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=1e-12)
        np.testing.assert_allclose(weighted.shift, repeated.shift, rtol=1e-12)

    def test_size_of_weights_does_not_matter(self):
        one, other = (standardized(ROWS, np.full(len(ROWS), w)) for w in (1.0, 1e-9))
        np.testing.assert_allclose(one.scale, other.scale, rtol=1e-12)
        np.testing.assert_allclose(one.shift, other.shift, rtol=1e-10)

    @pytest.mark.parametrize("weight", [NONE, RNG.random(200)])
    def test_sparse_columns_have_the_same_scale_and_no_shift(self, weight):
        X = ROWS * (RNG.random(ROWS.shape) < 0.4)
        X[:, 2] = 0  # a column without entries
        dense, sparse = standardized(X, weight), standardized(sp.csr_matrix(X), weight)
        np.testing.assert_allclose(sparse.scale, dense.scale, rtol=1e-12)
        assert not sparse.shift.any()
        found = transformed(sparse, sp.csr_matrix(X))
        np.testing.assert_allclose(found.toarray(), X * dense.scale, rtol=1e-12)

    @pytest.mark.parametrize("size", [1e300, 1e-280])
    def test_sparse_columns_of_any_size(self, size):
        X = sp.csr_matrix(ROWS * (RNG.random(ROWS.shape) < 0.4))
        expected = transformed(standardized(X, NONE), X)
        big = sp.csr_matrix(X * size)
        found = transformed(standardized(big, NONE), big)
        np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-9)

    def test_many_rows_go_in_parts(self, monkeypatch):
        expected = standardized(ROWS, NONE)
        expected_rows = expected.transform(ROWS)
        monkeypatch.setattr("polyceptron.data.blocks.BLOCK_ROWS", 8)
        for X in (ROWS, sp.csr_matrix(ROWS)):
            found = standardized(X, NONE)
            np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-12)
        np.testing.assert_array_equal(expected.transform(ROWS), expected_rows)

    def test_float32_stays_float32(self):
        X = ROWS.astype(np.float32)
        for rows in (X, sp.csr_matrix(X)):
            coordinates = standardized(rows, NONE)
            assert transformed(coordinates, rows).dtype == np.float32
            np.testing.assert_allclose(coordinates.scale, standardized(ROWS, NONE).scale, rtol=1e-4)

    def test_float32_extremes(self):
        top, least = np.finfo(np.float32).max, np.finfo(np.float32).tiny
        X = np.array([[top, least, 1], [-top, 0, 1], [top, least, 1], [0, -least, 1]], np.float32)
        found = standardized(X, NONE).transform(X)
        mean, spread = moments(found.astype(float))
        np.testing.assert_allclose(mean, 0, atol=1e-6)
        np.testing.assert_allclose(spread, [1, 1, 0], rtol=1e-6)


class TestWithinRange:
    @pytest.mark.parametrize("X", [ROWS, ROWS * 1e90, ROWS * 1e-300, np.zeros((2, 3))])
    def test_ordinary_rows_stay_as_they_are(self, X):
        coordinates = within_range(X)
        assert coordinates.is_identity
        assert coordinates.bias_unit == 1
        assert coordinates.transform(X) is X
        assert within_range(sp.csr_matrix(X)).is_identity

    @pytest.mark.parametrize("size", [1e101, 1e200, 1e300, 1e306])
    def test_large_rows_are_scaled_by_a_power_of_two(self, size):
        X = ROWS * size
        for rows in (X, sp.csr_matrix(X)):
            coordinates = within_range(rows)
            (factor,) = np.unique(coordinates.scale)
            assert factor == coordinates.bias_unit
            assert np.frexp(factor)[0] == 0.5
            assert not coordinates.shift.any()
            found = transformed(coordinates, rows)
            found = found.toarray() if sp.issparse(found) else found
            assert 0.5 <= np.abs(found).max() <= 1
            np.testing.assert_array_equal(found / factor, X)

    def test_sparse_without_entries(self):
        assert within_range(sp.csr_matrix((3, 4))).is_identity


class TestThereAndBack:
    W, b = RNG.standard_normal((2, 3)), RNG.standard_normal(2)

    @pytest.mark.parametrize(
        "coordinates",
        [
            identity(3),
            standardized(ROWS, NONE),
            standardized(sp.csr_matrix(ROWS), NONE),
            standardized(ROWS * [1e200, 1e-200, 0], NONE),
        ],
    )
    def test_hyperplanes(self, coordinates):
        V, c = coordinates.from_user(*coordinates.to_user(self.W, self.b))
        np.testing.assert_allclose(V, self.W, rtol=1e-12)
        np.testing.assert_allclose(c, self.b, rtol=1e-9, atol=1e-12)

    def test_scores_are_those_of_the_learned_hyperplanes(self):
        coordinates = standardized(ROWS, NONE)
        V, c, exponent = coordinates.to_user(self.W, self.b)
        assert exponent == 0
        expected = coordinates.transform(ROWS) @ self.W.T + self.b
        np.testing.assert_allclose(ROWS @ V.T + c, expected, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("size", [1e120, 1e150, 1e300])
    def test_large_rows(self, size):
        """Only up to a positive factor: the signs of scores are what counts."""
        coordinates = within_range(ROWS * size)
        W = self.W.copy()
        for V, c, *_ in [coordinates.from_user(W, self.b), coordinates.to_user(W, self.b)]:
            ratio = V / W
            np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-12)
            assert ratio[0, 0] > 0
            assert np.isfinite(c).all()

    @pytest.mark.parametrize("size", [1e120, 1e150, 1e300])
    def test_large_rows_there_and_back(self, size):
        coordinates = within_range(ROWS * size)
        learned = self.W, self.b * coordinates.bias_unit**2
        V, c = coordinates.from_user(*coordinates.to_user(*learned))
        np.testing.assert_array_equal(V, learned[0])
        np.testing.assert_array_equal(c, learned[1])

    @pytest.mark.parametrize("size", [1e120, 1e300])
    def test_scores_of_large_rows_are_finite(self, size):
        V, c, _ = within_range(ROWS * size).to_user(self.W, self.b)
        assert np.isfinite((ROWS * size) @ V.T + c).all()

    def test_sparse_rows_after_dense_ones(self):
        with pytest.raises(ValueError, match="X is sparse, but the columns were centred"):
            transformed(standardized(ROWS, NONE), sp.csr_matrix(ROWS))

    def test_identity(self):
        assert identity(2).is_identity
        assert not Coordinates(np.ones(2), np.array([0.0, 1])).is_identity
        assert not Coordinates(np.array([1.0, 2]), np.zeros(2)).is_identity
