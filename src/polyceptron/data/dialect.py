"""Delimited text: its delimiter, header and columns, and where its records end.

pyarrow reads what is plain. What is left to Python's `csv` is what pyarrow reads in another way
(a blank after every delimiter), and what is wrong: the records of one block, to say on which line.

Text has the blanks that it is written with, in quotes and without, as for pandas, pyarrow and
DuckDB; numbers, dates and names of columns may have some around them. Blanks between a quote and
a delimiter belong to neither, as for DuckDB.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from polyceptron.data.guesses import (
    FIND_OUT,
    MISSING,
    FileOptions,
    as_number,
    first_records,
    guess_blanks,
    guess_decimal,
    guess_delimiter,
    guess_header,
    guess_thousands,
    has_decimal_comma,
    has_text,
    is_too_large,
    is_unicode,
    known_of,
    note_of_header,
    records_of,
    ungrouped,
    unpadded,
)
from polyceptron.data.source import SourceError
from polyceptron.data.streams import ByteStream
from polyceptron.data.written_dates import DateStyle, guess_dates
from polyceptron.utils.text import quoted_names

HEAD, MOST_HEAD = 1 << 18, 1 << 24
"""How far to look ahead for what a file is, and how long a header may be."""
MOST_COLUMNS = 100_000
BLOCK, MOST = 1 << 22, 1 << 25
"""Bytes that are parsed at once; a record of more than the second is a quote never closed."""

_LONGEST = 60
_QUOTE = ord('"')
_MISSING = frozenset(MISSING)
_TEXT = pa.dictionary(pa.int32(), pa.string())


class NotANumberError(SourceError):
    """Text where a number should be."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column


def _brief(text: str) -> str:
    """Text in quotes, escaped and cut to a length that fits a line."""
    cut = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    return repr(cut if is_unicode(text) else cut.encode("utf-8", "surrogateescape"))


def not_a_number(text: str) -> str:
    """Say what is wrong with text where a number should be."""
    hint = ""
    if is_too_large(text):
        hint = " (it is too large)"
    elif has_decimal_comma(text):
        hint = " (decimals need a point, or the option decimal a comma)"
    return f"{_brief(text)} is not a number{hint}"


@dataclass(frozen=True)
class Dialect:
    """How to read the records of a file of delimited text, which errors call `source`.

    `unnamed` are names that we made up as the header has none; after the header there is the byte
    `start`, on this line. Numbers of `grouped` columns may have thousands separators. With
    `skip_blanks` those after a delimiter are a part of it. `notes` say what was guessed.
    """

    source: str
    delimiter: str
    names: tuple[str, ...]
    unnamed: frozenset[str]
    start: int
    line: int
    has_header: bool
    decimal: str = "."
    notes: tuple[str, ...] = ()
    dates: dict[str, DateStyle] = field(default_factory=dict)
    grouped: frozenset[str] = frozenset()
    skip_blanks: bool = False

    def number(self, text: str, column: str) -> float | None:
        """A cell of a column as a number, if it is one; no blanks are around it."""
        plain = ungrouped(text, self.decimal) if column in self.grouped else text
        return as_number(plain, self.decimal)

    def place(self, line: int, column: str | None = None) -> str:
        """Say where something is."""
        return f"{self.source}, line {line}" + ("" if column is None else f", column {column!r}")


def find_dialect(
    stream: ByteStream, options: FileOptions = FIND_OUT, expect: Collection[str] = ()
) -> Dialect:
    """Find out how a file is laid out from its first bytes, as far as options do not say it.

    Names that are `expect`-ed tell a header.
    """
    source, head = stream.name, stream.peek(HEAD)
    mark = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    given = re.match(rb"sep=([,;\t|: ])\r?\n", head[mark:])  # as Excel writes it
    skipped = mark + len(given[0] if given else b"")
    body = _whole_records(stream, skipped, given[1] if given else b",")
    text = body.decode("utf-8", "surrogateescape")
    if not text.strip():
        raise SourceError(f"{source} is empty")
    delimiter = given[1].decode() if given else guess_delimiter(text)
    line = 1 + bool(given)
    first, n_lines = _first_record(text, delimiter, source, line)
    length = sum(map(len, body.splitlines(keepends=True)[:n_lines]))
    whole, is_open = boundary(body, delimiter.encode())
    if is_open and whole < length:
        raise SourceError(f"{source}, line {line}: a quoted field is never closed")
    names = tuple(field.strip() for field in first)
    if len(names) > MOST_COLUMNS:
        raise SourceError(
            f"{source}, line {line}: {len(names):,} columns; of text at most {MOST_COLUMNS:,} are "
            "read: write such tables as .npy, .npz or LIBSVM"
        )
    found = first_records(text, delimiter)[1:]
    # Files that were joined have their header several times.
    below = [record for record in found if len(record) == len(names) and record != list(names)]
    columns = [[record[j] for record in below] for j in range(len(names))]
    decimal, header, notes = _guessed(names, columns, delimiter, options, expect)
    notes = tuple(f"{source}: {one}" for one in notes)
    if not header:
        made, unnamed = tuple(f"x{j}" for j in range(1, len(names) + 1)), frozenset[str]()
        start = skipped
    else:
        made, unnamed = _check_distinct_names(names, f"{source}, line {line + n_lines - 1}")
        start, line = skipped + length, line + n_lines
    known = list(map(known_of, columns))
    dates = guess_dates(made, known, options.date_order)
    grouped = frozenset(made) if options.thousands else frozenset()
    if options.thousands is None:
        grouped = guess_thousands(made, columns, decimal)
        told = f"{source}: numbers of {quoted_names(sorted(grouped))} are read with separators of"
        notes += (f"{told} thousands (--no-thousands reads them otherwise)",) if grouped else ()
    skip_blanks = guess_blanks(text, delimiter)
    if skip_blanks and delimiter != " " and has_text(known, decimal):
        notes += (f"{source}: the blank after every {delimiter!r} is taken for a part of it",)
    return Dialect(
        source, delimiter, made, unnamed, start, line, header, decimal, notes, dates, grouped,
        skip_blanks,
    )  # fmt: skip


def _guessed(
    names: Sequence[str],
    columns: Sequence[Sequence[str]],
    delimiter: str,
    options: FileOptions,
    expect: Collection[str],
) -> tuple[str, bool, tuple[str, ...]]:
    """The decimal sign, whether there is a header, and what to say of guesses."""
    decimal, header, notes = options.decimal, options.header, []
    if decimal is None:
        whole = [[name, *column] for name, column in zip(names, columns, strict=True)]
        decimal = guess_decimal(columns if columns[0] else whole, delimiter)
        if decimal == ",":
            notes.append("numbers are read with a decimal comma (--decimal . reads them otherwise)")
    if header is None:
        header, is_sure = guess_header(names, columns, expect, decimal)
        if not is_sure:
            shown = _brief(delimiter.join(names))
            notes.append(note_of_header(header, f"the first line, {shown}"))
    return decimal, header, tuple(notes)


def _whole_records(stream: ByteStream, skipped: int, delimiter: bytes) -> bytes:
    """The first records after some bytes: those that are whole, where there are more."""
    size = HEAD
    while True:
        head = stream.peek(size)
        body = head[skipped:]
        if len(head) < size:  # it is all there is
            return body
        end, _ = boundary(body, delimiter)
        if body[:end].strip():
            return body[:end]
        if size >= MOST_HEAD:
            raise SourceError(
                f"{stream.name}, line 1: it has no end within {MOST_HEAD >> 20} MB, which is more "
                f"than the names of {MOST_COLUMNS:,} columns may take; or is a quote never closed?"
            )
        size *= 4


def _first_record(text: str, delimiter: str, source: str, line: int) -> tuple[list[str], int]:
    """Return the first record that is not blank, and how many lines there are to its end."""
    reader = records_of(text, delimiter)
    try:
        for record in reader:
            if record:
                return record, reader.line_num
    except csv.Error as error:
        hint = "; is a quote never closed?" if "larger" in str(error) else ""
        at = f"{source}, line {reader.line_num + line - 1}"
        raise SourceError(f"{at}: {error}{hint}") from None
    raise SourceError(f"{source} is empty")


def _check_distinct_names(
    names: tuple[str, ...], where: str
) -> tuple[tuple[str, ...], frozenset[str]]:
    seen: dict[str, int] = {}
    for j, name in enumerate((name or f"column {j}" for j, name in enumerate(names, 1)), 1):
        if not is_unicode(name):
            raise SourceError(
                f"{where}: the name of column {j} is not UTF-8: {_brief(name)} "
                "(name another encoding, such as cp1252)"
            )
        if name in seen:
            raise SourceError(f"{where}: columns {seen[name]} and {j} are both called {name!r}")
        seen[name] = j
    return tuple(seen), frozenset(name for name, j in seen.items() if not names[j - 1])


# --- blocks of whole records ---------------------------------------------------------------


class TextBlock(NamedTuple):
    """Whole records, and the number of the line that they begin on."""

    data: bytes
    line: int


def text_blocks(stream: ByteStream, dialect: Dialect) -> Iterator[TextBlock]:
    """Cut a file, after its header, into blocks of whole records."""
    skip, line, left = dialect.start, dialect.line, b""
    delimiter = dialect.delimiter.encode()
    while skip and (head := stream.read(skip)):  # what was shorter meanwhile has no rows
        skip -= len(head)
    while more := stream.read(BLOCK):
        data = left + more
        end, _ = boundary(data, delimiter)
        whole, left = data[:end], data[end:]
        n_lines = _line_ends(whole)
        if len(left) > MOST:
            raise SourceError(
                f"{stream.name}, line {line + n_lines}: a record of more than "
                f"{MOST >> 20} MB; is a quote never closed?"
            )
        if whole:
            yield TextBlock(whole, line)
            line += n_lines
    end, is_open = boundary(left, delimiter)
    if is_open:
        at = line + _line_ends(left[:end])
        raise SourceError(f"{stream.name}, line {at}: a quoted field is never closed")
    if left:
        yield TextBlock(left, line)


def _line_ends(data: bytes) -> int:
    # Three times as fast as bytes.count, which looks for one at a time.
    bytes_ = np.frombuffer(data, np.uint8)
    return int(np.count_nonzero(bytes_ == ord("\n")) or np.count_nonzero(bytes_ == ord("\r")))


def boundary(data: bytes, delimiter: bytes) -> tuple[int, bool]:
    """Return where the last record that is whole ends, and whether a quote is open at the end."""
    newline = b"\n" if b"\n" in data else b"\r"
    if b'"' not in data:
        return data.rfind(newline) + 1, False
    bytes_ = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(bytes_ == _QUOTE)
    opening = quotes[0::2]
    before = np.where(opening > 0, bytes_[opening - 1], ord("\n"))
    regular = (before == delimiter[0]) | (before == ord("\n")) | (before == ord("\r"))
    # A quote next to the one before it is half of a doubled quote.
    regular[1:] |= opening[1:] == quotes[1:-1:2] + 1
    if not regular.all():
        return _boundary_by_walking(data, delimiter, newline)
    end = data.rfind(newline)
    while end >= 0:
        n_before = int(np.searchsorted(quotes, end))
        if n_before % 2 == 0:
            break
        end = data.rfind(newline, 0, int(quotes[n_before - 1]))
    return end + 1, len(quotes) % 2 == 1


def _boundary_by_walking(data: bytes, delimiter: bytes, newline: bytes) -> tuple[int, bool]:
    """The same where quotes stand within fields, which opens nothing."""
    quoted = re.compile(
        rb"((?:\A|[\r\n" + re.escape(delimiter) + rb']) *")[^"]*+(?:""[^"]*+)*+("?)'
    )
    end, position = 0, 0
    while found := quoted.search(data, position):
        end = data.rfind(newline, position, found.end(1)) + 1 or end
        position = found.end()
        if not found[2]:
            return end, True
    return data.rfind(newline, position) + 1 or end, False


# --- a block as columns --------------------------------------------------------------------


def parse(
    block: TextBlock, dialect: Dialect, numbers: Sequence[str], texts: Sequence[str]
) -> pa.RecordBatch:
    """Return columns of numbers (float64) and of text (dictionaries); others are not looked at."""
    batch = _parse_plain(block, dialect, numbers, texts)
    return batch if batch is not None else _parse_records(block, dialect, numbers, texts)


def _without_blanks_around_quotes(data: bytes, delimiter: str) -> bytes:
    """Records in which a quote is next to a delimiter or the end of a line."""
    end = re.escape(delimiter.encode())
    if b'"' not in data or delimiter == " ":
        return data
    if re.search(rb'(?:\A|[\r\n%s]) +"|" +(?:[\r\n%s]|\Z)' % (end, end), data) is None:
        return data
    quoted = rb'(\A|[\r\n%s]) *("[^"]*+(?:""[^"]*+)*+")(?: +(?=[\r\n%s]|\Z))?' % (end, end)
    return re.sub(quoted, rb"\1\2", data)


def _parse_plain(
    block: TextBlock, dialect: Dialect, numbers: Sequence[str], texts: Sequence[str]
) -> pa.RecordBatch | None:
    """The columns as pyarrow reads them; None where `csv` would read them in another way."""
    data = _without_blanks_around_quotes(block.data, dialect.delimiter)
    delimiter = dialect.delimiter.encode()
    has_quotes = b'"' in data
    # Several in a row are one delimiter; in quotes they are a part of the text.
    other = rb"(?:\A|[\r\n ]) " if delimiter == b" " else b'"'
    if dialect.skip_blanks and re.search(other, data):
        return None
    names = [*numbers, *texts]
    grouped = [name for name in numbers if name in dialect.grouped]
    types = dict.fromkeys(numbers, pa.float64()) | dict.fromkeys([*texts, *grouped], _TEXT)
    try:
        table = pa.csv.read_csv(
            pa.py_buffer(data),
            pa.csv.ReadOptions(
                column_names=dialect.names, use_threads=False, block_size=len(data) + 1
            ),
            pa.csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=has_quotes),
            pa.csv.ConvertOptions(
                column_types=types,
                include_columns=names,
                null_values=MISSING,
                decimal_point=dialect.decimal,
                strings_can_be_null=True,
            ),
            memory_pool=pa.system_memory_pool(),  # gives back what is freed
        )
    except pa.ArrowException:
        return None
    # Asked for no column, pyarrow gives all.
    columns = [column.combine_chunks() for column in table.columns[: len(names)]]
    n = len(numbers)
    for name in grouped:
        values = _numbers_of_text(columns[names.index(name)], name, dialect)
        if values is None:
            return None
        columns[names.index(name)] = values
    if any(pc.all(pc.is_finite(column)).as_py() is False for column in columns[:n]):
        return None
    if dialect.skip_blanks and delimiter != b" ":
        columns[n:] = map(_without_blanks_before, columns[n:])
    return pa.record_batch(columns, names)


def _numbers_of_text(column: Any, name: str, dialect: Dialect) -> Any:
    """A column of text as numbers; None where one is none."""
    values = list(map(unpadded, column.dictionary.to_pylist()))
    found = [None if text is None else dialect.number(text, name) for text in values]
    if any(text is not None and x is None for text, x in zip(values, found, strict=True)):
        return None
    return pa.array(found, pa.float64()).take(column.indices)


def _without_blanks_before(column: Any) -> Any:
    """A column of text without those that may hide that it is missing."""
    values = [value.lstrip(" ") for value in column.dictionary.to_pylist()]
    known = pa.array([None if value in _MISSING else value for value in values], pa.string())
    return known.take(column.indices).dictionary_encode()


def records(block: TextBlock, dialect: Dialect) -> tuple[list[list[str]], list[int]]:
    """Return the fields of every record, and the line that it begins on."""
    data = _without_blanks_around_quotes(block.data, dialect.delimiter)
    reader = records_of(
        data.decode("utf-8", "surrogateescape"), dialect.delimiter, dialect.skip_blanks
    )
    rows: list[list[str]] = []
    lines: list[int] = []
    width, line = len(dialect.names), block.line
    try:
        for row in reader:
            if row:
                if len(row) != width:
                    first = "the header has" if dialect.has_header else "the first row has"
                    fields = f"{len(row)} field{'s' if len(row) != 1 else ''}"
                    raise SourceError(f"{dialect.place(line)}: {fields} where {first} {width}")
                rows.append(row)
                lines.append(line)
            line = block.line + reader.line_num
    except csv.Error as error:
        raise SourceError(f"{dialect.place(line)}: {error}") from None
    return rows, lines


def _parse_records(
    block: TextBlock, dialect: Dialect, numbers: Sequence[str], texts: Sequence[str]
) -> pa.RecordBatch:
    rows, lines = records(block, dialect)
    types = dict.fromkeys(numbers, pa.float64()) | dict.fromkeys(texts, _TEXT)
    columns = []
    for name, kind in types.items():
        j = dialect.names.index(name)
        cells: list[Any] = [None if row[j] in _MISSING else row[j] for row in rows]
        for i, cell in enumerate(cells):
            if kind is not _TEXT and cell is not None and (cell := unpadded(cell)) is None:
                cells[i] = None
            elif kind is not _TEXT and cell is not None:
                cells[i] = dialect.number(cell, name)
                if cells[i] is None:
                    where = dialect.place(lines[i], name)
                    raise NotANumberError(f"{where}: {not_a_number(cell)}", name)
            elif cell is not None and not is_unicode(cell):
                what = f"{_brief(cell)} is not UTF-8: name another encoding, such as cp1252"
                raise SourceError(f"{dialect.place(lines[i], name)}: {what}")
        columns.append(pa.array(cells, kind))
    return pa.record_batch(columns, list(types))
