"""The steps of a first start are those of `fit`."""

import numpy as np
import pytest

from common import PERCEPTRONS, X_SQUARE, Y_SQUARE, fit, quick
from polyceptron import PCSLP, SPLA1, BatchPolyceptron
from polyceptron.learners.trace import trace


@pytest.mark.parametrize("learner", [*PERCEPTRONS, SPLA1, PCSLP])
def test_as_many_steps_as_fit_takes(learner):
    model = fit(quick(learner, max_iter=8), X_SQUARE, Y_SQUARE)
    found = trace(quick(learner, max_iter=8), X_SQUARE, Y_SQUARE)
    assert len(found.planes) == model.n_iter_ + 1
    assert found.inside == 1
    assert trace(quick(learner), X_SQUARE, Y_SQUARE, max_iter=2).polyhedron(2).W.shape == (3, 2)


def test_each_is_where_a_shorter_fit_ends():
    """With the last hyperplanes kept, n iterations end where the n-th step went."""
    settings = {"tol": 0.0, "margin": 0.0, "average": False, "standardize": True}
    found = trace(quick(BatchPolyceptron, **settings), X_SQUARE, Y_SQUARE, max_iter=5)
    model = quick(BatchPolyceptron, **settings)
    starts = np.column_stack([found.polyhedron(3).W, found.polyhedron(3).b])
    again = trace(model.set_params(init=starts), X_SQUARE, Y_SQUARE, max_iter=2)
    np.testing.assert_allclose(again.polyhedron(2).W, found.polyhedron(5).W, rtol=1e-9)


def test_the_start_alone():
    found = trace(quick(BatchPolyceptron), X_SQUARE, Y_SQUARE, max_iter=0)
    assert len(found.planes) == 1
    assert not hasattr(found.learner, "polyhedron_")
