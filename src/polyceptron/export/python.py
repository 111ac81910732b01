"""Plain Python: a module without imports but the standard library's, that answers row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyceptron.export._shared import (
    Field,
    check_labels,
    check_polyhedron,
    features,
    fields,
    inequalities,
    made_by,
    numbers,
)
from polyceptron.polyhedron import Polyhedron

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding


def to_python(
    polyhedron: Polyhedron,
    *,
    inside: Any = "1",
    outside: Any = "0",
    encoding: Encoding | None = None,
) -> str:
    """Return the source of a module with ``predict(row)`` and ``decision(row)``.

    It needs Python 3.8 or newer and nothing else. A row is a dict by column name or a sequence in
    the order of the columns. Its values are numbers, or text that reads as numbers, as the
    module csv gives them; a value that is missing (None or NaN) is an error that names its column,
    unless the encoding fills it.

    Parameters
    ----------
    polyhedron : Polyhedron
    inside, outside : bool, int, float or str
        The labels to answer with.
    encoding : Encoding, optional
        Rows then have the columns of the table that was encoded.

    Returns
    -------
    str
        Names and labels are written as text with escapes, so none can become code.

    Notes
    -----
    Every row gets the answer of `Polyhedron.contains`, also where it is on a face but for
    rounding: there the module computes with the same fused operations. Away from faces
    ``decision`` is the margin up to rounding.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.export import to_python
    >>> module = {}
    >>> exec(to_python(Polyhedron([[1, -2]], [0.5], ["age", "dose"]), inside="in"), module)
    >>> module["predict"]({"age": 3, "dose": 1}), module["decision"]([1.5, 2])
    ('in', -2.0)
    """
    polyhedron = check_polyhedron(polyhedron)
    one, other = check_labels(inside, outside)
    names = features(polyhedron, encoding)
    lines = [
        f"# {made_by()} A row is inside where all of this holds, here to three digits:",
        *(f"#   {line}" for line in inequalities(polyhedron, names)),
        "",
        "import math",
        "from fractions import Fraction",
        "",
        f"INSIDE, OUTSIDE = {one!a}, {other!a}",
        "# Column, its categories (None: a number), what a gap counts as (None: an error).",
        "COLUMNS = (",
        *(f"    {_column(field)}," for field in fields(polyhedron, encoding)),
        ")",
        "W = (",
        *(f"    {_tuple(numbers(w))}," for w in polyhedron.W),
        ")",
        f"B = {_tuple(numbers(polyhedron.b))}",
    ]
    return "\n".join(lines) + _RUNTIME


def _tuple(values: list[float]) -> str:
    return f"({', '.join(map(repr, values))},)"


def _column(field: Field) -> str:
    return ascii((field.name, field.categories, field.fill))


_RUNTIME = '''


def predict(row):
    """Return the label of a row: a dict by column, or a sequence in the order of COLUMNS."""
    return INSIDE if decision(row) >= 0.0 else OUTSIDE


def decision(row):
    """Return the least margin of a row over the inequalities; it is inside from zero up."""
    x = features(row)
    return min(_margin(w, b, x) for w, b in zip(W, B))


def features(row):
    """Return the numbers that the inequalities are about."""
    if hasattr(row, "keys"):
        for name, _, _ in COLUMNS:
            if name not in row:
                raise ValueError("column %r is missing" % (name,))
        row = [row[name] for name, _, _ in COLUMNS]
    elif len(row) != len(COLUMNS):
        raise ValueError("a row has %d values; got %d" % (len(COLUMNS), len(row)))
    x = []
    for value, (name, categories, fill) in zip(row, COLUMNS):
        if value is None or value != value:
            if fill is None:
                raise ValueError("column %r has no value" % (name,))
            value = fill
        if categories is None:
            x.append(_number(value, name))
        else:
            text = str(int(value) if isinstance(value, float) and value.is_integer() else value)
            x.extend(1.0 if text == category else 0.0 for category in categories)
    return x


def _number(value, name):
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("column %r must be a finite number; got %r" % (name, value))
    return number


def _margin(w, b, x):
    total, size = b, abs(b)
    for wj, xj in zip(w, x):
        total += wj * xj
        size += abs(wj * xj)
    # Far enough from zero, the sign does not depend on rounding.
    if abs(total) > size * (len(w) + 4) * 2.0**-51 + 1e-300:
        return total
    total = b
    try:
        for wj, xj in zip(w, x):
            total = float(Fraction(wj) * Fraction(xj) + Fraction(total))
    except OverflowError:
        return _at_scale(w, b, x)
    return total


def _at_scale(w, b, x):
    ex = math.frexp(max(map(abs, x)))[1]
    ew = math.frexp(max(map(abs, w)))[1]
    shift = max(ex + ew, math.frexp(b)[1]) + len(w).bit_length() + 1
    total = math.ldexp(b, -shift)
    for wj, xj in zip(w, x):
        total += math.ldexp(math.ldexp(xj, -ex) * math.ldexp(wj, -ew), ex + ew - shift)
    try:
        return math.ldexp(total, shift)
    except OverflowError:
        return math.copysign(math.inf, total)
'''
