"""A polyhedron in a plane, by what is drawn."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from polyceptron import Polyhedron
from polyceptron.datasets import make_polyhedron
from polyceptron.plots import PolyhedronDisplay, style

plt = pytest.importorskip("matplotlib.pyplot")

FAR = Polyhedron([[1, 0], [0, 1], [-1, 0], [0, -1], [1, 1]], [1, 1, 1, 1, 9], ["age", "$dose_1"])
SQUARE = Polyhedron([[1, 0], [0, 1], [-1, 0], [0, -1]], [1, 1, 1, 1], ["age", "dose"])
ROWS = np.array([[0.0, 0.0], [0.5, -0.5], [2.0, 0.0], [0.0, 2.0], [-2.0, -2.0], [0.9, 0.9]])
LABELS = np.array([1, 1, -1, -1, -1, -1])
WINDOW = ((-2.0, 2.0), (-2.0, 2.0))


def square(**options):
    return PolyhedronDisplay.from_polyhedron(FAR, ROWS, LABELS, **options)


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
        np.testing.assert_allclose(FAR.margins(line.get_xydata())[:, k], 0, atol=1e-12)


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


def corners_of(patch):
    return patch.get_xy()[:-1]


def texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_cells_have_the_colours_of_their_faces():
    display = PolyhedronDisplay.from_polyhedron(SQUARE, limits=WINDOW, regions="faces")
    assert set(display.cells_) == {0, 1, 2, 3}
    assert display.region_ is None
    for k, patch in display.cells_.items():
        pale, full = np.array(patch.get_facecolor()[:3]), np.array(to_rgb(style.look(k).colour))
        np.testing.assert_allclose(pale, 1 - 0.14 * (1 - full), atol=1e-6)
        middle = corners_of(patch).mean(axis=0)
        assert SQUARE.active_face([middle]) == [k]


def test_equal_faces_are_one_region():
    twice = Polyhedron([[1, 0], [1, 0], [-1, 0]], [1, 1, 1])
    display = PolyhedronDisplay.from_polyhedron(twice, limits=WINDOW, regions="faces")
    assert set(display.cells_) == {0, 2}


def test_a_region_whose_face_is_out_of_view_has_its_number():
    window = ((2.0, 4.0), (2.0, 4.0))
    display = PolyhedronDisplay.from_polyhedron(SQUARE, limits=window, regions="faces")
    assert set(display.cells_) == set(display.numbers_) == {2, 3}
    assert "nothing here is inside" in texts(display)


def test_rows_have_no_colours_of_faces():
    X, y, truth = make_polyhedron(100, 2, 4, random_state=0)
    display = PolyhedronDisplay.from_polyhedron(truth, X, y, regions="faces")
    shown = {tuple(points.get_facecolor()[0, :3]) for points in display.points_.values()}
    faces = {to_rgb(style.look(k).colour) for k in range(7)}
    assert not shown & faces


@pytest.mark.parametrize("K", [4, 10, 30])
def test_numbers_do_not_cover_each_other(K):
    X, y, truth = make_polyhedron(100, 2, K, random_state=3)
    display = PolyhedronDisplay.from_polyhedron(truth, X, y, regions="faces")
    display.figure_.canvas.draw()
    renderer = display.figure_.canvas.get_renderer()
    boxes = [n.get_window_extent(renderer) for n in display.numbers_.values()]
    centres = np.array([[(b.x0 + b.x1) / 2, (b.y0 + b.y1) / 2] for b in boxes])
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2)[np.triu_indices(len(boxes), 1)]
    assert gaps.min() > 14 * display.figure_.dpi / 72


def test_many_faces_are_not_all_listed():
    X, y, truth = make_polyhedron(100, 2, 15, random_state=3)
    assert "and 3 more faces" in texts(PolyhedronDisplay.from_polyhedron(truth, X, y))


def test_one_class_and_one_row():
    one = PolyhedronDisplay.from_polyhedron(SQUARE, [[0.2, 0.3]], ["good"])
    assert texts(one)[0] == "class good (inside)"
    outside = PolyhedronDisplay.from_polyhedron(SQUARE, [[3.0, 3.0]] * 3, [0] * 3, inside=1)
    assert texts(outside)[:2] == ["class 0 (outside)", "nothing here is inside"]


def test_one_column_is_a_line():
    interval = Polyhedron([[2], [-1]], [2, 1], ["age"])
    X = np.linspace(-3, 3, 40)[:, None]
    y = np.where(interval.contains(X), "in", "out")
    display = PolyhedronDisplay.from_polyhedron(interval, X, y, inside="in", regions="faces")
    assert display.ax_.get_xlabel() == "age"
    assert display.ax_.get_yticks().size == 0
    np.testing.assert_allclose(display.faces_[0].get_xdata(), -1)
    np.testing.assert_array_equal(display.points_["in"].get_offsets()[:, 0], X[y == "in", 0])
    heights = {k: points.get_offsets()[:, 1] for k, points in display.points_.items()}
    assert heights["in"].max() < heights["out"].min()
    assert display.text_[0] == "2*age ≥ -2"
