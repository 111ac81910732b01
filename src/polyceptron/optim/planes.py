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

    def arrays(self) -> tuple[Floats, Floats]:
        """W (K, d) and b (K,)."""
        return kernels.from_panels(self.panel, self.bias, self.K)

    def copy(self) -> Planes:
        return Planes(self.panel.copy(), self.bias.copy(), self.K)

    def descend(self, by: Gradient, step_size: float, bias_unit: float = 1.0) -> Planes:
        """One gradient step of every hyperplane; new hyperplanes."""
        panel, bias = kernels.descend(
            self.panel, self.bias, by.G, by.g, step_size, step_size * bias_unit * bias_unit
        )
        return Planes(panel, bias, self.K)


@dataclass(slots=True)
class Gradient:
    """The criterion's gradient and counts over some rows, at given hyperplanes.

    ``G[k], g[k]`` is the sum of y_n [x_n, 1] over the rows of S_k with
    y_n h(x_n) <= margin: minus the gradient of the criterion with respect to
    [w_k, b_k]. ``totals`` has the criterion, the weights of the
    mistakes and of the rows that count, and the number of rows that were looked at.
    """

    G: Floats
    g: Floats
    totals: Floats

    @classmethod
    def zero(cls, K: int, d: int) -> Gradient:
        return cls(np.zeros((K, d)), np.zeros(K), np.zeros(4))

    def __add__(self, other: Gradient) -> Gradient:
        return Gradient(self.G + other.G, self.g + other.g, self.totals + other.totals)
