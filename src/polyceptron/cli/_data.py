"""A file as rows to learn from, in memory or on disk."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polyceptron.cli._terminal import Waiting, note

if TYPE_CHECKING:
    from polyceptron.data.files import FileSource
    from polyceptron.data.guesses import FileOptions
    from polyceptron.data.source import ArraySource, Source

_SHARE = 4
"""A file larger than this part of memory is not read into it: rows take more than their file."""
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory() -> int:
    """Bytes of memory that this process may have."""
    there = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in _LIMITS:  # of a container
        with suppress(OSError, ValueError):
            there.append(int(Path(name).read_text(encoding="ascii")))
    return min(there)


def is_out_of_core(data: str, asked: bool | None, limit: int | None) -> bool:
    """Whether the rows stay on disk: as asked, else those of several files, or of a large one."""
    if asked and data == "-":
        raise click.UsageError("--out-of-core needs a file: standard input can be read only once.")
    if asked is not None or data == "-":
        return bool(asked)
    path, most = Path(data), min(limit or memory(), memory()) / _SHARE
    if not path.exists() and not has_magic(data):
        return False  # where it is opened, it is said that there is none
    return not path.is_file() or path.stat().st_size > most


@contextmanager
def _asking(features: Sequence[str], **options: Any) -> Iterator[Any]:
    """What the options ask for; errors about them are those of the command line."""
    from polyceptron.data.columns import Request, RequestError

    try:
        yield Request(features=tuple(features) or None, is_command=True, **options)
    except RequestError as error:
        raise click.UsageError(str(error)) from error


def _free_memory() -> int:
    """Bytes of memory that nobody uses."""
    with suppress(OSError, ValueError, IndexError):
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        return min(memory(), 1024 * int(text.partition("MemAvailable:")[2].split()[0]))
    return memory()


def read_rows(
    data: str, *, target: str | None, memory_limit: int | None = None, **options: Any
) -> ArraySource:
    """Read files, and make rows of numbers and labels of them; they may be sparse."""
    from polyceptron.data.convert import PARTS, Conversion, HeldRows
    from polyceptron.data.open import files_of, find_tables, held_rows
    from polyceptron.data.tables import open_table

    with _asking(**options) as request, _again(data, request.file) as (path, name):
        if request.file.sql is None:
            tables, asked = find_tables(files_of(path), target, request, name)
            most = min(memory_limit or sys.maxsize, _free_memory()) / PARTS
            source = Conversion(tables, asked, partial(HeldRows, most=most)).run().source()
        else:
            source = held_rows(open_table(path, request.file), request._replace(target=target))
    _note_left_out(source)
    if not options.get("later"):
        _forget_places(source)
    return source


def _forget_places(source: ArraySource) -> None:
    if source.feature_names is None:
        source.encoding = None  # of columns without names a model takes numbers only


def open_rows(
    data: str, cache_dir: str | None, *, target: str | None, **options: Any
) -> FileSource:
    """Open the rows on disk, and convert them if that has not been done."""
    from polyceptron.data.open import open_files

    with _asking(**options) as request, Waiting("Converting") as waiting:
        source = open_files(data, target, request, cache_dir, waiting)
    _note_left_out(source)
    return source


def close_rows(rows: ArraySource, train: Any = slice(None)) -> None:
    """Let the rows that are learned from say what fills gaps, and which categories there are."""
    if rows.encoding is not None and not rows.is_sparse:
        known = rows.encoding.learned_from(rows.X[train])
        rows.X = rows.encoding.recoded(rows.X, known)
        rows.encoding, rows.n_features = known, rows.X.shape[1]
        rows.feature_names = None if rows.feature_names is None else known.feature_names
    _forget_places(rows)


@contextmanager
def _again(data: str, file: FileOptions) -> Iterator[tuple[str, str | None]]:
    """A file that can be read more than once, and what to call it."""
    if data != "-" or file.sql is not None:
        yield data, None
        return
    with tempfile.NamedTemporaryFile() as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy, 1 << 20)
        copy.flush()
        yield copy.name, "standard input"


def _note_left_out(source: Source) -> None:
    for one in source.notes:
        note(one)
    if source.unnamed:
        names = ", ".join(source.unnamed)
        note(f"left out, as without a name: {names} (--features takes them in)")
    if n := source.n_left_out:
        note(f"{n} row{'s' if n > 1 else ''} left out for missing values")
