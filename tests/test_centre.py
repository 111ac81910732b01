"""The parts that Polyceptron learns with: matched means, and the noisy product of logistics."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime

import naive
from common import small_blocks, square
from polyceptron import kernels, mixture
from polyceptron.blocks import ArrayBlocks, frozen, kernel_rows
from polyceptron.centre import centre, matched_mean, online_run
from polyceptron.criterion import Planes, decide
from polyceptron.datasets import make_dataset1

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


def product_of(rows, y, weight, W, b, noise):
    G, g = np.zeros(W.shape), np.zeros(len(b))
    panel, bias = kernels.to_panels(W, b)
    found = kernels.product_block(rows, y, weight, panel, bias, len(b), noise, G, g)
    return (*found, G, g)


# --- the product of logistics -------------------------------------------------------------


@pytest.mark.parametrize("size", [1.0, 1e3])
@pytest.mark.parametrize("noise", [1e-4, 0.06, 0.4])
@pytest.mark.parametrize("K", [1, 2, 3, 4, 5])
class TestProductBlock:
    def test_against_plain_loops(self, K, noise, size):
        X, y, weight, W, b = case(K, 3, 41, size)
        for used in (weight, NO_WEIGHT):
            weights = used if len(used) else np.ones(41)
            expected = naive.product_block(X, y, weights, W, b, noise)
            for kind in KINDS.values():
                found = product_of(kernel_rows(kind(X)), y, used, W, b, noise)
                for one, other in zip(found, expected, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)

    def test_kinds_of_rows_agree_to_the_last_bit(self, K, noise, size):
        X, y, weight, W, b = case(K, 5, 30, size)
        found = [
            product_of(kernel_rows(kind(X)), y, weight, W, b, noise) for kind in KINDS.values()
        ]
        for other in found[1:]:
            for one, same in zip(found[0], other, strict=True):
                np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("K", [1, 2, 5])
def test_slopes_are_those_of_the_value(K):
    X, y, weight, W, b = case(K, 3, 60)

    def value(point):
        theta = point[:-1].reshape(K, 4)
        W, b = theta[:, :-1].copy(), theta[:, -1].copy()
        return product_of(kernel_rows(X), y, weight, W, b, point[-1])[0]

    _, of_noise, G, g = product_of(kernel_rows(X), y, weight, W, b, 0.1)
    found = np.append(np.column_stack([G, g]).ravel(), of_noise)
    point = np.append(np.column_stack([W, b]).ravel(), 0.1)
    np.testing.assert_allclose(found, approx_fprime(point, value), rtol=1e-4, atol=1e-4)


def penalised(data, theta, penalty, noise, total):
    W = theta[:, :-1]
    here = mixture.ascent(data, Planes.of(W.copy(), theta[:, -1].copy()), noise)
    return here.log_likelihood / total - 0.5 * penalty * float((W * W).sum())


class TestMaximise:
    START = np.array([[1.0, 0.2, 1.0], [-1.0, 0.3, 1.0], [0.1, 1.0, 1.0], [0.0, -1.0, 1.0]])

    @pytest.mark.parametrize("penalty", [0.0, 1e-3, 1.0])
    def test_raises_the_penalised_likelihood(self, penalty):
        X, y = square(400)
        data = blocks(X, y)
        before = penalised(data, 5.0 * self.START, penalty, 0.06, 400)
        values = [before]
        for n_steps in (2, 10, 100):
            theta, noise = mixture.maximise(data, self.START, penalty, 400.0, n_steps)
            values.append(penalised(data, theta, penalty, noise, 400))
        assert values == sorted(values)
        assert values[-1] > before + 0.01

    @pytest.mark.parametrize("share", [0.0, 0.1, 0.2])
    def test_finds_the_share_of_wrong_labels(self, share):
        X, y = square(3000)
        y = np.where(np.random.default_rng(1).random(3000) < share, 1 - y, y)
        _, noise = mixture.maximise(blocks(X, y), self.START, 1e-5, 3000.0, 200)
        assert abs(noise - share) < 0.03

    @pytest.mark.parametrize("penalty", [0.0, 1e-3])
    @pytest.mark.parametrize("size", [1e3, 1e-3])
    def test_starts_of_any_size(self, size, penalty):
        X, y = square(400)
        theta, noise = mixture.maximise(blocks(X, y), size * self.START, penalty, 400.0, 200)
        assert np.isfinite(theta).all()
        assert 0 < noise <= 0.5

    def test_rows_far_away(self):
        """Scores of 1e3 on either side, some of them wrong: a row can only cost so much."""
        X, y = square(400)
        far = np.column_stack([np.full(10, 1e3), np.linspace(-1, 1, 10)])
        X, y = np.concatenate([X, far]), np.append(y, np.arange(10) < 3)
        theta, _ = mixture.maximise(blocks(X, y), self.START, 1e-4, 410.0, 200)
        h = decide(X, theta[:, :-1].copy(), theta[:, -1].copy())[0]
        assert ((h >= 0) == y).mean() > 0.95

    def test_threads_and_a_constant_factor_of_the_weights_do_not_show(self):
        X, y = square(400)
        weight = np.random.default_rng(0).random(400) + 0.5
        one = mixture.maximise(
            blocks(X, y, weight, block_rows=37), self.START, 1e-3, weight.sum(), 50
        )
        other = mixture.maximise(
            blocks(X, y, 4 * weight, block_rows=37, n_threads=3),
            self.START, 1e-3, 4 * weight.sum(), 50,
        )  # fmt: skip
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1] == other[1]


# --- the centre ---------------------------------------------------------------------------


class TestMatchedMean:
    def test_one_run_is_itself(self):
        run = np.random.default_rng(0).standard_normal((3, 4))
        np.testing.assert_array_equal(matched_mean([run]), run)

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

    def test_runs_are_not_changed(self):
        runs = list(np.random.default_rng(0).standard_normal((3, 2, 3)))
        copies = [run.copy() for run in runs]
        matched_mean(runs)
        for run, copy in zip(runs, copies, strict=True):
            np.testing.assert_array_equal(run, copy)


class TestCentre:
    def test_a_run_that_converges_separates(self):
        X, y = make_dataset1(random_state=0, return_X_y=True)
        X, y = X[:300], y[:300]
        theta, n_passes = online_run(blocks(X, y), 3, 0.0, 5, 2000)
        assert n_passes < 2000
        h = decide(X, theta[:, :-1].copy(), theta[:, -1].copy())[0]
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
        found, passes = online_run(blocks(X, y), 2, 3.0, seed, n_passes)
        assert passes == n_passes
        np.testing.assert_allclose(found, expected, rtol=1e-9)

    @pytest.mark.parametrize("kind", KINDS)
    def test_threads_do_not_show(self, kind, monkeypatch):
        small_blocks(monkeypatch, 37)
        X, y = square(200)
        X = X.astype(np.float32).astype(float)
        seeds = [3, 1, 4, 1, 5, 9, 2]
        expected = centre(blocks(X, y), 3, 5.0, seeds, 20)
        for n_threads in (1, 2, 5):
            found = centre(blocks(KINDS[kind](X), y, n_threads=n_threads), 3, 5.0, seeds, 20)
            np.testing.assert_array_equal(found[0], expected[0])
            assert found[1] == expected[1]

    def test_one_seed_is_one_run_of_norm_one(self):
        data = blocks(*square(100))
        theta, n_passes = online_run(data, 2, 5.0, 7, 20)
        found = centre(data, 2, 5.0, [7], 20)
        np.testing.assert_array_equal(found[0], theta / np.linalg.norm(theta))
        assert found[1] == n_passes

    @pytest.mark.parametrize("n_passes", [1, 2, 3, 4])
    def test_few_passes(self, n_passes):
        theta, passes = centre(blocks(*square(50)), 3, 20.0, [0, 1], n_passes)
        assert np.isfinite(theta).all()
        assert theta[:, :-1].any(axis=1).all()
        assert passes == n_passes
