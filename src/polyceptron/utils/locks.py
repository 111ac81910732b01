"""Who is at work on a file or a folder: so that what a killed process has left is told from it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Hold a file or a folder while working on it; False if another process does.

    A lock ends with its process, however that ends. Where there are no locks it is never held.
    """
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows has no such lock
        yield False
        return
    handle = None
    is_ours = False
    with suppress(OSError):  # it is gone, or of a file system without locks
        handle = os.open(path, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = True
    try:
        yield is_ours and path.exists()
    finally:
        if handle is not None:
            os.close(handle)
