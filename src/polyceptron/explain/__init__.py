"""Explanations of a learner, a rule or a polyhedron: in words, and why a row is answered so.

A fitted pipeline of scikit-learn that ends in a learner is one, with the columns that it is given.
Rows come as arrays, mappings, pandas series or one-row frames; features go by their names, or by
x0, x1, ... where they have none. A question without an answer raises an `ExplainError`, which is a
ValueError.

Examples
--------
>>> from polyceptron import Polyhedron, explain
>>> safe = Polyhedron([[-1, 0], [0, -1]], [80, 5], ["temperature", "pressure"])
>>> print(explain.counterfactual(safe, [90, 3]))
'inside' instead of 'outside': temperature from 90 to 80 (distance 10)
"""

from polyceptron.explain._arguments import ExplainError, as_row
from polyceptron.explain._counterfactual import Counterfactual, counterfactual
from polyceptron.explain._domain import Domain
from polyceptron.explain._rules import (
    Contributions,
    Face,
    Membership,
    contributions,
    membership,
    rejected_by,
    robustness,
    rules,
    rules_table,
)
from polyceptron.explain._verdict import verdict
from polyceptron.verdict import ClassScore, Verdict, VerdictWarning

__all__ = [
    "ClassScore",
    "Contributions",
    "Counterfactual",
    "Domain",
    "ExplainError",
    "Face",
    "Membership",
    "Verdict",
    "VerdictWarning",
    "as_row",
    "contributions",
    "counterfactual",
    "membership",
    "rejected_by",
    "robustness",
    "rules",
    "rules_table",
    "verdict",
]
