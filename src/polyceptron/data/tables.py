"""The only reader of tables: what a table is, and which format a file has.

A table is a stream of Arrow record batches, with a type for each column, whatever it came from.
Files are told by what is in them, not by what they are called.
"""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple, Self, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from polyceptron.data import dialect
from polyceptron.data.blocks import count_threads
from polyceptron.data.encoding import Coded, Encoding, are_zero_one, as_text, gaps_of
from polyceptron.data.guesses import FIND_OUT, FileOptions, as_number, guess_encoding, unpadded
from polyceptron.data.source import SourceError
from polyceptron.data.streams import ByteStream
from polyceptron.data.written_dates import DateStyle

TARGET = "target"
"""What the labels are called in files that do not name them."""

T = TypeVar("T")

_MOST_ROWS, _VALUES = 1 << 16, 1 << 21
_REFUSED = {
    b"FEA1": "a file of Feather 1: write it with version 2",
    b"PARE": "a Parquet file that is encrypted",
    b"ORC": "a file of ORC: write it as Parquet",
    b"\x89HDF": "a file of HDF5: write it as Parquet or .npy",
    b"\x89PNG": "a picture, and no table",
    b"%PDF": "a PDF, and no table: copy its table into a spreadsheet",
    b"\xfd7zXZ": "compressed by xz: unpack it, or use gzip, bzip2, Zstandard or LZ4",
}


class NoRowsError(SourceError):
    """A table that has columns and nothing in them."""


def rows_of_batch(n_columns: int) -> int:
    """How many rows to read at once."""
    return max(256, min(_MOST_ROWS, _VALUES // max(1, n_columns)))


class Batch(NamedTuple):
    """Some rows of a table: a RecordBatch; `where` names a row of it, counted from 0, and a column.

    `share` is that of the table that has been read. Of a table whose rows are sparse `matrix` has
    the features, which are not in `data`.
    """

    data: Any
    where: Callable[[int, str | None], str]
    share: float = 1.0
    matrix: Any = None
    decimal: str = "."

    @property
    def n_rows(self) -> int:
        return int(self.data.num_rows)

    def column(self, name: str) -> Any:
        """A column as an Arrow array."""
        return self.data.column(self.data.schema.get_field_index(name))

    def numbers(self, name: str) -> NDArray[Any]:
        """A column as numbers, NaN where one is missing; infinity is an error."""
        column = self.column(name)
        if is_text(column.type):
            column = self._parsed(name)
        values: NDArray[Any]
        if (pt.is_integer(column.type) or pt.is_floating(column.type)) and not column.null_count:
            values = np.from_dlpack(column)  # pyarrow's own to_numpy imports pandas, for 0.3 s
        else:
            # Not safely: whole numbers beyond 2**53 are rounded, as text would be.
            try:
                column = column.cast("float64", safe=False)
            except pa.ArrowException:
                what = f"a column of {' '.join(str(column.type).split())} is no column of numbers"
                raise SourceError(f"{self.where(0, name)}: {what}") from None
            values = np.asarray(column.to_numpy(zero_copy_only=False))
        if values.dtype.kind == "f":
            self.refuse(
                np.isinf(values), name, values, "is not a finite number: mend it, or leave it out"
            )
        return values

    def refuse(self, wrong: Any, name: str, values: NDArray[Any], why: str) -> None:
        """Name the first row that is wrong, and its value."""
        if wrong.any():
            row = int(wrong.argmax())
            raise SourceError(f"{self.where(row, name)}: {values[row]} {why}")

    def features(self, encoding: Encoding, *, skip: bool = False) -> Any:
        """The features of a model; a gap that it does not fill is an error, or with `skip` NaN."""
        if self.matrix is not None:
            return self.matrix
        numbers, texts = encoding.kinds
        columns: dict[str, Any] = {name: self.numbers(name) for name in numbers}
        columns |= {name: self.texts(name) for name in texts}
        for name, kind, _, fill in map(msgspec.structs.astuple, encoding.columns):
            filled = skip or fill is not None or kind == "missing"
            if not filled and (gaps := gaps_of(columns[name])).any():
                raise SourceError(
                    f"{self.where(int(gaps.argmax()), name)}: a missing value, which this model "
                    "cannot fill (fit --missing median makes one that can; predict --missing skip "
                    "leaves such rows without an answer)"
                )
        return encoding.features(columns)

    def unseen(self, encoding: Encoding) -> dict[str, int]:
        """Count the rows whose category the encoding does not know, by column."""
        found = {}
        for column in encoding.columns if self.matrix is None else ():
            if column.is_text:
                counts = self.texts(column.name).counts()
                found[column.name] = sum(n for text, n in counts.items() if not column.knows(text))
            elif column.categories:
                found[column.name] = int((~are_zero_one(self.numbers(column.name))).sum())
        return {name: n for name, n in found.items() if n}

    def _parsed(self, name: str) -> Any:
        """Text where numbers are wanted is read as a file of text would be."""
        codes, values = self.texts(name)
        numbers: list[float | None] = []
        for j, text in enumerate(values):
            cell = None if text is None else unpadded(text)
            numbers.append(None if cell is None else as_number(cell, self.decimal))
            if cell is not None and numbers[-1] is None and (codes == j).any():
                where = self.where(int((codes == j).argmax()), name)
                raise dialect.NotANumberError(f"{where}: {dialect.not_a_number(cell)}", name)
        return pa.array(numbers, pa.float64()).take(pa.array(codes))

    def coded(self, name: str) -> Coded:
        """A column as a number for each row, and the value, or None, that each stands for."""
        column = self.column(name)
        if pt.is_string_view(column.type):
            column = column.cast(pa.large_string())
        found = column if pt.is_dictionary(column.type) else column.dictionary_encode()
        values = [None if value != value else value for value in found.dictionary.to_pylist()]
        codes = found.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
        return Coded(codes, [*values, None])

    def texts(self, name: str) -> Coded:
        """The same with values as text, as a file of text would have them."""
        codes, values = self.coded(name)
        return Coded(codes, [None if value is None else as_text(value) for value in values])


def is_number(kind: Any) -> bool:
    """Whether a type of Arrow is that of numbers."""
    return bool(pt.is_integer(kind) or pt.is_floating(kind))


def is_text(kind: Any) -> bool:
    """Whether a type of Arrow is that of text."""
    if pt.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


class Table(ABC):
    """A table, open for reading; a context manager that closes it."""

    name: str  # what errors call it
    names: tuple[str, ...]  # its columns
    unnamed: frozenset[str] = frozenset()  # columns whose name we made up
    target: str | None = None  # the column of labels, where the format says which it is
    is_text = False  # whether numbers are written out, so that only all rows tell what is one
    is_sparse = False  # whether batches have their features in a sparse matrix
    is_named = True  # whether columns have names, if only those that text without a header is given
    has_header = True  # whether the table itself says what its columns are called
    n_rows: int | None = None  # where that is known before all is read
    notes: tuple[str, ...] = ()  # what was guessed of the file
    made_of: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # dates, and their numbers
    date_orders: Mapping[str, str] = MappingProxyType({})  # of dates, as far as told from text
    stream: ByteStream | None = None  # what is closed with the table

    @property
    def dates(self) -> dict[str, DateStyle]:
        """The columns that hold dates."""
        types = self.types(self.names).items()
        known = {n: t for n, t in types if pt.is_timestamp(t) or pt.is_date(t)}
        return {name: DateStyle(pt.is_timestamp(kind)) for name, kind in known.items()}

    @abstractmethod
    def types(self, names: Sequence[str]) -> dict[str, Any]:
        """Types of columns in Arrow's words; of text files, what their beginning tells."""

    @abstractmethod
    def jobs(self, numbers: Sequence[str], texts: Sequence[str]) -> Iterator[Callable[[], Batch]]:
        """Give the rows in order, in constant memory: functions to call, in any thread.

        Columns come as the types of the table; in a file of text `numbers` are numbers.
        """

    def batches(self, numbers: Sequence[str], texts: Sequence[str] = ()) -> Iterator[Batch]:
        """Give the rows in order, in constant memory."""
        return in_order(self.jobs(numbers, texts))

    def close(self) -> None:
        """Let go of the file."""
        if self.stream is not None:
            self.stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def refuse_twice(self) -> None:
        """Refuse columns of one name."""
        for name, n in Counter(self.names).items():
            if n > 1:
                raise SourceError(f"{self.name}: two columns are called {name!r}")

    def place(self, first: int) -> Callable[[int, str | None], str]:
        """Names of rows, counted from 0 in the table, of a batch that begins there."""

        def where(row: int, column: str | None) -> str:
            named = "" if column is None else f", column {column!r}"
            return f"{self.name}, row {first + row}{named}"

        return where


def in_order(
    tasks: Iterable[Callable[[], T]], n_threads: int | None = None, *, ahead: int = 2
) -> Generator[T]:
    """Run tasks in threads, few at a time, and give their results in order.

    Not more than the threads and `ahead` are begun before the first result is taken.
    """
    n_threads = n_threads or count_threads(-1, sys.maxsize)
    waiting: deque[Future[T]] = deque()
    pool = ThreadPoolExecutor(n_threads)
    try:
        for task in tasks:
            waiting.append(pool.submit(task))
            if len(waiting) >= n_threads + ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


class TextTable(Table):
    """CSV, TSV and their kin."""

    is_text = True

    def __init__(self, stream: ByteStream, options: FileOptions, expect: Collection[str]) -> None:
        self.name, self._again = stream.name, stream.again
        self._unread: ByteStream | None = stream
        encoding = options.encoding or guess_encoding(stream.peek(dialect.HEAD))
        if encoding is not None and encoding.lower() not in ("utf-8", "utf8"):
            stream.decode(encoding)
        self.dialect = dialect.find_dialect(stream, options, expect)
        self.names, self.unnamed = self.dialect.names, self.dialect.unnamed
        self.notes = self.dialect.notes
        if encoding is not None and options.encoding is None:
            told = f"{self.name}: text is read as {encoding} (--encoding reads it otherwise)"
            self.notes = (told, *self.notes)
        self.has_header = self.dialect.has_header

    @property
    def dates(self) -> dict[str, DateStyle]:
        return self.dialect.dates

    def types(self, names: Sequence[str]) -> dict[str, Any]:
        with closing(self._again()) as stream:
            block = next(self._blocks(stream))
        batch = Batch(dialect.parse(block, self.dialect, [], names), self.place(0))
        types: dict[str, Any] = {}
        for name in names:
            cells = [unpadded(text) for text in batch.coded(name).values if text is not None]
            found = [cell for cell in cells if cell is not None]
            numbers = all(self.dialect.number(cell, name) is not None for cell in found)
            types[name] = (pa.float64() if numbers else pa.string()) if found else pa.null()
        return types

    def _blocks(self, stream: ByteStream) -> Iterator[dialect.TextBlock]:
        found = dialect.text_blocks(stream, self.dialect)
        blocks = (block for block in found if not block.data.isspace())
        first = next(blocks, None)
        if first is None:
            raise NoRowsError(f"{self.name} has a header and no rows")
        return chain([first], blocks)

    def jobs(self, numbers: Sequence[str], texts: Sequence[str]) -> Iterator[Callable[[], Batch]]:
        def batch(block: dialect.TextBlock, share: float) -> Batch:
            def where(row: int, column: str | None) -> str:
                return self.dialect.place(dialect.records(block, self.dialect)[1][row], column)

            rows = dialect.parse(block, self.dialect, numbers, texts)
            return Batch(rows, where, share, decimal=self.dialect.decimal)

        stream, self._unread = self._unread or self._again(), None
        with closing(stream):
            for block in self._blocks(stream):
                yield partial(batch, block, stream.share())


def open_table(
    path: str | Path,
    options: FileOptions = FIND_OUT,
    *,
    expect: Collection[str] = (),
    name: str | None = None,
) -> Table:
    """Open a table in a file of any format, which errors call `name`; ``"-"`` is standard input.

    What options do not say is found out; columns that are to be expected tell a header.
    """
    from polyceptron.data.arrow_tables import open_query
    from polyceptron.data.dates import with_dates

    if options.sql is not None:
        return with_dates(open_query(options.sql), options.dates, expect)
    stream = ByteStream(path, name, options.max_expanded)
    try:
        table = _choose(stream, options, expect)
        table.stream = stream
        table = with_dates(table, options.dates, expect)
    except BaseException:
        stream.close()
        raise
    return table


def _choose(stream: ByteStream, options: FileOptions, expect: Collection[str]) -> Table:
    from polyceptron.data import array_tables, arrow_tables, workbooks

    head = stream.peek(dialect.HEAD)
    for magic, what in _REFUSED.items():
        if head.startswith(magic):
            raise SourceError(f"{stream.name} is {what}")
    openers: dict[bytes, Callable[[str, IO[bytes]], Table]] = {
        b"\x93NUMPY": array_tables.open_npy,
        b"PK\x03\x04": array_tables.open_npz,
        b"PK\x05\x06": array_tables.open_npz,
        b"PAR1": arrow_tables.ParquetTable,
        b"ARROW1": arrow_tables.IpcTable,
        b"\xff\xff\xff\xff": arrow_tables.IpcTable,
    }
    # What is looked at as a file is not read as text after that.
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"\xd0\xcf\x11\xe0")):
        file = stream.seekable()
        if head[:2] != b"PK" or workbooks.is_workbook(file):
            if head[:2] == b"PK":
                workbooks.refuse_bombs(stream.name, file, stream.most)
            return workbooks.open_workbook(stream.name, file, options, expect)
    if re.match(rb'(\xef\xbb\xbf)?\s*(\{\s*"|\[\s*\{)', head):
        return arrow_tables.open_json(stream.name, stream.seekable(), options.date_order)
    for magic, opener in openers.items():
        if head.startswith(magic):
            return opener(stream.name, stream.seekable())
    if options.header is None and array_tables.looks_like_libsvm(head):
        return array_tables.open_libsvm(stream, expect)
    return TextTable(stream, options, expect)
