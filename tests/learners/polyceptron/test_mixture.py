"""The noisy product of logistics: its slopes, its maximum, and the mean of what is likely."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from common import array_blocks, square
from polyceptron.data.blocks import ArrayBlocks, frozen, kernel_rows
from polyceptron.datasets import make_dataset2
from polyceptron.learners.polyceptron import mixture
from polyceptron.learners.polyceptron.hyperplanes import FIT, centre_of, refined
from polyceptron.learners.polyceptron.selection import Setting
from polyceptron.scoring import least_margins

KINDS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "csr": sp.csr_matrix,
    "csr of float32": lambda X: sp.csr_matrix(X.astype(np.float32)),
}
NO_WEIGHT = frozen(np.empty(0))


def case(K, d, n, size=1.0):
    rng = np.random.default_rng([K, d, n])
    X = rng.standard_normal((n, d)).astype(np.float32).astype(float)  # the same in float32
    X[rng.random((n, d)) < 0.3] = 0
    y = frozen(rng.choice([-1, 1], n).astype(np.int8))
    W, b = size * rng.standard_normal((K, d)), size * rng.standard_normal(K)
    return X, y, frozen(rng.random(n) + 0.5), W, b


def blocks(X, y, weight=NO_WEIGHT, **options):
    signs = np.where(np.asarray(y) > 0, 1, -1).astype(np.int8)
    return ArrayBlocks(kernel_rows(X), signs, weight, X.shape[1], **options)


class TestLoss:
    """Over blocks of 1, 7 and all rows: what the blocks are does not matter but for rounding."""

    def cases(self, K, penalty):
        X, y, weight, W, b = case(K, 3, 41, 2.0)
        flat = np.append(np.column_stack([W, b]).ravel(), -1.3)
        for used, kind, block_rows in itertools.product((weight, NO_WEIGHT), KINDS, (1, 7, 1000)):
            weights = used if len(used) else np.ones(41)
            data = blocks(KINDS[kind](X), y, used, block_rows=block_rows)
            yield mixture.Loss(data, (K,), penalty, weights.sum()), flat, (X, y, weights)

    @pytest.mark.parametrize("penalty", [0.0, 0.3])
    @pytest.mark.parametrize("K", [1, 2, 5])
    def test_against_plain_loops(self, K, penalty):
        for loss, flat, rows in self.cases(K, penalty):
            value, slope = loss(flat)
            expected = naive.mixture_loss(*rows, flat, K, penalty)
            assert value == pytest.approx(expected[0], rel=1e-10)
            np.testing.assert_allclose(slope, expected[1], rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("K", [1, 5])
    def test_the_slope_is_that_of_the_value(self, K):
        for loss, flat, _ in self.cases(K, 0.3):
            expected = [
                (loss(flat + move)[0] - loss(flat - move)[0]) / 2e-5
                for move in 1e-5 * np.eye(len(flat))
            ]
            np.testing.assert_allclose(loss(flat)[1], expected, rtol=1e-6, atol=1e-8)

    @pytest.mark.parametrize("logit", [-800.0, -2.0, 0.0, 800.0])
    def test_unpack(self, logit):
        loss = mixture.Loss(blocks(*square(10)), (2,), 0.0, 10.0)
        theta, noise = loss.unpack(np.append(np.arange(6.0), logit))
        np.testing.assert_array_equal(theta, [[0, 1, 2], [3, 4, 5]])
        assert 0 < noise <= 0.5
        assert noise == pytest.approx(naive.noise(logit))
        assert np.isfinite(loss(np.append(np.arange(6.0), logit))[1]).all()


def maximised(data, start, penalty, total, n_steps):
    loss = mixture.Loss(data, (len(start),), penalty, total)
    return loss.unpack(mixture.maximise(loss, start, n_steps))


START = np.array([[1.0, 0.2, 1.0], [-1.0, 0.3, 1.0], [0.1, 1.0, 1.0], [0.0, -1.0, 1.0]])


class TestMaximise:
    @pytest.mark.parametrize("penalty", [0.0, 1e-3, 1.0])
    def test_raises_the_penalised_likelihood(self, penalty):
        loss = mixture.Loss(blocks(*square(400)), (4,), penalty, 400.0)
        values = [-loss(mixture.maximise(loss, START, n_steps))[0] for n_steps in (0, 2, 10, 100)]
        assert values == sorted(values)
        assert values[-1] > values[0] + 0.01

    @pytest.mark.parametrize("share", [0.0, 0.1, 0.2])
    def test_finds_the_share_of_wrong_labels(self, share):
        X, y = square(3000)
        y = np.where(np.random.default_rng(1).random(3000) < share, 1 - y, y)
        _, noise = maximised(blocks(X, y), START, 1e-5, 3000.0, 200)
        assert abs(noise - share) < 0.03

    def test_threads_and_a_constant_factor_of_the_weights_do_not_show(self):
        X, y = square(400)
        weight = np.random.default_rng(0).random(400) + 0.5
        one = maximised(blocks(X, y, weight, block_rows=37), START, 1e-3, weight.sum(), 50)
        data = blocks(X, y, 4 * weight, block_rows=37, n_threads=3)
        other = maximised(data, START, 1e-3, 4 * weight.sum(), 50)
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1] == other[1]


# --- the mean of likely hyperplanes -------------------------------------------------------


def noisy_square(n=400, share=0.1):
    X, y = square(n)
    return X, np.where(np.random.default_rng(1).random(n) < share, 1 - y, y)


def sampled(data, total, seed=0, n_samples=20, penalty=1e-3, start=START):
    loss = mixture.Loss(data, (len(start),), penalty, total)
    return mixture.posterior_mean(loss, mixture.maximise(loss, start, 50), n_samples, seed)


class TestPosteriorMean:
    def assert_means(self, found):
        """Of faces of norm one."""
        norms = np.linalg.norm(found, axis=1)
        assert (norms <= 1 + 1e-12).all()
        assert (norms > 0).all()

    def test_same_seed_same_bits(self):
        X, y = noisy_square()
        weight = np.random.default_rng(0).random(400) + 0.5
        first, *others = (
            sampled(blocks(X, y, weight, block_rows=37, n_threads=n), weight.sum())
            for n in (1, 1, 2)
        )
        for other in others:
            np.testing.assert_array_equal(first, other)

    def test_kinds_of_rows_agree_to_the_last_bit(self):
        X, y = noisy_square()
        X = X.astype(np.float32).astype(float)
        first, *others = (sampled(blocks(kind(X), y), 400.0) for kind in KINDS.values())
        for other in others:
            np.testing.assert_array_equal(first, other)

    def test_many_average_faces_of_norm_one(self):
        """A mean of different directions is shorter than each of them."""
        norms = np.linalg.norm(sampled(blocks(*noisy_square()), 400.0), axis=1)
        assert (norms < 1).all()
        assert (norms > 0.9).all()

    def test_more_rows_leave_less_doubt(self):
        few, many = (
            np.linalg.norm(sampled(blocks(*noisy_square(n)), float(n)), axis=1).min()
            for n in (60, 3000)
        )
        assert 1 - many < 0.1 * (1 - few)

    def test_against_the_posterior_on_a_grid(self):
        """One face of one column: the mean of its direction, summed over a grid of all three."""
        rng = np.random.default_rng(0)
        x = rng.standard_normal(60)
        y = rng.random(60) < 1 / (1 + np.exp(-2 * x - 1))
        loss = mixture.Loss(blocks(x[:, None], y), (1,), 0.02, 60.0)
        axes = np.linspace(-1, 8, 31), np.linspace(-3, 6, 31), np.linspace(-14, 4, 19)
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
        log_density = np.array([-60 * loss(point)[0] for point in grid])
        # The logit of the noise has no density of its own: the grid ends where the walk has not.
        flat = mixture.maximise(loss, np.array([[0.5, 0.2]]), 100)
        found = mixture.posterior_mean(loss, flat, 500, 0)[0]
        share = np.exp(log_density - log_density.max())
        norms = np.linalg.norm(grid[:, :2], axis=1)
        expected = (share / norms) @ grid[:, :2] / share.sum()
        np.testing.assert_allclose(found, expected, atol=0.05)

    @pytest.mark.parametrize("size", [1e-90, 1e-3, 1e3, 1e90])
    def test_columns_of_any_size(self, size):
        """The first step is far too long or short, and no number overflows."""
        X, y = noisy_square()
        start = START * [1 / size, 1 / size, 1.0]
        self.assert_means(sampled(blocks(X * size, y), 400.0, start=start))

    @pytest.mark.parametrize("penalty", [0.0, 1e3, 1e8])
    def test_any_penalty(self, penalty):
        """A steep one throws the first steps ever farther away."""
        self.assert_means(sampled(blocks(*noisy_square()), 400.0, penalty=penalty))

    @pytest.mark.parametrize("factor", [1e-6, 1e6])
    def test_weights_of_any_size(self, factor):
        """They are how sharp the posterior is: all but flat, or all but a point."""
        X, y = noisy_square()
        self.assert_means(sampled(blocks(X, y, np.full(400, factor)), 400.0 * factor))


def test_the_mean_is_no_worse_than_the_maximum_under_noise():
    """Dataset 2, 10% flipped: mean accuracy on fresh rows over some draws."""
    scores = []
    for seed in range(4):
        X, y = make_dataset2(n_samples=4000, random_state=seed, return_X_y=True)
        X = (X - X[:1000].mean(axis=0)) / X[:1000].std(axis=0)
        wrong = np.random.default_rng(seed).random(1000) < 0.1
        signs = np.where(wrong, -y[:1000], y[:1000]).astype(np.int8)
        rows = array_blocks(X[:1000], signs)
        setting, seeds = Setting(1, 4, 20.0, 1e-4), [seed + 100 * run for run in range(5)]
        start = centre_of(rows, setting, seeds, FIT).theta
        both = [
            refined(rows, start, setting._replace(sampled=one), seed, FIT) for one in (False, True)
        ]
        found = [
            least_margins(X[1000:], theta[:, :-1].copy(), theta[:, -1].copy())[0] for theta in both
        ]
        scores.append([((h >= 0) == (y[1000:] > 0)).mean() for h in found])
    likeliest, mean = np.mean(scores, axis=0)
    assert mean >= likeliest
    assert mean > 0.9
