"""What commands write: files that are whole or not there, and never over others by accident."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from polyceptron.utils import atomic


def check_free(path: str, force: bool, *inputs: str | None) -> None:
    """Refuse what cannot be written, before the work rather than after it.

    That is a file that is there, unless forced; one that is read, in any case; and a new one in a
    folder that takes none. Pipes and devices are written into.
    """
    if path == "-":
        return
    file = Path(path)
    if file.is_dir():
        raise click.ClickException(f"{path}: is a folder")
    if file.exists() and not file.is_file():
        return
    read = [Path("/dev/stdin" if one == "-" else one) for one in inputs if one is not None]
    if file.is_file() and any(one.is_file() and file.samefile(one) for one in read):
        raise click.ClickException(f"{path}: is read here, so nothing is written over it")
    if file.is_file() and not force:
        raise click.ClickException(f"{path}: is there already; --force writes over it")
    folder = file.resolve().parent
    if not folder.is_dir():
        raise click.ClickException(f"{path}: there is no folder {str(file.parent)!r}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise click.ClickException(f"{path}: the folder {str(folder)!r} cannot be written to")


@contextmanager
def writing(path: str) -> Iterator[IO[bytes]]:
    """Give a file to write to; it takes its place when all is written."""
    if path != "-":
        with atomic.replacing(Path(path)) as file:
            yield file
        return
    if sys.stdout is None:
        raise click.ClickException("standard output is closed: -o says which file to write")
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except OSError as error:
        if error.filename is None and not isinstance(error, BrokenPipeError):
            error.filename = "standard output"
        raise


def write(path: str, content: str | bytes) -> None:
    """Write text or bytes to a file or to standard output."""
    with writing(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
