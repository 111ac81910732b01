"""Files as tables: told by what is in them, not by what they are called."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from polyceptron.data.source import SourceError
from polyceptron.readers._source import Source
from polyceptron.sources._numpy import NpzTable, Rows, open_npy
from polyceptron.sources._tables import TableFile

_NPY = b"\x93NUMPY"
_REFUSED = {
    b"FEA1": "a file of Feather 1: write it with version 2",
    b"PARE": "a Parquet file that is encrypted",
    b"ORC": "a file of ORC: write it as Parquet",
    b"\x89HDF": "a file of HDF5: write it as Parquet or .npy",
}


class Tables:
    """Files that are one table together.

    Parameters
    ----------
    paths : sequence of Path
    header : bool or None
        As in `open_table`.
    labels : Rows, optional
        Those of all files, which are matrices in files .npy.
    """

    def __init__(
        self, paths: Sequence[Path], *, header: bool | None = None, labels: Rows | None = None
    ) -> None:
        self.paths, self._header, self.labels = paths, header, labels
        self.expect: Collection[str] = ()
        self.firsts = [0] * len(paths)

    def open(self, number: int, scratch: Path) -> TableFile:
        """Open a file; what has to be unpacked goes into a folder."""
        path = self.paths[number]
        try:
            with Source(path) as source:
                head, plain = source.head(), source.plain
            if head.startswith(_NPY):
                _refuse_packed(path, plain)
                return open_npy(path, self.labels, self.firsts[number])
            if self.labels is not None:
                raise SourceError(f"{path}: target is an array, and the file is not of numpy")
            if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
                file = _seekable(path, plain)
                return NpzTable(path, file, scratch / secrets.token_hex(4))
            return self._open_table(path, head, plain)
        except OSError as error:
            if error.filename is not None and Path(error.filename) != path:
                raise
            raise SourceError(f"{path}: {error.strerror or error}") from error

    def _open_table(self, path: Path, head: bytes, plain: bool) -> TableFile:
        for magic, what in _REFUSED.items():
            if head.startswith(magic):
                raise SourceError(f"{path} is {what}")
        if head.startswith(b"PAR1"):
            from polyceptron.sources._arrow import ParquetTable

            return ParquetTable(path, _seekable(path, plain))
        if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
            from polyceptron.sources._arrow import IpcTable

            return IpcTable(path, _seekable(path, plain))
        from polyceptron.sources._delimited import DelimitedFile

        return DelimitedFile(path, self._header, self.expect)


def _seekable(path: Path, plain: bool) -> Any:
    if plain:
        return str(path)
    with Source(path) as source:  # packed, so that this is a copy
        return source.seekable()


def _refuse_packed(path: Path, plain: bool) -> None:
    if not plain:
        raise SourceError(f"{path} is a file .npy inside gzip: unpack it")


def is_npy(path: Path) -> bool:
    """Whether a file is an array of numpy."""
    try:
        with path.open("rb") as file:
            return file.read(len(_NPY)) == _NPY
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from error
