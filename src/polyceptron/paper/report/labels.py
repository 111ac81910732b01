"""Labels beside the points of a figure, where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

_ANGLES = np.deg2rad([0, 180, 90, 270, 30, 150, 330, 210, 60, 120, 300, 240])
_DISTANCES = (7.0, 13.0, 20.0, 28.0, 37.0, 47.0)
_LINE = {"arrowstyle": "-", "linewidth": 0.6, "alpha": 0.7, "shrinkA": 0, "shrinkB": 3}


def label_points(ax: Any, points: Sequence[tuple[float, float, str, str]]) -> None:
    """Write the text of each (x, y, text, colour) near its point, with a line where it is far.

    Each takes the nearest place that overlaps no label, no mark and no edge of the axes;
    those with the least room choose first.
    """
    from matplotlib.transforms import Bbox

    ax.figure.draw_without_rendering()
    ax.figure.set_layout_engine("none")  # the boxes must stay where they were measured
    scale, edge = ax.figure.dpi / 72, ax.get_window_extent()
    marks = ax.transData.transform([(x, y) for x, y, *_ in points])
    taken = [Bbox([mark - 4 * scale, mark + 4 * scale]) for mark in marks]
    crowd = [sum(np.hypot(*(mark - other)) < 40 * scale for other in marks) for mark in marks]
    for i in sorted(range(len(points)), key=lambda i: (-crowd[i], -marks[i][1], i)):
        x, y, text, color = points[i]
        label = ax.annotate(
            text, (x, y), (0, 0), textcoords="offset points", ha="center", va="center",
            fontsize=9, color=color, zorder=4,
        )  # fmt: skip
        box = label.get_window_extent(ax.figure.canvas.get_renderer())
        others = taken[:i] + taken[i + 1 :]
        best, least = np.zeros(2), np.inf
        for distance, angle in product(_DISTANCES, _ANGLES):
            towards = np.array([np.cos(angle), np.sin(angle)])
            place = towards * (distance + box.size / 2 / scale)
            cost = _cost(box.translated(*(scale * place)), others, edge)
            if cost < least:
                best, least = place, cost
            if cost == 0:
                break
        label.set_position(best)
        taken.append(box.translated(*(scale * best)))
        if np.hypot(*np.maximum(np.abs(best) - box.size / 2 / scale, 0)) > 9:
            line = {**_LINE, "color": color}
            ax.annotate("", (x, y), best, textcoords="offset points", arrowprops=line, zorder=4)


def _cost(box: Any, taken: Sequence[Any], edge: Any) -> float:
    """The area that a label shares with others or has beyond the edge; rounding is none."""

    def shared(other: Any) -> float:
        common = box.intersection(box, other)
        return 0.0 if common is None else float(common.width * common.height)

    beyond = float(box.width * box.height) - shared(edge)
    return round(sum(map(shared, taken)) + beyond, 6)
