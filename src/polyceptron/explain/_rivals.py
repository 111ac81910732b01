"""The scores at which two classes are equally probable, and lines above them.

Every link is made of two sides: the log-odds of a score of size h are 2 artanh(c tanh(s h / 2)), c
being 1 - 2 lapse and s the slope of the side. So of two links the score of the one at which both
have the same log-odds is, on each side of 0, a convex or a concave function of that of the other.
`lines_above` bounds it by chords or tangents: the gap shrinks with the square of the interval.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from polyceptron.calibration import Link, Side


class Line(NamedTuple):
    """``slope * h + offset``; the slope is not negative."""

    slope: float
    offset: float


def even_score(own: Link, rival: Link, h: float) -> float:
    """The score at which a rival has the log-odds that the own link has at h.

    It is infinite where the rival never has them.
    """
    return _even(own.side(h >= 0), rival.side(h >= 0), h)[0]


def lines_above(own: Link, rival: Link, low: float, high: float) -> list[Line]:
    """Lines that are nowhere below `even_score` from low to high, which are of one sign."""
    is_inside = low >= 0
    ours, theirs = own.side(is_inside), rival.side(is_inside)
    ends = [(h, *_even(ours, theirs, h)) for h in (low, high) if math.isfinite(h)]
    ends = [end for end in ends if math.isfinite(end[1])]
    is_concave = (ours.certainty <= theirs.certainty) == is_inside
    if is_concave:
        return [Line(slope, u - slope * h) for h, u, slope in ends if math.isfinite(slope)]
    if len(ends) < 2:
        return []
    (h0, u0, _), (h1, u1, _) = ends
    slope = max((u1 - u0) / (h1 - h0), 0.0)
    return [Line(slope, u0 - slope * h0)]


def _even(own: Side, rival: Side, h: float) -> tuple[float, float]:
    """The rival's score and its derivative: of ``tanh(s' u / 2) = r tanh(s h / 2)``."""
    size = own.slope * abs(h)
    if rival.certainty <= 0.0:
        return math.copysign(math.inf, h) if h else 0.0, math.inf
    ratio = own.certainty / rival.certainty
    rest = 2.0 / (1.0 + math.exp(min(size, 700.0)))  # 1 - tanh, without cancellation
    reached = ratio * (1.0 - rest)
    room = rest + (1.0 - ratio) * (1.0 - rest)  # 1 - reached, likewise
    if room <= 0.0:
        return math.copysign(math.inf, h), math.inf
    u = math.log1p(reached / room * 2.0) / rival.slope  # log((1 + reached) / (1 - reached))
    steep = own.slope / rival.slope * ratio * rest * (2.0 - rest)
    return math.copysign(u, h), steep / (room * (1.0 + reached))
