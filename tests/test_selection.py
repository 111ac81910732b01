"""How Polyceptron chooses: by rows held out, each setting once, the simplest of equals."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest

from common import square
from polyceptron import Polyceptron
from polyceptron.datasets import make_dataset1
from polyceptron.learners._selection import (
    LADDER,
    PATIENCE,
    STRENGTHS,
    Outcome,
    Selection,
    Setting,
    search,
)

N = 1000


def outcome(accuracy, n=N, size=1.0):
    """Rows of which so many, in the order of their places, are on their side."""
    right = np.arange(n) < round(accuracy * n)
    is_inside = np.arange(n) % 2 == 0
    return Outcome(np.where(right == is_inside, size, -size), is_inside, np.ones(n))


@dataclass
class Recorder:
    """A selection whose accuracies are given, and what was asked of it."""

    accuracy: object
    asked: list = field(default_factory=list)

    def selection(self):
        def evaluate(setting):
            self.asked.append(setting)
            return outcome(self.accuracy(setting))

        return Selection(evaluate, np.ones(N))


START = Setting(1, 1, 0.0, None)


class TestClimb:
    def climbed(self, accuracies, numbers=None):
        recorder = Recorder(lambda one: accuracies[one.n_hyperplanes])
        numbers = list(accuracies) if numbers is None else numbers
        best = recorder.selection().climb(START._replace(n_hyperplanes=numbers[0]), numbers)
        return best.n_hyperplanes, [one.n_hyperplanes for one in recorder.asked]

    def test_to_the_top(self):
        assert self.climbed({1: 0.5, 2: 0.6, 3: 0.7}) == (3, [1, 2, 3])

    def test_leaves_after_its_patience(self):
        rows = {1: 0.5, 2: 0.9, 3: 0.8, 4: 0.8, 5: 0.99}
        assert PATIENCE == 2
        assert self.climbed(rows) == (2, [1, 2, 3, 4])

    def test_goes_on_where_one_step_gains_nothing(self):
        assert self.climbed({1: 0.5, 2: 0.6, 3: 0.6, 4: 0.8, 5: 0.7, 6: 0.7})[0] == 4

    def test_the_start_is_no_step(self):
        """Patience counts from the first number after it."""
        rows = {1: 0.5, 2: 0.5, 3: 0.9, 4: 0.8, 5: 0.8, 6: 1.0}
        assert self.climbed(rows) == (3, [1, 2, 3, 4, 5])

    def test_down(self):
        found = self.climbed({1: 0.9, 2: 0.8, 3: 0.7, 4: 0.6}, [4, 3, 2, 1])
        assert found == (1, [4, 3, 2, 1])

    def test_no_numbers(self):
        assert Recorder(lambda _: 0.5).selection().climb(START, []) == START


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
        selection = Selection(lambda _: outcome(0.5), weight)
        assert selection.accuracy(START) == 0.75

    def test_best_of_equals_is_the_first(self):
        selection = Recorder(lambda _: 0.8).selection()
        settings = [START._replace(n_hyperplanes=number) for number in (3, 1, 2)]
        assert selection.best(settings) == settings[0]

    def test_worse_than_is_the_mean_difference_of_log_losses_and_its_error(self):
        rng = np.random.default_rng(0)
        weight = rng.random(N) + 0.5
        is_inside = rng.random(N) < 0.5
        outcomes = {
            START._replace(n_hyperplanes=K): Outcome(
                np.where(is_inside, K, -K) + 3 * rng.standard_normal(N), is_inside, weight
            )
            for K in (1, 2)
        }
        selection = Selection(outcomes.__getitem__, weight, dict(outcomes))
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

    @pytest.mark.parametrize(("lost", "expected"), [(8, 2), (15, 3)])
    def test_the_simplest_within_one_standard_error(self, lost, expected):
        """5 rows gained and 8 lost are 3 +- 3.6, 15 lost are 10 +- 4.5."""
        settings = [START._replace(n_hyperplanes=number) for number in (1, 2, 3)]

        def evaluate(setting):
            found = outcome({1: 0.80, 2: 0.95, 3: 0.95}[setting.n_hyperplanes])
            if setting.n_hyperplanes == 2:
                found.h[:lost] *= -1
                found.h[-5:] *= -1
            return found

        selection = Selection(evaluate, np.ones(N))
        assert selection.best(settings) == settings[2]
        assert selection.simplest(settings[2]).n_hyperplanes == expected
        assert selection.simplest(settings[0]) == settings[0]

    def test_the_most_accurate_of_the_simplest(self, monkeypatch):
        accuracies = {0.0: 0.949, 20.0: 0.950}
        selection = Recorder(
            lambda one: 0.951 if one.n_hyperplanes == 3 else accuracies[one.margin]
        ).selection()
        near = [Setting(1, 2, margin, None) for margin in accuracies]
        best = selection.best([*near, Setting(1, 3, 0.0, None)])
        assert best.n_hyperplanes == 3
        monkeypatch.setattr(selection, "worse_than", lambda *_: (0.0, 0.0))
        assert selection.simplest(best) == near[1]

    def test_table(self):
        selection = Recorder(lambda one: 0.5 + 0.1 * one.n_hyperplanes).selection()
        settings = [Setting(0, 2, 20.0, 1e-3), Setting(1, 1, 0.0, None)]
        best = selection.best(settings)
        table = pd.DataFrame(selection.table(np.array(["no", "yes"]), best))
        assert table["inside"].tolist() == ["no", "yes"]
        assert table["n_hyperplanes"].tolist() == [2, 1]
        assert table["margin"].tolist() == [20.0, 0.0]
        assert table["penalty"].tolist()[0] == 1e-3
        assert table["accuracy"].tolist() == pytest.approx([0.7, 0.6])
        assert table["chosen"].tolist() == [True, False]


def test_one_lucky_start_is_not_followed_blindly():
    """The class inside and the strength are chosen among the tops of all climbs."""
    tops = {(0, 0.0): 2, (0, 20.0): 3, (1, 0.0): 4, (1, 20.0): 5}

    def accuracy(one):
        top = tops[one.inside, one.margin]
        return 0.9 + 0.01 * top - 0.05 * abs(one.n_hyperplanes - top)

    found = search(Recorder(accuracy).selection(), [0, 1], list(LADDER), list(STRENGTHS))
    assert (found.inside, found.margin, found.n_hyperplanes) == (1, 20.0, 5)


# --- what the estimator asks for -----------------------------------------------------------

X, Y = make_dataset1(n_samples=200, random_state=0, return_X_y=True)


def quick(**given):
    return Polyceptron(random_state=0, n_init=1, max_iter=10, **given).fit(X, Y)


class TestGiven:
    def test_nothing(self):
        model = quick()
        table = model.selection_
        assert set(table["inside"]) == {-1, 1}
        assert {1, 2, 3} <= set(table["n_hyperplanes"])
        assert set(table["margin"]) == {0.0, 20.0}
        assert {None, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1} == set(table["penalty"])
        assert sum(table["chosen"]) == 1
        assert len({len(column) for column in table.values()}) == 1

    def test_hyperplanes(self):
        model = quick(n_hyperplanes=2)
        assert set(model.selection_["n_hyperplanes"]) == {2}
        assert set(model.selection_["inside"]) == {-1, 1}
        assert model.n_hyperplanes_ <= 2

    @pytest.mark.parametrize("inside", [-1, 1])
    def test_inside(self, inside):
        model = quick(inside=inside)
        assert model.inside_ == inside
        assert set(model.selection_["inside"]) == {inside}

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

    def test_no_penalty(self):
        model = quick(penalty=None)
        assert model.penalty_ is None
        assert set(model.selection_["margin"]) == {0.0, 20.0}

    def test_everything(self):
        model = quick(n_hyperplanes=3, inside=1, margin=0, penalty=None)
        assert model.selection_["chosen"] == [True]
        assert 0.5 < model.selection_["accuracy"][0] <= 1


def test_what_was_chosen_is_in_the_table():
    model = Polyceptron(random_state=0).fit(*square(200))
    table = pd.DataFrame(model.selection_)
    row = table[table["chosen"]].iloc[0]
    assert row["inside"] == model.inside_
    assert row["n_hyperplanes"] >= model.n_hyperplanes_
    assert row["margin"] == model.margin_


def test_many_rows_are_judged_by_some(monkeypatch):
    monkeypatch.setattr("polyceptron.learners.polyceptron._ROWS_TO_SELECT", 100)
    seen = []
    monkeypatch.setattr(
        "polyceptron.learners.polyceptron.Outcome",
        lambda *parts: seen.append(len(parts[0])) or Outcome(*parts),
    )
    X, y = square(600)
    model = Polyceptron(4, random_state=0, max_iter=100).fit(X, y)
    assert set(seen) == {100}
    assert model.score(X, y) > 0.9
