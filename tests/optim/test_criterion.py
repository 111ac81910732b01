"""Statistics of blocks add up to those of all rows, and pruning changes not a bit of them."""

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from polyceptron.data.blocks import ArrayBlocks, kernel_rows
from polyceptron.optim.criterion import Pruning, Sets, gradient, gradient_in_sets
from polyceptron.optim.planes import Planes


def blocks(X, y, weight=None, **options):
    weight = np.empty(0) if weight is None else weight
    return ArrayBlocks(kernel_rows(X), y, weight, X.shape[1], **options)


def make_rows(kind, n=1500, d=5, K=3):
    """Rows about a polyhedron: y is right ("separable"), or wrong for one row in ten."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, d))
    if kind == "whole":
        X = np.rint(2 * X)
    if kind == "csr":
        X[rng.random((n, d)) < 0.6] = 0
    y = np.where((X @ rng.standard_normal((d, K)) + 0.7).min(axis=1) >= 0, 1, -1)
    if kind in ("noisy", "whole"):
        y[rng.random(n) < 0.1] *= -1
    return (sp.csr_matrix(X) if kind == "csr" else X), y.astype(np.int8)


def start(K, d, kind="real"):
    rng = np.random.default_rng(7)
    if kind == "whole":
        return rng.integers(-3, 4, (K, d)).astype(float), np.zeros(K)
    return rng.standard_normal((K, d)), np.zeros(K)


class TestGradient:
    @pytest.mark.parametrize("n_threads", [1, 2])
    @pytest.mark.parametrize("block_rows", [7, 1000])
    @pytest.mark.parametrize("kind", ["whole", "csr"])
    def test_adds_up_over_blocks(self, kind, block_rows, n_threads):
        X, y = make_rows(kind, n=65)
        weight = np.random.default_rng(0).integers(1, 4, 65).astype(float)
        W, b = start(3, 5, "whole")
        data = blocks(X, y, weight, block_rows=block_rows, n_threads=n_threads)
        found = gradient(data, Planes.of(W, b), 1.0)
        rows = X.toarray() if kind == "csr" else X
        G, g, totals = naive.batch_block(rows, y, weight, W, b, 1.0)
        compare = np.testing.assert_array_equal if kind == "whole" else np.testing.assert_allclose
        compare(found.G, G)
        compare(found.g, g)
        compare(found.totals, totals)

    @pytest.mark.parametrize("block_rows", [7, 1000])
    def test_fixed_sets(self, block_rows):
        X, y = make_rows("whole", n=65)
        W, b = start(3, 5, "whole")
        data = blocks(X, y, block_rows=block_rows)
        sets = Sets(Planes.of(W, b), data)
        assigned = naive.assign_block(X, W, b)
        np.testing.assert_array_equal(np.concatenate([sets.of(block) for block in data]), assigned)
        V, c = start(3, 5, "whole")
        V, c = V[::-1].copy(), c + 1  # other hyperplanes than those of the sets
        found = gradient_in_sets(data, Planes.of(V, c), 1.0, sets)
        G, g = naive.frozen_block(X, y, np.ones(65), V, c, 1.0, assigned)
        np.testing.assert_array_equal(found.G, G)
        np.testing.assert_array_equal(found.g, g)


class TestPlanes:
    @pytest.mark.parametrize("K", [1, 3, 4])
    def test_round_trip_and_copy(self, K):
        W, b = start(K, 5)
        planes = Planes.of(W, b)
        other = planes.copy()
        other.panel[:], other.bias[:] = 0, 0
        V, c = planes.arrays()
        np.testing.assert_array_equal(V, W)
        np.testing.assert_array_equal(c, b)


def descend(data, W, b, *, step, margin, mode, n_iter=60):
    """Every iterate with its gradient and totals, and the rows looked at."""
    pruning = Pruning(data, mode)
    iterates, seen = [], []
    for _ in range(n_iter):
        here = gradient(data, Planes.of(W, b), margin, pruning)
        iterates.append(np.concatenate([W.ravel(), b, here.G.ravel(), here.g, here.totals[:3]]))
        seen.append(here.totals[3])
        W, b = W + step * here.G, b + step * here.g
    return np.array(iterates), np.array(seen)


class TestPruning:
    @pytest.fixture(autouse=True)
    def _auto_for_few_rows(self, monkeypatch):
        monkeypatch.setattr(Pruning, "FEWEST_ROWS", 1)

    @pytest.mark.parametrize("step", [0.0001, 0.01])
    @pytest.mark.parametrize("K", [1, 3])
    @pytest.mark.parametrize("kind", ["separable", "noisy", "whole", "csr"])
    def test_iterates_are_the_same_to_the_last_bit(self, kind, K, step):
        X, y = make_rows(kind)
        data = blocks(X, y, block_rows=200)
        for margin in (0.0, 0.5):
            options = {"step": step, "margin": margin}
            W, b = start(K, 5, kind)
            plain, seen = descend(data, W, b, mode=False, **options)
            assert (seen == 1500).all()
            for mode in (True, "auto"):
                pruned, _ = descend(data, W, b, mode=mode, **options)
                np.testing.assert_array_equal(pruned, plain)

    def test_weighted_rows_on_threads(self):
        X, y = make_rows("noisy")
        weight = np.random.default_rng(0).random(1500)
        options = {"step": 0.01, "margin": 0.1}
        plain, _ = descend(
            blocks(X, y, weight, block_rows=100), *start(3, 5), mode=False, **options
        )
        data = blocks(X, y, weight, block_rows=100, n_threads=2)
        pruned, _ = descend(data, *start(3, 5), mode=True, **options)
        np.testing.assert_array_equal(pruned, plain)

    @pytest.mark.parametrize("mode", [True, "auto"])
    def test_most_rows_are_passed_over(self, mode):
        X, y = make_rows("separable")
        options = {"step": 0.1, "margin": 0.0, "n_iter": 400}
        _, seen = descend(blocks(X, y), *start(3, 5), mode=mode, **options)
        assert np.median(seen[300:]) < 0.25 * 1500

    def test_auto_pauses_where_hyperplanes_jump(self):
        """Nothing can be passed over then: keys are made ever less often."""
        tried = []

        class Watched(Pruning):
            def aim(self, *arguments):
                tried.append(super().aim(*arguments))
                return tried[-1]

        X, y = make_rows("noisy")
        data, rng = blocks(X, y), np.random.default_rng(0)
        pruning = Watched(data, "auto")
        for _ in range(200):
            gradient(data, Planes.of(100 * rng.standard_normal((3, 5)), np.zeros(3)), 0.0, pruning)
        assert len(tried) == 200
        assert 0 < sum(tried) < 40

    def test_hyperplanes_that_jump_and_come_back(self):
        """Keys stay good when the hyperplanes go far away, or do not move at all."""
        X, y = make_rows("separable")
        data, (W, b) = blocks(X, y, block_rows=100), start(3, 5)
        pruning = Pruning(data, True)
        rng = np.random.default_rng(3)
        for jump in [0, 0, 1e-6, 1e-6, 100, 0, 1e-3, 1e-3, 1e-9, 1e9, 1e-3, 0]:
            V = W + jump * rng.standard_normal(W.shape)
            here = gradient(data, Planes.of(V, b), 0.0, pruning)
            plain = gradient(data, Planes.of(V, b), 0.0)
            np.testing.assert_array_equal(here.G, plain.G)
            np.testing.assert_array_equal(here.totals[:3], plain.totals[:3])

    @pytest.mark.parametrize("exponent", [-300, -45, -38, 38, 43, 45, 90])
    def test_any_size_of_rows(self, exponent):
        """Keys are float32, rows need not fit into that."""
        X, y = make_rows("separable")
        X = X * 10.0**exponent
        W, b = start(3, 5)
        step = 0.001 * 10.0 ** (-max(exponent, 0))
        data = blocks(X, y)
        plain, _ = descend(data, W, b, step=step, margin=0.0, mode=False)
        pruned, _ = descend(data, W, b, step=step, margin=0.0, mode=True)
        np.testing.assert_array_equal(pruned, plain)

    @pytest.mark.parametrize("exponent", [37, 90])
    def test_far_movements(self, exponent):
        """Nor need the distance that hyperplanes move."""
        X, y = make_rows("separable")
        data = blocks(X * 10.0**exponent, y)
        W, b = start(3, 5)
        plain, _ = descend(data, W, b, step=0.1, margin=0.0, mode=False)
        pruned, _ = descend(data, W, b, step=0.1, margin=0.0, mode=True)
        np.testing.assert_array_equal(pruned, plain)
