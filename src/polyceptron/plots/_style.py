"""What the pictures share: colours, fonts, and how matplotlib is loaded."""

from typing import Any

# Okabe & Ito (2008): eight colours that people of every colour vision tell apart.
BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
INK, FAINT, PAPER = "#222222", "#999999", "#FFFFFF"


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


def add_legend(ax: Any, entries: list[tuple[Any, str]], **where: Any) -> Any:
    """Add a legend whose labels are taken as they are, dollar signs and underscores too."""
    handles = [handle for handle, _ in entries]
    # Matplotlib leaves out labels that begin with an underscore.
    labels = [" " + label if label.startswith("_") else label for _, label in entries]
    legend = ax.legend(handles, labels, frameon=False, borderaxespad=0.0, **where)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend
