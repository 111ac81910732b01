"""Blocks that are read when they are needed, while others are worked on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any, NamedTuple, Protocol, TypeVar

from numpy.typing import NDArray

from polyceptron.data.blocks import Adds, Block, OrderedSum
from polyceptron.data.source import Codes, View
from polyceptron.utils.types import Floats

S = TypeVar("S", bound=Adds)
_AHEAD = 2
"""Blocks that are read before anybody asks for them."""


class Buffer(NamedTuple):
    """Room for the rows of one block."""

    X: NDArray[Any]
    codes: Codes
    weight: Floats


class Reader(Protocol):
    """Where blocks are read from: by one thread, into the room that it is given."""

    n_samples: int
    n_features: int
    n_blocks: int

    def buffer(self) -> Buffer: ...
    def read(self, number: int, into: Buffer) -> Buffer:
        """Read a block; what is returned may be shorter than the room."""
        ...


class _Failed(NamedTuple):
    error: BaseException


class StreamBlocks:
    """Blocks from a reader: one thread reads ahead, the others work.

    Memory is that of a few blocks, whatever the number of rows.

    Parameters
    ----------
    reader : Reader
    view : View
    n_threads : int
        Threads that work; they change the speed, never the result.
    """

    resident = False

    def __init__(self, reader: Reader, view: View, n_threads: int = 1) -> None:
        self._reader, self._view, self._n_threads = reader, view, max(1, n_threads)
        self.n_samples, self.n_features = reader.n_samples, reader.n_features
        self._buffers = [reader.buffer() for _ in range(self._n_threads + _AHEAD)]

    def __len__(self) -> int:
        return self._reader.n_blocks

    def __iter__(self) -> Iterator[Block]:
        return self.in_order(range(len(self)))

    def in_order(self, numbers: Iterable[int]) -> Iterator[Block]:
        """The blocks of these numbers; each is good until the next is asked for."""
        with _Ahead(self._reader, self._buffers, numbers) as ahead:
            for number, buffer, filled in ahead:
                yield self._view.block(number, *filled, own=True)
                ahead.free(buffer)

    def reduce(self, statistic: Callable[[Block], S]) -> S:
        """Sum of the statistic over the blocks, added in block order."""
        total: OrderedSum[S] = OrderedSum()
        waiting: dict[int, S] = {}
        lock, due = threading.Lock(), [0]

        def work(ahead: _Ahead) -> None:
            for number, buffer, filled in ahead:
                part = statistic(self._view.block(number, *filled, own=True))
                ahead.free(buffer)
                with lock:
                    waiting[number] = part
                    while due[0] in waiting:
                        total.add(due[0], waiting.pop(due[0]))
                        due[0] += 1

        with _Ahead(self._reader, self._buffers, range(len(self))) as ahead:
            if self._n_threads == 1:
                work(ahead)
            else:
                with ThreadPoolExecutor(self._n_threads) as pool:
                    jobs = [pool.submit(self._worked, work, ahead) for _ in range(self._n_threads)]
                for job in jobs:
                    job.result()
        return total.result()

    @staticmethod
    def _worked(work: Callable[[_Ahead], None], ahead: _Ahead) -> None:
        try:
            work(ahead)
        except BaseException:
            ahead.stop()  # the others need not go on
            raise


class _Ahead:
    """A thread that reads blocks; any number of threads may take them."""

    def __init__(self, reader: Reader, buffers: list[Buffer], numbers: Iterable[int]) -> None:
        self._reader, self._numbers = reader, numbers
        self._free: Queue[Buffer | None] = Queue()
        for buffer in buffers:
            self._free.put(buffer)
        self._ready: Queue[tuple[int, Buffer, Buffer] | _Failed | None] = Queue()
        self._stopped = False
        self._thread = threading.Thread(target=self._read, name="polyceptron-read", daemon=True)

    def __enter__(self) -> _Ahead:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._thread.join()

    def stop(self) -> None:
        self._stopped = True
        self._free.put(None)
        self._ready.put(None)

    def free(self, buffer: Buffer) -> None:
        """Give room back."""
        self._free.put(buffer)

    def __iter__(self) -> Iterator[tuple[int, Buffer, Buffer]]:
        while True:
            item = self._ready.get()
            if not isinstance(item, tuple) or isinstance(item, _Failed):
                self._ready.put(item)  # for the other threads
                if isinstance(item, _Failed):
                    raise item.error
                return
            yield item

    def _read(self) -> None:
        try:
            for number in self._numbers:
                buffer = self._free.get()
                if buffer is None or self._stopped:
                    return
                self._ready.put((number, buffer, self._reader.read(number, buffer)))
        except BaseException as error:
            self._ready.put(_Failed(error))
        else:
            self._ready.put(None)
