"""Bytes from a file, from standard input, or from inside gzip, with a look ahead."""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from polyceptron.readers._table import ReaderError

HEAD = 1 << 18
"""How far to look ahead for what a file is."""

_ROOM = 1 << 24


class _Ahead:
    """A stream whose first bytes can be looked at before they are read."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.seen = stream, b""

    def peek(self, size: int) -> bytes:
        while len(self.seen) < size:
            more = self.stream.read(size - len(self.seen))
            if not more:
                break
            self.seen += more
        return self.seen[:size]

    def read(self, size: int = -1) -> bytes:
        if self.seen:
            piece = self.seen if size < 0 else self.seen[:size]
            self.seen = self.seen[len(piece) :]
            return piece + self.stream.read() if size < 0 else piece
        more: bytes = self.stream.read(size)
        return more


class Source:
    """The bytes of a file; `-` is standard input, and gzip is seen through.

    Parameters
    ----------
    path : str or Path

    Attributes
    ----------
    name : str
        What errors call it.
    """

    def __init__(self, path: str | Path) -> None:
        standard = str(path) == "-"
        if standard and sys.stdin is None:
            raise ReaderError("standard input is closed")
        self.name = "standard input" if standard else str(path)
        self._file: IO[bytes] | None = None if standard else Path(path).open("rb")  # noqa: SIM115
        self._bytes = _Ahead(sys.stdin.buffer if self._file is None else self._file)
        self.plain = self._file is not None
        if self._peek(2) == b"\x1f\x8b":
            inner: Any = self._bytes  # all that gzip needs of a file is read()
            self._bytes = _Ahead(gzip.GzipFile(fileobj=inner))
            self.plain = False

    def head(self) -> bytes:
        """Return the first bytes, without taking them."""
        return self._peek(HEAD)

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; none is the end."""
        try:
            return self._bytes.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self._damaged(error) from None

    def position(self) -> int:
        """How many bytes of the file itself have been read, gzip or not; 0 if it is none."""
        return 0 if self._file is None else self._file.tell()

    def seekable(self) -> IO[bytes]:
        """Return all bytes as a file that can be read in any order."""
        if self.plain and self._file is not None:
            self._file.seek(0)
            return self._file
        copy: Any = tempfile.SpooledTemporaryFile(max_size=_ROOM)  # noqa: SIM115
        try:
            shutil.copyfileobj(self._bytes, copy)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self._damaged(error) from None
        copy.seek(0)
        spooled: IO[bytes] = copy
        return spooled

    def _peek(self, size: int) -> bytes:
        try:
            return self._bytes.peek(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> ReaderError:
        return ReaderError(f"{self.name}: the gzip file is damaged ({error})")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()
