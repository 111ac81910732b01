"""Constraints for solvers, as objects and as a file: x must stay in one of the polyhedra.

Inequalities have the numbers of their text. One whose greatest coefficient is not between 1/1024
and 1024 (a million if numbers were rounded) is multiplied by a power of two that brings it between
1 and 2. The set stays the same, and solvers, which drop coefficients below some 1e-9, keep those of
columns in large units.

Of several polyhedra, a binary variable each says whether x is in it. Within bounds of the features
an inequality falls short of zero by M at most: ``w . x + b + M (1 - z) >= 0`` asks nothing where
the variable z is 0, and one z must be 1.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from polyceptron.export._shared import ExportError, check_name, made_by, safe
from polyceptron.rule import Rule, as_rule
from polyceptron.utils.checks import as_bounds, as_columns, place_of
from polyceptron.utils.lazy import need
from polyceptron.utils.text import printed_faces
from polyceptron.utils.types import Floats

_GREATEST = 1e6
"""Coefficients of inequalities with few digits, which are left as they are."""
Bounds = Mapping[str, tuple[float | None, float | None]] | None
"""Limits of features by name; None is no limit."""


class Region(NamedTuple):
    """``A x + B z >= c`` and bounds of x: in one of several polyhedra, where its z is 1, not 0."""

    rule: Rule
    A: Floats
    B: Floats
    c: Floats
    names: list[str]
    """Of the inequalities: the faces of each polyhedron, then that one z is 1."""
    lower: Floats
    upper: Floats


def _region(model: Any, bounds: Bounds = None) -> Region:
    """Return the polyhedra of a model of one class, scaled; several need bounds."""
    rule = as_rule(model, "polyhedron", ExportError)
    if rule.inside_place is None:
        label = rule.labels[rule.pieces[0].place]
        raise ExportError(
            "constraints are those of one class, and here several have polyhedra: give those of "
            f"one, for example Rule.inside(['in', 'out'], 0, *rule.polyhedra[{label!r}])"
        )
    lower, upper = as_bounds(bounds, rule.names, ExportError)
    scaled = [_scaled(piece.polyhedron.W, piece.polyhedron.b) for piece in rule.pieces]
    A, b, n = np.vstack([W for W, _ in scaled]), np.concatenate([b for _, b in scaled]), len(scaled)
    if n == 1:
        names = [f"face{k}" for k in range(len(b))]
        return Region(rule, A, np.empty((len(b), 0)), -b + 0.0, names, lower, upper)
    used = A.any(axis=0)
    endless = np.flatnonzero(used & ~np.isfinite(upper - lower))
    if endless.size:
        raise ExportError(
            f"{n} polyhedra need bounds of their features, and {rule.names[endless[0]]!r:.60} has "
            "none: give bounds, a mapping of names to (low, high), for example the least and the "
            "greatest values of the training rows"
        )
    lows, highs = (np.where(used, side, 0.0) for side in (lower, upper))
    M = np.maximum(0.0, -np.minimum(A * lows, A * highs).sum(axis=1) - b)
    owner = np.repeat(np.arange(n), [len(offsets) for _, offsets in scaled])
    B = np.where(owner[:, None] == np.arange(n), -M[:, None], 0.0)
    names = [f"piece{p}_face{k}" for p, (_, own) in enumerate(scaled) for k in range(len(own))]
    A, B = np.vstack([A, np.zeros(A.shape[1])]), np.vstack([B, np.ones(n)])
    return Region(rule, A, B, np.append(-(b + M) + 0.0, 1.0), [*names, "pieces"], lower, upper)


def to_scipy(polyhedron: Any) -> tuple[Floats, Floats]:
    """Return ``A_ub, b_ub`` with ``A_ub @ x <= b_ub`` exactly inside the polyhedron.

    For `scipy.optimize.linprog`, whose variables are not negative unless ``bounds`` says
    otherwise, and as ``LinearConstraint(A_ub, ub=b_ub)`` for `scipy.optimize.milp`.

    Parameters
    ----------
    polyhedron : Polyhedron, Rule or fitted learner
        With one polyhedron: several are no system of inequalities.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> to_scipy(Polyhedron([[1, 0], [-1, -2]], [0, 4]))
    (array([[-1.,  0.], [ 1.,  2.]]), array([0., 4.]))
    """
    rule = as_rule(polyhedron, "polyhedron", ExportError)
    if len(rule.pieces) > 1:
        raise ExportError(
            f"{len(rule.pieces)} polyhedra are no system of inequalities: export each by itself, "
            "such as rule.pieces[0].polyhedron; to_lp, to_cvxpy and to_pyomo take several"
        )
    region = _region(rule)
    return -region.A + 0.0, -region.c + 0.0


def to_cvxpy(polyhedron: Any, variable: Any, bounds: Bounds = None) -> list[Any]:
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
    >>> x = cvxpy.Variable(1)
    >>> within = to_cvxpy(Polyhedron([[-2]], [4]), x)
    >>> float(cvxpy.Problem(cvxpy.Maximize(x[0]), within).solve(solver="SCIPY"))
    2.0
    """
    cvxpy = need("cvxpy", "to_cvxpy")
    region = _region(polyhedron, bounds)
    if isinstance(variable, Mapping):
        variable = cvxpy.hstack(_variables_by_name(region.rule, variable))
    shape = getattr(variable, "shape", None)
    if shape != (region.rule.n_features,):
        raise ExportError(
            f"variable must be of shape ({region.rule.n_features},), one number a feature; "
            f"got {variable if shape is None else shape!r:.60}"
        )
    z = cvxpy.Variable(region.B.shape[1], boolean=True) if region.B.size else None
    left = region.A @ variable if z is None else region.A @ variable + region.B @ z
    return [left >= region.c, *_bounds_of_features(region, variable)]


def to_pyomo(polyhedron: Any, variables: Any, bounds: Bounds = None) -> Any:
    """Return a Pyomo ``Constraint`` that keeps `variables` in the polyhedron.

    It works once it is part of a model: ``model.region = to_pyomo(polyhedron, model.x)``. Its
    index is the number of the face. Several polyhedra become a ``Block``, as bounds do, with such
    a constraint ``faces`` and a binary variable ``piece`` for each of them.

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
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var(["age", "dose"])
    >>> model.region = to_pyomo(Polyhedron([[1, -2]], [4], ["age", "dose"]), model.x)
    >>> print(model.region[0].expr)
    -4.0  <=  x[age] - 2.0*x[dose]
    """
    pyomo = need("pyomo.environ", "to_pyomo")
    region = _region(polyhedron, bounds)
    point = _variables_by_name(region.rule, variables)
    z: list[Any] = []

    def holds(_: Any, k: int) -> Any:
        pairs = zip([*region.A[k], *region.B[k]], [*point, *z], strict=True)
        terms = [float(factor) * x for factor, x in pairs if factor != 0]
        return sum(terms[1:], terms[0]) >= float(region.c[k])

    if not region.B.size and not bounds:
        return pyomo.Constraint(range(len(region.c)), rule=holds)
    block = pyomo.Block(concrete=True)
    block.piece = pyomo.Var(range(region.B.shape[1]), domain=pyomo.Binary)
    z += block.piece.values()
    block.faces = pyomo.Constraint(range(len(region.c)), rule=holds)
    block.limits = pyomo.ConstraintList()
    for limit in _bounds_of_features(region, point):
        block.limits.add(limit)
    return block


def _bounds_of_features(region: Region, point: Any) -> list[Any]:
    """The bounds of the features as expressions."""
    lows, highs = np.isfinite(region.lower).nonzero()[0], np.isfinite(region.upper).nonzero()[0]
    limited = [point[j] >= float(region.lower[j]) for j in lows]
    return limited + [point[j] <= float(region.upper[j]) for j in highs]


def _variables_by_name(rule: Rule, variables: Any) -> list[Any]:
    if not hasattr(variables, "keys"):
        variables = dict(enumerate(variables))
        if len(variables) > rule.n_features:
            raise ExportError(
                f"variables must be one a feature, {rule.n_features}; got {len(variables)}"
            )
    keys = list(variables.keys())
    whole = all(isinstance(key, int) for key in keys)
    wanted: Sequence[Any] = range(rule.n_features) if whole else rule.names
    missing = [key for key in wanted if key not in keys]
    if missing:
        found = f"{missing[0]!r:.60} is missing, there are {keys!r:.60}"
        raise ExportError(f"variables must have every feature; {found}")
    return [variables[key] for key in wanted]


def _scaled(W: Floats, b: Floats) -> tuple[Floats, Floats]:
    W, b, shown = printed_faces(W, b)
    greatest = np.abs(W).max(axis=1)
    usual = (greatest >= 1 / 1024) & (greatest <= np.where(shown == 0, 1024, _GREATEST))
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


def to_lp(
    polyhedron: Any,
    *,
    objective: Any = None,
    maximise: bool = False,
    bounds: Bounds = None,
    integers: Collection[str] = (),
    name: str = "polyceptron",
) -> str:
    r"""Return a file in the LP format of CPLEX, which HiGHS, SCIP and others read.

    Variables are free, not bounded by zero, unless `bounds` says otherwise.

    Parameters
    ----------
    polyhedron : Polyhedron, Rule or fitted learner
        Several polyhedra of one class become a disjunction with binary variables.
    objective : array-like of shape (n_features,) or mapping of str to float, optional
        What to minimise, in the order of the features or by their names; nothing if not given.
    maximise : bool
        Maximise the objective instead.
    bounds : mapping of str to (low, high), optional
        As for `to_cvxpy`.
    integers : collection of str
        Features that must be whole numbers.
    name : str
        The name of the objective.

    Returns
    -------
    str
        The format allows few names: others are changed, and a comment says which is which;
        `lp_names` returns them.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> text = to_lp(Polyhedron([[-2]], [4], ["body mass"]), objective=[1], maximise=True)
    >>> " ".join(text.split())  # doctest: +ELLIPSIS
    '... Subject To face0: - 1.0 x0_body_mass >= -2.0 Bounds x0_body_mass free End'
    """
    region = _region(polyhedron, bounds)
    names, variables = region.rule.names, lp_names(polyhedron)
    pieces = [f"piece{p}" for p in range(region.B.shape[1])]
    lines = [f"\\ {made_by()}"]
    lines += [
        f"\\ {variable} is {safe(feature)}"
        for variable, feature in zip(variables, names, strict=True)
        if variable != feature
    ]
    lines += ["Maximize" if maximise else "Minimize", f" {check_name(name)}:"]
    lines += _lp_terms(_objective(objective, names), variables) or [f"  0 {variables[0]}"]
    lines += ["Subject To"]
    for row, a, b, c in zip(region.names, region.A, region.B, region.c.tolist(), strict=True):
        lines += [f" {row}:", *_lp_terms(a, variables), *_lp_terms(b, pieces), f"  >= {c!r}"]
    lines += ["Bounds"]
    limits = zip(variables, region.lower.tolist(), region.upper.tolist(), strict=True)
    for variable, low, high in limits:
        is_free = low == -np.inf and high == np.inf
        lines.append(f" {variable} free" if is_free else f" {low!r} <= {variable} <= {high!r}")
    if integers:
        wanted = [place_of(feature, names, "integers", ExportError) for feature in integers]
        lines += ["General", *(f" {variables[j]}" for j in sorted(set(wanted)))]
    if pieces:
        lines += ["Binary", *(f" {piece}" for piece in pieces)]
    return "\n".join([*lines, "End", ""])


def lp_names(polyhedron: Any) -> tuple[str, ...]:
    """Return what `to_lp` calls the features: themselves where the format allows it.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> lp_names(Polyhedron([[1, 1, 1]], [0], ["age", "free", "a b"]))
    ('age', 'x1_free', 'x2_a_b')
    """
    chosen = list(as_rule(polyhedron, "polyhedron", ExportError).names)
    for j, name in enumerate(chosen):
        if not _is_lp_name(name):
            variable = f"x{j}_{re.sub('[^A-Za-z0-9_]', '_', name)[:40]}"
            while variable in chosen:
                variable += "_"
            chosen[j] = variable
    return tuple(chosen)


_LP_WORDS = (
    "min max minimize maximize minimise maximise minimum maximum subject such st to that bounds "
    "bound free inf infinity nan general generals gen integer integers int binary binaries bin "
    "semi continuous semis sos sos1 sos2 s1 s2 end obj"
)


def _is_lp_name(name: str) -> bool:
    # Not e, as e3 may be read as an exponent; not the names of our rows and of binary variables.
    plain = re.fullmatch(r"[A-DF-Za-df-z][A-Za-z0-9_]{0,99}", name) is not None
    rows = r"(piece\d+_)?face\d+|pieces|piece\d+"
    return plain and name.lower() not in _LP_WORDS.split() and not re.fullmatch(rows, name)


def _lp_terms(coefficients: Floats | Sequence[float], variables: Sequence[str]) -> list[str]:
    return [
        f"  {'-' if c < 0 else '+'} {abs(float(c))!r} {variable}"
        for c, variable in zip(coefficients, variables, strict=True)
        if c != 0
    ]


def _objective(objective: Any, names: Sequence[str]) -> Floats:
    coefficients = np.zeros(len(names))
    if isinstance(objective, Mapping):
        for feature, value in objective.items():
            coefficients[place_of(feature, names, "objective", ExportError)] = value
    elif objective is not None:
        coefficients[:] = objective
    return as_columns(coefficients, "objective", len(names))
