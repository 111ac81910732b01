"""More rows than the flagship wants in memory: a sample to begin with, then all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron import kernels
from polyceptron.data.blocks import ArrayBlocks, Block, Blocks
from polyceptron.learners._base import Problem
from polyceptron.learners._blocks import SourceProblem
from polyceptron.learners.polyceptron import mixture
from polyceptron.learners.polyceptron.hyperplanes import Rows, rows_of, to_mean_size, with_offset
from polyceptron.learners.polyceptron.selection import Setting
from polyceptron.optim.checkpoint import Journal
from polyceptron.optim.planes import Planes
from polyceptron.utils.types import Floats

_VALUES = 2**24
"""Values of rows that are taken into memory."""
_STEPS = 30
"""Most steps of L-BFGS over all rows: they begin near the optimum."""
_ROUNDS = 5
"""How often rows on the wrong side are added to a sample."""
_MOST_MISTAKES = 100_000
"""Rows that are added at once; with more of them, labels are not clean."""
_SEED = 7


class Found(NamedTuple):
    """Hyperplanes [w_k, b_k], the rows that they were learned from, and the columns of these."""

    rows: Rows
    varied: NDArray[np.intp]
    theta: Floats


Learn = Callable[[Rows], tuple[NDArray[Any], ...]]
"""From rows to hyperplanes, and passes over them."""


@dataclass(frozen=True, slots=True)
class Mistakes:
    """The numbers of rows on the wrong side, up to a limit, and how many there are."""

    rows: NDArray[np.int64]
    n: int

    def __add__(self, other: Mistakes) -> Mistakes:
        rows = np.concatenate([self.rows, other.rows])[:_MOST_MISTAKES]
        return Mistakes(rows, self.n + other.n)


@dataclass(frozen=True, slots=True)
class MistakesOf:
    """The rows of a block that hyperplanes have on the wrong side."""

    planes: Planes
    starts: NDArray[np.int64]

    def __call__(self, block: Block) -> Mistakes:
        h = np.empty(block.n_samples)
        kernels.decide(block.X, self.planes.panel, self.planes.bias, h)
        wrong = np.flatnonzero((h >= 0) != (block.y > 0))
        rows = wrong[:_MOST_MISTAKES] + self.starts[block.number]
        return Mistakes(rows.astype(np.int64), len(wrong))


class Large:
    """The rows of a source, and those of them that are in memory.

    Parameters
    ----------
    problem : SourceProblem
        All rows.
    n_threads : int
    """

    def __init__(self, problem: SourceProblem, n_threads: int) -> None:
        self._whole, self._n_threads = problem, n_threads
        n, most = problem.source.n_samples, max(1, _VALUES // problem.source.n_features)
        self.is_whole = n <= most
        """Whether all rows fit into memory."""
        self._numbers = np.arange(n)
        if not self.is_whole:  # one of each of so many stretches: nothing as long as the rows
            within = np.random.default_rng(_SEED).random(most)
            self._numbers = ((np.arange(most) + within) * (n / most)).astype(np.int64)

    def in_memory(self) -> Problem:
        """The problem of the rows in memory."""
        return self._of(self._numbers)

    def _of(self, numbers: NDArray[np.int64]) -> Problem:
        whole = self._whole
        block = whole.view.block(0, *whole.source.take(numbers), own=True)
        d, n_threads = whole.source.n_features, self._n_threads
        data = ArrayBlocks(block.X, block.y, block.weight, d, n_threads=n_threads)
        return Problem(data, whole.coordinates, whole.classes, whole.inside)

    def refined(self, found: Found, setting: Setting, learn: Learn, journal: Journal) -> Found:
        """What all rows make of hyperplanes that some of them gave."""
        view = self._whole.view._replace(inside=setting.inside)
        data = self._whole.source.blocks(view, self._n_threads)
        if setting.penalty is None:
            return self._with_mistakes(data, found, learn, journal)
        (theta,) = journal.memo("all rows", lambda: (self._likeliest(data, found, setting),))
        return found._replace(theta=theta)

    def _likeliest(self, data: Blocks, found: Found, setting: Setting) -> Floats:
        """The penalised likelihood of all rows, maximised; columns that the part lacks stay out."""
        rows, varied, theta = found
        start, d = self._full(varied, theta), data.n_features
        assert setting.penalty is not None
        loss = mixture.Loss(data, start.shape, setting.penalty, self._whole.total_weight)
        fixed = np.ones(start.shape, bool)
        fixed[:, [*varied, d]] = False
        at = np.append(fixed.ravel(), False)

        def of_varied(flat: Floats) -> tuple[float, Floats]:
            value, slope = loss(flat)
            return value, np.where(at, 0.0, slope)

        flat = mixture.maximise(of_varied, start, _STEPS)
        theta = loss.unpack(flat)[0][:, [*varied, d]]
        is_inside = (rows.y > 0) == (setting.inside == 1)
        return to_mean_size(rows, with_offset(theta, rows.h(theta), is_inside, rows.weight))

    def _with_mistakes(self, data: Blocks, found: Found, learn: Learn, journal: Journal) -> Found:
        """Learn again with rows that were on the wrong side; the fewest mistakes win."""
        best, fewest, numbers = found, np.inf, self._numbers
        for number in range(_ROUNDS + 1):
            planes = Planes.of(*_parts(self._full(found.varied, found.theta)))
            wrong = data.reduce(MistakesOf(planes, self._whole.source.starts))
            if wrong.n < fewest:
                best, fewest = found, wrong.n
            if wrong.n == 0 or wrong.n > _MOST_MISTAKES or number == _ROUNDS:
                break
            numbers = np.union1d(numbers, wrong.rows)
            rows, varied = rows_of(self._of(numbers))
            theta, _ = journal.memo(f"round {number}", partial(learn, rows))
            found = Found(rows, varied, theta)
        return best

    def _full(self, varied: NDArray[np.intp], theta: Floats) -> Floats:
        full = np.zeros((len(theta), self._whole.source.n_features + 1))
        full[:, [*varied, -1]] = theta
        return full


def _parts(theta: Floats) -> tuple[Floats, Floats]:
    return theta[:, :-1].copy(), theta[:, -1].copy()
