"""Where the ascent of a union in pieces may start."""

import numpy as np
import pytest
from scipy import sparse

from polyceptron.data.blocks import ArrayBlocks, kernel_rows
from polyceptron.learners.polyceptron.starts import around_groups
from polyceptron.learners.polyceptron.union import Union

MIDDLES = np.array([(0.0, 0), (9, 0), (0, 9), (9, 9), (40, 40)])


def balls(n=200):
    """Rows inside are in five groups, as many outside around all."""
    random = np.random.default_rng(0)
    inside = MIDDLES[random.integers(5, size=n)] + 0.3 * random.standard_normal((n, 2))
    X = np.vstack([inside, random.uniform(-5, 45, (n, 2))])
    return X, np.repeat([1, -1], n).astype(np.int8)


def start(X, y, weight=None, n_pieces=5):
    weight = np.empty(0) if weight is None else weight
    data = ArrayBlocks(kernel_rows(X), y, weight, X.shape[1])
    return around_groups(data, n_pieces, 4, np.random.default_rng(1))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_a_piece_around_every_group(kind):
    X, y = balls()
    theta = start(kind(X), y)
    assert theta.shape == (20, 3)
    data = ArrayBlocks(kernel_rows(MIDDLES), np.ones(5, np.int8), np.empty(0), 2)
    h = [Union(piece, (4,)).scores(data) for piece in Union(theta, (4,) * 5).pieces()]
    assert sorted(np.argmax(h, axis=1)) == [0, 1, 2, 3, 4]
    assert (np.max(h, axis=1) > 0).all()


def test_rows_without_weight_are_not_there():
    X, y = balls()
    weight = np.ones(len(y))
    weight[:50] = 0.0
    np.testing.assert_allclose(start(X, y, weight), start(X[50:], y[50:]), rtol=1e-9)


def test_more_pieces_than_different_rows():
    X, y = np.ones((6, 2)), np.array([1, 1, 1, -1, -1, -1], np.int8)
    assert np.isfinite(start(X, y)).all()
