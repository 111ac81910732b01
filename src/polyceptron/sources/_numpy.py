"""Arrays in files .npy and .npz as sources of rows."""

from __future__ import annotations

import contextlib
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from polyceptron.data.source import SourceError
from polyceptron.readers import ReaderError
from polyceptron.readers._base import TARGET, text_of
from polyceptron.readers._binary import npz_columns
from polyceptron.sources._files import ArrayFile, npy_header
from polyceptron.sources._tables import (
    TEXT,
    Coded,
    Kind,
    Piece,
    TableFile,
    Wanted,
    one_line,
    rows_of_piece,
)

_DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError
)  # fmt: skip
_LABELS = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str", "S": "str"}


class Rows(Protocol):
    """An array of which rows are read."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def read(self, start: int, stop: int) -> NDArray[Any]: ...


class Held(NamedTuple):
    """An array in memory."""

    array: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    def read(self, start: int, stop: int) -> NDArray[Any]:
        return self.array[start:stop]


class Stored:
    """An array in a file .npy, of any order and type."""

    def __init__(self, path: Path) -> None:
        self.shape, fortran, self.dtype, offset = npy_header(path)
        if len(self.shape) not in (1, 2):
            raise SourceError(f"{path}: an array of shape {self.shape} is no table and no column")
        self.by_column = fortran and len(self.shape) == 2
        whole = ArrayFile(path, offset, self.shape, self.dtype)
        whole.check_size()
        self._parts = [whole]
        if self.by_column:
            n_rows, step = self.shape[0], self.shape[0] * self.dtype.itemsize
            self._parts = [
                ArrayFile(path, offset + j * step, (n_rows,), self.dtype)
                for j in range(self.shape[1])
            ]

    def read(self, start: int, stop: int) -> NDArray[Any]:
        shape = (stop - start, *self.shape[1:])
        into = np.empty(shape, self.dtype, order="F" if self.by_column else "C")
        for j, part in enumerate(self._parts):
            part.read(start, into[:, j] if self.by_column else into)
        return into


class ArraysTable(TableFile):
    """Columns that are arrays, or columns of arrays.

    Parameters
    ----------
    name : str
    arrays : dict of str to Rows
    places : dict of str to (str, int or None)
        The array of each column, and its column where that is a matrix.
    target : str or None
    first : dict of str to int
        The row of an array that is the first of this table, if it is another than 0.
    """

    def __init__(
        self,
        name: str,
        arrays: dict[str, Rows],
        places: dict[str, tuple[str, int | None]],
        target: str | None,
        first: dict[str, int] | None = None,
    ) -> None:
        self.name, self.names, self.target = name, tuple(places), target
        self._arrays, self._places, self._first = arrays, places, first or {}
        self.refuse_twice()
        for column, (array, j) in places.items():
            if len(arrays[array].shape) != (1 if j is None else 2):
                raise SourceError(
                    f"{name}, array {column!r}: a column is one-dimensional; got shape "
                    f"{arrays[array].shape} (X and y make a table too)"
                )
        lengths = {
            array: arrays[array].shape[0]
            for array, _ in places.values()
            if array not in self._first
        }
        if len(set(lengths.values())) != 1:
            raise SourceError(f"{name}: arrays must be of one length; got {lengths}")
        self.n_rows = next(iter(lengths.values()))
        if not self.n_rows:
            raise SourceError(f"{name} has no rows")

    def _dtype(self, name: str) -> np.dtype[Any]:
        dtype = self._arrays[self._places[name][0]].dtype
        if dtype.kind not in _LABELS:
            raise SourceError(
                f"{self.name}, column {name!r}: an array of {dtype} is neither numbers nor text"
            )
        return dtype

    def kinds(self, names: Sequence[str]) -> dict[str, Kind]:
        types = {name: self._dtype(name) for name in names}
        return {name: TEXT if dtype.kind in "US" else dtype for name, dtype in types.items()}

    def label_kind(self, name: str) -> str:
        return _LABELS[self._dtype(name).kind]

    def pieces(self, wanted: Wanted) -> Iterator[tuple[Piece, float]]:
        assert self.n_rows is not None
        needed = dict.fromkeys(self._places[name][0] for name in wanted.names)
        size = rows_of_piece(sum(int(np.prod(self._arrays[a].shape[1:])) for a in needed))
        for start in range(0, self.n_rows, size):
            stop = min(start + size, self.n_rows)
            read = {name: self._read(name, start, stop) for name in needed}
            columns = {}
            for name in wanted.names:
                array, j = self._places[name]
                columns[name] = read[array] if j is None else read[array][:, j]
            texts = {}
            for name in wanted.texts:
                codes, values = _coded(columns[name])
                texts[name] = codes, [text_of(value) for value in values]
            yield (
                Piece(
                    stop - start,
                    {name: columns[name] for name in wanted.numbers},
                    texts,
                    None if wanted.target is None else _coded(columns[wanted.target]),
                    self.place(start),
                ),
                stop / self.n_rows,
            )

    def _read(self, array: str, start: int, stop: int) -> NDArray[Any]:
        first = self._first.get(array, 0)
        values = self._arrays[array].read(first + start, first + stop)
        return np.char.decode(values, "utf-8", "replace") if values.dtype.kind == "S" else values


def _coded(values: NDArray[Any]) -> Coded:
    found, codes = np.unique(values, return_inverse=True)
    return codes, [None if value != value else value for value in found.tolist()]


def open_npy(path: Path, labels: Rows | None = None, first: int = 0) -> ArraysTable:
    """Open a matrix in a file .npy, its columns called x1, x2, ...; labels may be elsewhere.

    Parameters
    ----------
    path : Path
    labels : Rows, optional
        Those of this file are from row `first` on.
    first : int
    """
    X = Stored(path)
    if len(X.shape) != 2:
        raise SourceError(f"{path}: X must be 2-D, one row a sample; got shape {X.shape}")
    arrays: dict[str, Rows] = {"X": X}
    places: dict[str, tuple[str, int | None]] = {f"x{j + 1}": ("X", j) for j in range(X.shape[1])}
    if labels is None:
        return ArraysTable(str(path), arrays, places, None)
    arrays["y"], places[TARGET] = labels, ("y", None)
    return ArraysTable(str(path), arrays, places, TARGET, {"y": first})


class NpzTable(ArraysTable):
    """Arrays of an archive; they are unpacked into a folder, as rows must be read in order."""

    def __init__(self, path: Path, file: Any, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True)
        try:
            members = _unpacked(str(path), file, folder)
            shapes = {name: npy_header(member)[0] for name, member in members.items()}
            names = members.get("feature_names")
            given = None if names is None else np.load(names, allow_pickle=False)
            places, target = npz_columns(str(path), shapes, given)
            arrays: dict[str, Rows] = {
                name: Stored(members[name]) for name in {array for array, _ in places.values()}
            }
            super().__init__(str(path), arrays, places, target)
        except (SourceError, ReaderError) as error:
            self.close()
            raise SourceError(str(error).replace(str(folder), str(path))) from None
        except _DAMAGED as error:
            self.close()
            text = f"{path}: the .npz file is damaged or holds objects ({one_line(error)})"
            raise SourceError(text) from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _unpacked(name: str, file: Any, folder: Path) -> dict[str, Path]:
    with contextlib.ExitStack() as stack:
        if not isinstance(file, str):
            stack.callback(file.close)
        archive = stack.enter_context(zipfile.ZipFile(file))
        members = archive.namelist()
        if not members or not all(member.endswith(".npy") for member in members):
            raise SourceError(
                f"{name} is a zip archive of other things than arrays "
                "(of a spreadsheet, save the table as CSV)"
            )
        paths = {}
        for number, member in enumerate(members):
            path = folder / f"{number}.npy"
            with archive.open(member) as packed, path.open("wb") as plain:
                shutil.copyfileobj(packed, plain, 1 << 20)
            paths[member.removesuffix(".npy")] = path
    return paths
