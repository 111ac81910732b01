"""The search for the nearest row with another answer."""

from __future__ import annotations

import heapq
import itertools
from typing import NamedTuple

import numpy as np

from polyceptron.explain._arguments import Conditions, ExplainError
from polyceptron.geometry.faces import faces_in_words
from polyceptron.geometry.projection import Goal, Nearest, first, length
from polyceptron.rule import Rule
from polyceptron.utils.text import quoted
from polyceptron.utils.types import Floats


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
        self,
        rule: Rule,
        row: Floats,
        roots: Floats,
        given: Conditions,
        max_nodes: int = 10_000,
    ) -> None:
        self.rule, self.row, self.roots = rule, row, roots
        self.given, self.max_nodes = given, max_nodes
        decision = rule.decide(row[None, :])
        self.before, piece = int(decision.place[0]), int(decision.piece[0])
        self.targets = [
            Target(Goal(one.polyhedron.W, one.polyhedron.b, roots), self._faces(p), frozenset())
            for p, one in enumerate(rule.pieces)
            if one.place != self.before
        ]
        if rule.otherwise not in (None, self.before):
            self.targets += self._ways_out(piece)
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

    def _faces(self, piece: int) -> tuple[tuple[int, int], ...]:
        return tuple((piece, k) for k in range(self.rule.pieces[piece].polyhedron.n_faces))

    def _ways_out(self, piece: int, target: Target | None = None) -> list[Target]:
        """Beyond each face of a piece, and within a target as well."""
        P, ways = self.rule.pieces[piece].polyhedron, []
        for face in self._faces(piece):
            W, b = -P.W[[face[1]]], -P.b[[face[1]]]
            faces: tuple[tuple[int, int], ...] = (face,)
            crossed = frozenset([piece])
            if target is not None:
                W, b = np.vstack([target.goal.W, W]), np.append(target.goal.b, b)
                faces, crossed = target.faces + faces, target.crossed | crossed
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
        held = _held(target, nearest, self.row, self.given, self.rule.names)
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


def _held(
    target: Target, nearest: Nearest, row: Floats, given: Conditions, names: tuple[str, ...]
) -> str:
    """The conditions that a conflict is with, in words."""
    names = tuple(map(quoted, names))
    used = target.goal.W[nearest.faces].any(axis=0)
    fixed = (given.lower == given.upper) & ~given.frozen
    words = [f"{names[j]} is {row[j]:.6g}" for j in np.flatnonzero(given.frozen & used)]
    words += [f"{names[j]} is {given.lower[j]:.6g}" for j in np.flatnonzero(fixed & used)]
    words += [f"{names[j]} >= {given.lower[j]:.6g}" for j in nearest.lower]
    words += [f"{names[j]} <= {given.upper[j]:.6g}" for j in nearest.upper]
    if len(words) > 6:
        words = [*words[:5], f"{len(words) - 5} more hold"]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
