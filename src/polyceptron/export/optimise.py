"""Constraints for scipy, cvxpy and Pyomo: x must stay in the polyhedron, or in one of several.

An inequality whose greatest coefficient is not between 1/1024 and 1024 is multiplied by a power of
two that brings it between 1 and 2. The set stays the same, and solvers, which drop coefficients
below some 1e-9, keep those of columns in large units.

Of several polyhedra, a binary variable each says whether x is in it. Within bounds of the features
an inequality falls short of zero by M at most: ``w . x + b + M (1 - z) >= 0`` asks nothing where
the variable z is 0, and one z must be 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from polyceptron.export._shared import ExportError, need
from polyceptron.rule import Rule, as_rule
from polyceptron.utils.types import Floats


class PieceFaces(NamedTuple):
    """The faces of one polyhedron, and by how much each falls short at most within the bounds."""

    W: Floats
    b: Floats
    M: Floats


class Region(NamedTuple):
    """The polyhedra of one class, scaled, and the bounds of the features."""

    rule: Rule
    parts: list[PieceFaces]
    lower: Floats
    upper: Floats


def region_of(model: Any, bounds: Any = None) -> Region:
    """Return the polyhedra of a model of one class; several need bounds."""
    rule = as_rule(model, "polyhedron", ExportError)
    if rule.inside_place is None:
        label = rule.labels[rule.pieces[0].place]
        raise ExportError(
            "constraints are those of one class, and here several have polyhedra: give those of "
            f"one, for example Rule.inside(['in', 'out'], 0, *rule.polyhedra[{label!r}])"
        )
    lower, upper = _limits(bounds, rule.names)
    scaled = [_scaled(piece.polyhedron.W, piece.polyhedron.b) for piece in rule.pieces]
    if len(scaled) == 1:
        return Region(rule, [PieceFaces(*scaled[0], np.zeros(len(scaled[0][1])))], lower, upper)
    used = np.any([W.any(axis=0) for W, _ in scaled], axis=0)
    endless = np.flatnonzero(used & ~np.isfinite(upper - lower))
    if endless.size:
        name = rule.names[endless[0]]
        raise ExportError(
            f"{len(scaled)} polyhedra need bounds of their features, and {name!r:.60} has none: "
            "give bounds, a mapping of names to (low, high), for example the least and the "
            "greatest values of the training rows"
        )
    low, high = (np.where(used, side, 0.0) for side in (lower, upper))
    parts = [
        PieceFaces(W, b, np.maximum(0.0, -(np.minimum(W * low, W * high).sum(axis=1) + b)))
        for W, b in scaled
    ]
    return Region(rule, parts, lower, upper)


def _limits(bounds: Any, names: Sequence[str]) -> tuple[Floats, Floats]:
    """The lower and upper limit of each feature, infinite where there is none."""
    lower, upper = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    for feature, (low, high) in (bounds or {}).items():
        j = place_of_feature(feature, names, "bounds")
        lower[j] = -np.inf if low is None else low
        upper[j] = np.inf if high is None else high
    return lower, upper


def to_scipy(polyhedron: Any) -> tuple[Floats, Floats]:
    """Return ``A_ub, b_ub`` with ``A_ub @ x <= b_ub`` exactly inside the polyhedron.

    For `scipy.optimize.linprog`, whose variables are not negative unless ``bounds`` says
    otherwise, and as ``LinearConstraint(A_ub, ub=b_ub)`` for `scipy.optimize.milp`.

    Parameters
    ----------
    polyhedron : Polyhedron, Rule or fitted learner
        With one polyhedron: several are no system of inequalities.

    Returns
    -------
    A_ub, b_ub : ndarray of shape (n_faces, n_features) and (n_faces,)

    Examples
    --------
    >>> from scipy.optimize import linprog
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.export import to_scipy
    >>> triangle = Polyhedron([[1, 0], [0, 1], [-1, -2]], [0, 0, 4])
    >>> A_ub, b_ub = to_scipy(triangle)
    >>> best = linprog([-1, -1], A_ub, b_ub, bounds=(None, None))
    >>> round(-best.fun, 6)
    4.0
    """
    rule = as_rule(polyhedron, "polyhedron", ExportError)
    if len(rule.pieces) > 1:
        raise ExportError(
            f"{len(rule.pieces)} polyhedra are no system of inequalities: export each by itself, "
            "such as rule.pieces[0].polyhedron; to_lp, to_cvxpy and to_pyomo take several"
        )
    (part,) = region_of(rule).parts
    return -part.W + 0.0, part.b


def to_cvxpy(
    polyhedron: Any,
    variable: Any,
    bounds: Mapping[str, tuple[float | None, float | None]] | None = None,
) -> list[Any]:
    """Return cvxpy constraints that keep `variable` in the polyhedron.

    Parameters
    ----------
    polyhedron : Polyhedron, Rule or fitted learner
        Several polyhedra of one class become a disjunction with binary variables.
    variable : cvxpy.Expression of shape (n_features,), or mapping of str to scalar expressions
        The point, in the order of the features or by their names.
    bounds : mapping of str to (low, high), optional
        Limits of features, by name; None is no limit. Several polyhedra need them all.

    Examples
    --------
    >>> import cvxpy
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.export import to_cvxpy
    >>> triangle = Polyhedron([[1, 0], [0, 1], [-1, -2]], [0, 0, 4])
    >>> x = cvxpy.Variable(2)
    >>> problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(x)), to_cvxpy(triangle, x))
    >>> round(float(problem.solve(solver="SCIPY")), 6)
    4.0
    """
    cvxpy = need("cvxpy", "to_cvxpy")
    region = region_of(polyhedron, bounds)
    if isinstance(variable, Mapping):
        variable = cvxpy.hstack(_by_name(region.rule, variable))
    shape = getattr(variable, "shape", None)
    if shape != (region.rule.n_features,):
        raise ExportError(
            f"variable must be of shape ({region.rule.n_features},), one number a feature; "
            f"got {variable if shape is None else shape!r:.60}"
        )
    low, high = (np.flatnonzero(np.isfinite(side)) for side in (region.lower, region.upper))
    limited = [variable[j] >= region.lower[j] for j in low]
    limited += [variable[j] <= region.upper[j] for j in high]
    if len(region.parts) == 1:
        return [region.parts[0].W @ variable + region.parts[0].b >= 0, *limited]
    z = cvxpy.Variable(len(region.parts), boolean=True)
    within = [W @ variable + b + M * (1 - z[p]) >= 0 for p, (W, b, M) in enumerate(region.parts)]
    return [*within, cvxpy.sum(z) >= 1, *limited]


def to_pyomo(
    polyhedron: Any,
    variables: Any,
    bounds: Mapping[str, tuple[float | None, float | None]] | None = None,
) -> Any:
    """Return a Pyomo ``Constraint`` that keeps `variables` in the polyhedron.

    It works once it is part of a model: ``model.region = to_pyomo(polyhedron, model.x)``. Its
    index is the number of the face. Several polyhedra become a ``Block``, as bounds do, with such
    constraints and a binary variable for each of them.

    Parameters
    ----------
    polyhedron : Polyhedron, Rule or fitted learner
    variables : mapping of str to expressions, or sequence of expressions
        The point, by the names of the features or in their order. An indexed ``Var`` is a mapping,
        and may be indexed by names or by 0, 1, ...
    bounds : mapping of str to (low, high), optional
        As for `to_cvxpy`.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.export import to_pyomo
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var(["age", "dose"])
    >>> model.region = to_pyomo(Polyhedron([[1, -2]], [4], ["age", "dose"]), model.x)
    >>> print(model.region[0].expr)
    -4.0  <=  x[age] - 2.0*x[dose]
    """
    pyomo = need("pyomo.environ", "to_pyomo")
    region = region_of(polyhedron, bounds)
    point = _by_name(region.rule, variables)

    def inside(p: int, k: int, room: Any) -> Any:
        W, b, _ = region.parts[p]
        terms = [float(c) * x for c, x in zip(W[k], point, strict=True) if c != 0]
        return sum(terms[1:], terms[0]) + room >= -float(b[k])

    if len(region.parts) == 1 and not bounds:
        n_faces = len(region.parts[0].b)
        return pyomo.Constraint(range(n_faces), rule=lambda _, k: inside(0, k, 0))
    block = pyomo.Block(concrete=True)
    block.piece = pyomo.Var(range(len(region.parts)), domain=pyomo.Binary)
    faces = [(p, k) for p, part in enumerate(region.parts) for k in range(len(part.b))]
    block.faces = pyomo.Constraint(
        faces,
        rule=lambda _, p, k: inside(p, k, float(region.parts[p].M[k]) * (1 - block.piece[p])),
    )
    block.one = pyomo.Constraint(expr=sum(block.piece.values()) >= 1)
    block.limits = pyomo.ConstraintList()
    for x, low, high in zip(point, region.lower.tolist(), region.upper.tolist(), strict=True):
        if np.isfinite(low):
            block.limits.add(x >= low)
        if np.isfinite(high):
            block.limits.add(x <= high)
    return block


def _by_name(rule: Rule, variables: Any) -> list[Any]:
    names = rule.names
    if not hasattr(variables, "keys"):
        listed = list(variables)
        if len(listed) != len(names):
            raise ExportError(f"variables must be one a feature, {len(names)}; got {len(listed)}")
        return listed
    keys = list(variables.keys())
    whole = all(isinstance(key, int) for key in keys)
    wanted: Sequence[Any] = range(len(names)) if whole else names
    missing = [key for key in wanted if key not in keys]
    if missing:
        raise ExportError(
            f"variables must have every feature; {missing[0]!r:.60} is missing, "
            f"there are {keys!r:.60}"
        )
    return [variables[key] for key in wanted]


def _scaled(W: Floats, b: Floats) -> tuple[Floats, Floats]:
    greatest = np.abs(W).max(axis=1)
    usual = (greatest >= 1 / 1024) & (greatest <= 1024)
    exponents = np.where(usual, 1, np.frexp(greatest)[1])
    with np.errstate(over="ignore", under="ignore"):
        normals, offsets = np.ldexp(W, 1 - exponents[:, None]), np.ldexp(b, 1 - exponents)
    far = np.flatnonzero(~np.isfinite(offsets))
    if far.size:
        raise ExportError(
            f"face {far[0]} is further from the origin than float64 can hold "
            f"(b[{far[0]}] is {b[far[0]]})"
        )
    return normals, offsets


def place_of_feature(feature: str, names: Sequence[str], what: str) -> int:
    """Return the place of a feature that an argument names."""
    if feature not in names:
        raise ExportError(f"{what} names {feature!r:.60}, which is not one of the features")
    return list(names).index(feature)
