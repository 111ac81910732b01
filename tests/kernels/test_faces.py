"""One face of a soft union with few terms: losses against loops, and optima against scipy."""

import numpy as np
import pytest
from scipy.optimize import minimize

import naive
from kernel_cases import NO_WEIGHT, real
from polyceptron import kernels
from polyceptron.data.blocks import frozen

PENALTY = 0.3
BOUNDS = {1: (0, None), -1: (None, 0), 0: (None, None)}


def face_of(n, d, seed=0):
    """Columns, start, gain and weight, where the first columns tell the labels with some noise."""
    rng = np.random.default_rng([n, d, seed])
    columns = rng.standard_normal((d, n))
    s = 1 / (1 + np.exp(-(1.5 * columns[0] - 1.0 * columns[1 % d] + 0.5)))
    y = np.where(rng.random(n) < s, 1, -1)
    outside, noise = rng.uniform(0.3, 1, n), 0.02
    start = noise + (1 - 2 * noise) * np.where(y > 0, 1 - outside, outside)
    weight = frozen(rng.uniform(0.2, 3, n))  # as learners have it
    return columns, start, (1 - 2 * noise) * y * outside, weight


def fit_face(columns, used, start, gain, weight, signs, first, n_steps):
    how = np.array(signs, np.int8), first, PENALTY, n_steps
    return kernels.fit_face(columns, np.array(used), start, gain, weight, *how)


@pytest.mark.parametrize(("d", "n"), [(1, 7), (3, 65), (20, 64)])
def test_term_gains(d, n):
    case, gains = real(1, d, n), np.empty(d)
    columns = case.X.T.copy()
    slope = case.weight * case.y
    kernels.term_gains(columns, slope, gains)
    np.testing.assert_allclose(gains, naive.term_gains(columns, slope), rtol=1e-9, atol=1e-9)
    assert (np.sign(gains) == np.sign(columns @ slope)).all()


@pytest.mark.parametrize("signs", [[0, 0, 0, 0], [1, -1, 0, 0], [-1, 1, 1, -1], [-1, 0, 0, 1]])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("used", [[0], [1, 0], [3, 0, 1, 2]])
def test_fit_face_finds_the_optimum_within_signs(used, is_weighted, signs):
    columns, start, gain, weight = face_of(60, 4)
    given, weights = (weight, weight) if is_weighted else (NO_WEIGHT, np.ones(60))
    own = [signs[j] for j in used]
    first = np.append(own, 0.0)  # which has weights to take back to zero, and no further
    loss, v = fit_face(columns, used, start, gain, given, signs, first, 100)
    expected = naive.face_loss(columns[used], start, gain, weights, v, PENALTY)[0]
    assert loss == pytest.approx(expected, rel=1e-9)
    assert (np.array(own) * v[:-1] >= 0).all()
    best = minimize(
        lambda v: naive.face_loss(columns[used], start, gain, weights, v, PENALTY),
        first,
        jac=True,
        bounds=[BOUNDS[sign] for sign in [*own, 0]],
    )
    assert loss == pytest.approx(best.fun, rel=1e-4)
    np.testing.assert_allclose(v, best.x, atol=0.05)


@pytest.mark.parametrize("n_out", [0, 1, 2])
@pytest.mark.parametrize("signs", [[0] * 5, [0, 1, -1, 1, -1]])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_best_swap_is_the_best_of_all(n_out, signs, is_weighted):
    columns, start, gain, weight = face_of(50, 5, seed=n_out)
    columns = columns[[2, 3, 0, 4, 1]].copy()  # those that tell something stand behind
    weight = weight if is_weighted else NO_WEIGHT
    first = np.array([0.3, -0.2, 0.3, 0.3, -0.3, 0.1])
    first = np.where(np.append(signs, 0) * first < 0, 0.0, first)
    loss, used, v = kernels.best_swap(
        columns, 2, start, gain, weight, np.array(signs, np.int8), first, PENALTY, n_out, 5
    )
    ways = naive.swaps(2, 5, n_out)
    each = [fit_face(columns, way, start, gain, weight, signs, first[[*way, 5]], 5) for way in ways]
    place = naive.least([one[0] for one in each])
    assert used.tolist() == ways[place]
    assert loss == each[place][0]
    np.testing.assert_array_equal(v, each[place][1])
