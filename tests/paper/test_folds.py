"""One fold: the same splits for all methods, and test rows that no fit sees."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV

from polyceptron.paper import folds as folds_module
from polyceptron.paper.folds import (
    FoldTask,
    hyperplanes_of,
    measure_fold,
    plan_folds,
    repetition_of,
)
from polyceptron.paper.protocol import Method


def test_all_methods_have_the_same_splits(monkeypatch):
    """Each fold's training rows are seen by both methods, and no test row by either."""
    seen = []

    class Spy(DummyClassifier):
        def fit(self, X, y):
            seen.append((X, y))
            return super().fit(X, y)

    monkeypatch.setattr(Method, "build", lambda *_: Spy())
    for method in ("batch", "batch-paper"):
        measure_fold(FoldTask("ionosphere", method, 0, 3), seed=5)
    bunch, splits = repetition_of(5, "ionosphere", 0)
    train, test = splits[3]
    for X, y in seen:
        np.testing.assert_array_equal(X, bunch.data[train])
        np.testing.assert_array_equal(y, bunch.target[train])
    assert not set(train) & set(test)


def test_tuning_sees_training_rows_only(monkeypatch):
    sizes = []

    class Spy(GridSearchCV):
        def fit(self, X, y):
            sizes.append(len(X))
            return super().fit(X, y)

    monkeypatch.setattr(folds_module, "GridSearchCV", Spy)
    found = measure_fold(FoldTask("breast-cancer", "logistic", 0, 0), seed=0)
    assert sizes == [683 - found.rows]
    assert set(found.parameters) == {"C", "max_iter"}
    assert found.tuning_seconds > 0


def test_draws_and_folds_change_with_repetition_and_seed():
    first, splits = repetition_of(0, "dataset1", 0)
    for other, other_splits in (
        repetition_of(0, "dataset1", 1),
        repetition_of(1, "dataset1", 0),
    ):
        assert not np.array_equal(first.data, other.data)
        assert not np.array_equal(splits[0][1], other_splits[0][1])
    test_rows = np.sort(np.concatenate([test for _, test in splits]))
    np.testing.assert_array_equal(test_rows, np.arange(1000))


def test_plan_is_whole_repetitions_first(protocol):
    tasks = plan_folds(protocol, ["dataset1", "ionosphere"], ["batch", "oc1"], 2)
    assert len(tasks) == len(set(tasks)) == 2 * 2 * 2 * 10
    assert [task.repetition for task in tasks] == [0] * 40 + [1] * 40


@pytest.mark.parametrize(
    ("method", "count"), [("batch", 2), ("logistic", 1), ("svm", None), ("svdd", None), ("cart", 1)]
)
def test_hyperplanes(protocol, method, count):
    model = protocol.methods[method].build(protocol.datasets["breast-cancer"], 0)
    X = np.array([[0.0, 0], [0, 1], [3, 0], [3, 1]] * 5)
    assert hyperplanes_of(model.fit(X, X[:, 0] > 1)) == count
