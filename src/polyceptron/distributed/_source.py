"""Dask collections as a source of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from typing import Any, Self, TypeVar

import numpy as np
from dask.core import flatten
from distributed.protocol import pickle
from numpy.typing import NDArray

from distributed import Client, futures_of, get_client
from polyceptron.data.blocks import Adds, Block, OrderedSum, rows_of_blocks
from polyceptron.data.source import Rows, Source, SourceError, View
from polyceptron.distributed._cluster import Cluster
from polyceptron.distributed._keeper import Facts, Layout, Place
from polyceptron.distributed._partitions import (
    aligned,
    checked_rows,
    feature_names,
    is_array,
    n_partitions,
    prepared,
)
from polyceptron.utils.checks import as_names

S = TypeVar("S", bound=Adds)


class DaskBlocks(Source):
    """Rows of Dask collections, which stay on the workers of a cluster.

    Partitions are computed once, and kept by one actor on each worker. A partition is cut into
    blocks of `rows_of_blocks` rows (65,536 up to 64 columns, fewer of more), which are
    numbered in the order of the partitions. Where the lengths of all partitions but the last
    are multiples of that, the blocks are those of the same rows in memory, and so is the model,
    to the last bit. The number of workers and their threads never show in the result.

    Partitions of a lost worker are computed again on the others, so their tasks must give the
    same rows every time; other rows are noticed and refused.

    Parameters
    ----------
    X : Dask array of shape (n_samples, n_features), or Dask DataFrame of numbers
    y : Dask array of shape (n_samples,), or Dask Series
        In the same partitions as X; where the chunks of both are known it is rechunked.
    weight : Dask array of shape (n_samples,), or Dask Series, optional
        Weights of the rows, not negative. A row of weight 0 is no row.
    client : distributed.Client, optional
        The current one by default.
    classes : array-like, optional
        The labels. By default they are found.
    timeout : float, default=30.0
        Seconds to wait for a worker when none is left.

    Attributes
    ----------
    n_samples, n_features : int
    classes : ndarray
        The labels, sorted.
    starts : ndarray of int64
        The first row of each block.
    feature_names : tuple of str or None

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from polyceptron import BatchPolyceptron
    >>> from polyceptron.distributed import DaskBlocks
    >>> from polyceptron.datasets import make_dataset1
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> with Client(n_workers=1, processes=False, dashboard_address=":0"):
    ...     rows = DaskBlocks(da.from_array(X, chunks=(500, 2)), da.from_array(y, chunks=500))
    ...     model = BatchPolyceptron(random_state=0).fit_blocks(rows)
    >>> model.score(X, y) > 0.97
    True
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        weight: Any = None,
        *,
        client: Client | None = None,
        classes: Any = None,
        timeout: float = 30.0,
    ) -> None:
        X = checked_rows(X)
        y = aligned(y, "y", X)
        weight = None if weight is None else aligned(weight, "weight", X)
        self.feature_names = as_names(feature_names(X), X.shape[1])
        known = None if classes is None else np.unique(np.asarray(classes))
        parts = prepared(X, y, weight, known)
        client = _current() if client is None else client
        if client.asynchronous:
            raise ValueError("client must not be asynchronous: a fit waits for its answers")
        self._cluster = Cluster(client, parts, _blocks_of(X), _Homes(client, X), timeout)
        found = dict(chain.from_iterable(map(dict.items, self._cluster.ask("facts"))))
        facts = [found[number] for number in range(len(parts))]
        self._take_facts(facts, known)

    def _take_facts(self, facts: list[Facts], known: NDArray[Any] | None) -> None:
        widths = {fact.n_features for fact in facts}
        if len(widths) != 1:
            raise SourceError(f"partitions have different numbers of columns: {sorted(widths)}")
        self.n_features = widths.pop()
        lengths = np.array([fact.n_rows for fact in facts])
        self.n_samples = int(lengths.sum())
        if not self.n_samples:
            raise SourceError("X has no rows")
        size = rows_of_blocks(self.n_features)
        n_blocks = -(-lengths // size)
        self._firsts = np.concatenate([[0], np.cumsum(n_blocks)])
        rows = np.concatenate([[0], np.cumsum(lengths)])
        self.starts = np.concatenate(
            [np.arange(a, b, size, dtype=np.int64) for a, b in pairwise(rows)]
        )
        self._is_whole = [fact.is_whole for fact in facts]
        labels = [fact.labels for fact in facts if fact.n_rows]
        self.classes = np.unique(np.concatenate(labels)) if known is None else known
        firsts = self._firsts.tolist()
        places = {number: Place(firsts[number], fact.digest) for number, fact in enumerate(facts)}
        self._cluster.arrange(Layout(self.classes, places))

    def blocks(self, view: View, n_threads: int = 1) -> DaskView:
        """The rows as a learner sees them; workers use as many threads as they have."""
        del n_threads
        return DaskView(self, view)

    def take(self, rows: NDArray[np.int64]) -> Rows:
        numbers = np.searchsorted(self.starts, rows, side="right") - 1
        within = rows - self.starts[numbers]
        wanted = {int(number): within[numbers == number] for number in np.unique(numbers)}
        found: dict[int, Rows] = {}
        for answer in self._cluster.ask("take", wanted):
            found |= answer
        taken = [found[number] for number in sorted(wanted)]
        return Rows(*(np.concatenate(column) for column in zip(*taken, strict=True)))

    def where(self, number: int, row: int) -> str:
        partition = self._partition(number)
        row += int(self.starts[number] - self.starts[self._firsts[partition]])
        counted = "" if self._is_whole[partition] else " (rows of weight 0 not counted)"
        return f"partition {partition}, row {row}{counted}"

    def close(self) -> None:
        """Let the workers forget the rows."""
        self._cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _partition(self, number: int) -> int:
        return int(np.searchsorted(self._firsts, number, side="right")) - 1

    def _reduced(self, view: bytes, statistic: Callable[[Block], S]) -> S:
        answers = self._cluster.ask("reduce", view, statistic)
        total: OrderedSum[S] = OrderedSum()
        for number, part in sorted(chain.from_iterable(answers), key=lambda item: item[0]):
            total.add(number, part)
        return total.result()

    def _rows(self, number: int) -> Rows:
        found = self._cluster.ask("rows", number, partition=self._partition(number))
        return Rows(*next(rows for rows in found if rows is not None))


class DaskView:
    """Rows on workers as a learner sees them.

    Parameters
    ----------
    source : DaskBlocks
    view : View
    """

    resident = False

    def __init__(self, source: DaskBlocks, view: View) -> None:
        self._source, self._view = source, view
        self._sent = bytes(pickle.dumps(view))
        self.n_samples, self.n_features = source.n_samples, source.n_features

    def __len__(self) -> int:
        return len(self._source.starts)

    def __iter__(self) -> Iterator[Block]:
        return self.in_order(range(len(self)))

    def in_order(self, numbers: Iterable[int]) -> Iterator[Block]:
        """The blocks of these numbers, which come here one by one."""
        for number in numbers:
            yield self._view.block(number, *self._source._rows(number), own=True)

    def reduce(self, statistic: Callable[[Block], S]) -> S:
        """Sum of the statistic over the blocks, added in block order."""
        return self._source._reduced(self._sent, statistic)


class _Homes:
    """Which worker has which partition of X in memory."""

    def __init__(self, client: Client, X: Any) -> None:
        self._client = client
        keys = {key: number for number, key in enumerate(flatten(X.__dask_keys__()))}
        futures = [future for future in futures_of(X) if future.key in keys]
        self._numbers = {future.key: keys[future.key] for future in futures}
        self._futures = futures

    def __call__(self) -> dict[int, str]:
        if not self._futures:
            return {}
        who_has = self._client.who_has(self._futures)
        return {
            self._numbers[key]: addresses[0]
            for key, addresses in who_has.items()
            if addresses and key in self._numbers
        }


def _blocks_of(X: Any) -> list[int]:
    if is_array(X) and not np.isnan(sum(X.shape)):
        size = rows_of_blocks(X.shape[1])
        return [-(-length // size) for length in X.chunks[0]]
    return [1] * n_partitions(X)


def _current() -> Client:
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "there is no Dask client: give one by client=, or make one with "
            "distributed.Client() first"
        ) from None
