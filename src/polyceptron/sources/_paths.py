"""Which files are meant."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from polyceptron.data.source import SourceError
from polyceptron.sources._cache import SUFFIX

PathLike = str | os.PathLike[str]


def files_of(path: PathLike | Sequence[PathLike]) -> list[Path]:
    """The files of a path, a directory, a glob or a list, in an order that is always the same.

    In a directory, names that begin with a point or an underscore are passed over, as are
    directories.
    """
    if not isinstance(path, str | os.PathLike | list | tuple) or path == "":
        raise SourceError(f"path must be a file, a folder, a pattern or a list; got {path!r}")
    if not isinstance(path, str | os.PathLike):
        found = [Path(one) for one in path]
        for one in found:
            _check(one)
        if not found:
            raise SourceError("path is an empty list; name at least one file")
        return found
    one = Path(path)
    if one.is_dir():
        found = sorted(
            file for file in one.iterdir() if file.is_file() and file.name[0] not in "._"
        )
        if not found:
            raise SourceError(
                f"{one}: a directory without files; a glob such as "
                f"'{one / '**' / '*.parquet'}' looks into its folders"
            )
        return found
    if not one.exists() and glob.has_magic(str(one)):
        found = sorted(map(Path, glob.glob(str(one), recursive=True)))  # noqa: PTH207
        found = [file for file in found if file.is_file() and not _is_cached(file)]
        if not found:
            raise SourceError(f"{one}: no file fits this pattern")
        return found
    _check(one)
    return [one]


def _check(path: Path) -> None:
    if not path.exists():
        raise SourceError(f"{path}: no such file")
    if not path.is_file():
        raise SourceError(f"{path}: not a file")


def _is_cached(path: Path) -> bool:
    return any(part.endswith(SUFFIX) for part in path.parts)
