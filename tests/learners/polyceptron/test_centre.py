"""The centre of online runs: hyperplanes matched, then averaged."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from common import small_blocks, square
from polyceptron.data.blocks import ArrayBlocks, frozen, kernel_rows
from polyceptron.datasets import make_dataset1
from polyceptron.learners.polyceptron.hyperplanes import (
    FIT,
    Setting,
    centre_of,
    matched_mean,
    n_mistakes,
    online_run,
    parting,
)
from polyceptron.scoring import least_margins

KINDS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "csr": sp.csr_matrix,
    "csr of float32": lambda X: sp.csr_matrix(X.astype(np.float32)),
}


def blocks(X, y, **options):
    signs = np.where(np.asarray(y) > 0, 1, -1).astype(np.int8)
    return ArrayBlocks(kernel_rows(X), signs, frozen(np.empty(0)), X.shape[1], **options)


class TestMatchedMean:
    @pytest.mark.parametrize("K", [1, 2, 3, 5])
    def test_the_order_of_hyperplanes_does_not_matter(self, K):
        rng = np.random.default_rng(K)
        middle = rng.standard_normal((K, 4))
        runs = [middle + 0.3 * rng.standard_normal((K, 4)) for _ in range(7)]
        expected = np.sort(matched_mean(runs), axis=0)
        for _ in range(5):
            turned = [rng.permutation(run) for run in runs]
            np.testing.assert_allclose(np.sort(matched_mean(turned), axis=0), expected)

    def test_matches_what_fits_best(self):
        """By all permutations of two runs."""
        rng = np.random.default_rng(3)
        one, other = rng.standard_normal((2, 4, 3))
        best = max(
            (other[list(order)] for order in itertools.permutations(range(4))),
            key=lambda turned: (one * turned).sum(),
        )
        np.testing.assert_allclose(matched_mean([one, other]), (one + best) / 2)


class TestCentre:
    def test_a_run_that_converges_separates(self):
        X, y = make_dataset1(random_state=0, return_X_y=True)
        X, y = X[:300], y[:300]
        theta, n_passes, converged = online_run(blocks(X, y), 3, 0.0, 5, 2000)
        assert n_passes < 2000
        assert converged
        h = least_margins(X, theta[:, :-1].copy(), theta[:, -1].copy())[0]
        np.testing.assert_array_equal(h >= 0, y > 0)

    def test_a_run_against_plain_loops(self):
        """The mean of hyperplanes after each row, over the passes from the first quarter on."""
        X, y = square(40)
        y = np.where(np.arange(40) % 7 == 0, -1, 2 * y - 1)
        seed, n_passes = 11, 8
        W, b = np.random.default_rng(seed).standard_normal((2, 2)), np.zeros(2)
        means = []
        for number in range(n_passes):
            order = naive.shuffle(40, (seed << 32) + number)
            arguments = X, y, np.ones(40), order, W, b, 1.0, 1.0, 3.0
            means.append(naive.online_pass(*arguments, average=True)[:2])
            W, b, _, updates = naive.online_pass(*arguments)
            assert updates
        late = means[n_passes // 4 :]
        expected = np.column_stack([np.mean([one[part] for one in late], 0) for part in (0, 1)])
        found, passes, converged = online_run(blocks(X, y), 2, 3.0, seed, n_passes)
        assert passes == n_passes
        assert not converged
        np.testing.assert_allclose(found, expected, rtol=1e-9)

    @pytest.mark.parametrize("kind", KINDS)
    def test_threads_do_not_show(self, kind, monkeypatch):
        small_blocks(monkeypatch, 37)
        X, y = square(200)
        X = X.astype(np.float32).astype(float)
        seeds = [3, 1, 4, 1, 5, 9, 2]
        arguments = Setting(1, 3, 5.0, None), seeds, FIT._replace(max_iter=20)
        expected = centre_of(blocks(X, y), *arguments)
        for n_threads in (1, 2, 5):
            found = centre_of(blocks(KINDS[kind](X), y, n_threads=n_threads), *arguments)
            np.testing.assert_array_equal(found.theta, expected.theta)
            assert found[1:] == expected[1:]

    def test_counts_the_runs_that_converge(self):
        X, y = make_dataset1(random_state=0, return_X_y=True)
        data, seeds = blocks(X[:100], y[:100]), [2, 7, 1, 8, 4]
        runs = [online_run(data, 3, 0.0, seed, 30) for seed in seeds]
        found = centre_of(data, Setting(1, 3, 0.0, None), seeds, FIT._replace(max_iter=30))
        assert 0 < found.n_converged < 5
        assert found.n_converged == sum(converged for _, _, converged in runs)
        assert found.n_passes == max(passes for _, passes, _ in runs)


class TestParting:
    SETTING = Setting(1, 4, 0.0, 1e-4)

    @pytest.mark.parametrize("inside", [0, 1])
    @pytest.mark.parametrize("n", [100, 300])
    def test_makes_no_mistake(self, n, inside):
        X, y = square(n)
        data = blocks(X, y if inside == 1 else -y)
        theta, n_passes = parting(data, self.SETTING._replace(inside=inside), [1, 2, 3, 4], FIT)
        assert n_mistakes(data, theta, inside) == 0
        assert 1 <= n_passes <= FIT.max_iter

    @pytest.mark.parametrize("n", [100, 300])
    def test_none_where_no_run_does(self, n):
        X, y = square(n)
        y[: n // 4] *= -1
        assert parting(blocks(X, y), self.SETTING, [1, 2, 3, 4], FIT) is None

    def test_keeps_farther_from_the_rows_than_runs(self):
        """Likelihood does not end where the last mistake was."""
        X, y = square(100)
        data = blocks(X, y)
        nearest = []
        for seed in range(5):
            run, _, converged = online_run(data, 4, 0.0, seed, 1000)
            theta, _ = parting(data, self.SETTING, [seed], FIT)
            assert converged
            nearest.append([distance(theta, X), distance(run, X)])
        ours, runs = np.mean(nearest, axis=0)
        assert ours > 1.5 * runs

    def test_a_run_where_likelihood_leaves_mistakes(self):
        """A penalty that shrinks every face to nothing."""
        X, y = square(100)
        data = blocks(X, y)
        theta, _ = parting(data, self.SETTING._replace(penalty=100.0), [1, 2], FIT)
        assert n_mistakes(data, theta, 1) == 0


def distance(theta, X):
    """From the boundary to the nearest row."""
    scores = (X @ theta[:, :-1].T + theta[:, -1]) / np.linalg.norm(theta[:, :-1], axis=1)
    return np.abs(scores.min(axis=1)).min()
