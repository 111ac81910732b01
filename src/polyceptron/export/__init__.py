"""A model for those who do not run Python: queries, programs, formulas, constraints.

Nothing is loaded before it is used, so the names of the formats cost next to nothing.

Examples
--------
>>> from polyceptron import Polyhedron, export
>>> box = Polyhedron([[1, 0], [-1, 0], [0, 1]], [0, 5, -1], ["age", "dose"])
>>> sorted(export.FORMATS)
['c', 'javascript', 'latex', 'lp', 'onnx', 'python', 'scipy', 'sql']
>>> A_ub, b_ub = export.to_scipy(box)
>>> A_ub.tolist(), b_ub.tolist()
([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0]], [0.0, 5.0, -1.0])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from polyceptron.utils.lazy import lazy_names

if TYPE_CHECKING:  # for type checkers, which do not run `__getattr__`
    from polyceptron.data.encoding import Encoding
    from polyceptron.export._shared import ExportError as ExportError
    from polyceptron.export._shared import ExportOptionError as ExportOptionError
    from polyceptron.export.latex import to_latex as to_latex
    from polyceptron.export.onnx import register_skl2onnx as register_skl2onnx
    from polyceptron.export.onnx import to_onnx as to_onnx
    from polyceptron.export.optimise import lp_names as lp_names
    from polyceptron.export.optimise import to_cvxpy as to_cvxpy
    from polyceptron.export.optimise import to_lp as to_lp
    from polyceptron.export.optimise import to_pyomo as to_pyomo
    from polyceptron.export.optimise import to_scipy as to_scipy
    from polyceptron.export.programs import to_c as to_c
    from polyceptron.export.programs import to_javascript as to_javascript
    from polyceptron.export.programs import to_python as to_python
    from polyceptron.export.sql import to_sql as to_sql

_MODULES = {
    "_shared": "ExportError ExportOptionError",
    "latex": "to_latex",
    "onnx": "register_skl2onnx to_onnx",
    "optimise": "lp_names to_cvxpy to_lp to_pyomo to_scipy",
    "programs": "to_c to_javascript to_python",
    "sql": "to_sql",
}
_HOME = {name: f"{__name__}.{m}" for m, names in _MODULES.items() for name in names.split()}

__all__ = ["FORMATS", "Format", "export"]
__all__ += list(_HOME)


class Format(NamedTuple):
    """What a file of this format ends in, and is."""

    suffix: str
    description: str


FORMATS = {
    "c": Format(".c", "a C99 function that needs nothing but the standard library"),
    "javascript": Format(".js", "a function for node and browsers"),
    "latex": Format(".tex", "the inequalities as a formula"),
    "lp": Format(".lp", "constraints in the LP format of HiGHS and other solvers"),
    "onnx": Format(".onnx", "a model for onnxruntime, in double precision"),
    "python": Format(".py", "a function of plain Python, without numpy"),
    "scipy": Format(".npz", "A_ub and b_ub for scipy.optimize.linprog and milp"),
    "sql": Format(".sql", "a query in the dialect of a database"),
}
"""The formats that are files, by name."""


def export(
    polyhedron: Any,
    to: str,
    *,
    inside: Any = None,
    outside: Any = None,
    encoding: Encoding | None = None,
    name: str = "polyceptron",
    **options: Any,
) -> str | bytes:
    """Return a polyhedron or a rule as the content of a file.

    Parameters
    ----------
    polyhedron : Polyhedron, Rule or fitted learner
    to : str
        One of `FORMATS`.
    inside, outside : bool, int, float or str, optional
        The labels to answer with: the model's own, "1" and "0" of a Polyhedron. Formats of
        constraints have no answers.
    encoding : Encoding, optional
        How the columns of a table became features. SQL, Python and JavaScript then read the
        columns of the table; the other formats take features, in their order, all the same.
    name : str
        What the answer, the function or the model is called.
    **options
        Those of ``to_<format>``, such as ``dialect`` and ``table`` of `to_sql`.

    Returns
    -------
    str or bytes
        Text, but for "onnx" and "scipy".

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> strong = Polyhedron([[1, -2]], [0.5], ["age", "dose"])
    >>> print(export(strong, "sql", kind="where", table=None))
    ("age" BETWEEN -1e+308 AND 1e+308
      AND "dose" BETWEEN -1e+308 AND 1e+308
      AND 0.5e0 + 1.0e0 * "age" + -2.0e0 * "dose" >= 0)
    """
    from inspect import signature

    from polyceptron.export._shared import ExportOptionError, labelled, named

    if to not in FORMATS:
        raise ExportOptionError(f"to must be one of {', '.join(FORMATS)}; got {to!r}")
    labelled(polyhedron, inside, outside)  # where no label is written as well
    function = _npz if to == "scipy" else __getattr__(f"to_{to}")
    known = list(signature(function).parameters)[1:]
    for option in options.keys() - known:
        has = ", ".join(known) or "none"
        raise ExportOptionError(f"the format {to} has no option {option!r}; it has {has}")
    common = {"inside": inside, "outside": outside, "encoding": encoding, "name": name}
    options |= {key: value for key, value in common.items() if key in known}
    made: str | bytes = function(named(polyhedron, encoding), **options)
    return made


def _npz(polyhedron: Any) -> bytes:
    from io import BytesIO

    import numpy as np

    from polyceptron.export.optimise import to_scipy
    from polyceptron.rule import as_rule

    A_ub, b_ub = to_scipy(polyhedron)
    file = BytesIO()
    np.savez(file, A_ub=A_ub, b_ub=b_ub, feature_names=np.array(as_rule(polyhedron).names))
    return file.getvalue()


__getattr__, __dir__ = lazy_names(__name__, _HOME)
