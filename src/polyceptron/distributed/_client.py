"""The client's side: tasks are submitted, and their results waited for while there are workers."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import numpy as np
from distributed.comm import CommClosedError

from distributed import CancelledError, Client, KilledWorker, LocalCluster, get_client

_LOOK = 0.5
"""Seconds between looks at who is still there, while results are waited for."""
_ANSWER = 10.0
"""Seconds for the scheduler to say who is there."""


class ClusterError(RuntimeError):
    """The cluster cannot go on: no worker is left, or rows that were lost cannot come back."""


class TaskClient:
    """A Dask client that gives up where Dask would wait for ever: when no worker is left.

    What a lost worker had is computed again by Dask, from the tasks that made it. Without a
    client it is the current one, or that of a cluster on this machine, which `close` ends.
    """

    def __init__(self, client: Client | None, timeout: float) -> None:
        self._stack, self._timeout = ExitStack(), timeout
        self._client = client or _current(self._stack)
        if self._client.asynchronous:
            raise ValueError("client must not be asynchronous: a fit waits for its answers")
        self.close = self._stack.close

    def compute(self, parts: list[Any], *, spread: bool) -> list[Any]:
        """Futures of Delayed objects; with ``spread``, neighbours go to the same worker.

        Left to itself, Dask deals them out in turns, and a worker that has every other block
        has no run of blocks to add up.
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

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The future of a call, which Dask makes where the futures among its arguments are."""
        if self._client.status != "running":
            raise ClusterError("the Dask client is closed")
        return self._client.submit(function, *arguments, pure=False)

    def gather(self, futures: Iterable[Any]) -> list[Any]:
        """The results of futures, in their order."""
        try:
            return list(self._client.sync(self._gather, list(futures)))
        except KilledWorker as error:
            raise ClusterError(f"workers die, perhaps for want of memory: {error}") from error
        except (CancelledError, CommClosedError) as error:
            raise ClusterError(f"the cluster was closed or restarted: {error!r}") from error

    async def _gather(self, futures: list[Any]) -> Any:
        task = asyncio.ensure_future(self._client.gather(futures, asynchronous=True))
        end = time.monotonic() + self._timeout
        try:
            while not (await asyncio.wait([task], timeout=_LOOK))[0]:
                if await self._has_workers():
                    end = time.monotonic() + self._timeout
                elif time.monotonic() > end:
                    seconds = f"{self._timeout:g} seconds"
                    raise ClusterError(f"no worker is left, and none came within {seconds}")
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
