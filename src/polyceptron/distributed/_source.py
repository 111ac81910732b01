"""Dask collections as a source of rows, which stay on the workers of a cluster."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from distributed.comm import CommClosedError
from numpy.typing import NDArray

from distributed import CancelledError, Client, KilledWorker, LocalCluster, futures_of, get_client
from polyceptron.data.blocks import Adds, Block, ordered_sum, rows_of_blocks
from polyceptron.data.source import LabelledRows, Source, SourceError, View
from polyceptron.distributed import _partitions
from polyceptron.utils.checks import as_label_array, as_names

S = TypeVar("S", bound=Adds)

_LOOK, _ANSWER = 0.5, 10.0
"""Seconds between looks at who is still there, and for the scheduler to say so."""


class ClusterError(RuntimeError):
    """The cluster cannot go on: no worker is left, or rows that were lost cannot come back."""


class TaskClient:
    """A Dask client that gives up where Dask would wait for ever: when no worker is left.

    What a lost worker had is computed again by Dask, from the tasks that made it.
    """

    def __init__(self, client: Client | None, timeout: float) -> None:
        self._stack, self._timeout = ExitStack(), timeout
        self._client = client or _current(self._stack)
        if self._client.asynchronous:
            raise ValueError("client must not be asynchronous: a fit waits for its answers")
        self.close = self._stack.close

    def compute(self, parts: list[Any], *, spread: bool) -> list[Any]:
        """Futures of Delayed objects, with ``spread`` neighbours on the same worker.

        Dask deals them out in turns, which leaves a worker no run of blocks to add up.
        """
        threads = (self._client.nthreads() if spread else {}) or {None: 1}
        ends = np.rint(len(parts) * np.cumsum([0, *threads.values()]) / sum(threads.values()))
        futures: list[Any] = []
        for address, (begin, end) in zip(threads, pairwise(ends.astype(int)), strict=True):
            # Others are allowed, or tasks of a worker that dies meanwhile would wait for ever.
            at = {"workers": address, "allow_other_workers": address is not None}
            futures += self._client.compute(parts[begin:end], **at)
        return futures

    def by_worker(self, futures: list[Any]) -> list[list[int]]:
        """The places of the futures that each worker has."""
        who_has, found = self._client.who_has(futures), defaultdict(list)
        for place, future in enumerate(futures):
            found[next(iter(who_has.get(future.key, ())), "")].append(place)
        return list(found.values())

    def map(self, function: Callable[..., Any], *arguments: Any, **common: Any) -> list[Any]:
        """Futures of calls where the futures among the arguments are, in one message."""
        if self._client.status != "running":
            raise ClusterError("the Dask client is closed")
        return list(self._client.map(function, *arguments, pure=False, **common))

    def gather(self, futures: list[Any]) -> list[Any]:
        """The results of futures, in their order."""
        try:
            return list(self._client.sync(self._gather, futures))
        except (KilledWorker, CancelledError, CommClosedError) as error:
            why = "the cluster was closed, or workers died, perhaps for want of memory"
            raise ClusterError(f"{why}: {error!r}") from error

    async def _gather(self, futures: list[Any]) -> Any:
        task = asyncio.ensure_future(self._client.gather(futures, asynchronous=True))
        end = time.monotonic() + self._timeout
        try:
            while not (await asyncio.wait([task], timeout=_LOOK))[0]:
                if await self._has_workers():
                    end = time.monotonic() + self._timeout
                elif time.monotonic() > end:
                    raise ClusterError(f"no worker is left, and none came in {self._timeout:g} s")
            return task.result()
        finally:
            task.cancel()

    async def _has_workers(self) -> bool:
        try:
            return bool(await asyncio.wait_for(self._client.scheduler.ncores(), _ANSWER))
        except (OSError, TimeoutError, RuntimeError) as error:
            raise ClusterError(f"the scheduler does not answer: {error!r}") from error


def _current(stack: ExitStack) -> Client:
    try:
        return get_client()
    except ValueError:
        # For this machine only: Dask's own default is a dashboard on all its addresses.
        private = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
        cluster = LocalCluster(processes=True, scheduler_kwargs={"dashboard": False}, **private)
        return stack.enter_context(Client(stack.enter_context(cluster), set_as_default=False))


def source_of(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    client: Client | None = None,
    timeout: float = 30.0,
) -> DaskSource:
    """Rows of Dask collections, which stay on the workers of a cluster.

    `fit` of a Dask collection makes such a source and closes it. To fit several models to the
    same rows, load them once: ``with source_of(X, y) as rows: model.fit_blocks(rows)``.

    A partition is computed once, and cut into blocks of 65,536 rows (fewer of more than 64
    columns). Where the lengths of all partitions but the last are multiples of that, the model is
    that of the same rows in memory, to the last bit. Workers and threads never show in the result.
    Partitions of a lost worker are computed again, and refused if they come out different.

    Parameters
    ----------
    X : Dask array of shape (n_samples, n_features), or Dask DataFrame of numbers
    y : Dask array of shape (n_samples,), or Dask Series
        In the same partitions as X; where the chunks of both are known it is rechunked.
    sample_weight : Dask array of shape (n_samples,), or Dask Series, optional
        Weights of the rows, not negative. A row of weight 0 is no row.
    client : distributed.Client, optional
        The current one by default. Where there is none, a `LocalCluster` of processes is started,
        and closed with the source: a script then needs ``if __name__ == "__main__":``.
    timeout : float, default=30.0
        Seconds to wait for a worker when none is left.

    Examples
    --------
    >>> import dask.array as da
    >>> from polyceptron import BatchPolyceptron
    >>> from polyceptron.datasets import make_dataset1
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> lazy = da.from_array(X, chunks=(500, 2)), da.from_array(y, chunks=500)
    >>> with Client(processes=False, dashboard_address=None), source_of(*lazy) as rows:
    ...     model = BatchPolyceptron(random_state=0).fit_blocks(rows)
    >>> model.score(X, y) > 0.97
    True
    """
    parts, names = _partitions.prepared(X, y, sample_weight), _partitions.feature_names(X)
    tasks = TaskClient(client, timeout)
    try:
        futures = tasks.compute(parts, spread=not futures_of(X))
        facts = tasks.gather(tasks.map(attrgetter("facts"), futures))
        source = DaskSource(tasks, futures, facts)
        source.feature_names = as_names(names, source.n_features)
        return source
    except BaseException:
        tasks.close()
        raise


class DaskSource(Source):
    """Rows on the workers of a cluster; `source_of` makes it of Dask collections."""

    def __init__(self, tasks: TaskClient, futures: list[Any], facts: list[Any]) -> None:
        widths = {fact.n_features for fact in facts}
        if len(widths) != 1:
            raise SourceError(f"partitions have different numbers of columns: {sorted(widths)}")
        self.n_features = widths.pop()
        lengths = np.array([fact.n_rows for fact in facts])
        self.n_samples = int(lengths.sum())
        if not self.n_samples:
            raise SourceError("X has no rows")
        labels = [fact.labels for fact in facts if fact.n_rows]
        self.classes = as_label_array(np.unique(np.concatenate(labels)))
        size = rows_of_blocks(self.n_features)
        edges = np.concatenate([[0], np.cumsum(lengths)])
        starts = [np.arange(a, b, size, dtype=np.int64) for a, b in pairwise(edges)]
        self.starts = np.concatenate(starts)
        self._firsts = np.concatenate([[0], np.cumsum([len(start) for start in starts])])
        self._is_whole = [fact.is_whole for fact in facts]
        self._tasks = tasks
        self._hold(futures, facts)

    def _hold(self, futures: list[Any], facts: list[Any]) -> None:
        """Have each worker cut its partitions into blocks, and keep these."""
        self._held: list[Any] = []
        holder = np.empty(len(facts), np.intp)
        for numbers in self._tasks.by_worker(futures):
            holder[numbers] = len(self._held)
            parts, once = zip(*((futures[n], facts[n]) for n in numbers), strict=True)
            arguments = list(parts), once, self._firsts[numbers].tolist(), self.classes
            calls = ([argument] for argument in arguments)
            self._held += self._tasks.map(_partitions.cut_into_blocks, *calls)
        self._holder = np.repeat(holder, np.diff(self._firsts))

    def blocks(self, view: View, n_threads: int = 1) -> DaskBlocks:
        """The rows as a learner sees them; workers use as many threads as they have."""
        del n_threads
        return DaskBlocks(self, view)

    def take(self, rows: NDArray[np.int64]) -> LabelledRows:
        self._check_open()
        numbers = np.searchsorted(self.starts, rows, side="right") - 1
        within, holder = rows - self.starts[numbers], self._holder[numbers]
        asked = np.unique(holder).tolist()
        places = [np.flatnonzero(holder == held) for held in asked]
        calls = (
            [self._held[held] for held in asked],
            [numbers[at] for at in places],
            [within[at] for at in places],
        )
        answers = self._tasks.gather(self._tasks.map(_partitions.taken, *calls))
        order = np.argsort(np.concatenate(places))
        columns = [np.concatenate(column) for column in zip(*answers, strict=True)]
        return LabelledRows(*(column[order] if len(column) else column for column in columns))

    def where(self, number: int, row: int) -> str:
        partition = int(np.searchsorted(self._firsts, number, side="right")) - 1
        row += int(self.starts[number] - self.starts[self._firsts[partition]])
        counted = "" if self._is_whole[partition] else " (rows of weight 0 not counted)"
        return f"partition {partition}, row {row}{counted}"

    def close(self) -> None:
        """Let the workers forget the rows."""
        self._held = []
        self._tasks.close()

    def _check_open(self) -> None:
        if not self._held:
            raise ClusterError("these rows were closed; make a new source of them")


class DaskBlocks:
    """Rows on workers as a learner sees them."""

    resident = False

    def __init__(self, source: DaskSource, view: View) -> None:
        self._source, self._view = source, view
        self._kept: list[Any] = []
        self.n_samples, self.n_features = source.n_samples, source.n_features

    def __len__(self) -> int:
        return len(self._source.starts)

    def __iter__(self) -> Iterator[Block]:
        return self.in_order(range(len(self)))

    def in_order(self, numbers: Iterable[int]) -> Iterator[Block]:
        """The blocks of these numbers, which come here one by one."""
        edges = [*self._source.starts.tolist(), self.n_samples]
        for number in numbers:
            rows = self._source.take(np.arange(edges[number], edges[number + 1]))
            yield self._view.block(number, *rows, own=True)

    def reduce(self, statistic: Callable[[Block], S]) -> S:
        """Sum of the statistic over the blocks, added in block order."""
        self._source._check_open()
        tasks, held = self._source._tasks, self._source._held
        self._kept = self._kept or tasks.map(_partitions.seen, held, view=self._view)
        common = {"view": self._view, "statistic": statistic}
        answers = tasks.gather(tasks.map(_partitions.reduced, held, self._kept, **common))
        total: S = ordered_sum(sorted(chain.from_iterable(answers), key=lambda item: item[0]))
        return total
