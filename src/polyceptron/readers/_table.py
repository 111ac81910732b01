"""What readers hand out: columns by name, and where in the file each row was."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "#N/A")
"""What counts as a missing value in a file of text, blanks around it apart."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LONGEST = 60


class ReaderError(ValueError):
    """A file that is not what it should be: which file, where, and what was found."""


class NoRowsError(ReaderError):
    """A table that has columns and nothing in them."""


class NotANumberError(ReaderError):
    """Text where a number should be."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column


def as_number(text: str) -> float | None:
    """Return a number written in digits, or None: no nan, no infinity, no underscores.

    Examples
    --------
    >>> as_number("-1.5e3"), as_number("1_000"), as_number("inf")
    (-1500.0, None, None)
    """
    if _NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    return value if np.isfinite(value) else None


def brief(text: str) -> str:
    """Return text in quotes, escaped and cut to a length that fits a line."""
    cut = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    return repr(cut if is_unicode(text) else cut.encode("utf-8", "surrogateescape"))


def is_unicode(text: str) -> bool:
    """Whether all bytes of a text were UTF-8; those that were not are lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def not_a_number(text: str) -> str:
    """Say what is wrong with text where a number should be.

    Examples
    --------
    >>> print(not_a_number("abc"))
    'abc' is not a number
    >>> print(not_a_number("1,5"))
    '1,5' is not a number (decimals need a point)
    """
    hint = ""
    if _NUMBER.fullmatch(text):
        hint = " (it is too large)"
    elif text.count(",") == 1 and as_number(text.replace(",", ".")) is not None:
        hint = " (decimals need a point)"
    return f"{brief(text)} is not a number{hint}"


Coded = tuple[NDArray[np.int64], list[str | None]]
"""A number for each row, and the text that each number stands for."""


@dataclass(frozen=True, eq=False)
class Table(Mapping[str, NDArray[Any]]):
    """Columns by name.

    Attributes
    ----------
    source : str
        What the file is called in errors.
    columns : dict of str to ndarray
        A column of numbers is float64 with NaN for what is missing, any other holds text and
        None.
    n_rows : int
    lines : ndarray of int or None
        The line on which each row begins; the number of the row where the file has no lines.
    first_row : int
        How many rows of the file come before these.
    has_lines : bool
    matrix : csr_matrix or None
        The columns `sparse_names` as one sparse matrix; they are not among `columns`.
    block : pair of a tuple of str and an ndarray, or None
        Names of columns of numbers, and the array that these are the columns of.
    coded : dict of str to a pair of an array and a list
        Columns of text as numbers, and what the numbers stand for. Such a column is among
        `columns` once it has been asked for.
    """

    source: str
    columns: dict[str, NDArray[Any]]
    n_rows: int
    lines: NDArray[np.int64] | None = None
    first_row: int = 0
    matrix: Any = None
    sparse_names: Sequence[str] = ()
    block: tuple[tuple[str, ...], NDArray[np.float64]] | None = None
    has_lines: bool = True
    coded: dict[str, Coded] = field(default_factory=dict)

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.columns and name in self.coded:
            codes, values = self.coded[name]
            self.columns[name] = np.array([*values, None], dtype=object)[codes]
        if name in self.columns or self.matrix is None:
            return self.columns[name]
        try:
            place = self.sparse_names.index(name)
        except ValueError:
            raise KeyError(name) from None
        column: NDArray[Any] = self.matrix[:, [place]].toarray().ravel()
        return column

    def __iter__(self) -> Iterator[str]:
        yield from self.columns
        yield from (name for name in self.coded if name not in self.columns)
        yield from self.sparse_names

    def __len__(self) -> int:
        return len({*self.columns, *self.coded}) + len(self.sparse_names)

    def where(self, row: int, column: str | None = None) -> str:
        """Say where a row, or one of its values, is in the file.

        Examples
        --------
        >>> table = Table("a.csv", {"age": np.zeros(2)}, 2, np.array([2, 3]))
        >>> table.where(1, "age")
        "a.csv, line 3, column 'age'"
        """
        if self.lines is None:
            place = f"row {self.first_row + row + 1}"
        else:
            place = f"{'line' if self.has_lines else 'row'} {self.lines[row]}"
        return f"{self.source}, {place}" + ("" if column is None else f", column {column!r}")

    def select(self, names: Sequence[str]) -> Table:
        """Return the table of some of the columns, in that order."""
        columns = {name: self[name] for name in names}
        return Table(
            self.source,
            columns,
            self.n_rows,
            self.lines,
            self.first_row,
            has_lines=self.has_lines,
        )

    def take(self, rows: NDArray[Any]) -> Table:
        """Return the table of some of the rows."""
        has_lines = self.lines is not None and self.has_lines
        numbers = np.arange(self.first_row + 1, self.first_row + self.n_rows + 1)
        lines = (numbers if self.lines is None else self.lines)[rows]
        return Table(
            self.source,
            {name: values[rows] for name, values in self.columns.items()},
            len(lines),
            lines,
            self.first_row,
            None if self.matrix is None else self.matrix[rows],
            self.sparse_names,
            has_lines=has_lines,
        )
