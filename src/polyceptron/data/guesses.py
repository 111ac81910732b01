"""What a file of text does not say itself: delimiter, decimal sign, encoding, whether it has names.

Each is told from the first records. What remains a guess is one that the caller announces.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "#N/A")
"""What counts as a missing value in a file of text."""

_COMMON, _RARE = ",\t;|", ": "
_SAMPLE = 200
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MISSING = frozenset(MISSING)
_GROUPED = {
    decimal: re.compile(
        rf"[+-]?[0-9]{{1,3}}(?:([{other} '\u00a0\u202f])[0-9]{{3}})(?:\1[0-9]{{3}})*"
        rf"(?:\{decimal}[0-9]*)?"
    )
    for decimal, other in {".": ",", ",": "."}.items()
}
"""Numbers with thousands separators (points, commas, blanks, apostrophes), by the decimal sign."""
_CLEAR = re.compile(r"[+-]?[0-9]{1,3}(?:[. '\u00a0\u202f][0-9]{3})+,[0-9]+")
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


class FileOptions(NamedTuple):
    """What a caller says of a file that does not say it itself; None is to be found out.

    Whether text begins with `header`, the names of columns; its `decimal` sign and `encoding`;
    whether numbers may have separators of `thousands`, and in which `date_order` dates with slashes
    are, "mdy" or "dmy"; the `sheet` of a workbook. A query of `sql` is asked instead of a file.
    Dates become numbers: "days", or "parts" such as the month; None is only those that are asked
    for by name. A compressed file may expand to `max_expanded` bytes.
    """

    header: bool | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    sql: str | None = None
    dates: str | None = None
    thousands: bool | None = None
    date_order: str | None = None
    max_expanded: int | None = None


FIND_OUT = FileOptions()
"""Where nothing is said."""


def unpadded(text: str) -> str | None:
    """A number or a date as text without blanks around it; None where it is missing."""
    stripped = text.strip()
    return None if stripped in _MISSING else stripped


def as_number(text: str, decimal: str = ".") -> float | None:
    """Return a number as pyarrow reads it, or None: no nan, no infinity, no underscores."""
    if decimal != ".":
        text = text.replace(".", "_").replace(decimal, ".")
    if _NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    return value if np.isfinite(value) else None


def ungrouped(text: str, decimal: str = ".") -> str:
    """A number without its thousands separators; other text as it is."""
    found = _GROUPED[decimal].fullmatch(text)
    return text if found is None else text.replace(found[1], "")


def is_too_large(text: str) -> bool:
    """Whether text is written as a number, and is none."""
    return _NUMBER.fullmatch(text) is not None and as_number(text) is None


def has_decimal_comma(text: str) -> bool:
    """Whether text is a number but for its sign."""
    return "," in text and as_number(text, ",") is not None


def is_unicode(text: str) -> bool:
    """Whether all bytes of a text were UTF-8; those that were not are lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def records_of(text: str, delimiter: str, skip_blanks: bool = True) -> Any:
    """A reader of records, lists of fields, with or without the blanks before them."""
    lines = io.StringIO(text, newline="")
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=skip_blanks)


def first_records(text: str, delimiter: str) -> list[list[str]]:
    """The first records that are not blank, without the blanks around their fields."""
    found: list[list[str]] = []
    try:
        for record in records_of(text, delimiter):
            found += [[field.strip() for field in record]] if record else []
            if len(found) == _SAMPLE:
                break
    except csv.Error:
        return []
    return found


# --- encoding ------------------------------------------------------------------------------


def guess_encoding(head: bytes) -> str | None:
    """Return the encoding of text that is not in UTF-8, as its first bytes tell; else None.

    Text that has both characters of UTF-8 and other bytes is damaged UTF-8.
    """
    if head[:2] in _MARKS:
        return _MARKS[head[:2]]
    text = head.decode("utf-8", "surrogateescape")[:-4]  # which may cut a character
    if is_unicode(text) or "\0" in text:
        return None
    if any(ord(one) > 127 and is_unicode(one) for one in text):
        return None
    try:
        head.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


# --- delimiter and decimal sign ------------------------------------------------------------


def guess_delimiter(text: str) -> str:
    """Return the delimiter that cuts the first records into most equal rows of most numbers."""
    for among in (_COMMON, _RARE):
        scores = {delimiter: _score(text, delimiter) for delimiter in among}
        best = max(scores, key=lambda delimiter: scores[delimiter])
        if scores[best][0] > 0.5:
            return best
    return ","


def _score(text: str, delimiter: str) -> tuple[float, float]:
    """The share of records of the usual width, and among their cells that of numbers."""
    records = first_records(text, delimiter)
    widths = [len(record) for record in records]
    usual = max(set(widths), key=widths.count, default=1)
    if usual == 1:
        return 0.0, 0.0
    cells = [cell for record in records if len(record) == usual for cell in record]
    numbers = sum(
        cell in _MISSING or as_number(cell.replace(",", ".", 1)) is not None for cell in cells
    )
    return widths.count(usual) / len(widths), numbers / len(cells)


def guess_decimal(columns: Sequence[Sequence[str]], delimiter: str) -> str:
    """Return the comma if some column has numbers with it, and none has numbers with a point."""
    known = [known_of(column) for column in columns]
    if any(_is_clear(cells) for cells in known):
        return ","
    if delimiter == ",":
        return "."
    found = "."
    for cells in known:
        if any("." in cell and as_number(cell) is not None for cell in cells):
            return "."
        if any("," in cell for cell in cells) and all(
            as_number(cell, ",") is not None for cell in cells
        ):
            found = ","
    return found


def known_of(cells: Sequence[str]) -> list[str]:
    """The cells of a column that are not missing."""
    return [cell for cell in cells if cell not in _MISSING]


def _is_clear(cells: Sequence[str]) -> bool:
    """Whether numbers are written as in 1.234,5, which can be nothing else."""
    return any(map(_CLEAR.fullmatch, cells)) and all(
        as_number(ungrouped(cell, ","), ",") is not None for cell in cells
    )


def has_text(columns: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether some cell of columns that are known is no number."""
    return any(as_number(cell, decimal) is None for cells in columns for cell in cells)


def guess_thousands(
    names: Sequence[str], columns: Sequence[Sequence[str]], decimal: str
) -> frozenset[str]:
    """The columns whose numbers have thousands separators, wherever they are large enough."""
    found = set()
    for name, column in zip(names, columns, strict=True):
        plain = [c for c in known_of(column) if _GROUPED[decimal].fullmatch(c) is None]
        sizes = [as_number(cell, decimal) for cell in plain]
        if len(plain) < len(known_of(column)) and all(
            size is not None and abs(size) < 1000 for size in sizes
        ):
            found.add(name)
    return frozenset(found)


def guess_blanks(text: str, delimiter: str) -> bool:
    """Whether a blank follows every delimiter, below a header, and so is a part of it."""
    if delimiter == " ":
        return True
    lines = [line for line in re.sub(r'"[^"]*+"', '""', text).splitlines() if line.strip()]
    fields = [line.split(delimiter)[1:] for line in lines[1:_SAMPLE] or lines]
    return any(fields) and all(field.startswith(" ") for line in fields for field in line)


# --- header --------------------------------------------------------------------------------


class HeaderGuess(NamedTuple):
    """Whether the first record has the names of columns, and whether that is certain."""

    is_header: bool
    is_sure: bool


def note_of_header(is_header: bool, first: str) -> str:
    """Say which way was taken, and how to choose the other."""
    ways = [
        "a row (--header takes it for the names of columns)",
        "the names of columns (--no-header takes it for a row)",
    ]
    return f"{first}, is taken for {ways[is_header]}"


def guess_header(
    first: Sequence[str],
    columns: Sequence[Sequence[str]],
    expect: Collection[str],
    decimal: str = ".",
) -> HeaderGuess:
    """Compare the first record with the columns below it, and with names that are expected.

    A name differs from the values below it: text above numbers, or numbers above text. A value of a
    row is there again below, in its column, is missing, or is there twice in the record.
    """
    names = set(first)
    # One that is digits may be the number of a column.
    is_number = len(expect) == 1 and min(expect) in map(str, range(1, len(first) + 1))
    if expect and names.issuperset(expect) and not is_number:
        return HeaderGuess(True, True)
    numbers = [as_number(field, decimal) for field in first]
    pairs = list(zip(first, numbers, map(_Below, columns), strict=True))
    if any(below.differs(field, number, decimal) for field, number, below in pairs):
        return HeaderGuess(True, True)
    again = sum(number is None and field in below.values for field, number, below in pairs)
    is_odd = len(names) < len(first) or bool(_MISSING & set(first[1:]))
    if all(number is None for number in numbers):
        is_row = again > len(first) / 2
        return HeaderGuess(not is_row, not is_row)
    if again or is_odd:
        return HeaderGuess(False, True)
    if any(
        number is None and field and below.repeats for field, number, below in pairs
    ) or _counts_up(first):
        return HeaderGuess(True, False)
    plain = (field.isdecimal() for field, number in zip(first, numbers, strict=True) if number)
    return HeaderGuess(False, not all(plain))


class _Below:
    """The values of a column below the first record."""

    def __init__(self, cells: Sequence[str]) -> None:
        self._cells = known_of(cells)
        self.values = set(self._cells)

    def differs(self, field: str, number: float | None, decimal: str) -> bool:
        """Whether a field is of another kind than all values below it."""
        if not self.values or field in _MISSING:
            return False
        found = {as_number(cell, decimal) is not None for cell in self.values}
        return found == {number is None}

    @property
    def repeats(self) -> bool:
        """Whether values are there several times."""
        return 0 < 2 * len(self.values) <= len(self._cells)


def _counts_up(first: Sequence[str]) -> bool:
    """Whether the numbers are 0, 1, 2, ... or years, or the like."""
    whole = [int(field) for field in first if field.isdecimal() and len(field) < 10]
    return len(whole) > 2 and whole == list(range(whole[0], whole[0] + len(whole)))
