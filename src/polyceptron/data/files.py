"""Rows in files of the format .npy, as blocks that are read when they are needed.

They are read, not mapped: a file that becomes shorter meanwhile is an error here, and would end
the process there; and what has been read is not counted as memory in use.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from polyceptron.data.array_tables import StoredArray, read_into
from polyceptron.data.blocks import Adds, Block, ordered_sum, rows_of_blocks
from polyceptron.data.source import LabelledRows, Source, SourceError, View, take_from_blocks
from polyceptron.data.streams import naming
from polyceptron.data.tables import in_order

S = TypeVar("S", bound=Adds)
Buffer = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Room for the rows of a block, their codes and weights."""


class ArrayFile(StoredArray):
    """A C-ordered array in a file .npy, which is open only while rows are read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with naming(path), path.open("rb") as file:
            super().__init__(str(path), file)
            at = os.fstat(file.fileno())
        if self.by_column:
            raise SourceError(f"{path}: the array is in Fortran order; save np.ascontiguousarray")
        self._row_bytes = int(self.dtype.itemsize * np.prod(self.shape[1:], dtype=np.int64))
        self._time = at.st_mtime_ns
        rows = self._rows_in(at)
        if rows < self.shape[0]:
            raise SourceError(f"{path}: ends in row {rows}, and should have {self.shape[0]} rows")

    def _rows_in(self, file: os.stat_result) -> int:
        """Whole rows that a file of this size has."""
        return int(max(0, file.st_size - self._offset) // max(1, self._row_bytes))

    def read(self, start: int, into: NDArray[Any], skipped: int = 0) -> None:
        del skipped
        with naming(self.path, f"row {start}: "), self.path.open("rb", buffering=0) as file:
            file.seek(self._offset + start * self._row_bytes)
            left = read_into(file, into)
            now = os.fstat(file.fileno())
        if left or now.st_mtime_ns != self._time:
            rows = self._rows_in(now)
            what = f"row {start}: the file has changed since it was opened"
            if rows < self.shape[0]:
                what = f"ends in row {rows}, and had {self.shape[0]} rows: "
                what += "it became shorter while it was read"
            raise SourceError(f"{self.path}: {what}")


class ArrayWriter:
    """A file .npy that grows by rows of the shape `width`."""

    def __init__(self, folder: Path, name: str, dtype: Any, width: tuple[int, ...]) -> None:
        self.path, self.n_rows = folder / name, 0
        self._dtype, self._width = np.dtype(dtype), width
        self.path.touch(0o600)
        with self.path.open("wb") as file:
            self._write_header(file)
            self._start = file.tell()

    def _write_header(self, file: Any) -> None:
        # The same length for any number of rows: numpy leaves room for that.
        header = {"descr": npy.dtype_to_descr(self._dtype), "fortran_order": False}
        npy.write_array_header_1_0(file, header | {"shape": (self.n_rows, *self._width)})

    def append(self, rows: NDArray[Any]) -> None:
        if len(rows):
            with self.path.open("ab") as file:
                file.write(np.ascontiguousarray(rows, self._dtype).data)
            self.n_rows += len(rows)

    def array(self) -> NDArray[Any]:
        """All of it, as a map of the file."""
        shape = (self.n_rows, *self._width)
        if not self.n_rows:
            return np.empty(shape, self._dtype)
        return np.memmap(self.path, self._dtype, "r+", self._start, shape)

    def finish(self) -> None:
        """Have all of it on the disk."""
        with self.path.open("r+b") as file:
            self._write_header(file)
            file.flush()
            os.fsync(file.fileno())


class FileSource(Source):
    """Rows of files .npy that were checked before, such as a cache's.

    `codes` are the places of labels among the classes; `origins` are the names of the files that
    the rows came from, and the first row of each.
    """

    def __init__(
        self,
        X: ArrayFile,
        codes: ArrayFile,
        classes: NDArray[Any],
        *,
        weight: ArrayFile | None = None,
        origins: Sequence[tuple[str, int]] = (),
        block_rows: int | None = None,
    ) -> None:
        self.X, self.codes, self.weight, self.classes = X, codes, weight, classes
        self.n_samples, self.n_features = X.shape
        self._origins = list(origins) or [(str(X.path), 0)]
        self._block_rows = block_rows or rows_of_blocks(self.n_features)
        self.starts = np.arange(0, self.n_samples, self._block_rows)

    def blocks(self, view: View, n_threads: int = 1) -> StreamBlocks:
        return StreamBlocks(self, view, n_threads)

    def buffer(self) -> Buffer:
        rows = min(self._block_rows, self.n_samples)
        weight = np.empty(rows if self.weight is not None else 0)
        X = np.empty((rows, self.n_features), self.X.dtype)
        return X, np.empty(rows, self.codes.dtype), weight

    def read(self, number: int, into: Buffer) -> Buffer:
        start = number * self._block_rows
        n = min(self._block_rows, self.n_samples - start)
        X, codes, weight = (array[:n] for array in into)
        self.X.read(start, X)
        self.codes.read(start, codes)
        if self.weight is not None:
            self.weight.read(start, weight)
        return X, codes, weight

    def take(self, rows: NDArray[np.int64]) -> LabelledRows:
        read = partial(self.read, into=self.buffer())
        return take_from_blocks(read, *np.divmod(rows, self._block_rows))

    def where(self, number: int, row: int) -> str:
        row += number * self._block_rows
        name, first = [origin for origin in self._origins if origin[1] <= row][-1]
        return f"{name}, row {row - first}"


class StreamBlocks:
    """Blocks of files: threads read and work by turns, one more than work at a time.

    Memory is that of a few blocks, whatever the number of rows.
    """

    resident = False

    def __init__(self, source: FileSource, view: View, n_threads: int = 1) -> None:
        self._source, self._view, self._n_threads = source, view, max(1, n_threads)
        self.n_samples, self.n_features = source.n_samples, source.n_features
        self._buffers = [source.buffer() for _ in range(max(3, self._n_threads + 1))]

    def __len__(self) -> int:
        return len(self._source.starts)

    def __iter__(self) -> Iterator[Block]:
        return self.in_order(range(len(self)))

    def in_order(self, numbers: Iterable[int]) -> Iterator[Block]:
        """Each block is good until the next is asked for."""
        # While one is worked on, the next one is read, and the one after it waits to be.
        rooms = zip(numbers, itertools.cycle(self._buffers), strict=False)
        with closing(
            in_order((partial(self._block, *room) for room in rooms), 1, ahead=1)
        ) as found:
            yield from found

    def reduce(self, statistic: Callable[[Block], S]) -> S:
        free: SimpleQueue[Buffer] = SimpleQueue()
        for buffer in self._buffers:
            free.put(buffer)

        def part(number: int) -> S:
            buffer = free.get()
            try:
                return statistic(self._block(number, buffer))
            finally:
                free.put(buffer)

        tasks = (partial(part, number) for number in range(len(self)))
        with closing(in_order(tasks, self._n_threads + 1)) as parts:
            return ordered_sum(enumerate(parts))

    def _block(self, number: int, buffer: Buffer) -> Block:
        return self._view.block(number, *self._source.read(number, buffer), own=True)
