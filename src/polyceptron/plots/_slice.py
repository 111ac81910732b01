"""A polyhedron cut by a plane parallel to two axes, seen through a window: plane geometry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyceptron._text import inequality
from polyceptron._types import Floats
from polyceptron.polyhedron import Polyhedron

Limits = tuple[tuple[float, float], tuple[float, float]]

_PARALLEL = 1e-12
# The window itself: u >= 0, v >= 0, u <= 1, v <= 1.
_WINDOW = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, -1.0, 1.0]])


@dataclass(frozen=True)
class Slice:
    """Half-planes ``w . (u, v) + c >= 0`` in a window, whose corners are (0, 0) and (1, 1).

    ``lines`` has the rows [w_0, w_1, c], with w of length one, or [0, 0, c] where the
    face does not depend on the two columns.
    """

    lines: Floats
    limits: Limits

    def polygon(self) -> Floats:
        """Return the corners of the inside that the window shows, in user units: (m, 2)."""
        corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        for line in self.lines:
            corners = _clip(corners, line)
        return self.to_user(corners)

    def chord(self, k: int) -> Floats | None:
        """Return the part of the line of face `k` in the window, (2, 2), or None."""
        return self._segment(k, _WINDOW)

    def edge(self, k: int) -> Floats | None:
        """Return the part of the line of face `k` that bounds the inside, (2, 2), or None."""
        others = np.delete(self.lines, k, axis=0)
        return self._segment(k, np.concatenate([_WINDOW, others]))

    def inward(self, k: int) -> Floats:
        """Return the direction, in the window, to the inner side of face `k`."""
        direction: Floats = self.lines[k, :2]
        return direction

    def to_user(self, points: Floats) -> Floats:
        """Return points of the window in user units."""
        (left, right), (low, high) = self.limits
        return points * [right - left, high - low] + [left, low]

    def _segment(self, k: int, within: Floats) -> Floats | None:
        w, c = self.lines[k, :2], self.lines[k, 2]
        if not w.any():
            return None
        start, direction = -c * w, np.array([-w[1], w[0]])
        first, last = -np.inf, np.inf
        for line in within:
            slope, value = line[:2] @ direction, line[:2] @ start + line[2]
            if abs(slope) <= _PARALLEL:
                if value < -_PARALLEL:
                    return None
            elif slope > 0:
                first = max(first, -value / slope)
            else:
                last = min(last, -value / slope)
        if last - first <= _PARALLEL:
            return None
        return self.to_user(start + np.outer([first, last], direction))


def cut(polyhedron: Polyhedron, columns: tuple[int, int], at: Floats, limits: Limits) -> Slice:
    """Return what a window shows of the plane through `at` along two columns."""
    corner = at.copy()
    corner[list(columns)] = [limits[0][0], limits[1][0]]
    spans = np.array([high - low for low, high in limits])
    w, c = polyhedron.W[:, columns] * spans, polyhedron.margins(corner[None, :])[0]
    lengths = np.linalg.norm(w, axis=1)
    flat = lengths <= _PARALLEL * np.abs(c)
    w[flat], lengths[flat] = 0.0, 1.0
    return Slice(np.column_stack([w / lengths[:, None], c / lengths]), limits)


def in_words(
    polyhedron: Polyhedron, names: Sequence[str], columns: tuple[int, int], at: Floats
) -> dict[int, str]:
    """Return each face as an inequality in the two columns, the others held at `at`."""
    rest = at.copy()
    rest[list(columns)] = 0.0
    pair = [names[c] for c in columns]
    texts = {}
    for k, offset in enumerate(polyhedron.margins(rest[None, :])[0].tolist()):
        w = polyhedron.W[k, list(columns)]
        if w.any():
            texts[k] = inequality(w, offset, pair, 3).replace(">=", "≥")
        else:
            texts[k] = "holds everywhere here" if offset >= 0 else "holds nowhere here"
    return texts


def where(names: Sequence[str], columns: tuple[int, int], at: Floats) -> str:
    """Return what the other columns are held at, the first three by name."""
    rest = [c for c in range(len(names)) if c not in columns]
    held = ", ".join(f"{names[c]} = {at[c]:.3g}" for c in rest[:3])
    return f"Slice at {held}" + (f" and {len(rest) - 3} more" if len(rest) > 3 else "")


def _clip(corners: Floats, line: Floats) -> Floats:
    """Return the part of a convex polygon on the inner side of a line (Sutherland-Hodgman)."""
    values = corners @ line[:2] + line[2]
    kept: list[Floats] = []
    for i in range(len(corners)):
        j = (i + 1) % len(corners)
        if values[i] >= 0:
            kept.append(corners[i])
        if (values[i] >= 0) != (values[j] >= 0):
            share = values[i] / (values[i] - values[j])
            kept.append(corners[i] + share * (corners[j] - corners[i]))
    return np.array(kept).reshape(-1, 2)
