"""What all displays have."""

import sys

import numpy as np
import pytest

from polyceptron import BatchPolyceptron, Polyhedron, plots
from polyceptron.explain import contributions
from polyceptron.plots import (
    FaceHeatmapDisplay,
    HistoryDisplay,
    PolyhedraDisplay,
    PolyhedronDisplay,
    WaterfallDisplay,
)

TRIANGLE = Polyhedron([[1, 0], [0, 1], [-1, -2]], [0, 0, 4], ["age", "dose"])


def test_every_display_is_made_from_an_estimator_and_from_predictions():
    displays = [getattr(plots, name) for name in plots.__all__ if name.endswith("Display")]
    assert len(displays) == 6
    for display in displays:
        assert callable(display.from_estimator)
        assert callable(display.from_predictions)


def test_histories_weights_and_reasons_from_predictions(cancer):
    model, bunch = cancer
    history = HistoryDisplay.from_predictions({"mistakes": [5, 3, 4]}, unit="pass")
    assert history.axes_[-1].get_xlabel() == "pass"
    assert history.lines_["mistakes"].get_ydata().tolist() == [5, 3, 4]
    weights = FaceHeatmapDisplay.from_predictions(model.polyhedron_, bunch.data)
    expected = FaceHeatmapDisplay.from_estimator(model, bunch.data)
    assert np.array_equal(weights.weights, expected.weights)
    why = contributions(TRIANGLE, [3, 1])
    assert WaterfallDisplay.from_predictions(why).total == pytest.approx(why.slack)


def test_numbers_too_large_to_draw_are_refused():
    with pytest.raises(ValueError, match="X has 1e\\+308 in row 1, which is too far away"):
        FaceHeatmapDisplay.from_polyhedron(TRIANGLE, [[0, 1], [1, 1e308]])
    with pytest.raises(ValueError, match="finite sum"):
        WaterfallDisplay(["a", "b"], [1e308, 1e308], 0.0)


def test_estimator_must_be_fitted():
    from sklearn.exceptions import NotFittedError

    for display in (PolyhedronDisplay, PolyhedraDisplay, FaceHeatmapDisplay, HistoryDisplay):
        with pytest.raises(NotFittedError):
            display.from_estimator(BatchPolyceptron())
    with pytest.raises(NotFittedError):
        WaterfallDisplay.from_estimator(BatchPolyceptron(), [1, 1])


def test_missing_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install polyceptron\[plot\]"):
        PolyhedronDisplay.from_polyhedron(TRIANGLE)
