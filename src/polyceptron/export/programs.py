"""Programs that answer row by row and need nothing else: C99, JavaScript, plain Python."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from polyceptron.data.encoding import Encoding
from polyceptron.export._shared import (
    ExportError,
    ExportOptionError,
    Labelled,
    PlainLabel,
    check_name,
    columns_of,
    filled,
    labelled,
    refuse_unwritable,
    safe,
)
from polyceptron.utils.text import MOST_SHORT, count_digits
from polyceptron.utils.types import Floats

_WORDS = (
    "arguments await break case catch class const continue debugger decision default delete do "
    "else enum eval export exports extends false features finally for function if implements "
    "import in instanceof interface let module new null package predict private protected public "
    "require return static super switch this throw true try typeof undefined var void while with "
    "yield Infinity NaN"
)


def to_python(
    polyhedron: Any, *, inside: Any = None, outside: Any = None, encoding: Encoding | None = None
) -> str:
    """Return the source of a module with ``predict(row)`` and ``decision(row)``.

    It needs Python 3.8 or newer and nothing else. A row is a dict by column name or a sequence in
    the order of the columns. Its values are numbers, or text that reads as numbers, as the
    module csv gives them; a value that is missing (None or NaN) is an error that names its column,
    unless the encoding fills it.

    Parameters
    ----------
    polyhedron, inside, outside, encoding : as for `export`
        With an encoding, rows have the columns of the table.

    Notes
    -----
    Names and labels are written as text with escapes, so none can become code. Every row gets the
    answer of `Rule.predict`, also where it is on a face but for rounding: there the module computes
    with the same fused operations. Away from faces ``decision`` is the margin up to rounding. Where
    the most probable class is the answer, ``decision`` is its log-odds, and rows of which two
    classes are as probable but for rounding may get either.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> module = {}
    >>> exec(to_python(Polyhedron([[1, -2]], [0.5], ["age", "dose"]), inside="in"), module)
    >>> module["predict"]({"age": 3, "dose": 1}), module["decision"]([1.5, 2])
    ('in', -2.0)
    """
    found = labelled(polyhedron, inside, outside, encoding)
    W, b, exponents = found.faces()
    columns = [tuple(column.values()) for column in _column_facts(found, encoding)]
    return filled(
        "model.py.txt",
        ANSWER=_answer(
            found, ".py.txt", LINKS=tuple(found.links()), OTHERWISE=found.rule.otherwise
        ),
        COMMENT=_lines(found.comment(), "# "),
        LABELS=ascii(found.labels),
        COLUMNS=_lines((f"{column!a}," for column in columns), "    "),
        PIECES=tuple(map(tuple, found.pieces())),
        W=_lines((f"{tuple(w)}," for w in W.tolist()), "    "),
        B=tuple(b.tolist()),
        EXPONENTS=tuple(exponents.tolist()),
    )


def _column_facts(found: Labelled, encoding: Encoding | None) -> list[dict[str, Any]]:
    """What programs need to know of the columns; what is missing of one is told right after it."""
    columns: list[dict[str, Any]] = []
    for c, _ in columns_of(found.rule, encoding):
        if c.kind != "missing":
            known = {"name": c.name, "categories": c.shown_categories or None, "fill": c.fill}
            columns.append(known | {"gap": False})
        elif columns and columns[-1]["name"] == c.name:
            columns[-1]["gap"] = True
        else:
            raise ExportError(f"the column {c.name!r:.60} must stand before what is missing of it")
    return columns


def _answer(found: Labelled, suffix: str, **parts: Any) -> str:
    """The part of a program that makes an answer of scores: by the order of pieces, or by links."""
    kind = "probable" if found.rule.is_most_probable else "in_order"
    return filled(kind + suffix, **parts).rstrip("\n")


def _lines(lines: Iterable[str], before: str) -> str:
    return "\n".join(before + line for line in lines)


def to_c(
    polyhedron: Any, *, inside: Any = None, outside: Any = None, name: str = "polyceptron"
) -> str:
    r"""Return C99 source with ``double NAME_decision(x)`` and ``int NAME_predict(x)``.

    ``x`` are the features as doubles, in the order that the comment at the top of the source says.
    ``NAME_predict`` is 1 inside, 0 outside, of a tree or of more than two classes the place of the
    label among them, and -1 where a feature is not finite. ``NAME_label`` is the label as text, or
    a null pointer. Link with the library of mathematics, ``-lm`` on most systems, and do not
    compile with ``-ffast-math``.

    Parameters
    ----------
    polyhedron, inside, outside : as for `to_python`
    name : str
        What the names of the functions begin with.

    Notes
    -----
    ``NAME_decision`` is `Polyhedron.decision` to the last bit, of several the greatest: numbers of
    more than a few digits are written in base 16, and the operations are the same. Where the most
    probable class is the answer, it is that of `Rule.decide`, up to rounding of tanh and log.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> source = to_c(Polyhedron([[1, -2]], [0.5], ["age", "*/ dose"]), name="safe")
    >>> print("\n".join(source.splitlines()[3:7]))
     *   x[0]: age
     *   x[1]: "\x2a/ dose"
     * What it answers:
     *   "1" if this holds:
    """
    found = labelled(polyhedron, inside, outside)
    rule, pieces = found.rule, found.pieces()
    W, b, exponents = found.faces()
    made, *comment = found.comment()
    shown = [f'"{safe(str(label)).strip(chr(34))}"' for label in found.labels]
    labels = f"inside {shown[1]}, outside {shown[0]}"
    if rule.inside_place is None:
        labels = ", ".join(f"{place} {label}" for place, label in enumerate(shown))
    sizes = {
        "NAME": check_name(name),
        "PIECES": len(pieces),
        "FEATURES": W.shape[1],
        "CLASSES": len(rule.classes),
    }
    answer = _answer(
        found,
        ".c",
        LINKS=_lines((f"{{{', '.join(map(repr, link))}}}," for link in found.links()), "    "),
        OTHERWISE=-1 if rule.otherwise is None else rule.otherwise,
        **sizes,
    )
    return filled(
        "model.c",
        ANSWER=answer,
        MADE=made,
        COLUMNS=_lines((f"x[{j}]: {safe(name)}" for j, name in enumerate(rule.names)), " *   "),
        COMMENT=_lines([*comment, f"Labels: {labels}."], " * "),
        WEIGHTS=_lines((f"{{{_row_of_literals(w)}}}," for w in W), "    "),
        OFFSETS=_row_of_literals(b),
        EXPONENTS=", ".join(map(str, exponents)),
        PLACES=", ".join(str(place) for place, _, _ in pieces),
        FIRSTS=", ".join(map(str, [0, *(end for _, _, end in pieces)])),
        FACES=len(b),
        SPARE=W.shape[1].bit_length() + 1,
        **sizes,
        LABELS=", ".join(map(_string_literal, found.labels)),
    )


def _row_of_literals(values: Floats) -> str:
    return ", ".join(
        repr(value) if count_digits(value) <= MOST_SHORT else value.hex()
        for value in values.tolist()
    )


def _string_literal(label: PlainLabel) -> str:
    """Return a string literal: all but letters and digits by their bytes, three octal digits."""
    text = str(label)
    refuse_unwritable(text, "label")
    data = text.encode("utf-8")
    if len(data) > 4095:  # what every compiler of C99 must take
        raise ExportError(
            f"a label must have at most 4095 bytes in C; {text!r:.60} has {len(data)}"
        )
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.-"
    return '"' + "".join(chr(c) if c in plain else f"\\{c:03o}" for c in data) + '"'


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

    Notes
    -----
    Answers are those of `to_python`. No name or label can become code or end a script element.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> script = to_javascript(Polyhedron([[1, -2]], [0.5], ["age", "</script>"]))
    >>> "</script>" in script, r"\u003c/script\u003e" in script
    (False, True)
    """
    found = labelled(polyhedron, inside, outside, encoding)
    if module not in ("commonjs", "esm"):
        raise ExportOptionError(f"module must be one of commonjs, esm; got {module!r}")
    for label in found.labels:
        if isinstance(label, int) and abs(label) > 2**53:
            raise ExportError(f"JavaScript has no whole number {label}: give labels as text")
    if check_name(name) in _WORDS.split():
        raise ExportError(f"name must not be a word of JavaScript; got {name!r}")
    columns = _column_facts(found, encoding)
    W, b, exponents = found.faces()
    functions = ("predict", "decision", "features")
    if module == "esm":
        ends = [f"export const {one} = {name}.{one};" for one in functions]
        ends.append(f"export default {name};")
    else:
        ends = [f"  module.exports.{one} = {name}.{one};" for one in functions]
        ends = ['if (typeof module === "object" && module && module.exports) {', *ends, "}"]
    answer = _answer(
        found, ".js", LINKS=_json(found.links()), OTHERWISE=_json(found.rule.otherwise)
    )
    return filled(
        "model.js",
        ANSWER=answer,
        COMMENT=_lines(found.comment(), "// "),
        NAME=name,
        LABELS=_json(found.labels),
        COLUMNS=_lines((f"{_json(column)}," for column in columns), "  "),
        PIECES=_json(found.pieces()),
        W=_lines((f"{_json(w)}," for w in W.tolist()), "  "),
        B=_json(b.tolist()),
        EXPONENTS=_json(exponents.tolist()),
        EXPORTS="\n".join(ends),
    )


def _json(value: Any) -> str:
    """Return what JSON and JavaScript read alike, in ASCII, harmless in a page."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    for sign in "<>&'":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
