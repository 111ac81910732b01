"""What tells whether a file is still the one that was read."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from polyceptron.data.source import SourceError

_MB = 1 << 20


class Stamp(NamedTuple):
    """Size and time of a file, a hash of all of it, and one of its first and last megabyte."""

    size: int
    mtime_ns: int
    whole: str
    ends: str

    def fits(self, path: Path) -> Stamp | None:
        """Return the stamp of a file if its content is the same, else None.

        Of a file of the same size and time only the ends are looked at; of another time, all.
        """
        size, mtime_ns = size_and_time(path)
        if size != self.size:
            return None
        try:
            if mtime_ns == self.mtime_ns:
                return self if _hash_of_ends(path) == self.ends else None
            same = _hash(path) == self.whole
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror or error}") from error
        return self._replace(mtime_ns=mtime_ns) if same else None


def size_and_time(path: Path) -> tuple[int, int]:
    """Size in bytes and time of the last change in nanoseconds."""
    try:
        found = path.stat()
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from None
    return found.st_size, found.st_mtime_ns


def _hash(path: Path, stop: threading.Event | None = None) -> str:
    total = hashlib.blake2b()
    with path.open("rb", buffering=0) as file:
        while (piece := file.read(_MB)) and not (stop and stop.is_set()):
            total.update(piece)
    return total.hexdigest()


def _hash_of_ends(path: Path) -> str:
    total = hashlib.blake2b()
    with path.open("rb", buffering=0) as file:
        total.update(file.read(_MB))
        file.seek(max(0, file.seek(0, 2) - _MB))
        total.update(file.read(_MB))
    return total.hexdigest()


class Stamping:
    """Stamps files in a thread of its own, while they are read; a context manager.

    Parameters
    ----------
    paths : sequence of Path
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._before = [size_and_time(path) for path in paths]
        self._hashes: list[tuple[str, str]] = []
        self._error: OSError | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="polyceptron-hash", daemon=True)

    def _work(self) -> None:
        try:
            for path in self._paths:
                self._hashes.append((_hash(path, self._stop), _hash_of_ends(path)))
        except OSError as error:
            self._error = error

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def result(self) -> list[Stamp]:
        """Return the stamps once all is read; a file that changed meanwhile is an error."""
        self._thread.join()
        for path, before in zip(self._paths, self._before, strict=True):
            if not path.exists():
                raise SourceError(f"{path}: it disappeared while it was read")
            if size_and_time(path) != before:
                raise SourceError(f"{path}: it changed while it was read; try again")
        if self._error is not None:
            raise SourceError(f"{self._error.filename}: {self._error.strerror}")
        return [
            Stamp(*before, *hashes)
            for before, hashes in zip(self._before, self._hashes, strict=True)
        ]


def as_stamp(value: Any) -> Stamp:
    """A stamp from JSON."""
    size, mtime_ns, whole, ends = value
    return Stamp(int(size), int(mtime_ns), str(whole), str(ends))
