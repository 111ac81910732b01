"""Where another answer may be: inequalities to meet and to cross, and what is left beyond them.

A target is a set of rows that a search looks through. Its ``goal`` has inequalities that hold in
all of it, those of ``faces``; the nearest row of the goal need not be in the set. Then ``parts``
are targets that have all of the set between them, but not that row. ``is_near`` is whether a row a
hair farther in may do, ``safe`` a goal whose rows likely do, wherever they are, and ``starts`` are
such goals to begin with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from polyceptron.geometry.projection import Goal
from polyceptron.rule import Rule
from polyceptron.utils.types import Floats

_LEVELS = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
"""Of log-odds, to begin with."""
FaceAt = tuple[int, int]
"""The piece of a face, and its number there."""


@dataclass(frozen=True)
class UnionTarget:
    """In a piece, or nowhere in particular; and beyond one face each of some other pieces."""

    rule: Rule
    roots: Floats
    places: frozenset[int]
    """Those of the classes that are sought."""
    piece: int | None
    crossed: tuple[FaceAt, ...] = ()

    @cached_property
    def faces(self) -> tuple[FaceAt, ...]:
        own = () if self.piece is None else _faces(self.rule, self.piece)
        return (*own, *self.crossed)

    @cached_property
    def goal(self) -> Goal | None:
        return goal_of(self.rule, self.roots, self.faces, len(self.crossed))

    def is_near(self, x: Floats) -> bool:  # noqa: ARG002
        return True

    def parts(self, points: list[Floats]) -> list[UnionTarget] | None:
        """Beyond each face of a piece of the wrong class that contains one of the points."""
        if self.rule.is_partition or not points:
            return None
        left = {p for p, _ in self.crossed}
        inside = (self.rule.scores(np.array(points)) >= 0).any(axis=0)
        for p in np.flatnonzero(inside).tolist():
            if self.rule.pieces[p].place not in self.places and p not in left:
                return [self.beyond(face) for face in _faces(self.rule, p)]
        return None

    def beyond(self, face: FaceAt) -> UnionTarget:
        return replace(self, crossed=(*self.crossed, face))

    def safe(self, x: Floats) -> Goal | None:  # noqa: ARG002
        return None

    def starts(self) -> list[Goal]:
        return []


@dataclass(frozen=True)
class ProbableTarget:
    """Where a class is the most probable, its log-odds being between `low` and `high`.

    A piece of its own has to score at least what makes the log-odds `low`, and every piece of
    other classes at most what makes theirs `high`: one of its faces does. At a single level of
    log-odds that is exact, so intervals are halved until they say enough.
    """

    rule: Rule
    roots: Floats
    place: int
    piece: int
    low: float
    high: float
    crossed: tuple[FaceAt, ...] = ()

    @cached_property
    def faces(self) -> tuple[FaceAt, ...]:
        return (*self._own(self.low), *self._limiting(self.high))

    @cached_property
    def goal(self) -> Goal | None:
        return self._goal(self.low, self.high)

    def is_near(self, x: Floats) -> bool:
        odds = self.rule.log_odds(self.rule.scores(x[None, :]))[0]
        gap = np.delete(odds, self.place).max() - odds[self.place]
        return bool(gap <= 1e-9 * (1 + abs(odds[self.place])))

    def parts(self, points: list[Floats]) -> list[ProbableTarget] | None:
        """Beyond the faces of a piece whose class is too probable; else both halves of levels."""
        if not points:
            return None
        x = points[0]
        scores = self.rule.scores(x[None, :])
        h, odds = scores[0], self.rule.log_odds(scores)[0]
        left = {p for p, _ in self.crossed}
        for place in np.argsort(-odds, kind="stable").tolist():
            if place == self.place or odds[place] <= max(odds[self.place], self.low):
                continue
            own = [p for p, piece in enumerate(self.rule.pieces) if piece.place == place]
            best = max(own, key=lambda p: h[p])
            if odds[place] > self.high and best not in left:
                return [
                    replace(self, crossed=(*self.crossed, face)) for face in _faces(self.rule, best)
                ]
        middle = self._middle(odds)
        if not self.low < middle < self.high:
            return None
        return [replace(self, high=middle), replace(self, low=middle)]

    def safe(self, x: Floats) -> Goal | None:
        middle = self._middle(self.rule.log_odds(self.rule.scores(x[None, :]))[0])
        return self._goal(middle, middle)

    def starts(self) -> list[Goal]:
        """Goals that are easy to reach: the class is at least so probable."""
        if self.low < 0:
            return []
        goals = (self._goal(level, np.inf) for level in _LEVELS)
        return [goal for goal in goals if goal is not None]

    def _middle(self, odds: Floats) -> float:
        """Between the log-odds of the class and of the most probable other, within the interval."""
        ends = odds[self.place], np.delete(odds, self.place).max()
        low, high = (min(max(float(end), self.low), self.high) for end in ends)
        return (low + high) / 2

    def _level(self, place: int, odds: float) -> float:
        link = self.rule.links[place]
        assert link is not None  # a rule without an otherwise has all links
        return link.score_at(odds)

    def _own(self, low: float) -> tuple[FaceAt, ...]:
        """The faces that hold the class up; none where any score will do."""
        return _faces(self.rule, self.piece) if self._level(self.place, low) > -np.inf else ()

    def _limiting(self, high: float) -> tuple[FaceAt, ...]:
        """The faces that hold others down; none where any score will do."""
        pieces = self.rule.pieces
        return tuple(
            face for face in self.crossed if self._level(pieces[face[0]].place, high) < np.inf
        )

    def _goal(self, low: float, high: float) -> Goal | None:
        own, limiting = self._own(low), self._limiting(high)
        levels = [self._level(self.place, low)] * len(own)
        levels += [self._level(self.rule.pieces[p].place, high) for p, _ in limiting]
        if not np.isfinite(levels).all():
            return None
        return goal_of(self.rule, self.roots, (*own, *limiting), len(limiting), np.array(levels))


Target: TypeAlias = UnionTarget | ProbableTarget


def goal_of(
    rule: Rule, roots: Floats, faces: tuple[FaceAt, ...], crossed: int, levels: Floats | float = 0.0
) -> Goal:
    """Faces to meet, the last so many of them to cross, at these levels of their margins."""
    W, b = np.empty((len(faces), rule.n_features)), np.empty(len(faces))
    for i, (p, k) in enumerate(faces):
        W[i], b[i] = rule.pieces[p].polyhedron.W[k], rule.pieces[p].polyhedron.b[k]
    b -= levels
    sign = np.where(np.arange(len(faces)) < len(faces) - crossed, 1.0, -1.0)
    return Goal(W * sign[:, None], b * sign, roots)


def targets_of(
    rule: Rule, roots: Floats, before: int, piece: int, wanted: int | None
) -> list[Target]:
    """Where the answer is another one than before, or the one that is wanted."""
    others = frozenset(range(len(rule.classes))) - {before}
    places = others if wanted is None else frozenset([wanted])
    if rule.is_most_probable:
        spans = (0.0, np.inf), (-np.inf, 0.0)
        return [
            ProbableTarget(rule, roots, one.place, p, low, high)
            for p, one in enumerate(rule.pieces)
            for low, high in spans
            if one.place in places
        ]
    found: list[Target] = [
        UnionTarget(rule, roots, places, p)
        for p, one in enumerate(rule.pieces)
        if one.place in places
    ]
    if rule.otherwise in places:
        everywhere = UnionTarget(rule, roots, places, None)
        found += [everywhere.beyond(face) for face in _faces(rule, piece)]
    return found


def _faces(rule: Rule, piece: int) -> tuple[FaceAt, ...]:
    return tuple((piece, k) for k in range(rule.pieces[piece].polyhedron.n_faces))
