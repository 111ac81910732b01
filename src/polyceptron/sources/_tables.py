"""A table in a file, in pieces of typed columns: what every format gives a conversion."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from polyceptron.readers import ReaderError

TEXT = "text"

Kind = np.dtype[Any] | str | None
"""Of a column: the type of its numbers, `TEXT`, or None where it is empty."""

Coded = tuple[NDArray[np.integer[Any]], list[Any]]
"""A number for each row, and what each number stands for, None for what is missing."""

_MOST_ROWS, _VALUES = 1 << 16, 1 << 21


class Wanted(NamedTuple):
    """Columns to read as numbers, those to read as text, and that of the labels."""

    numbers: tuple[str, ...]
    texts: tuple[str, ...] = ()
    target: str | None = None

    @property
    def names(self) -> list[str]:
        """All of them, each once."""
        target = () if self.target is None else (self.target,)
        return list(dict.fromkeys((*self.numbers, *self.texts, *target)))


class Piece(NamedTuple):
    """Some rows of a table.

    Parameters
    ----------
    n_rows : int
    numbers : dict of str to ndarray
        NaN is missing.
    texts : dict of str to Coded
    labels : Coded or None
        What they stand for is of the type of the column.
    where : callable
        Names a row, counted from 0 in this piece, and a column for people.
    """

    n_rows: int
    numbers: dict[str, NDArray[Any]]
    texts: dict[str, Coded]
    labels: Coded | None
    where: Callable[[int, str | None], str]


class TableFile(ABC):
    """A table in a file, open for reading; a context manager that closes it.

    Attributes
    ----------
    name : str
        What errors call the file.
    names : tuple of str
        Its columns.
    unnamed : frozenset of str
        Those whose name we made up.
    target : str or None
        The column of labels, where the format says which it is.
    is_text : bool
        Whether numbers are written out, so that only all rows tell what is one.
    n_rows : int or None
        How many there are, where that is known before all is read.
    """

    name: str
    names: tuple[str, ...]
    unnamed: frozenset[str] = frozenset()
    target: str | None = None
    is_text = False
    n_rows: int | None = None

    @abstractmethod
    def kinds(self, names: Sequence[str]) -> dict[str, Kind]:
        """What these columns hold; of text, what its beginning tells."""

    @abstractmethod
    def label_kind(self, name: str) -> str:
        """What labels a column holds: written, int, bool, float or str."""

    @abstractmethod
    def pieces(self, wanted: Wanted) -> Iterator[tuple[Piece, float]]:
        """All rows in order, in constant memory, and the share of the file that was read."""

    def close(self) -> None:  # noqa: B027 - some have nothing to let go of
        """Let go of the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def refuse_twice(self) -> None:
        """Refuse columns of one name."""
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise ReaderError(f"{self.name}: two columns are called {name!r}")
            seen.add(name)

    def place(self, first: int) -> Callable[[int, str | None], str]:
        """Names of rows, counted from 0 in the file, of a piece that begins there."""

        def where(row: int, column: str | None) -> str:
            named = "" if column is None else f", column {column!r}"
            return f"{self.name}, row {first + row}{named}"

        return where


def rows_of_piece(n_columns: int) -> int:
    """How many rows to read at once."""
    return max(256, min(_MOST_ROWS, _VALUES // max(1, n_columns)))


def one_line(error: BaseException) -> str:
    """What an error of another library says, in one line."""
    return " ".join(str(error).split())[:200]
