"""Converted rows on disk: found again while the files that they came from are the same.

An entry is a folder with `entry.json` and, beside it, a folder of arrays that it names. Arrays are
written first, and `entry.json` is replaced in one step when they are on the disk: what is torn is
never named, and whoever reads the arrays of an older entry does not get those of a newer one.

Nothing that is read back is believed. A description is typed, and carries a digest of itself, keyed
with a secret of this user, and of every array: an entry that came with somebody's files is none of
ours. Names are 16 hexadecimal digits, and lead nowhere but into the entry; links are not
followed; what another user owns or can write to is not read. What does not fit is converted again.
A folder is removed only if it is ours and holds nothing but what is written here.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np

from polyceptron.data.array_tables import DAMAGED
from polyceptron.data.source import RowFacts, SourceError
from polyceptron.data.streams import naming
from polyceptron.utils.atomic import write_bytes
from polyceptron.utils.locks import held

VERSION: Literal[6] = 6

_JSON = "entry.json"
_DIGITS = "^[0-9a-f]{16}$"
_WRITTEN = re.compile(
    r"entry\.json|\.polyceptron-[0-9a-f]{16}\.tmp|[0-9a-f]{16}"
    r"|([0-9a-f]{16}/)?(X|codes|weight)\.npy"
)
"""What there may be in an entry, or in its folder of arrays."""
_MB, _KEY = 1 << 20, 32
_DAY = 86_400.0
"""What killed conversions have left is removed after so many seconds, unused entries after 30."""
_SECONDS = 1.0
"""The same where it can be told that no process is at work on it: it has had time to say so."""


def cache_root(cache_dir: str | os.PathLike[str] | None = None) -> Path:
    """Where converted rows are kept: here, or in `POLYCEPTRON_CACHE`, or in the user's cache."""
    given = cache_dir or os.environ.get("POLYCEPTRON_CACHE")
    if given:
        return Path(given).absolute() / "polyceptron-rows"  # where others may have theirs
    return _own_folder()


def _own_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "polyceptron" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "polyceptron"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "polyceptron"


def digest(data: bytes | msgspec.Raw, key: bytes = b"") -> str:
    """Of some bytes, as 128 hexadecimal digits."""
    return hashlib.blake2b(data, key=key).hexdigest()


@lru_cache
def _secret(folder: Path) -> bytes:
    """What only this user knows; where it cannot be kept, this process."""
    path = folder / "key"
    with contextlib.suppress(OSError):
        if not _is_file(path):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_bytes(path, secrets.token_bytes(_KEY), 0o600)
        found = path.read_bytes()
        if _is_file(path) and len(found) == _KEY:
            return found
    return secrets.token_bytes(_KEY)


def seal(entry: bytes | msgspec.Raw) -> str:
    """The digest of a description, which nobody else can make."""
    return digest(entry, _secret(_own_folder()))


def entry_key(request: Any) -> str:
    """The name of an entry: 16 digits that stand for what was asked for."""
    return digest(msgspec.json.encode([VERSION, request]))[:16]


class Stamp(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Size and time of a file, a digest of all of it, and one of its first and last megabyte."""

    size: int
    mtime_ns: int
    whole: str
    ends: str

    @classmethod
    def of(cls, path: Path) -> Stamp:
        size, mtime_ns = size_and_time(path)
        return cls(size, mtime_ns, _digest_of_all(path), _digest_of_ends(path))

    def fits(self, path: Path) -> Stamp | None:
        """Return the stamp of a file if its content is the same, else None.

        Of a file of the same size and time only the ends are looked at; of another time, all.
        """
        size, mtime_ns = size_and_time(path)
        with naming(path):
            if (size, mtime_ns) == (self.size, self.mtime_ns):
                same = _digest_of_ends(path) == self.ends
            else:
                same = size == self.size and _digest_of_all(path) == self.whole
        return Stamp(size, mtime_ns, self.whole, self.ends) if same else None


def size_and_time(path: Path) -> tuple[int, int]:
    """What changes with a file."""
    with naming(path):
        found = path.stat()
    return found.st_size, found.st_mtime_ns


def _digest_of_all(path: Path) -> str:
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def _digest_of_ends(path: Path) -> str:
    with path.open("rb", buffering=0) as file:
        first = file.read(_MB)
        file.seek(max(0, file.seek(0, 2) - _MB))
        return digest(first + file.read(_MB))


def stamps_of(paths: Sequence[Path], before: Sequence[tuple[int, int]]) -> list[Stamp]:
    """The stamps of files that were read; an error if size and time are not those of before."""
    found = []
    for path, known in zip(paths, before, strict=True):
        if not path.exists():
            raise SourceError(f"{path}: it disappeared while it was read")
        found.append(Stamp.of(path))
        if size_and_time(path) != known:
            raise SourceError(f"{path}: it changed while it was read; try again")
    return found


class Description(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Converted rows, and where they are.

    `request` is the digest of what was asked for, `files` are those that the rows came from,
    `folder` is where the arrays are, in the entry.
    """

    version: Literal[6]
    request: str
    files: list[Stamp]
    folder: Annotated[str, msgspec.Meta(pattern=_DIGITS)]
    arrays: dict[Literal["X.npy", "codes.npy", "weight.npy"], Stamp]
    facts: RowFacts


class _Signed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    digest: str
    entry: msgspec.Raw


class Entry:
    """A place for the rows of one request, called by a key of 16 digits, made of some files."""

    def __init__(self, root: Path, key: str, request: str, paths: Sequence[Path]) -> None:
        self.root, self.folder = root, root / key
        self.request, self.paths = request, paths
        self._json = self.folder / _JSON

    def find(self) -> Description | None:
        """Return what was converted before, if it is whole and the files are the same."""
        known = self._read()
        if known is None or not self._is_whole(known):
            return None
        found = [stamp.fits(path) for stamp, path in zip(known.files, self.paths, strict=True)]
        if None in found:
            return None
        with contextlib.suppress(OSError):
            if found != known.files:  # so that all is not read again the next time
                self._write(msgspec.structs.replace(known, files=found))
            os.utime(self._json)
        return known

    def _read(self) -> Description | None:
        try:
            if not (_is_ours(self.root) and _is_ours(self.folder) and _is_file(self._json)):
                return None
            signed = msgspec.json.decode(self._json.read_bytes(), type=_Signed)
            if seal(signed.entry) != signed.digest:
                return None
            return msgspec.json.decode(signed.entry, type=Description)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None

    def _write(self, description: Description) -> None:
        entry = msgspec.json.encode(description)
        signed = _Signed(seal(entry), msgspec.Raw(entry))
        write_bytes(self._json, msgspec.json.encode(signed), 0o600)

    def _is_whole(self, known: Description) -> bool:
        folder = self.folder / known.folder
        arrays = [(folder / name, stamp) for name, stamp in known.arrays.items()]
        asked = known.request == self.request and len(known.files) == len(self.paths)
        return (
            asked
            and _is_ours(folder)
            and all(_is_file(at) and stamp.fits(at) for at, stamp in arrays)
        )

    @contextmanager
    def new(self) -> Iterator[Path]:
        """A folder for arrays; it goes away unless `keep` names it before the end."""
        folder = self.folder / secrets.token_hex(8)
        try:
            for path in (*reversed(self.root.parents), self.root, self.folder):
                path.mkdir(mode=0o700, exist_ok=True)
                if path in (self.root, self.folder) and not _is_ours(path):
                    raise SourceError(
                        f"{path}: a link, or a folder that others can write to, where the cache "
                        "has its own; remove it, or name another cache_dir"
                    )
            folder.mkdir(mode=0o700)
            with held(folder):
                yield folder
        except BaseException as error:
            _remove(folder)
            with contextlib.suppress(OSError):  # not where there is something else in it
                self.folder.rmdir()
            if not isinstance(error, OSError):
                raise
            raise SourceError(
                f"{error.filename or folder}: {error.strerror or error}; "
                "cache_dir names another place for converted rows"
            ) from error

    def keep(self, description: Description) -> Description:
        """Make this what is found from now on, unless another process was first."""
        with self._alone():
            before = self.find()
            kept, other = (before, description) if before else (description, self._read())
            if before is None:
                self._write(description)
            if other is not None:
                _remove(self.folder / other.folder)
            self._sweep(kept.folder)
        return kept

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

    def _sweep(self, kept: str) -> None:
        """Remove what killed conversions have left, and entries that are not used any more."""
        for folder in self.folder.iterdir():
            if folder.name != kept and re.fullmatch(_DIGITS, folder.name):
                with held(folder) as is_free:
                    if _age(folder) > (_SECONDS if is_free else _DAY):
                        _remove(folder)
        for folder in self.root.iterdir():
            days = 30 if _is_file(folder / _JSON) else 1
            if folder != self.folder and _age(folder) > _DAY * days:
                _remove(folder)


class KeptEntry(NamedTuple):
    """What the cache has: the folder of an entry, its bytes and rows, and days since its use."""

    folder: Path
    size: int
    rows: int | None
    days: float


def kept_entries(root: Path) -> list[KeptEntry]:
    """All entries that are ours, the one used last first."""
    found = []
    for folder in root.iterdir() if _is_ours(root) else ():
        if re.fullmatch(_DIGITS, folder.name) and _is_ours(folder):
            files = [path for path in folder.rglob("*") if _is_file(path)]
            arrays = [path for path in files if path.name == "codes.npy"]
            rows = None
            if len(arrays) == 1:
                # One that is damaged is listed, and can be removed, all the same.
                with contextlib.suppress(*DAMAGED):
                    rows = len(np.load(arrays[0], mmap_mode="r"))
            size = sum(path.lstat().st_size for path in files)
            found.append(KeptEntry(folder, size, rows, _age(folder) / _DAY))
    return sorted(found, key=lambda entry: entry.days)


def remove_entry(folder: Path) -> None:
    """Remove an entry, unless there is something in it that is not written here."""
    _remove(folder)


def _is_ours(path: Path, kind: Callable[[int], bool] = stat.S_ISDIR) -> bool:
    """Whether this is a folder itself, or a file, and no link, that only we can write to."""
    with contextlib.suppress(OSError):
        found = path.lstat()
        getuid = getattr(os, "getuid", None)  # Windows has none
        own = getuid is None or (found.st_uid == getuid() and not found.st_mode & 0o022)
        return own and kind(found.st_mode)
    return False


def _is_file(path: Path) -> bool:
    return _is_ours(path, stat.S_ISREG)


def _remove(folder: Path) -> None:
    """Remove an entry or a folder of arrays, if it is ours and so is all that is in it."""
    if not (re.fullmatch(_DIGITS, folder.name) and _is_ours(folder)):
        return
    with contextlib.suppress(OSError):  # another process may remove it just now
        names = [path.relative_to(folder).as_posix() for path in folder.rglob("*")]
        if all(map(_WRITTEN.fullmatch, names)):
            shutil.rmtree(folder, ignore_errors=True)  # links are not followed


def _age(folder: Path) -> float:
    """Seconds since anything in a folder was written to."""
    times = [folder.lstat().st_mtime]
    for where, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # whose it is may remove it just now
                times.append(Path(where, name).lstat().st_mtime)
    return time.time() - max(times)
