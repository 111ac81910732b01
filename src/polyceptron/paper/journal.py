"""Results on disk, line by line: what was measured stays when the run is killed."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class JournalError(Exception):
    """A journal that cannot be gone on with; the message says why and what to do."""


class Journal:
    """An append-only file of JSON lines: a header, then one record a line.

    The header says what the records are results of. A record is on disk when `append`
    returns; a line that a kill tore is cut off when the journal is opened again. Only one
    process at a time has it open.

    Parameters
    ----------
    path : path-like
    header : mapping
        What the records depend on: protocol, seed, versions. A journal that is resumed
        must have the same.
    resume : bool, default=False
        Go on with a journal that is there; without one, start it.
    overwrite : bool, default=False
        Start anew where a journal is there.

    Attributes
    ----------
    header : dict
    records : list of dict
        Those found, and those appended since.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        header: Mapping[str, Any],
        *,
        resume: bool = False,
        overwrite: bool = False,
    ) -> None:
        self.path = Path(path)
        self.header: dict[str, Any] = json.loads(_line(header))
        self.records: list[dict[str, Any]] = []
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b")
        try:
            self._lock()
            self._begin(resume=resume, overwrite=overwrite)
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # pragma: no cover - Windows has no such lock
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise JournalError(f"{self.path}: another run is writing to it") from None

    def _begin(self, *, resume: bool, overwrite: bool) -> None:
        found = [] if overwrite else _parse(self.path, self._whole_lines())
        if found and not resume:
            raise results_are_there(self.path, len(found) - 1)
        if not found:
            self._file.truncate(0)
            self._write(self.header)
            return
        _check_same(self.path, found[0], self.header)
        self.records = found[1:]

    def _whole_lines(self) -> bytes:
        """The file up to its last line end; what a kill tore is cut off."""
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            self._file.truncate(len(whole))
        return whole

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record; it is on disk when this returns."""
        self._write(record)
        self.records.append(dict(record))

    def _write(self, value: Mapping[str, Any]) -> None:
        self._file.write(_line(value))
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def results_are_there(path: Path, n: int) -> JournalError:
    """The error for results that nobody said what to do with."""
    return JournalError(
        f"{path}: {n} results are there already; --resume goes on with them, --overwrite starts "
        "anew, --out names another folder"
    )


def read_journal(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return header and records of a journal, without its torn end if it has one."""
    content = Path(path).read_bytes()
    lines = _parse(Path(path), content[: content.rfind(b"\n") + 1])
    if not lines:
        raise JournalError(f"{path}: no header")
    return lines[0], lines[1:]


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions that results depend on, for a header."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _line(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, allow_nan=False, ensure_ascii=False) + "\n").encode()


def _parse(path: Path, content: bytes) -> list[dict[str, Any]]:
    values = []
    for number, line in enumerate(content.splitlines(), 1):
        try:
            value = json.loads(line)
        except ValueError:
            raise JournalError(f"{path}, line {number}: not a JSON document") from None
        if not isinstance(value, dict):
            raise JournalError(f"{path}, line {number}: not a JSON object")
        values.append(value)
    return values


def _check_same(path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for name in wanted:  # the first in the header says most
        if found.get(name) != wanted.get(name):
            before, now = _brief(found.get(name)), _brief(wanted.get(name))
            raise JournalError(
                f"{path}: it was made with another {name} ({before}, now {now}); "
                "--overwrite starts anew, --out names another folder"
            )


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
