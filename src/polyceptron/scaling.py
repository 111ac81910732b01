"""Coordinates to learn in: standardised columns, or the user's own kept within range.

Hyperplanes learned on ``x' = x * scale + shift`` are folded back into user units by
:meth:`Polyhedron.pullback`, so nobody downstream knows of the scaling.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from polyceptron._types import Floats

_LARGEST_PLAIN = 1e100
"""Products and sums of squares of values up to this stay far from overflow."""
_LEAST_SPREAD = 1e-305
"""A column that varies less is taken as constant: its inverse would overflow."""
_GREATEST_EXPONENT = 1000
"""Hyperplanes beyond this power of two are scaled down as a whole."""
_ROWS_AT_ONCE = 16_384


@dataclass(frozen=True, slots=True)
class Coordinates:
    """The map from user units to those of learning.

    Parameters
    ----------
    scale, shift : arrays of shape (n_features,)
        ``x' = x * scale + shift``.
    bias_unit : float
        The constant feature's value in the coordinates of learning. It is 1, but for
        columns near overflow: all of [x, 1] is then scaled by one power of two, and the
        start with it, which leaves every decision of a perceptron as it was.
    """

    scale: Floats
    shift: Floats
    bias_unit: float = 1.0

    @property
    def is_identity(self) -> bool:
        return bool((self.scale == 1.0).all() and not self.shift.any())

    def transform(self, X: Any) -> Any:
        """Rows in the coordinates of learning; X itself if they are the same."""
        if self.is_identity:
            return X
        with np.errstate(over="ignore", invalid="ignore"):  # the caller looks for infinities
            if sparse.issparse(X):
                if self.shift.any():
                    raise ValueError(
                        "X is sparse, but the columns were centred on dense rows before: "
                        "give dense rows, or learn with standardize=False"
                    )
                data = (X.data * self.scale[X.indices]).astype(X.dtype)
                return type(X)((data, X.indices, X.indptr), X.shape)
            out = np.empty(X.shape, X.dtype)
            for start in range(0, X.shape[0], _ROWS_AT_ONCE):
                rows = slice(start, start + _ROWS_AT_ONCE)
                out[rows] = X[rows] * self.scale + self.shift
        return out

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
        """Hyperplanes to learn on from those of user units, times 2**exponent.

        Infinite where they leave the range of numbers.
        """
        exponent += 2 * self._unit_exponent
        (w, in_w), (s, in_s) = np.frexp(W), np.frexp(self.scale)
        with np.errstate(over="ignore", invalid="ignore"):
            V = np.ldexp(w / s, in_w - in_s + exponent)
            return V, np.ldexp(b, exponent) - V @ self.shift


def identity(n_features: int) -> Coordinates:
    """User units as they are."""
    return Coordinates(np.ones(n_features), np.zeros(n_features))


def within_range(X: Any) -> Coordinates:
    """User units, scaled by a power of two where squares would overflow."""
    values = X.data if sparse.issparse(X) else X
    largest = float(np.abs(values).max(initial=0.0))
    if largest <= _LARGEST_PLAIN:
        return identity(X.shape[1])
    factor = math.ldexp(1.0, -math.frexp(largest)[1])
    return Coordinates(np.full(X.shape[1], factor), np.zeros(X.shape[1]), bias_unit=factor)


def standardized(X: Any, weight: Floats) -> Coordinates:
    """Zero mean and unit spread of every column; sparse columns are only scaled.

    ``weight`` is empty for rows of equal weight. Columns are brought to a largest
    absolute value near 1 first, so that neither 1e300 nor 1e-300 spoils the moments.
    """
    d = X.shape[1]
    least, greatest = column_range(X)
    largest = np.maximum(greatest, -least)
    unit = np.ldexp(1.0, -np.clip(np.frexp(largest)[1], -1000, 1000))
    mean = _column_means(X, unit, weight, np.zeros(d), 1)
    variance = _column_means(X, unit, weight, mean, 2)
    spread = np.sqrt(variance)
    constant = (
        (least == greatest)
        | (spread <= 10 * np.finfo(float).eps * np.abs(mean))
        | (spread < _LEAST_SPREAD * unit)
    )
    spread = np.where(constant, 1.0, spread)
    scale = np.where(constant, np.minimum(unit, 1.0), unit / spread)
    shift = np.zeros(d) if sparse.issparse(X) else -mean * (scale / unit)
    return Coordinates(scale, shift)


def column_range(X: Any) -> tuple[Floats, Floats]:
    """Least and greatest value of every column, the zeros of sparse ones included."""
    ends = X.min(axis=0), X.max(axis=0)
    if sparse.issparse(X):
        ends = ends[0].toarray().ravel(), ends[1].toarray().ravel()
    return np.asarray(ends[0], dtype=float), np.asarray(ends[1], dtype=float)


def _column_means(X: Any, unit: Floats, weight: Floats, center: Floats, power: int) -> Floats:
    """Weighted mean over rows of (unit * x - center) ** power, for each column."""
    n = X.shape[0]
    total = np.zeros(X.shape[1])
    for start in range(0, n, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        w = weight[rows] if weight.size else np.ones(min(_ROWS_AT_ONCE, n - start))
        if sparse.issparse(X):
            total += _sparse_sums(X[rows], unit, w, center, power)
        else:
            total += w @ (X[rows] * unit - center) ** power
    mean: Floats = total / (weight.sum() if weight.size else n)
    return mean


def _sparse_sums(X: Any, unit: Floats, w: Floats, center: Floats, power: int) -> Floats:
    weights = np.repeat(w, np.diff(X.indptr))
    stored = np.bincount(X.indices, weights, len(unit))
    terms = (X.data * unit[X.indices] - center[X.indices]) ** power
    sums = np.bincount(X.indices, weights * terms, len(unit))
    return np.asarray(sums + (w.sum() - stored) * (-center) ** power)
