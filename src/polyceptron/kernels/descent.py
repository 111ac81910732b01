"""L-BFGS whose every sum has an order of its own, so that its answer has the bits of any machine.

SciPy's takes its sums from BLAS, whose order depends on the processor, and spends 0.15 ms a step
beside the function: more than a likelihood of a few faces costs. It is written so that whoever has
the function calls it, compiled or not: ``begin``, then ``advance`` with value and slope at
``points[TRIAL]`` for as long as that says so; ``points[HERE]`` is the answer.
"""

import numpy as np

from polyceptron.kernels.emit import called, emitted, kernel
from polyceptron.kernels.vector import fma

HERE, SLOPE, DIRECTION, TRIAL, BEST, BEST_SLOPE, PAIRS = 0, 1, 2, 3, 4, 5, 6
"""Rows of the points: the last are steps, and as many changes of the slope."""
_VALUE, _STEEP, _LOW, _HIGH, _SIZE, _BEST_VALUE, _N_PAIRS, _N_STEPS, _N_TRIES = range(9)
_SCALE, _CURVATURE = 9, 10
_REMEMBERED = 10
_LESS, _FLATTER, _TRIES = 1e-4, 0.9, 20
"""Conditions of Wolfe, weakly, and how many step sizes are tried."""


@kernel
def dot(a, b):
    """a . b, in four sums of every fourth product."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    n = a.shape[0] - a.shape[0] % 4
    for i in range(0, n, 4):
        s0, s1 = fma(a[i], b[i], s0), fma(a[i + 1], b[i + 1], s1)
        s2, s3 = fma(a[i + 2], b[i + 2], s2), fma(a[i + 3], b[i + 3], s3)
    for i in range(n, a.shape[0]):
        s0 = fma(a[i], b[i], s0)
    return (s0 + s1) + (s2 + s3)


@kernel
def add_scaled(x, t, d, out):
    """out = x + t d."""
    for i in range(x.shape[0]):
        out[i] = fma(t, d[i], x[i])


@called
def _copy(a, out):
    for i in range(a.shape[0]):
        out[i] = a[i]


@kernel
def descent_direction(g, S, Y, curvature, scale, n, out):
    """-H g into ``out``, with H of the last steps S and changes Y of the slope, n in all so far.

    Pair number i is in row i modulo the number of rows, s . y among the curvatures; H is ``scale``
    before the first of them.
    """
    m = S.shape[0]
    alpha = np.empty(m)
    for i in range(g.shape[0]):
        out[i] = -g[i]
    for i in range(n - 1, max(n - m, 0) - 1, -1):
        alpha[i % m] = dot(S[i % m], out) / curvature[i % m]
        add_scaled(out, -alpha[i % m], Y[i % m], out)
    for i in range(out.shape[0]):
        out[i] *= scale
    for i in range(max(n - m, 0), n):
        more = alpha[i % m] - dot(Y[i % m], out) / curvature[i % m]
        add_scaled(out, more, S[i % m], out)


def begin(start):
    """Points and state before the value and slope at ``start`` are known."""
    points = np.zeros((PAIRS + 2 * _REMEMBERED, start.shape[0]))
    points[TRIAL] = start
    state = np.zeros(_CURVATURE + _REMEMBERED)
    state[_N_STEPS] = -1.0
    return points, state


@kernel
def advance(points, state, value, slope, n_steps, ftol):
    """Take the value and slope at the trial point; whether there is another trial point.

    There is none after ``n_steps`` steps, or where one gains, or promises, less than a share
    ``ftol`` of the value.
    """
    if state[_N_STEPS] < 0:  # the start
        _copy(points[TRIAL], points[HERE])
        _copy(slope, points[SLOPE])
        state[_VALUE] = value
    elif _searches(points, state, value, slope):
        return True
    elif not _accepts(points, state, ftol):
        return False
    state[_N_STEPS] += 1
    if state[_N_STEPS] >= n_steps:
        return False
    g, direction, n = points[SLOPE], points[DIRECTION], int(state[_N_PAIRS])
    middle = PAIRS + _REMEMBERED
    if n == 0:
        state[_SCALE] = 1.0 / max(1.0, np.sqrt(dot(g, g)))
    descent_direction(
        g, points[PAIRS:middle], points[middle:], state[_CURVATURE:], state[_SCALE], n, direction
    )
    state[_STEEP] = dot(g, direction)
    if not -state[_STEEP] > ftol * max(abs(state[_VALUE]), 1.0):
        return False
    state[_LOW], state[_HIGH], state[_SIZE] = 0.0, np.inf, 1.0
    state[_BEST_VALUE], state[_N_TRIES] = np.inf, 0.0
    add_scaled(points[HERE], 1.0, direction, points[TRIAL])
    return True


@emitted
def _searches(points, state, value, slope):
    """Whether another size of the step is tried, by halving and doubling.

    Until it gains enough and ends where it is flatter.
    """
    size, flat_enough = state[_SIZE], False
    if not value <= state[_VALUE] + _LESS * size * state[_STEEP]:
        state[_HIGH] = size
    else:
        _copy(points[TRIAL], points[BEST])
        _copy(slope, points[BEST_SLOPE])
        state[_BEST_VALUE], state[_LOW] = value, size
        flat_enough = dot(slope, points[DIRECTION]) >= _FLATTER * state[_STEEP]
    state[_N_TRIES] += 1
    if flat_enough or state[_N_TRIES] >= _TRIES:
        return False
    bounded = state[_HIGH] < np.inf
    state[_SIZE] = 0.5 * (state[_LOW] + state[_HIGH]) if bounded else 2.0 * size
    add_scaled(points[HERE], state[_SIZE], points[DIRECTION], points[TRIAL])
    return True


@emitted
def _accepts(points, state, ftol):
    """Go to the best trial point, if there is one; whether that gained enough to go on."""
    if state[_BEST_VALUE] == np.inf:
        return False
    n = int(state[_N_PAIRS])
    place = PAIRS + n % _REMEMBERED
    s, y = points[place], points[place + _REMEMBERED]
    add_scaled(points[BEST], -1.0, points[HERE], points[TRIAL])
    add_scaled(points[BEST_SLOPE], -1.0, points[SLOPE], points[DIRECTION])
    change, step = points[DIRECTION], points[TRIAL]
    curvature, square = dot(step, change), dot(change, change)
    if curvature > 1e-10 * square:
        _copy(step, s)
        _copy(change, y)
        state[_CURVATURE + n % _REMEMBERED] = curvature
        state[_SCALE] = curvature / square
        state[_N_PAIRS] += 1
    before, now = state[_VALUE], state[_BEST_VALUE]
    _copy(points[BEST], points[HERE])
    _copy(points[BEST_SLOPE], points[SLOPE])
    state[_VALUE] = now
    return before - now > ftol * max(abs(before), abs(now), 1.0)
