"""Rows and weights near the ends of the range of numbers."""

import numpy as np
import pytest
import scipy.sparse as sp

from common import X_SQUARE, Y_SQUARE, assert_sound, every_learner, fit, perceptrons, quick, square

EXTREME = {
    "1e300": X_SQUARE * 1e300,
    "1.7e308": X_SQUARE / np.abs(X_SQUARE).max() * 1.7e308,
    "1e150": X_SQUARE * 1e150,
    "1e50": X_SQUARE * 1e50,
    "1e-300": X_SQUARE * 1e-300,
    "1e-320": X_SQUARE * 1e-320,
    "1e300 and 1e-300": X_SQUARE * [1e300, 1e-300],
    "1e9": X_SQUARE * [1e9, 1],
    "far away": X_SQUARE + 1e9,
    "constant columns": np.column_stack([X_SQUARE, np.ones(120), np.zeros(120)]),
    "a constant of 1e300": np.column_stack([X_SQUARE, np.full(120, 1e300)]),
    "only constants": np.column_stack([np.ones(120), np.zeros(120)]),
    "one row in 1e300": np.vstack([X_SQUARE[:-1], [[1e300, -1e300]]]),
    "duplicated rows": np.repeat(X_SQUARE[::10], 10, axis=0),
    "all rows equal": np.tile(X_SQUARE[:1], (120, 1)),
    "greatest float32": (X_SQUARE / 2 * np.finfo(np.float32).max * 0.99).astype(np.float32),
    "least float32": (X_SQUARE * np.finfo(np.float32).tiny).astype(np.float32),
    "denormal float32": (X_SQUARE * 1e-44).astype(np.float32),
}


@every_learner
@pytest.mark.parametrize("case", EXTREME)
def test_finite_answer(learner, case):
    X = EXTREME[case]
    both = [{"standardize": one} for one in (True, False)]
    for options in both if hasattr(learner, "standardize") else [{}]:
        assert_sound(fit(quick(learner, **options), X, Y_SQUARE), X, Y_SQUARE)


@perceptrons
class TestExtremeValues:
    """Warnings are errors here, but for those about convergence."""

    @pytest.mark.parametrize("case", ["1e300", "1e-300", "1e300 and 1e-300", "1e50"])
    def test_sparse(self, learner, case):
        X = sp.csr_matrix(EXTREME[case])
        for standardize in (True, False):
            assert_sound(fit(quick(learner, standardize=standardize), X, Y_SQUARE), X, Y_SQUARE)

    @pytest.mark.parametrize("size", [1e300, 1e50, 1e-50, 1e9])
    def test_size_of_standardized_columns_does_not_matter(self, learner, size):
        factors = [size, 1 / 1024]
        settings = {"standardize": True, "max_iter": 60}
        expected = fit(quick(learner, **settings), X_SQUARE, Y_SQUARE)
        found = fit(quick(learner, **settings), X_SQUARE * factors, Y_SQUARE)
        np.testing.assert_array_equal(found.predict(X_SQUARE * factors), expected.predict(X_SQUARE))

    def test_large_rows_are_learned(self, learner):
        """What can be learned at 1 can be learned at 2**990, without standardising too."""
        y = (X_SQUARE[:, 0] > X_SQUARE[:, 1]).astype(int)
        settings = {"n_hyperplanes": 1, "standardize": False, "max_iter": 500, "margin": 0.0}
        for size in (1.0, 2.0**300, 2.0**400, 2.0**990):
            X = X_SQUARE * size
            assert quick(learner, **settings).fit(X, y).score(X, y) == 1

    @pytest.mark.parametrize("size", [1e120, 1e200, 1e300])
    def test_good_start_among_large_rows_stays_good(self, learner, size):
        X, y = X_SQUARE * size, (X_SQUARE[:, 0] > 0).astype(int)
        settings = {"n_hyperplanes": 1, "standardize": False, "margin": 0.0}
        model = quick(learner, init=[[1.0, 0, 0]], **settings).fit(X, y)
        assert model.score(X, y) == 1
        assert model.set_params(warm_start=True).fit(X, y).score(X, y) == 1

    def test_pruning_large_data(self, learner):
        """Enough rows for what the batch learner does to save time."""
        X, y = square(5000)
        for size in (1e37, 1e44, 1e60, 1e300):
            model = quick(learner, standardize=False, max_iter=10)
            assert_sound(fit(model, X * size, y), X * size, y)

    def test_equal_rows_with_opposite_labels(self, learner):
        X, y = np.repeat(X_SQUARE[:20], 2, axis=0), np.tile([0, 1], 20)
        for standardize in (True, False):
            assert_sound(fit(quick(learner, standardize=standardize), X, y), X, y)

    def test_a_hyperplane_without_normal_becomes_a_face(self, learner):
        """All rows equal, one row more inside than outside: everything is inside, or nothing."""
        X, y = np.zeros((7, 2)), np.array([1, 0, 1, 0, 1, 0, 1])
        model = fit(quick(learner, n_hyperplanes=1, standardize=False), X, y)
        assert_sound(model, X, y)
        assert len(set(model.predict(np.vstack([X, X_SQUARE, 1e6 * X_SQUARE])))) == 1

    @pytest.mark.parametrize("weight", [1e-300, 1e-9, 1e9])
    def test_size_of_weights(self, learner, weight):
        weights = np.full(120, weight)
        for standardize in (True, False):
            model = quick(learner, standardize=standardize)
            assert_sound(fit(model, X_SQUARE, Y_SQUARE, sample_weight=weights), X_SQUARE, Y_SQUARE)

    def test_extreme_rows_get_the_polyhedrons_answer(self, learner):
        model = quick(learner, n_hyperplanes=2, init=[[1e10, -1e10, 0], [0, 1, 1e9]])
        fit(model, [[1.0, 0], [0, 1], [2, 0], [0, 3]], [1, 0, 1, 0])
        X = np.array([[1e300, 2e300], [1e300, 1e300], [2e300, 1e300], [-1e308, 1e308]])
        np.testing.assert_array_equal(model.decision_function(X), model.polyhedron_.decision(X))
        np.testing.assert_array_equal(model.predict(X) == 1, model.polyhedron_.contains(X))
