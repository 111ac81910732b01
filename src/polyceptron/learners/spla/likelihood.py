"""The logistic likelihood of blocks of rows: P(y | x) = 1 / (1 + exp(-y h(x))). It adds up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyceptron import kernels
from polyceptron.data.blocks import Block, Blocks
from polyceptron.optim.criterion import Sets
from polyceptron.optim.planes import Planes
from polyceptron.utils.types import Floats


@dataclass(slots=True)
class Totals:
    """Log-likelihood and mistakes over some rows: ``by_set[k]`` has those of the rows of S_k."""

    by_set: Floats

    def __add__(self, other: Totals) -> Totals:
        return Totals(self.by_set + other.by_set)

    @property
    def log_likelihood(self) -> float:
        return float(self.by_set[:, 0].sum())

    @property
    def mistakes(self) -> float:
        return float(self.by_set[:, 1].sum())


@dataclass(slots=True)
class Ascent:
    """Log-likelihood over some rows with the sets S_k held fixed, and its gradient.

    ``G[k], g[k]`` is the gradient with respect to [w_k, b_k].
    """

    log_likelihood: float
    G: Floats
    g: Floats

    def __add__(self, other: Ascent) -> Ascent:
        return Ascent(
            self.log_likelihood + other.log_likelihood, self.G + other.G, self.g + other.g
        )


@dataclass(frozen=True, slots=True)
class TotalsOf:
    """Log-likelihood and mistakes of a block; the sets S_k are found by the way."""

    sets: Sets

    def __call__(self, block: Block) -> Totals:
        planes = self.sets.planes
        assigned = np.empty(block.n_samples, np.int32)
        part = Totals(np.zeros((planes.K, 2)))
        kernels.likelihood_block(block.X, block.y, block.weight, *planes, assigned, part.by_set)
        self.sets.keep(block, assigned)
        return part


def share_out(data: Blocks, planes: Planes) -> tuple[Totals, Sets]:
    """Log-likelihood and mistakes of all rows at these hyperplanes, and the sets S_k."""
    sets = Sets(planes, data)
    return data.reduce(TotalsOf(sets)), sets


@dataclass(frozen=True, slots=True)
class AscentInSets:
    """Log-likelihood of a block and its gradient, with the sets S_k held fixed."""

    planes: Planes
    n_features: int
    sets: Sets

    def __call__(self, block: Block) -> Ascent:
        panel, bias, K = self.planes
        G, g = np.zeros((K, self.n_features)), np.zeros(K)
        value = kernels.logistic_block(
            block.X, block.y, block.weight, panel, bias, self.sets.of(block), G, g
        )
        return Ascent(value, G, g)


def in_sets(data: Blocks, planes: Planes, sets: Sets) -> Ascent:
    """Log-likelihood of all rows and its gradient, with the sets S_k held fixed."""
    return data.reduce(AscentInSets(planes, data.n_features, sets))
