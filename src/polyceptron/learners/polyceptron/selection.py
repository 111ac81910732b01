"""Which number of hyperplanes, strength and class inside: by rows held out of the training rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from polyceptron.calibration import Calibration, calibrate
from polyceptron.utils.types import Floats

LADDER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
"""Numbers of hyperplanes that are tried."""
Strength = tuple[float, float | None]
STRENGTHS: tuple[Strength, ...] = (
    (0.0, None),
    (20.0, 1e-3),
    (20.0, None),
    (20.0, 1e-5),
    (20.0, 1e-4),
    (20.0, 1e-2),
    (20.0, 1e-1),
)
"""Margins of the online runs, and penalties of what refines them (None: nothing does).

The first is for clean labels. With the second, for noisy ones, the ladder is climbed first.
"""
CLEAN = STRENGTHS[0]
HOPELESS = 0.1
"""Accuracy that clean labels do not cost, whatever the number of hyperplanes."""
CLEARLY = 2.0
"""Standard errors by which held-out rows overrule that a setting parts all rows."""
PATIENCE = 2
"""Steps up the ladder without a gain before it is left."""


class Setting(NamedTuple):
    """What a fit depends on. ``inside`` is the place of the class inside among the classes."""

    inside: int
    n_hyperplanes: int
    margin: float
    penalty: float | None
    sampled: bool = False
    """Whether the mean of likely hyperplanes is taken, not the likeliest."""

    @property
    def strength(self) -> Strength:
        return self.margin, self.penalty


@dataclass(frozen=True)
class TrialOutcome:
    """Signed scores of rows by models that did not see them."""

    h: Floats
    is_inside: NDArray[np.bool_]
    weight: Floats

    @cached_property
    def right(self) -> Floats:
        """1 where the row is on its side, else 0."""
        return np.where((self.h >= 0) == self.is_inside, 1.0, 0.0)

    @cached_property
    def calibration(self) -> Calibration:
        return calibrate(self.h, self.is_inside, self.weight)

    @cached_property
    def surprise(self) -> Floats:
        """Minus the logarithm of the probability that calibrated scores give to the label."""
        p = self.calibration.probability(self.h)
        return -np.log(np.where(self.is_inside, p, 1.0 - p))


class Trials(Protocol):
    """What judges settings: see `FoldTrials`."""

    weight: Floats
    """Of the rows held out."""

    def outcome(self, setting: Setting) -> TrialOutcome: ...
    def separates(self, setting: Setting) -> bool: ...
    def pins(self, n_hyperplanes: int) -> bool: ...
    def affords(self, n_hyperplanes: int) -> bool: ...


@dataclass
class Selection:
    """Settings tried so far; each is tried once."""

    trials: Trials
    outcomes: dict[Setting, TrialOutcome] = field(default_factory=dict)

    @property
    def weight(self) -> Floats:
        return self.trials.weight

    def accuracy(self, setting: Setting) -> float:
        """Weighted share of the held-out rows that a setting gets right."""
        if setting not in self.outcomes:
            self.outcomes[setting] = self.trials.outcome(setting)
        return float(self.weight @ self.outcomes[setting].right / self.weight.sum())

    def best(self, settings: Iterable[Setting]) -> Setting:
        """The most accurate; of equals the first."""
        return max(settings, key=self.accuracy)

    def likeliest(self, settings: Iterable[Setting]) -> Setting:
        """The one of least log-loss; of equals the first."""
        settings = list(settings)
        for setting in settings:
            self.accuracy(setting)  # which tries it
        return min(settings, key=lambda one: float(self.weight @ self.outcomes[one].surprise))

    def climb(self, start: Setting, numbers: Iterable[int]) -> Setting:
        """The best along these numbers of hyperplanes, until nothing is gained for a while."""
        best, since = start, 0
        for number in numbers:
            here = start._replace(n_hyperplanes=number)
            best, since = (here, 0) if self.accuracy(here) > self.accuracy(best) else (best, since)
            since += best != here  # the start itself is no step
            if since >= PATIENCE:
                break
        return best

    def worse_than(self, best: Setting, setting: Setting) -> tuple[float, float]:
        """By how much the log-loss of a setting is greater, and the standard error of that."""
        return self._mean(self.outcomes[setting].surprise - self.outcomes[best].surprise)

    def less_accurate_than(self, best: Setting, setting: Setting) -> tuple[float, float]:
        """By how much the accuracy of a setting is less, and the standard error of that."""
        return self._mean(self.outcomes[best].right - self.outcomes[setting].right)

    def _mean(self, values: Floats) -> tuple[float, float]:
        """The weighted mean, and its standard error."""
        total = float(self.weight.sum())
        mean = float(self.weight @ values) / total
        spread = float(np.sqrt((self.weight**2) @ (values - mean) ** 2)) / total
        return mean, spread

    def simplest(self, best: Setting, strengths: list[Strength]) -> Setting:
        """Fewest hyperplanes within one standard error of the best; then the most accurate.

        Of settings tried with these strengths.
        Log-loss tells settings apart with fewer rows than accuracy does.
        """
        near = []
        fewer = [one for one in self.outcomes if one.n_hyperplanes < best.n_hyperplanes]
        for setting in fewer:
            mean, spread = self.worse_than(best, setting)
            if setting.strength in strengths and mean <= spread:
                near.append(setting)
        if not near:
            return best
        fewest = min(setting.n_hyperplanes for setting in near)
        return self.best(one for one in near if one.n_hyperplanes == fewest)

    def table(self, classes: Any, chosen: Setting) -> dict[str, list[Any]]:
        """What was tried, a column each; a pandas frame reads it."""
        settings = list(self.outcomes)
        return {
            "inside": [classes.tolist()[one.inside] for one in settings],
            "n_hyperplanes": [one.n_hyperplanes for one in settings],
            "margin": [one.margin for one in settings],
            "penalty": [one.penalty for one in settings],
            "sampled": [one.sampled for one in settings],
            "accuracy": [self.accuracy(one) for one in settings],
            "chosen": [one == chosen for one in settings],
        }


def search(
    selection: Selection,
    insides: list[int],
    numbers: list[int],
    strengths: list[Strength],
    sampled: bool | None = None,
) -> Setting:
    """Choose a setting: the class inside and K, then the strength, then K once more.

    Sampled or not is chosen last, where ``sampled`` does not say it.
    """
    noisy = [strength for strength in strengths if strength != CLEAN] or strengths
    firsts = [Setting(inside, numbers[0], *noisy[0]) for inside in insides]
    best = selection.best([selection.climb(first, numbers) for first in firsts])
    clean = []
    if len(noisy) < len(strengths) and sampled is not True:
        clean = _clean(selection, best, insides, numbers)
        for setting in clean:
            if _is_proven(selection, best, setting):
                return setting
    best = selection.best(best._replace(margin=m, penalty=p) for m, p in noisy)
    turned = [best._replace(inside=inside) for inside in insides]
    best = selection.best([best, *turned])
    place = numbers.index(best.n_hyperplanes)
    up = selection.climb(best, numbers[place + 1 :])
    down = selection.climb(best, reversed(numbers[:place]))
    best = selection.best([best, up, down])
    if len(numbers) > 1:
        best = selection.simplest(best, noisy)
    best = _with_samples(selection, best, numbers, noisy, sampled)
    if clean:
        gained, error = selection.less_accurate_than(clean[0], best)
        return clean[0] if gained > error else best
    return best


def _clean(
    selection: Selection, best: Setting, insides: list[int], numbers: list[int]
) -> list[Setting]:
    """Settings for clean labels within one standard error of the best such, simplest first."""
    several = [number for number in numbers if selection.trials.pins(number)]
    if not several:
        return []
    near = min(several, key=lambda number: abs(number - best.n_hyperplanes))
    first = Setting(best.inside, near, *CLEAN)
    if selection.accuracy(first) < selection.accuracy(best) - HOPELESS:
        return []
    place = several.index(near)
    for inside in insides:
        start = first._replace(inside=inside)
        selection.climb(start, several[place:])
        selection.climb(start, reversed(several[:place]))
    tried = [one for one in selection.outcomes if one.strength == CLEAN]
    top = selection.best(tried)
    fair = []
    for setting in tried:
        more, error = selection.worse_than(top, setting)
        if more <= error:
            fair.append(setting)
    return sorted(fair, key=lambda one: (one.n_hyperplanes, -selection.accuracy(one)))


def _is_proven(selection: Selection, best: Setting, clean: Setting) -> bool:
    """Whether several hyperplanes part all rows, and held-out rows do not speak against it.

    Held-out rows tell settings apart slowly. That many more rows than numbers to learn are
    parted without one mistake says at once that labels are clean and the class a polyhedron.
    One hyperplane is found as well by likelihood.
    """
    if clean.n_hyperplanes == 1:
        return False
    lost, error = selection.less_accurate_than(best, clean)
    if lost > error:
        return False
    more, error = selection.worse_than(best, clean)
    # More hyperplanes than the best part many easy rows and a few wrong labels, too.
    grace = CLEARLY * error if clean.n_hyperplanes <= best.n_hyperplanes else 0.0
    return more <= grace and selection.trials.separates(clean)


def _with_samples(
    selection: Selection,
    best: Setting,
    numbers: list[int],
    strengths: list[Strength],
    sampled: bool | None,
) -> Setting:
    """The same, or the same sampled, and then with the next number if it is clearly better."""
    there = [(penalty, margin) for margin, penalty in strengths if penalty is not None]
    worth = sampled is not False and bool(there)
    if sampled is None:
        worth = worth and _pays(selection, best.n_hyperplanes)
    if not worth:
        return best
    offers = _sampled(best, there)
    best = selection.likeliest(offers if sampled else [*offers, best])
    further = numbers[numbers.index(best.n_hyperplanes) + 1 :][:1]
    if best.sampled and further and (sampled or _pays(selection, further[0])):
        more = best._replace(n_hyperplanes=further[0])
        selection.accuracy(more)  # which tries it
        gained, error = selection.worse_than(more, best)
        return more if gained > error else best
    return best


def _pays(selection: Selection, number: int) -> bool:
    """Whether sampling so many hyperplanes is worth trying."""
    return number > 1 and selection.trials.pins(number) and selection.trials.affords(number)


def _sampled(best: Setting, there: list[tuple[float, float]]) -> list[Setting]:
    """The same sampled, with its penalty and the next smaller ones that there are.

    The likeliest hyperplanes need more of a penalty than the mean of likely ones.
    """
    most = there[0][0] if best.penalty is None else best.penalty
    smaller = sorted((one for one in there if one[0] <= most), reverse=True)[:3]
    return [best._replace(margin=m, penalty=p, sampled=True) for p, m in smaller]
