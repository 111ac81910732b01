"""Which plane a picture shows, and polyhedra cut by it, seen through a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from polyceptron.plots import style
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Rule, as_rule
from polyceptron.utils.checks import place_of
from polyceptron.utils.text import inequality
from polyceptron.utils.types import Floats

Limits = tuple[tuple[float, float], tuple[float, float]]

Wanted: TypeAlias = "str | Sequence[int | str] | Plane | None"
"""A plane as the caller names it: "pca", "faces", two columns, itself, or None to choose."""

_PARALLEL = 1e-12
_MORE = 8
"""Characters that the numbers that decide may take more than three digits of them."""
# The window itself: u >= 0, v >= 0, u <= 1, v <= 1.
_WINDOW = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, -1.0, 1.0]])
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


@dataclass(frozen=True, eq=False)
class Plane:
    """All points ``origin + u * axes[0] + v * axes[1]``, in user units, through the point `at`."""

    axes: Floats
    at: Floats
    labels: tuple[str, str]
    title: str
    columns: tuple[int, int] | None = None
    """The two shown (one column twice, where there is no other); None: mixtures of columns."""
    spread: Floats | float = 1.0
    """Of the columns, where u and v are mixtures of them."""

    @property
    def origin(self) -> Floats:
        """Where u and v are zero."""
        return self.at if self.columns is None else np.where(self.axes.any(axis=0), 0.0, self.at)

    @property
    def is_line(self) -> bool:
        """Whether there is one column only, and v says nothing."""
        return not self.axes[1].any()

    def of_rows(self, X: Floats) -> Floats:
        """Return where rows are seen, (n, 2)."""
        return (X - self.origin) @ (self.axes / self.spread**2).T

    def lines(self, polyhedron: Polyhedron) -> Floats:
        """Return the faces as rows [w_0, w_1, c]: margins are ``w_0 * u + w_1 * v + c``."""
        offsets = polyhedron.margins(self.origin[None, :])[0]
        return np.column_stack([polyhedron.W @ self.axes.T, offsets])

    def in_words(self, polyhedron: Polyhedron, names: list[str]) -> dict[int, str]:
        """Return each face in words: in the two columns, or by the columns that matter most."""
        if self.columns is None:
            return {k: _strongest(w * self.spread, names) for k, w in enumerate(polyhedron.W)}
        shown = [self.columns[0]] if self.is_line else list(self.columns)
        pair = [names[c] for c in shown]
        texts = {}
        for k, (*_, offset) in enumerate(self.lines(polyhedron).tolist()):
            w = polyhedron.W[k, shown]
            texts[k] = "holds everywhere here" if offset >= 0 else "holds nowhere here"
            if w.any():
                exact, short = (inequality(w, offset, pair, digits) for digits in (None, 3))
                text = exact if len(exact) <= len(short) + _MORE else short
                texts[k] = text.replace(">=", "≥").replace("<=", "≤")
        return texts


def _strongest(weights: Floats, names: list[str]) -> str:
    """Return the two columns with the largest weights, each with its sign."""
    order = np.argsort(-np.abs(weights), kind="stable")
    order = order[weights[order] != 0]
    signed = [f"{'+' if weights[j] > 0 else style.MINUS} {names[j]}" for j in order[:2]]
    return ", ".join(signed) + (", …" if len(order) > 2 else "")


def of_columns(columns: tuple[int, int], at: Floats, names: list[str]) -> Plane:
    """Return the plane through `at` along two columns, in their own units."""
    i, j = columns
    axes = np.zeros((2, len(at)))
    axes[0, i] = 1.0
    axes[1, j] = i != j
    rest = [c for c in range(len(at)) if c not in columns]
    rest.sort(key=lambda c: at[c] == 0)  # of the values of a text column, that which is there
    held = ", ".join(f"{style.shorten(names[c], 20)} = {at[c]:.3g}" for c in rest[:3])
    more = f" and {len(rest) - 3} more" if len(rest) > 3 else ""
    title = f"Slice at {held}{more}" if rest else ""
    return Plane(axes, at, (names[i], "" if i == j else names[j]), title, columns)


def of_directions(
    wanted: str, polyhedron: Polyhedron, X: Floats, at: Floats, names: list[str]
) -> Plane:
    """Return the plane through `at` of two mixtures of standardised columns.

    They are the main directions of the rows ("pca"), or those closest to all normals ("faces"),
    so that with two faces the plane holds both.
    """
    Z, spread = standard(X)
    variances, directions = _main_directions(Z)
    total = float((Z**2).mean(axis=0).sum()) or 1.0
    if wanted == "pca":
        heads = [f"principal component ({share:.0%} of the spread)" for share in variances / total]
        what = "PCA plane of standardised columns; rows are projected onto it"
    else:
        # Where the normals have one direction only, the rows give another.
        faint = 1e-9 * directions * np.sqrt(variances / max(variances[0], 1e-300))[:, None]
        normals = np.vstack([normals_of(polyhedron, spread), faint])
        directions = np.linalg.svd(normals, full_matrices=False)[2][:2]
        heads = ["direction of the faces"] * 2
        what = "Plane closest to the normals, columns standardised; rows are projected onto it"
    # With signs that are the same on every machine.
    largest = np.abs(directions).argmax(axis=1)
    directions = directions * np.sign(directions[[0, 1], largest])[:, None]
    rounded = np.where(np.abs(directions) > 1e-9, directions, 0.0)
    first, second = (
        f"{ordinal} {head}\n{_strongest(w, names)}"
        for ordinal, head, w in zip(("first", "second"), heads, rounded, strict=True)
    )
    return Plane(directions * spread, at, (first, second), what, spread=spread)


def standard(X: Floats) -> tuple[Floats, Floats]:
    """Return rows with columns of zero mean and unit spread, and the spreads (never zero)."""
    spread = X.std(axis=0)
    spread[~(spread > 1e-12 * np.abs(X).max(axis=0))] = 1.0
    return (X - X.mean(axis=0)) / spread, spread


def normals_of(polyhedron: Polyhedron, spread: Floats) -> Floats:
    """Return the normals of the faces per spread of the columns, of length one."""
    # First by the largest: tiny and huge normals keep their squares.
    normals = polyhedron.W / np.abs(polyhedron.W).max(axis=1, keepdims=True) * spread
    return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))


def middle_of(X: Floats) -> Floats:
    """Return the medians of rows; columns of 0 and 1 as in the row nearest to their means."""
    middle: Floats = np.median(X, axis=0)
    # So a column of text, one column for each value, is at its commonest value, not at none.
    flags = np.flatnonzero(((X == 0) | (X == 1)).all(axis=0))
    marks = X[:, flags]
    middle[flags] = marks[((marks - marks.mean(axis=0)) ** 2).sum(axis=1).argmin()]
    return middle


def _main_directions(Z: Floats) -> tuple[Floats, Floats]:
    """Return the two largest variances and their directions, which are orthogonal."""
    n, d = Z.shape
    if n >= d:
        values, vectors = np.linalg.eigh(Z.T @ Z / n)
        values, vectors = values[::-1][:2], vectors.T[::-1][:2]
    else:
        _, singular, vectors = np.linalg.svd(np.vstack([Z, np.zeros((2, d))]), full_matrices=False)
        values, vectors = singular[:2] ** 2 / n, vectors[:2]
    return np.maximum(values, 0.0), vectors


def _deepest(polyhedra: Sequence[Polyhedron], X: Floats) -> Floats:
    """Return the row that is deepest inside, by standardised columns."""
    _, spread = standard(X)
    depths = [(p.margins(X) / np.linalg.norm(p.W * spread, axis=1)).min(axis=1) for p in polyhedra]
    return np.array(X[np.max(depths, axis=0).argmax()])


def room_around(points: Floats, share: float = 0.06) -> Limits:
    """Return limits that have these points, and some room around them."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.where(high > low, share * (high - low), np.maximum(1.0, 0.1 * np.abs(high)))
    (left, bottom), (right, top) = (low - room).tolist(), (high + room).tolist()
    return (left, right), (bottom, top)


def window_without_rows(lines: Floats) -> Limits:
    """Return limits that show the corners of the inside, else where lines or axes meet."""
    points = _crossings(lines)
    if len(points):
        size = np.abs(lines[:, :2]).max(axis=1) * (1.0 + np.abs(points).max())
        values = np.column_stack([points, np.ones(len(points))]) @ lines.T
        proper = points[(values >= -1e-9 * size).all(axis=1)]
        points = proper if len(proper) >= 3 else points
    if not len(points) or not np.ptp(points, axis=0).all():
        slopes = [(axis, lines[lines[:, axis] != 0]) for axis in (0, 1)]
        on_axes = [np.outer(-some[:, 2] / some[:, axis], np.eye(2)[axis]) for axis, some in slopes]
        points = np.concatenate([points, *on_axes])
    if len(points) < 2:  # one corner: a size from its distance to the axes
        points = np.vstack([points, np.zeros((1, 2))])
    return room_around(points, 0.3)


def names_of(polyhedron: Polyhedron, width: int = 24) -> list[str]:
    """Return what the columns are called in a picture."""
    return style.short_names(as_rule(polyhedron).names, width)


def all_faces(polyhedra: Sequence[Polyhedron]) -> Polyhedron:
    """Return the faces of several in one polyhedron, each only once."""
    if len(polyhedra) == 1:
        return polyhedra[0]
    # A test of a tree is a face of its leaves on both sides.
    faces, _ = Rule.inside(["inside", "outside"], 0, *polyhedra).faces
    return Polyhedron(faces[:, :-1], faces[:, -1], polyhedra[0].feature_names)


def choose_plane(
    wanted: Wanted, polyhedra: Sequence[Polyhedron], X: Floats | None, at: Any
) -> Plane:
    """Return the plane to draw: through the point given, the middle, or the row deepest inside."""
    if isinstance(wanted, Plane):
        return wanted
    every = all_faces(polyhedra)
    names = names_of(every, 16 if isinstance(wanted, str) else 24)
    if isinstance(wanted, str) and wanted not in ("pca", "faces"):
        raise ValueError(f"plane must be 'pca', 'faces' or two columns of {names}, got {wanted!r}")
    if isinstance(wanted, str) and (X is None or every.n_features < 2):
        raise ValueError(f"plane={wanted!r} needs X, with at least two columns")
    columns = None if isinstance(wanted, str) else _columns_of(wanted, every)

    def through(point: Floats) -> Plane:
        if columns is not None:
            return of_columns(columns, point, names)
        return of_directions(str(wanted), every, np.asarray(X), point, names)

    if at is not None or X is None:
        return through(_point_of(at, every.n_features, X))
    plane = through(middle_of(X))
    window = room_around(plane.of_rows(X))
    shows_inside = any(len(cut(plane.lines(p), window).polygon()) >= 3 for p in polyhedra)
    return plane if shows_inside else through(_deepest(polyhedra, X))


def _columns_of(wanted: Sequence[int | str] | None, polyhedron: Polyhedron) -> tuple[int, int]:
    if wanted is None:
        return 0, min(1, polyhedron.n_features - 1)
    if len(wanted) != 2:
        raise ValueError(f"plane must be two columns, 'pca' or 'faces'; got {wanted!r}")
    names = as_rule(polyhedron).names
    found = [place_of(column, names, "plane", ValueError) for column in wanted]
    if found[0] == found[1]:
        raise ValueError(f"plane must be two different columns, got {wanted!r}")
    return found[0], found[1]


def _point_of(at: ArrayLike | None, d: int, X: Floats | None) -> Floats:
    if at is None:
        if d > 2:
            raise ValueError(f"at or X must be given: a slice of {d} columns goes through a point")
        return np.zeros(d)
    if isinstance(at, int | np.integer):
        if X is None or not -len(X) <= at < len(X):
            raise ValueError(f"at={at} is no row: X has {0 if X is None else len(X)} rows")
        return np.array(X[at])
    point = np.array(at, dtype=float)
    if point.shape != (d,) or not np.isfinite(point).all():
        raise ValueError(
            f"at must be {d} finite numbers, one a column, or the number of a row of X; got {at!r}"
        )
    return point


# --- a plane cuts polyhedra, seen through a window ----------------------------------------


@dataclass(frozen=True)
class Slice:
    """Half-planes ``w . (u, v) + c >= 0`` in a window, whose corners are (0, 0) and (1, 1)."""

    raw: Floats
    """Rows [w_0, w_1, c] whose values are the margins of the faces."""
    lines: Floats
    """The same with w of length one, or [0, 0, c] where the face does not depend on the place."""
    limits: Limits

    def polygon(self) -> Floats:
        """Return the corners of the inside that the window shows, in user units: (m, 2)."""
        return self.to_user(_clipped(self.lines))

    def cell(self, k: int, inside: bool | None = None) -> Floats:
        """Return the corners of S_k, where face `k` is least; `inside`: its part there, or not."""
        # Margins as they are decide, so these differences are not normalised.
        closer = self.raw - self.raw[k]
        if not closer[:k].any(axis=1).all():  # the first of equal faces is responsible
            return np.empty((0, 2))
        closer[k] = 0.0 if inside is None else self.lines[k] if inside else -self.lines[k]
        return self.to_user(_clipped(closer))

    def chord(self, k: int) -> Floats | None:
        """Return the part of the line of face `k` in the window, (2, 2), or None."""
        return self._segment(k, _WINDOW)

    def edge(self, k: int) -> Floats | None:
        """Return the part of the line of face `k` that bounds the inside, (2, 2), or None."""
        return self._segment(k, np.concatenate([_WINDOW, np.delete(self.lines, k, axis=0)]))

    def to_user(self, points: Floats) -> Floats:
        """Return points of the window in user units."""
        (left, right), (low, high) = self.limits
        return points * [right - left, high - low] + [left, low]

    def _segment(self, k: int, within: Floats) -> Floats | None:
        w, c = self.lines[k, :2], self.lines[k, 2]
        if not w.any():
            return None
        start, direction = -c * w, np.array([-w[1], w[0]])
        slopes, values = within[:, :2] @ direction, within[:, :2] @ start + within[:, 2]
        up, down = slopes > _PARALLEL, slopes < -_PARALLEL
        if (values[~up & ~down] < -_PARALLEL).any():
            return None
        first = (-values[up] / slopes[up]).max(initial=-np.inf)
        last = (-values[down] / slopes[down]).min(initial=np.inf)
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


def _crossings(lines: Floats) -> Floats:
    """Return where any two lines meet."""
    units = np.append(np.abs(lines[:, :2]).max(axis=0, initial=0.0), 1.0)
    units[units == 0] = 1.0  # so that what is parallel does not depend on units
    lines = lines / units
    i, j = np.triu_indices(len(lines), 1)
    points = np.cross(lines[i], lines[j])  # in homogeneous coordinates
    lengths = np.linalg.norm(lines[:, :2], axis=1)
    points = points[np.abs(points[:, 2]) > _PARALLEL * lengths[i] * lengths[j]]
    return np.asarray(points[:, :2] / points[:, 2:] / units[:2])


def _clipped(lines: Floats) -> Floats:
    """Return the part of the window on the inner side of all lines (Sutherland and Hodgman)."""
    corners = _CORNERS
    for line in lines:
        values = corners @ line[:2] + line[2]
        change, is_inside = values - np.roll(values, -1), values >= 0
        crosses = is_inside != np.roll(is_inside, -1)
        share = np.divide(values, change, out=np.zeros_like(values), where=crosses)
        met = corners + share[:, None] * (np.roll(corners, -1, axis=0) - corners)
        corners = np.stack([corners, met], axis=1)[np.column_stack([is_inside, crosses])]
    return corners
