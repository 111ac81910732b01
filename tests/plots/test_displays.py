"""Heat maps, waterfalls and histories, by what is in them."""

import itertools

import numpy as np
import pytest

from polyceptron import BatchPolyceptron, OnlinePolyceptron, Polyceptron, Polyhedron, plots
from polyceptron.datasets import load_breast_cancer
from polyceptron.explain import contributions
from polyceptron.plots import FaceHeatmapDisplay, HistoryDisplay, WaterfallDisplay

plt = pytest.importorskip("matplotlib.pyplot")

TRIANGLE = Polyhedron([[1, 0], [0, 1], [-1, -2]], [0, 0, 4], ["age", "dose"])


@pytest.fixture(autouse=True)
def agg():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def cancer():
    bunch = load_breast_cancer(as_frame=True)
    return BatchPolyceptron(2, random_state=0).fit(bunch.data, bunch.target), bunch


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


# --- heat map ------------------------------------------------------------------------------------


def test_heat_map_shows_weights_per_spread(cancer):
    model, bunch = cancer
    display = FaceHeatmapDisplay.from_estimator(model, bunch.data)
    expected = model.coef_ * bunch.data.to_numpy().std(axis=0)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(display.image_.get_array(), expected.T)
    assert ticks(display.ax_.yaxis) == list(bunch.data.columns)
    assert ticks(display.ax_.xaxis) == ["0", "1"]


def test_heat_map_does_not_depend_on_units_where_rows_are_given(cancer):
    model, bunch = cancer
    X, factors = bunch.data.to_numpy(), np.geomspace(1e-6, 1e6, 9)
    scaled = Polyhedron(model.coef_ / factors, model.intercept_)
    there = FaceHeatmapDisplay.from_polyhedron(scaled, X * factors).weights
    here = FaceHeatmapDisplay.from_polyhedron(model.polyhedron_, bunch.data).weights
    np.testing.assert_allclose(there, here)


def test_signs_are_written_and_zero_is_white():
    display = FaceHeatmapDisplay.from_polyhedron(TRIANGLE)
    assert {k: t.get_text() for k, t in display.cells_.items()} == {
        (0, 0): "+1.00", (0, 1): "0", (1, 0): "0", (1, 1): "+1.00",
        (2, 0): "\N{MINUS SIGN}0.45", (2, 1): "\N{MINUS SIGN}0.89",
    }  # fmt: skip
    least, most = display.image_.get_clim()
    assert least == -most


def test_only_signs_where_cells_are_narrow_and_nothing_where_they_are_tiny():
    random = np.random.default_rng(0)
    some = FaceHeatmapDisplay.from_polyhedron(Polyhedron(random.normal(size=(30, 12)), np.ones(30)))
    assert {t.get_text() for t in some.cells_.values()} == {"", "+", "\N{MINUS SIGN}"}
    many = Polyhedron(random.normal(size=(120, 12)), np.ones(120))
    assert not FaceHeatmapDisplay.from_polyhedron(many).cells_


def test_the_columns_with_the_largest_weights_are_shown():
    W = np.full((2, 50), 0.01)
    W[0, 7] = W[1, 33] = -1.0
    display = FaceHeatmapDisplay.from_polyhedron(Polyhedron(W, [0, 0]), max_features=2)
    assert display.columns_.tolist() == [7, 33]
    assert ticks(display.ax_.yaxis) == ["x7", "x33"]
    assert display.ax_.get_title(loc="left") == "the 2 of 50 columns with the largest weights"


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_heat_map_of_extreme_normals(size):
    display = FaceHeatmapDisplay.from_polyhedron(Polyhedron([[3 * size, -4 * size]], [0]))
    np.testing.assert_allclose(display.weights, [[0.6, -0.8]])


def test_heat_map_of_several_classes():
    from sklearn.datasets import load_iris

    iris = load_iris(as_frame=True)
    model = Polyceptron(1, margin=20, penalty=None, random_state=0).fit(
        iris.data, iris.target_names[iris.target]
    )
    display = FaceHeatmapDisplay.from_estimator(model, iris.data)
    names = [name.replace("\n", " ") for name in ticks(display.ax_.xaxis)]
    assert names == ["setosa 0", "versicolor 0", "virginica 0"]


def test_heat_map_wrong_arguments():
    with pytest.raises(ValueError, match="max_features must be a whole number"):
        FaceHeatmapDisplay.from_polyhedron(TRIANGLE, max_features=0)


# --- waterfall -----------------------------------------------------------------------------------


def test_waterfall_adds_up_to_the_margin(cancer):
    model, bunch = cancer
    for row in range(0, 600, 50):
        x = bunch.data.iloc[row]
        display = WaterfallDisplay.from_estimator(model, x, bunch.data, max_features=5)
        margin = float(model.polyhedron_.decision([x.to_numpy()])[0])
        bars = display.bars_
        assert display.total == pytest.approx(margin)
        assert bars[-1].end == pytest.approx(margin)
        for before, after in itertools.pairwise(bars[:-1]):
            assert before.end == after.begin
        assert bars[-2].end == pytest.approx(margin)
        inside = display.ax_.get_title(loc="left").split(":")[0].endswith("(inside)")
        assert inside == (margin >= 0)


def test_waterfall_bars_are_the_contributions():
    display = WaterfallDisplay.from_polyhedron(TRIANGLE, {"dose": 1, "age": 3})
    why = contributions(TRIANGLE, [3, 1], reference=[0, 0])
    assert why.face == 2
    columns = [bar for bar in display.bars_ if bar.kind == "column"]
    assert [bar.label for bar in columns] == ["age = 3", "dose = 1"]
    assert [bar.end - bar.begin for bar in columns] == list(why.values.values())
    widths = [(p.get_x(), p.get_width(), p.get_y()) for p in display.patches_]
    assert [w[:2] for w in widths] == [(0, 4), (4, -3), (1, -2), (0, -1)]
    assert display.ax_.get_title(loc="left") == "outside: the deciding face 2 rejects"


def test_waterfall_colours_and_hatches_tell_the_sign():
    display = WaterfallDisplay(["a", "b"], [1.5, -0.5], start=-2.0).plot()
    up, down = display.patches_[1:3]
    assert up.get_facecolor() != down.get_facecolor()
    assert (up.get_hatch() or "", down.get_hatch()) == ("", "////")
    written = [text.get_text() for text in display.ax_.texts]
    minus = "\N{MINUS SIGN}"
    assert written == [f"{minus}2", "+1.5", f"{minus}0.5", f"{minus}1"]


def test_waterfall_of_an_explanation_and_of_another_face():
    why = contributions(TRIANGLE, [1, 1], face=0)
    display = WaterfallDisplay.from_contributions(why)
    assert display.total == pytest.approx(why.slack)
    assert display.ax_.get_title(loc="left") == "face 0 holds"
    other = WaterfallDisplay.from_polyhedron(TRIANGLE, [3, 1], face=0, answers=("yes", "no"))
    assert other.ax_.get_title(loc="left") == "class no (outside): face 0 holds"


def test_waterfall_puts_small_columns_together():
    display = WaterfallDisplay([f"c{j}" for j in range(30)], np.arange(30.0), 1.0)
    bars = display.plot(max_features=4).bars_
    assert [bar.label for bar in bars] == [
        "offset",
        "c29",
        "c28",
        "c27",
        "26 other columns",
        "margin",
    ]
    assert bars[-2].kind == "rest"


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1.0, 1e3, 1e30])
def test_waterfall_numbers_are_inside_the_axes(scale):
    values = np.array([-3.14159, 2.71828, -1.41421]) * scale
    display = WaterfallDisplay(["a", "b", "c"], values, start=1.5 * scale).plot()
    display.figure_.canvas.draw()
    box = display.ax_.get_window_extent()
    for text in display.ax_.texts:
        extent = text.get_window_extent()
        assert box.x0 <= extent.x0
        assert extent.x1 <= box.x1


def test_waterfall_wrong_arguments():
    with pytest.raises(ValueError, match="contributions must be 2 numbers"):
        WaterfallDisplay(["a", "b"], [1.0], 0.0)
    with pytest.raises(ValueError, match="face must be"):
        WaterfallDisplay.from_polyhedron(TRIANGLE, [1, 1], face=3)
    with pytest.raises(ValueError, match="x must be one row of 2 numbers"):
        WaterfallDisplay.from_polyhedron(TRIANGLE, [1, 1, 1])


# --- several histories ----------------------------------------------------------------------------


def test_histories_share_axes_and_differ_in_look(cancer):
    _, bunch = cancer
    runs = {f"start {s}": BatchPolyceptron(2, n_init=1, random_state=s) for s in range(4)}
    fitted = {name: run.fit(bunch.data, bunch.target) for name, run in runs.items()}
    displays = HistoryDisplay.from_estimators(fitted)
    assert len({id(axes) for d in displays for axes in d.axes_}) == 2
    lines = [d.lines_["mistakes"] for d in displays]
    assert len({line.get_color() for line in lines}) == 4
    assert len({line.get_linestyle() for line in lines}) > 1
    legend = displays[0].axes_[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == list(runs)
    for name, line in zip(runs, lines, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), fitted[name].history_["mistakes"])


def test_histories_of_learners_of_two_kinds(cancer):
    model, bunch = cancer
    online = OnlinePolyceptron(2, n_init=1, n_iter_no_change=9, random_state=0)
    online.fit(bunch.data, bunch.target)
    displays = HistoryDisplay.from_estimators([model, online, model])
    assert [d.name for d in displays] == [
        "BatchPolyceptron 0", "OnlinePolyceptron", "BatchPolyceptron 1"
    ]  # fmt: skip
    assert list(displays[0].lines_) == ["mistakes"]
    assert displays[0].axes_[-1].get_xlabel() == "iteration or pass"


def test_no_histories():
    with pytest.raises(ValueError, match="at least one fitted learner"):
        HistoryDisplay.from_estimators([])


# --- what is known already, without a learner --------------------------------------------------


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
