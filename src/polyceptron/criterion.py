"""Statistics of blocks of rows: gradient, criterion, mistakes. They add up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron import kernels
from polyceptron._types import Floats
from polyceptron.blocks import Block, Blocks, count_threads, kernel_rows, map_in_order, part

_ROWS_TO_DECIDE = 65_536
_NO_KEYS = np.empty(0, np.float32)
_UNPRUNED = (_NO_KEYS, _NO_KEYS, np.float32(np.inf), 0.0)


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

    Parameters
    ----------
    data : Blocks
    mode : {"auto", True, False}
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


@dataclass(frozen=True, slots=True)
class GradientOf:
    """The gradient of a block at these hyperplanes."""

    planes: Planes
    margin: float
    n_features: int
    pruning: Pruning | None = None

    def __call__(self, block: Block) -> Gradient:
        panel, bias, K = self.planes
        part = Gradient.zero(K, self.n_features)
        keys = _UNPRUNED if self.pruning is None else self.pruning.of(block)
        kernels.batch_block(
            block.X, block.y, block.weight, panel, bias, self.margin,
            part.G, part.g, part.totals, *keys,
        )  # fmt: skip
        return part


def gradient(
    data: Blocks, planes: Planes, margin: float, pruning: Pruning | None = None
) -> Gradient:
    """Gradient, criterion and mistakes of all rows at these hyperplanes."""
    pruned = pruning if pruning is not None and pruning.aim(data, planes) else None
    total = data.reduce(GradientOf(planes, margin, data.n_features, pruned))
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


@dataclass(frozen=True, slots=True)
class GradientInSets:
    """The gradient of a block with the sets S_k held fixed (no counts)."""

    planes: Planes
    margin: float
    n_features: int
    sets: Sets

    def __call__(self, block: Block) -> Gradient:
        panel, bias, K = self.planes
        part = Gradient.zero(K, self.n_features)
        kernels.frozen_block(
            block.X, block.y, block.weight, panel, bias, self.margin,
            self.sets.of(block), part.G, part.g,
        )  # fmt: skip
        return part


def gradient_in_sets(data: Blocks, planes: Planes, margin: float, sets: Sets) -> Gradient:
    """Gradient of the criterion with the sets S_k held fixed (no counts)."""
    return data.reduce(GradientInSets(planes, margin, data.n_features, sets))


def decide(X: Any, W: Floats, b: Floats, n_jobs: int | None = None) -> tuple[Floats, bool]:
    """h(x) of every row of a C-ordered array or CSR matrix, and whether no score overflowed."""
    planes = Planes.of(W, b)
    rows = kernel_rows(X)
    h = np.empty(X.shape[0])

    def fill(start: int) -> bool:
        stop = min(start + _ROWS_TO_DECIDE, len(h))
        return bool(
            kernels.decide(part(rows, start, stop), planes.panel, planes.bias, h[start:stop])
        )

    starts = range(0, len(h), _ROWS_TO_DECIDE)
    finite = map_in_order(fill, starts, count_threads(n_jobs, len(h)))
    return h, all(finite)
