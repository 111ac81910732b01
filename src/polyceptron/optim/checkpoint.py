"""What is known so far of a fit, on disk: a fit that was killed goes on from there.

The file is an ``.npz`` of plain arrays; reading it executes nothing. It is written in one step,
so there is a whole one at any time, and it names the learner, its parameters and its data: it is
refused for others. That is looked at before any array is. Arrays are not compressed, so the file is
as large as what is in it, and the head has a digest of them. The digest tells damage and no forger:
every array is `checked` for its type, its shape and its numbers before anything is done with it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyceptron.data.blocks import Block, Blocks
from polyceptron.data.source import SourceError
from polyceptron.data.streams import one_line
from polyceptron.utils.atomic import write_bytes
from polyceptron.utils.checks import as_count

T = TypeVar("T")

StateArrays: TypeAlias = dict[str, NDArray[Any]]
Arrays: TypeAlias = tuple[NDArray[Any], ...]
Record: TypeAlias = dict[str, Any]
"""Arrays by name, or dicts of arrays."""

_FORMAT = 3
_HEAD = "checkpoint"
_LONGEST_HEAD = 1 << 20
_DAMAGED = (
    ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError, OverflowError,
    RuntimeError, NotImplementedError, MemoryError, RecursionError, SyntaxError, TokenError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
_GREATEST = 1e150  # of a matrix, so that squares are finite
_WRONG_NUMBERS = (ValueError, TypeError, IndexError, KeyError, AttributeError, ArithmeticError)


class CheckpointError(ValueError):
    """A checkpoint that cannot be gone on from: spoilt, or of another fit.

    Examples
    --------
    >>> from polyceptron import BatchPolyceptron
    >>> BatchPolyceptron(1, checkpoint="no folder/c").fit([[0.0], [1.0]], [0, 1])
    Traceback (most recent call last):
    polyceptron.optim.checkpoint.CheckpointError: checkpoint: there is no folder 'no folder'
    """


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a fit writes down what it knows.

    Parameters
    ----------
    path : str or Path
        The file. If it is there, `fit` goes on from it, to the very model that an
        uninterrupted fit gives; a file of other data or parameters is refused. When the fit
        ends, the file is removed.
    seconds : float, default=30.0
        Write after so many seconds.
    iterations : int, optional
        Write after so many iterations, if that is sooner.
    keep : bool, default=False
        Leave the file there when the fit ends, for whoever has to write the model first: a fit
        again would end at once. Whoever says so removes it.

    Examples
    --------
    >>> import tempfile
    >>> from polyceptron import BatchPolyceptron, Checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     often = Checkpoint(f"{folder}/fit.checkpoint", iterations=10)
    ...     BatchPolyceptron(1, checkpoint=often).fit([[0.0], [1.0]], [0, 1]).predict([[2.0]])
    array([1])
    """

    path: str | os.PathLike[str]
    seconds: float = 30.0
    iterations: int | None = None
    keep: bool = False

    def __post_init__(self) -> None:
        path: Any = self.path
        if not isinstance(path, str | os.PathLike) or not str(path):
            raise ValueError(f"path must be that of a file, got {path!r}")
        seconds: Any = self.seconds
        if not isinstance(seconds, int | float) or not seconds >= 0:
            raise ValueError(f"seconds must be at least 0, got {seconds!r}")
        if self.iterations is not None:
            as_count(self.iterations, "iterations", 1)


def as_checkpoint(value: Any) -> Checkpoint | None:
    """Take what the parameter `checkpoint` may be: None, a path, or a `Checkpoint`."""
    if value is None or isinstance(value, Checkpoint):
        return value
    if isinstance(value, str | os.PathLike):
        return Checkpoint(value)
    raise ValueError(f"checkpoint must be None, a path or a Checkpoint, got {value!r}")


class FitJournal:
    """Named records of one fit, in memory and now and then on disk; nothing without a checkpoint.

    The identity is what the fit depends on.
    """

    _prefix = ""
    """What the names of records begin with, in the journal of a part."""

    def __init__(self, checkpoint: Checkpoint | None, identity: Mapping[str, str]) -> None:
        self._checkpoint = checkpoint
        self._identity = dict(identity)
        self._records: dict[str, Record] = {}
        self._begun = self._written = time.monotonic()
        self._steps = 0
        self.is_kept = checkpoint is not None
        if checkpoint is not None:
            self._path = Path(checkpoint.path)
            if not self._path.parent.is_dir():
                raise CheckpointError(f"checkpoint: there is no folder {str(self._path.parent)!r}")
            if self._path.is_dir():
                raise CheckpointError(f"{self._path}: a folder; a checkpoint is a file")
            if self._path.exists():
                self._records = self._read()
        self._is_gone_on_from = bool(self._records)

    def get(self, name: str) -> Record | None:
        """A record of before, if there is one."""
        return self._records.get(self._prefix + name)

    def restored(self, name: str, unpack: Callable[[Record], T]) -> T | None:
        """What a record of before stands for, if there is one."""
        record = self.get(name)
        if record is None:
            return None
        with self.restoring():
            return unpack(record)

    def put(self, name: str, record: Record | None) -> None:
        """Keep a record, if there is one; it is written when it is time to."""
        if self.is_kept and record is not None:
            self._records[self._prefix + name] = record
            if self._is_time():
                self.write()

    def drop(self, name: str) -> None:
        """Forget a record."""
        self._records.pop(self._prefix + name, None)

    def step(self) -> bool:
        """Count an iteration; whether it is time to write."""
        self._steps += 1
        return self._is_time()

    def _is_time(self) -> bool:
        if self._checkpoint is None:
            return False
        every = self._checkpoint.iterations
        enough = every is not None and self._steps >= every
        return enough or time.monotonic() - self._written >= self._checkpoint.seconds

    def write(self) -> None:
        """Write all records in one step."""
        arrays: StateArrays = {}
        for name, record in self._records.items():
            for key, value in record.items():
                inner = value if isinstance(value, dict) else {"": value}
                for rest, array in inner.items():
                    arrays[f"{name}/{key}.{rest}".removesuffix(".")] = array
        head = json.dumps(
            {"format": _FORMAT, "identity": self._identity, "digest": digest_by_name(arrays)}
        )
        file = io.BytesIO()
        np.savez(file, **{_HEAD: np.frombuffer(head.encode(), np.uint8)}, **arrays)  # type: ignore[arg-type]
        write_bytes(self._path, file.getvalue())
        self._written, self._steps = time.monotonic(), 0

    def finish(self) -> None:
        """Remove the file: the fit has ended; or have all of it there, if it is to be kept."""
        if self._checkpoint is None:
            return
        if not self._checkpoint.keep:
            self._path.unlink(missing_ok=True)
        elif self._path.exists() or time.monotonic() - self._begun >= self._checkpoint.seconds:
            self.write()  # a fit that was short is soon done again

    def memo(self, name: str, compute: Callable[[], Arrays], *forms: Form) -> Arrays:
        """Arrays of these forms that were computed before, or are now."""
        record = self.get(name)
        if record is not None:
            with self.restoring():
                found = (record[str(place)] for place in range(len(record)))
                return tuple(checked(*both) for both in zip(found, forms, strict=True))
        arrays = compute()
        assert len(arrays) == len(forms)  # or nobody could go on from here
        self.put(name, {str(place): array for place, array in enumerate(arrays)})
        return arrays

    def part(self, name: str) -> FitJournal:
        """The journal of a part of the fit: the same file, names of its own."""
        part = copy(self)  # which shares the records
        part._prefix = f"{self._prefix}{name}: "
        return part

    @contextmanager
    def at_a_stop(self, name: str, record: Callable[[], Record | None]) -> Iterator[None]:
        """Write down a last record if what is done here is stopped: by Ctrl-C, or by an error."""
        try:
            yield
        except BaseException:
            last = record() if self.is_kept else None
            if last is not None:
                with suppress(OSError):  # the error itself says more
                    self.put(name, last)
                    self.write()
            raise

    def random(self, fresh: np.random.RandomState) -> np.random.RandomState:
        """A source of random numbers, in the state in which the fit first had it."""
        if self._checkpoint is None:
            return fresh
        record = self.get("random")
        if record is None:
            _, keys, place, has_gauss, gauss = fresh.get_state(legacy=True)
            record = {"keys": keys, "rest": np.array([place, has_gauss, gauss])}
            self.put("random", record)
        again = np.random.RandomState()
        with self.restoring():
            checked(record["keys"], Form(np.uint32, (624,)))
            place, has_gauss, gauss = checked(record["rest"], Form(float, (3,))).tolist()
            if not 0 <= place <= 624:  # which numpy does not look at
                raise ValueError("no place among the keys")
            again.set_state(("MT19937", record["keys"], int(place), int(has_gauss), gauss))
        return again

    def _read(self) -> dict[str, Record]:
        try:
            if not self._path.is_file():
                raise self._error("not a regular file")
            with self._path.open("rb") as file, zipfile.ZipFile(file) as archive:
                head = self._head(archive)
                file.seek(0)
                with np.load(file, allow_pickle=False) as members:
                    arrays = {name: members[name] for name in members.files if name != _HEAD}
            if digest_by_name(arrays) != head["digest"]:
                raise self._error("not a whole checkpoint")
            return _as_records(arrays)
        except OSError as error:
            raise CheckpointError(f"{self._path}: {error.strerror or error}") from error
        except _DAMAGED as error:
            if isinstance(error, CheckpointError):
                raise
            raise self._error("not a whole checkpoint") from None

    def _head(self, archive: zipfile.ZipFile) -> dict[str, Any]:
        """What the file is of, if that is this fit; nothing else in it is looked at before."""
        members = archive.infolist()
        if any(one.compress_type != zipfile.ZIP_STORED for one in members):
            raise self._error("not a checkpoint: its arrays are compressed")
        size = sum(one.file_size for one in members)
        longest = archive.getinfo(f"{_HEAD}.npy").file_size
        if longest > _LONGEST_HEAD or size > self._path.stat().st_size:
            raise self._error("not a whole checkpoint")
        with archive.open(f"{_HEAD}.npy") as file:
            head = json.loads(np.lib.format.read_array(file, allow_pickle=False).tobytes())
        if head["format"] != _FORMAT:
            what = f"a checkpoint of format {head['format']!r:.60}"
            raise self._error(f"{what}; this version writes {_FORMAT}")
        found = dict(head["identity"])
        for name in dict.fromkeys([*self._identity, *found]):
            now, then = self._identity.get(name), found.get(name)
            if now != then:
                what = f"a checkpoint of another fit: {name:.200}"
                raise self._error(f"{what} was {then!s:.1000}, is {now}")
        return dict(head)

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Where a record of before becomes what it stands for: it may not be of that form."""
        try:
            yield
        except _DAMAGED as error:
            if isinstance(error, CheckpointError) or self._checkpoint is None:
                raise
            raise self._error("a checkpoint that this version cannot go on from") from error

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Where a fit goes on: numbers of before that make it fail are those of no fit."""
        try:
            yield
        except _WRONG_NUMBERS as error:
            if not self._is_gone_on_from or isinstance(error, CheckpointError | SourceError):
                raise
            problem = f"the fit that went on from it failed ({one_line(error):.500})"
            raise self._error(problem) from error

    def _error(self, problem: str) -> CheckpointError:
        return CheckpointError(f"{self._path}: {problem}; remove it to begin anew")


class Form(NamedTuple):
    """What an array of a record is like: its type, and its shape, in which None is any length."""

    dtype: Any
    shape: tuple[int | None, ...]
    is_finite: bool = True


def checked(array: NDArray[Any], form: Form) -> NDArray[Any]:
    """An array of a record, if it has this form; no number is NaN, and whole ones are counts."""
    pairs = zip(array.shape, form.shape, strict=True)
    if array.dtype != form.dtype or any(n not in (m, None) for m, n in pairs):
        raise ValueError(f"{array.dtype} of shape {array.shape} where {form} should be")
    if array.dtype.kind == "f":
        most = _GREATEST if array.ndim > 1 else np.inf
        wrong = ~(np.abs(array) < most) if form.is_finite else np.isnan(array)
    else:
        wrong = array < 0
    if wrong.any():
        raise ValueError(f"{array[wrong].flat[0]} where a number of a fit should be")
    return array


A_COUNT = Form(np.int64, ())
"""A whole number."""

NO_JOURNAL = FitJournal(None, {})
"""Keeps nothing."""


def described(value: Any) -> str:
    """A parameter in a few words that tell it from others: an array by a digest."""
    if isinstance(value, dict):
        return repr({key: described(own) for key, own in value.items()})
    if hasattr(value, "to_text"):  # a polyhedron, which does not show its numbers
        return str(value.to_text())
    if _is_list(value) and len({_shape(own) for own in value}) > 1:
        return repr([described(own) for own in value])  # no array: its parts are of several shapes
    value = value.toarray() if sparse.issparse(value) else value
    if hasattr(value, "__array__") or (_is_list(value) and len(value) > 10):
        array = np.asarray(value)
        if array.size > 10:
            return f"array {array.shape} {digest_of(array)}"
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)


def _shape(value: Any) -> tuple[int, ...]:
    if _is_list(value):
        return (len(value),)
    return np.shape(value) if isinstance(value, np.ndarray) else ()


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def digest_by_name(arrays: StateArrays) -> str:
    """A number in hex that tells arrays with names apart."""
    return digest_of(np.array(sorted(arrays), str), *(arrays[name] for name in sorted(arrays)))


def _as_records(arrays: StateArrays) -> dict[str, Record]:
    records: dict[str, Record] = {}
    for place, array in arrays.items():
        name, _, key = place.rpartition("/")
        key, is_inner, inner = key.partition(".")
        record = records.setdefault(name, {})
        if is_inner:
            record.setdefault(key, {})[inner] = array
        else:
            record[key] = array
    return records


def digest_of(*arrays: NDArray[Any]) -> str:
    """A number in hex that tells arrays apart."""
    digest = hashlib.blake2b(digest_size=8)
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def digest_of_block(block: Block) -> NDArray[np.uint64]:
    """A number that tells blocks apart: their rows, labels, weights and numbers."""
    digest = digest_of(np.array(block.number), *block.arrays(), block.y, block.weight)
    return np.array([int(digest, 16)], np.uint64)  # arrays wrap around where they are added


def fingerprint(data: Blocks) -> str:
    """A number in hex that tells rows apart, the same wherever they are."""
    return f"{int(data.reduce(digest_of_block)[0]):016x}"
