"""Arrays as tables: numpy's files .npy and .npz, and the sparse text of LIBSVM."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from tokenize import TokenError
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from polyceptron.data.guesses import as_number
from polyceptron.data.source import SourceError
from polyceptron.data.streams import ByteStream, one_line
from polyceptron.data.tables import TARGET, Batch, Table, rows_of_batch
from polyceptron.utils.text import quoted_names

DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError,
    TypeError, SyntaxError, OverflowError, TokenError, KeyError, OSError, MemoryError,
)  # fmt: skip
_LINE = re.compile(
    rb"[ \t]*[^ \t:#,;]+(?:[ \t]+qid:[0-9]+)?(?:[ \t]+[0-9]+:[^ \t:]+)+[ \t]*(?:#.*)?\r?"
)
_DENSE = 0.25
"""From this share of values that are not zero on, the features of LIBSVM are kept dense."""
MOST_FEATURES = 1_000_000
"""Columns of arrays."""
MOST_INDEX = 50_000
"""The greatest index of LIBSVM; a model file does not hold many more columns of a table."""
_LONGEST = 1 << 18
"""Bytes of an item of an array: text has 4 for each character."""

Places = dict[str, tuple[str, int | None]]
"""For each column its array, and which column it is of that, if the array is a matrix."""
_LABELS: Places = {TARGET: ("y", None)}


class StoredArray:
    """An array in a file of the format .npy, of any order and type, of which rows are read."""

    def __init__(self, name: str, file: Any) -> None:
        self.name, self._file = name, file
        try:
            read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
            version = npy.read_magic(file)
            if version not in read:
                raise ValueError(f"it is of version {version}")
            self.shape, fortran, self.dtype = read[version](file)
        except DAMAGED as error:
            raise SourceError(f"{name}: no whole file .npy: {one_line(error)}") from None
        if self.dtype.hasobject:
            raise SourceError(f"{name}: an array of Python objects, which is not read")
        if len(self.shape) not in (1, 2):
            raise SourceError(f"{name}: an array of shape {self.shape} is no table and no column")
        self._refuse_sizes()
        self.by_column = fortran and len(self.shape) == 2
        self._offset = self._at = file.tell()

    def _refuse_sizes(self) -> None:
        """Refuse what a few bytes may claim, and would take all memory."""
        if self.dtype.itemsize > _LONGEST:
            what = f"items of {self.dtype.itemsize:,} bytes; at most {_LONGEST:,} are read"
            raise SourceError(f"{self.name}: {what}")
        if len(self.shape) == 2 and self.shape[1] > MOST_FEATURES:
            what = f"{self.shape[1]:,} columns; at most {MOST_FEATURES:,} are read"
            raise SourceError(f"{self.name}: {what}")

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop, _ = rows.indices(self.shape[0])
        into = np.empty((stop - start, *self.shape[1:]), self.dtype, "F" if self.by_column else "C")
        for j, values in enumerate(into.T if self.by_column else [into]):
            self.read(start, values, j * self.shape[0])
        return into

    def read(self, start: int, into: NDArray[Any], skipped: int = 0) -> None:
        """Fill an array with rows, from one on; of a column, after the items of those before it."""
        width = into[:1].nbytes or 1
        at = self._offset + (skipped + start) * width
        if at != self._at:
            self._file.seek(at)
        self._at = at + into.nbytes
        left = read_into(self._file, into)
        if left:
            last = start + (into.nbytes - left) // width
            raise SourceError(
                f"{self.name}: ends in row {last}, and should have {self.shape[0]} rows"
            )


def read_into(file: Any, into: NDArray[Any]) -> int:
    """Fill an array from a file; return how many bytes are left to fill when that ends."""
    room = memoryview(into.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    while room and (n := file.readinto(room)):
        room = room[n:]
    return len(room)


class ArraysTable(Table):
    """Columns that are arrays, or columns of arrays: anything of which rows can be taken."""

    def __init__(
        self, name: str, arrays: dict[str, Any], places: Places, target: str | None
    ) -> None:
        self.name, self.names, self.target = name, tuple(places), target
        self._arrays, self._places = arrays, places
        self._first_label = 0
        if not places:
            raise SourceError(f"{name} is empty")
        self.refuse_twice()
        for column in places:
            self._check(column)
        lengths = {a: arrays[a].shape[0] for a, _ in places.values()}
        if len(set(lengths.values())) != 1:
            raise SourceError(f"{name}: arrays must be of one length; got {lengths}")
        self.n_rows = next(iter(lengths.values()))
        if not self.n_rows:
            raise SourceError(f"{name} has no rows")

    def _check(self, column: str) -> None:
        array, j = self._places[column]
        shape, dtype = self._arrays[array].shape, self._arrays[array].dtype
        if len(shape) != (1 if j is None else 2) or dtype.kind not in "biufUS":
            raise SourceError(
                f"{self.name}, array {column!r}: a column is one-dimensional, of numbers or text; "
                f"got {dtype} of shape {shape} (X and y make a table too)"
            )

    def add_labels(self, labels: Any, first: int) -> None:
        """Take labels that are elsewhere, from a row on."""
        self._arrays, self._places = self._arrays | {"y": labels}, self._places | _LABELS
        self.names, self.target, self._first_label = tuple(self._places), TARGET, first
        self._check(TARGET)

    def types(self, names: Sequence[str]) -> dict[str, Any]:
        kinds = {name: self._arrays[self._places[name][0]].dtype for name in names}
        return {
            name: pa.string() if kind.kind in "US" else pa.from_numpy_dtype(kind.newbyteorder("="))
            for name, kind in kinds.items()
        }

    def jobs(self, numbers: Sequence[str], texts: Sequence[str]) -> Iterator[Callable[[], Batch]]:
        assert self.n_rows is not None
        names = list(dict.fromkeys((*numbers, *texts)))
        needed = dict.fromkeys(self._places[name][0] for name in names)
        size = rows_of_batch(sum(int(np.prod(self._arrays[a].shape[1:])) for a in needed))
        for start in range(0, self.n_rows, size):
            stop = min(start + size, self.n_rows)
            read = {name: self._read(name, start, stop) for name in needed}
            places = [self._places[name] for name in names]
            columns = [pa.array(read[a] if j is None else read[a][:, j]) for a, j in places]
            batch = pa.record_batch(columns, names)
            yield partial(Batch, batch, self.place(start), stop / self.n_rows)

    def _read(self, array: str, start: int, stop: int) -> NDArray[Any]:
        first = self._first_label if array == "y" else 0
        try:
            values: NDArray[Any] = self._arrays[array][first + start : first + stop]
        except SourceError:
            raise
        except DAMAGED as error:
            raise SourceError(f"{self.name}: the file is damaged ({one_line(error)})") from None
        if values.dtype.kind == "S":
            return np.char.decode(values, "utf-8", "replace")
        return values.astype(values.dtype.newbyteorder("="), copy=False)


def open_npy(name: str, file: IO[bytes]) -> ArraysTable:
    """Open a matrix in a file .npy, its columns called x1, x2, ...; labels may be added."""
    X = StoredArray(name, file)
    if len(X.shape) != 2:
        raise SourceError(f"{name}: X must be 2-D, one row a sample; got shape {X.shape}")
    places: Places = {f"x{j + 1}": ("X", j) for j in range(X.shape[1])}
    table = ArraysTable(name, {"X": X}, places, None)
    table.is_named = False
    return table


def open_npz(name: str, file: IO[bytes]) -> ArraysTable:
    """Open `X` and `y`, with `feature_names` if there are any; or an array a column."""
    which = ""
    try:
        archive = zipfile.ZipFile(file)
        members = archive.namelist()
        if not all(member.endswith(".npy") for member in members):
            raise SourceError(
                f"{name} is a zip archive, neither of arrays nor a workbook: unpack it "
                f"(it holds {quoted_names(members, 3)})"
            )
        arrays: dict[str, Any] = {}
        for key in (member.removesuffix(".npy") for member in members):
            which = f", array {key!r}"
            arrays[key] = StoredArray(f"{name}{which}", archive.open(f"{key}.npy"))
        names = arrays.get("feature_names")
        if names is not None and np.prod(names.shape) > MOST_FEATURES:
            raise SourceError(f"{name}{which}: more than {MOST_FEATURES:,} feature_names")
        places, target = _npz_columns(name, arrays, None if names is None else names[:])
        return ArraysTable(name, arrays, places, target)
    except (*DAMAGED, SystemError) as error:  # the last of impossible characters
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"{name}{which}: the .npz file is damaged ({one_line(error)})") from None


def _npz_columns(
    source: str, arrays: dict[str, StoredArray], feature_names: NDArray[Any] | None
) -> tuple[Places, str | None]:
    """Say which column is where in an archive of arrays, and which holds the labels, if any."""
    lower = {name.lower(): name for name in arrays}
    matrix = lower.get("x", lower.get("data"))
    if matrix is None or len(arrays[matrix].shape) != 2:
        return {name: (name, None) for name in arrays}, None
    n = arrays[matrix].shape[1]
    names = [f"x{j}" for j in range(1, n + 1)]
    if feature_names is not None:
        names = [str(name) for name in feature_names.ravel().tolist()]
        if len(names) != n or len(set(names)) != n or TARGET in names:
            raise SourceError(
                f"{source}: feature_names must be {n} different names, none of them {TARGET!r}"
            )
    places: Places = {name: (matrix, j) for j, name in enumerate(names)}
    labels = lower.get("y", lower.get("target"))
    if labels is None:
        return places, None
    return {**places, TARGET: (labels, None)}, TARGET


# --- LIBSVM --------------------------------------------------------------------------------


def looks_like_libsvm(head: bytes) -> bool:
    """Whether the first line is a label and pairs index:value."""
    lines = [line for line in head.split(b"\n", 20)[:20] if line.strip()]
    return bool(lines) and _LINE.fullmatch(lines[0]) is not None


class SparseTable(Table):
    """Rows of LIBSVM: features are called x1, x2, ... by their index, and the label `target`."""

    target = TARGET
    is_sparse = True

    def __init__(self, name: str, matrix: Any, labels: NDArray[Any], base: int) -> None:
        self.name, self._matrix, self._labels, self._base = name, matrix, labels, base
        self.n_rows = len(labels)
        self.names = (TARGET, *(f"x{j + base}" for j in range(matrix.shape[1])))

    def types(self, names: Sequence[str]) -> dict[str, Any]:
        kind = pa.from_numpy_dtype(self._labels.dtype)
        return {name: kind if name == TARGET else pa.float64() for name in names}

    def jobs(self, numbers: Sequence[str], texts: Sequence[str]) -> Iterator[Callable[[], Batch]]:
        del texts  # only the labels can be asked for so, and they are always there
        places = [int(name[1:]) - self._base for name in numbers if name != TARGET]
        size = 1 << 16
        for start in range(0, len(self._labels), size):
            labels = pa.record_batch([pa.array(self._labels[start : start + size])], [TARGET])
            matrix = self._matrix[start : start + size]
            if places != list(range(matrix.shape[1])):
                matrix = matrix[:, places]
            yield partial(Batch, labels, self.place(start), 1.0, matrix)


def open_libsvm(stream: ByteStream, expect: Collection[str] = ()) -> Table:
    """Read a file of LIBSVM; it is kept dense where most values are not zero.

    A sparse file leaves out what is zero, so any feature that is expected is there.
    """
    from sklearn.datasets import load_svmlight_file

    known = [int(name[1:]) for name in expect if re.fullmatch(r"x(?:0|[1-9][0-9]{0,8})", name)]
    file = stream.seekable()
    try:
        matrix, labels = load_svmlight_file(file, zero_based=True)
    except (ValueError, OverflowError, TypeError, MemoryError) as error:
        _explain_line(stream.name, file)
        raise SourceError(f"{stream.name}: {one_line(error)}") from None
    finite = np.isfinite(matrix.data).all() and np.isfinite(labels).all()
    if not finite or matrix.shape[1] > MOST_INDEX + 1:
        _explain_line(stream.name, file)
    if not len(labels):
        raise SourceError(f"{stream.name} is empty")
    has_zero = 0 in known or (matrix.nnz and int(matrix.indices.min()) == 0)
    base, last = (0 if has_zero else 1), max([matrix.shape[1] - 1, *known])
    matrix.resize(len(labels), last + 1)
    matrix = matrix if has_zero else matrix[:, 1:]
    if (labels == labels.astype(np.int64)).all():
        labels = labels.astype(np.int64)
    if matrix.nnz < _DENSE * max(1, matrix.shape[0] * matrix.shape[1]):
        return SparseTable(stream.name, matrix, labels, base)
    places = _LABELS | {f"x{j + base}": ("X", j) for j in range(matrix.shape[1])}
    return ArraysTable(stream.name, {"X": matrix.toarray(), "y": labels}, places, TARGET)


def _explain_line(name: str, file: IO[bytes]) -> None:
    """Find the line that is wrong, and say so."""
    file.seek(0)
    for number, raw in enumerate(file, 1):
        where = f"{name}, line {number}"
        fields = raw.partition(b"#")[0].decode("utf-8", "replace").split()
        if fields and as_number(fields[0]) is None:
            raise SourceError(f"{where}: the label {fields[0]!r:.60} is not a number")
        before = -1
        for field in fields[1:]:
            index, colon, value = field.partition(":")
            if index == "qid":
                continue
            if not (colon and index.isascii() and index.isdigit()) or as_number(value) is None:
                raise SourceError(f"{where}: {field!r:.60} is not index:value")
            if len(index) > 9 or int(index) > MOST_INDEX:
                what = f"index {index!r:.60} is more than {MOST_INDEX:,}, which model files hold"
                other = "in Python, fit takes the matrix of scikit-learn's load_svmlight_file"
                raise SourceError(f"{where}: {what} ({other})")
            if int(index) <= before:
                raise SourceError(f"{where}: index {int(index)} after {before}; they must increase")
            before = int(index)
