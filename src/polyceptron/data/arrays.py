"""Arrays in memory as a source."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.data.blocks import ArrayBlocks, rows_of_blocks
from polyceptron.data.source import Rows, Source, View
from polyceptron.utils.checks import as_floats
from polyceptron.utils.types import Floats


class ArraySource(Source):
    """Rows in memory, or in a memory map.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    weight : array-like of shape (n_samples,), optional
        Above zero.
    feature_names : sequence of str, optional
    block_rows : int, optional
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        weight: Any = None,
        *,
        feature_names: Any = None,
        block_rows: int | None = None,
    ) -> None:
        kept = isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64)
        self._X: NDArray[Any] = np.ascontiguousarray(X if kept else as_floats(X, "X"))
        if self._X.ndim != 2:
            raise ValueError(f"X must be 2-D, one row a sample; got shape {self._X.shape}")
        self.classes, self._codes = np.unique(np.asarray(y), return_inverse=True)
        self._weight: Floats = np.empty(0) if weight is None else as_floats(weight, "weight")
        self.n_samples, self.n_features = self._X.shape
        for name, array in [("y", self._codes), ("weight", self._weight)]:
            if array.size and array.shape != (self.n_samples,):
                raise ValueError(f"{name} must have {self.n_samples} items; got {array.shape}")
        wrong = ~((self._weight > 0) & (self._weight < np.inf))
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                f"weight must be above 0, and finite; row {row} is {self._weight[row]}"
            )
        names = feature_names if feature_names is not None else getattr(X, "columns", None)
        self.feature_names = None if names is None else tuple(map(str, names))
        self._block_rows = block_rows or rows_of_blocks(self.n_features)
        self.starts = np.arange(0, self.n_samples, self._block_rows)

    def blocks(self, view: View, n_threads: int = 1) -> ArrayBlocks:
        whole = view.block(0, self._X, self._codes, self._weight)
        return ArrayBlocks(
            whole.X,
            whole.y,
            whole.weight,
            self.n_features,
            n_threads=n_threads,
            block_rows=self._block_rows,
        )

    def take(self, rows: NDArray[np.int64]) -> Rows:
        weight = self._weight[rows] if self._weight.size else self._weight
        return Rows(self._X[rows], self._codes[rows], weight)

    def where(self, number: int, row: int) -> str:
        return f"row {number * self._block_rows + row}"
