"""More rows than are learned from at once: a sample to begin with, then all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron import kernels
from polyceptron.data.blocks import ArrayBlocks, Block
from polyceptron.data.training import TrainingData
from polyceptron.learners.polyceptron import mixture
from polyceptron.learners.polyceptron.hyperplanes import Setting, varied, with_offset
from polyceptron.optim.checkpoint import A_COUNT, FitJournal, Form
from polyceptron.optim.planes import Planes
from polyceptron.utils.types import Floats

_VALUES = 2**24
"""Values of rows that are learned from at once."""
_STEPS = 30
"""Most steps of L-BFGS over all rows: they begin near the optimum."""
_ROUNDS = 5
"""How often rows on the wrong side are added to a sample."""
_MOST_MISTAKES = 100_000
"""Rows that are added at once; with more of them, labels are not clean."""
_SEED = 7

Learn = Callable[[ArrayBlocks], tuple[NDArray[Any], ...]]
"""From rows to hyperplanes, and passes over them."""


class Sample(NamedTuple):
    """Rows in memory: those of these numbers, or all where there are none.

    ``data`` has only columns that vary, of which ``columns`` has the places.
    """

    data: ArrayBlocks
    columns: NDArray[np.intp]
    numbers: NDArray[np.int64] | None

    @classmethod
    def of(cls, training: TrainingData) -> Sample:
        """All rows if they are few, else one of each of so many stretches of equal length."""
        source = training.source
        n, most = source.n_samples, max(1, _VALUES * source.n_samples // max(source.n_values, 1))
        if n <= most:
            whole = training.data
            data = whole if isinstance(whole, ArrayBlocks) else training.take(np.arange(n))
            return cls(*varied(data), None)
        within = np.random.default_rng(_SEED).random(most)  # nothing as long as the rows
        return cls.taken(training, ((np.arange(most) + within) * (n / most)).astype(np.int64))

    @classmethod
    def taken(cls, training: TrainingData, numbers: NDArray[np.int64]) -> Sample:
        """The rows of these numbers."""
        return cls(*varied(training.take(numbers)), numbers)

    def of_columns(self, columns: NDArray[np.intp]) -> Sample:
        """The same rows of these columns of ``data``."""
        X = self.data.matrix[:, columns]
        data = self.data.like(X, self.data.y, self.data.weight)
        return self._replace(data=data, columns=self.columns[columns])

    def in_all_columns(self, theta: Floats, n_features: int) -> Floats:
        """Hyperplanes [w_k, b_k] with zeros for the columns that the sample lacks."""
        full = np.zeros((len(theta), n_features + 1))
        full[:, [*self.columns, -1]] = theta
        return full


def refined_by_all(
    training: TrainingData,
    sample: Sample,
    theta: Floats,
    setting: Setting,
    learn: Learn,
    journal: FitJournal,
) -> tuple[Sample, Floats]:
    """What all rows make of hyperplanes that a sample gave, and the sample they rest on."""
    if sample.numbers is None:
        return sample, theta
    if setting.penalty is None:
        return _with_mistakes(training, sample, theta, setting, learn, journal)
    form = Form(float, theta.shape)
    (theta,) = journal.memo(
        "all rows", lambda: (_likeliest(training, sample, theta, setting),), form
    )
    return sample, theta


def _likeliest(training: TrainingData, sample: Sample, theta: Floats, setting: Setting) -> Floats:
    """The penalised likelihood of all rows, maximised; columns that the sample lacks stay out."""
    data = training.with_inside(setting.inside).data
    start, free = sample.in_all_columns(theta, data.n_features), [*sample.columns, data.n_features]
    fixed = np.ones(data.n_features + 1, bool)
    fixed[free] = False
    loss = mixture.Loss(
        data, (len(start),), setting.penalty or 0.0, training.total_weight, fixed=fixed
    )
    flat = mixture.maximise(loss, start, _STEPS)
    return with_offset(sample.data, loss.unpack(flat)[0][:, free], setting.inside)


def _with_mistakes(
    training: TrainingData,
    sample: Sample,
    theta: Floats,
    setting: Setting,
    learn: Learn,
    journal: FitJournal,
) -> tuple[Sample, Floats]:
    """Learn again with rows that were on the wrong side; the fewest mistakes win."""
    data, starts = training.with_inside(setting.inside).data, training.source.starts
    best, fewest = (sample, theta), np.inf
    for number in range(_ROUNDS + 1):
        planes = Planes.of_rows(sample.in_all_columns(theta, data.n_features))
        wrong = data.reduce(partial(_mistakes_of, planes, starts))
        if wrong.n < fewest:
            best, fewest = (sample, theta), wrong.n
        if wrong.n == 0 or wrong.n > _MOST_MISTAKES or number == _ROUNDS:
            break
        assert sample.numbers is not None
        sample = Sample.taken(training, np.union1d(sample.numbers, wrong.rows))
        form = Form(float, (None, sample.data.n_features + 1))
        theta, _ = journal.memo(f"round {number}", partial(learn, sample.data), form, A_COUNT)
    return best


@dataclass(frozen=True, slots=True)
class Mistakes:
    """The numbers of rows on the wrong side, up to a limit, and how many there are."""

    rows: NDArray[np.int64]
    n: int

    def __add__(self, other: Mistakes) -> Mistakes:
        rows = np.concatenate([self.rows, other.rows])[:_MOST_MISTAKES]
        return Mistakes(rows, self.n + other.n)


def _mistakes_of(planes: Planes, starts: NDArray[np.int64], block: Block) -> Mistakes:
    h = np.empty(block.n_samples)
    kernels.decide(block.X, planes.panel, planes.bias, h)
    wrong = np.flatnonzero((h >= 0) != (block.y > 0))
    rows = wrong[:_MOST_MISTAKES] + starts[block.number]
    return Mistakes(rows.astype(np.int64), len(wrong))
