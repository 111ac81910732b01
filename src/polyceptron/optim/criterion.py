"""Statistics of blocks of rows, which add up: gradient, criterion, mistakes. And exact pruning."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from polyceptron import kernels
from polyceptron.data.blocks import Block, Blocks
from polyceptron.optim.planes import Gradient, Planes

Keys = NDArray[np.float32]
_NO_KEYS = np.empty(0, np.float32)
_UNPRUNED = (_NO_KEYS, _NO_KEYS, np.float32(np.inf), 0.0)


class Pruning:
    """Rows that provably cannot have become active are passed over.

    Let row n have ``room = y h(x) - margin > 0``. It stays satisfied until the hyperplanes have
    gone farther than ``room / |[x, 1]|`` (see docs/design.md). With ``path`` the length of their
    way so far (of the one that moves most in each step), a row that is read gets the key
    ``room / |[x, 1]| + path``, and is passed over while its key is above the path. Rounding is
    covered by a slack on both sides. With ``"auto"`` this pauses where it does not pay.
    """

    WORTH = 0.25
    """Share of open rows above which reading everything is faster."""
    FEWEST_ROWS = 4096
    """Below this an iteration is too short for "auto" to save anything."""

    def __init__(self, data: Blocks, mode: bool | str = "auto") -> None:
        self._forced = mode is True
        enough = mode == "auto" and data.n_samples >= self.FEWEST_ROWS
        self._on = data.resident and (self._forced or enough)
        self._n_samples = data.n_samples
        self._rounding = 4 * np.finfo(float).eps * (data.n_features + 4)
        self._keys: list[tuple[Keys, Keys]] = []
        self._last: Planes | None = None
        self._path = 0.0
        self._greatest_norm = 0.0
        self._pause = 1
        self._waiting = 0 if self._forced else 2  # the first steps are the longest
        self._stale = True
        self.threshold = np.float32(np.inf)
        self.credit = 0.0

    def aim(self, data: Blocks, planes: Planes) -> bool:
        """Get ready for an evaluation at these hyperplanes; False to read every row plainly."""
        if not self._on:
            return False
        if self._waiting > 0:
            self._waiting -= 1
            self._stale = True
            return False
        if not self._keys:
            self._keys = [_fresh_keys(block) for block in data]
        self._greatest_norm = max(self._greatest_norm, _distance(planes, None))
        slack = self._rounding * self._greatest_norm
        if self._last is not None:
            self._path += _distance(planes, self._last) * (1 + 1e-9)
            with np.errstate(over="ignore"):  # infinite: every row is read, and that is right
                threshold = np.float32((self._path + slack) * (1 + 1e-6))
            self.threshold = np.nextafter(threshold, np.float32(np.inf))
        self._last = planes
        self.credit = self._path - slack
        return True

    def learn(self, n_seen: float) -> None:
        """Take note of how many rows had to be read: is it still worth it?"""
        if self._stale:  # most rows were open because they had not been looked at for long
            self._stale = False
            return
        worth = n_seen <= self.WORTH * self._n_samples
        self._pause = 1 if worth else min(64, 2 * self._pause)
        self._waiting = 0 if worth or self._forced else self._pause

    def of(self, block: Block) -> tuple[Keys, Keys, np.float32, float]:
        """What :func:`kernels.batch_block` needs to know for these rows."""
        return (*self._keys[block.number], self.threshold, self.credit)


def _distance(planes: Planes, before: Planes | None) -> float:
    """Largest distance of a hyperplane [w_k, b_k] from where it was, or from zero."""
    W, b = planes.arrays()
    if before is not None:
        V, c = before.arrays()
        W, b = W - V, b - c
    largest = max(float(np.abs(W).max()), float(np.abs(b).max()))
    unit = math.ldexp(1.0, min(1000, max(-1000, -math.frexp(largest)[1])))  # squares stay in range
    W, b = W * unit, b * unit
    return float(np.sqrt(((W * W).sum(axis=1) + b * b).max())) / unit


def _fresh_keys(block: Block) -> tuple[Keys, Keys]:
    inverse_norm = np.empty(block.n_samples, np.float32)
    kernels.inverse_norms(block.X, inverse_norm)
    return np.empty(block.n_samples, np.float32), inverse_norm


def gradient_of(
    planes: Planes, margin: float, n_features: int, block: Block, pruning: Pruning | None = None
) -> Gradient:
    """The gradient of a block at these hyperplanes."""
    panel, bias, K = planes
    part = Gradient.zero(K, n_features, 4)
    keys = _UNPRUNED if pruning is None else pruning.of(block)
    rows, sums = (block.X, block.y, block.weight), (part.G, part.g, part.totals)
    kernels.batch_block(*rows, panel, bias, margin, *sums, *keys)
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


def count_mistakes(data: Blocks, planes: Planes) -> float:
    """The weight of the rows on the wrong side of these hyperplanes."""
    return float(gradient(data, planes, 0.0).totals[1])


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
    part, assigned = Gradient.zero(K, n_features, 4), sets.of(block)
    rows = block.X, block.y, block.weight
    kernels.frozen_block(*rows, panel, bias, margin, assigned, part.G, part.g)
    return part


def gradient_in_sets(data: Blocks, planes: Planes, margin: float, sets: Sets) -> Gradient:
    """Gradient of the criterion with the sets S_k held fixed (no counts)."""
    return data.reduce(partial(_gradient_in_sets, planes, margin, data.n_features, sets))
