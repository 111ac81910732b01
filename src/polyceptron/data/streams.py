"""The bytes of files: standard input and compression seen through, errors that name the file."""

from __future__ import annotations

import codecs
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from polyceptron.data.source import SourceError

BUFFER = 1 << 20
"""Bytes that are read at once."""
_ROOM = 1 << 24
EXPANDED, TIMES = 1 << 30, 200
"""Bytes that a compressed file may always expand to, and how many times its own size."""
_CODECS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}


def one_line(error: BaseException) -> str:
    """What an error of another library says, in one line."""
    return " ".join(str(error).split())[:200]


@contextmanager
def naming(path: Path, where: str = "") -> Iterator[None]:
    """Make an error of the operating system one that names the file."""
    try:
        yield
    except OSError as error:
        raise SourceError(f"{path}: {where}{error.strerror or error}") from error


def refuse_pipes(path: Path, name: str) -> None:
    """Refuse a pipe, which may keep whoever opens it waiting, or a device."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise SourceError(f"{name}: not a regular file; what comes from a pipe is read as -")


def too_large(name: str, most: int) -> SourceError:
    """The error of a file that is much larger inside than outside."""
    return SourceError(
        f"{name}: it expands to more than {most / 1e9:.1f} GB; max_expanded (--max-expanded) "
        "allows more, if you trust the file"
    )


class _Ahead:
    """A stream whose first bytes can be looked at before they are read; the file is another's."""

    closed = False

    def __init__(self, stream: Any) -> None:
        self._stream, self._seen = stream, b""

    def _more(self, size: int) -> bytes:
        more: bytes = self._stream.read(size)
        return more

    def peek(self, size: int) -> bytes:
        """Return the first bytes, without taking them."""
        while len(self._seen) < size and (more := self._more(size - len(self._seen))):
            self._seen += more
        return self._seen[:size]

    def read(self, size: int = BUFFER) -> bytes:
        """Return up to `size` bytes; none is the end."""
        seen = self._seen or self._more(size)
        self._seen = seen[size:]
        return seen[:size]

    def close(self) -> None: ...


class ByteStream(_Ahead):
    """The bytes of a file; `-` is standard input, and compression is seen through."""

    def __init__(
        self, path: str | Path, name: str | None = None, max_expanded: int | None = None
    ) -> None:
        standard = str(path) == "-"
        if standard and sys.stdin is None:
            raise SourceError("standard input is closed")
        self.name = name or ("standard input" if standard else str(path))
        if not standard:
            refuse_pipes(Path(path), self.name)
        self._path, self._asked, self._expanded = path, max_expanded, 0
        self._file: IO[bytes] | None = None if standard else Path(path).open("rb")  # noqa: SIM115
        self._copy: Any = None
        self._size = 0 if standard else Path(path).stat().st_size
        raw: Any = _Ahead(sys.stdin.buffer if self._file is None else self._file)
        head = raw.peek(4)
        self._codec = next((name for magic, name in _CODECS.items() if head.startswith(magic)), "")
        if self._codec:
            raw = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), self._codec)
        super().__init__(raw)
        self.most = max_expanded or (sys.maxsize if standard else max(EXPANDED, TIMES * self._size))
        self._decoder: Any = None
        self._encoding, self._line = "", 1

    def decode(self, encoding: str) -> None:
        """Give UTF-8 from now on, made of text in another encoding."""
        self._encoding = encoding
        try:
            "".encode(encoding)  # which refuses those that are none of text
            self._decoder = codecs.getincrementaldecoder(encoding)()
        except (LookupError, ValueError):
            what = f"unknown encoding {encoding!r}; known are utf-8, cp1252, utf-16 and many others"
            raise SourceError(f"{self.name}: {what}") from None
        self._seen = self._decoded(self._seen)

    def _decoded(self, data: bytes) -> bytes:
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            before, wrong = error.object[: error.start], error.object[error.start : error.end]
            line = self._line + before.count(b"\n")
            what = f"{wrong!r} is not {self._encoding}: name another encoding"
            raise SourceError(f"{self.name}, line {line}: {what}") from None
        self._line += text.count("\n")
        return text.encode()  # type: ignore[no-any-return]

    def _more(self, size: int) -> bytes:
        data = self._raw(size)
        if self._decoder is None:
            return data
        text = self._decoded(data)
        while data and not text:  # half a character
            data = self._raw(size)
            text = self._decoded(data)
        return text

    def _raw(self, size: int) -> bytes:
        try:
            data = super()._more(size)
            self._expanded += len(data) if self._codec else 0
            if self._expanded > self.most:
                raise too_large(self.name, self.most)
            return data
        except (OSError, pa.ArrowException) as error:
            if not self._codec:
                raise
            what = f"the {self._codec} file is damaged ({one_line(error)})"
            raise SourceError(f"{self.name}: {what}") from None

    def again(self) -> ByteStream:
        """The same bytes from the first on."""
        if self._file is None:
            raise SourceError(f"{self.name} can be read only once")
        stream = ByteStream(self._path, self.name, self._asked)
        if self._decoder is not None:
            stream.decode(self._encoding)
        return stream

    def share(self) -> float:
        """How much of the file itself has been read; 0 if it is none, but a pipe."""
        return min(1.0, self._file.tell() / self._size) if self._file and self._size else 0.0

    def seekable(self) -> IO[bytes]:
        """Return all bytes as a file that can be read in any order."""
        if self._file is not None and not self._codec:
            self._file.seek(0)
            return self._file
        self._copy = tempfile.SpooledTemporaryFile(max_size=_ROOM)  # noqa: SIM115
        shutil.copyfileobj(self, self._copy, BUFFER)
        self._copy.seek(0)
        return self._copy  # type: ignore[no-any-return]

    def close(self) -> None:
        """Let go of the file."""
        for file in (self._file, self._copy):
            if file is not None:
                file.close()
