"""Where the ascent of a union in pieces may start: with a piece around each group of rows inside.

Faces that start small and random may leave a group out, and no ascent mends that: of five balls in
the plane they often found four, and the other class was taken to be the one in pieces.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms

from polyceptron.data.blocks import ArrayBlocks
from polyceptron.scoring import scores
from polyceptron.utils.types import Floats

_TRIES = 4
"""Rows that are thought of as the middle of each further group."""
_AT_MIDDLE = 2.0
"""Score of a middle by the faces around it."""
_SPREADS = 2.0
"""How far from it they are, in standard deviations of its group along one direction."""
_LEAST_SPREAD = 1e-3
"""Of standard deviations of all rows, for groups of equal rows."""


def around_groups(
    data: ArrayBlocks, n_pieces: int, n_faces: int, random: np.random.Generator
) -> Floats:
    """Faces [w_k, b_k], piece after piece, of random directions around a group of rows each."""
    inside = np.flatnonzero((data.y > 0) & (data.weights > 0))
    middles, spreads = _spread_groups(data.matrix[inside], data.weights[inside], n_pieces, random)
    W = random.standard_normal((n_pieces, n_faces, data.n_features))
    W /= np.linalg.norm(W, axis=2, keepdims=True)
    W *= (_AT_MIDDLE / (_SPREADS * np.maximum(spreads, _LEAST_SPREAD)))[:, None, None]
    b = _AT_MIDDLE - (W * middles[:, None]).sum(axis=2)
    return np.concatenate([W, b[:, :, None]], axis=2).reshape(n_pieces * n_faces, -1)


def _spread_groups(
    X: NDArray[np.float64], weight: Floats, n: int, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Rows far from each other, by k-means++, and the spread of the rows nearest to each."""
    squares = row_norms(X, squared=True)

    def from_rows(places: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """These rows, and the squared distances of all from each; BLAS has no part in them."""
        rows = np.array([np.asarray(X[[one]].mean(axis=0), float).ravel() for one in places])
        half = 0.5 * (rows**2).sum(axis=1)
        return rows, np.maximum(squares[:, None] - 2.0 * scores(X, rows, -half), 0.0)

    middles, near, own = [], np.ones(len(squares)), np.zeros(len(squares), np.intp)
    for m in range(n):
        chances = weight * near if near.any() else weight
        tried = random.choice(len(squares), size=_TRIES if m else 1, p=chances / chances.sum())
        rows, found = from_rows(tried)
        found = np.minimum(found, near[:, None]) if m else found
        best = int((weight @ found).argmin())
        own[(found[:, best] < near) | (m == 0)] = m
        near = found[:, best]
        middles.append(rows[best])
    n_near = np.maximum(np.bincount(own, weight, n), 1e-300)
    return np.array(middles), np.sqrt(np.bincount(own, weight * near, n) / n_near / X.shape[1])
