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

LARGEST = 1e150
"""The largest number that is drawn: squares of larger ones overflow."""
_ENOUGH = 0.9
"""A PCA plane as truthful as this is taken, though another may be more so."""


def as_array(X: Any, polyhedron: Polyhedron) -> Floats:
    """Return dense, finite rows that fit the polyhedron."""
    polyhedron.margins(X)  # says what is wrong with them
    rows: Floats = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    if len(rows) == 0:
        raise ValueError("X has no rows to draw")
    far = np.abs(rows).max(axis=1)
    if far.max() > LARGEST:
        i = int(far.argmax())
        raise ValueError(f"X has {far[i]:.3g} in row {i}, which is too far away to draw")
    return rows.astype(float, copy=False)


def labels_of(y: Any, rows: Floats | None) -> NDArray[Any] | None:
    """Return labels, one a row, where there are any."""
    if y is None or rows is None:
        return None
    labels = np.asarray(y)
    if labels.shape != (len(rows),):
        raise ValueError(f"y must be {len(rows)} labels, one a row of X; got shape {labels.shape}")
    return labels


def one_of(value: str, name: str, known: Sequence[str]) -> str:
    """Return a word that is one of those known."""
    if value not in known:
        raise ValueError(f"{name} must be one of {list(known)}, got {value!r}")
    return value


# --- the plane ----------------------------------------------------------------------------


def choose_plane(
    wanted: Wanted, polyhedra: Sequence[Polyhedron], X: Floats | None, at: Any
) -> Plane:
    """Return the plane to draw, through the point given or one that tells something."""
    every = planes.all_faces(polyhedra)
    names = planes.names_of(every, 16 if isinstance(wanted, str) else 24)
    through: Callable[[Floats], Plane]
    if isinstance(wanted, str):
        if wanted not in ("pca", "faces"):
            raise ValueError(
                f"plane must be 'pca', 'faces' or two columns of {names}, got {wanted!r}"
            )
        if X is None or every.n_features < 2:
            raise ValueError(f"plane={wanted!r} needs X, with at least two columns")
        through = planes.of_rows(X, names) if wanted == "pca" else planes.of_faces(every, X, names)
    else:
        through = partial(planes.of_columns, _columns_of(wanted, every), names=names)
    return through(_point_of(at, polyhedra, through, X))


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
    polyhedra: Sequence[Polyhedron],
    through: Callable[[Floats], Plane],
    X: Floats | None,
) -> Floats:
    d = polyhedra[0].n_features
    if at is None:
        if X is not None:
            return planes.telling_point(polyhedra, through, X)
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


def clearest_plane(polyhedra: Sequence[Polyhedron], X: Floats) -> Wanted:
    """Return the PCA plane, or where it shows too many rows on a wrong side, the truest plane.

    The others are the plane of the faces, and the two columns with the largest weights.
    """
    weights = (planes.normals_of(planes.all_faces(polyhedra), X) ** 2).sum(axis=0)
    first, second = np.sort(np.argsort(-weights, kind="stable")[:2]).tolist()
    inside = [p.contains(X) for p in polyhedra]
    best: Wanted = None
    most = -1.0
    for wanted in ("pca", "faces", (first, second)):
        share = _truth(choose_plane(wanted, polyhedra, X, None), polyhedra, X, inside)
        if wanted == "pca" and share >= _ENOUGH:
            return wanted
        if share > most:
            best, most = wanted, share
    return best


def _truth(
    plane: Plane, polyhedra: Sequence[Polyhedron], X: Floats, inside: list[NDArray[np.bool_]]
) -> float:
    """Return the share of rows seen on the side where they are, both sides counting alike.

    It is a half where the view shows but one side, so that more than that means a face in view.
    """
    points = np.column_stack([plane.of_rows(X), np.ones(len(X))])
    shares = []
    for polyhedron, there in zip(polyhedra, inside, strict=True):
        seen = np.asarray((points @ plane.lines(polyhedron).T >= 0).all(axis=1))
        sides = [seen[there], ~seen[~there]]
        shares.append(np.mean([side.mean() for side in sides if len(side)]))
    return float(np.mean(shares))
