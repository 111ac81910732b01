"""Rows in files of the format .npy, read block by block.

They are read, not mapped: a file that becomes shorter meanwhile is an error here, and would end
the process there; and what has been read is not counted as memory in use.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from polyceptron.data.blocks import rows_of_blocks
from polyceptron.data.encoding import Encoding
from polyceptron.data.source import LabelledRows, Source, SourceError, View
from polyceptron.sources._stream import Buffer, StreamBlocks


class ArrayFile:
    """A C-ordered array in a file, of which rows are read.

    Parameters
    ----------
    path : Path
    offset : int
        Bytes of the file before the array.
    shape, dtype
    """

    def __init__(self, path: Path, offset: int, shape: tuple[int, ...], dtype: Any) -> None:
        self.path, self.offset, self.shape = path, offset, shape
        self.dtype = np.dtype(dtype)
        self._time = path.stat().st_mtime_ns

    @classmethod
    def of_npy(cls, path: Path) -> ArrayFile:
        """Read the header of a file .npy; its numbers must be C-ordered."""
        shape, fortran, dtype, offset = npy_header(path)
        if fortran and len(shape) > 1:
            raise SourceError(f"{path}: the array is in Fortran order; save np.ascontiguousarray")
        found = cls(path, offset, shape, dtype)
        found.check_size()
        return found

    def check_size(self) -> None:
        """Refuse a file that is too short for its array."""
        there, wanted = self.path.stat().st_size, self.offset + self._row_bytes * self.shape[0]
        if there < wanted:
            rows = max(0, there - self.offset) // max(1, self._row_bytes)
            raise SourceError(
                f"{self.path}: ends in row {rows}, and should have {self.shape[0]} rows"
            )

    @property
    def _row_bytes(self) -> int:
        return int(self.dtype.itemsize * np.prod(self.shape[1:], dtype=np.int64))

    def read(self, start: int, into: NDArray[Any]) -> None:
        """Fill an array with rows from `start` on."""
        room = memoryview(into.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        try:
            with self.path.open("rb", buffering=0) as file:
                file.seek(self.offset + start * self._row_bytes)
                while room:
                    n = file.readinto(room)
                    if not n:
                        break
                    room = room[n:]
                if room or os.fstat(file.fileno()).st_mtime_ns != self._time:
                    raise self._changed(os.fstat(file.fileno()).st_size, start)
        except OSError as error:
            raise SourceError(f"{self.path}: row {start}: {error.strerror or error}") from error

    def _changed(self, size: int, start: int) -> SourceError:
        rows = (size - self.offset) // max(1, self._row_bytes)
        if rows >= self.shape[0]:
            what = f"row {start}: the file has changed since it was opened"
        else:
            what = f"ends in row {max(0, rows)}, and had {self.shape[0]} rows: "
            what += "it became shorter while it was read"
        return SourceError(f"{self.path}: {what}")


def npy_header(path: Path) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Return shape, whether it is in Fortran order, type, and where the array begins."""
    try:
        with path.open("rb") as file:
            version = npy.read_magic(file)
            read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
            if version not in read:
                raise SourceError(f"{path}: a file .npy of version {version}")
            shape, fortran, dtype = read[version](file)
            offset = file.tell()
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from error
    except SourceError:
        raise
    except (ValueError, TypeError, SyntaxError, OverflowError, TokenError) as error:
        message = " ".join(str(error).split())
        raise SourceError(f"{path}: no whole file .npy: {message}") from None
    if dtype.hasobject:
        raise SourceError(f"{path}: an array of objects, which is not read")
    return shape, fortran, dtype, offset


class FileSource(Source):
    """Rows of files .npy that were checked before, such as a cache's.

    Parameters
    ----------
    X : ArrayFile
        Of float32 or float64, (n_samples, n_features).
    codes : ArrayFile
        Of int8 or int16: places of labels among the classes.
    classes : ndarray
    weight : ArrayFile, optional
        Of float64, above zero.
    feature_names : tuple of str, optional
    encoding : Encoding, optional
    origins : sequence of (str, int)
        Names of the files that the rows came from, and the first row of each.
    block_rows : int, optional

    Attributes
    ----------
    n_left_out : int
        Rows of the files that are left out, for missing values.
    """

    n_left_out = 0

    def __init__(
        self,
        X: ArrayFile,
        codes: ArrayFile,
        classes: NDArray[Any],
        *,
        weight: ArrayFile | None = None,
        feature_names: tuple[str, ...] | None = None,
        encoding: Encoding | None = None,
        origins: Sequence[tuple[str, int]] = (),
        block_rows: int | None = None,
    ) -> None:
        self.X, self.codes, self.weight, self.classes = X, codes, weight, classes
        self.n_samples, self.n_features = X.shape
        self.feature_names, self.encoding = feature_names, encoding
        self._origins = list(origins) or [(str(X.path), 0)]
        self._block_rows = block_rows or rows_of_blocks(self.n_features)
        self.starts = np.arange(0, self.n_samples, self._block_rows)
        self.n_blocks = -(-self.n_samples // self._block_rows)

    def blocks(self, view: View, n_threads: int = 1) -> StreamBlocks:
        return StreamBlocks(self, view, n_threads)

    def buffer(self) -> Buffer:
        """Room for a block."""
        rows = min(self._block_rows, self.n_samples)
        weight = np.empty(rows if self.weight is not None else 0)
        X = np.empty((rows, self.n_features), self.X.dtype)
        return Buffer(X, np.empty(rows, self.codes.dtype), weight)

    def read(self, number: int, into: Buffer) -> Buffer:
        """Read a block into this room."""
        start = number * self._block_rows
        n = min(self._block_rows, self.n_samples - start)
        filled = Buffer(into.X[:n], into.codes[:n], into.weight[:n])
        self.X.read(start, filled.X)
        self.codes.read(start, filled.codes)
        if self.weight is not None:
            self.weight.read(start, filled.weight)
        return filled

    def take(self, rows: NDArray[np.int64]) -> LabelledRows:
        parts = []
        into = self.buffer()
        for number in np.unique(rows // self._block_rows).tolist():
            here = rows[rows // self._block_rows == number] - number * self._block_rows
            filled = self.read(number, into)
            weight = filled.weight[here] if filled.weight.size else filled.weight
            parts.append((filled.X[here], filled.codes[here], weight.copy()))
        X, codes, weight = zip(*parts, strict=True)
        return LabelledRows(np.concatenate(X), np.concatenate(codes), np.concatenate(weight))

    def where(self, number: int, row: int) -> str:
        row += number * self._block_rows
        name, first = [origin for origin in self._origins if origin[1] <= row][-1]
        return f"{name}, row {row - first}"
