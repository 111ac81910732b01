"""What is inside of a polyhedron: its vertices, its volume, points drawn evenly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polyceptron.geometry._extent import balanced, bounding_box, chebyshev_ball, some_point
from polyceptron.geometry.faces import GeometryError, UnitFaces, question, unit_faces, with_box
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import as_rule
from polyceptron.utils.checks import as_count
from polyceptron.utils.types import Floats

VERTEX_FEATURES = 8
"""Vertices can be as many as K to the power of d / 2: beyond this they are not listed."""
_FLAT = 1e-9
"""A set is flat whose largest ball is smaller than this share of its box."""


class Boxed(NamedTuple):
    """A bounded set in coordinates in which its bounding box goes from -1 to 1."""

    faces: UnitFaces
    middle: Floats
    half: Floats
    centre: Floats
    radius: float

    def to_user(self, Y: Floats) -> Floats:
        return np.asarray(self.middle + Y * self.half)


def boxed(polyhedron: Polyhedron, what: str, *, flat: bool = False, advice: str = "") -> Boxed:
    """Return a bounded polyhedron in the coordinates of its box, or say why there are none."""
    lower, upper = bounding_box(polyhedron)
    endless = np.flatnonzero(~(np.isfinite(lower) & np.isfinite(upper)))
    if endless.size:
        name = as_rule(polyhedron).names[endless[0]]
        raise GeometryError(
            f"{what}: the polyhedron is unbounded, {name!r} has no limit inside{advice}"
        )
    middle, half = lower / 2 + upper / 2, upper / 2 - lower / 2
    half = np.where(half > 0, half, 1.0)
    A, b = unit_faces(polyhedron.W, polyhedron.b)
    faces = unit_faces(A * half, A @ middle + b)
    ball = chebyshev_ball(Polyhedron(*faces))
    if ball.radius <= _FLAT and not flat:
        raise GeometryError(f"{what}: the polyhedron is flat, no ball of any size fits inside")
    return Boxed(faces, middle, half, *ball)


@question
def vertices(polyhedron: Polyhedron) -> Floats:
    """Return the corners of a bounded polyhedron, sorted.

    Raises a GeometryError if it has more than 8 features, or is empty, unbounded or flat.

    Examples
    --------
    >>> vertices(Polyhedron([[1, 0], [0, 1], [-1, -2]], [0, 0, 4]))
    array([[0., 0.],
           [0., 2.],
           [4., 0.]])
    """
    box = _few_featured(polyhedron, "vertices", flat=False)
    corners = box.to_user(_corners(box))
    # Adding zero turns -0.0 into 0.0.
    return corners[np.lexsort(corners.T[::-1])] + 0.0


@question
def volume(polyhedron: Polyhedron) -> float:
    """Return the volume of a bounded polyhedron, in user units; 0 if it is flat.

    Raises a GeometryError if it has more than 8 features, or is empty or unbounded.

    Examples
    --------
    >>> volume(Polyhedron([[1, 0], [0, 1], [-1, -2]], [0, 0, 4]))
    4.0
    """
    from scipy.spatial import ConvexHull

    box = _few_featured(polyhedron, "volume", flat=True)
    if box.radius <= _FLAT:
        return 0.0
    corners = _corners(box)
    inner = float(np.ptp(corners)) if corners.shape[1] == 1 else float(ConvexHull(corners).volume)
    # By their digits and exponents, so that the product overflows only if the volume does.
    digits, exponents = np.frexp(box.half)
    return float(np.ldexp(inner * digits.prod(), exponents.sum()))


def _few_featured(polyhedron: Polyhedron, what: str, *, flat: bool) -> Boxed:
    if polyhedron.n_features > VERTEX_FEATURES:
        raise GeometryError(
            f"{what}: the polyhedron has {polyhedron.n_features} features, and more than "
            f"{VERTEX_FEATURES} may have too many vertices to list; chebyshev_ball, bounding_box "
            "and sample have no such limit"
        )
    return boxed(polyhedron, what, flat=flat)


def _corners(box: Boxed) -> Floats:
    """The vertices in the coordinates of the box, each once."""
    from scipy.spatial import HalfspaceIntersection, QhullError, cKDTree

    A, b = box.faces
    if A.shape[1] == 1:
        return np.array([[-1.0], [1.0]])
    try:
        found = HalfspaceIntersection(np.column_stack([-A, -b]), box.centre).intersections
    except QhullError as error:
        reason = str(error).splitlines()[0]
        raise GeometryError(f"Qhull cannot list the vertices: {reason}") from None
    found = found[np.isfinite(found).all(axis=1)]
    # One of each cluster: where more faces meet than are needed, Qhull lists the corner again.
    kept = np.ones(len(found), bool)
    for one, other in cKDTree(found).query_pairs(1e-8, output_type="ndarray"):
        if kept[one]:
            kept[other] = False
    return np.array([_polished_corner(box.faces, corner) for corner in found[kept]])


def _polished_corner(faces: UnitFaces, corner: Floats) -> Floats:
    """The corner solved again from the faces that meet there."""
    slack = faces.A @ corner + faces.b
    tight = np.abs(slack) < 1e-8
    change = np.linalg.lstsq(faces.A[tight], -slack[tight], rcond=1e-10)[0]
    return np.asarray(corner + change if np.abs(change).max() < 1e-7 else corner)


@question
def sample(polyhedron: Polyhedron, n: int, random_state: Any = None, box: Any = None) -> Floats:
    """Draw points evenly from the inside, by hit and run; `polyhedron.contains` holds for each.

    Every point is the end of a walk of its own from the centre of the largest ball, each step to
    an even draw from the chord in a random direction. Walks go on until together they grow no
    more, and then 30 + 10 d steps with directions that follow the shape they found.

    Parameters
    ----------
    polyhedron : Polyhedron
    n : int
        How many points.
    random_state : int, numpy.random.Generator or None
    box : pair (lower, upper), optional
        Draw from the part in this box, each side a number or one number a feature; needed for
        an unbounded polyhedron. Flat ones have no points to draw.

    Examples
    --------
    >>> triangle = Polyhedron([[1, 0], [0, 1], [-1, -2]], [0, 0, 4])
    >>> X = sample(triangle, 1000, random_state=0)
    >>> triangle.contains(X).all(), X.mean(axis=0).round(1)
    (np.True_, array([1.3, 0.7]))
    """
    n = as_count(n, "n", least=0)
    rng = np.random.default_rng(random_state)
    whole = with_box(polyhedron, box)
    some_point(balanced(whole)[0], polyhedron.n_faces)
    inner = boxed(whole, "sample", advice="; give a box to draw from")
    d = polyhedron.n_features
    Y, shape = _grown(np.tile(inner.centre, (max(n, 10 * d), 1)), inner.faces, rng)
    return _inside(whole, inner, _walk(Y, inner.faces, shape, 30 + 10 * d, rng)[:n])


def _grown(Y: Floats, faces: UnitFaces, rng: Any) -> tuple[Floats, Floats]:
    """Walk until the cloud of walks grows no more; return it, and its shape for directions."""
    # Steps of a round shape are as short as a set is thin; in the shape of the cloud they grow.
    d = Y.shape[1]
    shape, size = np.eye(d), -np.inf
    for _ in range(100):
        Y = _walk(Y, faces, shape, 5, rng)
        cloud = np.atleast_2d(np.cov(Y.T))
        # Never quite flat, so that every direction stays possible.
        shape = np.asarray(np.linalg.cholesky(cloud + 1e-15 * np.trace(cloud) * np.eye(d)), float)
        before, size = size, float(np.log(np.diag(shape)).sum())
        if size - before < 0.02 * d:
            break
    return Y, shape


def _walk(Y: Floats, faces: UnitFaces, shape: Floats, n_steps: int, rng: Any) -> Floats:
    for _ in range(n_steps):
        way = rng.standard_normal(Y.shape) @ shape.T
        slack = np.maximum(Y @ faces.A.T + faces.b, 0.0)
        pace = way @ faces.A.T
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = -slack / pace
        ahead = np.where(pace < 0, ends, np.inf).min(axis=1)
        behind = np.where(pace > 0, ends, -np.inf).max(axis=1)
        Y = Y + (behind + (ahead - behind) * rng.random(len(Y)))[:, None] * way
    return Y


def _inside(polyhedron: Polyhedron, box: Boxed, Y: Floats) -> Floats:
    """The points in user units; those that rounding put outside are drawn towards the centre."""
    pull, X = 1e-15, box.to_user(Y)
    while (out := ~polyhedron.contains(X)).any() and pull < 1:
        pull *= 4
        Y[out] += pull * (box.centre - Y[out])
        X = box.to_user(Y)
    return X
