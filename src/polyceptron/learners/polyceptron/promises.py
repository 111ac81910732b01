"""Where a rule, or its answers, are not as a caller knows of a class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polyceptron.learners.polyceptron.knowledge import Knowledge, of_class
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Rule, show_label
from polyceptron.utils.text import inequality, quoted


def broken_promises(given: Mapping[str, Any], rule: Rule) -> list[str]:
    """What is known of classes and does not hold for their polyhedra in this rule, in sentences."""
    found: list[str] = []
    for place in sorted({piece.place for piece in rule.pieces}):
        known = known_of_class(given, rule, place)
        label = show_label(rule.labels[place])
        pieces = {p: one.polyhedron for p, one in enumerate(rule.pieces) if one.place == place}
        for p, one in pieces.items():
            found += _broken_by(one, known, rule.names, f"of {label}{rule.which(p)}")
        if known.rows.shape[0]:
            inside = np.any([one.contains(known.rows) for one in pieces.values()], axis=0)
            if not inside.all():
                n = f"{(~inside).sum()} of {len(inside)} rows of must_contain"
                found.append(f"{n} are not in {label}")
    return found


def known_of_class(given: Mapping[str, Any], rule: Rule, place: int) -> Knowledge:
    """What is known of one class."""
    own = of_class(given, rule.labels[place]) if rule.otherwise is None else {}
    return Knowledge.of({**given, **own}, rule.n_features, rule.feature_names)


def _broken_by(
    one: Polyhedron, known: Knowledge, names: Sequence[str], which: str
) -> Iterator[str]:
    for k, j in np.argwhere(known.signs * one.W < 0).tolist():
        yield (
            f"face {k} {which} makes it less likely as {quoted(names[j])} "
            f"{'rises' if known.signs[j] > 0 else 'falls'}, against monotonic_cst"
        )
    there = [inequality(w, b, names) for w, b in zip(one.W, one.b.tolist(), strict=True)]
    for face in known.faces:
        text = inequality(face[:-1], float(face[-1]), names)
        if text not in there:
            yield f"{text}, one of fixed_faces, is no face {which}"


def unlike_known_rows(given: Mapping[str, Any], rule: Rule) -> Iterator[str]:
    """Of which of more than two classes rows are answered otherwise that have to be in it."""
    for place, label in enumerate(map(show_label, rule.labels)):
        rows = known_of_class(given, rule, place).rows
        wrong = int((rule.decide(rows).place != place).sum()) if rows.shape[0] else 0
        if wrong:
            yield (
                f"{wrong} of the {rows.shape[0]} rows of must_contain of {label} are in its "
                "polyhedra and answered otherwise: with more than two classes the answer is the "
                "most probable class; inside=... against the others answers as is known"
            )
