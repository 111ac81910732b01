"""The order in which an online learner visits rows, which is the same wherever they are.

Up to eight blocks are shuffled as a whole. More than that are taken eight at a time, drawn at
random, and the rows of these are shuffled: all that has to be in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from polyceptron import kernels
from polyceptron.data.blocks import ArrayBlocks, Blocks, KernelRows, frozen
from polyceptron.utils.types import Floats

TOGETHER = 8
"""Blocks whose rows are shuffled as one."""
_IN_ORDER = np.empty(0, np.int64)
_GOLDEN = 0x9E3779B97F4A7C15


Visit = tuple[KernelRows, NDArray[np.int8], Floats, NDArray[np.int64]]
"""Rows, labels, weights, and the order to visit them in; empty for their own."""


def visits(data: Blocks, seed: int | None) -> Iterator[Visit]:
    """Every row once, in the order that belongs to a seed; in their own without one."""
    groups = _groups_of_blocks(len(data), seed)
    if isinstance(data, ArrayBlocks):  # nothing need be moved
        order = _IN_ORDER if seed is None else _order(data, groups, seed)
        yield data.X, data.y, data.weight, order
        return
    blocks = data.in_order(number for group in groups for number in group)
    for place, group in enumerate(groups):
        # Copied one by one, as a block is good only until the next is asked for.
        parts = [
            (np.array(block.X), np.array(block.y), np.array(block.weight))
            for block in islice(blocks, len(group))
        ]
        X, y, weight = (frozen(np.concatenate(part)) for part in zip(*parts, strict=True))
        yield X, y, weight, _IN_ORDER if seed is None else _shuffled(len(y), seed, place)


def _groups_of_blocks(n_blocks: int, seed: int | None) -> list[list[int]]:
    numbers = list(range(n_blocks))
    if seed is not None and n_blocks > TOGETHER:
        numbers = _shuffled(n_blocks, seed, -1).tolist()
    return [numbers[start : start + TOGETHER] for start in range(0, n_blocks, TOGETHER)]


def _shuffled(n: int, seed: int, place: int) -> NDArray[np.int64]:
    order = np.empty(n, np.int64)
    kernels.shuffle(order, np.uint64((seed + place * _GOLDEN) % 2**64))
    return order


def _order(data: ArrayBlocks, groups: list[list[int]], seed: int) -> NDArray[np.int64]:
    if len(groups) == 1:
        return _shuffled(data.n_samples, seed, 0)
    ends = np.cumsum([0, *(block.n_samples for block in data)])
    rows = []
    for place, group in enumerate(groups):
        here = np.concatenate([np.arange(ends[number], ends[number + 1]) for number in group])
        rows.append(here[_shuffled(len(here), seed, place)])
    return np.concatenate(rows)
