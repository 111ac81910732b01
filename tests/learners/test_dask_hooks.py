"""Where learners hand Dask collections on; what becomes of them is tested in tests/distributed."""

import sys
from types import ModuleType

import numpy as np
import pytest

from common import X_SQUARE, Y_SQUARE, assert_equal_models, every_learner, fit, quick
from polyceptron import BatchPolyceptron
from polyceptron.data.source import ArraySource


class Collection(np.ndarray):
    """Stands for a Dask array."""


Collection.__module__ = "dask.array.core"
LAZY = X_SQUARE.view(Collection)


@pytest.fixture
def closed(monkeypatch):
    """A module in the place of polyceptron.distributed, and what was closed of its sources."""
    module, closed = ModuleType("polyceptron.distributed"), []

    class Rows(ArraySource):
        def close(self):
            closed.append(self)

    module.source_of = lambda X, y, weight: Rows(np.asarray(X), y, weight)
    module.lazy = lambda method, X: (method.__self__, method.__name__, X)
    monkeypatch.setitem(sys.modules, "polyceptron.distributed", module)
    return closed


def test_fit_makes_a_source_and_closes_it(closed):
    model = fit(quick(BatchPolyceptron), LAZY, Y_SQUARE)
    assert_equal_models(model, fit(quick(BatchPolyceptron), X_SQUARE, Y_SQUARE))
    assert len(closed) == 1


def test_a_source_that_is_given_stays_open(closed):
    source = sys.modules["polyceptron.distributed"].source_of(X_SQUARE, Y_SQUARE, None)
    quick(BatchPolyceptron, max_iter=500).fit_blocks(source)
    assert not closed


@pytest.mark.usefixtures("closed")
@every_learner
def test_answers_are_lazy(learner):
    model = fit(quick(learner), X_SQUARE, Y_SQUARE)
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        if hasattr(model, method):
            one, name, X = getattr(model, method)(LAZY)
            assert one is model
            assert name == method
            assert X is LAZY


@pytest.mark.usefixtures("closed")
@every_learner
def test_who_needs_rows_in_memory_says_so(learner):
    if not hasattr(learner, "fit_blocks"):
        with pytest.raises(TypeError, match=f"{learner.__name__} learns from rows in memory"):
            quick(learner).fit(LAZY, Y_SQUARE)
