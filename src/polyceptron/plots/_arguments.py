"""What the caller of a display gave, checked, and what it did not give, chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron.plots import _plane as planes
from polyceptron.plots._plane import Plane
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats

Wanted = str | Sequence[int | str] | None
"""A plane as the caller names it: "pca", "faces", two columns, or None to choose."""


FAR = 1e150
"""Squares of larger numbers overflow."""


def as_array(X: Any, polyhedron: Polyhedron) -> Floats:
    """Return dense, finite rows that fit the polyhedron."""
    polyhedron.margins(X)  # says what is wrong with them
    rows: Floats = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    if len(rows) == 0:
        raise ValueError("X has no rows to draw")
    far = np.abs(rows).max(axis=1)
    if far.max() > FAR:
        i = int(far.argmax())
        raise ValueError(f"X has {far[i]:.3g} in row {i}, which is too far away to draw")
    return rows.astype(float, copy=False)


def choose_plane(wanted: Wanted, polyhedron: Polyhedron, X: Floats | None, at: Any) -> Plane:
    """Return the plane to draw, through the point given or one that tells something."""
    mixed = isinstance(wanted, str)
    names = planes.names_of(polyhedron, 16 if mixed else 24)
    through: Callable[[Floats], Plane]
    if isinstance(wanted, str):
        if wanted not in ("pca", "faces"):
            raise ValueError(
                f"plane must be 'pca', 'faces' or two columns of {names}, got {wanted!r}"
            )
        if X is None or polyhedron.n_features < 2:
            raise ValueError(f"plane={wanted!r} needs X, with at least two columns")
        through = (
            planes.of_rows(X, names) if wanted == "pca" else planes.of_faces(polyhedron, X, names)
        )
    else:
        columns = _columns_of(wanted, polyhedron)
        through = partial(planes.of_columns, columns, names=names)
    return through(_point_of(at, polyhedron, through, X))


def _columns_of(wanted: Sequence[int | str] | None, polyhedron: Polyhedron) -> tuple[int, int]:
    if wanted is None:
        return 0, min(1, polyhedron.n_features - 1)
    names = list(polyhedron.feature_names or [f"x{j}" for j in range(polyhedron.n_features)])
    if len(wanted) != 2:
        raise ValueError(f"plane must be two columns, 'pca' or 'faces'; got {wanted!r}")
    found = []
    for column in wanted:
        known = column in names if isinstance(column, str) else 0 <= column < len(names)
        if not known:
            raise ValueError(f"plane has {column!r}, which is none of the columns {names}")
        found.append(names.index(column) if isinstance(column, str) else int(column))
    if found[0] == found[1]:
        raise ValueError(f"plane must be two different columns, got {wanted!r}")
    return found[0], found[1]


def _point_of(
    at: ArrayLike | None,
    polyhedron: Polyhedron,
    through: Callable[[Floats], Plane],
    X: Floats | None,
) -> Floats:
    d = polyhedron.n_features
    if at is None:
        if X is not None:
            return planes.telling_point(polyhedron, through, X)
        if d > 2:
            raise ValueError(f"at or X must be given: a slice of {d} columns goes through a point")
        return np.zeros(d)
    if isinstance(at, int | np.integer):
        if X is None or not -len(X) <= at < len(X):
            n = 0 if X is None else len(X)
            raise ValueError(f"at={at} is no row: X has {n} rows")
        row: Floats = X[at].copy()
        return row
    point = np.array(at, dtype=float)
    if point.shape != (d,) or not np.isfinite(point).all():
        raise ValueError(
            f"at must be {d} finite numbers, one a column, or the number of a row of X; got {at!r}"
        )
    return point


def labels_of(y: Any, n: int) -> NDArray[Any]:
    """Return labels, one a row."""
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y must be {n} labels, one a row of X; got shape {labels.shape}")
    return labels


def one_of(value: str, name: str, known: Sequence[str]) -> str:
    """Return a word that is one of those known."""
    if value not in known:
        raise ValueError(f"{name} must be one of {list(known)}, got {value!r}")
    return value
