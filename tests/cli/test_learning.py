"""What is printed of a rule, and what options say of learners."""

import click
import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from polyceptron import Polyhedron
from polyceptron.cli import _learning
from polyceptron.cli._learning import held_out, show_faces
from polyceptron.data.source import ArraySource
from polyceptron.explain import verdict
from polyceptron.rule import Piece, Rule


def test_every_piece_of_a_union_is_shown_with_what_its_faces_reject(capsys):
    low = Polyhedron([[-1.0]], [1.0], ["dose"])
    high = Polyhedron([[1.0], [-1.0]], [-5.0, 9.0], ["dose"])
    rule = Rule(["fine", "harm"], [Piece(low, 1), Piece(high, 1)], otherwise=0)
    found = verdict(rule, [[0.0], [3.0], [7.0], [10.0]], ["harm", "fine", "harm", "fine"])
    assert found.answers == [[2, 0], [0, 2]]
    show_faces(rule, found)
    assert (
        capsys.readouterr().out
        == """
harm if this holds (piece 1 of 2)
  face  rejects others  rejects harm  inequality
  0                  2             1  dose <= 1

harm if all 2 hold (piece 2 of 2)
  face  rejects others  rejects harm  inequality
  0                  1             1  dose >= 5
  1                  1             0  dose <= 9

Otherwise fine.
"""
    )


def test_of_many_classes_the_most_frequent_mistakes_are_shown(capsys):
    steps = [Polyhedron([[1.0], [-1.0]], [-k, k + 0.9], ["dose"]) for k in range(15)]
    rule = Rule([f"c{k}" for k in range(15)], [Piece(p, k) for k, p in enumerate(steps)], 0)
    X = np.repeat(np.arange(15.0), 4)[:, None]
    y = [f"c{k}" for k in range(15) for _ in range(4)]
    y[1] = y[2] = "c7"
    y[-1] = "c2"
    _learning.show_verdict(verdict(rule, X, y))
    text = capsys.readouterr().out
    assert "class \\ answer" not in text
    assert (
        """Most frequent mistakes
  class  answer  rows
  c7     c0         2
  c2     c14        1
"""
        in text
    )
    few = Rule.inside(["low", "high"], 1, steps[1])
    _learning.show_verdict(verdict(few, X[:8], ["low"] * 8))
    assert "class \\ answer" in capsys.readouterr().out


def test_answers_on_rows_held_out():
    rule = Rule([0.5, 1.5], [Piece(Polyhedron([[1.0]], [0.0]), 1)], otherwise=0)
    score = held_out(rule, np.array([[-1.0], [-1.0], [1.0]]), np.array([0, 1, 1]))
    assert score.counts.tolist() == [[1, 0], [1, 1]]
    assert score.accuracy == 2 / 3


def test_a_leaf_is_shown_with_what_it_contains(capsys):
    face = Polyhedron([[1.0]], [-5.0], ["dose"])
    other = Polyhedron(-face.W, -face.b, ["dose"])
    rule = Rule(["fine", "harm"], [Piece(face, 1), Piece(other, 0)])
    show_faces(rule, verdict(rule, [[0], [1], [6]], ["fine", "harm", "harm"]))
    printed = capsys.readouterr().out
    assert "harm if this holds: contains 1 of harm, 0 others\n  face  inequality\n" in printed
    assert "fine if this holds: contains 1 of fine, 1 others\n" in printed


class TestClassWeight:
    """What --balanced, --class-weight and --cost say."""

    classes = np.array(["bad", "good"])

    def asked(self, **options):
        given = {"balanced": False, "class_weights": (), "costs": (), "inside": None}
        return _learning.class_weight(self.classes, **given | options)

    def test_what_is_asked(self):
        assert self.asked() is None
        assert self.asked(balanced=True) == "balanced"
        assert self.asked(class_weights=("good=2.5",)) == {"good": 2.5}
        costs = self.asked(costs=("missed=5", "false=2"), inside="bad")
        assert costs == {"bad": 5.0, "good": 2.0}
        assert self.asked(costs=("false=2",), inside="bad") == {"bad": 1.0, "good": 2.0}

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"balanced": True, "costs": ("missed=2",)}, "exclude each other"),
            ({"class_weights": ("ugly=2",)}, "--class-weight must be one of bad, good; got 'ugly'"),
            ({"class_weights": ("good=0",)}, "a W above 0"),
            ({"class_weights": ("good",)}, "is not bad=W"),
            ({"costs": ("missed=nan",), "inside": "bad"}, "with one of missed, false"),
            ({"costs": ("missed=2",)}, "needs --inside"),
        ],
    )
    def test_what_is_refused(self, options, message):
        with pytest.raises(click.UsageError, match=message):
            self.asked(**options)


class TestSettings:
    """What --set says."""

    def made(self, *settings, **options):
        given = {"k": None, "inside": None, "class_weight": None, "seed": 0}
        classes = np.array(["a", "b"])
        return _learning.make("online", classes, settings=settings, **given | options)

    def test_values_are_those_of_python_or_text(self):
        model = self.made("step_size=0.5", "average = True", "inside=b")
        assert (model.step_size, model.average, model.inside) == (0.5, True, "b")
        assert model.standardize  # columns of files have units
        assert not self.made("standardize=False").standardize

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ("step_size", "is not NAME=VALUE"),
            ("stepsize=1", "has no stepsize; there are average, class_weight"),
            ("random_state=1", "random_state is given twice"),
            ("checkpoint=x", "has no checkpoint"),
        ],
    )
    def test_what_is_refused(self, setting, message):
        with pytest.raises(click.UsageError, match=message):
            self.made(setting)


def test_a_first_fit_that_takes_long_is_not_the_time_of_a_fit(monkeypatch):
    clock = iter([0.0, 30.0, 30.0, 31.0, 31.0, 32.0])  # the first one compiles
    monkeypatch.setattr(_learning.time, "perf_counter", lambda: next(clock))
    rows = ArraySource(np.arange(12.0)[:, None], np.repeat([0, 1], 6))
    score = _learning.cross_validated(DummyClassifier(), rows, 3, 0)
    assert score.seconds == 1.0


@pytest.mark.parametrize("name", ["batch", "polyceptron", "oc1"])
def test_the_command_line_uses_all_cores(name):
    model = _learning.make(name, np.array([0, 1]), k=None, inside=None, class_weight=None, seed=7)
    assert model.random_state == 7
    assert model.get_params().get("n_jobs", -1) == -1
