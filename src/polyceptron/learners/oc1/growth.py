"""How OC1 grows a tree: rows made distinct, some held out, nodes split from the root down.

Equal rows are merged and sorted first, and their weights made to add up exactly. So the tree
depends on the weighted set of rows alone: not on their order, and not on whether a row is given
twice or with twice the weight.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from polyceptron.data.scaling import standardized_array
from polyceptron.learners.oc1 import kernels as oc1_kernels
from polyceptron.learners.oc1.kernels import Climb, Ints
from polyceptron.learners.oc1.tree import LEAF, Tree, passes
from polyceptron.utils.types import Floats

_LARGEST_WEIGHT = 1e100
"""Products of weights up to this, or down to its inverse, stay far from the ends of the range."""


class DistinctRows(NamedTuple):
    """Rows to learn from, all different."""

    X: Floats
    y: Ints
    weight: Floats
    multiplicity: Ints
    """How many given rows each stands for."""

    def take(self, rows: Any) -> DistinctRows:
        return DistinctRows(*(array[rows] for array in self))


def distinct_rows(X: Floats, y: Ints, weight: Floats) -> DistinctRows:
    """Merge and sort equal rows of one class; ``weight`` is empty where all rows weigh 1."""
    order = np.lexsort((y, *X.T[::-1]))
    X, y = X[order], y[order]
    is_new = np.ones(len(y), bool)
    is_new[1:] = (X[1:] != X[:-1]).any(axis=1) | (y[1:] != y[:-1])
    group = np.cumsum(is_new) - 1
    merged = np.bincount(group, exact_weights(weight)[order] if weight.size else None)
    return DistinctRows(X[is_new], y[is_new], merged.astype(float), np.bincount(group))


def exact_weights(weight: Floats) -> Floats:
    """Weights rounded to multiples of a power of two so that every sum of them is exact.

    Whole numbers stay as they are. Others change by less than 2**-51 of the sum of all.
    """
    largest = weight.max()
    if not 1 / _LARGEST_WEIGHT < largest < _LARGEST_WEIGHT:
        weight = np.ldexp(weight, -np.frexp(largest)[1])
    unit = np.ldexp(1.0, np.frexp(weight.sum())[1] - 52)
    return np.asarray(np.maximum(np.rint(weight / unit), 1.0) * unit)


class GrowthRules(NamedTuple):
    """When to split, and how."""

    climb: Climb
    n_classes: int
    max_depth: float
    min_samples_split: int
    min_samples_oblique: int


def grow(
    sample: DistinctRows, how: GrowthRules, rng: np.random.Generator, verbose: bool = False
) -> Tree:
    """A tree that splits until every leaf is pure, too small or too deep."""
    d = sample.X.shape[1]
    W: list[Floats] = []
    b: list[float] = []
    counts: list[Floats] = []
    children: list[list[int]] = []
    settled, due = 0, time.monotonic() + 1.0
    waiting = [(np.arange(len(sample.y)), 0, [LEAF, LEAF], 0)]
    while waiting:
        rows, depth, parent, side = waiting.pop()
        node, own = len(b), [LEAF, LEAF]
        parent[side] = node
        here = sample.take(rows)
        counts.append(np.bincount(here.y, here.weight, how.n_classes).astype(float))
        enough = here.multiplicity.sum() >= how.min_samples_split
        may_split = depth < how.max_depth and enough and (here.y != here.y[0]).any()
        split = _best_test(here, counts[-1], how, rng) if may_split else None
        W.append(np.zeros(d) if split is None else split[0])
        b.append(0.0 if split is None else split[1])
        children.append(own)
        if split is None:
            settled += len(rows)
        else:
            passed = passes(here.X, *split)
            waiting.append((rows[~passed], depth + 1, own, 1))
            waiting.append((rows[passed], depth + 1, own, 0))
        if verbose and time.monotonic() >= due:  # at most once a second
            due = time.monotonic() + 1.0
            where = f"{settled} of {len(sample.y)} distinct rows in leaves"
            print(f"OC1: {len(b)} nodes, {where}", flush=True)  # noqa: T201
    yes, no = np.array(children, np.int64).T
    return Tree(np.array(W), np.array(b), yes, no, np.array(counts))


def _best_test(
    here: DistinctRows, totals: Floats, how: GrowthRules, rng: np.random.Generator
) -> tuple[Floats, float] | None:
    """The best test w . x + b >= 0 in user units, or None where all rows are equal."""
    n, d = here.X.shape
    coordinates = standardized_array(here.X, here.weight)
    columns = np.ones((d + 1, n))
    columns[:d] = np.asarray(coordinates.transform(here.X)).T
    fixed = here.X.min(axis=0) == here.X.max(axis=0)
    columns[:d][fixed] = 0.0  # not the rounding of its mean
    axis, plane = np.zeros(d + 1), np.zeros(d + 1)
    # With one column that varies, every hyperplane is a threshold, and the best of these is known.
    oblique = n >= how.min_samples_oblique and d - np.count_nonzero(fixed) > 1
    climb = how.climb if oblique else how.climb._replace(n_restarts=0)
    first, best = oc1_kernels.best_split(
        oc1_kernels.NodeRows(columns, here.y, here.weight, totals),
        oc1_kernels.workspace(n, how.n_classes),
        climb, axis, plane, rng,
    )  # fmt: skip
    if best > first:
        plane[:d][fixed] = 0.0  # a start's random coefficient, which no row of here has felt
        (w,), (b,) = coordinates.to_user(plane[None, :d], plane[d:])[:2]
        is_test = w.any() and np.isfinite(w).all() and np.isfinite(b)
        if is_test and 0 < np.count_nonzero(passes(here.X, w, b)) < n:
            return w, float(b)
    return None if first < 0 else _threshold(here.X, columns, axis)


def _threshold(X: Floats, columns: Floats, axis: Floats) -> tuple[Floats, float]:
    """The axis-parallel test in user units: half-way between the two sides."""
    j = int(axis[:-1].argmax())
    above = columns[j] + axis[-1] >= 0
    low, high = X[~above, j].max(), X[above, j].min()
    middle = low / 2 + high / 2
    w = np.zeros(X.shape[1])
    w[j] = 1.0
    return w, -float(middle if low < middle else high)
