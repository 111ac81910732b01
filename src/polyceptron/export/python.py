"""Plain Python: a module without imports but the standard library's, that answers row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyceptron.export._shared import answers, features, fields

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding


def to_python(
    polyhedron: Any,
    *,
    inside: Any = None,
    outside: Any = None,
    encoding: Encoding | None = None,
) -> str:
    """Return the source of a module with ``predict(row)`` and ``decision(row)``.

    It needs Python 3.8 or newer and nothing else. A row is a dict by column name or a sequence in
    the order of the columns. Its values are numbers, or text that reads as numbers, as the
    module csv gives them; a value that is missing (None or NaN) is an error that names its column,
    unless the encoding fills it.

    Parameters
    ----------
    polyhedron : Polyhedron, Rule or fitted learner
        Not one of several classes of which the most probable is the answer.
    inside, outside : bool, int, float or str, optional
        The labels to answer with: the model's own, "1" and "0" of a Polyhedron.
    encoding : Encoding, optional
        Rows then have the columns of the table that was encoded.

    Returns
    -------
    str
        Names and labels are written as text with escapes, so none can become code.

    Notes
    -----
    Every row gets the answer of `Rule.predict`, also where it is on a face but for
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
    found = answers(polyhedron, inside, outside)
    W, b = found.faces()
    lines = [
        *(f"# {line}" for line in found.comment(features(found.rule, encoding))),
        "",
        "import math",
        "from fractions import Fraction",
        "",
        f"LABELS = {found.labels!a}",
        "# Column, its categories (None: a number), what a gap counts as (None: an error).",
        "COLUMNS = (",
        *(f"    {(f.name, f.categories, f.fill)!a}," for f in fields(found.rule, encoding)),
        ")",
        "# Of each piece the place of its label, its first face, and the one after its last.",
        f"PIECES = {tuple(map(tuple, found.pieces()))}",
        "# The place of the label of rows in no piece; None: that of the nearest piece.",
        f"OTHERWISE = {found.rule.otherwise}",
        "W = (",
        *(f"    {tuple(w)}," for w in W.tolist()),
        ")",
        f"B = {tuple(b.tolist())}",
    ]
    return "\n".join(lines) + _RUNTIME


_RUNTIME = '''


def predict(row):
    """Return the label of a row: a dict by column, or a sequence in the order of COLUMNS."""
    scores = _scores(features(row))
    for (place, _, _), score in zip(PIECES, scores):
        if score >= 0.0:
            return LABELS[place]
    nearest = PIECES[scores.index(max(scores))][0]
    return LABELS[nearest if OTHERWISE is None else OTHERWISE]


def decision(row):
    """Return the least margin of a row, in the best of the pieces; it is inside from zero up."""
    return max(_scores(features(row)))


def _scores(x):
    return [min(_margin(W[k], B[k], x) for k in range(i, j)) for _, i, j in PIECES]


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
