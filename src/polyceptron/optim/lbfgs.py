"""L-BFGS of a function in Python; `kernels.descent` has the steps, and says why it is ours."""

from __future__ import annotations

from collections.abc import Callable

from polyceptron import kernels
from polyceptron.utils.types import Floats

Function = Callable[[Floats], tuple[float, Floats]]
"""The value at a point, and its slope."""


def minimise(function: Function, start: Floats, n_steps: int, ftol: float) -> Floats:
    """Go down from ``start`` until a step gains, or promises, less than a share ``ftol`` of it."""
    points, state = kernels.begin(start)
    while kernels.advance(points, state, *function(points[kernels.TRIAL]), n_steps, ftol):
        pass
    found: Floats = points[kernels.HERE].copy()
    return found
