"""C99: functions that need nothing but the standard library."""

from __future__ import annotations

from typing import Any

from polyceptron.export._shared import (
    ExportError,
    Label,
    brief,
    check_labels,
    check_name,
    check_polyhedron,
    features,
    inequalities,
    made_by,
    numbers,
    refuse_unwritable,
    safe,
)
from polyceptron.polyhedron import Polyhedron

_LONGEST = 4095
"""Bytes of text that every compiler of C99 must take."""


def to_c(
    polyhedron: Polyhedron,
    *,
    inside: Any = "1",
    outside: Any = "0",
    name: str = "polyceptron",
) -> str:
    r"""Return C99 source with ``double NAME_decision(x)`` and ``int NAME_predict(x)``.

    ``x`` are the features as doubles, in the order that the comment at the top of the source says.
    ``NAME_predict`` is 1 inside, 0 outside and -1 where a feature is not finite, and
    ``NAME_label`` is the label as text, or a null pointer. Link with the library of mathematics,
    ``-lm`` on most systems, and do not compile with ``-ffast-math``.

    Parameters
    ----------
    polyhedron : Polyhedron
    inside, outside : bool, int, float or str
        The labels of ``NAME_label``.
    name : str
        What the names of the functions begin with.

    Returns
    -------
    str

    Notes
    -----
    ``NAME_decision`` is `Polyhedron.decision` to the last bit: numbers are written in base 16, and
    the operations are the same.

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
     *   1*age - 2*"\x2a/ dose" >= -0.5
     * Labels: inside "1", outside "0".
     */
    #include <math.h>
    """
    polyhedron = check_polyhedron(polyhedron)
    labels = check_labels(inside, outside)
    prefix = check_name(name)
    names = features(polyhedron)
    K, d = polyhedron.W.shape
    header = [
        "/*",
        f" * {made_by()}",
        " * Features, in order:",
        *(f" *   x[{j}]: {safe(feature)}" for j, feature in enumerate(names)),
        " * A row is inside where all of this holds, here to three digits:",
        *(f" *   {line}" for line in inequalities(polyhedron, names)),
        f" * Labels: inside {_shown(labels[0])}, outside {_shown(labels[1])}.",
        " */",
    ]
    body = (
        _SOURCE.replace("WEIGHTS", ",\n".join(f"    {{{_row(w)}}}" for w in polyhedron.W))
        .replace("OFFSETS", _row(polyhedron.b))
        .replace("FACES", str(K))
        .replace("FEATURES", str(d))
        .replace("SPARE", str(d.bit_length() + 1))
        .replace("NAME", prefix)
        .replace("@INSIDE@", _text(labels[0]))  # where the sign @ is written by its byte
        .replace("@OUTSIDE@", _text(labels[1]))
    )
    return "\n".join(header) + body


def _row(values: Any) -> str:
    return ", ".join(value.hex() for value in numbers(values))


def _shown(label: Label) -> str:
    return f'"{safe(str(label)).strip(chr(34))}"'


def _text(label: Label) -> str:
    """Return a string literal: all but letters and digits by their bytes, three octal digits."""
    text = str(label)
    refuse_unwritable(text, "label")
    data = text.encode("utf-8")
    if len(data) > _LONGEST:
        raise ExportError(
            f"a label must have at most {_LONGEST} bytes in C; {brief(text)} has {len(data)}"
        )
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.-"
    return '"' + "".join(chr(c) if c in plain else f"\\{c:03o}" for c in data) + '"'


_SOURCE = """
#include <math.h>

double NAME_decision(const double x[FEATURES]);
int NAME_predict(const double x[FEATURES]);
const char *NAME_label(const double x[FEATURES]);

static const double NAME_w[FACES][FEATURES] = {
WEIGHTS
};
static const double NAME_b[FACES] = {OFFSETS};

/* The margin at a scale where finite terms do not overflow; its sign comes out right. */
static double NAME_at_scale(const double *w, double b, const double *x)
{
    double most_x = 0.0, most_w = 0.0, total;
    int ex, ew, eb, shift, j;
    for (j = 0; j < FEATURES; j++) {
        most_x = fmax(most_x, fabs(x[j]));
        most_w = fmax(most_w, fabs(w[j]));
    }
    (void)frexp(most_x, &ex);
    (void)frexp(most_w, &ew);
    (void)frexp(b, &eb);
    shift = (ex + ew > eb ? ex + ew : eb) + SPARE;
    total = ldexp(b, -shift);
    for (j = 0; j < FEATURES; j++) {
        double term = ldexp(x[j], -ex) * ldexp(w[j], -ew);
        total += ldexp(term, ex + ew - shift);
    }
    return ldexp(total, shift);
}

/* The least margin over the inequalities: inside from zero up. NaN if x is not finite. */
double NAME_decision(const double x[FEATURES])
{
    double least = INFINITY;
    int j, k;
    for (j = 0; j < FEATURES; j++) {
        if (!isfinite(x[j])) {
            return NAN;
        }
    }
    for (k = 0; k < FACES; k++) {
        double total = NAME_b[k];
        for (j = 0; j < FEATURES; j++) {
            total = fma(x[j], NAME_w[k][j], total);
        }
        if (!isfinite(total)) {
            total = NAME_at_scale(NAME_w[k], NAME_b[k], x);
        }
        least = total < least ? total : least;
    }
    return least;
}

/* 1 inside, 0 outside, -1 if x is not finite. */
int NAME_predict(const double x[FEATURES])
{
    double h = NAME_decision(x);
    return isnan(h) ? -1 : h >= 0.0;
}

/* The label, or a null pointer if x is not finite. */
const char *NAME_label(const double x[FEATURES])
{
    static const char *const labels[2] = {@OUTSIDE@, @INSIDE@};
    int answer = NAME_predict(x);
    return answer < 0 ? 0 : labels[answer];
}
"""
