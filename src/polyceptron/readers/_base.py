"""What all readers have: names, and tables whole or in pieces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polyceptron.readers._source import Source
from polyceptron.readers._table import ReaderError, Table

Job = Callable[[], Table]

TARGET = "target"
"""What the labels are called in files that do not name them."""


class Reader(ABC):
    """A table in a file, open for reading; a context manager that closes it.

    Attributes
    ----------
    name : str
        What errors call the file.
    names : tuple of str
        The columns that there are.
    unnamed : frozenset of str
        Those whose name we made up, as a header has none for them.
    target : str or None
        The column of labels, where the format says which it is.
    is_sparse : bool
        Whether columns of zeros are left out, so that only a whole read tells which there are.
    """

    names: tuple[str, ...]
    unnamed: frozenset[str] = frozenset()
    target: str | None = None
    is_sparse: bool = False

    def __init__(self, source: Source) -> None:
        self.source = source
        self.name = source.name

    @abstractmethod
    def jobs(self, numbers: Sequence[str], texts: Sequence[str] = ()) -> Iterator[Job]:
        """Give the table piece by piece, in order, in constant memory.

        Each piece is a function to call, in any thread, that returns some rows.

        Parameters
        ----------
        numbers : sequence of str
            Columns to read as numbers.
        texts : sequence of str
            Columns to read as text.
        """

    @abstractmethod
    def read(self, names: Sequence[str] | None = None, *, texts: Collection[str] = ()) -> Table:
        """Return the whole table.

        Parameters
        ----------
        names : sequence of str, optional
            The columns to read; all of them by default.
        texts : collection of str
            Columns to read as text whatever they hold.
        """

    def chunks(self, numbers: Sequence[str], texts: Sequence[str] = ()) -> Iterator[Table]:
        """Give the table piece by piece, as tables."""
        for job in self.jobs(numbers, texts):
            yield job()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.source.__exit__(kind, error, trace)


def refuse_infinite(table: Table, names: Sequence[str]) -> Table:
    """Return a table if its numbers are finite or missing."""
    for name in names:
        bad = np.flatnonzero(np.isinf(table[name]))
        if bad.size:
            row = int(bad[0])
            raise ReaderError(
                f"{table.where(row, name)}: {table[name][row]} is not a finite number"
            )
    return table


def text_of(value: Any) -> str | None:
    """Return a value as the text that a file of text would have for it."""
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def as_texts(values: Sequence[Any]) -> NDArray[Any]:
    """Return values as an array of text and None."""
    texts = np.empty(len(values), dtype=object)
    texts[:] = [text_of(value) for value in values]
    return texts
