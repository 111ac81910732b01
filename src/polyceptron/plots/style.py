"""What the pictures share: colours, fonts, figures, and the user's rows and words, checked."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron.geometry.faces import dense_rows
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils import palette
from polyceptron.utils.lazy import need
from polyceptron.utils.text import printable
from polyceptron.utils.types import Floats

LARGEST = 1e150
"""The largest number that is drawn: squares of larger ones overflow."""

ByLabel = Mapping[Any, Polyhedron | Sequence[Polyhedron]]

MINUS = "\N{MINUS SIGN}"

# The user's words are never read as a formula, neither matplotlib's nor TeX's.
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}

_HATCHES = ("", "//", "..", "\\\\", "x", "|", "-")
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
_OTHER_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans Arabic", "Noto Sans Hebrew",
    "Noto Sans Devanagari", "Noto Emoji", "PingFang SC", "Microsoft YaHei", "Arial Unicode MS",
)  # fmt: skip
"""For characters that matplotlib's own font lacks, as far as they are installed."""


_SAMPLE = 24.0
"""The least size of a dot in a legend."""


class Look(NamedTuple):
    """How one of many alike things is told from the others, in colour and without it."""

    colour: str
    hatch: str
    dashes: Any


def look(k: int) -> Look:
    """Return the look of thing `k`: seven colours, and then other hatches."""
    hatch = _HATCHES[k // len(palette.FACE_COLOURS) % len(_HATCHES)]
    return Look(palette.colour_of(k), hatch, _DASHES[k % len(_DASHES)])


# --- figures and axes -------------------------------------------------------------------


def pyplot() -> Any:
    """Return matplotlib.pyplot, or say how to get it."""
    return need("matplotlib.pyplot", "drawing", "plot")


def new_axes(n: int = 1, figsize: tuple[float, float] = (6.4, 4.8)) -> list[Any]:
    """Return `n` axes above each other, with one x-axis, in a new figure."""
    figure, axes = pyplot().subplots(
        n, figsize=figsize, sharex=True, squeeze=False, layout="constrained"
    )
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    return list(axes[:, 0])


def new_figure(figsize: tuple[float, float]) -> Any:
    """Return a figure of its own: no window, and nothing of it is left in pyplot."""
    figure = pyplot().Figure(figsize=figsize, layout="constrained")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    return figure


def place(ax: Any, figsize: tuple[float, float]) -> tuple[Any, Any]:
    """Return these axes, or new ones if None, and the figure they are in."""
    ax = new_axes(figsize=figsize)[0] if ax is None else ax
    return ax, ax.figure.figure


def quiet_frame(ax: Any) -> None:
    """Leave only the two sides of the frame that carry numbers."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(palette.FAINT)
    ax.tick_params(colors=palette.INK, color=palette.FAINT)


def describe(ax: Any, x: str = "", y: str = "", *, title: str = "") -> None:
    """Write the labels of axes and their title, taken as they are."""
    ax.set_xlabel(x, **PLAIN)
    ax.set_ylabel(y, **PLAIN)
    ax.set_title(title, fontsize=9, color=palette.INK, loc="left", **PLAIN)


def add_legend(ax: Any, entries: list[tuple[Any, str]]) -> None:
    """Add a legend to the right, its labels taken as they are, dollar signs and all."""
    handles = [handle for handle, _ in entries]
    # Matplotlib leaves out labels that begin with an underscore.
    labels = [" " + label if label.startswith("_") else label for _, label in entries]
    legend = ax.legend(
        handles, labels, frameon=False, borderaxespad=0.0, fontsize=9, loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
    )  # fmt: skip
    for text in legend.get_texts():
        text.set(**PLAIN)
    for sample in legend.legend_handles:  # that of tiny and pale dots would not be seen
        if hasattr(sample, "get_sizes") and sample.get_sizes().max(initial=0.0) < _SAMPLE:
            sample.set(sizes=[_SAMPLE], alpha=1.0)


@contextmanager
def drawing() -> Iterator[None]:
    """Draw and lay out characters of any script: other fonts, and no warning where none has one."""
    plt = pyplot()
    families = [*plt.rcParams["font.family"], *_installed()]
    with plt.rc_context({"font.family": families}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+", UserWarning)
        warnings.filterwarnings("ignore", "Matplotlib currently does not support", UserWarning)
        yield


@cache
def _installed() -> tuple[str, ...]:
    from matplotlib.font_manager import fontManager

    there = {font.name for font in fontManager.ttflist}
    return tuple(name for name in _OTHER_FONTS if name in there)


# --- the user's words -------------------------------------------------------------------


def shorten(text: Any, width: int = 24) -> str:
    r"""Return `text` on one line and at most `width` long, with its middle left out.

    Blanks at its ends would not be seen: such text is in quotes.

    Examples
    --------
    >>> shorten("colour=red ")
    '"colour=red "'
    >>> shorten("age"), shorten("concentration of chloride, mg per litre", 20), shorten("a\nb")
    ('age', 'concentrat…per litre', 'a\\nb')
    """
    # Only so many characters can be seen; the rest of a very long name is not looked at.
    whole = str(text)
    if not whole or whole[0].isspace() or whole[-1].isspace():
        whole = f'"{whole}"'
    ends = whole if len(whole) <= 2 * width else whole[:width] + whole[-width:]
    line = printable(ends)
    if len(line) > width or len(ends) < len(whole):
        front = width // 2
        line = f"{line[:front]}…{line[-(width - 1 - front) :]}"
    return line


def short_names(names: Sequence[Any], width: int = 24) -> list[str]:
    """Return all names shortened; those that are alike then get the number of their column."""
    short = [shorten(name, width) for name in names]
    alike = Counter(short)
    return [
        text if alike[text] == 1 else f"{shorten(name, 2 * width)[: width - 6].rstrip('… ')}… #{j}"
        for j, (text, name) in enumerate(zip(short, names, strict=True))
    ]


# --- the user's rows, labels and polyhedra ---------------------------------------------


def as_array(X: Any, polyhedron: Polyhedron) -> Floats:
    """Return dense, finite rows that fit the polyhedron."""
    rows, _ = dense_rows(polyhedron, X)
    if len(rows) == 0:
        raise ValueError("X has no rows to draw")
    far = np.abs(rows).max(axis=1)
    if far.max() > LARGEST:
        i = int(far.argmax())
        raise ValueError(f"X has {far[i]:.3g} in row {i}, which is too far away to draw")
    return rows


def labels_of(y: Any, rows: Floats | None) -> NDArray[Any] | None:
    """Return labels, one a row, where there are any."""
    if y is None or rows is None:
        return None
    labels = np.asarray(y)
    if labels.shape != (len(rows),):
        raise ValueError(f"y must be {len(rows)} labels, one a row of X; got shape {labels.shape}")
    return labels


def unions_of(polyhedra: ByLabel) -> dict[Any, list[Polyhedron]]:
    """Return the polyhedra of each label."""
    return {
        label: [some] if isinstance(some, Polyhedron) else list(some)
        for label, some in polyhedra.items()
    }
