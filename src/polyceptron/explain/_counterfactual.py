"""The smallest change of a row that flips its answer, and the search for it."""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polyceptron.explain._arguments import (
    Conditions,
    ExplainError,
    answerable,
    asked,
    conditions_of,
    roots_of,
    wanted_place,
)
from polyceptron.explain._domain import Domain
from polyceptron.explain._search import CounterfactualSearch
from polyceptron.geometry.projection import length
from polyceptron.utils.checks import as_count
from polyceptron.utils.text import number_text, quoted
from polyceptron.utils.types import Floats

_FEWEST = 6
"""Digits of the values shown, if that is enough."""
_AT_LIMIT = 1e-12
"""Of the size of numbers: what is left of a program's rounding."""


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The smallest change of a row that flips its answer, or why there is none.

    Attributes
    ----------
    x, change : ndarray of shape (n_features,) or None
        The changed row, and ``x`` minus the row.
    distance : float
        The weighted Euclidean length of the change; infinite if there is none.
    feasible, reason : bool and str
        Whether there is such a change, and why not; empty if there is.
    before, after : label
        The answers for the row and for ``x``, "inside" and "outside" for a Polyhedron; both are
        that of the row if there is no change.
    exact : bool
        Whether no change is smaller; where the most probable class is the answer, by more than a
        millionth. Else it is the smallest that was found, or that none was found proves nothing.
    changes : dict of str to (float, float)
        The old and the new value of every feature that changes.
    shown : dict of str to (str, str)
        The same as text: old values to a hundredth of the change, and of what costs 1; new values
        with as few digits, but at least six, as keep to the conditions and have the answer
        `after` when they are read back.
    """

    x: Floats | None
    change: Floats | None
    distance: float
    feasible: bool
    reason: str
    before: Any
    after: Any
    changes: dict[str, tuple[float, float]]
    shown: dict[str, tuple[str, str]] = field(default_factory=dict)
    exact: bool = True

    def __str__(self) -> str:
        if not self.feasible:
            told = "Impossible to leave" if self.exact else "No change found that leaves"
            return f"{told} {self.before!r}: {self.reason}"
        words = ", ".join(
            f"{quoted(name)} from {old} to {new}" for name, (old, new) in self.shown.items()
        )
        far = f"distance {self.distance:.6g}{'' if self.exact else ', approximate'}"
        return f"{self.after!r} instead of {self.before!r}: {words} ({far})"


def counterfactual(
    model: Any,
    x: Any,
    *,
    target: Any = None,
    weights: Any = None,
    frozen: Any = (),
    bounds: Any = None,
    integers: Any = (),
    domain: Domain | None = None,
    max_changes: int | None = None,
    max_nodes: int = 10_000,
) -> Counterfactual:
    """Return the smallest change of a row that flips its answer.

    Exact: the nearest point of a polyhedron, or beyond the face that is the cheapest to cross,
    is found by least distance programming. On top of it, branch and bound finds whole numbers,
    categories, columns that change, ways out of polyhedra that overlap, and, where the most
    probable class is the answer, how probable it is there. The new row is verified by asking the
    model for its answer: it goes beyond the boundary by as few roundings as that takes.

    Parameters
    ----------
    model : fitted learner, Rule or Polyhedron
        Also a union, a tree, or several classes of which the most probable wins.
    x : array-like, mapping, Series or one-row frame
        One row; by name where it has the names of the features, else by place.
    target : label, optional
        The answer to reach; any other than that of the row by default.
    weights : mapping or array-like of shape (n_features,), optional
        What a unit of each feature costs: the least ``sum_j weights[j] * change[j]**2`` is
        sought. One each by default, also for features that a mapping leaves out.
    frozen : iterable of names or places
        Features that must stay as they are.
    bounds : mapping of name or place to (lower, upper), optional
        Limits of new values; None is no limit.
    integers : iterable of names or places
        Features whose new values must be whole numbers.
    domain : Domain, optional
        What was seen: new values stay within its ranges and whole where they were whole, and of
        each category one holds. Where `bounds` say something of a feature, they count instead.
        By default that of the model's columns, if it knows them: a pipeline of one-hot encoded
        text does.
    max_changes : int, optional
        Columns that may change at most; the features of a category are one.
    max_nodes : int
        Programs to solve: the search is as long as that. Whoever needs more gets the smallest
        change that was found; where none was, up to twice as many look for any. ``exact`` is
        false in both cases.

    Raises
    ------
    ExplainError
        If arguments do not fit the model, if the answer is the target already, or if numbers are so
        large that distances overflow.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.explain import counterfactual
    >>> P = Polyhedron([[1, 0], [-1, -2]], [0, 4], ["age", "dose"])
    >>> print(counterfactual(P, [1, 3]))
    'inside' instead of 'outside': age from 1 to 0.4, dose from 3 to 1.8 (distance 1.34164)
    >>> print(counterfactual(P, [1, 3], frozen=["age"]))
    'inside' instead of 'outside': dose from 3 to 1.5 (distance 1.5)
    >>> print(counterfactual(P, [1, 3], frozen=["age"], bounds={"dose": (2, None)}))
    Impossible to leave 'outside': face 1 cannot be met while age is 1 and dose >= 2
    """
    rule, row = asked(model, x)
    roots, wanted = roots_of(weights, rule), wanted_place(target, rule)
    most = None if max_changes is None else as_count(max_changes, "max_changes")
    given = conditions_of(row, rule, frozen, bounds, integers, domain, most)
    search = CounterfactualSearch(rule, given, roots, as_count(max_nodes, "max_nodes"), wanted)
    before = rule.labels[search.before]
    if wanted == search.before:
        raise ExplainError(f"the answer is {before!r} already")
    with answerable():
        new = search.run() if given.clash is None else None
        reason = "" if new is not None else given.clash or search.reason()
    if new is None:
        known = given.clash is not None or search.exact
        return Counterfactual(None, None, np.inf, False, reason, before, before, {}, exact=known)
    new = _at_limits(new, given, search)
    far = length(new - row, roots)
    changes = {
        name: (float(old), float(now))
        for name, old, now in zip(rule.names, row, new, strict=True)
        if old != now
    }
    after = search.answer(new)
    texts = next(
        texts
        for texts, point in _written(row, new, given)
        if np.array_equal(point, new) or search.answer(point) == after
    )
    shown = {
        name: (number_text(old, min(abs(now - old), 1 / roots[rule.names.index(name)])), text)
        for (name, (old, now)), text in zip(changes.items(), texts, strict=True)
    }
    label = rule.labels[after]
    return Counterfactual(
        new, new - row, far, True, "", before, label, changes, shown, search.exact
    )


def _at_limits(new: Floats, given: Conditions, search: CounterfactualSearch) -> Floats:
    """What is at a limit but for rounding is there, if the answer stays."""
    exact = new.copy()
    for side in (given.lower, given.upper):
        size = np.where(np.isfinite(side), np.maximum(np.abs(given.row), np.abs(side)), 0.0)
        with np.errstate(invalid="ignore"):
            near = np.abs(new - side) <= _AT_LIMIT * size
        exact = np.where(near, side, exact)
    return exact if search.accepts(exact) else new


def _written(row: Floats, new: Floats, given: Conditions) -> Iterator[tuple[list[str], Floats]]:
    """Yield the new values as text, and the row as read back: ever more digits, at last all."""
    changed = np.flatnonzero(new != row)
    outward = [decimal.ROUND_CEILING if new[j] > row[j] else decimal.ROUND_FLOOR for j in changed]
    for digits in range(_FEWEST, 16):
        for ways in ([decimal.ROUND_HALF_EVEN] * len(changed), outward):
            point, texts = new.copy(), []
            for j, way in zip(changed, ways, strict=True):
                text = _rounded_one_way(new[j], digits, way)
                allowed = given.lower[j] <= float(text) <= given.upper[j] and "inf" not in text
                if given.whole[j] or not allowed:
                    text = _exact(new[j])
                point[j] = float(text)
                texts.append(text)
            yield texts, point
    yield [_exact(new[j]) for j in changed], new


def _rounded_one_way(value: float, digits: int, way: str) -> str:
    context = decimal.Context(prec=digits, rounding=way)
    return f"{float(context.create_decimal(decimal.Decimal(float(value)))):.{digits}g}"


def _exact(value: float) -> str:
    return repr(float(value)).removesuffix(".0")
