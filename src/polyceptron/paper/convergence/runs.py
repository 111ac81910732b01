"""One run of the study: a separable set on a binary grid, and passes in exact arithmetic.

Rows and starts are multiples of 2**-digits and the step is 1, so weights and scores are
multiples of 2**-digits and 4**-digits. As long as they need no more than 53 bits, float64
computes with them without rounding, and weights that come back have come back exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from polyceptron import kernels
from polyceptron.datasets import make_polyhedron
from polyceptron.optim.planes import Planes
from polyceptron.paper.convergence.exact import take_rows
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats

Order = Literal["fixed", "shuffled"]
ORDERS: tuple[Order, ...] = ("fixed", "shuffled")

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


class RunKey(NamedTuple):
    """A run: the ``run``-th set of a cell, in one of the two orders."""

    cell: Cell
    run: int
    order: Order


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
        return RunKey(self.cell, self.run, self.order)


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
    W, b = instance.start.arrays()
    R2 = 1.0 + float((instance.X**2).sum(axis=1).max())
    updates = limit * len(instance.y) + _MOST_WEIGHTS
    most = math.sqrt((W**2).sum() + (b**2).sum() + R2 * updates) * math.sqrt(R2)
    if most * 4.0**instance.digits >= 2.0**53:
        raise ValueError(
            f"limit={limit} passes over {len(instance.y)} rows of {instance.digits} binary digits "
            "may need more than 53 bits; take fewer"
        )


class OnlinePasses:
    """Hyperplanes that go through the rows pass by pass.

    A loop of its own, of one kernel call: runs are millions of short passes that are compared bit
    by bit, and a learner's ranks and history cost several times the pass itself.
    """

    def __init__(self, instance: Instance, order: Order) -> None:
        self._rows = instance
        self._order = np.empty(len(instance.y) if order == "shuffled" else 0, np.int64)
        self.planes = instance.start.copy()
        self.n = 0

    def step(self) -> int:
        """One pass; the number of updates."""
        rows, planes, no_mean = self._rows, self.planes, (np.empty((0, 0)), np.empty(0))
        if len(self._order):
            kernels.shuffle(self._order, np.uint64((rows.seed << 32) + self.n))
        _, updates = kernels.online_pass(
            rows.X, rows.y, np.empty(0), self._order, planes.panel, planes.bias, planes.K,
            1.0, 1.0, 0.0, *no_mean, 0,
        )  # fmt: skip
        self.n += 1
        return int(updates)

    def mistakes(self) -> int:
        h = np.empty(len(self._rows.y))
        kernels.decide(self._rows.X, self.planes.panel, self.planes.bias, h)
        return int(((h >= 0) != (self._rows.y > 0)).sum())


def _changed(a: Planes, b: Planes) -> NDArray[np.bool_]:
    """Which hyperplanes differ."""
    (W, w), (V, v) = a.arrays(), b.arrays()
    changed: NDArray[np.bool_] = (W != V).any(axis=1) | (w != v)
    return changed


def _same(a: Planes, b: Planes) -> bool:
    return bool((a.panel == b.panel).all() and (a.bias == b.bias).all())


def follow_run(instance: Instance, key: RunKey, limit: int) -> RunResult:
    """Take passes until one has no update, weights come back or `limit` is reached.

    In the fixed order cycles are looked for by Brent's algorithm: the weights after each pass
    are compared with those after the last power of two. In the shuffled order the weights at
    the end are examined for a way out.
    """
    check_exact(instance, limit)
    ended = partial(RunResult, *key.cell, key.run, key.order)
    fixed = key.order == "fixed"
    state = OnlinePasses(instance, key.order)
    mark, power, length = state.planes.copy(), 1, 0
    half, moved, updates = state.planes, np.zeros(instance.start.K, bool), 0
    for n in range(1, limit + 1):
        new = state.step()
        updates += new
        if new == 0:
            return ended(n, True, updates, 0)
        length += 1
        if fixed and _same(mark, state.planes):
            moving = _moving(instance, state.planes, length)
            return ended(n, False, updates, state.mistakes(), length, moving=moving)
        if length == power:
            mark, power, length = state.planes.copy(), 2 * power, 0
        if n == limit // 2:
            half = state.planes.copy()
        elif n > limit // 2:
            moved |= _changed(half, state.planes)
    trap = None if fixed else find_trap(instance, state.planes)
    return ended(limit, False, updates, state.mistakes(), trap=trap, moving=int(moved.sum()))


def _moving(instance: Instance, planes: Planes, length: int) -> int:
    """How many hyperplanes are updated in so many passes, be they back after each or not."""
    weights = tuple(map(tuple, np.column_stack(planes.arrays()).tolist()))
    rows = list(zip(instance.X.tolist(), instance.y.tolist(), strict=True))
    moved: set[int] = set()
    for _ in range(length):
        weights, updated, _ = take_rows(weights, rows)
        moved |= set(updated)
    return len(moved)


def find_trap(instance: Instance, planes: Planes, most: int = _MOST_WEIGHTS) -> int | None:
    """Count the weights that any sequence of rows leads to, if it converges at none of them.

    None if it does at one, or if there are more than `most`.
    """
    W, b = planes.arrays()
    rows = np.column_stack([instance.X, np.ones(len(instance.y))])
    steps = rows * instance.y[:, None]
    first = np.column_stack([W, b])
    seen, open_ = {first.tobytes()}, [first]
    while open_ and len(seen) <= most:
        weights = open_.pop()
        scores = rows @ weights.T  # exact, so in any order of summation
        least = scores.argmin(axis=1)
        wrong = np.flatnonzero(instance.y * scores.min(axis=1) <= 0)
        if not len(wrong):
            return None
        for i in wrong:
            after = weights.copy()
            after[least[i]] += steps[i]
            key = after.tobytes()
            if key not in seen:
                seen.add(key)
                open_.append(after)
    return None if open_ else len(seen)


def measure_run(key: RunKey, seed: int, limit: int) -> RunResult:
    """Draw the set of a run, and go through it."""
    return follow_run(draw_instance(key.cell, key.run, seed), key, limit)
