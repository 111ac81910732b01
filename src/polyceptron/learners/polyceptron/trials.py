"""How settings are judged: by a few folds of some of the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from polyceptron.data.blocks import ArrayBlocks
from polyceptron.learners.polyceptron.hyperplanes import (
    LEAST_SAMPLES,
    Effort,
    centre_of,
    learn_hyperplanes,
    min_scores,
    refined,
)
from polyceptron.learners.polyceptron.selection import STRENGTHS, Setting, TrialOutcome
from polyceptron.optim.checkpoint import NO_JOURNAL, FitJournal
from polyceptron.utils.types import Floats

_ROWS_BEYOND_CHANCE = 10
"""Rows for each number learned: 2 is what a hyperplane parts by chance half of the time."""
_MISTAKES_BEYOND_CHANCE = 3
"""Mistakes of one hyperplane for each number of the others: few are mended by chance, too."""
_ROWS_TO_SELECT = 4000
"""Most rows that the selection looks at."""
_LEAST_OF_A_CLASS = 0.05
"""Share of these that are of a rare class, if there are so many."""
_TRIAL = Effort(max_iter=250, n_steps=40, products=2e8, most_samples=40)
_TRIAL_RUNS = 3
_FOLDS = 5
"""With fewer, training sets are so small that strong penalties look better than they are."""


class Fold(NamedTuple):
    """Rows to learn from, and rows held out with their places."""

    train: ArrayBlocks
    test: ArrayBlocks
    places: NDArray[np.intp]


class FoldTrials:
    """Judges settings by the same folds of the same rows, which are some of ``data``.

    ``seed`` chooses rows and folds; ``seeds`` and ``effort`` are those of the fit itself, and a
    trial takes no more than that. What the journal has of trials is not done again. ``report`` is
    told a setting and its accuracy.
    """

    def __init__(
        self,
        data: ArrayBlocks,
        seed: int,
        seeds: list[int],
        effort: Effort,
        journal: FitJournal = NO_JOURNAL,
        report: Callable[[Setting, float], None] = lambda *_: None,
    ) -> None:
        random = np.random.RandomState(seed)
        self._whole, self._seeds, self._effort = data, seeds, effort
        self._journal, self._report = journal, report
        self._data = stratified_rows(data, _ROWS_TO_SELECT, random)
        self._folds = [
            Fold(self._data.take(train), self._data.take(test), test)
            for train, test in _folds(self._data.y, random)
        ]
        own = [int(one) for one in random.randint(0, 2**31 - 1, size=_TRIAL_RUNS)]
        self._own_seeds = own[: len(seeds)]
        self._own_effort = _TRIAL._replace(max_iter=min(_TRIAL.max_iter, effort.max_iter))
        self._centres: dict[Setting, list[Floats]] = {}
        self._mistakes: dict[int, int] = {}
        self.weight = self._data.weights

    def outcome(self, setting: Setting) -> TrialOutcome:
        """Scores of every row by hyperplanes that did not see it."""
        (h,) = self._journal.memo(f"trial of {setting}", lambda: (self._held_out(setting),))
        outcome = TrialOutcome(h, self._is_inside(setting.inside), self.weight)
        self._report(setting, float(self.weight @ outcome.right / self.weight.sum()))
        return outcome

    def _is_inside(self, inside: int) -> NDArray[np.bool_]:
        return np.asarray((self._data.y > 0) == (inside == 1))

    def _held_out(self, setting: Setting) -> Floats:
        h = np.empty(self._data.n_samples)
        for fold, start in zip(self._folds, self._starts(setting), strict=True):
            theta = refined(fold.train, start, setting, self._own_seeds[0], self._own_effort)
            h[fold.places] = min_scores(fold.test, theta)
        return h

    def _starts(self, setting: Setting) -> list[Floats]:
        """The centre of each fold: settings that differ only in penalty have the same."""
        plain = setting._replace(penalty=None, sampled=False)
        if plain not in self._centres:
            self._centres[plain] = [
                centre_of(fold.train, plain, self._own_seeds, self._own_effort).theta
                for fold in self._folds
            ]
        return self._centres[plain]

    def separates(self, setting: Setting) -> bool:
        """Whether most runs part all rows without a mistake, and not by chance."""
        more = (setting.n_hyperplanes - 1) * (self._data.n_features + 1)
        if more and self._mistakes_of_one(setting.inside) < _MISTAKES_BEYOND_CHANCE * more:
            return False
        (n_converged,) = self._journal.memo(f"runs of {setting}", lambda: self._converged(setting))
        return 2 * int(n_converged) > len(self._seeds)

    def _converged(self, setting: Setting) -> tuple[NDArray[Any]]:
        return (np.array(centre_of(self._data, setting, self._seeds, self._effort).n_converged),)

    def _mistakes_of_one(self, inside: int) -> int:
        """Those of a single hyperplane."""
        if inside not in self._mistakes:
            setting = Setting(inside, 1, *STRENGTHS[1])
            theta, _ = learn_hyperplanes(self._data, setting, self._own_seeds, self._own_effort)
            wrong = (min_scores(self._data, theta) >= 0) != self._is_inside(inside)
            self._mistakes[inside] = int(wrong.sum())
        return self._mistakes[inside]

    def pins(self, n_hyperplanes: int) -> bool:
        """Whether there are rows enough to pin so many hyperplanes down."""
        numbers = n_hyperplanes * (self._data.n_features + 1)
        return self._data.n_samples >= _ROWS_BEYOND_CHANCE * numbers

    def affords(self, n_hyperplanes: int) -> bool:
        """Whether there is time to sample so many hyperplanes."""
        in_trial = self._own_effort.n_samples(self._data, n_hyperplanes)
        in_fit = self._effort.n_samples(self._whole, n_hyperplanes)
        return min(in_trial, in_fit) >= LEAST_SAMPLES


def stratified_rows(data: ArrayBlocks, n: int, random: np.random.RandomState) -> ArrayBlocks:
    """About n rows, as many of each class as its share; more of a rare class, each for less."""
    if data.n_samples <= n:
        return data
    places, factor = [], np.ones(data.n_samples)
    for sign in (-1, 1):
        here = np.flatnonzero(data.y == sign)
        share = n * len(here) / data.n_samples
        taken = min(len(here), max(round(_LEAST_OF_A_CLASS * n), round(share), 1))
        if taken > round(share):
            factor[here] = share / taken
        places.append(random.permutation(here)[:taken])
    some = data.like(None, data.y, data.weights * factor).take(np.sort(np.concatenate(places)))
    return some.like(None, some.y, some.weight / some.weight.mean())


def _folds(y: NDArray[np.int8], random: np.random.RandomState) -> list[tuple[Any, Any]]:
    least = int(min((y > 0).sum(), (y < 0).sum()))
    if least < 2:  # a class of one row cannot be on both sides
        return [(np.arange(len(y)), np.arange(len(y)))]
    folds = StratifiedKFold(min(_FOLDS, least), shuffle=True, random_state=random)
    return list(folds.split(y, y))
