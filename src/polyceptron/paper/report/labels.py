"""Labels beside the points of a figure, where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from polyceptron.utils.types import Floats

_ANGLES = np.deg2rad([0, 180, 90, 270, 30, 150, 330, 210, 60, 120, 300, 240])
_SIZE = 9
_DISTANCES = (7.0, 13.0, 20.0, 28.0, 37.0, 47.0)


def label_points(ax: Any, points: Sequence[tuple[float, float, str, str]]) -> None:
    """Write the text of each (x, y, text, colour) near its point, with a line where it is far.

    Each takes the nearest place that overlaps no label, no mark and no edge of the axes;
    those with the least room choose first.
    """
    from matplotlib.font_manager import FontProperties

    figure = ax.figure
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # the boxes must stay where they were measured
    renderer, scale = figure.canvas.get_renderer(), figure.dpi / 72
    marks = ax.transData.transform([(x, y) for x, y, *_ in points])
    taken = [_box(mark, np.full(2, 8 * scale)) for mark in marks]
    edge = np.reshape(ax.get_window_extent().extents, (2, 2))
    crowd = [sum(np.hypot(*(mark - other)) < 40 * scale for other in marks) for mark in marks]
    for i in sorted(range(len(points)), key=lambda i: (-crowd[i], -marks[i][1], i)):
        x, y, text, color = points[i]
        font = FontProperties(size=_SIZE)
        size = np.array(renderer.get_text_width_height_descent(text, font, False)[:2])
        others = np.array(taken[:i] + taken[i + 1 :])
        centre = _best(marks[i], size, scale, others, edge)
        taken.append(_box(centre, size))
        gap = np.maximum(np.abs(centre - marks[i]) - size / 2, 0)
        line = {"arrowstyle": "-", "color": color, "linewidth": 0.6, "alpha": 0.7,
                "shrinkA": 0, "shrinkB": 3}  # fmt: skip
        ax.annotate(
            text, (x, y), xytext=tuple((centre - marks[i]) / scale), textcoords="offset points",
            ha="center", va="center", fontsize=_SIZE, color=color, zorder=4,
            arrowprops=line if np.hypot(*gap) > 9 * scale else None,
        )  # fmt: skip


def _best(mark: Floats, size: Floats, scale: float, taken: Floats, edge: Floats) -> Floats:
    """The first centre of a label without an overlap, else that with the least."""
    found, least = mark, np.inf
    for distance, angle in product(_DISTANCES, _ANGLES):
        towards = np.array([np.cos(angle), np.sin(angle)])
        centre = mark + towards * (distance * scale + size / 2)
        box = _box(centre, size)
        cost = _overlaps(box, taken).sum() + size.prod() - _overlaps(box, edge[None])[0]
        if cost < least - 1e-6:
            found, least = centre, max(cost, 0.0)
        if cost < 1e-6:
            break
    return found


def _box(centre: Floats, size: Floats) -> Floats:
    """The lower left and the upper right corner."""
    return np.stack([centre - size / 2, centre + size / 2])


def _overlaps(box: Floats, others: Floats) -> Floats:
    """The area that a box has in common with each of the others."""
    shared = np.minimum(box[1], others[:, 1]) - np.maximum(box[0], others[:, 0])
    area: Floats = np.maximum(shared, 0.0).prod(axis=1)
    return area
