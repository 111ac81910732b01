"""A polyhedron for those who do not run Python: queries, programs, formulas, constraints.

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

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding
    from polyceptron.export._shared import ExportError, ExportOptionError
    from polyceptron.export.c import to_c
    from polyceptron.export.javascript import to_javascript
    from polyceptron.export.latex import to_latex
    from polyceptron.export.onnx import to_onnx
    from polyceptron.export.optimise import lp_names, to_cvxpy, to_lp, to_pyomo, to_scipy
    from polyceptron.export.python import to_python
    from polyceptron.export.skl2onnx import register_skl2onnx
    from polyceptron.export.sql import to_sql
    from polyceptron.polyhedron import Polyhedron

__all__ = [
    "FORMATS",
    "ExportError",
    "ExportOptionError",
    "Format",
    "export",
    "lp_names",
    "register_skl2onnx",
    "to_c",
    "to_cvxpy",
    "to_javascript",
    "to_latex",
    "to_lp",
    "to_onnx",
    "to_pyomo",
    "to_python",
    "to_scipy",
    "to_sql",
]

# Public name -> the module that defines it.
_HOME = {
    "ExportError": "_shared",
    "ExportOptionError": "_shared",
    "lp_names": "optimise",
    "register_skl2onnx": "skl2onnx",
    "to_c": "c",
    "to_cvxpy": "optimise",
    "to_javascript": "javascript",
    "to_latex": "latex",
    "to_lp": "optimise",
    "to_onnx": "onnx",
    "to_pyomo": "optimise",
    "to_python": "python",
    "to_scipy": "optimise",
    "to_sql": "sql",
}


class Format(NamedTuple):
    """What a file of this format is called, and is."""

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
    polyhedron: Polyhedron,
    to: str,
    *,
    inside: Any = "1",
    outside: Any = "0",
    encoding: Encoding | None = None,
    name: str = "polyceptron",
    **options: Any,
) -> str | bytes:
    """Return a polyhedron as the content of a file.

    Parameters
    ----------
    polyhedron : Polyhedron
    to : str
        One of `FORMATS`.
    inside, outside : bool, int, float or str
        The labels to answer with. Formats of constraints have no answers.
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
    >>> from polyceptron.export import export
    >>> strong = Polyhedron([[1, -2]], [0.5], ["age", "dose"])
    >>> print(export(strong, "sql", kind="where", table=None))
    ("age" BETWEEN -1e+308 AND 1e+308
      AND "dose" BETWEEN -1e+308 AND 1e+308
      AND 0.5e0 + 1.0e0 * "age" + -2.0e0 * "dose" >= 0)
    """
    from polyceptron.export import _files
    from polyceptron.export._shared import ExportOptionError

    if to not in FORMATS:
        raise ExportOptionError(f"to must be one of {', '.join(FORMATS)}; got {to!r}")
    labels = {"inside": inside, "outside": outside}
    return _files.write(polyhedron, to, labels, encoding, name, options)


def __getattr__(name: str) -> Any:
    """Load a public name on first use (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
