"""Waterfalls, by what is in them."""

import itertools

import numpy as np
import pytest

from polyceptron import Polyhedron
from polyceptron.calibration import Logistic
from polyceptron.explain import contributions
from polyceptron.plots import WaterfallDisplay
from polyceptron.rule import Piece, Rule

TRIANGLE = Polyhedron([[1, 0], [0, 1], [-1, -2]], [0, 0, 4], ["age", "dose"])


def test_waterfall_adds_up_to_the_margin(cancer):
    model, bunch = cancer
    for row in (0, 5):
        x = bunch.data.iloc[row]
        display = WaterfallDisplay.from_estimator(model, x, bunch.data, max_features=5)
        margin = float(model.polyhedron_.decision([x.to_numpy()])[0])
        bars = display.bars_
        assert [display.total, bars[-1].end, bars[-2].end] == pytest.approx([margin] * 3)
        assert all(before.end == after.begin for before, after in itertools.pairwise(bars[:-1]))
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


def test_of_three_classes_the_piece_of_the_answer_is_looked_at():
    below, above = Polyhedron([[-1, 0]], [0], ["age", "dose"]), Polyhedron([[0, 1]], [-9])
    names = [Polyhedron(one.W, one.b, ["age", "dose"]) for one in (TRIANGLE, below, above)]
    rule = Rule(["A", "B", "C"], [Piece(p, k) for k, p in enumerate(names)], links=[Logistic()] * 3)
    for x, title, bars in (
        (
            [3, 0.5],
            "class A (inside): the deciding face 2 of piece 1 holds",
            ["age = 3", "dose = 0.5"],
        ),
        ([-1, 1], "class B (inside): the deciding face 0 of piece 2 holds", ["age = -1"]),
        ([1, 8], "class B (outside): the deciding face 0 of piece 2 rejects", ["age = 1"]),
    ):
        display = WaterfallDisplay.from_estimator(rule, x)
        assert display.ax_.get_title(loc="left") == title
        shown = [bar.label.replace("\N{MINUS SIGN}", "-") for bar in display.bars_[1:-1]]
        assert sorted(shown) == bars
        piece = rule.pieces[rule.decide([x]).piece[0]].polyhedron
        assert display.total == pytest.approx(piece.decision([x])[0])


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
    named = Rule.inside(["yes", "no"], 0, TRIANGLE)
    other = WaterfallDisplay.from_estimator(named, [3, 1], face=0)
    assert other.ax_.get_title(loc="left") == "class no (outside): face 0 holds"


def test_waterfall_puts_small_columns_together():
    display = WaterfallDisplay([f"c{j}" for j in range(30)], np.arange(30.0), 1.0)
    bars = display.plot(max_features=4).bars_
    labels = ["offset", "c29", "c28", "c27", "26 other columns", "margin"]
    assert [bar.label for bar in bars] == labels
    assert bars[-2].kind == "rest"


@pytest.mark.parametrize("scale", [1e-30, 1e3])
def test_waterfall_numbers_are_inside_the_axes(scale):
    values = np.array([-3.14159, 2.71828, -1.41421]) * scale
    display = WaterfallDisplay(["a", "b", "c"], values, start=1.5 * scale).plot()
    display.figure_.canvas.draw()
    box = display.ax_.get_window_extent()
    extents = [text.get_window_extent() for text in display.ax_.texts]
    assert all(box.x0 <= extent.x0 and extent.x1 <= box.x1 for extent in extents)


def test_waterfall_wrong_arguments():
    with pytest.raises(ValueError, match="contributions must be 2 numbers"):
        WaterfallDisplay(["a", "b"], [1.0], 0.0)
    with pytest.raises(ValueError, match="finite sum"):
        WaterfallDisplay(["a", "b"], [1e308, 1e308], 0.0)
    with pytest.raises(ValueError, match="face must be"):
        WaterfallDisplay.from_polyhedron(TRIANGLE, [1, 1], face=3)
    with pytest.raises(ValueError, match="x must be one row of 2 numbers"):
        WaterfallDisplay.from_polyhedron(TRIANGLE, [1, 1, 1])


def test_values_have_the_digits_that_their_columns_need():
    P = Polyhedron([[1.0, 1.0]], [0.0], ["p", "t"])
    rows = np.array([[101311.0, 250.0], [101335.0, 350.0]])
    display = WaterfallDisplay.from_polyhedron(P, [101323.4, 301.23456], rows)
    assert {bar.label for bar in display.bars_ if bar.kind == "column"} == {
        "p = 101323.4", "t = 301.2"
    }  # fmt: skip
    display = WaterfallDisplay.from_polyhedron(P, [-101323.4, 3.0], spreads=[12.0, 0.0])
    assert display.bars_[1].label == "p = \N{MINUS SIGN}101323.4"


def test_waterfall_of_polyhedra_without_labels():
    display = WaterfallDisplay.from_estimator([TRIANGLE, TRIANGLE], [3, 1])
    assert display.ax_.get_title(loc="left") == "outside: the deciding face 2 of piece 1 rejects"


def test_waterfall_of_a_union_looks_at_the_piece_that_decides(union):
    inside = WaterfallDisplay.from_estimator(union, {"age": 3, "dose": 0.8})
    title = "class yes (inside): the deciding face 2 of piece 2 holds"
    assert inside.ax_.get_title(loc="left") == title
    outside = WaterfallDisplay.from_estimator(union, [0.5, 2.8])
    title = "class no (outside): the deciding face 0 of piece 3 rejects"
    assert outside.ax_.get_title(loc="left") == title
    assert outside.total == pytest.approx(-0.2)


def test_waterfall_of_trees_and_several_classes(tree, iris):
    for model, X, _ in (tree, iris):
        rows = np.asarray(X)[[0, -1]]
        for row, answer in zip(rows, model.rule_.predict(rows), strict=True):
            display = WaterfallDisplay.from_estimator(model, row)
            assert display.ax_.get_title(loc="left").startswith(f"class {answer} (")
