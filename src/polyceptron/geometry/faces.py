"""What the questions about a polyhedron share: their error, unit faces, boxes, weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from polyceptron.polyhedron import Polyhedron, scaled_faces
from polyceptron.rule import as_rule
from polyceptron.scoring import as_rows, check_finite_rows
from polyceptron.utils.checks import as_columns
from polyceptron.utils.types import Floats

FAR = 1e300
"""Faces are taken to be no farther than this from the origin: sums of their offsets stay finite."""


class GeometryError(ValueError):
    """A question to which this polyhedron has no answer: it is empty, unbounded, too large."""


P = ParamSpec("P")
R = TypeVar("R")


def question(function: Callable[P, R]) -> Callable[P, R]:
    """Ask the polyhedron of a fitted learner or a Rule, if it has a single one."""

    @wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        model, *rest = args if args else (kwargs.pop("polyhedron", None),)
        pieces = as_rule(model, "polyhedron", TypeError).pieces
        if len(pieces) > 1:
            raise GeometryError(
                f"the model has {len(pieces)} polyhedra: ask one of them, for example "
                "model.rule_.pieces[0].polyhedron"
            )
        return function(pieces[0].polyhedron, *rest, **kwargs)  # type: ignore[arg-type]

    return asked


class UnitFaces(NamedTuple):
    """Faces ``A x + b >= 0`` with normals of length one."""

    A: Floats
    b: Floats


def unit_faces(W: Floats, b: Floats) -> UnitFaces:
    """Normals of length one, whatever the scale of each face."""
    scaled, offsets, norms = scaled_faces(W, b)
    with np.errstate(over="ignore", under="ignore"):
        return UnitFaces(scaled / norms[:, None], np.clip(offsets / norms, -FAR, FAR))


def with_box(polyhedron: Polyhedron, box: Any) -> Polyhedron:
    """The part of a polyhedron in a box, whose finite sides come as faces after its own."""
    if box is None:
        return polyhedron
    sides, d = list(box) if isinstance(box, Iterable) else [], polyhedron.n_features
    if len(sides) != 2:
        raise ValueError(f"box must be a pair (lower, upper); got {box!r:.200}")
    lower, upper = (as_columns(side, f"box[{i}]", d, finite=False) for i, side in enumerate(sides))
    bad = np.flatnonzero(~(lower <= upper) | (lower == np.inf) | (upper == -np.inf))
    if bad.size:
        j = bad[0]
        raise ValueError(
            f"box must have lower <= upper in every column; column {j} has {lower[j]} and "
            f"{upper[j]}"
        )
    eye, low, high = np.eye(d), np.isfinite(lower), np.isfinite(upper)
    return Polyhedron(
        np.vstack([polyhedron.W, eye[low], -eye[high]]),
        np.concatenate([polyhedron.b, -lower[low], upper[high]]),
        polyhedron.feature_names,
    )


def as_roots(weights: ArrayLike | None, n_features: int) -> Floats:
    """Return the square roots of the weights, which must be above zero; None is all ones."""
    if weights is None:
        return np.ones(n_features)
    columns = as_columns(weights, "weights", n_features)
    bad = np.flatnonzero(columns <= 0)
    if bad.size:
        raise ValueError(f"weights must be above 0; weights[{bad[0]}] is {columns[bad[0]]}")
    return np.sqrt(columns)


def dense_rows(polyhedron: Polyhedron, X: Any) -> tuple[Floats, bool]:
    """Return X as finite dense rows, and whether it was a single one."""
    single = not hasattr(X, "columns") and np.ndim(X) == 1
    rows = as_rows([X] if single else X, polyhedron.n_features, polyhedron.feature_names)
    rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
    check_finite_rows(rows, polyhedron.feature_names)
    return rows, single


def faces_in_words(items: Iterable[int]) -> str:
    """Return "face 2", "faces 0 and 3" or "faces 0, 3 and 5"."""
    *others, last = (str(item) for item in sorted(items))
    return f"faces {', '.join(others)} and {last}" if others else f"face {last}"


def empty(conflict: Iterable[int], n_faces: int) -> GeometryError:
    """The error that says which faces, or which and the box, exclude each other."""
    own = [k for k in conflict if k < n_faces]
    if not own:
        return GeometryError("the box is empty")
    words = faces_in_words(own) + (" and the box" if len(own) < len(list(conflict)) else "")
    how = "cannot hold" if words == faces_in_words(own[:1]) else "exclude each other"
    return GeometryError(f"the polyhedron is empty: {words} {how}")
