"""Which number of hyperplanes, strength and class inside: by rows held out of the training rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron._types import Floats
from polyceptron.calibration import Calibration, calibrate

LADDER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
"""Numbers of hyperplanes that are tried."""
STRENGTHS: tuple[tuple[float, float | None], ...] = (
    (0.0, None),
    (20.0, 1e-3),
    (20.0, None),
    (20.0, 1e-5),
    (20.0, 1e-4),
    (20.0, 1e-2),
    (20.0, 1e-1),
)
"""Margins of the online runs, and penalties of what refines them (None: nothing does).

The first two, for clean labels and for noisy ones, are those that the ladder is climbed with.
"""
PATIENCE = 2
"""Steps up the ladder without a gain before it is left."""


class Setting(NamedTuple):
    """What a fit depends on. ``inside`` is the place of the class inside among the classes."""

    inside: int
    n_hyperplanes: int
    margin: float
    penalty: float | None


@dataclass(frozen=True)
class Outcome:
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


@dataclass
class Selection:
    """Settings tried so far; each is tried once.

    Parameters
    ----------
    evaluate : callable
        From a setting to its `Outcome`.
    weight : ndarray
        Of the rows held out.
    """

    evaluate: Callable[[Setting], Outcome]
    weight: Floats
    outcomes: dict[Setting, Outcome] = field(default_factory=dict)

    def accuracy(self, setting: Setting) -> float:
        """Weighted share of the held-out rows that a setting gets right."""
        if setting not in self.outcomes:
            self.outcomes[setting] = self.evaluate(setting)
        return float(self.weight @ self.outcomes[setting].right / self.weight.sum())

    def best(self, settings: Iterable[Setting]) -> Setting:
        """The most accurate; of equals the first."""
        return max(settings, key=self.accuracy)

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
        more = self.outcomes[setting].surprise - self.outcomes[best].surprise
        total = float(self.weight.sum())
        mean = float(self.weight @ more) / total
        spread = float(np.sqrt((self.weight**2) @ (more - mean) ** 2)) / total
        return mean, spread

    def simplest(self, best: Setting) -> Setting:
        """Fewest hyperplanes within one standard error of the best; then the most accurate.

        Log-loss tells settings apart with fewer rows than accuracy does.
        """
        near = []
        for setting in self.outcomes:
            mean, spread = self.worse_than(best, setting)
            if setting.n_hyperplanes < best.n_hyperplanes and mean <= spread:
                near.append(setting)
        if not near:
            return best
        fewest = min(setting.n_hyperplanes for setting in near)
        return self.best(one for one in near if one.n_hyperplanes == fewest)

    def table(self, classes: Any, chosen: Setting) -> dict[str, list[Any]]:
        """What was tried, a column each; a pandas frame reads it."""
        settings = list(self.outcomes)
        return {
            "inside": [classes[one.inside] for one in settings],
            "n_hyperplanes": [one.n_hyperplanes for one in settings],
            "margin": [one.margin for one in settings],
            "penalty": [one.penalty for one in settings],
            "accuracy": [self.accuracy(one) for one in settings],
            "chosen": [one == chosen for one in settings],
        }


def search(
    selection: Selection,
    insides: list[int],
    numbers: list[int],
    strengths: list[tuple[float, float | None]],
) -> Setting:
    """Choose a setting: first the class inside and K, then the strength, then K once more."""
    # Clean labels and noisy ones ask for different numbers; for one number one strength will do.
    firsts = strengths[:2] if len(numbers) > 1 else strengths[1:2] or strengths
    starts = [Setting(inside, numbers[0], *first) for inside in insides for first in firsts]
    best = selection.best([selection.climb(start, numbers) for start in starts])
    best = selection.best(best._replace(margin=m, penalty=p) for m, p in strengths)
    turned = [best._replace(inside=inside) for inside in insides]
    best = selection.best([best, *turned])
    place = numbers.index(best.n_hyperplanes)
    up = selection.climb(best, numbers[place + 1 :])
    down = selection.climb(best, reversed(numbers[:place]))
    best = selection.best([best, up, down])
    if len(numbers) > 1:
        best = selection.simplest(best)
    return best
