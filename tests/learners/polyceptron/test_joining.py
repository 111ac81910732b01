"""Pieces that share a group of rows become one; those of two groups stay two."""

import numpy as np
import pytest
from tests.learners.polyceptron.test_union import blocks

from polyceptron.learners.polyceptron.joining import joined
from polyceptron.learners.polyceptron.union import Union, ascend, penalised_loss


def box(low, high, size=8.0):
    """Faces of a box in the plane."""
    (a, b), (c, d) = low, high
    return size * np.array([[1, 0, -a], [0, 1, -b], [-1, 0, c], [0, -1, d]], float)


def rows(boxes):
    X = np.random.default_rng(0).uniform(-1, 1, (1500, 2))
    inside = [((low <= X) & (high >= X)).all(axis=1) for low, high in boxes]
    return blocks(X, np.where(np.any(inside, axis=0), 1, -1))


def test_two_halves_of_a_box_become_one():
    data = rows([((-0.6, -0.5), (0.7, 0.4))])
    halves = np.vstack([box((-0.6, -0.5), (0.0, 0.4)), box((-0.1, -0.5), (0.7, 0.4))])
    start = ascend(data, Union(halves, (4, 4)), 0.01, 60)
    found = joined(data, start, 0.01, 60)
    assert found.sizes == (8,)
    assert penalised_loss(data, 0.01, found) <= penalised_loss(data, 0.01, start) + 1.0


def test_two_boxes_stay_two():
    boxes = [((-0.8, -0.8), (-0.2, 0.0)), ((0.2, 0.0), (0.8, 0.7))]
    data = rows(boxes)
    start = ascend(data, Union(np.vstack([box(*one) for one in boxes]), (4, 4)), 0.01, 60)
    assert joined(data, start, 0.01, 60) is start


@pytest.mark.parametrize("n_rows", [20, 100])
def test_few_rows_say_nothing(n_rows):
    data = rows([((-0.6, -0.5), (0.7, 0.4))]).take(np.arange(n_rows))
    halves = np.vstack([box((-0.6, -0.5), (0.0, 0.4)), box((-0.1, -0.5), (0.7, 0.4))])
    start = Union(halves, (4, 4))
    assert joined(data, start, 0.01, 10) is start
