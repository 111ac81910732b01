"""Arrays in memory as a source."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyceptron.data.blocks import ArrayBlocks, canonical, kernel_rows, rows_of_blocks
from polyceptron.data.source import LabelledRows, Source, View
from polyceptron.utils.checks import as_floats
from polyceptron.utils.types import Floats


class ArraySource(Source):
    """Rows in memory, or in a memory map: an array, which may be one of float32, or a CSR matrix.

    Weights are above zero. ``classes`` are all labels, sorted, where these rows need not have all.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        weight: Any = None,
        *,
        classes: Any = None,
        feature_names: Any = None,
        block_rows: int | None = None,
    ) -> None:
        self.is_sparse = bool(sparse.issparse(X))
        self._X: Any = canonical(X.tocsr()) if self.is_sparse else _dense(X)
        if self._X.ndim != 2:
            raise ValueError(f"X must be 2-D, one row a sample; got shape {self._X.shape}")
        if classes is None:
            self.classes, self.codes = np.unique(np.asarray(y), return_inverse=True)
        else:
            self.classes, self.codes = np.asarray(classes), np.searchsorted(classes, y)
        self._weight: Floats = np.empty(0) if weight is None else as_floats(weight, "weight")
        self.n_samples, self.n_features = self._X.shape
        for name, array in [("y", self.codes), ("weight", self._weight)]:
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
        self._block_rows = block_rows or rows_of_blocks(self.n_features, is_sparse=self.is_sparse)
        self.starts = np.arange(0, self.n_samples, self._block_rows)

    @property
    def n_values(self) -> int:
        return int(self._X.nnz if self.is_sparse else self._X.size)

    def blocks(self, view: View, n_threads: int = 1) -> ArrayBlocks:
        all_rows = view.block(0, kernel_rows(self._X), self.codes, self._weight)
        X, y, weight = all_rows.X, all_rows.y, all_rows.weight
        options = {"n_threads": n_threads, "block_rows": self._block_rows}
        return ArrayBlocks(X, y, weight, self.n_features, **options)

    def take(self, rows: NDArray[np.int64]) -> LabelledRows:
        weight = self._weight[rows] if self._weight.size else self._weight
        X = self._X[rows]
        return LabelledRows(kernel_rows(X) if self.is_sparse else X, self.codes[rows], weight)

    def where(self, number: int, row: int) -> str:
        return f"row {number * self._block_rows + row}"


def _dense(X: Any) -> NDArray[Any]:
    kept = isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64)
    return np.ascontiguousarray(X if kept else as_floats(X, "X"))
