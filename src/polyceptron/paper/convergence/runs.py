"""One run of the study: a separable set on a binary grid, and passes in exact arithmetic.

Rows and starts are multiples of 2**-digits and the step is 1, so weights and scores are
multiples of 2**-digits and 4**-digits. As long as they need no more than 53 bits, float64
computes with them without rounding, and weights that come back have come back exactly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from polyceptron import kernels
from polyceptron.data.blocks import frozen
from polyceptron.datasets import make_polyhedron
from polyceptron.optim.planes import Planes
from polyceptron.paper.convergence.exact import take_rows
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats

Order = Literal["fixed", "shuffled"]
ROW_ORDERS: tuple[Order, ...] = ("fixed", "shuffled")

# How many weights a search for a way out may come to.
_MOST_WEIGHTS = 5000


class Cell(NamedTuple):
    """What the sets of a cell have in common.

    d features, K hyperplanes, both of the truth and of the learner, N rows at a distance of at
    least ``margin`` from the truth's boundary, and ``digits`` binary digits after the point.
    """

    d: int
    K: int
    margin: float
    N: int
    digits: int


RunKey = tuple[Cell, int, Order]
"""A run: of a cell the set of this number, in one of the two orders."""


class RunResult(msgspec.Struct, frozen=True):
    """A run (its `Cell`, number and order), and how it ended.

    ``converged`` after ``passes`` passes, the last of them without an update; else ``mistakes``
    rows are wrong at the end. ``cycle`` is its length in passes where weights came back: then it
    is proved that the run never converges. ``trap`` is the number of weights that any sequence of
    rows can still lead to, where none of them has all rows right: then no order ever converges.
    ``moving`` hyperplanes still move: within the cycle, or the second half of the passes.
    """

    d: int
    K: int
    margin: float
    N: int
    digits: int
    run: int
    order: Order
    passes: int
    converged: bool
    updates: int
    mistakes: int
    cycle: int | None = None
    trap: int | None = None
    moving: int | None = None

    @property
    def cell(self) -> Cell:
        return Cell(self.d, self.K, self.margin, self.N, self.digits)

    @property
    def key(self) -> RunKey:
        return self.cell, self.run, self.order


@dataclass(frozen=True)
class Instance:
    """Rows, where to start, the polyhedron that separates them, and a seed for orders."""

    X: Floats
    y: NDArray[np.int8]
    start: Planes
    truth: Polyhedron | None
    seed: int
    digits: int


def draw_instance(cell: Cell, run: int, seed: int) -> Instance:
    """Draw a set and a start, the same for both orders: Gaussian weights without biases.

    All is rounded to the grid, and only rows that keep their margin are taken.
    """
    key = [cell.d, cell.K, round(cell.margin * 10**6), cell.N, cell.digits]
    rng = np.random.default_rng([seed, run, *key])
    # Rounding costs some rows their margin, so more are drawn than are needed.
    X, y, truth = make_polyhedron(4 * cell.N, cell.d, cell.K, margin=cell.margin, random_state=rng)
    X = _on_grid(X, cell.digits)
    kept = np.flatnonzero(y * truth.decision(X) >= cell.margin)[: cell.N]
    if len(kept) < cell.N or abs(y[kept].sum()) == cell.N:
        raise ValueError(f"{cell}: too few rows of a class keep their margin on so coarse a grid")
    W = _on_grid(rng.standard_normal((cell.K, cell.d)), cell.digits)
    start, order_seed = Planes.of(W, np.zeros(cell.K)), int(rng.integers(2**31))
    X, labels = np.ascontiguousarray(X[kept]), y[kept].astype(np.int8)
    return Instance(X, labels, start, truth, order_seed, cell.digits)


def _on_grid(values: Floats, digits: int) -> Floats:
    # + 0.0: a negative zero would not be the same bits as a zero.
    rounded: Floats = np.round(values * 2.0**digits) / 2.0**digits + 0.0
    return rounded


def check_exact(instance: Instance, limit: int) -> None:
    """Raise unless so many passes can be computed without rounding.

    An update with y h <= 0 adds at most R**2 = max |[x, 1]|**2 to the sum of all squared weights,
    which bounds every weight, score and partial sum.
    """
    R2 = 1.0 + float((instance.X**2).sum(axis=1).max())
    updates = limit * len(instance.y) + _MOST_WEIGHTS
    most = math.sqrt((instance.start.rows() ** 2).sum() + R2 * updates) * math.sqrt(R2)
    if most * 4.0**instance.digits >= 2.0**53:
        raise ValueError(
            f"limit={limit} passes over {len(instance.y)} rows of {instance.digits} binary digits "
            "may need more than 53 bits; take fewer"
        )


def exact_passes(instance: Instance, order: Order) -> Iterator[tuple[Planes, int]]:
    """After each pass the hyperplanes, always the same arrays, and the number of updates.

    A loop of its own, of one kernel call: runs are millions of short passes that are compared bit
    by bit, and a learner's ranks and history cost several times the pass itself.
    """
    X, y, no_weight = frozen(instance.X), frozen(instance.y), frozen(np.empty(0))
    planes = instance.start.copy()
    places = np.empty(len(y) if order == "shuffled" else 0, np.int64)
    no_mean = np.empty((0, 0)), np.empty(0)
    for n in itertools.count():
        if len(places):
            kernels.shuffle(places, np.uint64((instance.seed << 32) + n))
        _, updates = kernels.online_pass(
            X, y, no_weight, places, planes.panel, planes.bias, planes.K,
            1.0, 1.0, 0.0, *no_mean, 0,
        )  # fmt: skip
        yield planes, int(updates)


def follow_run(instance: Instance, key: RunKey, limit: int) -> RunResult:
    """Take passes until one has no update, weights come back or `limit` is reached.

    In the fixed order cycles are looked for by Brent's algorithm: the weights after each pass
    are compared with those after the last power of two. In the shuffled order the weights at
    the end are examined for a way out.
    """
    check_exact(instance, limit)
    cell, run, order = key
    ended, fixed = partial(RunResult, *cell, run, order), order == "fixed"
    mark, power, length, updates = instance.start.copy(), 1, 0, 0
    half, moved = instance.start.rows(), np.zeros(instance.start.K, bool)
    passes = itertools.islice(exact_passes(instance, order), limit)
    for n, (planes, new) in enumerate(passes, 1):
        updates += new
        if new == 0:
            return ended(n, True, updates, 0)
        length += 1
        if fixed and (mark.panel == planes.panel).all() and (mark.bias == planes.bias).all():
            moving = _moving(instance, planes, length)
            return ended(n, False, updates, _mistakes(instance, planes), length, moving=moving)
        if length == power:
            mark, power, length = planes.copy(), 2 * power, 0
        if n == limit // 2:
            half = planes.rows()
        elif n > limit // 2:
            moved |= (half != planes.rows()).any(axis=1)
    trap, mistakes = None if fixed else find_trap(instance, planes), _mistakes(instance, planes)
    return ended(limit, False, updates, mistakes, trap=trap, moving=int(moved.sum()))


def _mistakes(instance: Instance, planes: Planes) -> int:
    W, b = planes.arrays()
    h = (instance.X @ W.T + b).min(axis=1)  # exact, so in any order of summation
    return int(((h >= 0) != (instance.y > 0)).sum())


def _moving(instance: Instance, planes: Planes, length: int) -> int:
    """How many hyperplanes are updated in so many passes, be they back after each or not."""
    rows = list(zip(instance.X.tolist(), instance.y.tolist(), strict=True))
    return len(set(take_rows(planes.rows().tolist(), length * rows).updated))


def find_trap(instance: Instance, planes: Planes, most: int = _MOST_WEIGHTS) -> int | None:
    """Count the weights that any sequence of rows leads to, if it converges at none of them.

    None if it does at one, or if there are more than `most`.
    """
    rows = np.column_stack([instance.X, np.ones(len(instance.y))])
    steps, first = rows * instance.y[:, None], planes.rows()
    seen, open_ = {first.tobytes()}, [first]
    while open_ and len(seen) <= most:
        weights = open_.pop()
        scores = rows @ weights.T
        wrong = np.flatnonzero(instance.y * scores.min(axis=1) <= 0)
        if not len(wrong):
            return None
        for i, r in zip(wrong, scores.argmin(axis=1)[wrong], strict=True):
            after = weights.copy()
            after[r] += steps[i]
            if (key := after.tobytes()) not in seen:
                seen.add(key)
                open_.append(after)
    return None if open_ else len(seen)


def measure_run(key: RunKey, seed: int, limit: int) -> RunResult:
    """Draw the set of a run, and go through it."""
    return follow_run(draw_instance(*key[:2], seed), key, limit)
