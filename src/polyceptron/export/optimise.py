"""Constraints for optimisers: x must stay in the polyhedron.

An inequality whose greatest coefficient is not between 1/1024 and 1024 is multiplied by a power of
two that brings it between 1 and 2. The set stays the same, and solvers, which drop coefficients
below some 1e-9, keep those of columns in large units.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from polyceptron.export._shared import (
    ExportError,
    brief,
    check_name,
    check_polyhedron,
    features,
    made_by,
    need,
    safe,
)
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.checks import as_columns
from polyceptron.utils.types import Floats


def to_scipy(polyhedron: Polyhedron) -> tuple[Floats, Floats]:
    """Return ``A_ub, b_ub`` with ``A_ub @ x <= b_ub`` exactly inside the polyhedron.

    For `scipy.optimize.linprog`, whose variables are not negative unless ``bounds`` says
    otherwise, and as ``LinearConstraint(A_ub, ub=b_ub)`` for `scipy.optimize.milp`.

    Parameters
    ----------
    polyhedron : Polyhedron

    Returns
    -------
    A_ub : ndarray of shape (n_faces, n_features)
    b_ub : ndarray of shape (n_faces,)

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
    W, b = _scaled(check_polyhedron(polyhedron))
    return -W + 0.0, b


def to_cvxpy(polyhedron: Polyhedron, variable: Any) -> list[Any]:
    """Return cvxpy constraints that keep `variable` in the polyhedron.

    Parameters
    ----------
    polyhedron : Polyhedron
    variable : cvxpy.Expression of shape (n_features,), or mapping of str to scalar expressions
        The point, in the order of the features or by their names.

    Returns
    -------
    list of cvxpy.Constraint

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
    polyhedron = check_polyhedron(polyhedron)
    if isinstance(variable, Mapping):
        variable = cvxpy.hstack(_by_name(polyhedron, variable))
    shape = getattr(variable, "shape", None)
    if shape != (polyhedron.n_features,):
        raise ExportError(
            f"variable must be of shape ({polyhedron.n_features},), one number a feature; "
            f"got {shape if shape is not None else brief(variable)}"
        )
    W, b = _scaled(polyhedron)
    return [W @ variable + b >= 0]


def to_pyomo(polyhedron: Polyhedron, variables: Any) -> Any:
    """Return a Pyomo ``Constraint`` that keeps `variables` in the polyhedron.

    It works once it is part of a model: ``model.region = to_pyomo(polyhedron, model.x)``. Its
    index is the number of the face.

    Parameters
    ----------
    polyhedron : Polyhedron
    variables : mapping of str to expressions, or sequence of expressions
        The point, by the names of the features or in their order. An indexed ``Var`` is a mapping,
        and may be indexed by names or by 0, 1, ...

    Returns
    -------
    pyomo.environ.Constraint

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
    polyhedron = check_polyhedron(polyhedron)
    point = _by_name(polyhedron, variables)
    W, b = _scaled(polyhedron)

    def rule(_model: Any, k: int) -> Any:
        terms = [float(c) * x for c, x in zip(W[k], point, strict=True) if c != 0]
        return sum(terms[1:], terms[0]) >= -float(b[k])

    return pyomo.Constraint(range(polyhedron.n_faces), rule=rule)


def _by_name(polyhedron: Polyhedron, variables: Any) -> list[Any]:
    names = features(polyhedron)
    if not hasattr(variables, "keys"):
        listed = list(variables)
        if len(listed) != len(names):
            raise ExportError(f"variables must be one a feature, {len(names)}; got {len(listed)}")
        return listed
    keys = list(variables.keys())
    wanted: Sequence[Any] = names
    if all(isinstance(key, int) for key in keys):
        wanted = range(len(names))
    missing = [key for key in wanted if key not in keys]
    if missing:
        raise ExportError(
            f"variables must have every feature; {brief(missing[0])} is missing, "
            f"there are {brief(keys)}"
        )
    return [variables[key] for key in wanted]


def _scaled(polyhedron: Polyhedron) -> tuple[Floats, Floats]:
    greatest = np.abs(polyhedron.W).max(axis=1)
    usual = (greatest >= 1 / 1024) & (greatest <= 1024)
    exponents = np.where(usual, 1, np.frexp(greatest)[1])
    with np.errstate(over="ignore", under="ignore"):
        W = np.ldexp(polyhedron.W, 1 - exponents[:, None])
        b = np.ldexp(polyhedron.b, 1 - exponents)
    far = np.flatnonzero(~np.isfinite(b))
    if far.size:
        raise ExportError(
            f"face {far[0]} is further from the origin than float64 can hold "
            f"(b[{far[0]}] is {polyhedron.b[far[0]]})"
        )
    return W, b


# --- the LP format ----------------------------------------------------------------------


def to_lp(
    polyhedron: Polyhedron,
    *,
    objective: Any = None,
    maximise: bool = False,
    bounds: Mapping[str, tuple[float | None, float | None]] | None = None,
    integers: Collection[str] = (),
    name: str = "polyceptron",
) -> str:
    r"""Return a file in the LP format of CPLEX, which HiGHS, SCIP and others read.

    Variables are free, not bounded by zero, unless `bounds` says otherwise.

    Parameters
    ----------
    polyhedron : Polyhedron
    objective : array-like of shape (n_features,) or mapping of str to float, optional
        What to minimise, in the order of the features or by their names; nothing if not given.
    maximise : bool
        Maximise the objective instead.
    bounds : mapping of str to (low, high), optional
        Limits of features, by name; None is no limit.
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
    >>> from polyceptron.export import to_lp
    >>> region = Polyhedron([[1, 0], [-1, -2]], [0, 4], ["age", "body mass"])
    >>> text = to_lp(region, objective={"body mass": 1}, maximise=True)
    >>> print(text, end="")  # doctest: +ELLIPSIS
    \ Made by polyceptron ...
    \ x1_body_mass is "body mass"
    Maximize
     polyceptron:
      + 1.0 x1_body_mass
    Subject To
     face0:
      + 1.0 age
      >= 0.0
     face1:
      - 1.0 age
      - 2.0 x1_body_mass
      >= -4.0
    Bounds
     age free
     x1_body_mass free
    End
    """
    polyhedron = check_polyhedron(polyhedron)
    names, variables = features(polyhedron), lp_names(polyhedron)
    W, b = _scaled(polyhedron)
    lines = [f"\\ {made_by()}"]
    lines += [
        f"\\ {variable} is {safe(feature)}"
        for variable, feature in zip(variables, names, strict=True)
        if variable != feature
    ]
    lines += ["Maximize" if maximise else "Minimize", f" {check_name(name)}:"]
    lines += _lp_terms(_objective(objective, names), variables) or [f"  0 {variables[0]}"]
    lines += ["Subject To"]
    for k, (w, offset) in enumerate(zip(W, b, strict=True)):
        lines += [f" face{k}:", *_lp_terms(w, variables), f"  >= {-float(offset) + 0.0!r}"]
    lines += ["Bounds", *_lp_bounds(bounds or {}, names, variables)]
    if integers:
        wanted = [_place(feature, names, "integers") for feature in integers]
        lines += ["General", *(f" {variables[j]}" for j in sorted(set(wanted)))]
    return "\n".join([*lines, "End", ""])


def lp_names(polyhedron: Polyhedron) -> tuple[str, ...]:
    """Return what `to_lp` calls the features: themselves where the format allows it.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.export import lp_names
    >>> lp_names(Polyhedron([[1, 1, 1]], [0], ["age", "free", "a b"]))
    ('age', 'x1_free', 'x2_a_b')
    """
    names = features(check_polyhedron(polyhedron))
    taken = {name for name in names if _is_lp_name(name)}
    chosen = []
    for j, name in enumerate(names):
        variable = name
        if not _is_lp_name(name):
            variable = f"x{j}_{re.sub('[^A-Za-z0-9_]', '_', name)[:40]}"
            while variable in taken:
                variable += "_"
            taken.add(variable)
        chosen.append(variable)
    return tuple(chosen)


_WORDS = (
    "min max minimize maximize minimise maximise minimum maximum subject such st to that bounds "
    "bound free inf infinity nan general generals gen integer integers int binary binaries bin "
    "semi continuous semis sos sos1 sos2 s1 s2 end obj"
)
_LP_WORDS = frozenset(_WORDS.split())


def _is_lp_name(name: str) -> bool:
    # Not e, as e3 may be read as an exponent; not the names of our rows.
    plain = re.fullmatch(r"[A-DF-Za-df-z][A-Za-z0-9_]{0,99}", name) is not None
    return plain and name.lower() not in _LP_WORDS and not re.fullmatch(r"face\d+", name)


def _lp_terms(coefficients: Floats, variables: Sequence[str]) -> list[str]:
    return [
        f"  {'-' if c < 0 else '+'} {abs(float(c))!r} {variable}"
        for c, variable in zip(coefficients, variables, strict=True)
        if c != 0
    ]


def _objective(objective: Any, names: Sequence[str]) -> Floats:
    coefficients = np.zeros(len(names))
    if isinstance(objective, Mapping):
        for feature, value in objective.items():
            coefficients[_place(feature, names, "objective")] = value
    elif objective is not None:
        coefficients[:] = objective
    return as_columns(coefficients, "objective", len(names))


def _lp_bounds(
    bounds: Mapping[str, tuple[float | None, float | None]],
    names: Sequence[str],
    variables: Sequence[str],
) -> list[str]:
    limits = {_place(feature, names, "bounds"): pair for feature, pair in bounds.items()}
    lines = []
    for j, variable in enumerate(variables):
        low, high = limits.get(j, (None, None))
        if low is None and high is None:
            lines.append(f" {variable} free")
            continue
        least = "-inf" if low is None else repr(float(low))
        most = "inf" if high is None else repr(float(high))
        lines.append(f" {least} <= {variable} <= {most}")
    return lines


def _place(feature: str, names: Sequence[str], what: str) -> int:
    if feature not in names:
        raise ExportError(f"{what} names {brief(feature)}, which is not one of the features")
    return list(names).index(feature)
