"""A rule in words: text, a table, and HTML for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polyceptron.inequalities import equation
from polyceptron.utils import notebook
from polyceptron.utils.checks import as_count
from polyceptron.utils.palette import colour_of
from polyceptron.utils.text import inequality, one_side, quoted, short_number

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding
    from polyceptron.polyhedron import Polyhedron
    from polyceptron.rule._rule import Rule


def show_label(label: Any) -> str:
    """A label that cannot be taken for anything else: numbers bare, all others as names."""
    return str(label) if isinstance(label, int | float | np.number) else quoted(str(label))


def texts_of_faces(
    polyhedron: Polyhedron, encoding: Encoding | None = None, digits: int | None = None
) -> list[str]:
    """The faces in words; that of a column of two values alone is one of them: smoker = yes."""
    lines = polyhedron.to_text(digits).splitlines()
    faces = zip(lines, polyhedron.W, polyhedron.b.tolist(), strict=True)
    return [equation(w, b, encoding) or line for line, w, b in faces]


def rule_in_words(rule: Rule, labels: Sequence[str]) -> tuple[list[str], str]:
    """For each piece what it answers and when, and the answer besides; `labels` as shown."""
    labels = labels or [show_label(label) for label in rule.labels]
    headings = []
    for p, piece in enumerate(rule.pieces):
        n = piece.polyhedron.n_faces
        how = "if this holds" if n == 1 else f"if all {n} hold"
        headings.append(f"{labels[piece.place]} {how}{rule.which(p)}")
    if rule.otherwise is not None:
        return headings, f"Otherwise {labels[rule.otherwise]}."
    if rule.links:
        most = "Where none or several hold, the answer is the class that is most probable."
        return headings, most
    return headings, "One of them holds for every row: they are the leaves of a tree."


def text_of_rule(rule: Rule, digits: int | None = None) -> str:
    """The rule in words; numbers as for `Polyhedron.to_text`."""
    headings, besides = rule_in_words(rule, ())
    lines = []
    for heading, piece in zip(headings, rule.pieces, strict=True):
        faces = texts_of_faces(piece.polyhedron, rule.encoding, digits)
        lines += [f"{heading}:", *(f"  face {k}: {face}" for k, face in enumerate(faces))]
    return "\n".join([*lines, besides, *_on_gaps(rule)])


def _on_gaps(rule: Rule) -> list[str]:
    """What is taken for values that are missing, a sentence for each column."""
    columns = rule.encoding.columns if rule.encoding else ()
    found = []
    for one in columns:
        if one.fill is not None:
            fill = quoted(one.fill) if isinstance(one.fill, str) else short_number(one.fill)
            found.append(f"Where {quoted(one.name)} is missing, {fill} is taken.")
    return found


def columns_of_faces(rule: Rule, digits: int | None = None) -> dict[str, list[Any]]:
    """The columns of `to_frame`, as lists; the text has so many digits, if these are given."""
    digits = None if digits is None else as_count(digits, "digits")
    rows: list[list[Any]] = []
    for p, piece in enumerate(rule.pieces):
        one = piece.polyhedron
        for k, (w, b) in enumerate(zip(one.W, one.b.tolist(), strict=True)):
            text = inequality(w, b, rule.names, digits)
            shown, sense, bound = one_side(w, b)
            rows.append([rule.labels[piece.place], p, k, text, sense, bound, *shown.tolist()])
    names = ["class", "piece", "face", "text", "sense", "offset"]
    names += [f"w[{name}]" for name in rule.names]
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def html_of_rule(rule: Rule, remarks: Sequence[str] = (), details: Sequence[str] = ()) -> str:
    """The rule as a table with the numbers and names of its text, coloured as in pictures.

    Faces of a single piece have their own colours, several pieces those of their classes.

    Parameters
    ----------
    remarks, details : sequence of str, optional
        Sentences to show below: all of them, and all but the first on a click.
    """
    headings, besides = rule_in_words(rule, ())
    order = {place: k for k, place in enumerate(sorted({one.place for one in rule.pieces}))}
    several = len(rule.pieces) > 1 or rule.inside_place is None
    groups = [
        notebook.FaceGroup(
            texts_of_faces(piece.polyhedron, rule.encoding),
            heading,
            colour_of(order[piece.place]) if several else "",
        )
        for heading, piece in zip(headings, rule.pieces, strict=True)
    ]
    return notebook.rules_html(groups, [besides, *_on_gaps(rule), *remarks], details)
