"""Probabilities from signed scores of rows that took no part in learning them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from polyceptron.utils.blas import ONE_BLAS_THREAD
from polyceptron.utils.types import Floats

_BOUNDS = [(-8.0, 8.0), (-12.0, 6.0)]
_USUAL_LOG_SLOPE, _SPREAD = 1.5, 0.5
"""What slopes are like where h has a mean size of 1: few rows near h = 0 say little of them."""
_LAPSES_ADDED = 0.3
"""A side without a lapse is not certain for ever. One row right is added too."""


class Side(NamedTuple):
    """P(the side is right | |h|) = 1/2 + (1/2 - lapse) tanh(slope |h| / 2)."""

    slope: float
    lapse: float

    def right(self, size: Floats) -> Floats:
        probability: Floats = 0.5 + (0.5 - self.lapse) * np.tanh(0.5 * self.slope * size)
        return probability


class Calibration(NamedTuple):
    """P(inside | h): each side of h = 0 has its own slope, and its own share of lapses.

    It is 1/2 at h = 0 and rises with h, so it never contradicts the polyhedron.
    """

    outside: Side
    inside: Side

    def probability(self, h: Floats) -> Floats:
        size = np.abs(h)
        return np.where(h >= 0, self.inside.right(size), 1.0 - self.outside.right(size))


def calibrate(h: Floats, is_inside: NDArray[np.bool_], weight: Floats) -> Calibration:
    """Maximise the likelihood of the labels, each side for itself; h has a mean size near 1."""
    sides = []
    for here in (h < 0, h >= 0):
        right = is_inside[here] == (h[here] >= 0)
        sides.append(_side(np.abs(h[here]), right, weight[here]))
    return Calibration(*sides)


def _side(size: Floats, right: NDArray[np.bool_], weight: Floats) -> Side:
    total = float(weight.sum())
    if total == 0.0:
        return Side(1.0, 0.05)

    def loss(point: Floats) -> tuple[float, Floats]:
        slope, lapse = _side_at(point)
        t = np.tanh(0.5 * slope * size)
        p = 0.5 + (0.5 - lapse) * t
        of_p = weight * np.where(right, 1.0 / p, -1.0 / (1.0 - p))
        unusual = (point[0] - _USUAL_LOG_SLOPE) / _SPREAD
        value = weight @ np.log(np.where(right, p, 1.0 - p)) - 0.5 * unusual**2
        value += _LAPSES_ADDED * np.log(lapse) + np.log1p(-lapse)
        of_slope = of_p @ ((0.5 - lapse) * (1.0 - t * t) * 0.5 * size) * slope - unusual / _SPREAD
        of_lapse = -(of_p @ t) + _LAPSES_ADDED / lapse - 1.0 / (1.0 - lapse)
        slopes = np.array([of_slope, of_lapse * lapse * (1.0 - 2.0 * lapse)])
        return -float(value) / (total + 2.0), slopes / -(total + 2.0)

    starts = [(0.0, -3.0), (1.5, -3.0), (0.0, -1.0)]
    with ONE_BLAS_THREAD:
        found = min(
            (minimize(loss, at, jac=True, method="L-BFGS-B", bounds=_BOUNDS) for at in starts),
            key=lambda one: one.fun,
        )
    return _side_at(found.x)


def _side_at(point: Floats) -> Side:
    return Side(float(np.exp(point[0])), 0.5 * float(expit(point[1])))
