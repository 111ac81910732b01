"""What the tests of several learners share: data, quick settings, comparisons."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from polyceptron import BatchPolyceptron, OnlinePolyceptron, Polyceptron
from polyceptron.data.blocks import ArrayBlocks, kernel_rows
from polyceptron.learners.registry import BUILT_IN, find_learner, parameters_of

PERCEPTRONS = [BatchPolyceptron, OnlinePolyceptron]
_QUICK = {
    "batch": {"n_hyperplanes": 3, "max_iter": 30, "n_init": 1},
    "online": {"n_hyperplanes": 3, "max_iter": 30, "n_init": 1},
    "spla1": {"n_hyperplanes": 3, "n_init": 1},
    "spla2": {"max_hyperplanes": 3, "n_init": 1},
    "pcslp": {"n_hyperplanes": 3, "n_init": 1},
    "polyhedral-svm": {"n_hyperplanes": 3, "n_init": 1},
    "discrete-svm": {"n_hyperplanes": 3, "n_init": 1, "max_nodes": 0},
    "oc1": {"n_restarts": 3},
    "polyceptron": {
        "n_hyperplanes": 3,
        "margin": 20,
        "penalty": None,
        "inside": None,
        "n_init": 2,
        "max_iter": 30,
    },
}
SETTINGS = {find_learner(name): _QUICK.get(name, {}) for name in BUILT_IN}
"""Of every learner those that make it quick."""
perceptrons = pytest.mark.parametrize("learner", PERCEPTRONS)
every_learner = pytest.mark.parametrize("learner", SETTINGS)
every_polyhedron = pytest.mark.parametrize(
    "learner", [one for one in SETTINGS if "inside" in parameters_of(one)]
)


def square(n=300, d=2, seed=0):
    """Inside a box about the middle of d columns, with a gap, and outside of it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (4 * n, d))
    size = np.abs(X).max(axis=1)
    X = X[(size < 1) | (size > 1.2)][:n]
    return X, (np.abs(X).max(axis=1) < 1).astype(int)


def quick(learner, **parameters):
    """A learner that is done soon, with nothing left to its defaults that matters here."""
    return learner(**(SETTINGS[learner] | {"random_state": 0} | parameters))


def fit(model, X, y, **arguments):
    """Fit, whether or not it converges."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, **arguments)


def snapshot(model):
    """All that a model is, as bytes by name."""
    return {name: pickle.dumps(value) for name, value in vars(model).items()}


def assert_equal_models(one, other):
    """To the last bit."""
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    np.testing.assert_array_equal(one.classes_, other.classes_)
    assert one.n_iter_ == other.n_iter_
    assert getattr(one, "verdict_", None) == getattr(other, "verdict_", None)
    if isinstance(one, Polyceptron):  # a table of what was tried in the place of a history
        assert one.selection_ == other.selection_
        assert getattr(one, "path_", None) == getattr(other, "path_", None)
        assert one.rule_ == other.rule_
        return
    assert one.history_.keys() == other.history_.keys()
    for name, values in one.history_.items():
        np.testing.assert_array_equal(values, other.history_[name])


def assert_sound(model, X, y):
    for piece in model.rule_.pieces:
        assert np.isfinite(piece.polyhedron.W).all()
        assert np.isfinite(piece.polyhedron.b).all()
        assert piece.polyhedron.W.any(axis=1).all()
    assert set(model.predict(X)) <= set(y)
    if hasattr(model, "predict_proba"):
        assert not np.isnan(model.predict_proba(X)).any()
    if hasattr(model, "decision_function"):
        assert not np.isnan(model.decision_function(X)).any()
    for values in getattr(model, "history_", {}).values():
        assert not np.isnan(values).any()


def array_blocks(X, y, weight=None, **options):
    """Rows in memory as learners see them: +1 where y is above 0."""
    signs = np.where(np.asarray(y) > 0, 1, -1).astype(np.int8)
    weight = np.empty(0) if weight is None else weight
    return ArrayBlocks(kernel_rows(X), signs, weight, X.shape[1], **options)


def small_blocks(monkeypatch, block_rows):
    """Blocks of so many rows in fits: what a caller gives still counts."""
    monkeypatch.setattr("polyceptron.data.source.rows_of_blocks", lambda *_, **__: block_rows)
    monkeypatch.setitem(ArrayBlocks.__init__.__kwdefaults__, "block_rows", block_rows)


X_SQUARE, Y_SQUARE = square(120)
