"""Rows and labels to measure on; all follow from fixed seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyceptron.data.blocks import ArrayBlocks, kernel_rows
from polyceptron.datasets import make_polyhedron
from polyceptron.optim.criterion import gradient
from polyceptron.optim.planes import Planes
from polyceptron.scoring import least_margins


@dataclass(frozen=True)
class Case:
    """Rows of a cube, labelled by a polyhedron, and hyperplanes some way off from it."""

    X: NDArray
    y: NDArray[np.int8]
    W: NDArray[np.float64]
    b: NDArray[np.float64]

    def blocks(self, n_threads: int = 1) -> ArrayBlocks:
        return ArrayBlocks(
            kernel_rows(self.X), self.y, np.empty(0), self.X.shape[1], n_threads=n_threads
        )

    def planes(self) -> Planes:
        return Planes.of(self.W, self.b)

    def share_of_mistakes(self) -> float:
        return float(gradient(self.blocks(), self.planes(), 0.0).totals[1] / len(self.y))

    def as_float32(self) -> Case:
        return Case(self.X.astype(np.float32), self.y, self.W, self.b)


def polyhedral(n: int, d: int, K: int, off: float = 0.1) -> Case:
    """Labels without noise; ``off`` is how far the hyperplanes are from the true ones.

    0.1 gives mistakes at 2 to 5 % of the rows.
    """
    rng = np.random.default_rng(0)
    _, _, truth = make_polyhedron(10, d, K, random_state=0)
    X = rng.uniform(-1.0, 1.0, (n, d))
    y = np.where(least_margins(X, truth.W, truth.b, n_jobs=-1)[0] >= 0, 1, -1).astype(np.int8)
    W = truth.W + off * rng.standard_normal((K, d)) / np.sqrt(d)
    return Case(X, y, W, truth.b)


def with_gap(n: int, d: int, K: int, gap: float) -> Case:
    """No row within ``gap`` of the boundary; the hyperplanes are a learner's random start."""
    X, y, _ = make_polyhedron(n, d, K, margin=gap, random_state=0)
    return Case(X, y.astype(np.int8), *random_start(d, K, 0))


def random_start(d: int, K: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gaussian normals with zero biases, as ``init="random"`` has them."""
    return np.random.default_rng(seed).standard_normal((K, d)), np.zeros(K)


def sparse_rows(n: int, d: int, per_row: int) -> tuple[sparse.csr_matrix, NDArray[np.int64]]:
    """CSR rows with Gaussian values at random columns, labelled by one hyperplane."""
    rng = np.random.default_rng(0)
    indices = rng.integers(0, d, (n, per_row), dtype=np.int32)
    indptr = np.arange(0, n * per_row + 1, per_row, dtype=np.int32)
    X = sparse.csr_matrix((rng.standard_normal(n * per_row), indices.ravel(), indptr), (n, d))
    X.sum_duplicates()
    return X, np.where(X @ rng.standard_normal(d) >= 0, 1, -1)
