"""Coordinates to learn in: standardised columns, or the user's own kept within range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyceptron import kernels
from polyceptron.data.blocks import ArrayBlocks, Block, Blocks, KernelRows, frozen, kernel_rows
from polyceptron.utils.types import Floats

_LARGEST_PLAIN = 1e100
"""Products and sums of squares of values up to this stay far from overflow."""
_LEAST_SPREAD = 1e-305
"""A column that varies less is taken as constant: its inverse would overflow."""
_GREATEST_EXPONENT = 1000
"""Hyperplanes beyond this power of two are scaled down as a whole."""


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The map from user units to those of learning: ``x' = x * scale + shift``.

    ``bias_unit`` is the constant feature's value there. It is 1, but for columns near overflow: all
    of [x, 1] is then scaled by one power of two, and the start with it, which leaves every decision
    of a perceptron as it was.
    """

    scale: Floats
    shift: Floats
    bias_unit: float = 1.0

    @property
    def is_identity(self) -> bool:
        return bool((self.scale == 1.0).all() and not self.shift.any())

    def transform(self, X: KernelRows, out: NDArray[Any] | None = None) -> KernelRows:
        """Rows in the coordinates of learning, dense ones in ``out`` if it is given.

        X itself if the coordinates are the same. Infinite where they leave the range of numbers.
        """
        if self.is_identity:
            return X
        if not isinstance(X, tuple):
            out = np.empty(X.shape, X.dtype) if out is None else out
            kernels.map_columns(frozen(X), self.scale, self.shift, out)
            return out
        if self.shift.any():
            remedy = "give dense rows, or learn with standardize=False"
            raise ValueError(f"X is sparse, but the columns were centred on dense rows: {remedy}")
        data, indices, indptr = X
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = (data * self.scale[indices]).astype(data.dtype)
        return frozen(scaled), indices, indptr

    @property
    def _unit_exponent(self) -> int:
        return math.frexp(self.bias_unit)[1] - 1

    def to_user(self, W: Floats, b: Floats) -> tuple[Floats, Floats, int]:
        """Hyperplanes of user units from those learned, and an exponent e.

        Those that the algorithm has reached are 2**e times those returned. A common factor
        says nothing of the set, and e is 0 but for columns so large or small that
        coefficients or scores would leave the range of numbers.
        """
        exponents = np.where(W != 0, np.frexp(W)[1], -2000)
        excess = max(0, int((exponents + np.frexp(self.scale)[1]).max()) - _GREATEST_EXPONENT)
        if self.bias_unit != 1.0 and W.any():
            excess = int(exponents.max())  # scores near 1 for rows like those learned on
        W, b = np.ldexp(W, -excess), np.ldexp(b, -excess)
        return W * self.scale, b + W @ self.shift, excess - 2 * self._unit_exponent

    def from_user(self, W: Floats, b: Floats, exponent: int = 0) -> tuple[Floats, Floats]:
        """Hyperplanes to learn on from those of user units, times 2**exponent; maybe infinite."""
        exponent += 2 * self._unit_exponent
        (w, in_w), (s, in_s) = np.frexp(W), np.frexp(self.scale)
        with np.errstate(over="ignore", invalid="ignore"):
            V = np.ldexp(w / s, in_w - in_s + exponent)
            return V, np.ldexp(b, exponent) - V @ self.shift


def identity(n_features: int) -> Coordinates:
    """User units as they are."""
    return Coordinates(np.ones(n_features), np.zeros(n_features))


@dataclass(frozen=True, slots=True)
class Ends:
    """Least and greatest value of every column of some rows, and the weight of each class.

    ``bad`` is the block and the place in it of the first row that is not finite.
    """

    least: Floats
    greatest: Floats
    weights: Floats
    bad: tuple[int, int] | None = None

    def __add__(self, other: Ends) -> Ends:
        return Ends(
            np.minimum(self.least, other.least),
            np.maximum(self.greatest, other.greatest),
            self.weights + other.weights,
            self.bad or other.bad,
        )


def block_ends(n_features: int, block: Block, n_classes: int = 0) -> Ends:
    """The ends of a block's columns, the zeros of sparse rows included.

    Of `n_classes` the weights are found too: the labels of the block are places of classes then.
    """
    if isinstance(block.X, tuple):
        rows = _csr(block, n_features)
        least, greatest = column_range(rows)
        bad = np.flatnonzero(~np.isfinite(rows.data))[:1]
        first = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1 if bad.size else -1
    else:
        least, greatest = np.full(n_features, np.inf), np.full(n_features, -np.inf)
        first = int(kernels.column_ends(block.X, least, greatest))
    weights = np.empty(0)
    if n_classes:
        weight = block.weight if block.weight.size else None
        weights = np.bincount(block.y, weight, n_classes).astype(float)
    return Ends(least, greatest, weights, (block.number, first) if first >= 0 else None)


@dataclass(frozen=True, slots=True)
class ColumnMoments:
    """Weight of some rows, mean of their columns, and sum of squares about it."""

    weight: float
    mean: Floats
    squares: Floats

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        # Chan, Golub & LeVeque (1983): as exact as two passes over all rows.
        total = self.weight + other.weight
        apart = other.mean - self.mean
        share = other.weight / total
        squares = self.squares + other.squares + apart * apart * (self.weight * share)
        return ColumnMoments(total, self.mean + apart * share, squares)


def block_moments(unit: Floats, block: Block) -> ColumnMoments:
    """The moments of a block's columns, each times its unit."""
    d = len(unit)
    if not isinstance(block.X, tuple):
        mean, squares = np.zeros((2, d))
        total = kernels.column_moments(block.X, block.weight, unit, mean, squares)
        return ColumnMoments(total, mean, squares)
    rows, w = _csr(block, d), block.weight if block.weight.size else np.ones(block.n_samples)
    weights, total = np.repeat(w, np.diff(rows.indptr)), float(w.sum())
    stored = np.bincount(rows.indices, weights, d)
    values = rows.data * unit[rows.indices]
    mean = np.asarray(np.bincount(rows.indices, weights * values, d) / total)
    off = values - mean[rows.indices]
    about_mean = np.bincount(rows.indices, weights * off * off, d)
    return ColumnMoments(total, mean, about_mean + (total - stored) * mean * mean)


def _csr(block: Block, n_features: int) -> Any:
    return sparse.csr_matrix(block.arrays(), shape=(block.n_samples, n_features))


def within_range(ends: Ends) -> Coordinates:
    """User units, scaled by a power of two where squares would overflow."""
    d = len(ends.least)
    largest = float(np.maximum(ends.greatest, -ends.least).max(initial=0.0))
    if largest <= _LARGEST_PLAIN:
        return identity(d)
    factor = math.ldexp(1.0, -math.frexp(largest)[1])
    return Coordinates(np.full(d, factor), np.zeros(d), bias_unit=factor)


def standardized(data: Blocks, ends: Ends, *, centred: bool = True) -> Coordinates:
    """Zero mean and unit spread of every column; not centred, the zeros of sparse rows stay.

    Columns are brought to a largest absolute value near 1 first, so that neither 1e300 nor
    1e-300 spoils the moments.
    """
    largest = np.maximum(ends.greatest, -ends.least)
    unit = np.ldexp(1.0, -np.clip(np.frexp(largest)[1], -1000, 1000))
    found = data.reduce(partial(block_moments, unit))
    mean, spread = found.mean, np.sqrt(found.squares / found.weight)
    constant = (
        (ends.least == ends.greatest)
        | (spread <= 10 * np.finfo(float).eps * np.abs(mean))
        | (spread < _LEAST_SPREAD * unit)
    )
    spread = np.where(constant, 1.0, spread)
    scale = np.where(constant, np.minimum(unit, 1.0), unit / spread)
    shift = -mean * (scale / unit) if centred else np.zeros(len(unit))
    return Coordinates(scale, shift)


def spread_near_one(data: Blocks, ends: Ends, *, centred: bool = True) -> Coordinates:
    """Columns whose spread is near 1, by powers of two and no shift.

    Dense and sparse rows stay equal to the last bit.
    """
    exponents = np.frexp(standardized(data, ends, centred=centred).scale)[1]
    return Coordinates(np.ldexp(1.0, exponents), np.zeros(data.n_features))


def standardized_array(X: Any, weight: Floats) -> Coordinates:
    """`standardized` of an array, or of a sparse matrix, whose columns are only scaled."""
    n, d = X.shape
    data = ArrayBlocks(kernel_rows(X), np.ones(n, np.int8), weight, d)
    ends = data.reduce(partial(block_ends, d))
    return standardized(data, ends, centred=not sparse.issparse(X))


def column_range(X: Any) -> tuple[Floats, Floats]:
    """Least and greatest value of every column, the zeros of sparse ones included."""
    ends = X.min(axis=0), X.max(axis=0)
    if sparse.issparse(X):
        ends = ends[0].toarray().ravel(), ends[1].toarray().ravel()
    return np.asarray(ends[0], dtype=float), np.asarray(ends[1], dtype=float)
