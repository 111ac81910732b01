"""The different values of columns of text: of features, and of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.data.encoding import MAX_CATEGORIES, Column
from polyceptron.data.source import SourceError
from polyceptron.readers._table import NotANumberError, as_number, not_a_number
from polyceptron.sources._columns import MAX_CLASSES, as_labels
from polyceptron.sources._tables import Coded, Piece

Kept = NDArray[np.bool_] | None
"""Which rows of a piece are taken; None is all."""


class Categories:
    """The values of a column of text, gathered piece by piece.

    Parameters
    ----------
    name : str
        Of the column.
    source : str
        What errors call all the files.
    doubt : Exception or None
        Why the column is no longer taken for one of numbers.
    may_be_numbers : bool
        Whether a column with more numbers than words is one of numbers with something wrong.
    """

    def __init__(
        self, name: str, source: str, doubt: NotANumberError | None, may_be_numbers: bool
    ) -> None:
        self.name, self._source, self._doubt = name, source, doubt
        self._may_be_numbers = may_be_numbers
        self._found: set[str] = set()
        self._n_rows = self._n_cells = self._n_words = 0
        self._odd: str | None = None

    def add(self, piece: Piece, kept: Kept) -> None:
        """Take the rows of a piece into account."""
        codes, values = piece.texts[self.name]
        counts = np.bincount(codes, minlength=len(values))
        if self._may_be_numbers:
            self._count_words(piece, counts)
        if kept is not None:
            counts = np.bincount(codes[kept], minlength=len(values))
        self._n_rows += int(counts.sum())
        self._found.update(values[j] for j in np.flatnonzero(counts) if values[j] is not None)
        if len(self._found) > MAX_CATEGORIES:
            self._refuse_many()

    def _count_words(self, piece: Piece, counts: NDArray[np.int64]) -> None:
        codes, values = piece.texts[self.name]
        for j in np.flatnonzero(counts).tolist():
            text = values[j]
            if text is None:
                continue
            self._n_cells += int(counts[j])
            if as_number(text) is not None:
                continue
            # A decimal comma is a number that is written wrong, not text.
            if as_number(text.replace(",", ".", 1)) is None:
                self._n_words += int(counts[j])
            if self._odd is None:
                row = int((codes == j).argmax())
                self._odd = f"{piece.where(row, self.name)}: {not_a_number(text)}"

    def _refuse_mixed(self) -> None:
        if self._odd is not None and 2 * self._n_words < self._n_cells:
            raise NotANumberError(f"{self._odd}; categories would take it for text", self.name)

    def _refuse_many(self) -> None:
        if self._doubt is not None:
            raise self._doubt
        self._refuse_mixed()
        raise SourceError(
            f"{self._source}: too many categories: {self.name!r} has {len(self._found)} in "
            f"{self._n_rows} rows: leave such columns out (drop)"
        )

    def column(self) -> Column:
        """How the column becomes features."""
        self._refuse_mixed()
        if not self._found:
            raise SourceError(f"{self._source}: column {self.name!r} has no value")
        if len(self._found) > max(10, self._n_rows // 2):
            self._refuse_many()
        return Column(self.name, "category", tuple(sorted(self._found)))


class Classes:
    """The labels, gathered piece by piece and numbered as they come.

    Parameters
    ----------
    kind : str
        What labels are: written, int, bool, float or str.
    where : str
        What errors call the column.
    """

    def __init__(self, kind: str, where: str) -> None:
        self._kind, self._where = kind, where
        self._numbers: dict[Any, int] = {}
        self._n_rows = 0

    def codes(self, labels: Coded, kept: Kept) -> NDArray[np.int8]:
        """The numbers of the labels of rows that are kept."""
        codes, values = labels
        if kept is not None:
            codes = codes[kept]
        place = np.zeros(len(values), np.int8)
        self._n_rows += len(codes)
        for j in np.flatnonzero(np.bincount(codes, minlength=len(values))).tolist():
            number = self._numbers.setdefault(values[j], len(self._numbers))
            if number >= MAX_CLASSES:
                raise SourceError(
                    f"{self._where}: more than {MAX_CLASSES} different values in {self._n_rows} "
                    "rows are no classes"
                )
            place[j] = number
        return place[codes]

    def sorted(self) -> tuple[list[Any], NDArray[np.int8]]:
        """The labels in order, and for every number its place among them."""
        values = list(self._numbers)
        if len(values) < 2:
            found = f"all rows are {values[0]!r}" if values else "every row has a missing value"
            raise SourceError(f"{self._where}: two classes are needed; {found}")
        if self._kind == "float" and not all(value.is_integer() for value in values):
            odd = next(value for value in values if not value.is_integer())
            raise SourceError(f"{self._where}: {odd} is no class, but a measurement")
        labels = as_labels(values) if self._kind == "written" else values
        order = sorted(range(len(labels)), key=labels.__getitem__)
        places = np.empty(len(order), np.int8)
        places[order] = np.arange(len(order), dtype=np.int8)
        return [labels[j] for j in order], places


def as_classes(kind: str, labels: Sequence[Any]) -> NDArray[Any]:
    """The labels as an array of their type."""
    types: dict[str, Any] = {"bool": np.bool_, "float": np.float64}
    if kind == "int" and max(labels) > np.iinfo(np.int64).max:
        types["int"] = np.uint64
    return np.array(labels, dtype=types.get(kind))
