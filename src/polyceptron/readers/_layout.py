"""What a file of delimited text looks like: its delimiter, its header, its columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection
from dataclasses import dataclass

from polyceptron.readers._source import HEAD
from polyceptron.readers._split import boundary
from polyceptron.readers._table import MISSING, ReaderError, as_number, brief, is_unicode

_COMMON, _RARE = ",\t;|", ": "
_SAMPLE = 200
_WRONG = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


@dataclass(frozen=True)
class Layout:
    """How to read the records of a file of delimited text.

    Attributes
    ----------
    source : str
        What errors call the file.
    delimiter : str
    names : tuple of str
        One for each column.
    unnamed : frozenset of str
        Those that we made up as the header has none.
    start : int
        The first byte after the header.
    line : int
        The line that it is on.
    has_header : bool
    """

    source: str
    delimiter: str
    names: tuple[str, ...]
    unnamed: frozenset[str]
    start: int
    line: int
    has_header: bool

    def place(self, line: int, column: int | None = None) -> str:
        """Say where something is."""
        where = f"{self.source}, line {line}"
        return where if column is None else f"{where}, column {self.names[column]!r}"


def find_layout(
    head: bytes, source: str, *, header: bool | None = None, expect: Collection[str] = ()
) -> Layout:
    r"""Find out how a file is laid out from its first bytes.

    Parameters
    ----------
    head : bytes
        The first bytes, the byte order mark included.
    source : str
        What errors call the file.
    header : bool or None
        Whether the first record has the names. None: it has if it holds no number, or all that
        is expected.
    expect : collection of str
        Names that are looked for.

    Examples
    --------
    >>> find_layout(b"age;dose\n1;2\n", "a.csv").names
    ('age', 'dose')
    >>> find_layout(b"1 2 red\n3 4 blue\n", "a.txt").names
    ('x1', 'x2', 'x3')
    """
    if head[:2] in _WRONG:
        raise ReaderError(f"{source} is in {_WRONG[head[:2]]}: save it as UTF-8")
    mark = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    body = head[mark:]
    given = re.match(rb"sep=([,;\t|: ])\r?\n", body)  # as Excel writes it
    skipped = len(given[0]) if given else 0
    body = body[skipped:]
    if len(head) >= HEAD:
        delimiter_guess = given[1] if given else b","
        body = body[: boundary(body, delimiter_guess)[0]] or body
    text = body.decode("utf-8", "surrogateescape")
    if not text.strip():
        raise ReaderError(f"{source} is empty")
    delimiter = given[1].decode() if given else _find_delimiter(text)
    first, n_lines = _first_record(text, delimiter, source, 1 if given else 0)
    length = sum(map(len, body.splitlines(keepends=True)[:n_lines]))
    whole, is_open = boundary(body, delimiter.encode())
    if is_open and whole < length:
        raise ReaderError(f"{source}, line {1 + bool(given)}: a quoted field is never closed")
    names = tuple(field.strip() for field in first)
    if header is None:
        header = (bool(expect) and set(expect) <= set(names)) or not any(map(_is_number, names))
    start = mark + skipped
    if not header:
        made = tuple(f"x{j}" for j in range(1, len(names) + 1))
        return Layout(source, delimiter, made, frozenset(), start, 1 + bool(given), False)
    start += length
    line = 1 + bool(given)
    named, unnamed = _check_names(names, f"{source}, line {line + n_lines - 1}")
    return Layout(source, delimiter, named, unnamed, start, line + n_lines, True)


def _is_number(text: str) -> bool:
    return as_number(text) is not None


def _first_record(text: str, delimiter: str, source: str, skipped: int) -> tuple[list[str], int]:
    """Return the first record that is not blank, and how many lines there are to its end."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    try:
        for record in reader:
            if record:
                return record, reader.line_num
    except csv.Error as error:
        hint = "; is a quote never closed?" if "larger" in str(error) else ""
        at = f"{source}, line {reader.line_num + skipped}"
        raise ReaderError(f"{at}: {error}{hint}") from None
    raise ReaderError(f"{source} is empty")


def _check_names(names: tuple[str, ...], where: str) -> tuple[tuple[str, ...], frozenset[str]]:
    seen: dict[str, int] = {}
    named, unnamed = [], set()
    for j, name in enumerate(names):
        if not is_unicode(name):
            raise ReaderError(f"{where}: the name of column {j + 1} is not UTF-8: {brief(name)}")
        if not name:
            name = f"column {j + 1}"  # noqa: PLW2901
            unnamed.add(name)
        if name in seen:
            raise ReaderError(
                f"{where}: columns {seen[name] + 1} and {j + 1} are both called {name!r}"
            )
        seen[name] = j
        named.append(name)
    return tuple(named), frozenset(unnamed)


def _find_delimiter(text: str) -> str:
    """Return the delimiter that cuts the first records into most equal rows of most numbers."""
    for among in (_COMMON, _RARE):
        scores = {delimiter: _score(text, delimiter) for delimiter in among}
        best = max(scores, key=lambda delimiter: scores[delimiter])
        if scores[best][0] > 0.5:
            return best
    return ","


def _score(text: str, delimiter: str) -> tuple[float, float]:
    """The share of records of the usual width, and among their cells that of numbers."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    records = []
    try:
        for record in reader:
            records += [record] if record else []
            if len(records) == _SAMPLE:
                break
    except csv.Error:
        return 0.0, 0.0
    widths = [len(record) for record in records]
    usual = max(set(widths), key=widths.count, default=1)
    if usual == 1:
        return 0.0, 0.0
    cells = [cell.strip() for record in records if len(record) == usual for cell in record]
    numbers = sum(
        cell in MISSING
        or as_number(cell) is not None
        or as_number(cell.replace(",", ".")) is not None
        for cell in cells
    )
    return widths.count(usual) / len(widths), numbers / len(cells)
