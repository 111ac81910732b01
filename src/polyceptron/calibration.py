"""Probabilities from signed scores of rows that took no part in learning them."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from polyceptron.utils.blas import ONE_BLAS_THREAD
from polyceptron.utils.types import Floats

_BOUNDS = (-8.0, -12.0), (8.0, 6.0)
_USUAL_LOG_SLOPE, _SPREAD = 1.5, 0.5
"""What slopes are like where h has a mean size of 1: few rows near h = 0 say little of them."""
_LAPSES_ADDED = 0.3
"""A side without a lapse is not certain for ever. One row right is added too."""


class Link(Protocol):
    """From the score h of a class to its probability; a value."""

    def both(self, h: Floats) -> tuple[Floats, Floats]:
        """P(outside | h) and P(inside | h)."""

    def logarithms(self, h: Floats) -> tuple[Floats, Floats]:
        """The logarithms of both."""

    def log_odds(self, h: Floats) -> Floats:
        """Their difference, which rises with h."""

    def side(self, is_inside: bool) -> Side:
        """The slope and the lapses of scores of this sign, in their own units."""


class Logistic(NamedTuple):
    """P(inside | h) = 1 / (1 + exp(-h)): the link of a logistic likelihood."""

    def both(self, h: Floats) -> tuple[Floats, Floats]:
        from scipy.special import expit

        return expit(-h), expit(h)

    def logarithms(self, h: Floats) -> tuple[Floats, Floats]:
        return -np.logaddexp(0.0, h), -np.logaddexp(0.0, -h)

    def log_odds(self, h: Floats) -> Floats:
        return h

    def side(self, is_inside: bool) -> Side:  # noqa: ARG002
        return Side(1.0, 0.0)


class Side(NamedTuple):
    """P(the side is right | |h|) = 1/2 + (1/2 - lapse) tanh(slope |h| / 2)."""

    slope: float
    lapse: float

    @property
    def certainty(self) -> float:
        """2 P - 1 where |h| is large."""
        return 1.0 - 2.0 * self.lapse

    def right(self, size: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(0.5 + (0.5 - self.lapse) * np.tanh(0.5 * self.slope * size))


class Calibration(NamedTuple):
    """P(inside | h): each side of h = 0 has its own slope, and its own share of lapses.

    It is 1/2 at h = 0 and rises with h, so it never contradicts the polyhedron. Scores are
    multiplied by a power of two first, where they are those of other units.
    """

    outside: Side
    inside: Side
    exponent: int = 0

    def probability(self, h: Floats) -> Floats:
        if self.exponent:
            with np.errstate(over="ignore"):
                h = np.ldexp(h, self.exponent)
        size = np.abs(h)
        return np.where(h >= 0, self.inside.right(size), 1.0 - self.outside.right(size))

    def stretched(self, factor: float) -> Calibration:
        """The same of scores that were multiplied by this factor before."""
        outside, inside = (
            Side(min(max(side.slope * factor, 1e-9), 1e9), side.lapse) for side in self[:2]
        )
        return self._replace(outside=outside, inside=inside)

    def both(self, h: Floats) -> tuple[Floats, Floats]:
        inside = self.probability(h)
        return 1.0 - inside, inside

    def logarithms(self, h: Floats) -> tuple[Floats, Floats]:
        outside, inside = self.both(h)
        return np.log(outside), np.log(inside)

    def log_odds(self, h: Floats) -> Floats:
        outside, inside = self.logarithms(h)
        return inside - outside

    def side(self, is_inside: bool) -> Side:
        side = self.inside if is_inside else self.outside
        return side._replace(slope=math.ldexp(side.slope, self.exponent))


def calibrated(h: Floats, is_inside: NDArray[np.bool_], weight: Floats) -> Calibration:
    """The likeliest for scores of any size."""
    e = -math.frexp(float(np.abs(h).mean()) or 1.0)[1]
    return calibrate(np.ldexp(h, e), is_inside, weight)._replace(exponent=e)


def calibrate(h: Floats, is_inside: NDArray[np.bool_], weight: Floats) -> Calibration:
    """Maximise the likelihood of the labels, each side for itself; h has a mean size near 1."""
    right = is_inside == (h >= 0)
    outside, inside = (
        _side(np.abs(h[here]), right[here], weight[here]) for here in (h < 0, h >= 0)
    )
    return Calibration(outside, inside)


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

    from polyceptron.optim import lbfgs  # here: answers by a rule need no optimiser

    starts = np.array([(0.0, -3.0), (1.5, -3.0), (0.0, -1.0)])
    with ONE_BLAS_THREAD:
        found = [lbfgs.minimise(loss, at, 100, 1e-9) for at in starts]
        return _side_at(min(found, key=lambda point: loss(point)[0]))


def _side_at(point: Floats) -> Side:
    log_slope, logit = np.clip(point, *_BOUNDS)
    return Side(float(np.exp(log_slope)), 0.5 / (1.0 + float(np.exp(-logit))))
