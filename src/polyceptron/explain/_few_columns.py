"""Where few columns may change: those whose values can be counted are tried, the nearest first."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polyceptron.explain._arguments import Conditions
from polyceptron.geometry.projection import EPS
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats, Indices

_MOST_VALUES = (1_000, 300, 100, 30, 10, 2, 0)
"""Of a column of whole numbers: so many, or fewer if these are too many rows."""
_MOST_ROWS, _MOST_SUBSETS, _MOST_PARTS = 1_000_000, 20_000, 2_000
"""What may be tried in one answer: rows, columns together, and parts that are searched further."""
_MOST_LINES = 20_000
"""Rows from which each other column is changed by itself."""
_AT_ONCE = 256
_ROUNDINGS = np.array([0.0, 1.0, -1.0, 16.0, -16.0, 256.0, -256.0, 4096.0, -4096.0])
"""How far beyond a face to look, in roundings of its sum."""

Accepted: TypeAlias = Callable[[Floats], NDArray[np.bool_]]

Values: TypeAlias = Mapping[int, Floats]
"""Of columns, by place: what their features may change to, a row each."""


class Part(NamedTuple):
    """Limits of a search, and columns that are known to change."""

    lower: Floats
    upper: Floats
    changing: frozenset[int]


class ValuesTried(NamedTuple):
    """The nearest row of those tried that will do, and where other columns change as well."""

    best: Floats | None
    parts: list[Part]


def try_values(
    given: Conditions, roots: Floats, accepted: Accepted, far: float, faces: Polyhedron | None
) -> ValuesTried | None:
    """Try every row nearer than `far` that differs in as few columns as may change, or fewer.

    Columns of real numbers, or of too many whole ones, are left as they are in these. Where one of
    them may change besides, and answers change at `faces` only, it is tried beyond each face. What
    else can be reached by changing them has a part for each row that will not do. None is that
    there are too many rows.
    """
    most = given.max_changes or 0
    chosen_values = _chosen_values(given, most, has_faces=faces is not None)
    if chosen_values is None:
        return None
    values, counted, others, n_parted = chosen_values
    best, parts = None, []
    lines: list[Floats] = []
    subsets = (itertools.combinations(values, k) for k in range(most + 1))
    for chosen in itertools.chain.from_iterable(subsets):
        for x, cost, is_accepted in _rows(given, roots, values, chosen, accepted):
            if is_accepted and cost < far:
                best, far = x, cost
            if cost >= far:
                break
            if others.size and len(chosen) < most:
                lines.append(x)
                if len(chosen) < n_parted:
                    parts.append(_around(given, x, counted, chosen))
    for rows, costs in _beyond_faces(given, roots, lines, others, faces):
        found = _first(given, rows[costs < far], costs[costs < far], accepted)
        if found is not None:
            best, far = found
    return ValuesTried(best, [part for part in parts if (part.lower <= part.upper).all()])


def _chosen_values(
    given: Conditions, most: int, *, has_faces: bool
) -> tuple[Values, Indices, Indices, int] | None:
    """Values to try that are not too many, their features, and all others that may change.

    And of how many changes there are parts.
    """
    for values in (*(_values_of(given, n) for n in _MOST_VALUES), {}):
        none = np.empty(0, np.intp)
        counted = np.concatenate([none, *(given.columns[c] for c in values)])
        others = np.setdiff1d(np.flatnonzero(given.lower < given.upper), counted)
        rows = _n_ways([len(one) for one in values.values()], most)
        subsets = _n_ways([1] * len(values), most)
        n_parted = most - has_faces if others.size else 0
        fits = sum(rows) <= _MOST_ROWS and sum(subsets) <= _MOST_SUBSETS
        fits &= sum(rows[:n_parted]) <= _MOST_PARTS
        if fits and (not others.size or rows[most - 1] <= _MOST_LINES):
            return values, counted, others, n_parted
    return None


def _first(
    given: Conditions, rows: Floats, costs: Floats, accepted: Accepted
) -> tuple[Floats, float] | None:
    """The nearest of some rows that is allowed and accepted, and how far it is."""
    order = np.argsort(costs, kind="stable")
    for start in range(0, len(order), _AT_ONCE):
        some = order[start : start + _AT_ONCE]
        allowed = ((given.lower <= rows[some]) & (rows[some] <= given.upper)).all(axis=1)
        good = some[allowed]
        good = good[accepted(rows[good])] if good.size else good
        if good.size:
            return rows[good[0]], float(costs[good[0]])
    return None


def _beyond_faces(
    given: Conditions,
    roots: Floats,
    starts: list[Floats],
    columns: Indices,
    faces: Polyhedron | None,
) -> Iterator[tuple[Floats, Floats]]:
    """Rows with one of these columns changed to what is on a face or just beyond, and how far."""
    for first in range(0, len(starts) if faces is not None else 0, _AT_ONCE):
        assert faces is not None
        rows = np.array(starts[first : first + _AT_ONCE])
        with np.errstate(over="ignore", invalid="ignore"):
            margins = rows @ faces.W.T + faces.b
            rounding = EPS * (np.abs(rows) @ np.abs(faces.W.T) + np.abs(faces.b))
            moved = (((rows - given.row) * roots) ** 2).sum(axis=1)
        for j in columns.tolist():
            w = faces.W[:, j]
            use = w != 0
            with np.errstate(over="ignore", invalid="ignore"):
                ends = rows[:, j, None] - margins[:, use] / w[use]
                steps = rounding[:, use, None] / w[use, None] * _ROUNDINGS
                if given.whole[j]:
                    ends, steps = np.floor(ends), np.array([-1.0, 0.0, 1.0, 2.0])
                values = (ends[:, :, None] + steps).reshape(len(rows), -1)
                costs = np.sqrt(moved[:, None] + ((values - given.row[j]) * roots[j]) ** 2)
            at, k = np.nonzero((given.lower[j] <= values) & (values <= given.upper[j]))
            found = rows[at]
            found[:, j] = values[at, k]
            yield found, costs[at, k]


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
    accepted: Accepted,
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


def _around(given: Conditions, x: Floats, counted: Indices, chosen: tuple[int, ...]) -> Part:
    """Where only what is not counted may be otherwise than in a row, if that is allowed."""
    lower, upper = given.lower.copy(), given.upper.copy()
    lower[counted] = np.maximum(lower[counted], x[counted])
    upper[counted] = np.minimum(upper[counted], x[counted])
    return Part(lower, upper, frozenset(chosen))
