"""Which plane tells most about a model, where the caller does not say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polyceptron.plots._arguments import Wanted, choose_plane
from polyceptron.plots._plane import Plane, middle_of, normals_of
from polyceptron.plots._polyhedra import all_faces
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats

_ENOUGH = 0.9
"""A PCA plane as truthful as this is taken, though another may be more so."""


def clearest(polyhedra: Sequence[Polyhedron], X: Floats) -> Wanted:
    """Return the PCA plane, or where it shows too many rows on a wrong side, the truest plane.

    The others are the plane of the faces, and the two columns with the largest weights.
    """
    every = all_faces(dict(enumerate(polyhedra)))
    at = None if len(polyhedra) == 1 else middle_of(X)  # as the displays have it
    inside = [p.contains(X) for p in polyhedra]
    best: Wanted = None
    most = -1.0
    for wanted in ("pca", "faces", _heaviest(every, X)):
        share = _truth(choose_plane(wanted, every, X, at), polyhedra, X, inside)
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


def _heaviest(polyhedron: Polyhedron, X: Floats) -> tuple[int, int]:
    """Return the two columns with the largest weights per spread, over all faces."""
    weights = (normals_of(polyhedron, X) ** 2).sum(axis=0)
    first, second = np.sort(np.argsort(-weights, kind="stable")[:2]).tolist()
    return first, second
