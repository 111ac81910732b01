"""What the pictures share: colours, fonts, and how matplotlib is loaded."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from polyceptron.plots._names import steady

# Okabe & Ito (2008): eight colours that people of every colour vision tell apart.
BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
ORANGE, PURPLE, SKY, YELLOW = "#E69F00", "#CC79A7", "#56B4E9", "#F0E442"
INK, GREY, FAINT, RULE, PAPER = "#222222", "#555555", "#999999", "#E6E6E6", "#FFFFFF"

_COLOURS = (ORANGE, SKY, GREEN, PURPLE, BLUE, VERMILLION, YELLOW)
_HATCHES = ("", "//", "..", "\\\\", "x", "o", "-")
_DARK = (GREEN, BLUE, VERMILLION)
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))


class Look(NamedTuple):
    """How one of many alike things is told from the others, in colour and without it."""

    colour: str
    hatch: str
    dashes: Any
    ink: str
    """Of text on this colour."""


def look(k: int) -> Look:
    """Return the look of thing `k`: seven colours, and then other hatches."""
    colour = _COLOURS[k % len(_COLOURS)]
    hatch = _HATCHES[k // len(_COLOURS) % len(_HATCHES)]
    ink = PAPER if colour in _DARK else INK
    return Look(colour, hatch, _DASHES[k % len(_DASHES)], ink)


def pyplot() -> Any:
    """Return matplotlib.pyplot, or say how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install polyceptron[plot]") from None
    return plt


def new_axes(n: int = 1, figsize: tuple[float, float] = (6.4, 4.8)) -> list[Any]:
    """Return `n` axes above each other, with one x-axis, in a new figure."""
    figure, axes = pyplot().subplots(
        n, figsize=figsize, sharex=True, squeeze=False, layout="constrained"
    )
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    return list(axes[:, 0])


def new_figure(figsize: tuple[float, float]) -> Any:
    """Return a figure of its own: no window, and nothing of it is left in pyplot."""
    pyplot()  # says what to install
    from matplotlib.figure import Figure

    from polyceptron.plots._canvas import FigureCanvas

    figure = Figure(figsize=figsize, layout="constrained")
    FigureCanvas(figure)
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    return figure


def whole_figure(ax: Any) -> Any:
    """Return the figure of these axes, also where they are in a part of it."""
    return ax.figure.figure


def side_by_side(n: int, figsize: tuple[float, float], widths: list[float]) -> list[Any]:
    """Return `n` axes in a row, in a new figure."""
    figure, axes = pyplot().subplots(
        1, n, figsize=figsize, width_ratios=widths, squeeze=False, layout="constrained"
    )
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    return list(axes[0])


def quiet_frame(ax: Any) -> None:
    """Leave only the two sides of the frame that carry numbers."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(colors=INK, color=FAINT)


def no_frame(ax: Any) -> None:
    """Leave no side of the frame, and no tick marks, only their labels."""
    ax.spines[:].set_visible(False)
    ax.tick_params(colors=INK, length=0)


# The user's words are never read as a formula, neither matplotlib's nor TeX's.
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}


def describe(ax: Any, *, x: str = "", y: str = "", title: str = "") -> None:
    """Write the labels of axes and their title, taken as they are."""
    ax.set_xlabel(steady(x), **PLAIN)
    ax.set_ylabel(steady(y), **PLAIN)
    ax.set_title(steady(title), fontsize=9, color=INK, loc="left", **PLAIN)


def add_legend(ax: Any, entries: list[tuple[Any, str]], **where: Any) -> Any:
    """Add a legend whose labels are taken as they are, dollar signs and underscores too."""
    handles = [handle for handle, _ in entries]
    # Matplotlib leaves out labels that begin with an underscore.
    labels = [steady(" " + label if label.startswith("_") else label) for _, label in entries]
    legend = ax.legend(handles, labels, frameon=False, borderaxespad=0.0, **where)
    for text in legend.get_texts():
        text.set(**PLAIN)
    return legend


@contextmanager
def any_script() -> Iterator[None]:
    """Lay out characters that the font lacks without a warning for each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+", UserWarning)
        warnings.filterwarnings("ignore", "Matplotlib currently does not support", UserWarning)
        yield
