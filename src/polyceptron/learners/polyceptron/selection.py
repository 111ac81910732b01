"""Which number of hyperplanes, strength and class inside: by rows held out of the training rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from polyceptron.calibration import Calibration, calibrate
from polyceptron.data.blocks import ArrayBlocks, map_in_order
from polyceptron.learners.polyceptron.hyperplanes import (
    LEAST_SAMPLES,
    Effort,
    Setting,
    Strength,
    centre_of,
    learn_hyperplanes,
    min_scores,
    n_mistakes,
    parting,
    refined,
)
from polyceptron.optim.checkpoint import A_COUNT, NO_JOURNAL, FitJournal, Form
from polyceptron.utils.types import Floats

S = TypeVar("S")
T = TypeVar("T")

LADDER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
"""Numbers of hyperplanes that are tried."""
NOISY: list[Strength] = [(20.0, penalty) for penalty in (1e-3, None, 1e-5, 1e-4, 1e-2, 1e-1)]
CLEAN = (0.0, None)
STRENGTHS: list[Strength] = [CLEAN, *NOISY]
"""Margins of the online runs, and penalties of what refines them (None: nothing does).

For noisy labels the ladder is climbed with the first of them.
"""
PARTING = (0.0, 1e-4)
"""That of hyperplanes that part all rows, where their number is given."""
HOPELESS = 0.1
"""Accuracy that clean labels do not cost, whatever the number of hyperplanes."""
CLEARLY = 2.0
"""Standard errors by which held-out rows overrule that a setting parts all rows."""
_NUMBERS_TO_PART = 3
"""Numbers of hyperplanes of which one has to part all rows before clean labels are thought of."""
PATIENCE = 2
"""Steps up the ladder without a gain before it is left."""

_ROWS_BEYOND_CHANCE = 10
"""Rows for each number learned: 2 is what a hyperplane parts by chance half of the time."""
_MISTAKES_BEYOND_CHANCE = 3
"""Mistakes of one hyperplane for each number of the others: few are mended by chance, too."""
_MISTAKES_TO_PART, _FEW_NUMBERS = 0.2, 16
"""The same where the number of hyperplanes is given, and the most numbers of the others there."""
ROWS_TO_SELECT = 4000
"""Most rows that the selection looks at."""
_LEAST_OF_A_CLASS = 0.05
"""Share of these that are of a rare class, if there are so many."""
_TRIAL = Effort(max_iter=250, n_steps=40, products=2e8, most_samples=40, hopeless=0.05)
_TRIAL_RUNS = 3
MANY_ROWS = 2000
"""Rows that are enough for fewer trials of each."""
_FOLDS, _FOLDS_OF_MANY = 5, 3
"""With fewer, training sets are so small that strong penalties look better than they are."""


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

    def turned(self) -> TrialOutcome:
        """The same with inside and outside exchanged."""
        return TrialOutcome(-self.h, ~self.is_inside, self.weight)

    @cached_property
    def share(self) -> float:
        """Weighted share of the rows that are on their side."""
        return float(self.weight @ self.right / self.weight.sum())

    @cached_property
    def calibration(self) -> Calibration:
        return calibrate(self.h, self.is_inside, self.weight)

    @cached_property
    def surprise(self) -> Floats:
        """Minus the logarithm of the probability that calibrated scores give to the label."""
        p = self.calibration.probability(self.h)
        return -np.log(np.where(self.is_inside, p, 1.0 - p))


class FoldTrials:
    """Judges settings by the same folds of the same rows, which are some of ``data``.

    ``seed`` chooses rows and folds; ``seeds`` and ``effort`` are those of the fit itself, and a
    trial takes no more than that. What the journal has of trials is not done again. ``report`` is
    told a setting and its accuracy. Folds are learned in threads.
    """

    def __init__(
        self,
        data: ArrayBlocks,
        seed: int,
        seeds: list[int],
        effort: Effort,
        journal: FitJournal = NO_JOURNAL,
        report: Callable[[Setting, float], None] = lambda *_: None,
        n_threads: int = 1,
    ) -> None:
        random = np.random.RandomState(seed)
        self._whole, self._seeds, self._effort = data, seeds, effort
        self.journal, self.report = journal, report
        self.data = stratified_rows(data, ROWS_TO_SELECT, random)
        self.weight = self.data.weights
        self._n_threads = n_threads
        self.folds = [
            (_alone(self.data.take(train)), _alone(self.data.take(test)), test)
            for train, test in _folds(self.data.y, random)
        ]
        own = [int(one) for one in random.randint(0, 2**31 - 1, size=_TRIAL_RUNS)]
        self._own_seeds = own[: len(seeds)]
        self._own_effort = _TRIAL._replace(max_iter=min(_TRIAL.max_iter, effort.max_iter))
        self._centres: dict[Setting, list[Floats]] = {}
        self._mistakes: dict[int, int] = {}

    def outcome(self, setting: Setting) -> TrialOutcome:
        """Scores of every row by hyperplanes that did not see it."""
        outcome = self._outcome(f"trial of {setting}", setting, self._held_out)
        self.report(setting, outcome.share)
        return outcome

    def _outcome(
        self, name: str, setting: Setting, held_out: Callable[[Setting], Floats]
    ) -> TrialOutcome:
        """What becomes of the rows of all folds, kept by this name."""
        form = Form(float, (self.data.n_samples,))
        (h,) = self.journal.memo(name, lambda: (held_out(setting),), form)
        return TrialOutcome(h, self.is_inside(setting.inside), self.weight)

    def is_inside(self, inside: int) -> NDArray[np.bool_]:
        return np.asarray((self.data.y > 0) == (inside == 1))

    def _held_out(self, setting: Setting) -> Floats:
        # Settings that differ only in penalty have the same centres.
        plain = setting._replace(penalty=None, sampled=False)
        if plain not in self._centres:
            self._centres[plain] = self.in_folds(
                lambda number: (
                    (
                        centre_of(self.folds[number][0], plain, self._own_seeds, self._own_effort)
                    ).theta
                )
            )

        def learned(number: int) -> Floats:
            start, how = self._centres[plain][number], (self._own_seeds[0], self._own_effort)
            return refined(self.folds[number][0], start, setting, *how)

        return self._scores_of(learned)

    def _scores_of(self, learned: Callable[[int], Floats]) -> Floats:
        """Scores of every row by the hyperplanes that are learned from the other folds."""
        return self.of_all(
            self.in_folds(lambda number: min_scores(self.folds[number][1], learned(number)))
        )

    def of_all(self, held_out: Iterable[Floats]) -> Floats:
        """Numbers of the rows that each fold holds out, in the order of all rows."""
        h = np.empty(self.data.n_samples)
        for (_, _, places), own in zip(self.folds, held_out, strict=True):
            h[places] = own
        return h

    def parting_outcome(self, setting: Setting) -> TrialOutcome:
        """Scores by hyperplanes that part the rows they saw, where runs find such."""

        def learned(number: int) -> Floats:
            how = self.folds[number][0], setting, self._own_seeds, self._own_effort
            return (parting(*how) or learn_hyperplanes(*how))[0]

        return self._outcome(f"parting by {setting}", setting, lambda _: self._scores_of(learned))

    def in_folds(self, work: Callable[[int], T]) -> list[T]:
        """The same for the number of each fold, in threads."""
        return self.in_threads(work, list(range(len(self.folds))))

    def in_threads(self, work: Callable[[S], T], tasks: list[S]) -> list[T]:
        return map_in_order(work, tasks, self._n_threads)

    def parts_all(self, setting: Setting) -> bool:
        """Whether one of a few runs parts all rows without a mistake."""

        def converged() -> tuple[NDArray[Any]]:
            centre = centre_of(self.data, setting, self._seeds[:_TRIAL_RUNS], self._effort)
            return (np.array(centre.n_converged),)

        (n_converged,) = self.journal.memo(f"a few runs of {setting}", converged, A_COUNT)
        return bool(n_converged)

    def separates(self, setting: Setting) -> bool:
        """Whether most runs part all rows without a mistake, and not by chance."""
        more = self._further_numbers(setting)
        if more and self._mistakes_of_one(setting.inside) < _MISTAKES_BEYOND_CHANCE * more:
            return False

        def converged() -> tuple[NDArray[Any]]:
            return (np.array(centre_of(self.data, setting, self._seeds, self._effort).n_converged),)

        (n_converged,) = self.journal.memo(f"runs of {setting}", converged, A_COUNT)
        return 2 * int(n_converged) > len(self._seeds)

    def may_part(self, setting: Setting) -> bool:
        """Whether the further hyperplanes have so few numbers that they mend little by chance."""
        return 0 < self._further_numbers(setting) <= _FEW_NUMBERS

    def needs_several(self, setting: Setting) -> bool:
        """Whether one hyperplane leaves mistakes enough to speak for the others."""
        mistakes = self._mistakes_of_one(setting.inside)
        return mistakes >= _MISTAKES_TO_PART * self._further_numbers(setting)

    def _further_numbers(self, setting: Setting) -> int:
        """Those of all hyperplanes but one."""
        return (setting.n_hyperplanes - 1) * (self.data.n_features + 1)

    def _mistakes_of_one(self, inside: int) -> int:
        """Those of a single hyperplane."""
        if inside not in self._mistakes:
            setting = Setting(inside, 1, *NOISY[0])
            theta, _ = learn_hyperplanes(self.data, setting, self._own_seeds, self._own_effort)
            self._mistakes[inside] = n_mistakes(self.data, theta, inside)
        return self._mistakes[inside]

    def pins(self, n_hyperplanes: int) -> bool:
        """Whether there are rows enough to pin so many hyperplanes down."""
        numbers = n_hyperplanes * (self.data.n_features + 1)
        return self.data.n_samples >= _ROWS_BEYOND_CHANCE * numbers

    def affords(self, n_hyperplanes: int) -> bool:
        """Whether there is time to sample so many hyperplanes."""
        in_trial = self._own_effort.n_samples(self.data, n_hyperplanes)
        in_fit = self._effort.n_samples(self._whole, n_hyperplanes)
        return min(in_trial, in_fit) >= LEAST_SAMPLES


def _alone(data: ArrayBlocks) -> ArrayBlocks:
    """The same rows without threads of their own: a fold is one of several at work."""
    data.n_threads = 1
    return data


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
    n_folds = _FOLDS if len(y) < MANY_ROWS else _FOLDS_OF_MANY
    folds = StratifiedKFold(min(n_folds, least), shuffle=True, random_state=random)
    return list(folds.split(y, y))


def mean_and_error(values: Floats, weight: Floats) -> tuple[float, float]:
    """The weighted mean, and its standard error."""
    total = float(weight.sum())
    mean = float(weight @ values) / total
    return mean, float(np.sqrt((weight**2) @ (values - mean) ** 2)) / total


@dataclass
class Selection:
    """Settings tried so far; each is tried once."""

    trials: FoldTrials
    outcomes: dict[Setting, TrialOutcome] = field(default_factory=dict)
    beside: list[tuple[Setting, TrialOutcome]] = field(default_factory=list)
    """Those that another one came out equal to."""

    @property
    def weight(self) -> Floats:
        return self.trials.weight

    def outcome(self, setting: Setting) -> TrialOutcome:
        if setting not in self.outcomes:
            self.outcomes[setting] = self.trials.outcome(setting)
        return self.outcomes[setting]

    def add(self, setting: Setting, outcome: TrialOutcome) -> None:
        """Take note of what was tried elsewhere."""
        self.outcomes[setting] = outcome
        self.trials.report(setting, outcome.share)

    def replace(self, tried: Setting, found: Setting, outcome: TrialOutcome) -> None:
        """Put what a setting came out as in its place; one that is equal to that is kept."""
        del self.outcomes[tried]
        if found in self.outcomes:
            self.beside.append((found, self.outcomes[found]))
        self.outcomes[found] = outcome

    def accuracy(self, setting: Setting) -> float:
        """Weighted share of the held-out rows that a setting gets right."""
        return self.outcome(setting).share

    def best(self, settings: Iterable[Setting]) -> Setting:
        """The most accurate; of equals the first."""
        return max(settings, key=self.accuracy)

    def likeliest(self, settings: Iterable[Setting]) -> Setting:
        """The one of least log-loss; of equals the first."""
        return min(settings, key=lambda one: float(self.weight @ self.outcome(one).surprise))

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
        more = self.outcome(setting).surprise - self.outcome(best).surprise
        return mean_and_error(more, self.weight)

    def less_accurate_than(self, best: Setting, setting: Setting) -> tuple[float, float]:
        """By how much the accuracy of a setting is less, and the standard error of that."""
        lost = self.outcome(best).right - self.outcome(setting).right
        return mean_and_error(lost, self.weight)

    def is_open(self, best: Setting, inside: int) -> bool:
        """Whether a setting with this class inside is about as accurate as the best."""
        rivals = [one for one in self.outcomes if one.inside == inside]
        if not rivals:
            return False
        lost, error = self.less_accurate_than(best, self.best(rivals))
        return lost <= CLEARLY * error

    def is_near(self, best: Setting, setting: Setting) -> bool:
        """Whether log-losses, which need fewer rows than accuracies, do not tell them apart."""
        more, error = self.worse_than(best, setting)
        return more <= error

    def is_better(self, setting: Setting, than: Setting) -> bool:
        """Whether a larger setting has less log-loss, and accuracy within a standard error.

        Of few rows, less by a standard error; of many, folds that are a third of the rows hold the
        larger one back already.
        """
        less, error = self.worse_than(setting, than)
        lost, spread = self.less_accurate_than(than, setting)
        return less > (0.0 if len(self.weight) >= MANY_ROWS else error) and lost <= spread

    def simplest(self, best: Setting, strengths: list[Strength]) -> Setting:
        """Fewest hyperplanes near the best; then the most accurate. Of these strengths only."""
        near = [
            one
            for one in self.outcomes
            if one.n_hyperplanes < best.n_hyperplanes and one.strength in strengths
            if self.is_near(best, one)
        ]
        return min(near, key=lambda one: (one.n_hyperplanes, -self.accuracy(one)), default=best)

    def table(self, classes: Any, chosen: Setting) -> dict[str, list[Any]]:
        """What was tried, a column each; a pandas frame reads it."""
        settings, outcomes = zip(*self.beside, *self.outcomes.items(), strict=True)
        columns = zip(Setting._fields, map(list, zip(*settings, strict=True)), strict=True)
        table: dict[str, list[Any]] = dict(columns)
        first = len(self.beside)
        return table | {
            "inside": [classes.tolist()[one.inside] for one in settings],
            "accuracy": [one.share for one in outcomes],
            "chosen": [i >= first and one == chosen for i, one in enumerate(settings)],
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
        clean = clean_settings(selection, best, insides, numbers)
        proven = first_proven(selection, best, clean)
        if proven is not None:
            return proven
    best = selection.best(best._replace(margin=m, penalty=p) for m, p in noisy)
    turned = [best._replace(inside=inside) for inside in insides]
    best = selection.best([best, *turned])
    place = numbers.index(best.n_hyperplanes)
    up = selection.climb(best, numbers[place + 1 :])
    down = selection.climb(best, reversed(numbers[:place]))
    best = selection.best([best, up, down])
    if len(numbers) > 1:
        best = selection.simplest(best, noisy)
    best = with_samples(selection, best, numbers, noisy, sampled)
    return better_clean(selection, best, clean)


def clean_settings(
    selection: Selection, best: Setting, insides: list[int], numbers: list[int]
) -> list[Setting]:
    """Settings for clean labels within one standard error of the best such, simplest first."""
    several = [number for number in numbers if selection.trials.pins(number)]
    if not several:
        return []
    near = min(several, key=lambda number: abs(number - best.n_hyperplanes))
    first, place = Setting(best.inside, near, *CLEAN), several.index(near)
    nearly = [number for number in several if number >= near][:_NUMBERS_TO_PART]
    parting = [
        inside
        for inside in insides
        if any(selection.trials.parts_all(Setting(inside, K, *CLEAN)) for K in nearly)
    ]
    if not parting or selection.accuracy(first) < selection.accuracy(best) - HOPELESS:
        return []
    for inside in parting:
        start = first._replace(inside=inside)
        selection.climb(start, several[place:])
        selection.climb(start, reversed(several[:place]))
    tried = [one for one in selection.outcomes if one.strength == CLEAN]
    top = selection.best(tried)
    fair = [one for one in tried if selection.is_near(top, one)]
    return sorted(fair, key=lambda one: (one.n_hyperplanes, -selection.accuracy(one)))


def first_proven(selection: Selection, best: Setting, clean: list[Setting]) -> Setting | None:
    """The first of these that parts all rows, if any does."""
    return next((one for one in clean if _is_proven(selection, best, one)), None)


def better_clean(selection: Selection, best: Setting, clean: list[Setting]) -> Setting:
    """The first of these if it is more accurate by a standard error, else the best as it is."""
    if not clean:
        return best
    gained, error = selection.less_accurate_than(clean[0], best)
    return clean[0] if gained > error else best


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


def with_samples(
    selection: Selection,
    best: Setting,
    numbers: list[int],
    strengths: list[Strength],
    sampled: bool | None,
) -> Setting:
    """The same, or the same sampled, and then with more hyperplanes as long as that is likelier.

    A mean of likely ones gives up little for a hyperplane that is not needed.
    """
    offers = [] if sampled is False else _sampled(best, strengths)

    def pays(K: int) -> bool:
        return sampled or (K > 1 and selection.trials.pins(K) and selection.trials.affords(K))

    if not offers or not pays(best.n_hyperplanes):
        return best
    mean = selection.likeliest(offers)
    for number in (number for number in numbers if number > best.n_hyperplanes):
        more = mean._replace(n_hyperplanes=number)
        if not pays(number) or selection.likeliest([mean, more]) == mean:
            break
        mean = more
    return mean if sampled or selection.is_near(best, mean) else best


def _sampled(best: Setting, strengths: list[Strength]) -> list[Setting]:
    """The same sampled, with up to two smaller penalties; with its own where there are too few.

    The likeliest hyperplanes need more of a penalty than the mean of likely ones.
    """
    there = [(penalty, margin) for margin, penalty in strengths if penalty is not None]
    most = there[0][0] if there and best.penalty is None else best.penalty
    smaller = sorted((one for one in there if one[0] <= (most or 0.0)), reverse=True)[:3][-2:]
    return [best._replace(margin=m, penalty=p, sampled=True) for p, m in smaller]
