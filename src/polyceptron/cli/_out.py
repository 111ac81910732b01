"""What commands write: files that are whole or not there, and never over others by accident."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

force_option = click.option("--force", is_flag=True, help="Write over a file that is there.")


def out_option(
    what: str, *, required: bool = False, default: str | None = None
) -> Callable[..., Any]:
    """The option -o of a command that writes `what`."""
    return click.option(
        "-o",
        "--output",
        metavar="FILE",
        required=required,
        default=default,
        show_default=default is not None,
        help=f"{what} (- is standard output).",
    )


def check_free(path: str | None, force: bool, *inputs: str | None) -> None:
    """Refuse to write over a file, before the work rather than after it; inputs in any case."""
    if path is None or path == "-":
        return
    file = Path(path)
    if file.is_dir():
        raise click.ClickException(f"{path}: is a folder")
    read = [Path(one) for one in inputs if one is not None and Path(one).is_file()]
    if file.is_file() and any(file.samefile(one) for one in read):
        raise click.ClickException(f"{path}: is read here, so nothing is written over it")
    if file.is_file() and not force:
        raise click.ClickException(f"{path}: is there already; --force writes over it")
    if not file.parent.is_dir():
        raise click.ClickException(f"{path}: there is no folder {str(file.parent)!r}")


@contextmanager
def writing(path: str | None) -> Iterator[IO[bytes]]:
    """Give a file to write to; it takes its place when all is written."""
    try:
        with _opened(path) as file:
            yield file
    except OSError as error:
        if error.filename is None and not isinstance(error, BrokenPipeError):
            error.filename = "standard output" if path in (None, "-") else path
        raise


@contextmanager
def _opened(path: str | None) -> Iterator[IO[bytes]]:
    if path is None or path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    if target.exists() and not target.is_file():  # a pipe, or a device
        with target.open("wb") as file:
            yield file
        return
    target = target.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".polyceptron-", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write(path: str | None, content: str | bytes) -> None:
    """Write text or bytes to a file or to standard output."""
    with writing(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
