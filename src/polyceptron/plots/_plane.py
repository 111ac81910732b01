"""Which plane a picture shows: two columns, the main directions of the rows, or of the faces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polyceptron.plots._slice import Limits, corners_of, cut
from polyceptron.plots.style import MINUS, short_names, shorten
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.text import inequality
from polyceptron.utils.types import Floats

Wanted = str | Sequence[int | str] | None
"""A plane as the caller names it: "pca", "faces", two columns, or None to choose."""

_ORDINAL = ("first", "second")


@dataclass(frozen=True, eq=False)
class Plane:
    """All points ``origin + u * axes[0] + v * axes[1]``, in user units.

    ``readers`` says where a row is seen: ``(x - origin) @ readers.T``. ``columns`` are the two
    columns shown (one column twice, where there is no other), or None where u and v are mixtures
    of columns. ``at`` is the point the plane was asked to go through.
    """

    origin: Floats
    axes: Floats
    readers: Floats
    at: Floats
    labels: tuple[str, str]
    title: str
    columns: tuple[int, int] | None = None
    spread: Floats | None = None
    """Of the columns, where u and v are mixtures of them."""

    @property
    def is_line(self) -> bool:
        """Whether there is one column only, and v says nothing."""
        return not self.axes[1].any()

    def of_rows(self, X: Floats) -> Floats:
        """Return where rows are seen, (n, 2)."""
        if self.columns is not None:  # exactly their values
            seen = X[:, self.columns].copy()
            seen[:, 1] *= not self.is_line
            return seen
        return (X - self.origin) @ self.readers.T

    def lines(self, polyhedron: Polyhedron) -> Floats:
        """Return the faces as rows [w_0, w_1, c]: margins are ``w_0 * u + w_1 * v + c``."""
        offsets = polyhedron.margins(self.origin[None, :])[0]
        return np.column_stack([polyhedron.W @ self.axes.T, offsets])

    def in_words(self, polyhedron: Polyhedron, names: list[str]) -> dict[int, str]:
        """Return each face in words: in the two columns, or by the columns that matter most."""
        if self.columns is None:
            return {k: strongest(w * self.spread, names, 2) for k, w in enumerate(polyhedron.W)}
        shown = [self.columns[0]] if self.is_line else list(self.columns)
        pair = [names[c] for c in shown]
        texts = {}
        for k, (*_, offset) in enumerate(self.lines(polyhedron).tolist()):
            w = polyhedron.W[k, shown]
            texts[k] = "holds everywhere here" if offset >= 0 else "holds nowhere here"
            if w.any():
                texts[k] = inequality(w, offset, pair, 3).replace(">=", "≥")
        return texts


def strongest(weights: Floats, names: list[str], most: int) -> str:
    """Return the columns with the largest weights, each with its sign."""
    order = np.argsort(-np.abs(weights), kind="stable")
    order = order[weights[order] != 0]
    signed = [f"{'+' if weights[j] > 0 else MINUS} {names[j]}" for j in order[:most]]
    return ", ".join(signed) + (", …" if len(order) > most else "")


def of_columns(columns: tuple[int, int], at: Floats, names: list[str]) -> Plane:
    """Return the plane through `at` along two columns, in their own units."""
    axes = np.zeros((2, len(at)))
    axes[0, columns[0]] = 1.0
    if columns[0] != columns[1]:
        axes[1, columns[1]] = 1.0
    origin = np.where(axes.any(axis=0), 0.0, at)
    i, j = columns
    rest = [c for c in range(len(at)) if c not in columns]
    rest.sort(key=lambda c: at[c] == 0)  # of the values of a text column, that which is there
    held = ", ".join(f"{shorten(names[c], 20)} = {at[c]:.3g}" for c in rest[:3])
    more = f" and {len(rest) - 3} more" if len(rest) > 3 else ""
    title = f"Slice at {held}{more}" if rest else ""
    labels = (names[i], "" if i == j else names[j])
    return Plane(origin, axes, axes, at, labels, title, columns)


def of_rows(X: Floats, names: list[str]) -> Callable[[Floats], Plane]:
    """Return the plane of the two main directions of standardised rows, through a point given."""
    Z, spread = standard(X)
    variances, directions = _main_directions(Z)
    total = float((Z**2).mean(axis=0).sum()) or 1.0
    heads = [
        f"{ordinal} principal component ({share:.0%} of the spread)"
        for ordinal, share in zip(_ORDINAL, variances / total, strict=True)
    ]
    what = "PCA plane of standardised columns; rows are projected onto it"
    return _mixture(directions, spread, heads, what, names)


def of_faces(polyhedron: Polyhedron, X: Floats, names: list[str]) -> Callable[[Floats], Plane]:
    """Return the plane closest to all normals, by standardised columns, through a point given.

    With two faces it holds both normals: every row is seen where it lies to both.
    """
    Z, spread = standard(X)
    normals = normals_of(polyhedron, spread)
    _, sizes, directions = np.linalg.svd(
        np.vstack([normals, np.zeros((1, len(spread)))]), full_matrices=False
    )
    first, second = directions[:2]
    if sizes[1] <= 1e-9 * sizes[0]:  # one direction decides; the rows give another
        second = _beside(first, _main_directions(Z - np.outer(Z @ first, first))[1][0])
    heads = [f"{ordinal} direction of the faces" for ordinal in _ORDINAL]
    what = "Plane closest to the normals, columns standardised; rows are projected onto it"
    return _mixture(np.stack([first, second]), spread, heads, what, names)


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
    """Return the medians of rows; columns of 0 and 1 as in the row nearest to their means.

    So a column of text, one column for each value, is at its commonest value, not at none.
    """
    middle: Floats = np.median(X, axis=0)
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


def _beside(first: Floats, wanted: Floats) -> Floats:
    """Return what is orthogonal to a direction in another, or in a column where nothing is."""
    for other in (wanted, np.eye(len(first))[np.abs(first).argmin()]):
        across = other - (other @ first) * first
        size = float(np.linalg.norm(across))
        if size > 1e-6:
            break
    across = across / size
    return np.asarray(across - (across @ first) * first)


def _mixture(
    directions: Floats, spread: Floats, heads: list[str], what: str, names: list[str]
) -> Callable[[Floats], Plane]:
    # A direction has two signs; the same is taken on every machine.
    largest = np.abs(directions).argmax(axis=1)
    directions = directions * np.sign(directions[[0, 1], largest])[:, None]
    rounded = np.where(np.abs(directions) > 1e-9, directions, 0.0)
    first, second = (
        f"{head}\n{strongest(w, names, 2)}" for head, w in zip(heads, rounded, strict=True)
    )
    axes, readers = directions * spread, directions / spread

    def through(at: Floats) -> Plane:
        return Plane(at, axes, readers, at, (first, second), what, spread=spread)

    return through


def telling_point(
    polyhedra: Sequence[Polyhedron], through: Callable[[Floats], Plane], X: Floats
) -> Floats:
    """Return the middle of the rows, or the row deepest inside where that shows no inside."""
    middle = middle_of(X)
    plane = through(middle)
    window = room_around(plane.of_rows(X))
    if any(len(cut(plane.lines(p), window).polygon()) >= 3 for p in polyhedra):
        return middle
    _, spread = standard(X)
    depths = [(p.margins(X) / np.linalg.norm(p.W * spread, axis=1)).min(axis=1) for p in polyhedra]
    deepest: Floats = X[np.max(depths, axis=0).argmax()].copy()
    return deepest


def room_around(points: Floats, share: float = 0.06) -> Limits:
    """Return limits that have these points, and some room around them."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.where(high > low, share * (high - low), np.maximum(1.0, 0.1 * np.abs(high)))
    (left, bottom), (right, top) = (low - room).tolist(), (high + room).tolist()
    return (left, right), (bottom, top)


def window_without_rows(lines: Floats) -> Limits:
    """Return limits that show the corners of the inside."""
    points = corners_of(lines)
    if len(points) < 2:  # one corner: a size from its distance to the axes
        points = np.vstack([points, np.zeros((1, 2))])
    return room_around(points, 0.3)


def names_of(polyhedron: Polyhedron, width: int = 24) -> list[str]:
    """Return what the columns are called in a picture."""
    names = polyhedron.feature_names or [f"x{j}" for j in range(polyhedron.n_features)]
    return short_names(names, width)


def all_faces(polyhedra: Sequence[Polyhedron]) -> Polyhedron:
    """Return the faces of several in one polyhedron, each only once."""
    if len(polyhedra) == 1:
        return polyhedra[0]
    faces = np.concatenate([np.column_stack([p.W, p.b]) for p in polyhedra])
    # A test of a tree is a face of its leaves on both sides.
    first = np.sign(faces[np.arange(len(faces)), (faces != 0).argmax(axis=1)])
    _, index = np.unique(faces * first[:, None], axis=0, return_index=True)
    faces = faces[np.sort(index)]
    return Polyhedron(faces[:, :-1], faces[:, -1], polyhedra[0].feature_names)


def choose_plane(
    wanted: Wanted, polyhedra: Sequence[Polyhedron], X: Floats | None, at: Any
) -> Plane:
    """Return the plane to draw, through the point given or one that tells something."""
    every = all_faces(polyhedra)
    names = names_of(every, 16 if isinstance(wanted, str) else 24)
    through: Callable[[Floats], Plane]
    if isinstance(wanted, str):
        if wanted not in ("pca", "faces"):
            raise ValueError(
                f"plane must be 'pca', 'faces' or two columns of {names}, got {wanted!r}"
            )
        if X is None or every.n_features < 2:
            raise ValueError(f"plane={wanted!r} needs X, with at least two columns")
        through = of_rows(X, names) if wanted == "pca" else of_faces(every, X, names)
    else:
        through = partial(of_columns, _columns_of(wanted, every), names=names)
    return through(_point_of(at, polyhedra, through, X))


def _columns_of(wanted: Sequence[int | str] | None, polyhedron: Polyhedron) -> tuple[int, int]:
    if wanted is None:
        return 0, min(1, polyhedron.n_features - 1)
    if len(wanted) != 2:
        raise ValueError(f"plane must be two columns, 'pca' or 'faces'; got {wanted!r}")
    names = list(polyhedron.feature_names or [f"x{j}" for j in range(polyhedron.n_features)])
    places = {name: j for j, name in enumerate(names)} | {j: j for j in range(len(names))}
    for column in wanted:
        if column not in places:
            raise ValueError(f"plane has {column!r}, which is none of the columns {names}")
    found = [places[column] for column in wanted]
    if found[0] == found[1]:
        raise ValueError(f"plane must be two different columns, got {wanted!r}")
    return found[0], found[1]


def _point_of(
    at: ArrayLike | None,
    polyhedra: Sequence[Polyhedron],
    through: Callable[[Floats], Plane],
    X: Floats | None,
) -> Floats:
    d = polyhedra[0].n_features
    if at is None:
        if X is not None:
            return telling_point(polyhedra, through, X)
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
