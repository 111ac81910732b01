"""The only reader of tables: files of every format, data frames, and streams of Arrow.

A table is a stream of Arrow record batches, with a type for each column, whatever it came from.
Files are told by what is in them, not by what they are called.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pyarrow.types as pt
from numpy.typing import NDArray

from polyceptron.data import dialect
from polyceptron.data.blocks import count_threads
from polyceptron.data.encoding import Coded, as_text
from polyceptron.data.source import SourceError

TARGET = "target"
"""What the labels are called in files that do not name them."""

T = TypeVar("T")

_MOST_ROWS, _VALUES = 1 << 16, 1 << 21
_ROOM = 1 << 24
_BUFFER = 1 << 20
"""Bytes of a column that are read at once, so that a row group need not fit into memory."""
_CODECS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
_REFUSED = {
    b"FEA1": "a file of Feather 1: write it with version 2",
    b"PARE": "a Parquet file that is encrypted",
    b"ORC": "a file of ORC: write it as Parquet",
    b"\x89HDF": "a file of HDF5: write it as Parquet or .npy",
}
_ERRORS = (pa.ArrowException, OSError, ValueError, KeyError, IndexError, MemoryError, OverflowError)


class NoRowsError(SourceError):
    """A table that has columns and nothing in them."""


def rows_of_batch(n_columns: int) -> int:
    """How many rows to read at once."""
    return max(256, min(_MOST_ROWS, _VALUES // max(1, n_columns)))


def one_line(error: BaseException) -> str:
    """What an error of another library says, in one line."""
    return " ".join(str(error).split())[:200]


@contextmanager
def naming(path: Path, where: str = "") -> Iterator[None]:
    """Make an error of the operating system one that names the file."""
    try:
        yield
    except OSError as error:
        raise SourceError(f"{path}: {where}{error.strerror or error}") from error


class Batch(NamedTuple):
    """Some rows of a table: a RecordBatch; `where` names a row of it, counted from 0, and a column.

    `share` is that of the table that has been read. Of a table whose rows are sparse `matrix` has
    the features, which are not in `data`.
    """

    data: Any
    where: Callable[[int, str | None], str]
    share: float = 1.0
    matrix: Any = None

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
        plain = pt.is_integer(column.type) or pt.is_floating(column.type)
        if not (plain and column.null_count == 0):
            # Not safely: whole numbers beyond 2**53 are rounded, as text would be.
            column = column.cast("float64", safe=False)
        values: NDArray[Any] = np.asarray(column.to_numpy(zero_copy_only=False))
        if values.dtype.kind == "f" and (infinite := np.isinf(values)).any():
            row = int(infinite.argmax())
            raise SourceError(f"{self.where(row, name)}: {values[row]} is not a finite number")
        return values

    def _parsed(self, name: str) -> Any:
        """Text where numbers are wanted is read as a file of text would be."""
        codes, values = self.texts(name)
        numbers: list[float | None] = []
        for j, text in enumerate(values):
            cell = None if text is None or text.strip() in dialect.MISSING else text.strip()
            numbers.append(None if cell is None else dialect.as_number(cell))
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
    stream: ByteStream | None = None  # what is closed with the table

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

    Examples
    --------
    >>> list(in_order([lambda: 1, lambda: 2, lambda: 3], 2))
    [1, 2, 3]
    """
    n_threads = n_threads or count_threads(None, sys.maxsize)
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


# --- bytes ---------------------------------------------------------------------------------


class _Ahead:
    """A stream whose first bytes can be looked at before they are read; the file is another's."""

    closed = False

    def __init__(self, stream: Any) -> None:
        self._stream, self._seen = stream, b""

    def _more(self, size: int) -> bytes:
        more: bytes = self._stream.read(size)
        return more

    def peek(self, size: int) -> bytes:
        """Return the first bytes, without taking them."""
        while len(self._seen) < size and (more := self._more(size - len(self._seen))):
            self._seen += more
        return self._seen[:size]

    def read(self, size: int = _BUFFER) -> bytes:
        """Return up to `size` bytes; none is the end."""
        piece, self._seen = self._seen[:size], self._seen[size:]
        return piece or self._more(size)

    def close(self) -> None: ...


class ByteStream(_Ahead):
    """The bytes of a file; `-` is standard input, and compression is seen through."""

    def __init__(self, path: str | Path, name: str | None = None) -> None:
        standard = str(path) == "-"
        if standard and sys.stdin is None:
            raise SourceError("standard input is closed")
        self.name = name or ("standard input" if standard else str(path))
        self._file: IO[bytes] | None = None if standard else Path(path).open("rb")  # noqa: SIM115
        self._copy: Any = None
        self._size = 0 if standard else Path(path).stat().st_size
        raw: Any = _Ahead(sys.stdin.buffer if self._file is None else self._file)
        head = raw.peek(4)
        self._codec = next((name for magic, name in _CODECS.items() if head.startswith(magic)), "")
        if self._codec:
            raw = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), self._codec)
        super().__init__(raw)

    def _more(self, size: int) -> bytes:
        try:
            return super()._more(size)
        except (OSError, pa.ArrowException) as error:
            if not self._codec:
                raise
            what = f"the {self._codec} file is damaged ({one_line(error)})"
            raise SourceError(f"{self.name}: {what}") from None

    def share(self) -> float:
        """How much of the file itself has been read; 0 if it is none, but a pipe."""
        return min(1.0, self._file.tell() / self._size) if self._file and self._size else 0.0

    def seekable(self) -> IO[bytes]:
        """Return all bytes as a file that can be read in any order."""
        if self._file is not None and not self._codec:
            self._file.seek(0)
            return self._file
        self._copy = tempfile.SpooledTemporaryFile(max_size=_ROOM)  # noqa: SIM115
        shutil.copyfileobj(self, self._copy, _BUFFER)
        self._copy.seek(0)
        return self._copy  # type: ignore[no-any-return]

    def close(self) -> None:
        """Let go of the file."""
        for file in (self._file, self._copy):
            if file is not None:
                file.close()


# --- formats -------------------------------------------------------------------------------


class TextTable(Table):
    """CSV, TSV and their kin, from a stream that `again` opens once more."""

    is_text = True

    def __init__(
        self,
        stream: ByteStream,
        again: Callable[[], ByteStream],
        *,
        header: bool | None = None,
        expect: Collection[str] = (),
    ) -> None:
        self.name, self._again = stream.name, again
        self._unread: ByteStream | None = stream
        self.dialect = dialect.find_dialect(stream, header=header, expect=expect)
        self.names, self.unnamed = self.dialect.names, self.dialect.unnamed
        self.has_header = self.dialect.has_header

    def types(self, names: Sequence[str]) -> dict[str, Any]:
        with closing(self._again()) as stream:
            block = next(self._blocks(stream))
        batch = Batch(dialect.parse(block, self.dialect, [], names), self.place(0))
        types: dict[str, Any] = {}
        for name in names:
            found = [text for text in batch.coded(name).values if text is not None]
            numbers = all(dialect.as_number(text) is not None for text in found)
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

            return Batch(dialect.parse(block, self.dialect, numbers, texts), where, share)

        stream, self._unread = self._unread or self._again(), None
        with closing(stream):
            for block in self._blocks(stream):
                yield partial(batch, block, stream.share())


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
            opened, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True
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


def is_frame(value: Any) -> bool:
    """Whether something is a table in memory: a frame, or what gives a stream of Arrow."""
    return hasattr(value, "__arrow_c_stream__") or isinstance(value, pa.RecordBatch | pa.Table)


def open_frame(frame: Any) -> Table:
    """Return a frame of pandas or polars, a relation of DuckDB or the like as a table."""
    name = type(frame).__name__
    try:
        if type(frame).__module__.startswith("pandas"):
            table = pa.Table.from_pandas(frame, preserve_index=False)
        else:
            table = pa.table(frame)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise SourceError(f"{name}: {one_line(error)}") from None
    return FrameTable(name, table)


def open_table(
    path: str | Path,
    *,
    header: bool | None = None,
    expect: Collection[str] = (),
    labels: Any = None,
    first: int = 0,
    name: str | None = None,
) -> Table:
    r"""Open a table in a file of any format.

    Delimited text, LIBSVM, Parquet, Arrow (Feather), .npy or .npz, also inside gzip, bzip2,
    Zstandard or LZ4.

    Parameters
    ----------
    path : str or Path
        ``"-"`` is standard input.
    header : bool or None
        Whether delimited text begins with the names of the columns. None finds out: it does
        if its first record holds no number.
    expect : collection of str
        Columns that will be asked for. A first record with all of them is a header.
    labels, first : array and int, optional
        The labels of a matrix in a file .npy, which are elsewhere; its own are from row `first` on.
    name : str, optional
        What errors call the file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from polyceptron.data.tables import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "pets.csv"
    ...     _ = path.write_text("age;kind\n3;cat\n?;dog\n")
    ...     with open_table(path) as table:
    ...         for batch in table.batches(["age"], ["kind"]):
    ...             print(batch.numbers("age"), batch.texts("kind"))
    [ 3. nan] Coded(codes=array([0, 1], dtype=int32), values=['cat', 'dog', None])
    """
    stream = ByteStream(path, name)
    try:
        table = _choose(stream, path, header, expect, labels, first)
        table.stream = stream
        if labels is not None and TARGET not in table.names:
            what = "target is an array, and the file is no matrix of numpy"
            raise SourceError(f"{stream.name}: {what}")
    except BaseException:
        stream.close()
        raise
    return table


def _choose(
    stream: ByteStream,
    path: str | Path,
    header: bool | None,
    expect: Collection[str],
    labels: Any,
    first: int,
) -> Table:
    from polyceptron.data import array_tables

    head = stream.peek(dialect.HEAD)
    for magic, what in _REFUSED.items():
        if head.startswith(magic):
            raise SourceError(f"{stream.name} is {what}")
    if head.startswith(b"\x93NUMPY"):
        return array_tables.open_npy(stream.name, stream.seekable(), labels, first)
    openers = {
        b"PK\x03\x04": array_tables.open_npz,
        b"PK\x05\x06": array_tables.open_npz,
        b"PAR1": ParquetTable,
        b"ARROW1": IpcTable,
        b"\xff\xff\xff\xff": IpcTable,
    }
    for magic, opener in openers.items():
        if head.startswith(magic):
            return opener(stream.name, stream.seekable())
    if header is None and array_tables.looks_like_libsvm(head):
        return array_tables.open_libsvm(stream, expect)

    def again() -> ByteStream:
        if str(path) == "-":
            raise SourceError(f"{stream.name} can be read only once")
        return ByteStream(path, stream.name)

    return TextTable(stream, again, header=header, expect=expect)
