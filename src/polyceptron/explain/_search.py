"""The search for the smallest change of a row: branch and bound over least distance programs."""

from __future__ import annotations

import heapq
import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron.explain._arguments import Conditions
from polyceptron.explain._few_columns import Part, try_values
from polyceptron.explain._targets import Target, targets_of
from polyceptron.geometry.faces import faces_in_words
from polyceptron.geometry.projection import Goal, Nearest, first, length
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Rule
from polyceptron.utils.text import quoted
from polyceptron.utils.types import Floats, Indices

NO_FARTHER = 1e-6
"""A row of the most probable class is the nearest if none is nearer by more than this share."""
_ZOOMS, _STEPS = 2, 65
"""Of the way to a row: what is left is a four thousandth."""
_SAME = 1e-6
"""Values that are this near are whole; the program that follows makes them so."""


class SearchNode(NamedTuple):
    """A part of the search: a target, with limits; and the nearest point of it, once known."""

    target: Target
    lower: Floats
    upper: Floats
    changing: frozenset[int]
    """Columns that are known to change."""
    point: Floats | None = None


class CounterfactualSearch:
    """Best-first branch and bound over targets, values of columns, and columns that change.

    What is popped first has the least distance of all that is left, so the first point that is
    allowed and verified is the answer; so is one that was found on the way, where nothing that is
    left can be nearer. After `max_nodes` programs the search goes down instead, and ends with
    what it finds.
    """

    def __init__(
        self,
        rule: Rule,
        given: Conditions,
        roots: Floats,
        max_nodes: int = 10_000,
        wanted: int | None = None,
    ) -> None:
        self.rule, self.row, self.roots = rule, given.row, roots
        self.given, self.max_nodes = given, max_nodes
        decision = rule.decide(self.row[None, :])
        self.before = int(decision.place[0])
        self.wanted = wanted
        self.targets = targets_of(rule, roots, self.before, int(decision.piece[0]), wanted)
        self.best: Floats | None = None
        self.bound = 0.0
        """No row that is nearer than this has another answer."""
        self.exact, self.is_over = True, False
        self.heap: list[tuple[tuple[int, float], int, SearchNode]] = []
        self.counter = itertools.count()
        self.n_programs = self.depth = 0
        self.touching: list[str] = []
        """What leaves no room at a face, in words."""

    def answer(self, x: Floats) -> int:
        """The place of the class of a row."""
        return int(self.rule.decide(x[None, :]).place[0])

    def accepts(self, x: Floats) -> bool:
        """Whether a row has an answer that is sought."""
        return bool(self._accepted(x[None, :])[0])

    def _accepted(self, rows: Floats) -> NDArray[np.bool_]:
        places = self.rule.decide(rows).place
        return np.asarray(
            places != self.before if self.wanted is None else places == self.wanted, bool
        )

    def run(self) -> Floats | None:
        """Return the nearest verified point, or None."""
        parts = [Part(self.given.lower, self.given.upper, frozenset())]
        if self.given.max_changes and self.targets:
            self._change_one()
            faces = None if self.rule.is_most_probable else _all_faces(self.rule)
            tried = try_values(self.given, self.roots, self._accepted, self._far(), faces)
            if tried is not None:
                self.best, parts = self.best if tried.best is None else tried.best, tried.parts
        for target, part in itertools.product(self.targets, parts):
            self._push(target, *part)
        while self.heap and not self.is_over:
            (depth, far), _, node = heapq.heappop(self.heap)
            if self.best is not None and not self.exact:
                return self.best
            if self.exact:
                self.bound = min(far, self._far())
                if far >= self._far() * (1 - NO_FARTHER):
                    return self.best
            if node.point is None:
                self._solve(node, depth)
                continue
            self.depth = depth - 1
            new = self._settled(node, node.point)
            if new is not None and (
                self.best is None or length(new - self.row, self.roots) < self._far()
            ):
                return new
        return self.best

    def reason(self) -> str:
        """Why there is no point."""
        if not self.targets:
            return "the model has no other answer"
        if not self.exact:
            return (
                f"none was found by {self.max_nodes} programs, which is no proof; a larger "
                "max_nodes looks longer, narrower bounds or columns that stay may help"
            )
        nearest = (
            (target, target.goal.nearest(self.row, self.given.lower, self.given.upper))
            for target in self.targets
            if target.goal is not None
        )
        conflicts = [self._conflict(*pair) for pair in nearest if pair[1].x is None]
        conflicts += self.touching
        texts = conflicts[:3]
        if len(conflicts) > 3:
            texts.append(f"and {len(conflicts) - 3} more")
        if len(conflicts) < len(self.targets):
            texts.append(self._without_conflict())
        return "; ".join(texts)

    def _without_conflict(self) -> str:
        strict = self.given.whole & ~self.given.stay
        names = [quoted(self.rule.names[j]) for j in np.flatnonzero(strict)]
        if names:
            return f"no whole numbers will do for {', '.join(names)}"
        if self.given.max_changes is not None or self.given.stay.any():
            return "no change that is allowed leads there"
        if self.rule.is_most_probable:
            return "nothing that is allowed makes another class the most probable"
        return "every way out of a piece leads into another"

    def _far(self) -> float:
        return np.inf if self.best is None else length(self.best - self.row, self.roots)

    def _push(self, target: Target, lower: Floats, upper: Floats, changing: frozenset[int]) -> None:
        """Keep a part of the search for later, at the distance that takes no program to know."""
        if target.goal is None:
            return
        far = target.goal.least_distance(self.row, lower, upper)
        if self.best is None or far < self._far():  # where numbers are too large, a program says so
            key = (0 if self.exact else self.depth, far)
            node = SearchNode(target, lower, upper, changing)
            heapq.heappush(self.heap, (key, next(self.counter), node))

    def _solve(self, node: SearchNode, depth: int) -> None:
        """Solve the program of a node, and keep its point for later, if there is one."""
        self._hurry(self.n_programs)
        self.n_programs += 1
        assert node.target.goal is not None  # or it would not have been pushed
        x = node.target.goal.nearest(self.row, node.lower, node.upper).x
        if x is not None:
            key = depth, length(x - self.row, self.roots)
            heapq.heappush(self.heap, (key, next(self.counter), node._replace(point=x)))

    def _hurry(self, number: int) -> None:
        """Beyond `max_nodes` settle for what is there, or go down; at last there is no answer."""
        most = max(self.max_nodes, len(self.targets))
        self.exact &= number < most
        self.is_over = number >= 2 * most

    def _conflict(self, target: Target, nearest: Nearest, *, touching: bool = False) -> str:
        """What excludes each other, in words."""
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
        return words + (f" while {held}" if held else nowhere)

    def _settled(self, node: SearchNode, point: Floats) -> Floats | None:
        """The nearest point of a node with another answer; or None, and its parts are pushed."""
        limits = None if self._crosses(node, point) else self._allowed(node, point)
        if limits is None:
            return None
        tried: list[Floats] = []

        def accepts(x: Floats) -> bool:
            tried.append(x)
            return self.accepts(x)

        goal, x = node.target.goal, np.clip(point, *limits)
        assert goal is not None  # or it would not have been pushed
        if node.target.is_near(x) or self.accepts(x):
            nearest = first(goal.aims(self.row, *limits), accepts)
            if nearest.x is not None:
                return nearest.x
        else:
            nearest = None
            tried.append(x)
            self._look_for_some(node, x, limits)
        parts = node.target.parts(tried)
        if parts is not None:
            for part in parts:
                self._push(part, node.lower, node.upper, node.changing)
        elif self.given.whole.any() or self.given.max_changes is not None:
            self._split_anyhow(node, point)
        elif len(node.target.crossed) < 2 and nearest is not None and len(nearest.faces):
            self.touching.append(self._conflict(node.target, nearest, touching=True))
        return None

    def _crosses(self, node: SearchNode, point: Floats) -> bool:
        """Whether parts beyond some faces were pushed; else a first point is looked for."""
        crossings = node.target.crossings(point)
        for part in crossings or ():
            self._push(part, node.lower, node.upper, node.changing)
        goal = node.target.safe(point) if crossings is None and self.best is None else None
        if goal is not None:
            self._begin(goal)
        return crossings is not None

    def _look_for_some(self, node: SearchNode, x: Floats, limits: tuple[Floats, Floats]) -> None:
        """Keep a point with another answer, if there is one that is nearer than those before."""
        goal = node.target.safe(x)
        if goal is None:
            return
        aims = goal.aims(self.row, *limits)
        exact = next(aims)
        if exact.x is None or length(exact.x - self.row, self.roots) >= self._far():
            return
        found = first(itertools.chain([exact], aims), self.accepts)
        if found.x is not None and length(found.x - self.row, self.roots) < self._far():
            self.best = self._shortened(found.x, limits)

    def _begin(self, goal: Goal) -> None:
        """Look for some point to begin with: what is allowed is decided by the nearest one."""
        given, row = self.given, self.row
        lower, upper = given.lower.copy(), given.upper.copy()
        x = goal.nearest(row, lower, upper).x
        for category in given.categories if x is not None else ():
            kinds = given.kinds(category)
            if x is not None and kinds:
                gaps = [float(np.abs(x[category] - kind).sum()) for kind in kinds]
                lower[category] = upper[category] = kinds[int(np.argmin(gaps))]
                x = goal.nearest(row, lower, upper).x
        if x is not None and given.max_changes is not None:
            for c in set(range(len(given.columns))) - set(self._changed(x)[: given.max_changes]):
                lower[given.columns[c]] = upper[given.columns[c]] = row[given.columns[c]]
            x = goal.nearest(row, lower, upper).x
        for j in np.flatnonzero(given.whole & (lower < upper)).tolist():
            if x is None:
                return
            value = given.ends(j, x[j])[int(x[j] > row[j])]
            lower[j] = upper[j] = min(max(value, given.lower[j]), given.upper[j])
            x = goal.nearest(row, lower, upper).x
        allowed = self._is_allowed(lower, upper)
        found = first(goal.aims(row, lower, upper), self.accepts) if allowed else None
        if (
            found is not None
            and found.x is not None
            and length(found.x - row, self.roots) < self._far()
        ):
            self.best = self._shortened(found.x, (lower, upper))

    def _change_one(self) -> None:
        """Begin with what one column does alone: each kind of a category, and ends of numbers."""
        given, row = self.given, self.row
        if not ((given.lower <= row) & (row <= given.upper)).all():
            return
        points = [
            _with(row, column, value)
            for column in given.columns
            for value in (given.kinds(column) if len(column) > 1 else self._ends(int(column[0])))
        ]
        for x in points:
            if not ((given.lower <= x) & (x <= given.upper)).all() or not self.accepts(x):
                continue
            shorter = x
            if not given.whole[x != row].any():
                shorter = self._shortened(x, (given.lower, given.upper))
            if length(shorter - row, self.roots) < self._far():
                self.best = shorter

    def _ends(self, j: int) -> list[float]:
        """The lowest and the highest value that a feature may have, if there are both."""
        low, high = float(self.given.lower[j]), float(self.given.upper[j])
        if not np.isfinite([low, high]).all():
            return []
        if self.given.whole[j]:
            return [self.given.ends(j, low)[1], self.given.ends(j, high)[0]]
        return [low, high]

    def _is_allowed(self, lower: Floats, upper: Floats) -> bool:
        """Whether limits keep to the conditions, and whole features have values they may have."""
        given = self.given
        fixed = np.flatnonzero(given.whole & (lower == upper)).tolist()
        whole = all(given.ends(j, lower[j])[0] == lower[j] for j in fixed)
        inside = (given.lower <= lower) & (upper <= given.upper)
        return whole and bool(inside.all())

    def _shortened(self, x: Floats, limits: tuple[Floats, Floats]) -> Floats:
        """The nearest point on the way to x that is allowed and verified, by bisection."""
        lower, upper = limits
        if not ((lower <= self.row) & (self.row <= upper)).all():
            return x
        near, far = 0.0, 1.0
        for _ in range(_ZOOMS):
            shares = np.linspace(near, far, _STEPS)
            sought = self._accepted(self.row + shares[:, None] * (x - self.row))
            k = max(int(sought.argmax()), 1)
            near, far = float(shares[k - 1]), float(shares[k])
        shorter = self.row + far * (x - self.row)
        return shorter if self.accepts(shorter) else x

    # --- what is allowed ----------------------------------------------------------------

    def _allowed(self, node: SearchNode, point: Floats) -> tuple[Floats, Floats] | None:
        """Limits that hold whole what the point has whole; or None, and its parts are pushed."""
        lower, upper = node.lower.copy(), node.upper.copy()
        for category in self.given.categories:
            if (lower[category] == upper[category]).all():
                continue
            kinds = self.given.kinds(category)
            gaps = [np.abs(point[category] - kind).max() for kind in kinds]
            if not kinds or min(gaps) > _SAME:
                self._split_category(node, category)
                return None
            lower[category] = upper[category] = kinds[int(np.argmin(gaps))]
        whole, off = self._nearest_whole(point)
        open_ = np.flatnonzero(self.given.whole & (lower < upper))
        if off[open_].max(initial=0.0) > _SAME:
            self._split_number(node, point, int(open_[off[open_].argmax()]))
            return None
        lower[open_] = upper[open_] = whole[open_]
        most = self.given.max_changes
        if most is None:
            return lower, upper
        changed = self._changed(point)
        if len(changed) > most:
            self._split_columns(node, changed)
            return None
        for c, column in enumerate(self.given.columns):
            own = self.row[column]
            if c not in changed and (lower[column] <= own).all() and (own <= upper[column]).all():
                lower[column] = upper[column] = own
        return lower, upper

    def _nearest_whole(self, point: Floats) -> tuple[Floats, Floats]:
        """The nearest value that each feature of whole numbers may have, and how far it is."""
        near = point.copy()
        for j in np.flatnonzero(self.given.whole).tolist():
            low, high = self.given.ends(j, point[j])
            near[j] = low if point[j] - low < high - point[j] else high
        return near, np.abs(point - near)

    def _changed(self, point: Floats) -> list[int]:
        """The columns that change, the most costly first."""
        cost = np.abs(point - self.row) * self.roots
        slight = 1e-9 * (np.abs(self.row) * self.roots + cost.max(initial=0.0))
        cost = np.where(cost > slight, cost, 0.0)
        costs = [float(cost[column].max()) for column in self.given.columns]
        return sorted((c for c, one in enumerate(costs) if one), key=lambda c: -costs[c])

    def _within(self, node: SearchNode, places: Indices, low: Floats, high: Floats) -> None:
        """Push a part of a node, in which these features have narrower limits."""
        lower, upper = node.lower.copy(), node.upper.copy()
        lower[places], upper[places] = low, high
        if (lower <= upper).all():
            self._push(node.target, lower, upper, node.changing)

    def _split_category(self, node: SearchNode, category: Indices) -> None:
        for kind in self.given.kinds(category):
            if (node.lower[category] <= kind).all() and (kind <= node.upper[category]).all():
                self._within(node, category, kind, kind)

    def _split_number(self, node: SearchNode, point: Floats, j: int) -> None:
        """The values of a feature below its point, and those above."""
        low, high = self.given.ends(j, point[j])
        at = np.array([j])
        self._within(node, at, node.lower[at], np.array([low]))
        self._within(node, at, np.array([high]), node.upper[at])

    def _split_columns(self, node: SearchNode, changed: list[int]) -> None:
        """A column stays, or is one of those that change: if they are enough, all others stay."""
        c = next(c for c in changed if c not in node.changing)
        column, row = self.given.columns[c], self.row
        self._within(node, column, row[column], row[column])
        changing = node.changing | {c}
        lower, upper = node.lower.copy(), node.upper.copy()
        if len(changing) == self.given.max_changes:
            others = [one for i, one in enumerate(self.given.columns) if i not in changing]
            rest = np.concatenate([*others, np.empty(0, np.intp)]).astype(np.intp)
            lower[rest], upper[rest] = (
                np.maximum(lower[rest], row[rest]),
                np.minimum(upper[rest], row[rest]),
            )
        if (lower <= upper).all():
            self._push(node.target, lower, upper, changing)

    def _split_anyhow(self, node: SearchNode, point: Floats) -> None:
        """The point is allowed, but has no other answer: itself, and all that is around it."""
        for category in self.given.categories:
            if (node.lower[category] < node.upper[category]).any():
                self._split_category(node, category)
                return
        whole = np.flatnonzero(self.given.whole & (node.lower < node.upper))
        for j in whole[:1].tolist():
            near = self._nearest_whole(point)[0][j]
            below, above = self.given.ends(j, near - _SAME)[0], self.given.ends(j, near + _SAME)[1]
            at, here = np.array([j]), np.array([near])
            self._within(node, at, node.lower[at], np.array([below]))
            self._within(node, at, here, here)
            self._within(node, at, np.array([above]), node.upper[at])
        if whole.size:
            return
        undecided = [
            c
            for c, column in enumerate(self.given.columns)
            if c not in node.changing and (node.lower[column] < node.upper[column]).any()
        ]
        if self.given.max_changes is not None and undecided:
            changed = [c for c in self._changed(point) if c in undecided]
            self._split_columns(node, changed or undecided)


def _all_faces(rule: Rule) -> Polyhedron:
    """Those of all pieces."""
    W, b = zip(*((piece.polyhedron.W, piece.polyhedron.b) for piece in rule.pieces), strict=True)
    return Polyhedron(np.concatenate(W), np.concatenate(b))


def _with(row: Floats, places: Indices, values: Floats | float) -> Floats:
    """A row with other values at these places."""
    new = row.copy()
    new[places] = values
    return new


def _held(target: Target, nearest: Nearest, given: Conditions, names: tuple[str, ...]) -> str:
    """The conditions that a conflict is with, in words."""
    names = tuple(map(quoted, names))
    assert target.goal is not None
    used = target.goal.W[nearest.faces].any(axis=0)
    fixed = np.flatnonzero((given.lower == given.upper) & used)
    words = [f"{names[j]} is {given.lower[j]:.6g}" for j in fixed]
    words += [f"{names[j]} >= {given.lower[j]:.6g}" for j in nearest.lower]
    words += [f"{names[j]} <= {given.upper[j]:.6g}" for j in nearest.upper]
    if len(words) > 6:
        words = [*words[:5], f"{len(words) - 5} more hold"]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
