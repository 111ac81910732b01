"""What the two perceptron-like learners promise; the others have files of their own."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from common import (
    X_SQUARE,
    Y_SQUARE,
    assert_equal_models,
    every_polyhedron,
    fit,
    perceptrons,
    quick,
    square,
)
from polyceptron import PCSLP, DiscreteSVM, OnlinePolyceptron, Polyceptron, kernels
from polyceptron.datasets import load_breast_cancer

# --- every learner of a polyhedron ----------------------------------------------------


@every_polyhedron
class TestEveryLearner:
    @pytest.mark.parametrize("kind", [sp.csr_matrix, sp.coo_array])
    def test_sparse_equals_dense(self, learner, kind):
        X, y = square(120, d=5)
        X[np.random.default_rng(0).random(X.shape) < 0.5] = 0
        model = quick(learner, standardize=False)
        expected, found = fit(model, X, y), fit(clone(model), kind(X), y)
        assert_equal_models(found, expected)
        np.testing.assert_array_equal(
            found.decision_function(kind(X)), expected.decision_function(X)
        )

    def test_float32_is_exact_for_exact_numbers(self, learner):
        X = np.rint(X_SQUARE * 3)
        model = quick(learner, standardize=False)
        expected = fit(model, X, Y_SQUARE)
        found = fit(clone(model), X.astype(np.float32), Y_SQUARE)
        assert_equal_models(found, expected)
        assert found.coef_.dtype == np.float64

    def test_a_row_of_zero_weight_is_no_row(self, learner):
        """Even where it would change the scaling or has a label of its own side."""
        weight = np.ones(130)
        weight[60:70] = 0
        X = np.insert(X_SQUARE, 60, np.full((10, 2), 1e5), axis=0)
        y = np.insert(Y_SQUARE, 60, np.arange(10) % 2)
        found = fit(quick(learner), X, y, sample_weight=weight)
        expected = fit(quick(learner), X_SQUARE, Y_SQUARE, sample_weight=np.ones(120))
        assert_equal_models(found, expected)

    def test_class_weight_multiplies(self, learner):
        if learner is PCSLP:
            pytest.skip("its weights are factors of two means")
        weights = np.random.default_rng(0).integers(1, 3, 120).astype(float)
        model = quick(learner, class_weight={0: 2, 1: 4}, standardize=False)
        found = fit(model, X_SQUARE, Y_SQUARE, sample_weight=weights)
        by_hand = weights * np.where(Y_SQUARE == 1, 4, 2)
        expected = fit(quick(learner, standardize=False), X_SQUARE, Y_SQUARE, sample_weight=by_hand)
        del found.verdict_, expected.verdict_  # which counts rows by the weights that were given
        assert_equal_models(found, expected)

    def test_seeds(self, learner):
        states = (3, 3, np.random.RandomState(3), 4)
        one, same, by_object, other = (
            fit(quick(learner, n_init=2, random_state=state), X_SQUARE, Y_SQUARE)
            for state in states
        )
        assert_equal_models(one, same)
        assert_equal_models(one, by_object)
        assert one.coef_.shape != other.coef_.shape or (one.coef_ != other.coef_).any()

    def test_labels_of_any_kind(self, learner):
        plain = fit(quick(learner, inside=1), X_SQUARE, Y_SQUARE)
        y = np.array(["out", "in"])[Y_SQUARE]
        named = fit(quick(learner, inside="in"), X_SQUARE, y)
        assert named.inside_ == "in"
        np.testing.assert_array_equal(named.predict(X_SQUARE) == "in", plain.predict(X_SQUARE) == 1)

    def test_pickle(self, learner):
        model = fit(quick(learner), X_SQUARE, Y_SQUARE)
        other = pickle.loads(pickle.dumps(model))
        assert_equal_models(model, other)
        np.testing.assert_array_equal(
            other.decision_function(X_SQUARE), model.decision_function(X_SQUARE)
        )

    def test_verbose(self, learner, capsys):
        fit(quick(learner), X_SQUARE, Y_SQUARE)
        assert capsys.readouterr().out == ""
        fit(quick(learner, verbose=1), X_SQUARE, Y_SQUARE)
        assert learner.__name__ in capsys.readouterr().out

    def test_warning_says_what_to_change(self, learner):
        if learner in (Polyceptron, DiscreteSVM):
            pytest.skip("one is no run, the other done after one round")
        model = quick(learner, max_iter=1, **({"tol": 0} if hasattr(learner, "tol") else {}))
        message = rf"{learner.__name__} .*max_iter=1 .*[Rr]aise max_iter"
        with pytest.warns(ConvergenceWarning, match=message) as caught:
            model.fit(X_SQUARE, 1 - Y_SQUARE)
        assert caught[0].filename == __file__  # points at the call
        assert (model.converged_, model.n_iter_) == (False, 1)


# --- convergence ----------------------------------------------------------------------


@perceptrons
class TestConvergence:
    def test_converged(self, learner):
        X, y = X_SQUARE, (X_SQUARE[:, 0] > 0).astype(int)
        model = quick(learner, max_iter=10_000).fit(X, y)
        assert model.converged_
        assert model.n_iter_ < 10_000

    def test_history_has_one_entry_an_iteration(self, learner):
        model = fit(quick(learner, n_init=3, max_iter=7), X_SQUARE, Y_SQUARE)
        assert {len(values) for values in model.history_.values()} == {model.n_iter_}
        assert "mistakes" in model.history_

    def test_more_starts_are_never_worse(self, learner):
        X, y = square(200)
        y = np.where(np.random.default_rng(0).random(200) < 0.1, 1 - y, y)
        scores = [
            fit(quick(learner, n_hyperplanes=4, n_init=n_init), X, y).score(X, y)
            for n_init in (1, 2, 4)
        ]
        assert scores == sorted(scores)
        assert scores[-1] > scores[0]


# --- kinds of input -------------------------------------------------------------------


def memory_mapped(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def read_only(X, _):
    X = X.copy()
    X.flags.writeable = False
    return X


SAME_ROWS = {
    "Fortran order": lambda X, _: np.asfortranarray(X),
    "every other column": lambda X, _: np.repeat(X, 2, axis=1)[:, ::2],
    "every other row": lambda X, _: np.repeat(X, 2, axis=0)[::2],
    "backwards twice": lambda X, _: X[::-1].copy()[::-1],
    "read-only": read_only,
    "memory map": memory_mapped,
    "lists": lambda X, _: X.tolist(),
    "objects": lambda X, _: X.astype(object),
    "big endian": lambda X, _: X.astype(">f8"),
    "pandas": lambda X, _: pd.DataFrame(X),
    "pandas with mixed types": lambda X, _: pd.DataFrame({"a": X[:, 0], "b": X[:, 1].astype("O")}),
    "pandas with odd names": lambda X, _: pd.DataFrame(X, columns=["column_names", "columns"]),
    "polars": lambda X, _: pl.DataFrame(X, schema=["a", "b"]),
    "Arrow": lambda X, _: pa.table({"a": X[:, 0], "b": X[:, 1]}),
}


@pytest.mark.parametrize("kind", SAME_ROWS)
def test_same_numbers_same_model(kind, tmp_path):
    model = quick(OnlinePolyceptron, standardize=True)
    expected = fit(model, X_SQUARE, Y_SQUARE)
    other = SAME_ROWS[kind](X_SQUARE, tmp_path)
    found = fit(clone(model), other, Y_SQUARE)
    assert_equal_models(found, expected)
    h = found.decision_function(other)
    np.testing.assert_array_equal(h, expected.decision_function(X_SQUARE))


@perceptrons
class TestKindsOfInput:
    def test_whole_numbers(self, learner):
        X = np.rint(X_SQUARE * 3)
        expected = fit(quick(learner), X, Y_SQUARE)
        for dtype in (np.int8, np.int64, np.float16):
            assert_equal_models(fit(quick(learner), X.astype(dtype), Y_SQUARE), expected)
        many = fit(quick(learner), X > 0, Y_SQUARE)
        assert_equal_models(many, fit(quick(learner), (X > 0).astype(float), Y_SQUARE))

    def test_sparse_standardized(self, learner):
        """Columns are scaled, not shifted: a row without entries stays one."""
        X, y = square(200, d=5)
        X[np.random.default_rng(0).random(X.shape) < 0.5] = 0
        model = fit(quick(learner, standardize=True), sp.csr_matrix(X), y)
        by_hand = fit(quick(learner, standardize=False), sp.csr_matrix(X / X.std(axis=0)), y)
        np.testing.assert_allclose(model.coef_, by_hand.coef_ / X.std(axis=0), rtol=1e-6)
        np.testing.assert_allclose(model.intercept_, by_hand.intercept_, rtol=1e-6)

    def test_standardized_is_learned_on_standard_scores(self, learner):
        X = X_SQUARE * [1000, 0.01] + [5, -3]
        model = fit(quick(learner, standardize=True), X, Y_SQUARE)
        scaler = StandardScaler().fit(X)
        by_hand = fit(quick(learner, standardize=False), scaler.transform(X), Y_SQUARE)
        np.testing.assert_allclose(
            model.decision_function(X), by_hand.decision_function(scaler.transform(X)), rtol=1e-6
        )

    def test_whole_numbers_as_parameters_compile_nothing_new(self, learner):
        """step_size=1 is step_size=1.0, at once."""
        floats = {"step_size": 2.0, "margin": 1.0}
        expected = fit(quick(learner, **floats), X_SQUARE, Y_SQUARE)
        known = (kernels.online_pass, kernels.batch_block, kernels.perceptron._add_gradients)
        before = [len(kernel.signatures) for kernel in known]
        for one in (int, np.float32, np.int64):
            others = {name: one(value) for name, value in floats.items()}
            assert_equal_models(fit(quick(learner, **others), X_SQUARE, Y_SQUARE), expected)
        assert [len(kernel.signatures) for kernel in known] == before

    @pytest.mark.parametrize("standardize", [True, False])
    def test_sparse_input_is_not_changed(self, learner, standardize):
        """Columns in any order, some given twice, in arrays that cannot be written to."""
        C = sp.csr_matrix(X_SQUARE)
        twice = np.repeat(C.data / 2, 2)[::-1].copy(), np.repeat(C.indices, 2)[::-1].copy()
        twice = *twice, C.indptr * 2
        X, y = sp.csr_matrix(twice, C.shape)[::-1], Y_SQUARE
        expected = fit(quick(learner, standardize=standardize), X.toarray(), y).score(X, y)
        arrays = X.data, X.indices, X.indptr
        copies = [array.copy() for array in arrays]
        for array in arrays:
            array.flags.writeable = False
        model = fit(quick(learner, standardize=standardize), X, y)
        if not standardize:
            assert model.score(X, y) == expected
        for array, copy in zip(arrays, copies, strict=True):
            np.testing.assert_array_equal(array, copy)
        assert X.nnz == len(copies[0])


# --- labels, inside, scores -----------------------------------------------------------


@perceptrons
class TestInside:
    def test_greater_label_by_default(self, learner):
        model = fit(quick(learner), X_SQUARE, Y_SQUARE)
        assert model.classes_.tolist() == [0, 1]
        assert model.inside_ == 1
        h = model.polyhedron_.decision(X_SQUARE)
        np.testing.assert_array_equal(model.decision_function(X_SQUARE), h)
        np.testing.assert_array_equal(model.predict(X_SQUARE), np.where(h >= 0, 1, 0))

    def test_lesser_label(self, learner):
        y = 1 - Y_SQUARE
        model = fit(quick(learner, inside=0), X_SQUARE, y)
        other = fit(quick(learner), X_SQUARE, Y_SQUARE)
        assert model.inside_ == 0
        np.testing.assert_array_equal(model.coef_, other.coef_)
        h = model.polyhedron_.decision(X_SQUARE)
        np.testing.assert_array_equal(model.decision_function(X_SQUARE), -h)
        np.testing.assert_array_equal(model.predict(X_SQUARE), np.where(h >= 0, 0, 1))

    def test_a_row_on_a_face_is_inside(self, learner):
        """h(x) = 0 is inside, whichever label that is."""
        for inside in (0, 1):
            X, y = np.array([[2.0], [1], [-1], [-2]]), np.array([inside] * 2 + [1 - inside] * 2)
            settings = {"n_hyperplanes": 1, "standardize": False, "margin": 0.0}
            model = quick(learner, init=[[1, 0]], inside=inside, **settings).fit(X, y)
            assert model.predict([[0.0], [1e-9], [-1e-9]]).tolist() == [inside, inside, 1 - inside]

    def test_labels_in_a_series_or_object_array(self, learner):
        y = np.array(["out", "in"])[Y_SQUARE]
        expected = fit(quick(learner, inside="in"), X_SQUARE, y)
        for other in (y.astype(object), pd.Series(y), y.tolist()):
            model = fit(quick(learner, inside="in"), X_SQUARE, other)
            assert_equal_models(model, expected)
            assert model.rule_ == expected.rule_
            assert model.classes_.dtype == model.predict(X_SQUARE).dtype == y.dtype


# --- weights, starts, seeds -----------------------------------------------------------


@perceptrons
class TestWeights:
    def test_unit_weights_change_nothing(self, learner):
        expected = fit(quick(learner), X_SQUARE, Y_SQUARE)
        for weight in (np.ones(120), np.ones(120, int), [1] * 120):
            found = fit(quick(learner), X_SQUARE, Y_SQUARE, sample_weight=weight)
            np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)
        found = fit(quick(learner, class_weight={0: 1, 1: 1}), X_SQUARE, Y_SQUARE)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)

    def test_balanced(self, learner):
        counts = np.bincount(Y_SQUARE)
        assert counts[0] != counts[1]
        by_hand = dict(enumerate(120 / (2 * counts)))
        expected = fit(quick(learner, class_weight=by_hand), X_SQUARE, Y_SQUARE)
        found = fit(quick(learner, class_weight="balanced"), X_SQUARE, Y_SQUARE)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)


@perceptrons
class TestStarts:
    INIT = np.array([[1.0, 0.5, 0.2], [-1, 0.25, 0.3], [0.1, -1, 0.4]])

    @pytest.mark.parametrize("standardize", [True, False])
    def test_a_good_start_stays(self, learner, standardize):
        """In the units of X: every row is right already, by more than the margin."""
        X = X_SQUARE * [100, 0.01] + [3, 7]
        W, b = np.array([[0.01, 0], [-0.01, 0]]), np.array([1.1 - 0.03, 1.1 + 0.03])
        inside = np.abs(X_SQUARE[:, 0]) < 1.1
        model = quick(
            learner,
            n_hyperplanes=2,
            init=np.column_stack([W, b]),
            standardize=standardize,
            margin=0.0,
            n_init=5,
        )
        model.fit(X, inside.astype(int))
        np.testing.assert_allclose(model.coef_, W, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.intercept_, b, rtol=1e-9)
        assert model.n_iter_ == 1
        assert model.history_["mistakes"].tolist() == [0]

    def test_given_start_needs_no_seed(self, learner):
        settings = {"init": self.INIT, "margin": 0.0, "step_size": 0.01, "standardize": False}
        if learner is OnlinePolyceptron:
            settings["shuffle"] = False
        one, other = (
            fit(quick(learner, random_state=seed, **settings), X_SQUARE, Y_SQUARE)
            for seed in (0, 1)
        )
        assert_equal_models(one, other)
        assert (one.coef_ != self.INIT[:, :-1]).any()

    @pytest.mark.parametrize("standardize", [True, False])
    def test_warm_start_goes_on(self, learner, standardize):
        settings = {"standardize": standardize, "max_iter": 5}
        first = fit(quick(learner, warm_start=True, **settings), X_SQUARE, Y_SQUARE)
        init = np.column_stack([first.coef_, first.intercept_])
        second = fit(clone(first).set_params(init=init), X_SQUARE, Y_SQUARE)
        fit(first, X_SQUARE, Y_SQUARE)
        assert_equal_models(first, second)

    def test_global_seed_is_used_by_none(self, learner):
        models = []
        for _ in range(2):
            np.random.seed(5)  # noqa: NPY002 - scikit-learn's meaning of random_state=None
            models.append(fit(quick(learner, random_state=None), X_SQUARE, Y_SQUARE))
        assert_equal_models(*models)
        third = fit(quick(learner, random_state=None), X_SQUARE, Y_SQUARE)
        assert (third.coef_ != models[0].coef_).any()


# --- scikit-learn's tools ----------------------------------------------------------------------


@perceptrons
class TestScikitLearn:
    def test_weights_and_scorers(self, learner):
        X, y = load_breast_cancer(return_X_y=True)
        model = fit(quick(learner, n_hyperplanes=2, standardize=True), X, y)
        assert model.score(X, y) > 0.95
        weight = (model.predict(X) == y).astype(float)
        assert model.score(X, y, sample_weight=weight) == 1
