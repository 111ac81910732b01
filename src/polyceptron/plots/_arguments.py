"""What the caller of a display gave, checked, and what it did not give, chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron._types import Floats
from polyceptron.plots._slice import Limits, cut
from polyceptron.polyhedron import Polyhedron


def as_array(X: Any, polyhedron: Polyhedron) -> Floats:
    """Return dense, finite rows that fit the polyhedron."""
    polyhedron.margins(X)  # says what is wrong with them
    rows: Floats = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    if len(rows) == 0:
        raise ValueError("X has no rows to draw")
    return rows


def names_of(polyhedron: Polyhedron) -> Sequence[str]:
    return polyhedron.feature_names or [f"x{j}" for j in range(polyhedron.n_features)]


def columns_of(features: Sequence[int | str], polyhedron: Polyhedron) -> tuple[int, int]:
    names = list(names_of(polyhedron))
    if isinstance(features, str) or len(features) != 2:
        raise ValueError(f"features must be two columns, got {features!r}")
    found = []
    for feature in features:
        known = feature in names if isinstance(feature, str) else 0 <= feature < len(names)
        if not known:
            raise ValueError(f"features has {feature!r}, which is none of the columns {names}")
        found.append(names.index(feature) if isinstance(feature, str) else int(feature))
    if found[0] == found[1]:
        raise ValueError(f"features must be two different columns, got {features!r}")
    return found[0], found[1]


def point_of(at: ArrayLike, X: Floats) -> Floats:
    point = np.array(at, dtype=float)
    if point.shape != (X.shape[1],) or not np.isfinite(point).all():
        raise ValueError(f"at must be {X.shape[1]} finite numbers, one a column; got {at!r}")
    return point


def labels_of(y: Any, n: int) -> NDArray[Any]:
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y must be {n} labels, one a row of X; got shape {labels.shape}")
    return labels


def telling_point(polyhedron: Polyhedron, columns: tuple[int, int], X: Floats) -> Floats:
    """Return the mean of the rows, or the row deepest inside where that slice shows no inside."""
    mean: Floats = X.mean(axis=0)
    view = cut(polyhedron, columns, mean, room_around(X[:, columns]))
    return mean if len(view.polygon()) >= 3 else _deepest(polyhedron, X)


def _deepest(polyhedron: Polyhedron, X: Floats) -> Floats:
    """Return the row farthest from all faces, in units of the columns' spread."""
    spread = X.std(axis=0)
    lengths = np.linalg.norm(polyhedron.W * np.where(spread > 0, spread, 1.0), axis=1)
    row: Floats = X[(polyhedron.margins(X) / lengths).min(axis=1).argmax()].copy()
    return row


def room_around(points: Floats) -> Limits:
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.where(high > low, 0.06 * (high - low), 1.0)
    (left, bottom), (right, top) = (low - room).tolist(), (high + room).tolist()
    return (left, right), (bottom, top)
