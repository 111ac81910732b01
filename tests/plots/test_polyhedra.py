"""Several polyhedra in a plane, by what is drawn."""

import numpy as np
import pytest

from polyceptron import OC1, Polyhedron
from polyceptron.plots import PolyhedraDisplay, PolyhedronDisplay
from polyceptron.rule import Piece, Rule

WINDOW = ((-2.0, 2.0), (-2.0, 2.0))
SQUARE = Polyhedron([[1, 0], [0, 1], [-1, 0], [0, -1]], [1, 1, 1, 1], ["age", "dose"])


def area(corners):
    x, y = corners.T
    return 0.5 * abs(x @ np.roll(y, 1) - y @ np.roll(x, 1))


def corners_of(patch):
    return patch.get_xy()[:-1]


def texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_leaves_of_a_tree_share_out_the_window(tree):
    model, X, y = tree
    display = PolyhedraDisplay.from_estimator(model, X, y, limits=WINDOW)
    regions = [corners_of(p) for some in display.regions_.values() for p in some]
    assert sum(map(area, regions)) == pytest.approx(16.0)
    wrong = int((model.predict(X) != y).sum())
    rings = 0 if display.mistakes_ is None else len(display.mistakes_.get_offsets())
    assert rings == wrong
    for label, patches in display.regions_.items():
        for patch in patches:
            assert model.predict([corners_of(patch).mean(axis=0)]) == [label]


def test_one_polyhedron_for_each_of_three_classes(iris):
    model, X, y = iris
    display = PolyhedraDisplay.from_estimator(model, X, y)
    assert list(display.regions_) == ["setosa", "versicolor", "virginica"]
    looks = [(p[0].get_facecolor(), p[0].get_hatch()) for p in display.regions_.values()]
    assert len(set(looks)) == 3
    assert display.ax_.get_ylabel() == "petal width (cm)"
    assert "class setosa" in texts(display)


def test_a_tree_without_a_test_is_everywhere():
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = OC1(random_state=0, max_depth=1, min_samples_split=100).fit(X, np.arange(20) % 2)
    display = PolyhedraDisplay.from_estimator(model, X, limits=WINDOW)
    (patches,) = [p for p in display.regions_.values() if p]
    assert area(corners_of(patches[0])) == pytest.approx(16.0)


def test_rows_predicted_otherwise_are_ringed():
    X, y = np.array([[0.0, 0.0], [3.0, 0.0], [0.5, 0.5]]), np.array(["in", "out", "in"])
    display = PolyhedronDisplay.from_predictions(
        y, ["in", "in", "in"], X=X, polyhedron=SQUARE, inside="in", regions="faces"
    )
    assert display.mistakes_.get_offsets().tolist() == [[3.0, 0.0]]
    assert "1 of 3 predicted otherwise" in texts(display)
    several = PolyhedraDisplay.from_predictions(
        y, ["out", "out", "in"], X=X, polyhedra={"in": SQUARE}
    )
    assert several.mistakes_.get_offsets().tolist() == [[0.0, 0.0]]
    with pytest.raises(ValueError, match="y must be 3 labels"):
        PolyhedronDisplay.from_predictions(y, ["in"], X=X, polyhedron=SQUARE)


def test_many_classes_are_in_order_and_told_apart():
    labels = list(range(1, 13))
    bands = {k: Polyhedron([[1, 0], [-1, 0]], [-k, k + 1]) for k in labels}
    X = np.column_stack([np.add(labels, 0.5), np.zeros(12)])
    display = PolyhedraDisplay.from_polyhedra(bands, X, labels)
    assert texts(display)[12:] == [f"class {k}" for k in labels]
    looks = {(patch.get_facecolor(), patch.get_hatch()) for [patch] in display.regions_.values()}
    assert len(looks) == 12
    shapes = {points.get_paths()[0].vertices.tobytes() for points in display.points_.values()}
    assert len(shapes) == 12


# --- unions ------------------------------------------------------------------------------------


def test_every_piece_of_a_union_has_its_outline_and_numbers(union):
    X = np.random.default_rng(0).uniform([-1, -1], [5, 5], (80, 2))
    y = union.predict(X)
    y[:3] = np.where(y[:3] == "yes", "no", "yes")
    display = PolyhedraDisplay.from_estimator(union, X, y, limits=((-1, 5), (-1, 5)))
    square, triangle, strip = display.regions_["yes"]
    assert [area(corners_of(p)) for p in (square, triangle, strip)] == pytest.approx([1, 2, 3])
    for patch in (square, triangle, strip):
        assert union.predict([corners_of(patch).mean(axis=0)]) == ["yes"]
    assert list(display.numbers_) == ["1.0", "1.1", "1.2", "1.3", "2.0", "2.1", "2.2", "3.0", "3.1"]
    assert display.text_["2.2"] == "-age - dose ≥ -4"
    assert len(display.mistakes_.get_offsets()) == 3
    assert texts(display)[:2] == ["3 regions of yes", "elsewhere no"]


def test_pieces_that_are_out_of_view_are_counted(union):
    display = PolyhedraDisplay.from_estimator(union, limits=((-1, 1.5), (-1, 1.5)))
    assert len(display.regions_["yes"]) == 1
    assert texts(display)[0] == "3 regions of yes (1 in view)"
    assert set(display.numbers_) == {"1.0", "1.1", "1.2", "1.3"}
    nowhere = PolyhedraDisplay.from_estimator(union, limits=((-9, -8), (-9, -8)))
    assert texts(nowhere)[0] == "3 regions of yes (none in view)"


def test_unions_of_two_classes_and_of_more_columns():
    random = np.random.default_rng(1)
    eye = np.concatenate([np.eye(5), -np.eye(5)])
    boxes = [Polyhedron(eye, np.concatenate([1 - c, 1 + c])) for c in random.normal(size=(3, 5))]
    rule = Rule(["a", "b", "c"], list(map(Piece, boxes, (0, 2, 0))), otherwise=1)
    X = random.normal(size=(200, 5)) * 1.5
    for plane in (None, "pca", "faces"):
        display = PolyhedraDisplay.from_estimator(rule, X, rule.predict(X), plane=plane)
        assert list(display.regions_) == ["a", "c"]
        assert any(display.regions_.values())
        assert display.mistakes_ is None
        assert set(display.points_) == set(rule.predict(X))
    assert not display.numbers_  # thirty faces would be a blot


def test_one_polyhedron_is_asked_for_and_several_are_there(union):
    with pytest.raises(ValueError, match="estimator has 3 polyhedra; PolyhedraDisplay draws"):
        PolyhedronDisplay.from_estimator(union)
