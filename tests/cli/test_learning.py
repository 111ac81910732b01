"""What is printed of a rule."""

import numpy as np
import pytest

from polyceptron import Polyhedron
from polyceptron.cli._learning import held_out, make, show_faces
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


@pytest.mark.parametrize("name", ["batch", "polyceptron", "oc1"])
def test_the_command_line_uses_all_cores(name):
    model = make(name, np.array([0, 1]), k=None, inside=None, balanced=False, seed=7)
    assert model.random_state == 7
    assert model.get_params().get("n_jobs", -1) == -1
