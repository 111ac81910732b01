"""Plain Python: a module without imports but the standard library's, that answers row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyceptron.export._shared import features, fields, labelled, template

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
    found = labelled(polyhedron, inside, outside)
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
    return "\n".join([*lines, "", "", template("model.py.txt")])
