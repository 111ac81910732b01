"""The likelihood of a union and of its hard rule against loops, and the ascent of it."""

import numpy as np
import pytest
from numba import njit

import naive
from kernel_cases import NO_WEIGHT, either_weight, every_kind, kinds_for, real, scaled, slopes
from polyceptron import kernels
from polyceptron.kernels.union import exp_minus
from polyceptron.optim import lbfgs

NO_TARGET = np.empty(0)
PACKED = "packed"


def rows_of(case, kind):
    return kernels.pack_rows(case.X) if kind == PACKED else case.rows(kind)


def with_packed(kinds):
    return [*kinds, PACKED]


def pieces_of(K):
    """Ends of the faces of one piece, and of several."""
    return [np.array(ends) for ends in ([K], [1, K], [1, K - 1, K])[: min(K, 3)]]


def union(case, kind, weight, ends, logit, target=NO_TARGET):
    """Value, slope in the logit of the noise, and slopes in W and b."""
    theta = np.column_stack([case.W, case.b])
    flat = np.append(theta, logit)
    part = kernels.union_part(rows_of(case, kind), case.y, weight, target, flat, ends)
    slope = part[:-2].reshape(theta.shape)
    return part[-1], part[-2], slope[:, :-1], slope[:, -1]


def hardened(case, kind, weight, ends):
    value, _, G, g = union(case, kind, weight, ends, -1.0, np.linspace(0, 1, len(case.y)))
    return -value, -G, -g


@pytest.mark.parametrize(("logit", "size"), [(-800, 1.0), (-800, 1e3), (-2, 1e3), (1.4, 1.0)])
@pytest.mark.parametrize(("K", "d", "n"), [(1, 3, 41), (2, 5, 64), (5, 3, 130), (9, 6, 41)])
def test_union_part(K, d, n, logit, size):
    case, noise = scaled(K, d, n, size), naive.noise(logit)
    share = (noise - 1e-4) / (0.5 - 1e-4)
    for weight, weights in either_weight(case):
        for ends in pieces_of(K):
            expected = list(naive.union_block(case.X, case.y, weights, case.W, case.b, ends, noise))
            expected[1] *= (0.5 - 1e-4) * share * (1 - share)
            for kind in with_packed(kinds_for(K)):
                found = union(case, kind, weight, ends, logit)
                for one, other in zip(found, expected, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [1.0, 1e3])
@pytest.mark.parametrize("K", [1, 2, 5])
def test_hard_rule(K, size):
    case = scaled(K, 3, 41, size)
    target = np.linspace(0, 1, 41)
    for weight, weights in either_weight(case):
        for ends in pieces_of(K):
            expected = naive.hardened_block(case.X, target, weights, case.W, case.b, ends)
            for kind in with_packed(kinds_for(K)):
                for one, other in zip(hardened(case, kind, weight, ends), expected, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


@njit
def exponentials(x):
    return np.array([exp_minus(one, 40.0) for one in x])


def test_exp_is_that_of_the_library():
    x = np.concatenate([np.linspace(-40, 40, 20_001), [0.0, -0.0, 1e-300, 5e-324]])
    np.testing.assert_allclose(exponentials(x), np.exp(-x), rtol=4 * np.finfo(float).eps, atol=0)
    found = exponentials(np.array([1e3, -np.inf]))
    np.testing.assert_allclose(found, np.exp([-40.0, 40.0]), rtol=1e-15)


@pytest.mark.parametrize("size", [1.0, 1e3])
@pytest.mark.parametrize(("K", "d", "n"), [(1, 20, 65), (2, 3, 64), (5, 3, 301), (9, 20, 8)])
def test_kinds_of_rows_agree_to_the_last_bit(K, d, n, size):
    case = scaled(K, d, n, size)
    first, *others = (
        [
            *(one for ends in pieces_of(K) for one in union(case, kind, case.weight, ends, -2.0)),
            *(one for ends in pieces_of(K) for one in hardened(case, kind, case.weight, ends)),
        ]
        for kind in with_packed(kinds_for(K))
    )
    for found in others:
        for one, other in zip(found, first, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("K", [1, 2, 5])
def test_gradients_are_those_of_the_values(K):
    case = real(K, 3, 60)
    for ends in pieces_of(K):
        _, of_noise, G, g = union(case, "float64", case.weight, ends, -1.0)
        expected = slopes(
            lambda case, logit, ends=ends: union(case, "float64", case.weight, ends, logit)[0],
            case,
            -1.0,
        )
        found = np.append(np.column_stack([G, g]).ravel(), of_noise)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("is_noisy", [False, True])
def test_descent_is_that_of_the_function(is_noisy):
    """The loop that is compiled takes the steps of the one in Python, to the last bit."""
    case, ends = real(5, 3, 301), np.array([2, 5])
    start = np.append(0.1 * np.column_stack([case.W, case.b]), -2.0)
    for target in (NO_TARGET, np.linspace(0, 1, 301)):
        given = kernels.pack_rows(case.X), case.y, NO_WEIGHT, target

        def loss(flat, given=given):
            part = kernels.union_part(*given, flat, ends)
            return kernels.penalised(part, flat, 5, 0.1, 1.0, is_noisy)

        found = kernels.descend_union(*given, start, ends, 0.1, 1.0, is_noisy, 30, 1e-9)
        np.testing.assert_array_equal(found, lbfgs.minimise(loss, start, 30, 1e-9))
        assert loss(found)[0] < loss(start)[0]
        assert (found[-1] == -2.0) == (not is_noisy or target.size > 0)


@pytest.mark.parametrize("kind", with_packed(every_kind(5)))
def test_removal_costs(kind):
    """What the likelihood is without a face, or without a piece, computed anew."""
    case, ends = real(5, 3, 130), np.array([2, 4, 5])
    pieces = [[0, 1], [2, 3], [4]]

    def value(faces, weights):
        sizes = [len(kept) for piece in pieces if (kept := [k for k in piece if k in faces])]
        W, b = case.W[faces], case.b[faces]
        return naive.union_block(case.X, case.y, weights, W, b, np.cumsum(sizes), 1e-4)[0]

    theta = np.column_stack([case.W, case.b])
    for weight, weights in either_weight(case):
        found = kernels.removal_costs(rows_of(case, kind), case.y, weight, theta, ends)
        whole = value([0, 1, 2, 3, 4], weights)
        for gone, cost in zip([[0], [1], [2], [3], [4], *pieces], found, strict=True):
            if gone != [4]:
                left = [k for k in range(5) if k not in gone]
                assert cost == pytest.approx(whole - value(left, weights), rel=1e-9)
