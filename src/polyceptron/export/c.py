"""C99: functions that need nothing but the standard library."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyceptron.export._shared import (
    ExportError,
    Label,
    check_name,
    labelled,
    refuse_unwritable,
    safe,
    template,
)
from polyceptron.utils.types import Floats

_LONGEST = 4095
"""Bytes of text that every compiler of C99 must take."""


def to_c(
    polyhedron: Any,
    *,
    inside: Any = None,
    outside: Any = None,
    name: str = "polyceptron",
) -> str:
    r"""Return C99 source with ``double NAME_decision(x)`` and ``int NAME_predict(x)``.

    ``x`` are the features as doubles, in the order that the comment at the top of the source says.
    ``NAME_predict`` is 1 inside, 0 outside, of a tree the place of the label among its classes, and
    -1 where a feature is not finite. ``NAME_label`` is the label as text, or a null pointer. Link
    with the library of mathematics, ``-lm`` on most systems, and do not compile with
    ``-ffast-math``.

    Parameters
    ----------
    polyhedron, inside, outside : as for `to_python`
    name : str
        What the names of the functions begin with.

    Returns
    -------
    str

    Notes
    -----
    ``NAME_decision`` is `Polyhedron.decision` to the last bit, of several the greatest: numbers are
    written in base 16, and the operations are the same.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.export import to_c
    >>> source = to_c(Polyhedron([[1, -2]], [0.5], ["age", "*/ dose"]), name="safe")
    >>> print("\n".join(source.splitlines()[2:10]))
     * Features, in order:
     *   x[0]: age
     *   x[1]: "\x2a/ dose"
     * A row is inside where all of this holds, here to three digits:
     *   age - 2*"\x2a/ dose" >= -0.5
     * Labels: inside "1", outside "0".
     */
    #include <math.h>
    """
    found = labelled(polyhedron, inside, outside)
    prefix, rule = check_name(name), found.rule
    W, b = found.faces()
    made, *comment = found.comment(rule.names)
    made, _, head = made.partition(". ")
    shown = [f'"{safe(str(label)).strip(chr(34))}"' for label in found.labels]
    if rule.inside_place is None:
        labels = ", ".join(f"{place} {label}" for place, label in enumerate(shown))
    else:
        labels = f"inside {shown[1]}, outside {shown[0]}"
    header = [
        "/*",
        f" * {made}.",
        " * Features, in order:",
        *(f" *   x[{j}]: {safe(feature)}" for j, feature in enumerate(rule.names)),
        f" * {head}",
        *(f" * {line}" for line in comment),
        f" * Labels: {labels}.",
        " */",
    ]
    pieces = np.array(found.pieces())
    body = (
        template("model.c")
        .replace("WEIGHTS", ",\n".join(f"    {{{_row(w)}}}" for w in W))
        .replace("OFFSETS", _row(b))
        .replace("PLACES", ", ".join(map(str, pieces[:, 0])))
        .replace("FIRSTS", ", ".join(map(str, [0, *pieces[:, 2]])))
        .replace("PIECES", str(len(pieces)))
        .replace("OTHERWISE", str(-1 if rule.otherwise is None else rule.otherwise))
        .replace("FACES", str(len(b)))
        .replace("FEATURES", str(W.shape[1]))
        .replace("SPARE", str(W.shape[1].bit_length() + 1))
        .replace("NAME", prefix)
        .replace("@LABELS@", ", ".join(map(_text, found.labels)))  # the sign @ is by its byte
    )
    return "\n".join([*header, body])


def _row(values: Floats) -> str:
    return ", ".join(value.hex() for value in values.tolist())


def _text(label: Label) -> str:
    """Return a string literal: all but letters and digits by their bytes, three octal digits."""
    text = str(label)
    refuse_unwritable(text, "label")
    data = text.encode("utf-8")
    if len(data) > _LONGEST:
        raise ExportError(
            f"a label must have at most {_LONGEST} bytes in C; {text!r:.60} has {len(data)}"
        )
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.-"
    return '"' + "".join(chr(c) if c in plain else f"\\{c:03o}" for c in data) + '"'
