"""A polyhedron, or several, in a plane, by what is drawn."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from polyceptron import OC1, Polyhedron
from polyceptron.datasets import make_polyhedron
from polyceptron.plots import PolyhedronDisplay, style
from polyceptron.rule import Piece, Rule

plt = pytest.importorskip("matplotlib.pyplot")

FAR = Polyhedron([[1, 0], [0, 1], [-1, 0], [0, -1], [1, 1]], [1, 1, 1, 1, 9], ["age", "$dose_1"])
SQUARE = Polyhedron([[1, 0], [0, 1], [-1, 0], [0, -1]], [1, 1, 1, 1], ["age", "dose"])
ROWS = np.array([[0.0, 0.0], [0.5, -0.5], [2.0, 0.0], [0.0, 2.0], [-2.0, -2.0], [0.9, 0.9]])
LABELS = np.array([1, 1, -1, -1, -1, -1])
WINDOW = ((-2.0, 2.0), (-2.0, 2.0))


def square(**options):
    return PolyhedronDisplay.from_polyhedron(FAR, ROWS, LABELS, **options)


def corners_of(patch):
    return patch.get_xy()[:-1]


def area(patch):
    x, y = corners_of(patch).T
    return 0.5 * abs(x @ np.roll(y, 1) - y @ np.roll(x, 1))


def texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_the_parts_are_where_they_should_be():
    _, ax = plt.subplots()
    display = square(limits=WINDOW, ax=ax)
    assert display.ax_ is ax
    assert ax.get_xlim() == WINDOW[0]
    corners = display.region_.get_xy()
    assert {tuple(c) for c in corners.round(9)} == {(-1, -1), (1, -1), (1, 1), (-1, 1)}
    for label, points in display.points_.items():
        np.testing.assert_array_equal(points.get_offsets(), ROWS[label == LABELS])
    np.testing.assert_array_equal(display.mistakes_.get_offsets(), [[0.9, 0.9]])
    assert set(display.faces_) == {0, 1, 2, 3}
    assert any("out of view" in text for text in texts(display))
    for k, line in display.faces_.items():
        np.testing.assert_allclose(FAR.margins(line.get_xydata())[:, k], 0, atol=1e-12)
    arrows = [a for a in ax.texts if a.arrow_patch is not None]
    assert len(arrows) == 4
    for arrow in arrows:
        assert np.asarray(arrow.xy) @ np.asarray(arrow.get_position()) < 0  # towards the middle


def test_names_are_taken_as_they_are_and_every_row_has_room():
    display = square()
    ax = display.ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "$dose_1")
    display.figure_.canvas.draw()  # a dollar sign starts no formula
    for (low, high), column in zip((ax.get_xlim(), ax.get_ylim()), ROWS.T, strict=True):
        assert low < column.min()
        assert high > column.max()


def test_labels_that_begin_with_an_underscore_are_listed():
    labels = np.where(LABELS > 0, "_in", "_out")[:5]
    display = PolyhedronDisplay.from_polyhedron(SQUARE, ROWS[:5], labels, inside="_in")
    assert "class _in (inside)" in texts(display)
    assert display.mistakes_ is None


def test_rows_without_labels():
    display = PolyhedronDisplay.from_polyhedron(SQUARE, ROWS)
    assert len(display.points_) == 1
    assert display.mistakes_ is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"plane": (0, 2)}, "plane names 2, which is no feature"),
        ({"plane": ("age", "weight")}, "plane names 'weight', which is no feature"),
        ({"plane": (1, 1)}, "two different columns"),
        ({"plane": (0,)}, "must be two columns"),
        ({"plane": "age"}, "plane must be 'pca', 'faces' or two columns"),
        ({"regions": "all"}, "regions must be one of"),
        ({"at": 6}, "at=6 is no row: X has 6 rows"),
        ({"at": [0.0]}, "at must be 2 finite numbers"),
        ({"at": [0.0, np.nan]}, "at must be 2 finite numbers"),
        ({"predicted": [1]}, "y must be 6 labels"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        square(**options)


def test_cells_have_the_colours_of_their_faces_and_rows_do_not():
    display = PolyhedronDisplay.from_polyhedron(
        SQUARE, ROWS, LABELS, limits=WINDOW, regions="faces"
    )
    assert set(display.cells_) == {0, 1, 2, 3}
    assert display.region_ is None
    for k, patch in display.cells_.items():
        pale, full = np.array(patch.get_facecolor()[:3]), np.array(to_rgb(style.look(k).colour))
        np.testing.assert_allclose(pale, 1 - 0.14 * (1 - full), atol=1e-6)
        assert SQUARE.active_face([corners_of(patch).mean(axis=0)]) == [k]
    shown = {tuple(points.get_facecolor()[0, :3]) for points in display.points_.values()}
    assert not shown & {to_rgb(style.look(k).colour) for k in range(7)}


def test_equal_faces_are_one_region():
    twice = Polyhedron([[1, 0], [1, 0], [-1, 0]], [1, 1, 1])
    display = PolyhedronDisplay.from_polyhedron(twice, limits=WINDOW, regions="faces")
    assert set(display.cells_) == {0, 2}


def test_a_region_whose_face_is_out_of_view_has_its_number():
    window = ((2.0, 4.0), (2.0, 4.0))
    display = PolyhedronDisplay.from_polyhedron(SQUARE, limits=window, regions="faces")
    assert set(display.cells_) == set(display.numbers_) == {2, 3}
    assert "nothing here is inside" in texts(display)


def test_many_faces_of_long_names_leave_room_for_the_plane():
    rng = np.random.default_rng(0)
    names = [f"a name of a column that is far too long, number {j}" for j in range(5)]
    P = Polyhedron(rng.normal(size=(30, 5)), np.full(30, 2.0), names)
    display = PolyhedronDisplay.from_polyhedron(
        P, rng.normal(size=(300, 5)), np.arange(300) % 2, plane="pca", regions="faces"
    )
    display.figure_.canvas.draw()
    height = display.figure_.bbox.height
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.y0 >= 0
    assert legend.y1 <= height
    assert display.ax_.get_window_extent().height > 0.6 * height
    listed = [one for one in texts(display) if one.partition(":")[0].isdecimal()]
    assert f"and {30 - len(listed)} more faces" in texts(display)
    assert len(listed) > 5
    assert len(display.faces_) > len(listed)
    assert "out of view" not in "".join(listed)  # those that are seen come first


@pytest.mark.parametrize("K", [4, 30])
def test_numbers_do_not_cover_each_other(K):
    X, y, truth = make_polyhedron(100, 2, K, random_state=3)
    display = PolyhedronDisplay.from_polyhedron(truth, X, y, regions="faces")
    display.figure_.canvas.draw()
    boxes = [n.get_window_extent() for n in display.numbers_.values()]
    centres = np.array([[(b.x0 + b.x1) / 2, (b.y0 + b.y1) / 2] for b in boxes])
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2)[np.triu_indices(len(boxes), 1)]
    assert gaps.min() > 14 * display.figure_.dpi / 72
    assert K <= 12 or f"and {K - 12} more faces" in texts(display)


def test_one_class_and_one_row():
    one = PolyhedronDisplay.from_polyhedron(SQUARE, [[0.2, 0.3]], ["good"])
    assert texts(one)[0] == "class good (inside)"
    outside = PolyhedronDisplay.from_polyhedron(SQUARE, [[3.0, 3.0]] * 3, [0] * 3, inside=1)
    assert texts(outside)[:2] == ["nothing here is inside", "class 0 (outside)"]


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
    assert display.text_[0] == "age ≥ -1"


# --- several polyhedra ---------------------------------------------------------------------------


def test_leaves_of_a_tree_share_out_the_window(tree):
    model, X, y = tree
    display = PolyhedronDisplay.from_estimator(model, X, y, limits=WINDOW)
    assert sum(area(p) for some in display.regions_.values() for p in some) == pytest.approx(16.0)
    rings = 0 if display.mistakes_ is None else len(display.mistakes_.get_offsets())
    assert rings == (model.predict(X) != y).sum()
    for label, patches in display.regions_.items():
        for patch in patches:
            assert model.predict([corners_of(patch).mean(axis=0)]) == [label]


def test_a_tree_without_a_test_is_everywhere():
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = OC1(random_state=0, max_depth=1, min_samples_split=100).fit(X, np.arange(20) % 2)
    display = PolyhedronDisplay.from_estimator(model, X, limits=WINDOW)
    (patches,) = [p for p in display.regions_.values() if p]
    assert area(patches[0]) == pytest.approx(16.0)


def test_one_polyhedron_for_each_of_three_classes(iris):
    model, X, y = iris
    display = PolyhedronDisplay.from_estimator(model, X, y)
    assert list(display.regions_) == ["setosa", "versicolor", "virginica"]
    assert display.ax_.get_ylabel() == "petal width (cm)"
    assert "class setosa" in texts(display)


def test_rows_predicted_otherwise_are_ringed():
    X, y = np.array([[0.0, 0.0], [3.0, 0.0], [0.5, 0.5]]), np.array(["in", "out", "in"])
    display = PolyhedronDisplay.from_predictions(
        y, ["in", "in", "in"], X=X, polyhedron=SQUARE, inside="in", regions="faces"
    )
    assert display.mistakes_.get_offsets().tolist() == [[3.0, 0.0]]
    assert "1 of 3 predicted otherwise" in texts(display)
    several = PolyhedronDisplay.from_predictions(
        y, ["out", "out", "in"], X=X, polyhedra={"in": SQUARE}
    )
    assert several.mistakes_.get_offsets().tolist() == [[0.0, 0.0]]


def test_many_classes_are_in_order_and_told_apart():
    labels = list(range(1, 13))
    bands = {k: Polyhedron([[1, 0], [-1, 0]], [-k, k + 1]) for k in labels}
    X = np.column_stack([np.add(labels, 0.5), np.zeros(12)])
    display = PolyhedronDisplay.from_polyhedra(bands, X, labels)
    assert texts(display)[12:] == [f"class {k}" for k in labels]
    looks = {(patch.get_facecolor(), patch.get_hatch()) for [patch] in display.regions_.values()}
    assert len(looks) == 12
    shapes = {points.get_paths()[0].vertices.tobytes() for points in display.points_.values()}
    assert len(shapes) == 12


def test_every_piece_of_a_union_has_its_outline_and_numbers(union):
    X = np.random.default_rng(0).uniform([-1, -1], [5, 5], (80, 2))
    y = union.predict(X)
    y[:3] = np.where(y[:3] == "yes", "no", "yes")
    display = PolyhedronDisplay.from_estimator(union, X, y, limits=((-1, 5), (-1, 5)))
    assert list(map(area, display.regions_["yes"])) == pytest.approx([1, 2, 3])
    for patch in display.regions_["yes"]:
        assert union.predict([corners_of(patch).mean(axis=0)]) == ["yes"]
    assert list(display.numbers_) == ["1.0", "1.1", "1.2", "1.3", "2.0", "2.1", "2.2", "3.0", "3.1"]
    assert display.text_["2.2"] == "age + dose ≤ 4"
    assert len(display.mistakes_.get_offsets()) == 3
    assert texts(display)[:2] == ["3 regions of yes", "elsewhere no"]
    with pytest.raises(ValueError, match="regions='faces' needs a single polyhedron"):
        PolyhedronDisplay.from_estimator(union, regions="faces")


def test_pieces_that_are_out_of_view_are_counted(union):
    display = PolyhedronDisplay.from_estimator(union, limits=((-1, 1.5), (-1, 1.5)))
    assert texts(display)[0] == "3 regions of yes (1 in view)"
    assert set(display.numbers_) == {"1.0", "1.1", "1.2", "1.3"}
    nowhere = PolyhedronDisplay.from_estimator(union, limits=((-9, -8), (-9, -8)))
    assert texts(nowhere)[0] == "3 regions of yes (none in view)"


def test_unions_of_two_classes_and_of_more_columns():
    random = np.random.default_rng(1)
    eye = np.concatenate([np.eye(5), -np.eye(5)])
    boxes = [Polyhedron(eye, np.concatenate([1 - c, 1 + c])) for c in random.normal(size=(3, 5))]
    rule = Rule(["a", "b", "c"], list(map(Piece, boxes, (0, 2, 0))), otherwise=1)
    X = random.normal(size=(100, 5)) * 1.5
    for plane in (None, "faces"):
        display = PolyhedronDisplay.from_estimator(rule, X, rule.predict(X), plane=plane)
        assert list(display.regions_) == ["a", "c"]
        assert any(display.regions_.values())
        assert display.mistakes_ is None
        assert set(display.points_) == set(rule.predict(X))
    assert not display.numbers_  # thirty faces would be a blot


def test_a_list_of_polyhedra_has_no_labels_to_be_wrong():
    away = Polyhedron(SQUARE.W, SQUARE.b - SQUARE.W @ [2, 0], SQUARE.feature_names)
    display = PolyhedronDisplay.from_estimator([SQUARE, away], ROWS, LABELS)
    assert {label: len(union) for label, union in display.regions_.items()} == {"inside": 2}
    assert not any("wrong" in text or "predicted" in text for text in texts(display))
    one = PolyhedronDisplay.from_estimator([SQUARE], ROWS, LABELS)
    assert one.inside == 1
    assert texts(one) == texts(PolyhedronDisplay.from_estimator(SQUARE, ROWS, LABELS))
