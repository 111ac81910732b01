"""Files that are whole or not there."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from polyceptron.utils.locks import held

PIPE_SECONDS = 5.0
"""How long a pipe may wait for somebody who reads from it."""
_SECONDS = 1.0
"""A file that is younger may not be held yet by the process that has made it."""


def write_text(path: Path, text: str) -> None:
    """Replace a file in one step: a kill or a full disk leaves the old one whole."""
    write_bytes(path, text.encode("utf-8"), 0o644)


def write_bytes(path: Path, data: bytes, mode: int | None = None) -> None:
    """Replace a file in one step, as `write_text` does, by default with the permissions it has."""
    with replacing(path, mode) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[IO[bytes]]:
    """Give a file to write to, which takes the place of `path` when all is written.

    Where `path` is a link, that is the file it leads to. A pipe or a device is written into, as
    nothing may take its place; a pipe that nobody reads from is an error. Permissions are by
    default those of the file that is replaced; a new one has the usual ones of this process.
    Errors name `path`.
    """
    beside = None
    try:
        if path.exists() and not path.is_file():
            with _device(path) as file:
                yield file
            return
        target = path.resolve()
        # Beside the file, since only within one file system is a rename a single step; not named
        # after it, since a name as long as names can be could not be made longer.
        beside = target.parent / f".polyceptron-{secrets.token_hex(8)}.tmp"
        if mode is None and target.exists():
            mode = target.stat().st_mode & 0o777
        with _new(beside, mode) as file, held(beside):
            yield file
            file.flush()
            os.fsync(file.fileno())
            beside.replace(target)
        _remove_left_over(target.parent)
    except BaseException as error:
        if beside is not None:
            with contextlib.suppress(OSError):
                beside.unlink()
        if isinstance(error, OSError) and error.errno and error.filename in (None, str(beside)):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    _sync_folder(target.parent)


def _remove_left_over(folder: Path) -> None:
    """Remove what processes have left that were killed while they wrote."""
    for path in folder.glob(".polyceptron-*.tmp"):
        with held(path) as is_free:
            if is_free and time.time() - path.stat().st_mtime > _SECONDS:
                with contextlib.suppress(OSError):
                    path.unlink()


def _device(path: Path) -> IO[bytes]:
    """Open what is there; a pipe that nobody opens to read within a few seconds is an error."""
    without_waiting = getattr(os, "O_NONBLOCK", 0)
    last = time.monotonic() + PIPE_SECONDS
    while True:
        try:
            handle = os.open(path, os.O_WRONLY | without_waiting)
            break
        except OSError as error:
            if error.errno != errno.ENXIO or not path.is_fifo():
                raise
            if time.monotonic() > last:
                raise OSError(errno.ENXIO, "a pipe that nobody reads from", str(path)) from error
        time.sleep(0.01)
    if without_waiting:
        os.set_blocking(handle, True)  # whoever reads may take time
    return os.fdopen(handle, "wb")


def _new(path: Path, mode: int | None) -> IO[bytes]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags, 0o666 if mode is None else mode), "wb")
    if mode is not None:
        path.chmod(mode)
    return file


def _sync_folder(folder: Path) -> None:
    """Have the rename itself on the disk, where a folder can be asked for that.

    If it cannot, a power cut may bring back the old file, whole all the same.
    """
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
