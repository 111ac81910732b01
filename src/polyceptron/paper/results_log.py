"""Results on disk, line by line: what was measured stays when the run is killed."""

from __future__ import annotations

import gzip
import json
import os
import platform
import reprlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import msgspec

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no such lock
    fcntl = None  # type: ignore[assignment]

Result = TypeVar("Result")


class ResultsLogError(Exception):
    """Results that cannot be gone on with; the message says why and what to do."""


class ResultsLog(Generic[Result]):
    """An append-only file of JSON lines: a header, then one result a line.

    The header says what the results depend on: protocol, seed, versions. A result, a ``kind``
    (`msgspec.Struct` or dict), is on disk when `append` returns; a line that a kill tore is cut
    off when the log is opened again. Only one process at a time has it open. A log that is there
    is an error, unless it has the same header and is gone on with (``resume``), or is started anew
    (``overwrite``). ``results`` are those found, and those appended since.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        header: Mapping[str, Any],
        kind: type[Result],
        *,
        resume: bool = False,
        overwrite: bool = False,
    ) -> None:
        self.path = Path(path)
        self.header: dict[str, Any] = json.loads(_json_line(header))
        self.results: list[Result] = []
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b")
        try:
            self._begin(kind, resume=resume, overwrite=overwrite)
        except BaseException:
            self.close()
            raise

    def _begin(self, kind: type[Result], *, resume: bool, overwrite: bool) -> None:
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ResultsLogError(f"{self.path}: another run is writing to it") from None
        self._file.seek(0)
        lines = [] if overwrite else _whole_lines(self._file.read())
        self._file.truncate(sum(map(len, lines)))
        if not lines:
            self._write(self.header)
            return
        if not resume:
            raise ResultsLogError(
                f"{self.path}: {len(lines) - 1} results are there already; --resume goes on with "
                "them, --overwrite starts anew, --out names another folder"
            )
        found, self.results = _parsed(self.path, lines, kind)
        for name, value in self.header.items():  # the first in the header says most
            if found.get(name) != value:
                before, now = reprlib.repr(found.get(name)), reprlib.repr(value)
                raise ResultsLogError(
                    f"{self.path}: it was made with another {name} ({before}, now {now}); "
                    "--overwrite starts anew, --out names another folder"
                )

    def append(self, result: Result) -> None:
        """Write one result; it is on disk when this returns."""
        self._write(result)
        self.results.append(result)

    def _write(self, value: Any) -> None:
        self._file.write(_json_line(value))
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let others write."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_results(
    path: str | os.PathLike[str], kind: type[Result]
) -> tuple[dict[str, Any], list[Result]]:
    """Return header and results of a log, without its torn end if it has one; .gz is unpacked."""
    content = Path(path).read_bytes()
    if Path(path).suffix == ".gz":
        content = gzip.decompress(content)
    lines = _whole_lines(content)
    if not lines:
        raise ResultsLogError(f"{path}: no header")
    return _parsed(Path(path), lines, kind)


def package_versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions that results depend on, for a header."""
    found = dict.fromkeys(["python", *packages], "not installed")
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found | {"python": platform.python_version()}


def _json_line(value: Any) -> bytes:
    plain = msgspec.to_builtins(value)  # msgspec itself would write a NaN as null
    return (json.dumps(plain, allow_nan=False, ensure_ascii=False) + "\n").encode()


def _whole_lines(content: bytes) -> list[bytes]:
    """The lines that have an end; a kill may have torn the last."""
    return content[: content.rfind(b"\n") + 1].splitlines(keepends=True)


def _parsed(
    path: Path, lines: list[bytes], kind: type[Result]
) -> tuple[dict[str, Any], list[Result]]:
    def decoded(number: int, line: bytes, what: Any) -> Any:
        try:
            return msgspec.json.decode(line, type=what)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ResultsLogError(f"{path}, line {number}: {error}") from None

    header = decoded(1, lines[0], dict[str, Any])
    return header, [decoded(number, line, kind) for number, line in enumerate(lines[1:], 2)]
