"""Arrays written to files .npy row by row, however many there will be."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

_ROWS = 1 << 20


class RowsWriter:
    """A file .npy that grows; a context manager that closes it.

    Parameters
    ----------
    path : Path
    dtype : dtype
    width : tuple of int
        The shape of a row.
    """

    def __init__(self, path: Path, dtype: Any, width: tuple[int, ...] = ()) -> None:
        self.path, self.n_rows = path, 0
        self._dtype, self._width = np.dtype(dtype), width
        self._file = path.open("w+b")
        self._write_header()
        self._start = self._file.tell()

    def _write_header(self) -> None:
        # The same length for any number of rows: numpy leaves room for that.
        shape = (self.n_rows, *self._width)
        descr = npy.dtype_to_descr(self._dtype)
        header = {"descr": descr, "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(self._file, header)

    def append(self, rows: NDArray[Any]) -> None:
        """Write rows of this type and shape."""
        if len(rows):
            self._file.write(np.ascontiguousarray(rows, self._dtype).data)
            self.n_rows += len(rows)

    def replace(self, values: NDArray[Any]) -> None:
        """Replace every code of an array of codes by what it stands for."""
        for first in range(0, self.n_rows, _ROWS):
            n = min(_ROWS, self.n_rows - first)
            at = self._start + first * self._dtype.itemsize
            self._file.seek(at)
            codes = np.frombuffer(self._file.read(n * self._dtype.itemsize), self._dtype)
            self._file.seek(at)
            self._file.write(values[codes].astype(self._dtype).data)

    def finish(self) -> int:
        """Have all of it on the disk, and return how many bytes there are."""
        self._file.seek(0)
        self._write_header()
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.seek(0, os.SEEK_END)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
