"""Rows as an ordered sequence of blocks, and the ordered reduce over them.

Block boundaries belong to the data, and sums run in block order: a reduce gives the same bits
whatever the number of threads, and wherever the blocks live.
"""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyceptron.utils.types import Floats

BLOCK_ROWS = 65_536
"""Most rows of a block."""
_BLOCK_VALUES = 64 * BLOCK_ROWS
"""Most values of a block of dense rows: 32 MB of float64."""
RUN = 64
"""Blocks that are summed before their sum is added to that of the blocks before them."""
ROWS_WORTH_THREADS = 8 * BLOCK_ROWS
"""Below this, handing blocks to threads costs more than it saves."""

KernelRows = NDArray[Any] | tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Rows as kernels take them: dense, or the (data, indices, indptr) of CSR rows."""


class Adds(Protocol):
    """A statistic: something that adds up."""

    def __add__(self: S, other: S, /) -> S: ...


S = TypeVar("S", bound=Adds)
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows with their labels (+1 inside, -1 outside) and weights.

    ``weight`` is empty where every row weighs 1.
    """

    number: int
    X: KernelRows
    y: NDArray[np.int8]
    weight: Floats

    @property
    def n_samples(self) -> int:
        return int(self.y.shape[0])

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What its rows are made of, and nothing of other rows: one array, or those of CSR."""
        if not isinstance(self.X, tuple):
            return (self.X,)
        data, indices, indptr = self.X
        rows = slice(int(indptr[0]), int(indptr[-1]))
        return data[rows], indices[rows], indptr - indptr[0]


class Blocks(Protocol):
    """What learners see of their data: fixed boundaries, fixed order.

    ``resident`` says whether the rows stay in this process, so that it pays to keep something
    for each of them; elsewhere it is found again when it is needed. A statistic that is reduced
    may travel: it can be pickled.
    """

    @property
    def n_samples(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def resident(self) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Block]: ...
    def in_order(self, numbers: Iterable[int]) -> Iterator[Block]:
        """The blocks of these numbers."""

    def reduce(self, statistic: Callable[[Block], S]) -> S:
        """Sum of the statistic over the blocks, added in block order."""


def ordered_sum(parts: Iterable[tuple[int, S]]) -> S:
    """The sum of the numbered parts of blocks: of runs of 64 blocks, then of these sums.

    So whoever has whole runs can add them up, and pass on one part each, under its first number.
    """
    runs = itertools.groupby(parts, lambda numbered: numbered[0] // RUN)
    sums = (reduce(operator.add, (part for _, part in run)) for _, run in runs)
    total: S = reduce(operator.add, sums)
    return total


def rows_of_blocks(n_features: int, *, is_sparse: bool = False) -> int:
    """How many rows make a block: a power of two, fewer where dense rows are wide."""
    rows = BLOCK_ROWS
    while not is_sparse and rows > 1 and rows * n_features > _BLOCK_VALUES:
        rows //= 2
    return rows


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view: kernels then compile for one kind of array only."""
    view = array.view()
    view.flags.writeable = False
    return view


def canonical(X: Any) -> Any:
    """CSR rows with sorted columns and no duplicates; the caller's matrix stays as it is."""
    rows = type(X)((X.data, X.indices, X.indptr), X.shape)  # a view, with flags of its own
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def kernel_rows(X: Any) -> KernelRows:
    """C-ordered dense rows, or those of a canonical CSR matrix, for the kernels: read-only.

    Indices are of 32 bits where these are enough, so that kernels compile for one kind.
    """
    if sparse.issparse(X):
        small = max(X.nnz, *X.shape) < 2**31
        indices, indptr = (
            a.astype(np.int32, copy=False) if small else a for a in (X.indices, X.indptr)
        )
        return frozen(X.data), frozen(indices), frozen(indptr)
    return frozen(np.ascontiguousarray(X))


def part(X: KernelRows, start: int, stop: int) -> KernelRows:
    """Rows start..stop, without a copy."""
    if isinstance(X, tuple):
        data, indices, indptr = X
        return data, indices, indptr[start : stop + 1]
    return X[start:stop]


def count_threads(
    n_jobs: int | None, n_samples: int, rows_worth_threads: int = ROWS_WORTH_THREADS
) -> int:
    """How many threads to use: one for few rows, else ``n_jobs`` as scikit-learn counts them.

    None is one, or what `joblib.parallel_config` says around the call; -1 is all cores that this
    process may use.
    """
    if n_samples < rows_worth_threads:
        return 1
    import joblib  # here, as few rows need none of it

    n_cores = int(joblib.cpu_count())
    if n_jobs is None:  # a cluster that joblib is told of has more cores than this machine
        return min(int(joblib.effective_n_jobs(None)), n_cores)
    return max(1, n_cores + 1 + n_jobs) if n_jobs < 0 else n_jobs


@lru_cache(maxsize=4)
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="polyceptron")


if hasattr(os, "register_at_fork"):  # a forked child has the pool but not its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


def map_in_order(function: Callable[[T], R], items: Sequence[T], n_threads: int) -> list[R]:
    """``[function(item) for item in items]``, by several threads if asked."""
    if n_threads == 1 or len(items) == 1:
        return [function(item) for item in items]
    # A few runs per thread: little to hand over, and an unlucky thread is not waited for long.
    edges = np.linspace(0, len(items), min(len(items), 4 * n_threads) + 1).astype(int)
    runs = [items[a:b] for a, b in itertools.pairwise(edges)]
    results = _pool(n_threads).map(lambda run: [function(item) for item in run], runs)
    return [result for run in results for result in run]


class ArrayBlocks:
    """Blocks of arrays in memory; how many rows they have depends on the columns by default."""

    resident = True

    def __init__(
        self,
        X: KernelRows,
        y: NDArray[np.int8],
        weight: Floats,
        n_features: int,
        *,
        n_threads: int = 1,
        block_rows: int | None = None,
    ) -> None:
        self.X, self.y, self.weight = X, frozen(y), frozen(weight)
        self.n_features, self.n_threads = n_features, n_threads
        if block_rows is None:
            block_rows = rows_of_blocks(n_features, is_sparse=isinstance(X, tuple))
        self.n_samples = n = len(y)
        places = [slice(at, min(at + block_rows, n)) for at in range(0, n, block_rows)]
        self._blocks = [
            Block(number, part(X, here.start, here.stop), self.y[here], self.weight[here])
            for number, here in enumerate(places)
        ]

    @property
    def matrix(self) -> Any:
        """The rows as an array or a CSR matrix, without a copy."""
        if isinstance(self.X, tuple):
            return sparse.csr_matrix(self.X, shape=(self.n_samples, self.n_features))
        return self.X

    @property
    def weights(self) -> Floats:
        """The weight of every row, also where each weighs 1."""
        return self.weight if self.weight.size else np.ones(self.n_samples)

    def take(self, rows: Any) -> ArrayBlocks:
        weight = self.weight[rows] if self.weight.size else self.weight
        return self.like(self.matrix[rows], self.y[rows], weight)

    def turned(self) -> ArrayBlocks:
        """The same rows with inside and outside exchanged."""
        return self.like(None, -self.y, self.weight)

    def like(self, X: Any, y: NDArray[np.int8], weight: Floats) -> ArrayBlocks:
        """Blocks of another array or CSR matrix, or with None of the same rows."""
        rows = self.X if X is None else kernel_rows(X)
        d = self.n_features if X is None else X.shape[1]
        return ArrayBlocks(rows, y, weight, d, n_threads=self.n_threads)

    def __len__(self) -> int:
        return len(self._blocks)

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks)

    def in_order(self, numbers: Iterable[int]) -> Iterator[Block]:
        return (self._blocks[number] for number in numbers)

    def reduce(self, statistic: Callable[[Block], S]) -> S:
        if len(self._blocks) == 1:
            return statistic(self._blocks[0])
        return ordered_sum(enumerate(map_in_order(statistic, self._blocks, self.n_threads)))
