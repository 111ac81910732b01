"""Where another answer may be: inequalities to meet and to cross, and what is left beyond them.

A target is a set of rows that a search looks through. Its ``goal`` has inequalities that hold in
all of it, those of ``faces``; the nearest row of the goal need not be in the set. Then
``crossings`` and ``parts`` are targets that have all of the set between them, but not that row.
``is_near`` is whether a row a hair farther in may do, and ``safe`` a goal whose rows likely do,
wherever they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from polyceptron.calibration import Link
from polyceptron.explain._rivals import even_score, lines_above
from polyceptron.geometry.projection import Goal
from polyceptron.rule import Rule
from polyceptron.utils.types import Floats

_LEAST_SHARE = 0.1
"""Of an interval, that either part of it has."""
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
        own = () if self.piece is None else _faces_of_piece(self.rule, self.piece)
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
                return [self.beyond(face) for face in _faces_of_piece(self.rule, p)]
        return None

    def beyond(self, face: FaceAt) -> UnionTarget:
        return replace(self, crossed=(*self.crossed, face))

    def crossings(self, x: Floats) -> list[UnionTarget] | None:  # noqa: ARG002
        return None

    def safe(self, x: Floats) -> Goal | None:  # noqa: ARG002
        return None


@dataclass(frozen=True)
class ProbableTarget:
    """Where a piece makes its class more probable than its rivals, and scores from low to high.

    Every piece of a rival has then to score at most what makes it as probable: one of its faces
    does, so these are crossed one after the other. What makes it as probable is a curve of the
    score of the own piece, which lines bound from above: the goal holds all of the target, and
    little more where low and high are near each other.
    """

    rule: Rule
    roots: Floats
    place: int
    piece: int
    rivals: frozenset[int]
    """Places of the classes that are to be less probable."""
    low: float
    high: float
    crossed: tuple[FaceAt, ...] = ()

    @cached_property
    def faces(self) -> tuple[FaceAt, ...]:
        return tuple(face for face, _, _ in self._inequalities)

    @cached_property
    def goal(self) -> Goal | None:
        return self._goal(self._inequalities)

    def is_near(self, x: Floats) -> bool:
        own, others = self._log_odds(x)
        return bool(max(others.values()) - own <= 1e-9 * (1 + abs(own)))

    def parts(self, points: list[Floats]) -> list[ProbableTarget] | None:
        """Scores from low to high in two intervals."""
        middle = self._middle(points[0]) if points else self.low
        if not self.low < middle < self.high:
            return None
        return [replace(self, high=middle), replace(self, low=middle)]

    def crossings(self, x: Floats) -> list[ProbableTarget] | None:
        """Beyond each face of the piece that makes a rival the more probable one, if there is any.

        It must not be crossed already.
        """
        own, others = self._log_odds(x)
        place = max(others, key=lambda place: others[place])
        if others[place] < own:
            return None
        h = self.rule.scores(x[None, :])[0]
        best = max(self._pieces_of(place), key=lambda p: h[p], default=None)
        if best is None or any(p == best for p, _ in self.crossed):
            return None
        return [
            replace(self, crossed=(*self.crossed, face))
            for face in _faces_of_piece(self.rule, best)
        ]

    def safe(self, x: Floats) -> Goal | None:
        """At a single score there is no curve."""
        middle = self._middle(x)
        rows = [
            (face, *self._above(face, middle)) for face in _faces_of_piece(self.rule, self.piece)
        ]
        for face in self.crossed:
            limit = self._even(face, middle)
            if limit == -np.inf:
                return None
            if limit < np.inf:
                rows.append((face, *self._below(face, limit)))
        return self._goal(rows)

    def _log_odds(self, x: Floats) -> tuple[float, dict[int, float]]:
        """Those by the own piece, and of the rivals."""
        h = self.rule.scores(x[None, :])
        odds = self.rule.log_odds(h)[0]
        own = self._link(self.place).log_odds(h[:, self.piece])
        return float(own[0]), {place: float(odds[place]) for place in sorted(self.rivals)}

    def _middle(self, x: Floats) -> float:
        """Between the score of the piece and what it would have to be, within the interval."""
        h = self.rule.scores(x[None, :])[0]
        own = self._link(self.place)
        ends = [float(h[self.piece])]
        for place in self.rivals:
            best = max((float(h[p]) for p in self._pieces_of(place)), default=-np.inf)
            ends.append(even_score(self._link(place), own, best))
        scale = 1.0 / own.side(self.low >= 0).slope
        known = [end for end in ends if np.isfinite(end)]
        low = self.low if np.isfinite(self.low) else min(self.high, *known) - scale
        high = self.high if np.isfinite(self.high) else max(self.low, *known) + scale
        start, stop = (min(max(end, low), high) for end in (ends[0], max(ends)))
        room = _LEAST_SHARE * (high - low)
        return min(max((start + stop) / 2, low + room), high - room)

    @cached_property
    def _inequalities(self) -> list[tuple[FaceAt, Floats, float]]:
        """The goal: a face, and w and b, each. The own faces, then limits of those crossed."""
        own = _faces_of_piece(self.rule, self.piece)
        found = [(face, *self._above(face, self.low)) for face in own if self.low > -np.inf]
        for face in self.crossed:
            limit = self._even(face, self.high)
            if limit < np.inf:
                found.append((face, *self._below(face, limit)))
            rival = self._link(self.rule.pieces[face[0]].place)
            w, b = self._face(face)
            for line in lines_above(self._link(self.place), rival, self.low, self.high):
                for mine in own:
                    v, c = self._face(mine)
                    found.append((face, line.slope * v - w, line.slope * c + line.offset - b))
        return found

    def _goal(self, rows: list[tuple[FaceAt, Floats, float]]) -> Goal | None:
        if any(b == -np.inf for _, _, b in rows):
            return None
        # Faces that cancel each other out say nothing of x.
        rows = [row for row in rows if row[1].any()]
        W = np.array([w for _, w, _ in rows]).reshape(len(rows), self.rule.n_features)
        return Goal(W, np.array([b for _, _, b in rows]), self.roots)

    def _above(self, face: FaceAt, score: float) -> tuple[Floats, float]:
        w, b = self._face(face)
        return w, b - score

    def _below(self, face: FaceAt, score: float) -> tuple[Floats, float]:
        w, b = self._face(face)
        return -w, score - b

    def _face(self, face: FaceAt) -> tuple[Floats, float]:
        p, k = face
        part = self.rule.pieces[p].polyhedron
        return part.W[k], float(part.b[k])

    def _even(self, face: FaceAt, score: float) -> float:
        """What a face of a rival may have at most, where the own piece has this score."""
        if not np.isfinite(score):
            score = math.copysign(1e300, score)
        return even_score(
            self._link(self.place), self._link(self.rule.pieces[face[0]].place), score
        )

    def _link(self, place: int) -> Link:
        link = self.rule.links[place]
        assert link is not None  # a rule without an otherwise has all links
        return link

    def _pieces_of(self, place: int) -> list[int]:
        return [p for p, piece in enumerate(self.rule.pieces) if piece.place == place]


Target: TypeAlias = UnionTarget | ProbableTarget


def goal_of(rule: Rule, roots: Floats, faces: tuple[FaceAt, ...], crossed: int) -> Goal:
    """Faces to meet, the last so many of them to cross."""
    W, b = np.empty((len(faces), rule.n_features)), np.empty(len(faces))
    for i, (p, k) in enumerate(faces):
        W[i], b[i] = rule.pieces[p].polyhedron.W[k], rule.pieces[p].polyhedron.b[k]
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
        rivals = others - places | {before}  # another answer than before: whichever it is
        return [
            ProbableTarget(rule, roots, one.place, p, rivals, low, high)
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
        found += [everywhere.beyond(face) for face in _faces_of_piece(rule, piece)]
    return found


def _faces_of_piece(rule: Rule, piece: int) -> tuple[FaceAt, ...]:
    return tuple((piece, k) for k in range(rule.pieces[piece].polyhedron.n_faces))
