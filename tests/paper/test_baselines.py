"""Baselines are what they are called."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from polyceptron.datasets import make_dataset2
from polyceptron.paper.baselines import SVDD, PlainSVDD


def test_svdd_is_the_smallest_sphere():
    """By the dual of Tax & Duin: its radius and the distances to its centre."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.r_[np.full(24, 3), np.full(6, -1)]
    rows, nu, gamma = X[:24], 0.25, 0.5
    kernel = rbf_kernel(rows, gamma=gamma)
    alpha = cp.Variable(24)
    bound = 1 / (nu * 24)
    limits = [cp.sum(alpha) == 1, alpha >= 0, alpha <= bound]
    factor = np.linalg.cholesky(kernel + 1e-12 * np.eye(24))
    cp.Problem(cp.Minimize(cp.sum_squares(factor.T @ alpha)), limits).solve(solver="HIGHS")

    def off(points):  # squared distance to the centre, but for what is the same for all
        return 1 - 2 * rbf_kernel(points, rows, gamma=gamma) @ alpha.value

    on_the_sphere = (alpha.value > 1e-4) & (alpha.value < bound - 1e-4)
    radius = off(rows[on_the_sphere])
    assert np.ptp(radius) < 1e-6
    points = rng.normal(size=(500, 2)) * 1.5
    clear = np.abs(off(points) - radius[0]) > 1e-3
    found = SVDD(nu=nu, gamma=gamma).fit(X, y).predict(points)
    expected = np.where(off(points) < radius[0], 3, -1)
    np.testing.assert_array_equal(found[clear], expected[clear])
    assert len(set(expected[clear])) == 2


def test_a_plain_sphere_is_the_smallest():
    """Its centre has the least R^2 + sum of |x_i - a|^2 - R^2 beyond it, over nu n."""
    rng = np.random.default_rng(1)
    X = np.r_[rng.normal(size=(42, 3)) + 5, rng.normal(size=(6, 3))]
    y = np.r_[np.full(42, "in"), np.full(6, "and out")]
    rows, nu = X[:42], 0.1

    def program(a):
        squares = np.sort(((rows - a) ** 2).sum(axis=1))
        radius = squares[-5]  # 4.2 rows are left outside
        return radius + (squares[-4:] - radius).sum() / (nu * 42)

    found = PlainSVDD(nu=nu).fit(X, y)
    least = program(found.centre_)
    for size in (1e-3, 0.1, 1.0):
        assert all(program(found.centre_ + size * v) > least for v in rng.normal(size=(200, 3)))
    squares = np.sort(((rows - found.centre_) ** 2).sum(axis=1))
    np.testing.assert_allclose(found.radius_**2, squares[-5], rtol=1e-6)
    outside = found.predict(rows) != "in"
    assert 0 < outside.mean() <= nu
    assert set(found.predict(X)) == {"in", "and out"}


@pytest.mark.parametrize("nu", [0.01, 0.2, 0.5, 1.0])
def test_a_plain_sphere_is_found_of_any_share(nu):
    """Where HiGHS ends too early in one order of the rows, it does not in another."""
    X, y = make_dataset2(900, random_state=8, return_X_y=True)
    order = np.random.RandomState(0).permutation(900)[:600]
    found = PlainSVDD(nu=nu).fit(StandardScaler().fit_transform(X[order]), y[order])
    assert 0 < found.radius_ < 10
