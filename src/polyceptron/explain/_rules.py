"""The rules of a model in words, why one row is answered as it is, how far the answer holds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polyceptron.explain._arguments import (
    ExplainError,
    answerable,
    as_row,
    asked,
    conditions_of,
    roots_of,
)
from polyceptron.explain._search import CounterfactualSearch
from polyceptron.geometry import distance
from polyceptron.geometry.projection import length
from polyceptron.polyhedron import scaled_faces
from polyceptron.rule import Rule, as_rule
from polyceptron.utils.checks import as_count
from polyceptron.utils.text import inequality
from polyceptron.utils.types import Floats


def rules(model: Any, digits: int | None = None) -> str:
    """Return what a model answers by, in words.

    Parameters
    ----------
    model : fitted learner, Rule or Polyhedron
        A tree gives its leaves, a model of more than two classes the polyhedra of each class.
    digits : int, optional
        Significant digits of the numbers; by default they are those that decide.

    Examples
    --------
    >>> from polyceptron import Polyhedron, explain
    >>> print(explain.rules(Polyhedron([[1, 0], [-1, -2]], [0, 4], ["age", "dose"])))
    inside if all 2 hold:
      face 0: age >= 0
      face 1: 2*dose + age <= 4
    Otherwise outside.
    """
    return as_rule(model, error=ExplainError).to_text(digits)


def rules_table(model: Any, digits: int | None = None) -> dict[str, list[Any]]:
    """Return the rules as columns, one row a face: those of `Rule.to_frame`, without a library.

    Parameters
    ----------
    model : fitted learner, Rule or Polyhedron
    digits : int, optional
        Significant digits of the inequalities in words; by default all, as of the numbers.

    Examples
    --------
    >>> from polyceptron import Polyhedron, explain
    >>> table = explain.rules_table(Polyhedron([[1, 0], [-1, -2]], [0, 4], ["age", "dose"]))
    >>> table["text"], table["w[dose]"], table["sense"], table["offset"]
    (['age >= 0', '2*dose + age <= 4'], [0.0, 2.0], ['>=', '<='], [0.0, 4.0])
    """
    return as_rule(model, error=ExplainError).to_columns(digits)


def _as_digits(digits: int | None) -> int | None:
    return None if digits is None else as_count(digits, "digits")


class Face(NamedTuple):
    """What one face says about a row."""

    face: int
    """Its place in W and b."""
    inequality: str
    slack: float
    """``w . x + b``, in the units of the inequality."""
    distance: float
    """Signed Euclidean distance to the face, in the units of the features."""
    rejects: bool
    """Whether the row is on the outer side, where the slack is below zero."""


def rejected_by(model: Any, x: Any, digits: int | None = None) -> list[Face]:
    """Return what every face says about a row; those with ``rejects`` keep it outside.

    ``pandas.DataFrame(rejected_by(model, x))`` is a table.

    Parameters
    ----------
    model : fitted learner, Rule or Polyhedron
        Of several polyhedra, the one that the answer rests on counts: see `membership`.
    x : array-like, mapping, Series or one-row frame
        One row; by name where it has the names of the features, else by place.
    digits : int, optional
        Significant digits of the inequalities in words; by default they are those that decide.

    Examples
    --------
    >>> from polyceptron import Polyhedron, explain
    >>> P = Polyhedron([[1, 0], [-3, -4]], [0, 5], ["age", "dose"])
    >>> for face in explain.rejected_by(P, {"age": 1, "dose": 3}):
    ...     print(face)
    Face(face=0, inequality='age >= 0', slack=1.0, distance=1.0, rejects=False)
    Face(face=1, inequality='4*dose + 3*age <= 5', slack=-10.0, distance=-2.0, rejects=True)
    """
    rule, x = asked(model, x)
    row = x[None, :]
    P, digits = rule.pieces[_piece(rule, row)].polyhedron.printed, _as_digits(digits)
    return [
        Face(k, inequality(P.W[k], float(P.b[k]), rule.names, digits), slack, far, slack < 0)
        for k, (slack, far) in enumerate(
            zip(P.margins(row)[0].tolist(), P.distance(row)[0].tolist(), strict=True)
        )
    ]


class Membership(NamedTuple):
    """The polyhedron that the answer to a row rests on."""

    label: Any
    """The class of that polyhedron; the answer, where it contains the row."""
    piece: int
    """Its place among the pieces of the rule."""
    n_pieces: int
    inside: bool
    distance: float
    """From the row to the polyhedron, 0 inside."""

    def __str__(self) -> str:
        where = f"piece {self.piece + 1} of {self.n_pieces} ({self.label!r})"
        if self.inside:
            return f"inside {where}"
        return f"outside; the answer rests on {where}, at a distance of {self.distance:.6g}"


def membership(model: Any, x: Any) -> Membership:
    """Return which polyhedron of a model the answer to a row rests on, and how far away it is.

    Arguments are those of `rejected_by`. It is the one of `Rule.decide`: the first that contains
    the row; where none does, or all are of one class, the one of the greatest score. Scores are
    not distances: where the row is outside, a `counterfactual` may lead into another one.

    Examples
    --------
    >>> from polyceptron import Polyhedron, Rule, explain
    >>> low, high = Polyhedron([[-1.0]], [1.0]), Polyhedron([[1.0]], [-5.0])
    >>> rule = Rule.inside(["fine", "harm"], 1, low, high)
    >>> print(explain.membership(rule, [7]))
    inside piece 2 of 2 ('harm')
    >>> print(explain.membership(rule, [2.5]))
    outside; the answer rests on piece 1 of 2 ('harm'), at a distance of 1.5
    """
    rule, x = asked(model, x)
    row = x[None, :]
    number = _piece(rule, row)
    piece = rule.pieces[number]
    with answerable():
        far = float(distance(piece.polyhedron, row)[0])
    inside = bool(piece.polyhedron.contains(row)[0])
    return Membership(rule.labels[piece.place], number, len(rule.pieces), inside, far)


def _piece(rule: Rule, row: Floats) -> int:
    """The piece that the answer rests on, also to rows that no piece contains."""
    return int(rule.decide(row).piece[0])


class Contributions(NamedTuple):
    """What each feature adds to the slack of the deciding face."""

    face: int
    slack: float
    """``w . x + b`` of the row at this face, in the units of its inequality in words."""
    base: float
    """The slack of the reference, from which the contributions start."""
    values: dict[str, float]
    """Of every feature; base and values add up to the slack."""
    reference: dict[str, float]


def contributions(
    model: Any, x: Any, reference: Any = None, *, face: int | None = None
) -> Contributions:
    """Return what every feature adds to the slack of the face that decides about a row.

    That is ``w[j] * (x[j] - reference[j])``. In exact arithmetic the contributions and the
    slack of the reference, ``base``, add up to the slack of the row; in floating point they do
    up to rounding.

    Parameters
    ----------
    model, x : as for `rejected_by`
    reference : the same as x, optional
        The row to compare with, for example the mean of the training rows. By default the point
        of the face that is nearest to the origin, ``-b w / |w|^2``: its slack is zero, so the
        contributions alone add up to that of the row. This shares the offset out in proportion
        to ``w[j]**2``, which depends on the units of the features: give a reference where they
        have different ones.
    face : int, optional
        Another face than the deciding one, which is the face of the least slack.

    Examples
    --------
    >>> from polyceptron import Polyhedron, explain
    >>> P = Polyhedron([[1, 0], [-3, -4]], [0, 5], ["age", "dose"])
    >>> why = explain.contributions(P, [1, 3], reference=[0, 1])
    >>> why.face, why.slack, why.base, why.values
    (1, -10.0, 1.0, {'age': -3.0, 'dose': -8.0})
    >>> {name: round(value, 3) for name, value in explain.contributions(P, [1, 3]).values.items()}
    {'age': -1.2, 'dose': -8.8}
    """
    rule, row = asked(model, x)
    P = rule.pieces[_piece(rule, row[None, :])].polyhedron
    k: Any = P.active_face(row[None, :])[0] if face is None else face
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k < P.n_faces:
        raise ValueError(f"face must be a whole number from 0 to {P.n_faces - 1}; got {face!r}")
    P = P.printed  # with the numbers that people see
    w, slack = P.W[k], float(P.margins(row[None, :])[0, k])
    if reference is None:
        start, base = _foot(w, float(P.b[k])), 0.0
    else:
        start = as_row(reference, rule, "reference")
        base = float(P.margins(start[None, :])[0, k])
    # Not by the difference of two sums, which would lose what they have in common.
    with np.errstate(over="ignore"):
        values = w * (row - start)
    by_name = [dict(zip(rule.names, one.tolist(), strict=True)) for one in (values, start)]
    return Contributions(int(k), slack, base, *by_name)


def _foot(w: Floats, b: float) -> Floats:
    """The point of a face that is nearest to the origin, also for tiny and huge normals."""
    (unit,), (offset,), _ = scaled_faces(w[None, :], np.array([b]))
    with np.errstate(over="ignore", under="ignore"):
        foot = -offset * (unit / (unit @ unit))
    far = np.finfo(float).max
    # Adding zero turns -0.0 into 0.0.
    return np.asarray(np.clip(foot, -far, far) + 0.0)


def robustness(model: Any, x: Any, *, weights: Any = None) -> float:
    """Return the radius of the largest open ball around a row in which the answer is the same.

    It is infinite if no row has another answer. Exact up to rounding: the distance to the nearest
    face inside, to the nearest polyhedron outside, for a tree to the nearest leaf with another
    answer. Where polyhedra of a union overlap it is that of the `counterfactual`, which leaves
    them all. Where the most probable class is the answer, it may be a millionth less.

    Parameters
    ----------
    model, x, weights : as for `counterfactual`
        The ball is ``sum_j weights[j] * change[j]**2 < radius**2``.

    Examples
    --------
    >>> from polyceptron import Polyhedron, explain
    >>> corner = Polyhedron([[-1, 0], [0, -1]], [0, 0])
    >>> explain.robustness(corner, [-1, -2]), explain.robustness(corner, [3, 4])
    (1.0, 5.0)
    """
    rule, row = asked(model, x)
    roots = roots_of(weights, rule)
    most = 1_000 if rule.is_most_probable else 10_000
    search = CounterfactualSearch(rule, conditions_of(row, rule), roots, most)
    is_union = rule.otherwise is not None and len(rule.pieces) > 1
    with answerable():
        # What is beyond a face of a union may be in another piece: the search verifies.
        if rule.is_most_probable or (is_union and rule.scores(row[None, :]).max() >= 0):
            found = search.run()
            return np.inf if found is None and search.exact else search.bound
        goals = [target.goal for target in search.targets]
        points = [goal.nearest(row).x for goal in goals if goal is not None]
    return min((length(new - row, roots) for new in points if new is not None), default=np.inf)
