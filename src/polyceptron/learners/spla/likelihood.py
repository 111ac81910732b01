"""The logistic likelihood of blocks of rows: P(y | x) = 1 / (1 + exp(-y h(x))). It adds up."""

from __future__ import annotations

from functools import partial

import numpy as np

from polyceptron import kernels
from polyceptron.data.blocks import Block, Blocks
from polyceptron.optim.criterion import Sets
from polyceptron.optim.planes import Gradient, Planes
from polyceptron.utils.types import Floats


def _by_set(sets: Sets, block: Block) -> Floats:
    """Log-likelihood and mistakes of a block, a row for each S_k, which are found by the way."""
    assigned, found = np.empty(block.n_samples, np.int32), np.zeros((sets.planes.K, 2))
    kernels.likelihood_block(block.X, block.y, block.weight, *sets.planes, assigned, found)
    sets.keep(block, assigned)
    return found


def share_out(data: Blocks, planes: Planes) -> tuple[Floats, Sets]:
    """Log-likelihood and mistakes of the rows of each S_k, and these sets."""
    sets = Sets(planes, data)
    return data.reduce(partial(_by_set, sets)), sets


def _in_sets(planes: Planes, n_features: int, sets: Sets, block: Block) -> Gradient:
    panel, bias, K = planes
    part = Gradient.zero(K, n_features, 1)
    part.totals[0] = kernels.logistic_block(
        block.X, block.y, block.weight, panel, bias, sets.of(block), part.G, part.g
    )
    return part


def likelihood_in_sets(data: Blocks, planes: Planes, sets: Sets) -> tuple[float, Gradient]:
    """Log-likelihood of all rows and its gradient, with the sets S_k held fixed."""
    total = data.reduce(partial(_in_sets, planes, data.n_features, sets))
    return float(total.totals[0]), total
