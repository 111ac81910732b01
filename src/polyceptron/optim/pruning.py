"""Exact pruning: rows that provably cannot have become active are not read."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from polyceptron import kernels
from polyceptron.data.blocks import Block, Blocks
from polyceptron.optim.planes import Planes


class Pruning:
    """Exact pruning: rows that provably cannot have become active are passed over.

    Let row n have ``room = y h(x) - margin > 0``. Moving each [w_k, b_k] by at most D moves
    h(x) by at most D |[x, 1]|, so the row stays satisfied, and need not be read, until the
    hyperplanes have gone farther than ``room / |[x, 1]|``. With ``path`` the length of their
    way so far (of the one that moves most in each step), a row that is read gets the key
    ``room / |[x, 1]| + path``, and is passed over while its key is above the path.
    Rounding is covered by a slack on both sides, so iterates are bit-identical.

    Passing over rows beats reading them only while few rows are open: with ``"auto"``
    the bookkeeping pauses where it does not pay, ever longer.
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
        self._keys: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = []
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

    def of(
        self, block: Block
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], np.float32, float]:
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


def _fresh_keys(block: Block) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    inverse_norm = np.empty(block.n_samples, np.float32)
    kernels.inverse_norms(block.X, inverse_norm)
    return np.empty(block.n_samples, np.float32), inverse_norm
