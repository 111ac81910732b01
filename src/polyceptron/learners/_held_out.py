"""Which rows a learner holds out, to see how it does on others than those it learns from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyceptron.utils.types import Floats


def hold_out(
    y: NDArray[np.int64], weight: Floats, share: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which rows to hold out: about this share of each class's weight, never all its rows."""
    held = np.zeros(len(y), bool)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        weights = weight[rows]
        left = share * float(weights.sum())
        for row, own in zip(rows[:-1].tolist(), weights.tolist(), strict=False):
            if own / 2 < left:  # nearer to the share with it than without
                held[row] = True
                left -= own
            elif left <= 0:
                break
    return held
