"""The logistic likelihood of blocks of rows: P(y | x) = 1 / (1 + exp(-y h(x))). It adds up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyceptron import kernels
from polyceptron.data.blocks import Block, Blocks
from polyceptron.optim.criterion import Sets
from polyceptron.optim.planes import Gradient, Planes
from polyceptron.utils.types import Floats


@dataclass(frozen=True, slots=True)
class LikelihoodOf:
    """Log-likelihood and mistakes of a block, a row for each S_k, which are found by the way."""

    sets: Sets

    def __call__(self, block: Block) -> Floats:
        planes, assigned = self.sets.planes, np.empty(block.n_samples, np.int32)
        by_set = np.zeros((planes.K, 2))
        kernels.likelihood_block(block.X, block.y, block.weight, *planes, assigned, by_set)
        self.sets.keep(block, assigned)
        return by_set


def share_out(data: Blocks, planes: Planes) -> tuple[Floats, Sets]:
    """Log-likelihood and mistakes of the rows of each S_k, and these sets."""
    sets = Sets(planes, data)
    return data.reduce(LikelihoodOf(sets)), sets


@dataclass(frozen=True, slots=True)
class LikelihoodInSets:
    """Log-likelihood of a block and its gradient, with the sets S_k held fixed."""

    planes: Planes
    n_features: int
    sets: Sets

    def __call__(self, block: Block) -> Gradient:
        panel, bias, K = self.planes
        part = Gradient.zero(K, self.n_features, 1)
        part.totals[0] = kernels.logistic_block(
            block.X, block.y, block.weight, panel, bias, self.sets.of(block), part.G, part.g
        )
        return part


def likelihood_in_sets(data: Blocks, planes: Planes, sets: Sets) -> tuple[float, Gradient]:
    """Log-likelihood of all rows and its gradient, with the sets S_k held fixed."""
    total = data.reduce(LikelihoodInSets(planes, data.n_features, sets))
    return float(total.totals[0]), total
