"""Histories, by what is in them."""

import numpy as np
import pytest

from polyceptron import BatchPolyceptron, OnlinePolyceptron
from polyceptron.datasets import make_polyhedron
from polyceptron.plots import HistoryDisplay

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="session")
def online():
    X, y, _ = make_polyhedron(200, 3, 2, margin=0.05, random_state=0)
    return OnlinePolyceptron(2, random_state=0).fit(X, y)


def test_history_of_batch_has_mistakes_and_criterion(cancer):
    model, _ = cancer
    display = HistoryDisplay.from_estimator(model)
    assert list(display.lines_) == ["mistakes", "criterion"]
    x, values = display.lines_["mistakes"].get_data()
    np.testing.assert_array_equal(values, model.history_["mistakes"])
    np.testing.assert_array_equal(x, np.arange(1, model.n_iter_ + 1))
    assert display.axes_[-1].get_xlabel() == "iteration"


def test_history_of_online_counts_passes(online):
    display = HistoryDisplay.from_estimator(online)
    assert list(display.lines_) == ["mistakes"]
    assert display.axes_[0].get_xlabel() == "pass"


def test_two_histories_share_one_axes():
    _, ax = plt.subplots()
    for values in ([3.0, 1.0], [9.0, 0.0]):
        display = HistoryDisplay.from_predictions({"mistakes": values}, unit="pass", ax=ax)
        assert display.lines_["mistakes"].get_ydata().tolist() == values
    assert display.axes_ == [ax]
    assert ax.get_xlabel() == "pass"
    low, high = ax.get_ylim()
    assert low == 0
    assert high >= 9


def test_wrong_arguments(online):
    with pytest.raises(ValueError, match="'criterion', but the history has"):
        HistoryDisplay.from_estimator(online, measures=["criterion"])
    _, axes = plt.subplots(2)
    with pytest.raises(ValueError, match="2 axes for 1 measures"):
        HistoryDisplay.from_estimator(online, measures=["mistakes"], ax=axes)
    with pytest.raises(ValueError, match="at least one fitted learner"):
        HistoryDisplay.from_estimators([])


def test_histories_share_axes_and_differ_in_look():
    X, y, _ = make_polyhedron(60, 2, 2, random_state=0)
    runs = {f"start {s}": BatchPolyceptron(2, n_init=1, random_state=s).fit(X, y) for s in range(3)}
    displays = HistoryDisplay.from_estimators(runs)
    assert len({id(axes) for d in displays for axes in d.axes_}) == 2
    lines = [d.lines_["mistakes"] for d in displays]
    assert len({line.get_color() for line in lines}) == 3
    assert len({line.get_linestyle() for line in lines}) > 1
    legend = displays[0].axes_[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == list(runs)
    for run, line in zip(runs.values(), lines, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), run.history_["mistakes"])


def test_histories_of_learners_of_two_kinds(cancer, online):
    model, _ = cancer
    displays = HistoryDisplay.from_estimators([model, online, model])
    names = ["0: BatchPolyceptron", "1: OnlinePolyceptron", "2: BatchPolyceptron"]
    assert [d.name for d in displays] == names
    assert list(displays[0].lines_) == ["mistakes"]
    assert displays[0].axes_[-1].get_xlabel() == "iteration or pass"
