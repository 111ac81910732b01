"""What all displays have."""

import sys

import pytest

from hostile_names import HOSTILE
from polyceptron import BatchPolyceptron, Polyhedron, plots
from polyceptron.plots import (
    AnimationDisplay,
    FaceHeatmapDisplay,
    HistoryDisplay,
    PolyhedronDisplay,
    WaterfallDisplay,
    style,
)

TRIANGLE = Polyhedron([[1, 0], [0, 1], [-1, -2]], [0, 0, 4], ["age", "dose"])


def test_every_display_is_made_from_an_estimator_and_from_predictions():
    displays = [getattr(plots, name) for name in plots.__all__ if name.endswith("Display")]
    assert len(displays) == 7
    assert plots.PolyhedraDisplay is PolyhedronDisplay
    assert all(callable(d.from_estimator) and callable(d.from_predictions) for d in displays)


@pytest.mark.parametrize(
    "draw",
    [
        PolyhedronDisplay.from_polyhedron,
        PolyhedronDisplay.from_estimator,
        FaceHeatmapDisplay.from_polyhedron,
        lambda _, **how: HistoryDisplay.from_predictions({"mistakes": [1]}, **how),
        lambda P, **how: WaterfallDisplay.from_polyhedron(P, [1, 1], **how),
        lambda P, **how: AnimationDisplay.from_predictions([(P, "now")], [[0, 1]], [1], **how),
    ],
)
def test_an_option_that_is_not_known_is_refused_by_name(draw):
    with pytest.raises(TypeError, match="'colour_of_lines'"):
        draw(TRIANGLE, colour_of_lines="red")


def test_an_animation_refuses_what_it_does_not_draw():
    for option in ("regions", "predicted", "limits"):
        with pytest.raises(TypeError, match=f"'{option}'"):
            AnimationDisplay.from_predictions([(TRIANGLE, "now")], [[0, 1]], [1], **{option: None})


def test_numbers_too_large_to_draw_are_refused():
    with pytest.raises(ValueError, match="X has 1e\\+308 in row 1, which is too far away"):
        FaceHeatmapDisplay.from_polyhedron(TRIANGLE, [[0, 1], [1, 1e308]])


def test_estimator_must_be_fitted():
    from sklearn.exceptions import NotFittedError

    for display in (PolyhedronDisplay, FaceHeatmapDisplay, HistoryDisplay):
        with pytest.raises(NotFittedError):
            display.from_estimator(BatchPolyceptron())
    with pytest.raises(NotFittedError):
        WaterfallDisplay.from_estimator(BatchPolyceptron(), [1, 1])


@pytest.mark.parametrize("name", HOSTILE)
def test_short_names_are_printable_and_short(name):
    for width in (8, 18, 24):
        short = style.shorten(name, width)
        assert 0 < len(short) <= width
        assert short.isprintable()


def test_short_names_and_looks_are_told_apart():
    names = ["x" * 50 + f"_{j}_" + "y" * 50 for j in range(30)]
    short = style.short_names(names, 16)
    assert len(set(short)) == 30
    assert all(len(name) <= 16 for name in short)
    assert len({(style.look(k).colour, style.look(k).hatch) for k in range(49)}) == 49


def test_missing_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install -e '.*\[plot\]'"):
        PolyhedronDisplay.from_polyhedron(TRIANGLE)
