"""Rows so near a face that the order of a sum, or the rounding of it, says on which side they are.

Other programs that read a rule add in another order, in decimals or in fractions. They all answer
alike where a face keeps clear of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from polyceptron.utils.types import Flags, Floats, Indices

_BITS = 10
"""After the point, of numbers whose sums are taken to be exact."""


class Clearance:
    """How near a face may come to some rows."""

    def __init__(self, X: Any) -> None:
        self._X = X
        top = abs(X).max(axis=0)
        self._largest = np.asarray(top.toarray() if sparse.issparse(top) else top, float).ravel()

    def is_clear(self, w: Floats, c: float, z: Floats) -> bool:
        """Whether every program puts these rows, where w . x is z, on the same side of c."""
        return not len(self.unclear(w, c, z))

    def unclear(self, w: Floats, c: float, z: Floats) -> Indices:
        """The numbers of the rows of which that is not so."""
        # Twice the error of a sum in any order: that of ours, and that of another.
        unit = 2 * np.finfo(float).eps * (np.count_nonzero(w) + 2)
        size = np.abs(w)
        near: Indices = np.flatnonzero(np.abs(z - c) <= unit * (size @ self._largest + abs(c)))
        if not len(near):
            return near
        used = np.flatnonzero(w)
        X = self._X[near][:, used]
        X = X.toarray() if sparse.issparse(X) else np.asarray(X, float)
        sizes = np.abs(X) @ size[used] + abs(c)
        is_exact = _are_exact(np.append(w[used], c)) & _are_exact(X).all(axis=1)
        is_exact &= sizes < 2.0 ** (53 - 2 * _BITS)
        kept: Indices = near[(np.abs(z[near] - c) <= unit * sizes) & ~is_exact]
        return kept


def _are_exact(values: Floats) -> Any:
    """Whether numbers are multiples of a power of two, one and all or by row."""
    scaled = np.ldexp(values, _BITS)
    found: Flags = scaled == np.rint(scaled)
    return found.all() if values.ndim == 1 else found
