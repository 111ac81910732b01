"""The rules of a model, in words and as a table."""

from __future__ import annotations

from typing import Any

from polyceptron.explain._arguments import ExplainError
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import as_rule
from polyceptron.utils.checks import as_count
from polyceptron.utils.text import inequality


def rules(model: Any, digits: int = 3) -> str:
    """Return what a model answers by, in words.

    Parameters
    ----------
    model : fitted learner, Rule or Polyhedron
        A tree gives its leaves, a model of more than two classes the polyhedra of each class.
    digits : int
        Significant digits of the numbers.

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
    rule = as_rule(model, error=ExplainError)
    shown = str if isinstance(model, Polyhedron) else repr
    head = "The polyhedron of {} holds a row" if rule.is_most_probable else "A row is {}"
    lines = [
        f"{head.format(shown(label))} {_conditions(part, digits)}"
        for label, union in rule.polyhedra.items()
        for part in union
    ]
    if rule.is_most_probable:
        lines.append("A row is of the class that its polyhedron makes most probable.")
    elif rule.otherwise is not None:
        lines.append(f"Otherwise it is {shown(rule.labels[rule.otherwise])}.")
    return "\n".join(lines)


def _conditions(polyhedron: Polyhedron, digits: int) -> str:
    lines = polyhedron.to_text(digits).splitlines()
    head = "if this holds:" if len(lines) == 1 else "if all of these hold:"
    return "\n".join([head, *(f"  face {k}: {line}" for k, line in enumerate(lines))])


def rules_table(model: Any, digits: int = 3) -> dict[str, list[Any]]:
    """Return the rules as columns, one row a face: ``pandas.DataFrame(rules_table(model))``.

    Parameters
    ----------
    model : fitted learner, Rule or Polyhedron
    digits : int
        Significant digits of the inequalities in words; the numbers are whole.

    Returns
    -------
    dict of str to list
        "label" (of the rows inside), "part" (which polyhedron of this label, where there are
        several), "face", "inequality", "b", and "w[name]" for every feature: inside is
        where the sum of ``w[name] * name`` plus b is at least 0 for all faces of a part.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.explain import rules_table
    >>> table = rules_table(Polyhedron([[1, 0], [-1, -2]], [0, 4], ["age", "dose"]))
    >>> table["inequality"], table["w[dose]"], table["b"]
    (['age >= 0', '-age - 2*dose >= -4'], [0.0, -2.0], [0.0, 4.0])
    """
    digits, rule = as_count(digits, "digits"), as_rule(model, error=ExplainError)
    columns = ["label", "part", "face", "inequality", "b", *(f"w[{name}]" for name in rule.names)]
    faces = [
        [label, part, k, inequality(w, b, rule.names, digits), b, *w.tolist()]
        for label, union in rule.polyhedra.items()
        for part, p in enumerate(union)
        for k, (w, b) in enumerate(zip(p.W, p.b.tolist(), strict=True))
    ]
    return {
        name: list(values) for name, values in zip(columns, zip(*faces, strict=True), strict=True)
    }
