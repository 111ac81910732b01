"""L-BFGS whose every sum has an order of its own, so that its answer has the bits of any machine.

SciPy's takes its sums from BLAS, whose order depends on the processor, and spends 0.15 ms a step
beside the function: more than a likelihood of a few faces costs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polyceptron import kernels
from polyceptron.utils.types import Floats

_PAIRS = 10
"""Steps that are remembered."""
_LESS, _FLATTER, _TRIES = 1e-4, 0.9, 20
"""Conditions of Wolfe, weakly, and how many step sizes are tried."""

Function = Callable[[Floats], tuple[float, Floats]]
"""The value at a point, and its slope."""


def minimise(function: Function, start: Floats, n_steps: int, ftol: float) -> Floats:
    """Go down from ``start`` until a step gains, or promises, less than a share ``ftol`` of it."""
    x = np.array(start, dtype=np.float64)
    value, slope = function(x)
    S, Y = np.empty((2, _PAIRS, x.size))
    n, direction = 0, np.empty(x.size)
    for _ in range(n_steps):
        kernels.descent_direction(slope, S, Y, n, direction)
        if n == 0:
            direction /= max(1.0, np.sqrt(kernels.dot(slope, slope)))
        steep = kernels.dot(slope, direction)
        if not -steep > ftol * max(abs(value), 1.0):
            break
        found = _step(function, x, value, steep, direction)
        if found is None:
            break
        new_x, new_value, new_slope = found
        s, y = new_x - x, new_slope - slope
        if kernels.dot(s, y) > 1e-10 * kernels.dot(y, y):
            S[n % _PAIRS], Y[n % _PAIRS] = s, y
            n += 1
        gained, scale = value - new_value, max(abs(value), abs(new_value), 1.0)
        x, value, slope = new_x, new_value, new_slope
        if gained <= ftol * scale:
            break
    return x


def _step(
    function: Function, x: Floats, value: float, steep: float, direction: Floats
) -> tuple[Floats, float, Floats] | None:
    """A step that gains enough and ends where it is flatter, by halving and doubling; or none."""
    low, high, size = 0.0, np.inf, 1.0
    best = None
    for _ in range(_TRIES):
        new_x = np.empty_like(x)
        kernels.add_scaled(x, size, direction, new_x)
        new_value, new_slope = function(new_x)
        if not new_value <= value + _LESS * size * steep:
            high = size
        else:
            best = new_x, new_value, new_slope
            if kernels.dot(new_slope, direction) >= _FLATTER * steep:
                break
            low = size
        size = 0.5 * (low + high) if high < np.inf else 2.0 * size
    return best
