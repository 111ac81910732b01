"""Data frames, threads and scikit-learn's tools, for every learner."""

from copy import deepcopy
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from common import (
    X_SQUARE,
    Y_SQUARE,
    assert_equal_models,
    every_learner,
    every_polyhedron,
    fit,
    quick,
    small_blocks,
    square,
)
from polyceptron import OC1, SPLA2
from polyceptron.datasets import make_dataset1


def polyhedra(model):
    return model.polyhedra(1) if isinstance(model, OC1) else [model.polyhedron_]


def framed(frame):
    return frame({"age": X_SQUARE[:, 0], "bmi": X_SQUARE[:, 1]})


@cache
def fitted(learner, frame=None):
    return fit(quick(learner), X_SQUARE if frame is None else framed(frame), Y_SQUARE)


@every_learner
class TestNames:
    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_frames_keep_their_names(self, learner, frame):
        X, model = framed(frame), fitted(learner, frame)
        assert model.feature_names_in_.tolist() == ["age", "bmi"]
        for one in polyhedra(model):
            assert one.feature_names == ("age", "bmi")
        text = model.to_text() if learner is OC1 else str(model.polyhedron_)
        assert "*age" in text
        assert "*bmi" in text
        if learner is not OC1:
            assert text.count("\n") == len(model.intercept_) - 1
        np.testing.assert_array_equal(model.predict(X), fitted(learner).predict(X_SQUARE))

    def test_other_columns_are_refused(self, learner):
        X, model = framed(pd.DataFrame), fitted(learner, pd.DataFrame)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(X[["bmi", "age"]])
        with pytest.raises(ValueError, match="feature names"):
            model.predict(pl.DataFrame({"age": X_SQUARE[:, 0], "dose": X_SQUARE[:, 1]}))
        with pytest.raises(ValueError, match="feature names"):
            model.predict(X[["age"]])

    def test_names_go_when_names_are_gone(self, learner):
        model = fit(deepcopy(fitted(learner, pd.DataFrame)), X_SQUARE, Y_SQUARE)
        assert all(one.feature_names is None for one in polyhedra(model))
        assert not hasattr(model, "feature_names_in_")


@every_polyhedron
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_one_or_two_threads_give_the_same_bits(learner, kind, monkeypatch):
    monkeypatch.setattr("polyceptron.data.blocks.ROWS_WORTH_THREADS", 100)
    monkeypatch.setattr("polyceptron.scoring._ROWS_AT_ONCE", 64)
    small_blocks(monkeypatch, 37)
    X, y = square(300)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.05, 1 - y, y)
    models = [fit(quick(learner, n_jobs=n_jobs), kind(X), y) for n_jobs in (1, 2, None)]
    for model in models[1:]:
        assert_equal_models(models[0], model)
        np.testing.assert_array_equal(
            models[0].decision_function(kind(X)), model.decision_function(kind(X))
        )


@every_learner
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pipeline_and_searches(learner):
    X, y = make_dataset1(random_state=0, return_X_y=True)
    X, y = X[:300], y[:300]
    pipeline = make_pipeline(MinMaxScaler((-1, 1)), quick(learner))
    name = pipeline.steps[-1][0]
    asked = {SPLA2: "max_hyperplanes", OC1: "n_restarts"}.get(learner, "n_hyperplanes")
    few = 0 if learner is OC1 else 1
    search = GridSearchCV(pipeline, {f"{name}__{asked}": [few, 3]}, cv=3).fit(X, y)
    assert search.best_params_ == {f"{name}__{asked}": 3}
    assert getattr(search.best_estimator_[-1], asked) == 3
    inside = {} if learner is OC1 else {"inside": -1}
    auc = cross_val_score(quick(learner, **inside), X, -y, cv=3, scoring="roc_auc")
    assert auc.min() > (0.6 if learner is OC1 else 0.8)  # a small tree has few scores
