"""The smallest change of a row that flips its answer, and the search for it."""

from __future__ import annotations

import decimal
import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from polyceptron.explain._arguments import (
    Conditions,
    ExplainError,
    answerable,
    asked,
    conditions_of,
    roots_of,
)
from polyceptron.geometry.faces import faces_in_words
from polyceptron.geometry.projection import Goal, Nearest, first, length
from polyceptron.rule import Rule
from polyceptron.utils.checks import as_count
from polyceptron.utils.text import number_text, quoted
from polyceptron.utils.types import Floats

_FEWEST = 6
"""Digits of the values shown, if that is enough."""


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

    def __str__(self) -> str:
        if not self.feasible:
            return f"Impossible to leave {self.before!r}: {self.reason}"
        words = ", ".join(
            f"{quoted(name)} from {old} to {new}" for name, (old, new) in self.shown.items()
        )
        return f"{self.after!r} instead of {self.before!r}: {words} (distance {self.distance:.6g})"


def counterfactual(
    model: Any,
    x: Any,
    *,
    weights: Any = None,
    frozen: Any = (),
    bounds: Any = None,
    integers: Any = (),
    max_nodes: int = 10_000,
) -> Counterfactual:
    """Return the smallest change of a row that flips its answer.

    Exact: the nearest point of a polyhedron, or beyond the face that is the cheapest to cross,
    is found by least distance programming, whole numbers and ways out of polyhedra that overlap by
    branch and bound on top of it. The new row is verified by asking the model for its answer: it
    goes beyond the boundary by as few roundings as that takes.

    Parameters
    ----------
    model : fitted learner, Rule or Polyhedron
        A union or a tree will do as well; classes of which the most probable wins will not.
    x : array-like, mapping, Series or one-row frame
        One row; by name where it has the names of the features, else by place.
    weights : mapping or array-like of shape (n_features,), optional
        What a unit of each feature costs: the least ``sum_j weights[j] * change[j]**2`` is
        sought. One each by default, also for features that a mapping leaves out.
    frozen : iterable of names or places
        Features that must stay as they are.
    bounds : mapping of name or place to (lower, upper), optional
        Limits of new values; None is no limit.
    integers : iterable of names or places
        Features whose new values must be whole numbers.
    max_nodes : int
        Programs to solve at most, for whole numbers or a way out of several polyhedra.

    Raises
    ------
    ExplainError
        If arguments do not fit the model, if numbers are so large that distances overflow, or if
        `max_nodes` programs were not enough.

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
    roots = roots_of(weights, rule)
    given = conditions_of(row, rule, frozen, bounds, integers)
    search = CounterfactualSearch(rule, row, roots, given, as_count(max_nodes, "max_nodes"))
    before = rule.labels[search.before]
    with answerable():
        new = search.run() if given.clash is None else None
    if new is None:
        reason = given.clash or search.reason()
        return Counterfactual(None, None, np.inf, False, reason, before, before, {})
    changes = {
        name: (float(old), float(now))
        for name, old, now in zip(rule.names, row, new, strict=True)
        if old != now
    }
    far, after = length(new - row, roots), search.answer(new)
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
    return Counterfactual(new, new - row, far, True, "", before, label, changes, shown)


def _written(row: Floats, new: Floats, given: Conditions) -> Iterator[tuple[list[str], Floats]]:
    """Yield the new values as text, and the row as read back: ever more digits, at last all."""
    changed = np.flatnonzero(new != row)
    outward = [decimal.ROUND_CEILING if new[j] > row[j] else decimal.ROUND_FLOOR for j in changed]
    for digits in range(_FEWEST, 16):
        for ways in ([decimal.ROUND_HALF_EVEN] * len(changed), outward):
            point, texts = new.copy(), []
            for j, way in zip(changed, ways, strict=True):
                text = _rounded(new[j], digits, way)
                allowed = given.lower[j] <= float(text) <= given.upper[j] and "inf" not in text
                if given.whole[j] or not allowed:
                    text = _exact(new[j])
                point[j] = float(text)
                texts.append(text)
            yield texts, point
    yield [_exact(new[j]) for j in changed], new


def _rounded(value: float, digits: int, way: str) -> str:
    context = decimal.Context(prec=digits, rounding=way)
    return f"{float(context.create_decimal(decimal.Decimal(float(value)))):.{digits}g}"


def _exact(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


class Target(NamedTuple):
    """Some faces to meet or to cross, beyond which the answer may be another one."""

    goal: Goal
    faces: tuple[tuple[int, int], ...]
    """The piece of each face, and its number there."""
    crossed: frozenset[int]
    """The pieces that its faces lead out of."""


class SearchNode(NamedTuple):
    """A part of the search: a target, with limits; and the nearest point of it."""

    target: Target
    lower: Floats
    upper: Floats
    point: Floats


class CounterfactualSearch:
    """Best-first branch and bound over targets, whole numbers and ways out of several pieces.

    What is popped first has the least distance of all that is left, so the first point that is
    whole and verified is the answer.
    """

    def __init__(
        self, rule: Rule, row: Floats, roots: Floats, given: Conditions, max_nodes: int = 10_000
    ) -> None:
        self.rule, self.row, self.roots = rule, row, roots
        self.given, self.max_nodes = given, max_nodes
        decision = rule.decide(row[None, :])
        self.before, piece = int(decision.place[0]), int(decision.piece[0])
        self.targets = [
            Target(Goal(P.W, P.b, roots), tuple((p, k) for k in range(P.n_faces)), frozenset())
            for p, (P, place, _) in enumerate(rule.pieces)
            if place != self.before
        ]
        if rule.otherwise not in (None, self.before):
            everywhere = Goal(np.empty((0, rule.n_features)), np.empty(0), roots)
            self.targets += self._ways_out(piece, Target(everywhere, (), frozenset()))
        self.heap: list[tuple[float, int, SearchNode]] = []
        self.counter = itertools.count()
        self.conflicts: list[str] = []

    def answer(self, x: Floats) -> int:
        """The place of the class of a row."""
        return int(self.rule.decide(x[None, :]).place[0])

    def run(self) -> Floats | None:
        """Return the nearest verified point, or None."""
        for target in self.targets:
            self._push(target, self.given.lower, self.given.upper, first=True)
        while self.heap:
            _, _, node = heapq.heappop(self.heap)
            new = self._settled(node)
            if new is not None:
                return new
        return None

    def reason(self) -> str:
        """Why there is no point."""
        if not self.targets:
            return "the model has no other answer"
        texts = self.conflicts[:3]
        if len(self.conflicts) > 3:
            texts.append(f"and {len(self.conflicts) - 3} more")
        if len(self.conflicts) < len(self.targets):
            names = [quoted(self.rule.names[j]) for j in np.flatnonzero(self.given.whole)]
            whole = f"no whole numbers will do for {', '.join(names)}"
            texts.append(whole if names else "every way out of a piece leads into another")
        return "; ".join(texts)

    def _ways_out(self, piece: int, target: Target) -> list[Target]:
        """Beyond each face of a piece, within a target."""
        P, ways = self.rule.pieces[piece].polyhedron, []
        for k in range(P.n_faces):
            W, b = np.vstack([target.goal.W, -P.W[k]]), np.append(target.goal.b, -P.b[k])
            faces, crossed = (*target.faces, (piece, k)), target.crossed | {piece}
            ways.append(Target(Goal(W, b, self.roots), faces, crossed))
        return ways

    def _push(self, target: Target, lower: Floats, upper: Floats, *, first: bool = False) -> None:
        """Solve one program, and keep its point for later, or what is in conflict."""
        number = next(self.counter)
        if number >= max(self.max_nodes, len(self.targets)):
            raise ExplainError(
                f"no answer after {self.max_nodes} programs (max_nodes): give the features in "
                "integers narrower bounds, or freeze some"
            )
        nearest = target.goal.nearest(self.row, lower, upper)
        if nearest.x is not None:
            far = length(nearest.x - self.row, self.roots)
            heapq.heappush(self.heap, (far, number, SearchNode(target, lower, upper, nearest.x)))
        elif first:
            self._tell(target, nearest)

    def _tell(self, target: Target, nearest: Nearest, *, touching: bool = False) -> None:
        own = [target.faces[k] for k in nearest.faces]
        faces = faces_in_words(k for _, k in own)
        if len(self.rule.pieces) > 1:
            faces += f" of piece {own[0][0] + 1}"
        if touching and not target.crossed:
            words = f"{faces} {'leaves' if len(own) == 1 else 'leave'} no room"
        else:
            task = "crossed" if target.crossed else "met"
            words = f"{faces} cannot be {task}{' together' if len(own) > 1 else ''}"
        held = _held(target, nearest, self.given, self.rule.names)
        nowhere = "" if touching else " by any row"
        self.conflicts.append(words + (f" while {held}" if held else nowhere))

    def _settled(self, node: SearchNode) -> Floats | None:
        """The nearest point of a node with another answer; or None, and its parts are pushed."""
        whole = self.given.whole
        rounded = np.rint(node.point)
        if (np.abs(node.point - rounded)[whole] > 1e-6).any():
            self._branch(node)
            return None
        lower = np.where(whole, rounded, node.lower)
        upper = np.where(whole, rounded, node.upper)
        tried: list[Floats] = []

        def accepts(x: Floats) -> bool:
            tried.append(x)
            return self.answer(x) != self.before

        nearest = first(node.target.goal.aims(self.row, lower, upper), accepts)
        if nearest.x is not None:
            return nearest.x
        another = self._another(tried, node.target)
        if another is not None:
            for way in self._ways_out(another, node.target):
                self._push(way, node.lower, node.upper)
        elif whole.any():
            self._branch(node)
        elif len(node.target.crossed) < 2:
            self._tell(node.target, nearest, touching=True)
        return None

    def _another(self, points: list[Floats], target: Target) -> int | None:
        """A piece with the answer of before that contains one of the points; none in a tree."""
        if self.rule.otherwise is None or not points:
            return None
        inside = (self.rule.scores(np.array(points)) >= 0).any(axis=0)
        for p in np.flatnonzero(inside):
            if self.rule.pieces[p].place == self.before and p not in target.crossed:
                return int(p)
        return None

    def _branch(self, node: SearchNode) -> None:
        """Split a feature's whole numbers at the point: those below, between, above."""
        open_ = np.flatnonzero(self.given.whole & (node.lower < node.upper))
        if open_.size == 0:
            return
        gap = np.abs(node.point[open_] - np.rint(node.point[open_]))
        j = int(open_[gap.argmax()])
        value = node.point[j]
        if gap.max() > 1e-6:
            spans = [(node.lower[j], np.floor(value)), (np.ceil(value), node.upper[j])]
        else:  # whole, but no answer there: that number by itself, and all others
            near = np.rint(value)
            spans = [(node.lower[j], near - 1), (near, near), (near + 1, node.upper[j])]
        for low, high in spans:
            if low <= high:
                lower, upper = node.lower.copy(), node.upper.copy()
                lower[j], upper[j] = low, high
                self._push(node.target, lower, upper)


def _held(target: Target, nearest: Nearest, given: Conditions, names: tuple[str, ...]) -> str:
    """The conditions that a conflict is with, in words."""
    names = tuple(map(quoted, names))
    used = target.goal.W[nearest.faces].any(axis=0)
    fixed = np.flatnonzero((given.lower == given.upper) & used)
    words = [f"{names[j]} is {given.lower[j]:.6g}" for j in fixed]
    words += [f"{names[j]} >= {given.lower[j]:.6g}" for j in nearest.lower]
    words += [f"{names[j]} <= {given.upper[j]:.6g}" for j in nearest.upper]
    if len(words) > 6:
        words = [*words[:5], f"{len(words) - 5} more hold"]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
