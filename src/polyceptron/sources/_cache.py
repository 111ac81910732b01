"""Converted rows on disk: found again while the files that they came from are the same.

An entry is a folder with `cache.json` and, beside it, a folder of arrays that it names. Arrays are
written first, and `cache.json` replaced in one step when they are on the disk: what is torn is
never named, and whoever reads the arrays of an older entry does not get those of a newer one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from polyceptron.data.source import SourceError
from polyceptron.sources._stamps import Stamp, as_stamp
from polyceptron.utils.atomic import write_text

VERSION = 1
SUFFIX = ".polyceptron-cache"

_JSON = "cache.json"
_ARRAYS = {"X.npy", "codes.npy", "weight.npy"}
_DAY = 86_400.0
"""Arrays that nobody names, and that nobody wrote to for so many seconds, are thrown away."""


class Converted(NamedTuple):
    """What is known of converted rows beside the arrays.

    Parameters
    ----------
    folder : str
        Where the arrays are, in the entry.
    sizes : dict of str to int
        The arrays, and their bytes.
    target : str
        What the labels are called.
    kind, labels
        What labels are, and the sorted classes.
    feature_names : list of str or None
    encoding : list or None
        As `Encoding.to_json` gives it.
    firsts : list of int
        The first row of each file.
    n_left_out : int
        Rows that were left out for missing values.
    """

    folder: str
    sizes: dict[str, int]
    target: str
    kind: str
    labels: list[Any]
    feature_names: list[str] | None
    encoding: list[dict[str, Any]] | None
    firsts: list[int]
    n_left_out: int


class Entry:
    """A place for the rows of one request.

    Parameters
    ----------
    folder : Path
    request : dict
        What was asked for, as JSON; among it `files`, a name for each path.
    paths : sequence of Path
        The files that the rows come from.
    """

    def __init__(self, folder: Path, request: dict[str, Any], paths: Sequence[Path]) -> None:
        self.folder, self._request, self._paths = folder, request, paths
        self._json = folder / _JSON

    def find(self) -> Converted | None:
        """Return what was converted before, if it is whole and the files are the same."""
        known = self._read()
        if known is None:
            return None
        request, stamps, converted = known
        if request != self._request or not self._is_whole(converted):
            return None
        found = []
        for stamp, path in zip(stamps, self._paths, strict=True):
            now = stamp.fits(path)
            if now is None:
                return None
            found.append(now)
        if found != stamps:  # so that all is not read again the next time
            with contextlib.suppress(OSError):
                self._write(found, converted)
        return converted

    def _read(self) -> tuple[Any, list[Stamp], Converted] | None:
        try:
            known = json.loads(self._json.read_text("utf-8"))
            if known["version"] != VERSION or len(known["files"]) != len(known["request"]["files"]):
                return None
            stamps = [as_stamp(value) for value in known["files"]]
            converted = Converted(**known["converted"])
            # Anybody may have written this: names lead to nothing but what we would write here.
            if re.fullmatch("[0-9a-f]{16}", converted.folder) is None:
                return None
            if not converted.sizes.keys() <= _ARRAYS:
                return None
            return known["request"], stamps, converted
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _write(self, stamps: Sequence[Stamp], converted: Converted) -> None:
        known = {
            "version": VERSION,
            "request": self._request,
            "files": [list(stamp) for stamp in stamps],
            "converted": converted._asdict(),
        }
        write_text(self._json, json.dumps(known, ensure_ascii=False, indent=1) + "\n")

    def _is_whole(self, converted: Converted) -> bool:
        folder = self.folder / converted.folder
        try:
            return all((folder / name).stat().st_size == n for name, n in converted.sizes.items())
        except OSError:
            return False

    @contextmanager
    def new(self) -> Iterator[Path]:
        """A folder for arrays; it goes away unless `keep` names it before the end."""
        folder = self.folder / secrets.token_hex(8)
        try:
            folder.mkdir(parents=True)
            yield folder
        except OSError as error:
            self._drop(folder)
            raise SourceError(
                f"{error.filename or folder}: {error.strerror or error}; "
                "cache_dir names another place for converted rows"
            ) from error
        except BaseException:
            self._drop(folder)
            raise

    def _drop(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # not where there is something else in them
            self.folder.rmdir()
            self.folder.parent.rmdir()

    def keep(self, stamps: Sequence[Stamp], converted: Converted) -> Converted:
        """Make this what is found from now on, unless another process was first."""
        with self._alone():
            other = self.find()
            if other is None:
                before = self._read()
                self._write(stamps, converted)
                if before is not None:
                    self._remove(before[2].folder)
                other = converted
            else:
                self._remove(converted.folder)
            self._sweep(other.folder)
        return other

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process or thread at a time decides what is kept; where folders can be locked."""
        try:
            import fcntl
        except ImportError:  # pragma: no cover - Windows has no such lock
            yield
            return
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _remove(self, name: str) -> None:
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def _sweep(self, kept: str) -> None:
        """Remove what conversions that were killed have left."""
        for folder in self.folder.iterdir():
            if folder.name == kept or not folder.is_dir():
                continue
            with contextlib.suppress(FileNotFoundError):  # whose it is may remove it just now
                times = [path.stat().st_mtime for path in (folder, *folder.rglob("*"))]
                if time.time() - max(times) > _DAY:
                    self._remove(folder.name)
