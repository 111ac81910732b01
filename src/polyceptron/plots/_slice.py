"""A polyhedron cut by a plane, seen through a window: plane geometry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyceptron.utils.types import Floats

Limits = tuple[tuple[float, float], tuple[float, float]]

_PARALLEL = 1e-12
# The window itself: u >= 0, v >= 0, u <= 1, v <= 1.
_WINDOW = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, -1.0, 1.0]])
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


@dataclass(frozen=True)
class Slice:
    """Half-planes ``w . (u, v) + c >= 0`` in a window, whose corners are (0, 0) and (1, 1).

    ``raw`` has the rows [w_0, w_1, c] whose values are the margins of the faces; ``lines``
    the same with w of length one, or [0, 0, c] where the face does not depend on the place.
    """

    raw: Floats
    lines: Floats
    limits: Limits

    def polygon(self) -> Floats:
        """Return the corners of the inside that the window shows, in user units: (m, 2)."""
        return self.to_user(_clip_all(_CORNERS, self.lines))

    def cell(self, k: int, inside: bool | None = None) -> Floats:
        """Return the corners of S_k, where face `k` has the least margin, in user units.

        ``inside`` leaves only its part in the polyhedron, or only the part that face `k` rejects.
        """
        corners = _CORNERS
        if inside is not None:
            corners = _clip(corners, self.lines[k] if inside else -self.lines[k])
        # Margins as they are decide, so these differences are not normalised.
        closer = self.raw - self.raw[k]
        if not closer[:k].any(axis=1).all():  # the first of equal faces is responsible
            return np.empty((0, 2))
        closer = np.delete(closer, k, axis=0)
        return self.to_user(_clip_all(corners, closer))

    def chord(self, k: int) -> Floats | None:
        """Return the part of the line of face `k` in the window, (2, 2), or None."""
        return self._segment(k, _WINDOW)

    def edge(self, k: int) -> Floats | None:
        """Return the part of the line of face `k` that bounds the inside, (2, 2), or None."""
        others = np.delete(self.lines, k, axis=0)
        return self._segment(k, np.concatenate([_WINDOW, others]))

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


def cut(lines: Floats, limits: Limits) -> Slice:
    """Return what a window shows of half-planes ``lines @ [u, v, 1] >= 0`` in user units."""
    corner = np.array([limits[0][0], limits[1][0], 1.0])
    spans = np.array([high - low for low, high in limits])
    w, c = lines[:, :2] * spans, lines @ corner
    lengths = np.linalg.norm(w, axis=1)
    flat = lengths <= _PARALLEL * np.abs(c)
    w[flat], lengths[flat] = 0.0, 1.0
    raw = np.column_stack([w, c])
    return Slice(raw, np.column_stack([w / lengths[:, None], c / lengths]), limits)


def corners_of(lines: Floats) -> Floats:
    """Return the points to show where there are no rows to go by: (m, 2), none for no line.

    They are the corners of the inside, else where lines meet, else where they meet the axes.
    """
    meeting = _crossings(lines)
    if len(meeting):
        size = np.abs(lines[:, :2]).max(axis=1) * (1.0 + np.abs(meeting).max())
        values = np.column_stack([meeting, np.ones(len(meeting))]) @ lines.T
        proper = meeting[(values >= -1e-9 * size).all(axis=1)]
        if len(proper) >= 3:
            return np.asarray(proper)
        if np.ptp(meeting, axis=0).all():
            return meeting
    slopes = [(axis, lines[lines[:, axis] != 0]) for axis in (0, 1)]
    on_axes = [np.outer(-some[:, 2] / some[:, axis], np.eye(2)[axis]) for axis, some in slopes]
    return np.concatenate([meeting, *on_axes])


def _crossings(lines: Floats) -> Floats:
    """Return where any two lines meet."""
    units = np.abs(lines[:, :2]).max(axis=0, initial=0.0)
    units[units == 0] = 1.0  # so that what is parallel does not depend on units
    w = lines[:, :2] / units
    i, j = np.triu_indices(len(lines), 1)
    det = w[i, 0] * w[j, 1] - w[i, 1] * w[j, 0]
    lengths = np.linalg.norm(w, axis=1)
    meet = np.abs(det) > _PARALLEL * lengths[i] * lengths[j]
    i, j, det, c = i[meet], j[meet], det[meet], lines[:, 2]
    u = (w[i, 1] * c[j] - w[j, 1] * c[i]) / det
    v = (w[j, 0] * c[i] - w[i, 0] * c[j]) / det
    return np.asarray(np.column_stack([u, v]) / units)


def _clip_all(corners: Floats, lines: Floats) -> Floats:
    for line in lines:
        corners = _clip(corners, line)
    return corners


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
