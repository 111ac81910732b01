"""Tables with types of Arrow: Parquet, Arrow IPC, and tables in memory."""

from __future__ import annotations

from abc import abstractmethod
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet
import pyarrow.types as pt

from polyceptron.data.dates import columns_needed
from polyceptron.data.encoding import missing_columns
from polyceptron.data.guesses import known_of
from polyceptron.data.source import SourceError
from polyceptron.data.streams import BUFFER, one_line
from polyceptron.data.tables import Batch, NoRowsError, Table, is_text, rows_of_batch
from polyceptron.data.written_dates import DateStyle, guess_dates
from polyceptron.utils.lazy import need

_SOME = 200
"""Values that tell whether text is dates."""
_ERRORS = (pa.ArrowException, OSError, ValueError, KeyError, IndexError, MemoryError, OverflowError)


class ArrowTable(Table):
    """Columns with types of Arrow."""

    format, part = "Arrow", "record batch"

    def __init__(self, name: str, opened: Any) -> None:
        self.name = name
        try:
            self._schema = self._begin(opened)
            self.names = tuple(self._schema.names)
        except _ERRORS as error:
            raise self._damaged(error) from None
        self.refuse_twice()

    @abstractmethod
    def _begin(self, opened: Any) -> Any:
        """Keep what is open, and return its schema."""

    @abstractmethod
    def _parts(self, names: list[str]) -> Iterator[Iterable[Any]]:
        """The parts of the table, each as its batches."""

    def _share(self, n_rows: int) -> float:
        return n_rows / max(1, self.n_rows or 0)

    def _damaged(self, error: BaseException, place: str = "") -> SourceError:
        return SourceError(
            f"{self.name}{place}: the file of {self.format} is damaged ({one_line(error)})"
        )

    def types(self, names: Sequence[str]) -> dict[str, Any]:
        return {name: self._schema.field(name).type for name in names}

    def jobs(self, numbers: Sequence[str], texts: Sequence[str]) -> Iterator[Callable[[], Batch]]:
        first, place = 0, f", {self.part} 0 (from row 0)"
        names = list(dict.fromkeys((*numbers, *texts)))
        size = rows_of_batch(len(names))
        try:
            for number, part in enumerate(self._parts(names), 1):
                for rows in (w.slice(j, size) for w in part for j in range(0, len(w), size)):
                    share = self._share(first + len(rows))
                    yield partial(self._checked, Batch(rows, self.place(first), share), place)
                    first += len(rows)
                place = f", {self.part} {number} (from row {first})"
        except SourceError:
            raise
        except _ERRORS as error:
            raise self._damaged(error, place) from None
        if not first:
            raise NoRowsError(f"{self.name} has no rows")

    def _checked(self, batch: Batch, place: str) -> Batch:
        """Refuse text with wrong offsets, which would be read from anywhere, or not in UTF-8."""
        for name, column in zip(batch.data.schema.names, batch.data.columns, strict=True):
            try:
                column.validate(full=not pt.is_primitive(column.type))
            except _ERRORS as error:
                raise self._damaged(error, f"{place}, column {name!r}") from None
        return batch


class ParquetTable(ArrowTable):
    """Parquet, by row group."""

    format, part = "Parquet", "row group"

    def _begin(self, opened: Any) -> Any:
        self._file = pa.parquet.ParquetFile(
            opened, buffer_size=BUFFER, pre_buffer=False, page_checksum_verification=True
        )
        self.n_rows = self._file.metadata.num_rows
        return self._file.schema_arrow

    def _parts(self, names: list[str]) -> Iterator[Iterable[Any]]:
        return (self._rows(j, names) for j in range(self._file.metadata.num_row_groups))

    def _rows(self, group: int, names: list[str]) -> Iterator[Any]:
        n_read, n_rows = 0, self._file.metadata.row_group(group).num_rows
        size = rows_of_batch(len(names))
        for batch in self._file.iter_batches(size, [group], names, use_threads=False):
            n_read += len(batch)
            yield batch
        if n_read != n_rows:
            raise ValueError(f"{n_read} rows where there should be {n_rows}")


class IpcTable(ArrowTable):
    """Arrow IPC, the format of files (Feather) or of streams."""

    def _begin(self, opened: Any) -> Any:
        self._handle = pa.PythonFile(opened, mode="r")
        self._is_file = self._handle.read(6) == b"ARROW1"
        return self._reader(None).schema

    def _reader(self, fields: list[int] | None) -> Any:
        self._handle.seek(0)
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        open_ = pa.ipc.open_file if self._is_file else pa.ipc.open_stream
        return open_(self._handle, options=options)

    def _parts(self, names: list[str]) -> Iterator[Iterable[Any]]:
        reader = self._reader([self._schema.names.index(name) for name in names])
        if self._is_file:
            return ([reader.get_batch(j)] for j in range(reader.num_record_batches))
        return ([batch] for batch in reader)

    def _share(self, n_rows: int) -> float:
        del n_rows
        return float(self._handle.tell() / max(1, self._handle.size()))


class FrameTable(ArrowTable):
    """A table in memory: pyarrow's, or what gives a stream of Arrow, or a data frame."""

    def _begin(self, opened: Any) -> Any:
        self._table = opened
        self.n_rows = len(opened)
        return opened.schema

    def _parts(self, names: list[str]) -> Iterator[Iterable[Any]]:
        return iter([self._table.select(names).to_batches()])


class JsonTable(FrameTable):
    """JSON, which has no dates but as text."""

    date_order: str | None = None

    @property
    def dates(self) -> dict[str, DateStyle]:
        texts = [name for name, kind in self.types(self.names).items() if is_text(kind)]
        cells = [self._table[name].drop_null()[:_SOME].to_pylist() for name in texts]
        return super().dates | guess_dates(texts, list(map(known_of, cells)), self.date_order)


def open_json(name: str, file: Any, date_order: str | None = None) -> FrameTable:
    """Read JSON lines, an object a row; or a list of objects."""
    try:
        start = file.read(64).removeprefix(BOM_UTF8)
        file.seek(0)
        is_list = start.lstrip().startswith(b"[")
        if is_list:  # text as it is, without Python's objects
            rows = msgspec.json.decode(file.read().removeprefix(BOM_UTF8), type=list[msgspec.Raw])
            file = pa.BufferReader(b"\n".join(map(bytes, rows)))
        how = pa.json.ParseOptions(newlines_in_values=is_list)
        read = pa.json.read_json(file, parse_options=how)
        read.validate(full=True)  # text that is not UTF-8 is none
        table = JsonTable(name, read)
        table.date_order = date_order
        return table
    except (pa.ArrowException, msgspec.DecodeError, UnicodeDecodeError) as error:
        what = f"neither JSON lines, one object on each, nor a list of them: {one_line(error)}"
        raise SourceError(f"{name}: {what}") from None


def open_query(sql: str) -> FrameTable:
    """Ask DuckDB, which reads files that a query names."""
    duckdb = need("duckdb", "--sql", "duckdb")
    try:
        return FrameTable("the query", duckdb.connect().sql(sql).to_arrow_table())
    except (duckdb.Error, AttributeError) as error:  # a statement that gives no rows is None
        raise SourceError(f"the query {sql!r:.60}: {one_line(error)}") from None


def is_frame(value: Any) -> bool:
    """Whether something is a table in memory: a frame, or what gives a stream of Arrow."""
    return hasattr(value, "__arrow_c_stream__") or isinstance(value, pa.RecordBatch | pa.Table)


def open_frame(frame: Any, names: Sequence[str] | None = None) -> Table:
    """Return a mapping, a frame of pandas or polars, a relation of DuckDB or the like as a table.

    Of `names` all must be there, or the dates that they are made of; other columns are not looked
    at.
    """
    name, is_pandas = type(frame).__name__, type(frame).__module__.startswith("pandas")
    if names is not None and (is_pandas or isinstance(frame, Mapping)):
        names = columns_needed(names, list(frame))
        _refuse_missing(names, list(frame), name)
        frame = frame[list(names)] if is_pandas else {key: frame[key] for key in names}
    try:
        if is_pandas:
            table = pa.Table.from_pandas(frame, preserve_index=False)
        elif isinstance(frame, Mapping):
            table = pa.table({key: pa.array(frame[key], from_pandas=True) for key in frame})
        else:
            table = pa.table(frame)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise SourceError(f"{name}: {one_line(error)}") from None
    _refuse_missing(columns_needed(names or (), table.column_names), table.column_names, name)
    return FrameTable(name, table)


def _refuse_missing(names: Sequence[str], there: Sequence[str], source: str) -> None:
    missing = [name for name in names if name not in there]
    if missing:
        raise SourceError(f"{source}: {missing_columns(missing, there)}")
