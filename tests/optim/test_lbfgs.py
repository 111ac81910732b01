"""L-BFGS against SciPy's, and its sums against loops."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

import naive
from polyceptron import kernels
from polyceptron.optim.lbfgs import minimise


@pytest.mark.parametrize("n", [1, 7, 8, 37])
def test_dot(n):
    a, b = np.random.default_rng(n).standard_normal((2, n))
    assert kernels.dot(a, b) == pytest.approx(naive.dot(a, b), rel=1e-12)
    out = np.empty(n)
    kernels.add_scaled(a, 0.3, b, out)
    np.testing.assert_allclose(out, a + 0.3 * b, rtol=1e-15)


@pytest.mark.parametrize("n_pairs", [0, 1, 3, 4, 9])
def test_descent_direction(n_pairs):
    """H of the last four pairs, built as a matrix."""
    random = np.random.default_rng(n_pairs)
    A = random.standard_normal((6, 6))
    A = A @ A.T + np.eye(6)
    steps = random.standard_normal((n_pairs, 6))
    S, Y, g, found = np.zeros((4, 6)), np.zeros((4, 6)), random.standard_normal(6), np.empty(6)
    curvature, scale = np.zeros(4), 1.0
    for i, s in enumerate(steps):
        S[i % 4], Y[i % 4], curvature[i % 4] = s, A @ s, s @ A @ s
        scale = (s @ A @ s) / (A @ s @ A @ s)
    kernels.descent_direction(g, S, Y, curvature, scale, n_pairs, found)
    expected = naive.descent_direction(g, [(s, A @ s) for s in steps[-4:]])
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("n", [2, 5, 20])
def test_a_valley(n):
    found = minimise(lambda x: (rosen(x), rosen_der(x)), np.zeros(n), 500, 1e-12)
    np.testing.assert_allclose(found, 1.0, atol=1e-3)


def test_as_low_as_scipy():
    random = np.random.default_rng(0)
    X, y = random.standard_normal((200, 10)), np.sign(random.standard_normal(200))

    def loss(w):
        s = y * (X @ w)
        slope = -X.T @ (y / (1 + np.exp(s)))
        return float(np.logaddexp(0, -s).sum() + 0.5 * w @ w), slope + w

    start = np.full(10, 5.0)
    expected = minimize(loss, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-12}).fun
    assert loss(minimise(loss, start, 200, 1e-12))[0] == pytest.approx(expected, rel=1e-9)


def test_it_ends():
    calls = []

    def flat(x):
        calls.append(x)
        return 1.0, np.zeros_like(x)

    np.testing.assert_array_equal(minimise(flat, np.ones(3), 100, 1e-9), 1.0)
    assert len(calls) == 1

    def broken(x):
        return (0.0 if (x == 1).all() else np.nan), np.ones_like(x)

    np.testing.assert_array_equal(minimise(broken, np.ones(3), 100, 1e-9), 1.0)


def test_where_it_is_not_smooth():
    found = minimise(lambda x: (np.abs(x).sum(), np.sign(x)), np.array([3.0, -2.0]), 100, 1e-9)
    assert np.abs(found).max() < 0.1
