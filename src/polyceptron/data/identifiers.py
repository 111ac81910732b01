"""Columns that tell rows apart, and so say nothing of new ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.data.source import Source

SAMPLE_ROWS, _SAMPLE_VALUES = 20_000, 2_000_000
"""That tell whether a column is an identifier, at most."""
_FEWEST = 15
"""Rows below which any column of whole numbers may be of different ones."""
_REPEATS = 7
"""Of so many repeats that chance would give, none is left with a chance of 1 in 1,000."""
_NAMED = re.compile(r"(?i:(^|[^a-z])(id|uuid|index|key|row|nr|no|number)$)|[a-z](Id|ID)$")


def find_identifiers(source: Source) -> list[str]:
    """Columns that look as if they told rows apart: whole numbers, all different, in a sample.

    They are no identifier if chance might have made them different, unless they rise from row to
    row, or the name of the column says so. Text that is all different is refused when it is read.
    """
    d, n = source.n_features, source.n_samples
    size = min(n, SAMPLE_ROWS, _SAMPLE_VALUES // d)
    if source.is_sparse or not size:
        return []
    X: Any = source.take(np.arange(size, dtype=np.int64) * n // size).X
    return identifiers_among(X, source.feature_names or [f"x{j}" for j in range(d)])


def identifiers_among(X: NDArray[Any], names: Sequence[str]) -> list[str]:
    """The same of some rows; of fewer than 15 nothing is said."""
    if len(X) < _FEWEST or not X.shape[1]:
        return []
    # Most columns are told from few rows.
    whole = np.flatnonzero(_all_different(X[:1000]))
    whole = whole[_all_different(X[:, whole])]
    return [names[j] for j in whole.tolist() if _is_no_chance(X[:, j], names[j])]


def _all_different(X: NDArray[Any]) -> NDArray[np.bool_]:
    """Which columns are whole numbers, no two of them the same."""
    whole = np.isfinite(X[0]) & (np.floor(X) == X).all(axis=0)
    different = np.zeros(X.shape[1], bool)
    values = np.sort(X[:, whole], axis=0)
    different[whole] = (values[1:] > values[:-1]).all(axis=0)
    return different


def _is_no_chance(values: NDArray[Any], name: str) -> bool:
    rises = bool((values[1:] > values[:-1]).all())
    repeats = len(values) ** 2 / 2 / (float(values.max()) - float(values.min()))
    return rises or repeats > _REPEATS or _NAMED.search(name) is not None
