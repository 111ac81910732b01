"""Faces that change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.geometry._extent import balanced, chebyshev_ball, nearest_origin
from polyceptron.geometry._nearest import Limits, shortest
from polyceptron.geometry.faces import question, with_box
from polyceptron.polyhedron import Polyhedron

_CUT = 1e-8
"""A face that cuts off less than this share of its distance is taken for redundant."""


@question
def redundant_faces(polyhedron: Polyhedron, box: Any = None) -> NDArray[np.intp]:
    """Return the faces that can be left out, all of them together, and the set stays the same.

    They are in ascending order. Of faces that say the same the first is kept; of an empty
    polyhedron some that exclude each other.

    Parameters
    ----------
    polyhedron : Polyhedron
    box : pair (lower, upper), optional
        Only points in this box count, each side a number or one number a feature: faces that
        cut nothing off it are redundant.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.geometry import redundant_faces
    >>> P = Polyhedron([[1, 0], [0, 1], [1, 1], [2, 0]], [0, 0, 1, 0])
    >>> redundant_faces(P)
    array([2, 3])
    >>> redundant_faces(P, box=([1, -5], [2, 5]))
    array([0, 2, 3])
    """
    K = polyhedron.n_faces
    faces, _ = balanced(with_box(polyhedron, box))
    start = nearest_origin(faces)
    if start.z is None:
        return np.setdiff1d(np.arange(K), start.support)
    # From the middle, so that the distance of a face says how large the set is there.
    centre = chebyshev_ball(Polyhedron(*faces)).centre
    slack = np.maximum(faces.A @ centre + faces.b, 0.0)
    scale = slack[slack > 0].min() if slack.any() else 1.0
    keep = np.ones(len(slack), bool)
    for k in range(K - 1, -1, -1):
        keep[k] = False
        beyond = slack[k] + _CUT * max(slack[k], scale)
        # Whether the others leave points beyond face k.
        others = Limits(np.vstack([faces.A[keep], -faces.A[k]]), np.append(-slack[keep], beyond))
        keep[k] = shortest(others).z is not None
    return np.flatnonzero(~keep)


@question
def without_redundant(polyhedron: Polyhedron, box: Any = None) -> Polyhedron:
    """Return the same set without its redundant faces.

    Parameters
    ----------
    polyhedron : Polyhedron
    box : pair (lower, upper), optional
        As for `redundant_faces`. The first face is kept if all are redundant in the box.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.geometry import without_redundant
    >>> print(without_redundant(Polyhedron([[1, 0], [0, 1], [1, 1]], [0, 0, 1])))
    x0 >= 0
    x1 >= 0
    """
    keep = np.setdiff1d(np.arange(polyhedron.n_faces), redundant_faces(polyhedron, box))
    if keep.size == 0:
        keep = np.array([0])
    return Polyhedron(polyhedron.W[keep], polyhedron.b[keep], polyhedron.feature_names)
