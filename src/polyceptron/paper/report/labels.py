"""Labels beside the points of a figure, where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Box = tuple[float, float, float, float]
_ANGLES = np.deg2rad([0, 180, 90, 270, 30, 150, 330, 210, 60, 120, 300, 240])
_SIZE = 9
_DISTANCES = (7.0, 13.0, 20.0, 28.0, 37.0, 47.0)


def place(ax: Any, points: Sequence[tuple[float, float, str, str]]) -> None:
    """Write the text of each (x, y, text, colour) near its point, with a line where it is far.

    Each takes the nearest place that overlaps no label, no mark and no edge of the axes;
    those with the least room choose first.
    """
    from matplotlib.font_manager import FontProperties

    figure = ax.figure
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # the boxes must stay where they were measured
    font = FontProperties(size=_SIZE)
    renderer, scale = figure.canvas.get_renderer(), figure.dpi / 72
    marks = ax.transData.transform([(x, y) for x, y, *_ in points])
    taken: list[Box] = [_around(mark, 4 * scale, 4 * scale) for mark in marks]
    edge = ax.get_window_extent()
    frame = (edge.x0, edge.y0, edge.x1, edge.y1)
    crowd = [sum(np.hypot(*(mark - other)) < 40 * scale for other in marks) for mark in marks]
    for i in sorted(range(len(points)), key=lambda i: (-crowd[i], -marks[i][1], i)):
        _, _, text, color = points[i]
        width, height, _ = renderer.get_text_width_height_descent(text, font, False)
        others = taken[:i] + taken[i + 1 :]
        centre = _best(marks[i], width, height, scale, others, frame)
        taken.append(_around(centre, width / 2, height / 2))
        offset = (centre - marks[i]) / scale
        far = _gap(marks[i], taken[-1]) > 9 * scale
        ax.annotate(
            text, points[i][:2], xytext=tuple(offset), textcoords="offset points",
            ha="center", va="center", fontsize=_SIZE, color=color, zorder=4,
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.6, "alpha": 0.7,
                        "shrinkA": 0, "shrinkB": 3} if far else None,
        )  # fmt: skip


def _best(
    mark: Any, width: float, height: float, scale: float, taken: list[Box], frame: Box
) -> Any:
    found, least = mark, np.inf
    for distance in _DISTANCES:
        for angle in _ANGLES:
            towards = np.array([np.cos(angle), np.sin(angle)])
            centre = mark + towards * (distance * scale + np.array([width, height]) / 2)
            box = _around(centre, width / 2, height / 2)
            cost = sum(_overlap(box, other) for other in taken)
            cost += width * height - _overlap(box, frame)
            if cost < 1e-6:
                return centre
            if cost < least:
                found, least = centre, cost
    return found


def _around(centre: Any, half_width: float, half_height: float) -> Box:
    x, y = centre
    return x - half_width, y - half_height, x + half_width, y + half_height


def _overlap(a: Box, b: Box) -> float:
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    return max(wide, 0.0) * max(high, 0.0)


def _gap(point: Any, box: Box) -> float:
    x = max(box[0] - point[0], 0.0, point[0] - box[2])
    y = max(box[1] - point[1], 0.0, point[1] - box[3])
    return float(np.hypot(x, y))
