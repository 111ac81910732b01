"""Hyperplanes in the layout of the kernels, and the gradient that moves them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from polyceptron import kernels
from polyceptron.utils.types import Floats


class Planes(NamedTuple):
    """K hyperplanes in the layout of the kernels."""

    panel: Floats
    bias: Floats
    K: int

    @classmethod
    def of(cls, W: Floats, b: Floats) -> Planes:
        return cls(*kernels.to_panels(W, b), W.shape[0])

    @classmethod
    def of_rows(cls, theta: Floats) -> Planes:
        """Those of rows [w_k, b_k]."""
        return cls.of(theta[:, :-1].copy(), theta[:, -1].copy())

    def arrays(self) -> tuple[Floats, Floats]:
        """W (K, d) and b (K,)."""
        return kernels.from_panels(self.panel, self.bias, self.K)

    def rows(self) -> Floats:
        """Rows [w_k, b_k]."""
        return np.column_stack(self.arrays())

    def copy(self) -> Planes:
        return Planes(self.panel.copy(), self.bias.copy(), self.K)

    def descend(self, by: Gradient, step_size: float, bias_unit: float = 1.0) -> Planes:
        """One gradient step of every hyperplane; new hyperplanes."""
        steps = step_size, step_size * bias_unit * bias_unit
        panel, bias = kernels.descend(self.panel, self.bias, by.G, by.g, *steps)
        return Planes(panel, bias, self.K)


@dataclass(slots=True)
class Gradient:
    """Which way to move hyperplanes for some rows, and what these add up to besides.

    ``G[k], g[k]`` is a sum over rows of multiples of [x_n, 1]: minus the gradient of what is
    minimised, or that of what is maximised, with respect to [w_k, b_k]. ``totals`` are sums that
    come with it, such as the criterion and mistakes.
    """

    G: Floats
    g: Floats
    totals: Floats

    @classmethod
    def zero(cls, K: int, d: int, n_totals: int) -> Gradient:
        return cls(np.zeros((K, d)), np.zeros(K), np.zeros(n_totals))

    def __add__(self, other: Gradient) -> Gradient:
        return Gradient(self.G + other.G, self.g + other.g, self.totals + other.totals)
