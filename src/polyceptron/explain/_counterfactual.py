"""The smallest change of a row that flips its answer."""

from __future__ import annotations

import decimal
import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron.explain._subject import (
    ExplainError,
    Leaves,
    OnePolyhedron,
    Target,
    answerable,
    as_row,
    columns_of,
    names_of,
    place_of,
    places_of,
    subject,
)
from polyceptron.geometry._faces import as_roots, listed
from polyceptron.geometry._projection import Goal, Nearest, first, length
from polyceptron.utils.checks import as_count, as_floats
from polyceptron.utils.text import quoted
from polyceptron.utils.types import Floats


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The smallest change of a row that flips its answer, or why there is none.

    Attributes
    ----------
    x : ndarray of shape (n_features,) or None
        The changed row.
    change : ndarray of shape (n_features,) or None
        ``x`` minus the row.
    distance : float
        The weighted Euclidean length of the change; infinite if there is none.
    feasible : bool
        Whether there is such a change.
    reason : str
        Why not; empty if there is.
    before, after : label
        The answers for the row and for ``x``, "inside" and "outside" for a Polyhedron; both are
        that of the row if there is no change.
    changes : dict of str to (float, float)
        The old and the new value of every feature that changes.
    shown : dict of str to (str, str)
        The same as text, the new values with as few digits, but at least six, as keep to the
        conditions and have the answer `after` when they are read back.
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
    is found by least distance programming, whole numbers by branch and bound on top of it. The
    new row is verified by asking the model for its answer: it goes beyond the boundary by as
    few roundings as that takes.

    Parameters
    ----------
    model : fitted learner or Polyhedron
        A tree will do as well, more than two classes otherwise will not.
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
        Programs to solve at most in the search for whole numbers.

    Returns
    -------
    Counterfactual

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
    found = subject(model)
    P = found.polyhedron
    row = as_row(x, P)
    roots = as_roots(columns_of(weights, P, "weights", 1.0), P.n_features)
    given = _conditions(row, P, frozen, bounds, integers)
    before = found.answer(row)
    search = _Search(found, row, before, roots, given, as_count(max_nodes, "max_nodes"))
    with answerable():
        new = search.run() if given.clash is None else None
    if new is None:
        reason = given.clash or search.reason()
        return Counterfactual(None, None, np.inf, False, reason, before, before, {})
    changes = {
        name: (float(old), float(now))
        for name, old, now in zip(names_of(P), row, new, strict=True)
        if old != now
    }
    far, after = length(new - row, roots), found.answer(new)
    texts = next(
        texts
        for texts, point in _written(row, new, given)
        if np.array_equal(point, new) or found.answer(point) == after
    )
    shown = {
        name: (f"{old:.6g}", text)
        for (name, (old, _)), text in zip(changes.items(), texts, strict=True)
    }
    return Counterfactual(new, new - row, far, True, "", before, after, changes, shown)


def _written(row: Floats, new: Floats, given: _Conditions) -> Iterator[tuple[list[str], Floats]]:
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


class _Conditions(NamedTuple):
    """What new values may be. ``clash`` says why there are none, if so."""

    lower: Floats
    upper: Floats
    frozen: NDArray[np.bool_]
    whole: NDArray[np.bool_]
    clash: str | None


def _conditions(row: Floats, P: Any, frozen: Any, bounds: Any, integers: Any) -> _Conditions:
    d = P.n_features
    lower, upper = np.full(d, -np.inf), np.full(d, np.inf)
    for key, pair in _pairs(bounds):
        j = place_of(key, P, "bounds")
        lower[j], upper[j] = _limits(key, pair)
    held, whole = np.zeros(d, bool), np.zeros(d, bool)
    held[places_of(frozen, P, "frozen")] = True
    whole[places_of(integers, P, "integers")] = True
    clash = _clash(row, lower, upper, held, whole, names_of(P))
    lower, upper = np.where(held, row, lower), np.where(held, row, upper)
    lower, upper = np.where(whole, np.ceil(lower), lower), np.where(whole, np.floor(upper), upper)
    return _Conditions(lower, upper, held, whole, clash)


def _pairs(bounds: Any) -> Iterable[tuple[Any, Any]]:
    if bounds is None:
        return []
    if not isinstance(bounds, Mapping):
        raise ExplainError(
            f"bounds must be a mapping of feature to (lower, upper); got {bounds!r:.200}"
        )
    return bounds.items()


def _limits(key: Any, pair: Any) -> tuple[float, float]:
    try:
        low, high = pair
    except (TypeError, ValueError):
        raise ExplainError(f"bounds[{key!r}] must be a pair (lower, upper); got {pair!r}") from None
    lower = -np.inf if low is None else float(as_floats(low, f"bounds[{key!r}]"))
    upper = np.inf if high is None else float(as_floats(high, f"bounds[{key!r}]"))
    if not lower <= upper or lower == np.inf or upper == -np.inf:
        raise ExplainError(f"bounds[{key!r}] must have lower <= upper; got {pair!r}")
    return lower, upper


def _clash(
    row: Floats,
    lower: Floats,
    upper: Floats,
    held: NDArray[np.bool_],
    whole: NDArray[np.bool_],
    names: tuple[str, ...],
) -> str | None:
    """Why the conditions of some feature exclude each other, if they do."""
    for j in np.flatnonzero(held | whole):
        name, value = quoted(names[j]), row[j]
        if held[j] and not lower[j] <= value <= upper[j]:
            return f"{name} is frozen at {value:.6g}, outside its bounds"
        if held[j] and whole[j] and value != np.floor(value):
            return f"{name} is frozen at {value:.6g}, which is no whole number"
        if whole[j] and np.ceil(lower[j]) > np.floor(upper[j]):
            return f"the bounds of {name} hold no whole number"
    return None


_FEWEST = 6
"""Digits of the values shown, if that is enough."""
_DONE = {"meet": "met", "cross": "crossed"}


class _Node(NamedTuple):
    """A part of the search: a target, with limits; and the nearest point of it."""

    target: int
    lower: Floats
    upper: Floats
    point: Floats


class _Search:
    """Best-first branch and bound over the targets and the whole numbers.

    What is popped first has the least distance of all that is left, so the first point that is
    whole and verified is the answer. Without whole numbers there is one node a target.
    """

    def __init__(
        self,
        found: OnePolyhedron | Leaves,
        row: Floats,
        before: Any,
        roots: Floats,
        given: _Conditions,
        max_nodes: int,
    ) -> None:
        self.found, self.row, self.before, self.given = found, row, before, given
        self.roots, self.max_nodes = roots, max_nodes
        self.targets = found.targets(row)
        self.goals = [Goal(t.polyhedron.W, t.polyhedron.b, roots) for t in self.targets]
        self.heap: list[tuple[float, int, _Node]] = []
        self.counter = itertools.count()
        self.conflicts: list[str] = []

    def run(self) -> Floats | None:
        """Return the nearest verified point, or None."""
        for i in range(len(self.targets)):
            self._push(i, self.given.lower, self.given.upper, first=True)
        while self.heap:
            _, _, node = heapq.heappop(self.heap)
            new = self._settled(node)
            if new is not None:
                return new
            self._branch(node)
        return None

    def reason(self) -> str:
        """Why there is no point."""
        if not self.targets:
            return "the model has no other answer"
        texts = self.conflicts[:3]
        if len(self.conflicts) > 3:
            texts.append(f"and {len(self.conflicts) - 3} more")
        if len(self.conflicts) < len(self.targets):
            names = [quoted(names_of(self.found.polyhedron)[j]) for j in self._whole()]
            texts.append(f"no whole numbers will do for {', '.join(names)}")
        return "; ".join(texts)

    def _whole(self) -> list[int]:
        return np.flatnonzero(self.given.whole).tolist()

    def _push(self, target: int, lower: Floats, upper: Floats, *, first: bool = False) -> None:
        """Solve one program, and keep its point for later, or what is in conflict."""
        number = next(self.counter)
        if number >= max(self.max_nodes, len(self.targets)):
            raise ExplainError(
                f"no answer after {self.max_nodes} programs (max_nodes): give the features in "
                "integers narrower bounds, or freeze some"
            )
        nearest = self.goals[target].nearest(self.row, lower, upper)
        if nearest.x is not None:
            far = length(nearest.x - self.row, self.roots)
            heapq.heappush(self.heap, (far, number, _Node(target, lower, upper, nearest.x)))
        elif first:
            self._tell(target, nearest)

    def _tell(self, target: int, nearest: Nearest, *, touching: bool = False) -> None:
        goal = self.targets[target]
        faces = listed(goal.faces[k] for k in nearest.faces)
        if touching and goal.task == "meet":
            words = f"{faces} {'leaves' if len(nearest.faces) == 1 else 'leave'} no room"
        else:
            together = " together" if len(nearest.faces) > 1 else ""
            words = f"{faces} cannot be {_DONE[goal.task]}{together}"
        held = _held(goal, nearest, self.row, self.given)
        nowhere = "" if touching else " by any row"
        self.conflicts.append(words + (f" while {held}" if held else nowhere))

    def _settled(self, node: _Node) -> Floats | None:
        """The nearest point of a node with another answer, if its whole numbers are whole."""
        whole = self.given.whole
        rounded = np.rint(node.point)
        if (np.abs(node.point - rounded)[whole] > 1e-6).any():
            return None
        lower = np.where(whole, rounded, node.lower)
        upper = np.where(whole, rounded, node.upper)
        aims = self.goals[node.target].aims(self.row, lower, upper)
        nearest = first(aims, lambda x: bool(self.found.answer(x) != self.before))
        if nearest.x is None and not whole.any():
            self._tell(node.target, nearest, touching=True)
        return nearest.x

    def _branch(self, node: _Node) -> None:
        """Split a feature's whole numbers at the point: those below, between, above."""
        open_ = np.flatnonzero(self.given.whole & (node.lower < node.upper))
        if open_.size == 0:
            return
        gap = np.abs(node.point[open_] - np.rint(node.point[open_]))
        j = int(open_[gap.argmax()])
        value = node.point[j]
        if gap.max() > 1e-6:
            pieces = [(node.lower[j], np.floor(value)), (np.ceil(value), node.upper[j])]
        else:  # whole, but no answer there: that number by itself, and all others
            near = np.rint(value)
            pieces = [(node.lower[j], near - 1), (near, near), (near + 1, node.upper[j])]
        for low, high in pieces:
            if low <= high:
                lower, upper = node.lower.copy(), node.upper.copy()
                lower[j], upper[j] = low, high
                self._push(node.target, lower, upper)


def _held(target: Target, nearest: Nearest, row: Floats, given: _Conditions) -> str:
    """The conditions that a conflict is with, in words."""
    P = target.polyhedron
    names = [quoted(name) for name in names_of(P)]
    used = P.W[nearest.faces].any(axis=0)
    fixed = (given.lower == given.upper) & ~given.frozen
    words = [f"{names[j]} is {row[j]:.6g}" for j in np.flatnonzero(given.frozen & used)]
    words += [f"{names[j]} is {given.lower[j]:.6g}" for j in np.flatnonzero(fixed & used)]
    words += [f"{names[j]} >= {given.lower[j]:.6g}" for j in nearest.lower]
    words += [f"{names[j]} <= {given.upper[j]:.6g}" for j in nearest.upper]
    if len(words) > 6:
        words = [*words[:5], f"{len(words) - 5} more hold"]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
