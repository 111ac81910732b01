"""Files that are whole or not there."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Replace a file in one step: a kill or a full disk leaves the old one whole."""
    _replace(path, text.encode("utf-8"), 0o644)


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file in one step, as `write_text` does.

    The permissions are those of the file that it replaces; those of a new file are the usual
    ones of this process.
    """
    try:
        mode = path.stat().st_mode & 0o777
    except FileNotFoundError:
        mode = None
    _replace(path, data, mode)


def _replace(path: Path, data: bytes, mode: int | None) -> None:
    # Beside the file, since only within one file system is a rename a single step; not named after
    # it, since a name as long as names can be could not be made longer.
    beside = path.parent / f".polyceptron-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(beside, flags, 0o666 if mode is None else mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            beside.chmod(mode)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


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
