"""The readers of Parquet and of numpy's .npz."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.readers._base import TARGET, Job, Reader, as_texts, refuse_infinite
from polyceptron.readers._source import Source
from polyceptron.readers._table import NoRowsError, NotANumberError, ReaderError, Table, as_number

_ROWS = 16_384


class ParquetReader(Reader):
    """Parquet, by row group, through pyarrow."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise ReaderError(
                f"{self.name} is a Parquet file, which needs pyarrow: "
                "pip install 'polyceptron[parquet]'"
            ) from None
        self._errors = (pa.ArrowException, OSError, ValueError, KeyError)
        try:
            self._file = pq.ParquetFile(source.seekable())
            self.names = tuple(self._file.schema_arrow.names)
        except self._errors as error:
            raise self._damaged(error) from None
        for j, name in enumerate(self.names):
            if name in self.names[:j]:
                raise ReaderError(f"{self.name}: two columns are called {name!r}")

    def _damaged(self, error: Exception) -> ReaderError:
        return ReaderError(f"{self.name}: the Parquet file is damaged ({_line(error)})")

    def jobs(self, numbers: Sequence[str], texts: Sequence[str] = ()) -> Iterator[Job]:
        first, wanted = 0, [*numbers, *texts]
        batches = self._file.iter_batches(batch_size=_ROWS, columns=wanted, use_threads=False)
        while True:
            try:
                batch = next(batches, None)
            except self._errors as error:
                raise self._damaged(error) from None
            if batch is None:
                break
            yield partial(self._convert, batch, numbers, texts, first)
            first += len(batch)
        if not first:
            raise NoRowsError(f"{self.name} has no rows")

    def read(self, names: Sequence[str] | None = None, *, texts: Collection[str] = ()) -> Table:
        wanted = [name for name in self.names if names is None or name in names]
        try:
            table = self._file.read(columns=wanted)
        except self._errors as error:
            raise self._damaged(error) from None
        if not len(table):
            raise ReaderError(f"{self.name} has no rows")
        numbers = [
            name for name in wanted if name not in texts and _is_number(table.schema.field(name))
        ]
        others = [name for name in wanted if name not in numbers]
        converted = self._convert(table, numbers, others, 0)
        return Table(self.name, {name: converted[name] for name in wanted}, converted.n_rows)

    def _texts(self, name: str, column: Any) -> list[Any]:
        try:
            values: list[Any] = column.to_pylist()
        except UnicodeDecodeError:  # Parquet promises UTF-8, but nothing holds a writer to it
            raise ReaderError(
                f"{self.name}, column {name!r}: it has text that is not UTF-8"
            ) from None
        return values

    def _convert(
        self, batch: Any, numbers: Sequence[str], texts: Sequence[str], first: int
    ) -> Table:
        columns: dict[str, NDArray[Any]] = {}
        for name in (*numbers, *texts):
            column = batch.column(name)
            if not _is_plain(column.type):
                raise ReaderError(
                    f"{self.name}, column {name!r}: a column of {column.type} is neither numbers "
                    "nor text"
                )
            if name in texts or not _is_number(column):
                columns[name] = as_texts(self._texts(name, column))
                continue
            try:
                # Not safely: whole numbers beyond 2**53 are rounded, as text would be.
                floats = column.cast("float64", safe=False)
            except self._errors as error:
                raise self._damaged(error) from None
            columns[name] = np.asarray(floats.to_numpy(zero_copy_only=False))
        table = Table(self.name, columns, len(batch), None, first)
        return refuse_infinite(_parsed(table, numbers), numbers)


def _is_number(field: Any) -> bool:
    import pyarrow.types as pt

    kind = field.type
    return bool(
        pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind) or pt.is_null(kind)
        or pt.is_decimal(kind)
    )  # fmt: skip


def _is_plain(kind: Any) -> bool:
    import pyarrow.types as pt

    if pt.is_dictionary(kind):
        kind = kind.value_type
    text = pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)
    return bool(
        text or pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind)
        or pt.is_null(kind) or pt.is_decimal(kind)
    )  # fmt: skip


def _parsed(table: Table, numbers: Sequence[str]) -> Table:
    """Text where numbers are wanted is read as a file of text would be."""
    for name in numbers:
        values = table[name]
        if values.dtype.kind != "O":
            continue
        parsed = np.full(len(values), np.nan)
        for row, text in enumerate(values):
            if text is not None:
                number = as_number(text.strip())
                if number is None:
                    raise NotANumberError(
                        f"{table.where(row, name)}: {text!r} is not a number", name
                    )
                parsed[row] = number
        table.columns[name] = parsed
    return table


class NpzReader(Reader):
    """Arrays of numpy: `X` and `y`, with `feature_names` if there are any; or an array a column."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        arrays: dict[str, NDArray[Any]] = {}
        which = ""
        try:
            with np.load(source.seekable(), allow_pickle=False) as archive:
                for name in archive.files:
                    which = f", array {name!r}"
                    arrays[name] = archive[name]
        except (
            ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error,
            NotImplementedError, RuntimeError, SyntaxError, TypeError, OverflowError, MemoryError,
        ) as error:  # fmt: skip
            raise ReaderError(
                f"{self.name}{which}: the .npz file is damaged or holds Python objects "
                f"({_line(error)})"
            ) from None
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise ReaderError(
                f"{self.name} is a zip archive of other things than arrays "
                "(of a spreadsheet, save the table as CSV)"
            )
        columns = self._columns(arrays)
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) != 1:
            raise ReaderError(f"{self.name}: arrays must be of one length; got {lengths}")
        n_rows = next(iter(lengths.values()))
        if not n_rows:
            raise ReaderError(f"{self.name} has no rows")
        self._table = Table(self.name, columns, n_rows)
        self.names = tuple(columns)

    def _columns(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        shapes = {name: array.shape for name, array in arrays.items()}
        places, self.target = npz_columns(self.name, shapes, arrays.get("feature_names"))
        return self._checked(
            {
                name: arrays[array] if j is None else arrays[array][:, j]
                for name, (array, j) in places.items()
            }
        )

    def _checked(self, columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        if not columns:
            raise ReaderError(f"{self.name} is empty")
        for name, values in columns.items():
            if values.ndim != 1 or values.dtype.kind not in "biufUS":
                raise ReaderError(
                    f"{self.name}, array {name!r}: a column is one-dimensional, of numbers or "
                    f"text; got {values.dtype} of shape {values.shape} (X and y make a table too)"
                )
            if values.dtype.kind == "S":
                columns[name] = np.char.decode(values, "utf-8", "replace")
        return columns

    def jobs(self, numbers: Sequence[str], texts: Sequence[str] = ()) -> Iterator[Job]:
        for start in range(0, self._table.n_rows, _ROWS):
            rows = slice(start, start + _ROWS)
            yield partial(self._piece, rows, numbers, texts)

    def _piece(self, rows: slice, numbers: Sequence[str], texts: Sequence[str]) -> Table:
        columns: dict[str, NDArray[Any]] = {}
        for name in (*numbers, *texts):
            values = self._table[name][rows]
            is_text = name in texts or values.dtype.kind == "U"
            columns[name] = as_texts(values.tolist()) if is_text else values.astype(np.float64)
        n_rows = len(range(*rows.indices(self._table.n_rows)))
        table = Table(self.name, columns, n_rows, None, rows.start)
        return refuse_infinite(_parsed(table, numbers), numbers)

    def read(self, names: Sequence[str] | None = None, *, texts: Collection[str] = ()) -> Table:
        wanted = [name for name in self.names if names is None or name in names]
        others = [name for name in wanted if name in texts or self._table[name].dtype.kind == "U"]
        numbers = [name for name in wanted if name not in others]
        table = self._piece(slice(0, self._table.n_rows), numbers, others)
        return Table(self.name, {name: table[name] for name in wanted}, table.n_rows)


def npz_columns(
    source: str, shapes: dict[str, tuple[int, ...]], feature_names: NDArray[Any] | None = None
) -> tuple[dict[str, tuple[str, int | None]], str | None]:
    """Say which column is where in an archive of arrays.

    Returns
    -------
    places : dict of str to (str, int or None)
        The array of each column, and its column where that is a matrix.
    target : str or None
        The column of labels, if there is one.

    Examples
    --------
    >>> npz_columns("a.npz", {"X": (5, 2), "y": (5,)})
    ({'x1': ('X', 0), 'x2': ('X', 1), 'target': ('y', None)}, 'target')
    >>> npz_columns("a.npz", {"age": (5,), "dose": (5,)})
    ({'age': ('age', None), 'dose': ('dose', None)}, None)
    """
    lower = {name.lower(): name for name in shapes}
    matrix = next((lower[name] for name in ("x", "data") if name in lower), None)
    if matrix is None or len(shapes[matrix]) != 2:
        return {name: (name, None) for name in shapes}, None
    n = shapes[matrix][1]
    names = [f"x{j}" for j in range(1, n + 1)]
    if feature_names is not None:
        names = [str(name) for name in feature_names.ravel().tolist()]
        if len(names) != n or len(set(names)) != n or TARGET in names:
            raise ReaderError(
                f"{source}: feature_names must be {n} different names, none of them {TARGET!r}"
            )
    places: dict[str, tuple[str, int | None]] = {name: (matrix, j) for j, name in enumerate(names)}
    labels = next((lower[name] for name in ("y", "target") if name in lower), None)
    if labels is None:
        return places, None
    return {**places, TARGET: (labels, None)}, TARGET


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
