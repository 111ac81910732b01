"""The records of a block of text as columns: the plain way, which says what is wrong where."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.readers._layout import Layout
from polyceptron.readers._split import Block
from polyceptron.readers._table import (
    MISSING,
    NotANumberError,
    ReaderError,
    Table,
    as_number,
    brief,
    is_unicode,
    not_a_number,
)

_MISSING = frozenset(MISSING)


def parse(
    block: Block, layout: Layout, numbers: Sequence[str], texts: Sequence[str], first_row: int
) -> Table:
    """Return the columns `numbers` as numbers and `texts` as text; others are not looked at."""
    rows, lines = records(block, layout)
    columns: dict[str, NDArray[Any]] = {}
    for name in numbers:
        j = layout.names.index(name)
        columns[name] = _numbers([row[j] for row in rows], lines, layout, j)
    for name in texts:
        j = layout.names.index(name)
        columns[name] = _texts([row[j] for row in rows], lines, layout, j)
    return Table(layout.source, columns, len(rows), np.array(lines, dtype=np.int64), first_row)


def records(block: Block, layout: Layout) -> tuple[list[list[str]], list[int]]:
    """Return the fields of every record, and the line that it begins on."""
    text = block.data.decode("utf-8", "surrogateescape")
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=layout.delimiter, skipinitialspace=True
    )
    rows: list[list[str]] = []
    lines: list[int] = []
    width, line = len(layout.names), block.line
    try:
        for row in reader:
            if row:
                if len(row) != width:
                    raise ReaderError(_ragged(len(row), line, layout))
                rows.append(row)
                lines.append(line)
            line = block.line + reader.line_num
    except csv.Error as error:
        raise ReaderError(f"{layout.place(line)}: {error}") from None
    return rows, lines


def _ragged(found: int, line: int, layout: Layout) -> str:
    width = len(layout.names)
    first = "the header has" if layout.has_header else "the first row has"
    return f"{layout.place(line)}: {found} field{'s' if found != 1 else ''} where {first} {width}"


def _numbers(
    fields: list[str], lines: list[int], layout: Layout, column: int
) -> NDArray[np.float64]:
    values = np.empty(len(fields))
    for i, field in enumerate(fields):
        text = field.strip()
        value = as_number(text)
        if value is None:
            if text not in _MISSING:
                message = f"{layout.place(lines[i], column)}: {not_a_number(text)}"
                raise NotANumberError(message, layout.names[column])
            value = np.nan
        values[i] = value
    return values


def _texts(fields: list[str], lines: list[int], layout: Layout, column: int) -> NDArray[Any]:
    values = np.empty(len(fields), dtype=object)
    for i, field in enumerate(fields):
        text = field.strip()
        if not is_unicode(text):
            raise ReaderError(
                f"{layout.place(lines[i], column)}: {brief(text)} is not UTF-8: "
                "save the file as UTF-8"
            )
        values[i] = None if text in _MISSING else text
    return values


def kinds(
    rows: Sequence[Sequence[str]], layout: Layout, names: Collection[str]
) -> tuple[list[str], list[str]]:
    """Return which of the columns hold nothing but numbers, and which others."""
    numbers: list[str] = []
    texts: list[str] = []
    for j, name in enumerate(layout.names):
        if name not in names:
            continue
        cells = (row[j].strip() for row in rows)
        is_number = all(as_number(cell) is not None or cell in _MISSING for cell in cells)
        (numbers if is_number else texts).append(name)
    return numbers, texts
