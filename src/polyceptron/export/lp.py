"""The LP format of solvers: x must stay in the polyhedron, or in one of several."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from polyceptron.export._shared import ExportError, check_name, made_by, safe
from polyceptron.export.optimise import place_of_feature, region_of
from polyceptron.rule import as_rule
from polyceptron.utils.checks import as_columns
from polyceptron.utils.types import Floats


def to_lp(
    polyhedron: Any,
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
    polyhedron : Polyhedron, Rule or fitted learner
        Several polyhedra of one class become a disjunction with binary variables.
    objective : array-like of shape (n_features,) or mapping of str to float, optional
        What to minimise, in the order of the features or by their names; nothing if not given.
    maximise : bool
        Maximise the objective instead.
    bounds : mapping of str to (low, high), optional
        Limits of features, by name; None is no limit. Several polyhedra need them all.
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
    region = region_of(polyhedron, bounds)
    names, variables = region.rule.names, lp_names(polyhedron)
    pieces = _piece_names(len(region.parts), variables)
    lines = [f"\\ {made_by()}"]
    lines += [
        f"\\ {variable} is {safe(feature)}"
        for variable, feature in zip(variables, names, strict=True)
        if variable != feature
    ]
    lines += ["Maximize" if maximise else "Minimize", f" {check_name(name)}:"]
    lines += _lp_terms(_objective(objective, names), variables) or [f"  0 {variables[0]}"]
    lines += ["Subject To"]
    for p, part in enumerate(region.parts):
        prefix = f"piece{p}_" if pieces else ""
        for k, (w, b, M) in enumerate(zip(*part, strict=True)):
            room = _lp_terms([-M], [pieces[p]]) if pieces else []
            right = f"  >= {-float(b + M) + 0.0!r}"
            lines += [f" {prefix}face{k}:", *_lp_terms(w, variables), *room, right]
    if pieces:
        lines += [" pieces:", *_lp_terms([1.0] * len(pieces), pieces), "  >= 1.0"]
    lines += ["Bounds"]
    for variable, low, high in zip(
        variables, region.lower.tolist(), region.upper.tolist(), strict=True
    ):
        is_free = low == -np.inf and high == np.inf
        lines.append(f" {variable} free" if is_free else f" {low!r} <= {variable} <= {high!r}")
    if integers:
        wanted = [place_of_feature(feature, names, "integers") for feature in integers]
        lines += ["General", *(f" {variables[j]}" for j in sorted(set(wanted)))]
    if pieces:
        lines += ["Binary", *(f" {piece}" for piece in pieces)]
    return "\n".join([*lines, "End", ""])


def _piece_names(n: int, taken: Sequence[str]) -> list[str]:
    """Binary variables that say which of several polyhedra x is in."""
    if n == 1:
        return []
    longest = max((len(name) for name in taken if re.fullmatch(r"piece\d+_*", name)), default=0)
    return [f"piece{p}".ljust(longest + 1, "_") if longest else f"piece{p}" for p in range(n)]


def lp_names(polyhedron: Any) -> tuple[str, ...]:
    """Return what `to_lp` calls the features: themselves where the format allows it.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.export import lp_names
    >>> lp_names(Polyhedron([[1, 1, 1]], [0], ["age", "free", "a b"]))
    ('age', 'x1_free', 'x2_a_b')
    """
    names = as_rule(polyhedron, "polyhedron", ExportError).names
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
    rows = r"(piece\d+_)?face\d+|pieces"
    return plain and name.lower() not in _LP_WORDS and not re.fullmatch(rows, name)


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
            coefficients[place_of_feature(feature, names, "objective")] = value
    elif objective is not None:
        coefficients[:] = objective
    return as_columns(coefficients, "objective", len(names))
