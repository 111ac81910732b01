"""How large a polyhedron is: empty, bounded, its ball, its box, and faces that change nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron.geometry import faces as shared
from polyceptron.geometry.faces import UnitFaces, question, unit_faces
from polyceptron.geometry.projection import EPS, shortest
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats

_HIGHS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_CUT = 1e-8
"""A face that cuts off less than this share of its distance is taken for redundant."""
_FAR_OFF = 1e9
"""A face this many times farther than the scale is as good as one a little nearer."""


class Ball(NamedTuple):
    """A ball inside: its centre and radius."""

    centre: Floats
    radius: float


def balanced(polyhedron: Polyhedron) -> tuple[UnitFaces, Floats]:
    """Unit faces in coordinates y = x / columns, in which no feature has a scale of its own."""
    # Coefficients have a geometric mean of one in every row and column (Curtis and Reid, 1972):
    # so other units give the same coordinates, which the largest coefficients would not.
    A, b = unit_faces(polyhedron.W, polyhedron.b)
    filled = A != 0
    logs = np.log2(np.abs(A), where=filled, out=np.zeros_like(A))
    n_rows, n_columns = filled.sum(axis=1), np.maximum(filled.sum(axis=0), 1)
    rows, columns = np.zeros(len(A)), np.zeros(A.shape[1])
    for _ in range(30):
        rows = np.where(filled, logs - columns, 0.0).sum(axis=1) / n_rows
        columns = np.where(filled, logs - rows[:, None], 0.0).sum(axis=0) / n_columns
    # By powers of two, which change no digit.
    exponents = np.rint(columns).astype(int)
    scaled = np.ldexp(A, -exponents)
    return unit_faces(scaled, b), np.ldexp(1.0, -exponents)


@question
def is_empty(polyhedron: Polyhedron) -> bool:
    """Return whether no x meets all inequalities, up to a part in 10^10 of their distances.

    Examples
    --------
    >>> is_empty(Polyhedron([[1], [-1]], [-2, 1])), is_empty(Polyhedron([[1], [-1]], [-1, 1]))
    (True, False)
    """
    faces, _ = balanced(polyhedron)
    return shortest(faces.A, -faces.b).z is None


def some_point(faces: UnitFaces, n_faces: int) -> Floats:
    """The point of a set that is nearest to the origin, or an error that says what excludes it."""
    start = shortest(faces.A, -faces.b)
    if start.z is None:
        raise shared.empty(start.support.tolist(), n_faces)
    return start.z


@question
def is_bounded(polyhedron: Polyhedron) -> bool:
    """Return whether a box can hold the polyhedron. The empty set is bounded.

    Examples
    --------
    >>> triangle = Polyhedron([[1, 0], [0, 1], [-1, -1]], [0, 0, 2])
    >>> is_bounded(triangle), is_bounded(Polyhedron([[1, 0], [0, 1]], [0, 0]))
    (True, False)
    """
    A = balanced(polyhedron)[0].A
    K, d = A.shape
    # No direction leads to infinity just where the normals, each with a weight of at least one,
    # cancel out (Stiemke's lemma).
    spans = d < K and np.linalg.matrix_rank(A, tol=1e-12) == d
    return (spans and _as_sum(A, -A.sum(axis=0)) is not None) or is_empty(polyhedron)


def _as_sum(A: Floats, target: Floats) -> Floats | None:
    """The weights, none negative, with which normals add up to a target, if there are any."""
    from scipy.optimize import nnls

    weights, rest = nnls(A.T, target, maxiter=30 * max(A.shape) + 100)
    return np.asarray(weights) if rest <= 1e-11 * (1 + float(weights.sum())) else None


@question
def chebyshev_ball(polyhedron: Polyhedron) -> Ball:
    """Return the centre and the radius of the largest ball inside.

    Where several balls are largest it is one of them. Where balls of every size fit, the radius
    is infinite and the centre some point inside. A flat polyhedron has the radius 0; of an empty
    one the error says which faces exclude each other.

    Examples
    --------
    >>> square = Polyhedron([[1, 0], [0, 1], [-1, 0], [0, -1]], [0, 0, 2, 2])
    >>> chebyshev_ball(square)
    Ball(centre=array([1., 1.]), radius=1.0)
    """
    faces = unit_faces(polyhedron.W, polyhedron.b)
    outward = shortest(faces.A, np.ones(len(faces.b)))
    if outward.z is not None:  # along z every face gets farther away
        sizes = np.abs(faces.b[faces.b != 0])
        least = float(sizes.min()) if sizes.size else 1.0
        return Ball(outward.z * (max(0.0, float((-faces.b).max())) + least), np.inf)
    return _widest(faces, some_point(faces, polyhedron.n_faces), outward.support)


def _widest(faces: UnitFaces, start: Floats, opposed: NDArray[np.intp]) -> Ball:
    """Solve the linear program around ever better centres, at the scale of the ball."""
    best = Ball(start, max(0.0, float((faces.A @ start + faces.b).min())))
    # The ball lies between these faces, and is no wider than their distances to any point.
    scale = float((faces.A[opposed] @ start + faces.b[opposed]).max())
    rounding = 16 * EPS * float(np.abs(start).max() + 1e-300)
    for _ in range(4):
        if scale <= rounding:
            break
        slack = np.minimum((faces.A @ best.centre + faces.b) / scale, _FAR_OFF)
        outermost = np.append(np.zeros(len(start)), -1.0)
        found = _linprog(outermost, np.column_stack([faces.A, -np.ones(len(slack))]), slack)
        centre = best.centre + scale * found.x[:-1]
        radius = float((faces.A @ centre + faces.b).min())
        gain = radius - best.radius
        if gain > 0:
            best = Ball(centre, radius)
        if gain <= 1e-14 * radius:
            break
        scale = best.radius
    return best


def _linprog(cost: Floats, A: Floats, slack: Floats) -> Any:
    """Minimise cost . y over A y + slack >= 0, which has a solution."""
    from scipy.optimize import linprog

    for options in (_HIGHS, {}):  # which may ask for more than HiGHS can do
        found = linprog(cost, -A, slack, bounds=(None, None), method="highs", options=options)
        if found.success:
            return found
    raise shared.GeometryError(f"HiGHS found no solution of a linear program: {found.message}")


@question
def bounding_box(polyhedron: Polyhedron) -> tuple[Floats, Floats]:
    """Return the least and the greatest value of every feature inside, infinite without a limit.

    Examples
    --------
    >>> triangle = Polyhedron([[1, 0], [-1, 1], [-1, -1]], [0, 0, 2])
    >>> bounding_box(triangle)
    (array([0., 0.]), array([1., 2.]))
    """
    (A, b), columns = balanced(polyhedron)
    start = some_point(UnitFaces(A, b), polyhedron.n_faces)
    slack = A @ start + b
    # What is left of a slack of zero by rounding would be a scale of its own.
    rounding = 16 * EPS * (np.abs(A) @ np.abs(start) + np.abs(b))
    slack = np.where(slack <= rounding, 0.0, slack)
    lower, upper = (
        np.array([at + sign * _least_coordinate(A, slack, j, sign) for j, at in enumerate(start)])
        * columns
        for sign in (1.0, -1.0)
    )
    return lower, np.maximum(lower, upper)


def _least_coordinate(A: Floats, slack: Floats, j: int, sign: float) -> float:
    """The least of ``sign * y[j]``, or minus infinity."""
    cost = np.zeros(A.shape[1])
    cost[j] = sign
    weights = _as_sum(A, cost)  # if there are none, there is no limit
    if weights is None:
        return -np.inf
    limit = float(slack @ np.where(weights > 1e-13 * weights.max(), weights, 0.0))
    if limit == 0:
        return 0.0
    with np.errstate(over="ignore"):
        found = _linprog(cost, A, np.minimum(slack / limit, _FAR_OFF))
    tight = np.flatnonzero(found.ineqlin.marginals < 0)
    if tight.size:
        # The faces that decide, solved again without the tolerance of the linear program.
        shares = np.linalg.lstsq(A[tight].T, cost, rcond=None)[0]
        if np.abs(A[tight].T @ shares - cost).max() < 1e-9 and shares.min() > -1e-9:
            return -float(slack[tight] @ shares)
    return limit * float(found.fun)


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
    >>> P = Polyhedron([[1, 0], [0, 1], [1, 1], [2, 0]], [0, 0, 1, 0])
    >>> redundant_faces(P)
    array([2, 3])
    >>> redundant_faces(P, box=([1, -5], [2, 5]))
    array([0, 2, 3])
    """
    K = polyhedron.n_faces
    faces, _ = balanced(shared.with_box(polyhedron, box))
    start = shortest(faces.A, -faces.b)
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
        A, c = np.vstack([faces.A[keep], -faces.A[k]]), np.append(-slack[keep], beyond)
        keep[k] = shortest(A, c).z is not None
    return np.flatnonzero(~keep)


@question
def without_redundant(polyhedron: Polyhedron, box: Any = None) -> Polyhedron:
    """Return the same set without its redundant faces; the first stays if all are redundant.

    The arguments are those of `redundant_faces`.

    Examples
    --------
    >>> print(without_redundant(Polyhedron([[1, 0], [0, 1], [1, 1]], [0, 0, 1])))
    x0 >= 0
    x1 >= 0
    """
    keep = np.setdiff1d(np.arange(polyhedron.n_faces), redundant_faces(polyhedron, box))
    keep = keep if keep.size else np.array([0])
    return Polyhedron(polyhedron.W[keep], polyhedron.b[keep], polyhedron.feature_names)
