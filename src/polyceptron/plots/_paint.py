"""The parts of a picture of polyhedra in a plane: rows, regions, faces and their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polyceptron.plots import style
from polyceptron.plots._plane import Slice
from polyceptron.utils import palette
from polyceptron.utils.types import Floats

MARKERS = ("o", "x", "^", "+", "s", "v", "D", "1", "P", "2", "*", "<", "3", ">", "p", "4")
_MANY = 2000
"""More rows than this are drawn as one picture in SVG files, which would become too large."""
_CLASS_HATCHES = ("", "//", "\\\\", "..", "x", "|", "-")
_AWAY = (10.0, 28.0, 46.0, -27.0)
"""How far a number is from its line, in points; at last beyond the arrow on its other side."""
_PLACES = (0.5, 0.38, 0.62, 0.26, 0.74, 0.14, 0.86, 0.06, 0.94)


def rows(ax: Any, points: Floats, **look: Any) -> Any:
    """Draw rows of one kind."""
    return ax.scatter(*points.T, rasterized=len(points) > _MANY, **look)


def cells(ax: Any, view: Slice) -> dict[int, Any]:
    """Shade each S_k in the colour of its face, paler inside, and return the patches."""
    patches = {}
    for k in range(len(view.lines)):
        corners, rejected = view.cell(k), view.cell(k, inside=False)
        if len(corners) < 3:
            continue
        colour, hatch, _ = style.look(k)
        (patches[k],) = ax.fill(
            *corners.T, facecolor=_pale(colour, 0.14), edgecolor=palette.PAPER, linewidth=1.0,
            zorder=-2,
        )  # fmt: skip
        if len(rejected) >= 3:
            ax.fill(
                *rejected.T, facecolor=_pale(colour, 0.45), edgecolor=_pale(colour, 0.8),
                hatch=hatch, linewidth=0, zorder=-1,
            )  # fmt: skip
    return patches


def _pale(colour: str, share: float) -> Any:
    """Return a colour mixed with white: unlike a transparent one, the same whatever lies below."""
    return 1 - share + share * np.array(style.pyplot().matplotlib.colors.to_rgb(colour))


def faces(ax: Any, view: Slice) -> dict[int, Any]:
    """Draw the line of each face that the window shows, bold where it bounds the inside."""
    lines = {}
    for k in range(len(view.lines)):
        chord, edge = view.chord(k), view.edge(k)
        if chord is None:
            continue
        (lines[k],) = ax.plot(
            *chord.T, color=palette.FAINT, linewidth=1.0, linestyle=(0, (1, 2.5)), zorder=1
        )
        if edge is not None:
            ax.plot(*edge.T, color=palette.INK, linewidth=1.6, solid_capstyle="round", zorder=4)
    return lines


def numbers(
    ax: Any, faces: Mapping[Any, tuple[Slice, int]], *, coloured: bool = False
) -> dict[Any, Any]:
    """Mark each visible face by its number, which is its key, and an arrow that points inside."""
    if faces and ax.figure.figure.get_layout_engine() is not None:
        # What numbers cover is told in pixels, so the axes must be as large as they will be.
        ax.figure.figure.draw_without_rendering()
    box = ax.get_window_extent()
    point = ax.figure.dpi / 72
    taken: list[Floats] = []
    marks = {}
    # Faces that bound the inside choose their place first.
    for key in sorted(faces, key=lambda key: faces[key][0].edge(faces[key][1]) is None):
        view, k = faces[key]
        edge = view.edge(k)
        segment = view.chord(k) if edge is None else edge
        if segment is None:
            corners = view.cell(k)
            if coloured and len(corners) >= 3:  # decided by a face out of view
                marks[key] = bubble(ax, key, corners.mean(axis=0), np.zeros(2), coloured=True)
            continue
        # The gradient of the margin on the screen, where the axes have other lengths.
        arrow = view.lines[k, :2] / [box.width, box.height]
        arrow = arrow / np.linalg.norm(arrow)
        places = segment[0] + np.outer(_PLACES, segment[1] - segment[0])
        seen = ax.transData.transform(places)
        place, away = _free_place(seen, arrow * point, taken, box)
        taken.append(seen[place] - away * point * arrow)
        if away > _AWAY[0]:
            _arrow(ax, places[place], -away * arrow, arrowstyle="-", linewidth=0.6)
        _arrow(ax, places[place], 17 * arrow, arrowstyle="<|-,head_width=.22,head_length=.4")
        marks[key] = bubble(ax, key, places[place], -away * arrow, coloured=coloured)
    return marks


def _free_place(seen: Floats, arrow: Floats, taken: list[Floats], box: Any) -> tuple[int, float]:
    """Return which place is free, and how far from the line, or the least crowded one."""
    point = float(np.hypot(*arrow))
    best, most = (0, _AWAY[0]), -np.inf
    for away in _AWAY:
        centres = seen - away * arrow
        shown = ((centres > box.min + 8 * point) & (centres < box.max - 8 * point)).all(axis=1)
        for i in np.flatnonzero(shown).tolist():
            room = min((float(np.hypot(*(centres[i] - t))) for t in taken), default=np.inf)
            if room > 20 * point:
                return i, away
            if room > most:
                best, most = (i, away), room
    return best


def _arrow(ax: Any, place: Floats, end: Floats, **look: Any) -> None:
    props = {"color": palette.INK, "shrinkA": 0, "shrinkB": 0, **look}
    how: dict[str, Any] = {"textcoords": "offset points", "zorder": 5, "arrowprops": props}
    ax.annotate("", xy=place, xytext=tuple(end), **how)


def bubble(ax: Any, key: Any, place: Floats, offset: Floats, *, coloured: bool) -> Any:
    """Write the number of a face, some points away from a place."""
    fill = style.look(key).colour if coloured else palette.PAPER
    text, ink = str(key), palette.ink_on(fill)
    return ax.annotate(
        text, xy=place, xytext=tuple(offset), textcoords="offset points", zorder=6,
        ha="center", va="center", fontsize=9 if len(text) < 3 else 7.5, color=ink,
        bbox={"boxstyle": "circle,pad=0.22", "fc": fill, "ec": palette.INK, "lw": 0.8},
    )  # fmt: skip


def in_legend(key: Any = "") -> Any:
    """Return the number of a face for the legend; without a key, what shows nothing."""
    text = str(key)
    size = {"markersize": 7.0} if len(text) < 3 else {"markersize": 13, "markeredgewidth": 0}
    marker = f"${text}$" if text else ""
    return style.pyplot().Line2D([], [], marker=marker, color=palette.INK, linestyle="none", **size)


def look_of_class(k: int) -> dict[str, Any]:
    """Return how the regions of class `k` are filled, in the picture and in the legend."""
    # Another hatch beside each colour when these begin anew, so that 49 classes differ.
    n = len(_CLASS_HATCHES)
    return {
        "facecolor": (style.look(k).colour, 0.32),
        "edgecolor": palette.INK,
        "hatch": _CLASS_HATCHES[(k + k // n) % n],
        "hatch_linewidth": 0.4,
    }
