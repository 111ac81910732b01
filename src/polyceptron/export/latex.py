"""LaTeX: the inequalities as a formula, whatever the columns are called."""

from __future__ import annotations

from typing import Any

from polyceptron.export._shared import ExportError, ExportOptionError, made_by
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Rule, as_rule
from polyceptron.utils.checks import as_count
from polyceptron.utils.text import printable, two_sides, writer

# Ligatures and shorthands are broken up as well: names come out as they are.
_SPECIALS = {sign: f"\\{sign}" for sign in "{}#$%&_"}
_SPECIALS |= {sign: f"{sign}{{}}" for sign in "-,?!"}
_COMMANDS = "backslash asciicircum asciitilde less greater bar quotedblright quoteleft quoteright"
_SPECIALS |= {
    sign: f"\\text{command}{{}}"
    for sign, command in zip("\\^~<>|\"`'", _COMMANDS.split(), strict=True)
}
_SIGNS = {">=": "\\geq", "<=": "\\leq"}


def to_latex(polyhedron: Any, *, digits: int | None = None, environment: str = "align*") -> str:
    r"""Return the inequalities for a document that uses the package amsmath.

    Parameters
    ----------
    polyhedron : Polyhedron, Rule or fitted learner
        Several polyhedra of one class are joined by "or"; where several classes have polyhedra,
        each has its label.
    digits : int or None
        Significant digits; None writes the numbers that decide, which are read back exactly.
    environment : {"align*", "aligned"}
        ``align*`` stands for itself, ``aligned`` inside a formula.

    Returns
    -------
    str
        Names are in ``\text{}`` with every special character escaped: none can become a command.
        Characters that cannot be printed are shown as ``\n`` or ``\x00``. Letters beyond ASCII are
        left to the engine and its fonts.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> print(to_latex(Polyhedron([[0.5, -1e-7]], [-2], ["age", "x_1"])))  # doctest: +ELLIPSIS
    % Made by polyceptron ...
    \begin{align*}
      0.5\,\text{age} - 1 \times 10^{-7}\,\text{x\_1} &\geq 2
    \end{align*}
    """
    rule = as_rule(polyhedron, "polyhedron", ExportError)
    if environment not in ("align*", "aligned"):
        raise ExportOptionError(f"environment must be align* or aligned; got {environment!r}")
    try:
        digits = None if digits is None else as_count(digits, "digits")
    except (TypeError, ValueError) as error:
        raise ExportOptionError(str(error)) from None
    parts = [_rows_of_faces(piece.polyhedron, rule, digits) for piece in rule.pieces]
    if len(parts) > 1:
        parts = [
            f"  {before}& \\left\\{{\\begin{{aligned}}\n{part}\n  \\end{{aligned}}\\right."
            for before, part in zip(_before(rule), parts, strict=True)
        ]
    body = " \\\\\n".join(parts)
    return f"% {made_by()}\n\\begin{{{environment}}}\n{body}\n\\end{{{environment}}}\n"


def _before(rule: Rule) -> list[str]:
    """What stands before each piece: its label, or that it is another of the same class."""
    if rule.inside_place is not None:
        return ["", *["\\lor\\; "] * (len(rule.pieces) - 1)]
    labels = [_escaped_text(str(rule.labels[piece.place])) for piece in rule.pieces]
    return [f"\\text{{{label}:}}\\; " for label in labels]


def _rows_of_faces(polyhedron: Polyhedron, rule: Rule, digits: int | None) -> str:
    names = [f"\\text{{{_escaped_text(name)}}}" for name in rule.names]
    if rule.feature_names is None:
        names = [f"x_{{{j}}}" for j in range(rule.n_features)]
    write = writer(digits)
    lines = (
        two_sides(w, b, names, lambda value: _latex_number(write(value)), "\\,")
        for w, b in zip(polyhedron.W, polyhedron.b.tolist(), strict=True)
    )
    return " \\\\\n".join(f"  {left} &{_SIGNS[sign]} {right}" for left, sign, right in lines)


def _escaped_text(text: str) -> str:
    r"""Text for ``\text{}``."""
    return "".join(_SPECIALS.get(sign, sign) for sign in printable(text))


def _latex_number(text: str) -> str:
    mantissa, _, exponent = text.partition("e")
    return mantissa if not exponent else f"{mantissa} \\times 10^{{{int(exponent)}}}"
