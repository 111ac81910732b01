"""The rules of a model, in words and as a table."""

from __future__ import annotations

from typing import Any

from polyceptron.explain._subject import Leaves, names_of, one_polyhedron, parts, subject
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.checks import as_count
from polyceptron.utils.text import inequality


def rules(model: Any, digits: int = 3) -> str:
    """Return what a model answers by, in words.

    Parameters
    ----------
    model : fitted learner or Polyhedron
        A tree gives its leaves, a model of more than two classes the polyhedron of each class.
    digits : int
        Significant digits of the numbers.

    Returns
    -------
    str

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.explain import rules
    >>> print(rules(Polyhedron([[1, 0], [-1, -2]], [0, 4], ["age", "dose"])))
    A row is inside if all of these hold:
      face 0: age >= 0
      face 1: -age - 2*dose >= -4
    Otherwise it is outside.
    """
    digits = as_count(digits, "digits")
    if isinstance(model, Polyhedron):
        return f"A row is inside {_conditions(model, digits)}\nOtherwise it is outside."
    found = parts(model)
    if hasattr(model, "estimators_"):
        texts = [
            f"The polyhedron of {c!r} holds a row {_conditions(p, digits)}" for c, [p] in found
        ]
        return "\n".join([*texts, "A row is of the class that its polyhedron makes most probable."])
    if isinstance(subject(model), Leaves):
        texts = [f"A row is {c!r} {_conditions(p, digits)}" for c, leaves in found for p in leaves]
        return "\n".join(texts)
    one = one_polyhedron(model)
    words = _conditions(one.polyhedron, digits)
    return f"A row is {one.inside!r} {words}\nOtherwise it is {one.outside!r}."


def _conditions(polyhedron: Polyhedron, digits: int) -> str:
    lines = polyhedron.to_text(digits).splitlines()
    head = "if this holds:" if len(lines) == 1 else "if all of these hold:"
    return "\n".join([head, *(f"  face {k}: {line}" for k, line in enumerate(lines))])


def rules_table(model: Any, digits: int = 3) -> dict[str, list[Any]]:
    """Return the rules as columns, one row a face: ``pandas.DataFrame(rules_table(model))``.

    Parameters
    ----------
    model : fitted learner or Polyhedron
    digits : int
        Significant digits of the inequalities in words; the numbers are whole.

    Returns
    -------
    dict of str to list
        "label" (of the rows inside), "part" (which polyhedron of this label, of a tree with
        several leaves), "face", "inequality", "b", and "w[name]" for every feature: inside is
        where the sum of ``w[name] * name`` plus b is at least 0 for all faces of a part.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.explain import rules_table
    >>> table = rules_table(Polyhedron([[1, 0], [-1, -2]], [0, 4], ["age", "dose"]))
    >>> table["inequality"], table["w[dose]"], table["b"]
    (['age >= 0', '-age - 2*dose >= -4'], [0.0, -2.0], [0.0, 4.0])
    """
    digits = as_count(digits, "digits")
    faces = [
        (label, part, k, polyhedron)
        for label, polyhedra in parts(model)
        for part, polyhedron in enumerate(polyhedra)
        for k in range(polyhedron.n_faces)
    ]
    names = names_of(faces[0][3])
    table: dict[str, list[Any]] = {
        "label": [label for label, _, _, _ in faces],
        "part": [part for _, part, _, _ in faces],
        "face": [k for _, _, k, _ in faces],
        "inequality": [inequality(p.W[k], float(p.b[k]), names, digits) for _, _, k, p in faces],
        "b": [float(p.b[k]) for _, _, k, p in faces],
    }
    for j, name in enumerate(names):
        table[f"w[{name}]"] = [float(p.W[k, j]) for _, _, k, p in faces]
    return table
