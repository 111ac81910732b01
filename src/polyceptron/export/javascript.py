"""JavaScript: one file for node and browsers, that answers row by row."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from polyceptron.export._shared import (
    ExportError,
    ExportOptionError,
    check_name,
    features,
    fields,
    labelled,
    template,
)

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding

MODULES = ("commonjs", "esm")
_WORDS = (
    "arguments await break case catch class const continue debugger decision default delete do "
    "else enum eval export exports extends false features finally for function if implements "
    "import in instanceof interface let module new null package predict private protected public "
    "require return static super switch this throw true try typeof undefined var void while with "
    "yield Infinity NaN"
)
_RESERVED = frozenset(_WORDS.split())


def to_javascript(
    polyhedron: Any,
    *,
    inside: Any = None,
    outside: Any = None,
    encoding: Encoding | None = None,
    name: str = "polyceptron",
    module: str = "commonjs",
) -> str:
    r"""Return the source of a script with ``predict(row)`` and ``decision(row)``.

    A row is an object or a Map by column name, or an array in the order of the columns. Its values
    are numbers, or text that reads as numbers; a value that is missing (null, undefined or NaN) is
    an error that names its column, unless the encoding fills it.

    Parameters
    ----------
    polyhedron, inside, outside, encoding : as for `to_python`
    name : str
        In a page, where there are no modules, the functions are in the global object of this name.
    module : {"commonjs", "esm"}
        The first is for ``require``, for ``import`` of a .cjs file, and for a page; the second has
        ``export`` statements.

    Returns
    -------
    str
        Names and labels are written as text with escapes: none can become code or end a script
        element.

    Notes
    -----
    Every row gets the answer of `Rule.predict`, also where it is on a face but for
    rounding: there the script computes with the same fused operations.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.export import to_javascript
    >>> script = to_javascript(Polyhedron([[1, -2]], [0.5], ["age", "</script>"]))
    >>> "</script>" in script, r"\u003c/script\u003e" in script
    (False, True)
    """
    found = labelled(polyhedron, inside, outside)
    if module not in MODULES:
        raise ExportOptionError(f"module must be one of {', '.join(MODULES)}; got {module!r}")
    for label in found.labels:
        if isinstance(label, int) and abs(label) > 2**53:
            raise ExportError(f"JavaScript has no whole number {label}: give labels as text")
    if check_name(name) in _RESERVED:
        raise ExportError(f"name must not be a word of JavaScript; got {name!r}")
    columns = [
        {"name": f.name, "categories": f.categories, "fill": f.fill}
        for f in fields(found.rule, encoding)
    ]
    W, b = found.faces()
    data = [
        *(f"// {line}" for line in found.comment(features(found.rule, encoding))),
        f"const {name} = (function () {{",
        '"use strict";',
        f"const LABELS = {_json(found.labels)};",
        "// Columns, their categories (null: a number), what a gap counts as (null: an error).",
        f"const COLUMNS = {_list(columns)};",
        "// Of each piece the place of its label, its first face, and the one after its last.",
        f"const PIECES = {_json(found.pieces())};",
        "// The place of the label of rows in no piece; null: that of the nearest piece.",
        f"const OTHERWISE = {_json(found.rule.otherwise)};",
        f"const W = {_list(W.tolist())};",
        f"const B = {_json(b.tolist())};",
    ]
    functions = ("predict", "decision", "features")
    if module == "esm":
        ends = [f"export const {one} = {name}.{one};" for one in functions]
        ends.append(f"export default {name};")
    else:
        ends = [
            'if (typeof module === "object" && module && module.exports) {',
            *(f"  module.exports.{one} = {name}.{one};" for one in functions),
            "}",
        ]
    return "\n".join([*data, "", template("model.js") + "\n".join(ends), ""])


def _json(value: Any) -> str:
    """Return what JSON and JavaScript read alike, in ASCII, harmless in a page."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    for sign in "<>&'":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _list(values: list[Any]) -> str:
    return "[\n" + "".join(f"  {_json(value)},\n" for value in values) + "]"
