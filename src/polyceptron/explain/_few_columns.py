"""Where few columns may change: those whose values can be counted are tried, the nearest first."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polyceptron.explain._arguments import Conditions
from polyceptron.utils.types import Floats

_MOST_VALUES = 1_000
"""Of a column of whole numbers."""
_MOST_ROWS, _MOST_SUBSETS, _MOST_PARTS = 200_000, 20_000, 2_000
"""What may be tried in one answer: rows, columns together, and parts that are searched further."""
_AT_ONCE = 256

Values: TypeAlias = Mapping[int, Floats]
"""Of columns, by place: what their features may change to, a row each."""


class Part(NamedTuple):
    """Limits of a search, and columns that are known to change."""

    lower: Floats
    upper: Floats
    changing: frozenset[int]


class Tried(NamedTuple):
    """The nearest row of those tried that will do, and where other columns change as well."""

    best: Floats | None
    parts: list[Part]


def try_values(
    given: Conditions, roots: Floats, accepted: Callable[[Floats], NDArray[np.bool_]], far: float
) -> Tried | None:
    """Try every row nearer than `far` that differs in as few columns as may change, or fewer.

    Columns of real numbers, or of too many whole ones, are left as they are in these: a part for
    each row that will not do has all that can be reached by changing them, too. None is that there
    are too many rows, or nothing to count.
    """
    most = given.max_changes or 0
    for values in (_values_of(given, _MOST_VALUES), _values_of(given, 0)):
        none = np.empty(0, np.intp)
        counted = np.concatenate([none, *(given.columns[c] for c in values)])
        has_others = bool(np.delete(given.lower < given.upper, counted).any())
        rows = _n_ways([len(one) for one in values.values()], most)
        subsets = _n_ways([1] * len(values), most)
        n_parts = sum(rows[:most]) if has_others else 0
        fits = sum(rows) <= _MOST_ROWS and sum(subsets) <= _MOST_SUBSETS
        if values and fits and n_parts <= _MOST_PARTS:
            break
    else:
        return None
    best, parts = None, []
    for k in range(most + 1):
        for chosen in itertools.combinations(values, k):
            for x, cost, is_accepted in _rows(given, roots, values, chosen, accepted):
                if cost >= far:
                    break
                if is_accepted:
                    best, far = x, cost
                    break
                if has_others and k < most:
                    parts.append(_around(given, x, counted, chosen))
    return Tried(best, [part for part in parts if (part.lower <= part.upper).all()])


def _values_of(given: Conditions, most_values: int) -> Values:
    """Other values of categories, and of whole numbers that have no more than so many."""
    found = {}
    for c, column in enumerate(given.columns):
        if len(column) > 1:
            values = np.array(given.kinds(column)).reshape(-1, len(column))
        else:
            j = int(column[0])
            low, high = np.ceil(given.lower[j]), np.floor(given.upper[j])
            if not given.whole[j] or not high - low < most_values:
                continue
            values = np.arange(low, high + 1)[:, None]
        found[c] = values[(values != given.row[column]).any(axis=1)]
    return found


def _n_ways(sizes: list[int], most: int) -> list[int]:
    """In how many ways 0, 1, ... and `most` of the columns change."""
    ways = [1] + [0] * most
    for size in sizes:
        ways = [ways[0], *(ways[k] + size * ways[k - 1] for k in range(1, most + 1))]
    return ways


def _rows(
    given: Conditions,
    roots: Floats,
    values: Values,
    chosen: tuple[int, ...],
    accepted: Callable[[Floats], NDArray[np.bool_]],
) -> Iterator[tuple[Floats, float, bool]]:
    """The rows in which these columns change, the nearest first.

    With each is how far it is, and whether it is allowed and accepted.
    """
    costs = np.zeros(1)
    for c in chosen:
        column = given.columns[c]
        own = (((values[c] - given.row[column]) * roots[column]) ** 2).sum(axis=1)
        costs = np.add.outer(costs, own)
    order = np.argsort(costs, axis=None, kind="stable")
    for start in range(0, len(order), _AT_ONCE):
        some = order[start : start + _AT_ONCE]
        rows = np.tile(given.row, (len(some), 1))
        for c, at in zip(chosen, np.unravel_index(some, costs.shape)[1:], strict=True):
            rows[:, given.columns[c]] = values[c][at]
        allowed = ((given.lower <= rows) & (rows <= given.upper)).all(axis=1)
        yield from zip(
            rows,
            np.sqrt(costs.ravel()[some]).tolist(),
            (allowed & accepted(rows)).tolist(),
            strict=True,
        )


def _around(
    given: Conditions, x: Floats, counted: NDArray[np.intp], chosen: tuple[int, ...]
) -> Part:
    """Where only what is not counted may be otherwise than in a row, if that is allowed."""
    lower, upper = given.lower.copy(), given.upper.copy()
    lower[counted] = np.maximum(lower[counted], x[counted])
    upper[counted] = np.minimum(upper[counted], x[counted])
    return Part(lower, upper, frozenset(chosen))
