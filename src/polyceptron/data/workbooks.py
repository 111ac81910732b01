"""Sheets of spreadsheets as tables, read by python-calamine: .xlsx, .xlsb, .xls and .ods."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import IO, Any

import pyarrow as pa

from polyceptron.data.array_tables import DAMAGED
from polyceptron.data.arrow_tables import FrameTable
from polyceptron.data.encoding import as_text
from polyceptron.data.guesses import MISSING, FileOptions, guess_header, note_of_header, unpadded
from polyceptron.data.source import SourceError
from polyceptron.data.streams import BUFFER, one_line, too_large
from polyceptron.utils.lazy import need
from polyceptron.utils.text import quoted_names

_PARTS = ("xl/workbook.xml", "xl/workbook.bin", "content.xml")


def is_workbook(file: IO[bytes]) -> bool:
    """Whether a zip archive is a workbook."""
    try:
        with zipfile.ZipFile(file) as archive:
            found = any(part in archive.namelist() for part in _PARTS)
    except zipfile.BadZipFile:
        found = False
    file.seek(0)
    return found


def refuse_bombs(name: str, file: IO[bytes], most: int) -> None:
    """Refuse a workbook that expands to more: its reader takes all of it into memory."""
    size = 0
    try:
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                with archive.open(member) as part:  # what the archive says of sizes may be wrong
                    while data := part.read(BUFFER):
                        size += len(data)
                        if size > most:
                            raise too_large(name, most)
    except DAMAGED as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"{name}: the workbook is damaged ({one_line(error)})") from None
    file.seek(0)


class SheetTable(FrameTable):
    """A sheet, in memory; its rows have the numbers that a spreadsheet shows."""

    def __init__(self, name: str, table: Any, first: int) -> None:
        super().__init__(name, table)
        self._first = first

    def place(self, first: int) -> Callable[[int, str | None], str]:
        return super().place(first + self._first)


def open_workbook(
    name: str, file: IO[bytes], options: FileOptions, expect: Collection[str]
) -> SheetTable:
    """Open the sheet that is asked for, or the first one that is not empty."""
    sheet, sheets, top_row, rows = _read_sheet(name, file, options.sheet)
    notes = []
    if options.sheet is None and len(sheets) > 1:
        others = quoted_names([one for one in sheets if one != sheet])
        notes.append(f"{name}: the sheet {sheet!r} is read (--sheet names another: {others})")
    header = options.header
    if header is None:
        texts = [["" if cell is None else as_text(cell) for cell in row] for row in rows]
        columns = [[row[j] for row in texts[1:]] for j in range(len(texts[0]))]
        header, is_sure = guess_header(texts[0], columns, expect)
        if not is_sure:
            notes.append(f"{name}: {note_of_header(header, f'row {top_row} of {sheet!r}')}")
    names, unnamed = [f"x{j}" for j in range(1, len(rows[0]) + 1)], frozenset[str]()
    if header:
        named = {j: as_text(cell) for j, cell in enumerate(rows[0]) if cell is not None}
        names = [named.get(j, f"column {j + 1}") for j in range(len(names))]
        unnamed = frozenset(names) - frozenset(named.values())
        rows = rows[1:]
    arrays = [_column([row[j] for row in rows]) for j in range(len(names))]
    first = top_row + bool(header)
    other = " (--sheet names another)" if notes and options.sheet is None else ""
    table = SheetTable(
        f"{name}, sheet {sheet!r}{other}", pa.Table.from_arrays(arrays, names), first
    )
    table.unnamed, table.notes, table.has_header = unnamed, tuple(notes), header
    return table


def _read_sheet(
    name: str, file: IO[bytes], asked: str | None
) -> tuple[str, list[str], int, list[Any]]:
    """The name of a sheet, and of all; the number of its first row, and the rows."""
    calamine = need("python_calamine", f"{name}: a workbook", "xlsx")
    try:
        book = calamine.CalamineWorkbook.from_filelike(file)
        sheets = list(book.sheet_names)
        if asked is not None and asked not in sheets:
            raise SourceError(f"{name}: no sheet {asked!r}; there are {quoted_names(sheets)}")
        for sheet in sheets if asked is None else [asked]:
            page = book.get_sheet_by_name(sheet)
            rows = page.to_python(skip_empty_area=True)
            if rows:
                first = (page.start or (0, 0))[0] + 1
                gaps = [[None if cell == "" else cell for cell in row] for row in rows]
                return sheet, sheets, first, gaps
    except calamine.CalamineError as error:
        raise SourceError(f"{name}: the workbook is damaged ({one_line(error)})") from None
    raise SourceError(f"{name}: the sheet is empty")


def _column(cells: Sequence[Any]) -> Any:
    """Cells of one type, or as text."""
    known = [None if isinstance(cell, str) and cell in MISSING else cell for cell in cells]
    # Among numbers, blanks alone are a gap.
    numbers = [None if isinstance(cell, str) and unpadded(cell) is None else cell for cell in known]
    for values in (known, numbers):
        with suppress(pa.ArrowException):
            return pa.array(values)
    return pa.array([None if cell is None else as_text(cell) for cell in known], pa.string())
