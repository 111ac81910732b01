"""Pictures, by what is in them."""

import sys

import numpy as np
import pytest

from polyceptron import BatchPolyceptron, OnlinePolyceptron, Polyhedron
from polyceptron.datasets import load_breast_cancer, make_polyhedron
from polyceptron.plots import HistoryDisplay, PolyhedronDisplay
from polyceptron.plots._plane import of_columns
from polyceptron.plots._slice import cut

plt = pytest.importorskip("matplotlib.pyplot")

SQUARE = Polyhedron([[1, 0], [0, 1], [-1, 0], [0, -1], [1, 1]], [1, 1, 1, 1, 9], ["age", "$dose_1"])
ROWS = np.array([[0.0, 0.0], [0.5, -0.5], [2.0, 0.0], [0.0, 2.0], [-2.0, -2.0], [0.9, 0.9]])
LABELS = np.array([1, 1, -1, -1, -1, -1])
WINDOW = ((-2.0, 2.0), (-2.0, 2.0))


@pytest.fixture(autouse=True)
def agg():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def cancer():
    bunch = load_breast_cancer(as_frame=True)
    return BatchPolyceptron(2, random_state=0).fit(bunch.data, bunch.target), bunch


def square(**options):
    return PolyhedronDisplay.from_polyhedron(SQUARE, ROWS, LABELS, **options)


def test_region_is_the_polygon():
    corners = square(limits=WINDOW).region_.get_xy()
    assert {tuple(c) for c in corners.round(9)} == {(-1, -1), (1, -1), (1, 1), (-1, 1)}


def test_points_are_split_by_class():
    points = square().points_
    np.testing.assert_array_equal(points[1].get_offsets(), ROWS[LABELS == 1])
    np.testing.assert_array_equal(points[-1].get_offsets(), ROWS[LABELS == -1])


def test_mistakes_are_ringed():
    np.testing.assert_array_equal(square().mistakes_.get_offsets(), [[0.9, 0.9]])


def test_no_rings_without_mistakes():
    display = PolyhedronDisplay.from_polyhedron(SQUARE, ROWS[:5], LABELS[:5])
    assert display.mistakes_ is None


def test_faces_outside_the_window_have_no_line():
    display = square(limits=WINDOW)
    assert set(display.faces_) == {0, 1, 2, 3}
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert any("out of view" in text for text in legend)


def test_faces_lie_on_their_lines():
    for k, line in square(limits=WINDOW).faces_.items():
        np.testing.assert_allclose(SQUARE.margins(line.get_xydata())[:, k], 0, atol=1e-12)


def test_arrows_point_inside():
    display = square(limits=WINDOW)
    arrows = [a for a in display.ax_.texts if a.arrow_patch is not None]
    assert len(arrows) == 4
    for arrow in arrows:
        assert np.asarray(arrow.xy) @ np.asarray(arrow.get_position()) < 0  # towards the middle


def test_names_are_taken_as_they_are():
    display = square()
    assert display.ax_.get_xlabel() == "age"
    assert display.ax_.get_ylabel() == "$dose_1"
    display.figure_.canvas.draw()  # a dollar sign starts no formula


def test_limits_have_room_for_every_row():
    ax = square().ax_
    for (low, high), column in zip((ax.get_xlim(), ax.get_ylim()), ROWS.T, strict=True):
        assert low < column.min()
        assert high > column.max()


def test_given_limits_and_axes_are_used():
    _, ax = plt.subplots()
    assert square(limits=WINDOW, ax=ax).ax_ is ax
    assert ax.get_xlim() == WINDOW[0]


def test_labels_that_begin_with_an_underscore_are_listed():
    labels = np.where(LABELS > 0, "_in", "_out")
    display = PolyhedronDisplay.from_polyhedron(SQUARE, ROWS, labels, inside="_in")
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "class _in (inside)" in texts


def test_rows_without_labels():
    display = PolyhedronDisplay.from_polyhedron(SQUARE, ROWS)
    assert len(display.points_) == 1
    assert display.mistakes_ is None


def test_slice_is_where_the_polyhedron_is(cancer):
    model, bunch = cancer
    display = PolyhedronDisplay.from_estimator(
        model, bunch.data, bunch.target, plane=("bare_nuclei", 0)
    )
    assert display.columns == (5, 0)
    assert display.ax_.get_xlabel() == "bare_nuclei"
    assert display.ax_.get_title(loc="left").startswith("Slice at cell_size_uniformity")
    middle = display.at.copy()
    middle[[5, 0]] = display.region_.get_xy()[:-1].mean(axis=0)
    assert model.polyhedron_.decision([middle])[0] > 0


def test_slice_through_a_given_point():
    cube = Polyhedron(np.concatenate([np.eye(3), -np.eye(3)]), np.ones(6))
    X = np.random.default_rng(0).uniform(-2, 2, (50, 3))
    inside = PolyhedronDisplay.from_polyhedron(cube, X, at=[0, 0, 0.9])
    assert inside.region_ is not None
    assert inside.text_[2] == "holds everywhere here"
    outside = PolyhedronDisplay.from_polyhedron(cube, X, at=[0, 0, 1.1])
    assert outside.region_ is None
    assert outside.text_[5] == "holds nowhere here"


def test_default_slice_shows_the_inside_where_the_medians_do_not():
    box = Polyhedron(np.concatenate([np.eye(3), -np.eye(3)]), [1, 1, 1, 1, 1, 1])
    X = np.concatenate([np.zeros((1, 3)), np.full((9, 3), 5.0)])
    display = PolyhedronDisplay.from_polyhedron(box, X)
    np.testing.assert_array_equal(display.at, np.zeros(3))
    assert display.region_ is not None


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_slice_does_not_depend_on_units(scale):
    far = SQUARE.pullback([1 / scale, 1.0], 0.0)
    lines = of_columns((0, 1), np.zeros(2), ["u", "v"]).lines(far)
    view = cut(lines, ((-2 * scale, 2 * scale), (-2.0, 2.0)))
    corners = view.polygon() / [scale, 1.0]
    assert {tuple(c) for c in corners.round(9)} == {(-1, -1), (1, -1), (1, 1), (-1, 1)}


def test_polygon_agrees_with_membership():
    X, _, truth = make_polyhedron(2000, 2, 5, random_state=4)
    lines = of_columns((0, 1), np.zeros(2), ["u", "v"]).lines(truth)
    corners = cut(lines, ((-1.0, 1.0), (-1.0, 1.0))).polygon()
    edges = np.roll(corners, -1, axis=0) - corners
    offsets = X[:, None, :] - corners
    left = edges[:, 0] * offsets[..., 1] - edges[:, 1] * offsets[..., 0]
    np.testing.assert_array_equal((left >= 0).all(axis=1), truth.contains(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"plane": (0, 2)}, "plane has 2, which is none of the columns"),
        ({"plane": ("age", "weight")}, "plane has 'weight'"),
        ({"plane": (1, 1)}, "two different columns"),
        ({"plane": (0,)}, "must be two columns"),
        ({"plane": "age"}, "plane must be 'pca', 'faces' or two columns"),
        ({"regions": "all"}, "regions must be one of"),
        ({"at": 6}, "at=6 is no row: X has 6 rows"),
        ({"at": [0.0]}, "at must be 2 finite numbers"),
        ({"at": [0.0, np.nan]}, "at must be 2 finite numbers"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        square(**options)


def test_wrong_number_of_labels():
    with pytest.raises(ValueError, match="y must be 6 labels"):
        PolyhedronDisplay.from_polyhedron(SQUARE, ROWS, LABELS[:3])


def test_estimator_must_be_fitted():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        PolyhedronDisplay.from_estimator(BatchPolyceptron(), ROWS, LABELS)
    with pytest.raises(NotFittedError):
        HistoryDisplay.from_estimator(BatchPolyceptron())


def test_missing_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install polyceptron\[plot\]"):
        square()


# --- history --------------------------------------------------------------------------


def test_history_of_batch_has_mistakes_and_criterion(cancer):
    model, _ = cancer
    display = HistoryDisplay.from_estimator(model)
    assert list(display.lines_) == ["mistakes", "criterion"]
    x, values = display.lines_["mistakes"].get_data()
    np.testing.assert_array_equal(values, model.history_["mistakes"])
    np.testing.assert_array_equal(x, np.arange(1, model.n_iter_ + 1))
    assert display.axes_[-1].get_xlabel() == "iteration"


@pytest.fixture(scope="module")
def online():
    X, y, _ = make_polyhedron(200, 3, 2, margin=0.05, random_state=0)
    return OnlinePolyceptron(2, random_state=0).fit(X, y)


def test_history_of_online_counts_passes(online):
    display = HistoryDisplay.from_estimator(online)
    assert list(display.lines_) == ["mistakes"]
    assert display.axes_[0].get_xlabel() == "pass"


def test_two_histories_share_one_axes():
    _, ax = plt.subplots()
    first = HistoryDisplay({"mistakes": np.array([3.0, 1.0])}, name="a").plot(ax=ax)
    second = HistoryDisplay({"mistakes": np.array([9.0, 0.0])}, name="b").plot(ax=ax)
    assert first.axes_[0] is second.axes_[0]
    low, high = ax.get_ylim()
    assert low == 0
    assert high >= 9


def test_history_wrong_measure(online):
    with pytest.raises(ValueError, match="'criterion', but the history has"):
        HistoryDisplay.from_estimator(online, measures=["criterion"])


def test_history_wrong_number_of_axes(online):
    _, axes = plt.subplots(2)
    with pytest.raises(ValueError, match="2 axes for 1 measures"):
        HistoryDisplay.from_estimator(online, measures=["mistakes"], ax=axes)
