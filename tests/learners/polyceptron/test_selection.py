"""How Polyceptron chooses: by rows held out, each setting once, the simplest of equals."""

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pytest

from common import array_blocks, square
from polyceptron import Polyceptron
from polyceptron.datasets import make_dataset1
from polyceptron.learners.polyceptron import selection as module
from polyceptron.learners.polyceptron.hyperplanes import FIT, LEAST_SAMPLES, Centre, Effort
from polyceptron.learners.polyceptron.mixture import MOST_LEAPS
from polyceptron.learners.polyceptron.selection import (
    CLEAN,
    CLEARLY,
    LADDER,
    PARTING,
    PATIENCE,
    STRENGTHS,
    FoldTrials,
    Selection,
    Setting,
    TrialOutcome,
    _is_proven,
    _sampled,
    clean_settings,
    search,
    with_samples,
)

N = 1000


def outcome(accuracy, n=N, size=1.0):
    """Rows of which so many, in the order of their places, are on their side."""
    right = np.arange(n) < round(accuracy * n)
    is_inside = np.arange(n) % 2 == 0
    return TrialOutcome(np.where(right == is_inside, size, -size), is_inside, np.ones(n))


def changed(lost, gained, accuracy=0.95):
    """So many rows of that accuracy lost, and so many others gained."""
    found = outcome(accuracy)
    found.h[:lost] *= -1
    found.h[N - gained :] *= -1
    return found


def yes(_):
    return True


def no(_):
    return False


@dataclass
class Recorder:
    """Trials whose accuracies, or outcomes, are given, and what was asked of them."""

    accuracy: object
    separates: object = no
    parts_all: object = yes
    pins: object = yes
    affords: object = yes
    asked: list = field(default_factory=list)

    weight: object = field(default_factory=lambda: np.ones(N))

    def outcome(self, setting):
        self.asked.append(setting)
        found = self.accuracy(setting)
        if isinstance(found, TrialOutcome):
            return found
        return replace(outcome(found), weight=self.weight)

    def selection(self):
        return Selection(self)


START = Setting(1, 1, 0.0, None)


class TestClimb:
    def climbed(self, accuracies, numbers=None):
        recorder = Recorder(lambda one: accuracies[one.n_hyperplanes])
        numbers = list(accuracies) if numbers is None else numbers
        best = recorder.selection().climb(START._replace(n_hyperplanes=numbers[0]), numbers)
        return best.n_hyperplanes, [one.n_hyperplanes for one in recorder.asked]

    def test_leaves_after_its_patience(self):
        rows = {1: 0.5, 2: 0.9, 3: 0.8, 4: 0.8, 5: 0.99}
        assert PATIENCE == 2
        assert self.climbed(rows) == (2, [1, 2, 3, 4])

    def test_to_the_top(self):
        assert self.climbed({1: 0.5, 2: 0.6, 3: 0.7}) == (3, [1, 2, 3])
        assert Recorder(lambda _: 0.5).selection().climb(START, []) == START

    def test_goes_on_where_one_step_gains_nothing(self):
        assert self.climbed({1: 0.5, 2: 0.6, 3: 0.6, 4: 0.8, 5: 0.7, 6: 0.7})[0] == 4

    def test_the_start_is_no_step(self):
        """Patience counts from the first number after it."""
        rows = {1: 0.5, 2: 0.5, 3: 0.9, 4: 0.8, 5: 0.8, 6: 1.0}
        assert self.climbed(rows) == (3, [1, 2, 3, 4, 5])

    def test_down(self):
        found = self.climbed({1: 0.9, 2: 0.8, 3: 0.7, 4: 0.6}, [4, 3, 2, 1])
        assert found == (1, [4, 3, 2, 1])


class TestSelection:
    def test_each_setting_is_tried_once(self):
        recorder = Recorder(lambda one: 0.5 + 0.01 * one.n_hyperplanes)
        selection = recorder.selection()
        search(selection, [0, 1], list(LADDER), list(STRENGTHS))
        assert len(recorder.asked) == len(set(recorder.asked)) == len(selection.outcomes)
        for setting in recorder.asked:
            selection.accuracy(setting)
        assert len(recorder.asked) == len(selection.outcomes)

    def test_accuracy_is_weighted(self):
        weight = np.r_[np.full(500, 3.0), np.ones(500)]
        selection = Recorder(lambda _: 0.5, weight=weight).selection()
        assert selection.accuracy(START) == 0.75

    def test_best_of_equals_is_the_first(self):
        selection = Recorder(lambda _: 0.8).selection()
        settings = [START._replace(n_hyperplanes=number) for number in (3, 1, 2)]
        assert selection.best(settings) == settings[0]

    def test_worse_is_the_mean_difference_of_log_losses_or_mistakes_and_its_error(self):
        rng = np.random.default_rng(0)
        weight = rng.random(N) + 0.5
        is_inside = rng.random(N) < 0.5
        outcomes = {
            START._replace(n_hyperplanes=K): TrialOutcome(
                np.where(is_inside, K, -K) + 3 * rng.standard_normal(N), is_inside, weight
            )
            for K in (1, 2)
        }
        selection = Selection(Recorder(outcomes.__getitem__, weight=weight), dict(outcomes))
        one, two = outcomes
        mean, spread = selection.worse_than(two, one)
        losses = []
        for this in (one, two):
            p = outcomes[this].calibration.probability(outcomes[this].h)
            losses.append(-np.log(np.where(is_inside, p, 1 - p)))
        more = losses[0] - losses[1]
        assert mean == pytest.approx(np.average(more, weights=weight))
        assert mean > 0
        again = rng.integers(0, N, (2000, N))  # the bootstrap knows no formula
        means = (weight[again] * more[again]).sum(1) / weight[again].sum(1)
        assert spread == pytest.approx(means.std(), rel=0.1)
        assert selection.worse_than(two, two) == (0.0, 0.0)
        less = outcomes[two].right - outcomes[one].right
        mean, spread = selection.less_accurate_than(two, one)
        assert mean == pytest.approx(np.average(less, weights=weight))
        assert mean > 0
        means = (weight[again] * less[again]).sum(1) / weight[again].sum(1)
        assert spread == pytest.approx(means.std(), rel=0.1)
        assert selection.less_accurate_than(two, two) == (0.0, 0.0)

    @pytest.mark.parametrize(("lost", "expected"), [(8, 2), (15, 3)])
    def test_the_simplest_within_one_standard_error(self, lost, expected):
        """5 rows gained and 8 lost are 3 +- 3.6, 15 lost are 10 +- 4.5."""
        settings = [START._replace(n_hyperplanes=number) for number in (1, 2, 3)]

        def evaluate(setting):
            return {1: 0.80, 2: changed(lost, 5), 3: 0.95}[setting.n_hyperplanes]

        selection = Recorder(evaluate).selection()
        assert selection.best(settings) == settings[2]
        assert selection.simplest(settings[2], [CLEAN]).n_hyperplanes == expected
        assert selection.simplest(settings[0], [CLEAN]) == settings[0]

    def test_the_simplest_ignores_strengths_that_are_not_given(self):
        """A clean setting that has been refused is not let in again."""
        selection = Recorder(lambda _: 0.95).selection()
        best, clean, noisy = (
            Setting(1, 4, 20.0, 1e-3),
            Setting(1, 2, *CLEAN),
            Setting(1, 3, 20.0, None),
        )
        selection.best([best, clean, noisy])
        assert selection.simplest(best, [best.strength]) == best
        assert selection.simplest(best, [best.strength, noisy.strength]) == noisy
        assert selection.simplest(best, [best.strength, CLEAN]) == clean
        assert selection.simplest(best, []) == best

    def test_the_likeliest_has_the_least_log_loss(self):
        """Mistakes near the boundary cost less than those far from it, and count alike."""
        sizes = {1: 1.0, 2: 0.05, 3: 1.0}

        def evaluate(setting):
            found = outcome(0.9)
            found.h[-N // 10 :] *= sizes[setting.n_hyperplanes]
            return found

        recorder = Recorder(evaluate)
        selection = recorder.selection()
        settings = [START._replace(n_hyperplanes=number) for number in (1, 2, 3)]
        assert selection.likeliest(iter(settings)) == settings[1]
        assert selection.likeliest([settings[2], settings[0]]) == settings[2]  # of equals the first
        assert recorder.asked == settings

    def test_the_most_accurate_of_the_simplest(self, monkeypatch):
        accuracies = {0.0: 0.949, 20.0: 0.950}
        selection = Recorder(
            lambda one: 0.951 if one.n_hyperplanes == 3 else accuracies[one.margin]
        ).selection()
        near = [Setting(1, 2, margin, None) for margin in accuracies]
        best = selection.best([*near, Setting(1, 3, 0.0, None)])
        assert best.n_hyperplanes == 3
        monkeypatch.setattr(selection, "worse_than", lambda *_: (0.0, 0.0))
        assert selection.simplest(best, [one.strength for one in near]) == near[1]

    def test_table(self):
        selection = Recorder(lambda one: 0.5 + 0.1 * one.n_hyperplanes).selection()
        settings = [Setting(0, 2, 20.0, 1e-3, True), Setting(1, 1, 0.0, None)]
        best = selection.best(settings)
        table = pd.DataFrame(selection.table(np.array(["no", "yes"]), best))
        assert table["inside"].tolist() == ["no", "yes"]
        assert table["n_hyperplanes"].tolist() == [2, 1]
        assert table["margin"].tolist() == [20.0, 0.0]
        assert table["penalty"].tolist()[0] == 1e-3
        assert table["sampled"].tolist() == [True, False]
        assert table["accuracy"].tolist() == pytest.approx([0.7, 0.6])
        assert table["chosen"].tolist() == [True, False]

    def test_a_setting_that_came_out_equal_to_another_leaves_its_row(self):
        selection = Recorder(lambda one: 0.5 + 0.1 * one.n_hyperplanes).selection()
        tried, other = Setting(0, 3, None, 1e-3), Setting(1, 2, 0.0, None)
        selection.best([tried, other])
        selection.replace(tried, other, selection.outcome(tried))
        table = selection.table(np.array(["no", "yes"]), other)
        assert table["inside"] == ["yes", "yes"]
        assert table["accuracy"] == pytest.approx([0.7, 0.8])
        assert table["chosen"] == [False, True]


def test_one_lucky_start_is_not_followed_blindly():
    """The class inside and the strength are chosen among the tops of all climbs."""
    tops = {(0, 0.0): 2, (0, 20.0): 3, (1, 0.0): 4, (1, 20.0): 5}

    def accuracy(one):
        top = tops[one.inside, one.margin]
        return 0.9 + 0.01 * top - 0.05 * abs(one.n_hyperplanes - top)

    found = search(Recorder(accuracy).selection(), [0, 1], list(LADDER), list(STRENGTHS))
    assert (found.inside, found.margin, found.n_hyperplanes) == (1, 20.0, 5)


# --- clean labels --------------------------------------------------------------------------


BEST = Setting(1, 3, 20.0, 1e-3)
SAMPLED = BEST._replace(penalty=1e-4, sampled=True)


def never(_):
    raise AssertionError("asked in vain")


class TestClean:
    """The settings for clean labels that are worth a proof; none is asked for here."""

    def clean(self, evaluate=lambda _: 0.95, insides=(1,), numbers=(1, 2, 3, 4, 5), **given):
        """What is found, and what was tried with the strength of clean labels."""
        recorder = Recorder(evaluate, separates=never, **given)
        selection = recorder.selection()
        selection.accuracy(BEST)
        found = clean_settings(selection, BEST, list(insides), list(numbers))
        assert {one.strength for one in found} <= {CLEAN}
        return found, [one for one in recorder.asked if one.strength == CLEAN]

    def test_the_simplest_first(self):
        found, tried = self.clean()
        assert tried[0].n_hyperplanes == BEST.n_hyperplanes  # and from there both ways
        assert {one.n_hyperplanes for one in tried} == {1, 2, 3, 4, 5}
        assert found == sorted(tried, key=lambda one: one.n_hyperplanes)

    @pytest.mark.parametrize(("lost", "expected"), [(8, [2, 3]), (15, [3])])
    def test_within_one_standard_error_of_the_best_such(self, lost, expected):
        """5 rows gained and 8 lost are 3 +- 3.6, 15 lost are 10 +- 4.5."""
        clean = {1: 0.80, 2: changed(lost, 5), 3: 0.95, 4: 0.90, 5: 0.90}
        found, tried = self.clean(
            lambda one: clean[one.n_hyperplanes] if one.strength == CLEAN else 0.99
        )
        assert {one.n_hyperplanes for one in tried} == set(clean)
        assert [one.n_hyperplanes for one in found] == expected

    def test_of_either_class_the_more_accurate_first(self, monkeypatch):
        monkeypatch.setattr(Selection, "worse_than", lambda *_: (0.0, 0.0))
        found, tried = self.clean(lambda one: 0.94 + 0.01 * one.inside, insides=[0, 1])
        assert {one.inside for one in tried} == {0, 1}
        assert found == sorted(tried, key=lambda one: (one.n_hyperplanes, -one.inside))
        assert {one.inside for one in self.clean()[1]} == {1}

    def test_none_where_rows_are_too_few_to_pin_them_down(self):
        assert self.clean(pins=no) == ([], [])
        found, tried = self.clean(pins=lambda K: K < 3)
        assert {one.n_hyperplanes for one in tried} == {1, 2}
        assert [one.n_hyperplanes for one in found] == [1, 2]

    def test_none_where_hopeless(self):
        """The number next to the best says so: no other is tried."""
        found, tried = self.clean(lambda one: 0.84 if one.strength == CLEAN else 0.95)
        assert (found, tried) == ([], [BEST._replace(margin=0.0, penalty=None)])
        found, _ = self.clean(lambda one: 0.86 if one.strength == CLEAN else 0.95)
        assert found


class TestProven:
    def is_proven(self, evaluate=lambda _: 0.95, K=3, separates=yes):
        selection = Recorder(evaluate, separates=separates).selection()
        clean = Setting(1, K, *CLEAN)
        selection.best([BEST, clean])
        return _is_proven(selection, BEST, clean)

    @pytest.mark.parametrize("K", [2, 3, 4, 5])
    def test_where_all_rows_are_parted(self, K):
        assert self.is_proven(K=K)
        assert not self.is_proven(K=K, separates=no)

    def test_one_hyperplane_is_left_to_likelihood(self):
        assert not self.is_proven(K=1, separates=never)
        assert not self.is_proven(lambda one: 0.9 + 0.05 * (one.strength == CLEAN), K=1)

    @pytest.mark.parametrize(("lost", "proven"), [(8, True), (15, False)])
    def test_not_where_less_accurate_by_over_a_standard_error(self, lost, proven, monkeypatch):
        """5 rows gained and 8 lost are 3 +- 3.6, 15 lost are 10 +- 4.5; log-loss has no say."""
        monkeypatch.setattr(Selection, "worse_than", lambda *_: (0.0, 0.0))
        found = self.is_proven(
            lambda one: changed(lost, 5) if one.strength == CLEAN else 0.95,
            separates=yes if proven else never,
        )
        assert found == proven

    @pytest.mark.parametrize(("errors", "proven"), [(0.9, True), (1.1, False)])
    def test_near_is_twice_the_standard_error_of_log_loss(self, errors, proven, monkeypatch):
        monkeypatch.setattr(Selection, "worse_than", lambda *_: (errors * CLEARLY, 1.0))
        assert self.is_proven(separates=yes if proven else never) == proven

    def test_not_where_as_accurate_but_sure_of_what_is_wrong(self):
        """The best is unsure of its mistakes: the same accuracy, and far less log-loss."""

        def evaluate(setting):
            found = outcome(0.95)
            if setting == BEST:
                found.h[-N // 20 :] *= 0.01
            return found

        assert not self.is_proven(evaluate)

    @pytest.mark.parametrize(("more", "proven"), [(1.0, False), (0.0, True), (-1.0, True)])
    def test_more_hyperplanes_than_the_best_get_no_grace(self, more, proven, monkeypatch):
        monkeypatch.setattr(Selection, "worse_than", lambda *_: (more, 1.0))
        assert self.is_proven(K=BEST.n_hyperplanes + 1) == proven
        assert self.is_proven(K=BEST.n_hyperplanes)
        assert self.is_proven(K=BEST.n_hyperplanes - 1)


class TestSearch:
    NUMBERS = (1, 2, 3, 4)

    def test_clean_labels_end_it(self):
        recorder = Recorder(lambda one: 0.8 + 0.05 * (one.n_hyperplanes >= 3), separates=yes)
        found = search(recorder.selection(), [0, 1], list(self.NUMBERS), list(STRENGTHS))
        assert found == Setting(0, 3, *CLEAN)
        assert {one.strength for one in recorder.asked} == {CLEAN, STRENGTHS[1]}
        assert not any(one.sampled for one in recorder.asked)

    @pytest.mark.parametrize("least", [2, 3])
    def test_the_simplest_that_parts_all_rows(self, least):
        recorder = Recorder(lambda _: 0.95, separates=lambda one: one.n_hyperplanes >= least)
        found = search(recorder.selection(), [1], list(self.NUMBERS), list(STRENGTHS))
        assert found == Setting(1, least, *CLEAN)

    def test_either_class_may_part_all_rows(self):
        def separates(one):
            return (one.inside, one.n_hyperplanes) in [(0, 2), (1, 3)]

        for insides, expected in (([0, 1], (0, 2)), ([1], (1, 3))):
            recorder = Recorder(lambda _: 0.95, separates=separates)
            found = search(recorder.selection(), insides, list(self.NUMBERS), list(STRENGTHS))
            assert found == Setting(*expected, *CLEAN)

    @pytest.mark.parametrize(("gained", "clean"), [(8, False), (15, True)])
    def test_clean_without_a_proof_where_more_accurate_by_over_a_standard_error(
        self, gained, clean
    ):
        """8 rows gained and 5 lost are 3 +- 3.6, 15 gained are 10 +- 4.5."""
        recorder = Recorder(lambda one: changed(5, gained) if one.strength == CLEAN else 0.95)
        found = search(recorder.selection(), [1], list(self.NUMBERS), list(STRENGTHS))
        assert (found.strength == CLEAN) == clean
        assert {one.strength for one in recorder.asked} == set(STRENGTHS)

    def test_clean_without_a_proof_is_compared_with_what_is_sampled(self):
        def accuracy(one):
            return 0.95 if one.sampled or one.strength == CLEAN else 0.9

        found = search(Recorder(accuracy).selection(), [1], [3], list(STRENGTHS))
        assert found.sampled
        found = search(Recorder(accuracy).selection(), [1], [3], list(STRENGTHS), False)
        assert found == Setting(1, 3, *CLEAN)

    def test_clean_without_a_proof_is_the_simplest_of_the_fair(self):
        """One hyperplane may be it, though it is never proven."""

        def accuracy(one):
            return 0.95 if one.strength == CLEAN and one.n_hyperplanes > 1 else 0.9

        found = search(Recorder(accuracy).selection(), [1], list(self.NUMBERS), list(STRENGTHS))
        assert found == Setting(1, 2, *CLEAN)
        recorder = Recorder(lambda one: 0.9 + 0.05 * (one.strength == CLEAN), separates=no)
        found = search(recorder.selection(), [1], list(self.NUMBERS), list(STRENGTHS))
        assert found == Setting(1, 1, *CLEAN)

    @pytest.mark.parametrize("numbers", [[1], [2], [1, 2, 3]])
    def test_only_the_strength_of_clean_labels(self, numbers):
        """Given by the user: it is judged by held-out rows as any other."""
        recorder = Recorder(lambda one: 0.8 + 0.05 * one.n_hyperplanes, separates=no)
        found = search(recorder.selection(), [1], numbers, [CLEAN])
        assert found == Setting(1, numbers[-1], *CLEAN)
        assert len(recorder.asked) == len(numbers)

    @pytest.mark.parametrize("strength", [(5.0, None), (20.0, 0.01)])
    def test_only_another_strength(self, strength):
        recorder = Recorder(lambda one: 0.8 + 0.05 * one.n_hyperplanes, separates=yes)
        found = search(recorder.selection(), [0, 1], [1, 2, 3], [strength])
        assert (found.n_hyperplanes, *found.strength) == (3, *strength)
        assert {one.strength for one in recorder.asked} == {strength}
        assert found.sampled == (strength[1] is not None)  # of equals

    def test_one_number_of_hyperplanes(self):
        recorder = Recorder(lambda _: 0.9, separates=yes)
        assert search(recorder.selection(), [1], [1], list(STRENGTHS)).strength != CLEAN
        found = search(recorder.selection(), [1], [4], list(STRENGTHS))
        assert found == Setting(1, 4, *CLEAN)

    @pytest.mark.parametrize("better", [False, True])
    def test_sampled_where_it_is_likelier(self, better):
        def evaluate(setting):
            found = outcome(0.9)
            found.h[-N // 10 :] *= 0.05 if setting.sampled == better else 1.0
            return found

        recorder = Recorder(evaluate)
        found = search(recorder.selection(), [1], [3], list(STRENGTHS))
        assert found.sampled == better
        assert any(one.sampled for one in recorder.asked)


class TestSampled:
    def offered(self, penalty, strengths=STRENGTHS[1:]):
        found = _sampled(Setting(1, 3, 20.0, penalty), strengths)
        for one in found:
            assert one == Setting(1, 3, 20.0, one.penalty, True)
        return [one.penalty for one in found]

    @pytest.mark.parametrize(
        ("penalty", "expected"),
        [
            (1e-1, [1e-2, 1e-3]),
            (1e-2, [1e-3, 1e-4]),
            (1e-3, [1e-4, 1e-5]),
            (1e-4, [1e-4, 1e-5]),
            (1e-5, [1e-5]),
            (None, [1e-4, 1e-5]),
        ],
    )
    def test_smaller_penalties_or_its_own_where_there_are_too_few(self, penalty, expected):
        assert self.offered(penalty) == expected

    def test_only_penalties_that_are_given(self):
        assert self.offered(0.5, strengths=[(20.0, 0.5)]) == [0.5]

    def test_each_with_its_own_margin(self):
        found = _sampled(Setting(0, 2, 20.0, 0.1), [(20.0, 0.1), (5.0, 0.01)])
        assert found == [Setting(0, 2, 20.0, 0.1, True), Setting(0, 2, 5.0, 0.01, True)]


class TestWithSamples:
    """Whether the mean of likely hyperplanes is taken, and of how many."""

    def chosen(
        self,
        evaluate=lambda _: 0.95,
        best=BEST,
        numbers=(1, 2, 3, 4, 5),
        strengths=STRENGTHS[1:],
        sampled=None,
        **given,
    ):
        """What is chosen, and the numbers of hyperplanes that were sampled."""
        recorder = Recorder(evaluate, **given)
        selection = recorder.selection()
        selection.accuracy(best)
        found = with_samples(selection, best, list(numbers), list(strengths), sampled)
        assert [one for one in recorder.asked if not one.sampled] == [best]
        return found, [one.n_hyperplanes for one in recorder.asked if one.sampled]

    def worse(self, setting):
        return 0.9 if setting.sampled else 0.95

    def test_of_equals_it_is(self):
        found, tried = self.chosen()
        assert found == SAMPLED
        assert tried == [3, 3, 4]

    def test_not_where_clearly_less_likely_unless_asked_for(self):
        assert self.chosen(self.worse) == (BEST, [3, 3, 4])
        assert self.chosen(self.worse, sampled=True) == (SAMPLED, [3, 3, 4])

    def test_never_where_not_asked_for(self):
        assert self.chosen(lambda one: 0.9 + 0.05 * one.sampled, sampled=False) == (BEST, [])

    @pytest.mark.parametrize("sampled", [None, True, False])
    def test_nothing_without_a_penalty(self, sampled):
        best = Setting(1, 3, 20.0, None)
        assert self.chosen(best=best, strengths=[(20.0, None)], sampled=sampled) == (best, [])

    def test_one_hyperplane_only_where_asked_for(self):
        best = BEST._replace(n_hyperplanes=1)
        assert self.chosen(best=best) == (best, [])
        found, tried = self.chosen(best=best, sampled=True)
        assert found == SAMPLED._replace(n_hyperplanes=1)
        assert tried == [1, 1, 2]

    @pytest.mark.parametrize("name", ["pins", "affords"])
    def test_rows_and_time_do_not_matter_where_asked_for(self, name):
        asked = []
        assert self.chosen(**{name: asked.append}) == (BEST, [])
        assert asked == [3]
        assert self.chosen(sampled=True, **{name: no})[0] == SAMPLED

    @pytest.mark.parametrize(("most", "tried"), [(3, [3, 3, 4]), (4, [3, 3, 4, 5])])
    def test_more_as_long_as_that_is_likelier(self, most, tried):
        """8 rows gained and 5 lost are enough, though they are 3 +- 3.6."""

        def evaluate(one):
            return changed(5, 8) if 3 < one.n_hyperplanes <= most else 0.95

        assert self.chosen(evaluate) == (SAMPLED._replace(n_hyperplanes=most), tried)

    def test_more_where_as_many_are_not_as_likely_sampled(self):
        def evaluate(one):
            return 0.9 if one.sampled and one.n_hyperplanes == 3 else 0.95

        assert self.chosen(evaluate) == (SAMPLED._replace(n_hyperplanes=4), [3, 3, 4, 5])

    @pytest.mark.parametrize("name", ["pins", "affords"])
    def test_the_next_number_needs_rows_and_time_too(self, name):
        def evaluate(one):
            return 0.8 + 0.05 * one.n_hyperplanes

        few = {name: lambda K: K < 4}
        assert self.chosen(evaluate, **few) == (SAMPLED, [3, 3])
        found, _ = self.chosen(evaluate, sampled=True, **few)
        assert found == SAMPLED._replace(n_hyperplanes=4)

    def test_the_last_number_has_no_next(self):
        assert self.chosen(numbers=[3]) == (SAMPLED, [3, 3])

    @pytest.mark.parametrize("sampled", [None, False])
    def test_clean_labels_come_first(self, sampled):
        recorder = Recorder(lambda _: 0.95, separates=yes)
        found = search(recorder.selection(), [1], [3], list(STRENGTHS), sampled)
        assert found == Setting(1, 3, *CLEAN)

    def test_what_must_be_sampled_is_not_for_clean_labels(self):
        recorder = Recorder(lambda _: 0.95, separates=yes)
        found = search(recorder.selection(), [1], [3], list(STRENGTHS), True)
        assert found.sampled
        assert found.penalty is not None


class TestTrials:
    """What the rows themselves answer."""

    def trials(self, X, y, n_init=5, max_iter=300):
        effort = FIT._replace(max_iter=max_iter)
        return FoldTrials(array_blocks(X, y), 0, list(range(n_init)), effort)

    def test_ten_rows_for_each_number_pin_hyperplanes_down(self):
        X, y = square(119)
        assert [K for K in LADDER if self.trials(X, y).pins(K)] == [1, 2, 3]
        X, y = square(120)
        assert [K for K in LADDER if self.trials(X, y).pins(K)] == [1, 2, 3, 4]

    def test_many_numbers_in_many_columns_are_not_affordable(self):
        X, y = square(200)
        assert all(self.trials(X, y).affords(K) for K in LADDER)
        wide = np.random.default_rng(0).standard_normal((2000, 400))
        found = self.trials(wide, wide[:, 0] > 0)
        assert [K for K in LADDER if found.affords(K)] == [1]

    def test_the_fit_itself_has_to_be_affordable(self, monkeypatch):
        """The trials look at some of the rows, the fit at all."""
        monkeypatch.setattr(module, "ROWS_TO_SELECT", 100)
        ten = LEAST_SAMPLES * 1000 * 3 * 4 * MOST_LEAPS
        effort = FIT._replace(products=float(ten))
        found = FoldTrials(array_blocks(*square(1000)), 0, [0], effort)
        assert [K for K in LADDER if found.affords(K)] == [1, 2, 3, 4]
        assert found.weight.shape == (100,)

    def test_separates_where_most_runs_do(self):
        X, y = square(200)
        assert self.trials(X, y).separates(Setting(1, 4, *CLEAN))
        assert not self.trials(X, y).separates(Setting(1, 1, *CLEAN))
        assert not self.trials(X, y, max_iter=1).separates(Setting(1, 4, *CLEAN))
        y = y.copy()
        y[:3] = 1 - y[:3]
        assert not self.trials(X, y).separates(Setting(1, 4, *CLEAN))

    def test_a_few_mistakes_that_more_hyperplanes_mend_are_no_evidence(self):
        """One hyperplane is wrong for 8 rows; three more have nine numbers to mend them."""
        X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
        y = np.where(X[:, 0] > 0, 1, -1)
        few = np.argsort(X @ [-1.0, -1.0])[:8]  # a corner
        y[few] = 1 - y[few]
        hard = Setting(1, 4, *CLEAN)
        assert not self.trials(X, y).separates(hard)
        assert self.trials(*square(400)).separates(hard)

    def test_several_are_needed_where_one_is_wrong_for_many(self):
        setting = Setting(1, 4, *PARTING)
        assert self.trials(*square(60)).needs_several(setting)
        X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
        y = np.where(X[:, 0] > 0, 1, -1)
        y[X[:, 0].argmin()] = 1
        assert not self.trials(X, y).needs_several(setting)

    def test_few_numbers_may_part(self):
        """Three times three further ones, three times six, and none."""
        found = self.trials(*square(60))
        assert found.may_part(Setting(1, 4, *PARTING))
        assert not found.may_part(Setting(1, 1, *PARTING))
        X = np.random.default_rng(0).standard_normal((60, 5))
        assert not self.trials(X, np.where(X[:, 0] > 0, 1, -1)).may_part(Setting(1, 4, *PARTING))

    @pytest.mark.parametrize(("converged", "expected"), [(2, False), (3, True)])
    def test_most_is_more_than_half(self, converged, expected, monkeypatch):
        monkeypatch.setattr(module, "centre_of", lambda *_: Centre(None, 1, converged))
        found = self.trials(*square(60), n_init=4).separates(START)
        assert found == expected

    def test_a_sampled_setting_is_judged_by_its_own_hyperplanes(self):
        X, y = square(200)
        y = np.where(np.arange(200) % 10 == 0, 1 - y, y)
        setting, scores = Setting(1, 4, 20.0, 1e-3), []
        for _ in range(2):
            selection = Selection(self.trials(X, y, n_init=2, max_iter=20))
            for sampled in (False, True):
                assert selection.accuracy(setting._replace(sampled=sampled)) > 0.6
                scores.append(selection.outcomes[setting._replace(sampled=sampled)].h)
        assert (scores[0] != scores[1]).any()
        np.testing.assert_array_equal(scores[:2], scores[2:])  # the same again


def test_effort_is_samples_by_rows():
    rows = array_blocks(*square(200))
    effort = Effort(1, 1, products=0.0, most_samples=60)
    assert effort.n_samples(rows, 4) == 0
    one = 200 * 3 * 4 * MOST_LEAPS
    for n_samples in (1, 7, 50):
        assert effort._replace(products=n_samples * one).n_samples(rows, 4) == n_samples
    assert effort._replace(products=1e30).n_samples(rows, 4) == 60
    assert module._TRIAL.most_samples >= LEAST_SAMPLES
    assert FIT.most_samples >= module._TRIAL.most_samples


# --- what the estimator asks for -----------------------------------------------------------

X, Y = make_dataset1(n_samples=340, random_state=0, return_X_y=True)


def quick(**given):
    return Polyceptron(random_state=0, n_init=1, max_iter=10, **given).fit(X, Y)


class TestGiven:
    def test_nothing(self):
        model = quick()
        table = model.selection_
        assert {1, 2, 3} <= set(table["n_hyperplanes"])
        assert {None, 20.0} <= set(table["margin"])
        assert sum(table["chosen"]) == 1
        assert len({len(column) for column in table.values()}) == 1

    def test_hyperplanes(self):
        model = quick(n_hyperplanes=2)
        assert set(model.selection_["n_hyperplanes"]) == {2}
        assert set(model.selection_["inside"]) == {-1, 1}
        assert model.n_hyperplanes_ <= 2

    def test_inside(self):
        model = quick(inside=-1)
        assert model.inside_ == -1
        assert set(model.selection_["inside"]) == {-1}

    @pytest.mark.parametrize("K", ["auto", 3])
    def test_margin_of_clean_labels(self, K):
        """Also where labels are not clean: nothing else is tried."""
        y = np.where(np.arange(len(Y)) % 10 == 0, -Y, Y)
        model = Polyceptron(K, margin=0.0, random_state=0, n_init=1, max_iter=10).fit(X, y)
        assert (model.margin_, model.penalty_) == (0.0, None)
        assert set(model.selection_["margin"]) == {0.0}
        assert set(model.selection_["penalty"]) == {None}
        assert set(model.selection_["sampled"]) == {False}
        assert sum(model.selection_["chosen"]) == 1
        assert model.score(X, Y) > 0.6

    def test_margin(self):
        """A number for the margin is a word for the centre as it is."""
        model = quick(margin=5)
        assert model.margin_ == 5.0
        assert model.penalty_ is None
        assert set(model.selection_["margin"]) == {5.0}
        assert set(model.selection_["penalty"]) == {None}

    def test_margin_and_penalty(self):
        model = quick(margin=5, penalty=0.01)
        assert (model.margin_, model.penalty_) == (5.0, 0.01)

    def test_penalty(self):
        model = quick(penalty=0.01)
        assert (model.margin_, model.penalty_) == (20.0, 0.01)
        assert set(model.selection_["penalty"]) == {0.01}
        assert set(model.selection_["margin"]) == {20.0}

    def test_penalty_and_several_hyperplanes_are_sampled_as_well(self):
        model = quick(n_hyperplanes=3, inside=1, penalty=0.01)
        assert model.selection_["sampled"] == [False, True]
        assert model.penalty_ == 0.01
        assert isinstance(model.sampled_, bool)

    @pytest.mark.parametrize(("sampled", "K"), [(np.True_, 1), (False, 3)])
    def test_sampled(self, sampled, K):
        """Also one hyperplane, and whatever rows held out say; what is sampled is fitted."""
        model = quick(n_hyperplanes=K, inside=1, penalty=0.01, sampled=sampled)
        assert model.sampled_ is bool(sampled)
        assert model.selection_["sampled"] == ([False, True] if sampled else [False])
        assert model.selection_["chosen"][-1]
        other = quick(n_hyperplanes=K, inside=1, penalty=0.01, sampled=not sampled)
        assert (model.coef_ != other.coef_).any()

    @pytest.mark.parametrize("sampled", [True, "auto"])
    def test_without_a_penalty_nothing_is_sampled(self, sampled):
        model = quick(n_hyperplanes=3, margin=20, sampled=sampled)
        assert model.sampled_ is False
        assert set(model.selection_["sampled"]) == {False}

    def test_sampled_and_nothing_else(self):
        y = np.where(np.arange(len(Y)) % 10 == 0, -Y, Y)
        models = [
            Polyceptron(inside=1, sampled=one, random_state=0, n_init=1, max_iter=10).fit(X, y)
            for one in (True, False)
        ]
        assert models[0].sampled_
        assert models[0].penalty_ is not None
        assert not any(models[1].selection_["sampled"])

    def test_no_penalty(self):
        model = quick(penalty=None)
        assert model.penalty_ is None
        assert set(model.selection_["margin"]) <= {0.0, 20.0}

    def test_no_margin(self):
        """The likelihood alone, with as many faces at most."""
        model = quick(n_hyperplanes=3, margin=None, penalty=1e-3)
        assert (model.margin_, model.penalty_) == (None, pytest.approx(1e-3))
        assert model.selection_["margin"] == [None]
        assert 1 <= model.n_hyperplanes_ <= 3
        assert model.score(X, Y) > 0.8

    @pytest.mark.parametrize("given", [{"penalty": None}, {"sampled": True}])
    def test_no_margin_and_what_needs_online_runs(self, given):
        with pytest.raises(ValueError, match="margin=None needs a penalty"):
            quick(margin=None, **given)

    def test_everything(self):
        model = quick(n_hyperplanes=3, inside=1, margin=0, penalty=None)
        assert model.selection_["chosen"] == [True]
        assert 0.5 < model.selection_["accuracy"][0] <= 1


def test_what_was_chosen_is_in_the_table():
    model = Polyceptron(random_state=0, n_init=2, max_iter=50).fit(*square(200))
    table = pd.DataFrame(model.selection_)
    row = table[table["chosen"]].iloc[0]
    assert row["inside"] == model.inside_
    assert row["n_hyperplanes"] >= model.n_hyperplanes_
    assert model.selection_["margin"][model.selection_["chosen"].index(True)] == model.margin_
    assert row["sampled"] == model.sampled_
    assert list(table) == [
        "inside", "n_hyperplanes", "margin", "penalty", "sampled", "n_polyhedra", "accuracy",
            "chosen",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "sampled", "labels"),
    [(0.0, False, (0, 1)), (0.15, False, (1, 0)), (0.15, True, (0, 1))],
)
def test_what_was_chosen_given_is_the_same_model(wrong, sampled, labels):
    """To the last bit, probabilities as well: seeds and folds do not depend on what is tried.

    Of online runs, that is; a likelihood alone starts where a search ended.
    """
    X, y = square(200)
    y = np.where(np.random.default_rng(1).random(200) < wrong, 1 - y, y)
    y = np.take(labels, y)
    fast = {"n_init": 2, "max_iter": 50, "random_state": 3}
    model = Polyceptron(sampled=sampled, **fast).fit(X, y)
    K = model.selection_["n_hyperplanes"][model.selection_["chosen"].index(True)]
    again = Polyceptron(
        K,
        margin=model.margin_,
        penalty=model.penalty_,
        sampled=model.sampled_,
        inside=model.inside_,
        **fast,
    ).fit(X, y)
    assert again.selection_["chosen"][-1]
    assert len(again.selection_["chosen"]) <= 2 < len(model.selection_["chosen"])
    assert (again.margin_, again.penalty_) == (model.margin_, model.penalty_)
    assert (again.sampled_, again.inside_) == (model.sampled_, model.inside_)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_many_rows_are_judged_by_some(monkeypatch):
    monkeypatch.setattr("polyceptron.learners.polyceptron.selection.ROWS_TO_SELECT", 100)
    seen = []
    monkeypatch.setattr(
        "polyceptron.learners.polyceptron.selection.TrialOutcome",
        lambda *parts: seen.append(len(parts[0])) or TrialOutcome(*parts),
    )
    X, y = square(600)
    model = Polyceptron(4, random_state=0, max_iter=100).fit(X, y)
    assert set(seen) == {100}
    assert model.score(X, y) > 0.9
