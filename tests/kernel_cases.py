"""Rows and hyperplanes for the tests of the kernels, and what gives them to a kernel."""

import os
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime

from polyceptron import kernels
from polyceptron.data.blocks import frozen, kernel_rows

KS = [1, 2, 4, 5, 9]
DS = [1, 3, 20, 130]
NS = [1, 7, 8, 64, 65, 1500]
# Every K with every n, which tiles depend on; the columns take turns.
SHAPES = [(K, DS[(i + j) % 4], n) for i, K in enumerate(KS) for j, n in enumerate(NS)]
REAL = [(1, 20, 65), (2, 3, 1500), (4, 130, 64), (5, 20, 1500), (9, 1, 7)]
# test_jit.py runs these tests without JIT too, on the plain Python bodies: small then.
PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
if PLAIN:
    SHAPES = REAL = [(1, 3, 8), (2, 1, 1), (4, 3, 65), (5, 20, 7), (9, 3, 64)]

NO_ROWS = np.empty(0, np.int64)
NO_WEIGHT = frozen(np.empty(0))
NO_KEYS = np.empty(0, np.float32)
NO_SUMS = (np.zeros((0, 0)), np.empty(0))


def with_int64_indices(X):
    rows = sp.csr_matrix(X)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


KINDS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "csr32": sp.csr_matrix,
    "csr64": with_int64_indices,
}


def every_kind(K):
    """Indices of int64 need no vectors of their own: one width will do."""
    return [kind for kind in KINDS if kind != "csr64" or K > 1]


def kinds_for(K):
    """The kinds that a kernel is compiled for here, each in seconds.

    Kernels read rows by `score_rows`, `add_row` and `row_values` alone, which are tried with every
    kind in `decide`, `frozen_block` and `inverse_norms`; without JIT all are.
    """
    rare = () if PLAIN else ("csr64",) if K > 1 else ("csr64", "float32")
    return [kind for kind in every_kind(K) if kind not in rare]


class Case(NamedTuple):
    """Some rows and hyperplanes; y and weight as the kernels take them."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    W: np.ndarray
    b: np.ndarray

    @property
    def K(self):  # noqa: N802 - as everywhere
        return len(self.b)

    @property
    def panels(self):
        return kernels.to_panels(self.W, self.b)

    def rows(self, kind):
        rows = KINDS[kind](self.X)
        if kind == "csr64":  # as rows of more than two billion values are
            return frozen(rows.data), frozen(rows.indices), frozen(rows.indptr)
        return kernel_rows(rows)

    def zeros(self):
        return np.zeros(self.W.shape), np.zeros(self.K)


@cache
def whole(K, d, n):
    """Small whole numbers: scores are exact in any order of summation, and often tie."""
    rng = np.random.default_rng([K, d, n])
    X = rng.integers(-3, 4, (n, d)) * (rng.random((n, d)) < 0.5)
    X[:: max(1, n // 5)] = 0  # empty rows in CSR
    return Case(
        X.astype(float),
        frozen(rng.choice([-1, 1], n).astype(np.int8)),
        frozen(rng.integers(1, 4, n).astype(float)),
        rng.integers(-2, 3, (K, d)).astype(float),
        rng.integers(-2, 3, K).astype(float),
    )


@cache
def real(K, d, n):
    rng = np.random.default_rng([K, d, n, 1])
    X = rng.standard_normal((n, d)).astype(np.float32).astype(float)  # the same in float32
    X[rng.random((n, d)) < 0.3] = 0
    y = rng.choice([-1, 1], n).astype(np.int8)
    W, b = rng.standard_normal((K, d)), rng.standard_normal(K)
    return Case(X, frozen(y), frozen(rng.random(n) + 0.5), W, b)


def scaled(K, d, n, size):
    case = real(K, d, n)
    return case._replace(W=size * case.W, b=size * case.b)


def either_weight(case):
    """What the kernel is given, and what it means."""
    return (case.weight, case.weight), (NO_WEIGHT, np.ones(len(case.y)))


def slopes(value, case, *more):
    """Of ``value(case, *more)`` in [W, b] and what else it takes, by differences."""

    def at(point):
        theta = point[: case.W.size + case.K].reshape(case.K, -1)
        moved = case._replace(W=theta[:, :-1].copy(), b=theta[:, -1].copy())
        return value(moved, *point[case.W.size + case.K :])

    return approx_fprime(np.append(np.column_stack([case.W, case.b]).ravel(), more), at)


CASES = pytest.mark.parametrize(
    ("make", "K", "d", "n"),
    [(whole, *shape) for shape in SHAPES] + [(real, *shape) for shape in REAL if not PLAIN],
)


def check(found, expected, make):
    """Exactly equal where the arithmetic is exact, else but for rounding."""
    if make is whole:
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-11)


def batch(case, kind, weight, margin, keys, threshold=np.inf, credit=0.0):
    """G, g and totals; `keys` change."""
    rows, (G, g), totals = case.rows(kind), case.zeros(), np.zeros(4)
    inverse_norm = np.empty(len(keys), np.float32)
    if len(keys):
        kernels.inverse_norms(rows, inverse_norm)
    kernels.batch_block(
        rows, case.y, weight, *case.panels, margin, G, g, totals,
        keys, inverse_norm, np.float32(threshold), credit,
    )  # fmt: skip
    return G, g, totals


def online(case, kind, weight, order, U, u, seen=0, margin=1.0):
    panel, bias = case.panels
    counts = kernels.online_pass(
        case.rows(kind), case.y, weight, order, panel, bias, case.K, 0.5, 0.25, margin, U, u, seen
    )
    assert (bias[case.K :] == np.finfo(float).max).all()
    return *kernels.from_panels(panel, bias, case.K), *counts
