"""Exact pruning: what a late step costs, and that it changes no bit."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.data import Case, random_start, with_gap
from benchmarks.registry import Bar, Measurement, Sizes, benchmark
from benchmarks.timing import check_yardstick, read_once, seconds
from polyceptron.optim.criterion import Pruning, gradient
from polyceptron.optim.planes import Planes

BEFORE, MEASURED = 100, 40
"""Iterations before the measured ones, and how many are measured."""


class Descent:
    """The batch iteration from given hyperplanes, pruned or not."""

    def __init__(self, case: Case, prune: bool | str) -> None:
        self._data, self._planes = case.blocks(), case.planes()
        self._pruning = Pruning(self._data, prune)
        self._step_size = 10 / self._data.n_samples
        self.share_read = 0.0

    def step(self) -> None:
        here = gradient(self._data, self._planes, 0.0, self._pruning)
        self.share_read = float(here.totals[3]) / self._data.n_samples
        self.n_mistakes = int(here.totals[1])
        W, b = self._planes.arrays()
        self._planes = Planes.of(W + self._step_size * here.G, b + self._step_size * here.g)

    def bits(self) -> bytes:
        return b"".join(array.tobytes() for array in self._planes.arrays())

    def fork(self) -> Descent:
        """Another descent that goes on from here."""
        other = copy.copy(self)
        other._pruning = copy.deepcopy(self._pruning)
        return other


def _together(pruned: Descent, plain: Descent, n_steps: int) -> bool:
    """Step both; True where they had the same bits all along."""
    same = True
    for _ in range(n_steps):
        pruned.step()
        plain.step()
        same &= pruned.bits() == plain.bits()
    return same


@dataclass
class Times:
    """Seconds in rounds: of reading, and of each step with and without pruning."""

    read: list[float]
    pruned: list[list[float]]
    plain: list[list[float]]
    shares: list[float]

    def per_step(self, rounds: list[list[float]]) -> float:
        """Mean over the steps of each one's best time: the steps differ, the rounds do not."""
        return float(np.min(rounds, axis=0).mean())


def _time(case: Case, pruned: Descent, plain: Descent, rounds: int) -> Times:
    """Read, pruned steps, read, plain steps: in turns, but steps as they come, in one go.

    Reads between single steps would push the keys out of the cache, as no fit does.
    """
    t, read = Times([], [], [], []), read_once(case.X)
    for _ in range(rounds):
        t.read += [seconds(read) for _ in range(4)]
        run = pruned.fork()
        t.pruned.append([])
        t.shares = []
        for _ in range(MEASURED):
            t.pruned[-1].append(seconds(run.step))
            t.shares.append(run.share_read)
        t.read += [seconds(read) for _ in range(4)]
        run = plain.fork()
        t.plain.append([seconds(run.step) for _ in range(MEASURED // 4)])
    check_yardstick({"read": min(t.read), "numpy sum": min(seconds(case.X.sum) for _ in range(4))})
    return t


def _measure(name: str, case: Case, bar: Bar | None, sizes: Sizes) -> Measurement:
    pruned, plain = Descent(case, "auto"), Descent(case, False)
    same = _together(pruned, plain, BEFORE)
    t = _time(case, pruned, plain, sizes.rounds(5))
    same &= _together(pruned, plain, MEASURED)
    read, step, unpruned = min(t.read), t.per_step(t.pruned), t.per_step(t.plain)
    share = float(np.mean(t.shares))
    if not same:
        bar, name = Bar("<=", 0.0), f"{name} (ITERATES DIFFER)"
    note = (
        f"{share:.1%} of the rows read a step, {pruned.n_mistakes} mistakes left; "
        f"{unpruned / read:.2f} without pruning; iterates {'the same bits' if same else 'DIFFER'}"
    )
    return Measurement(name, step / read, bar, {"step": step, "read": read}, note)


@benchmark
def pruning(sizes: Sizes) -> Iterator[Measurement]:
    """Steps 101 to 140 on separable data with a gap, from two random starts."""
    case = with_gap(sizes.rows(2_000_000), 20, 4, gap=0.1)
    yield _measure(
        "step after 100 iterations, separable, pruned ÷ reading X once",
        case,
        Bar("<=", 0.1),
        sizes,
    )
    W, b = random_start(20, 4, 1)
    yield _measure(
        "the same from a start that oscillates: pruning does not pay ÷ reading X once",
        replace(case, W=W, b=b),
        None,
        sizes,
    )
