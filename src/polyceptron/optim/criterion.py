"""Statistics of blocks of rows: gradient, criterion, mistakes. They add up."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from polyceptron import kernels
from polyceptron.data.blocks import Block, Blocks
from polyceptron.optim.planes import Gradient, Planes
from polyceptron.optim.pruning import Pruning

_NO_KEYS = np.empty(0, np.float32)
_UNPRUNED = (_NO_KEYS, _NO_KEYS, np.float32(np.inf), 0.0)


def gradient_of(
    planes: Planes, margin: float, n_features: int, block: Block, pruning: Pruning | None = None
) -> Gradient:
    """The gradient of a block at these hyperplanes."""
    panel, bias, K = planes
    part = Gradient.zero(K, n_features, 4)
    keys = _UNPRUNED if pruning is None else pruning.of(block)
    kernels.batch_block(
        block.X, block.y, block.weight, panel, bias, margin, part.G, part.g, part.totals, *keys
    )
    return part


def gradient(
    data: Blocks, planes: Planes, margin: float, pruning: Pruning | None = None
) -> Gradient:
    """Gradient of all rows at these hyperplanes.

    Its totals are the criterion, the weights of the mistakes and of the rows that count, and the
    number of rows that were looked at.
    """
    pruned = pruning if pruning is not None and pruning.aim(data, planes) else None
    total = data.reduce(partial(gradient_of, planes, margin, data.n_features, pruning=pruned))
    if pruned is not None:
        pruned.learn(total.totals[3])
    return total


class Sets:
    """The sets S_k: which hyperplane is responsible for each row, that is least for it.

    They are kept for rows that stay in this process, and found again elsewhere.
    """

    def __init__(self, planes: Planes, data: Blocks) -> None:
        self.planes = planes
        self._kept: dict[int, NDArray[np.int32]] | None = {} if data.resident else None

    def of(self, block: Block) -> NDArray[np.int32]:
        """For each row of a block the number of its hyperplane."""
        assigned = None if self._kept is None else self._kept.get(block.number)
        if assigned is None:
            assigned = np.empty(block.n_samples, np.int32)
            kernels.assign_block(
                block.X, self.planes.panel, self.planes.bias, self.planes.K, assigned
            )
            self.keep(block, assigned)
        return assigned

    def keep(self, block: Block, assigned: NDArray[np.int32]) -> None:
        """Keep what is known of a block."""
        if self._kept is not None:
            self._kept[block.number] = assigned


def _gradient_in_sets(
    planes: Planes, margin: float, n_features: int, sets: Sets, block: Block
) -> Gradient:
    panel, bias, K = planes
    part = Gradient.zero(K, n_features, 4)
    kernels.frozen_block(
        block.X, block.y, block.weight, panel, bias, margin, sets.of(block), part.G, part.g
    )
    return part


def gradient_in_sets(data: Blocks, planes: Planes, margin: float, sets: Sets) -> Gradient:
    """Gradient of the criterion with the sets S_k held fixed (no counts)."""
    return data.reduce(partial(_gradient_in_sets, planes, margin, data.n_features, sets))
