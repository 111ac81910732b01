"""The reader of delimited text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial

import numpy as np

from polyceptron.readers import _records
from polyceptron.readers._base import Job, Reader
from polyceptron.readers._blocks import parse
from polyceptron.readers._layout import find_layout
from polyceptron.readers._source import Source
from polyceptron.readers._split import Block, blocks
from polyceptron.readers._table import (
    NoRowsError,
    NotANumberError,
    Table,
    as_number,
    not_a_number,
)


class TextReader(Reader):
    """CSV, TSV and their kin.

    Parameters
    ----------
    source : Source
    header : bool or None
        Whether the first record has the names of the columns; None finds out.
    expect : collection of str
        Names that are looked for, which tell a header.
    """

    def __init__(
        self, source: Source, *, header: bool | None = None, expect: Collection[str] = ()
    ) -> None:
        super().__init__(source)
        self.layout = find_layout(source.head(), source.name, header=header, expect=expect)
        self.names, self.unnamed = self.layout.names, self.layout.unnamed

    def _blocks(self) -> Iterator[Block]:
        skip = self.layout.start
        while skip:
            skip -= len(self.source.read(skip))
        yield from blocks(self.source, self.layout.delimiter.encode(), self.layout.line)

    def jobs(self, numbers: Sequence[str], texts: Sequence[str] = ()) -> Iterator[Job]:
        some = False
        for block in self._blocks():
            some = some or not block.data.isspace()
            yield partial(parse, block, self.layout, numbers, texts)
        if not some:
            raise self._no_rows()

    def read(self, names: Sequence[str] | None = None, *, texts: Collection[str] = ()) -> Table:
        wanted = [name for name in self.names if names is None or name in names]
        stored = [block for block in self._blocks() if not block.data.isspace()]
        if not stored:
            raise self._no_rows()
        first, _ = _records.records(stored[0], self.layout)
        free = [name for name in wanted if name not in texts]
        numbers, found = _records.kinds(first, self.layout, free)
        doubts: dict[str, NotANumberError] = {}
        while True:
            as_text = [name for name in wanted if name not in numbers]
            try:
                pieces = [parse(block, self.layout, numbers, as_text) for block in stored]
                break
            except NotANumberError as error:
                numbers.remove(error.column)
                doubts[error.column] = error
        table = _joined(pieces, wanted)
        for name in [*found, *doubts]:
            self._refuse_mixed(table, name)
        return table

    def _refuse_mixed(self, table: Table, name: str) -> None:
        """A column with more numbers than text is one of numbers with something wrong."""
        cells = [cell for cell in table[name] if cell is not None]
        odd = [cell for cell in cells if as_number(cell) is None]
        # A decimal comma is a number that is written wrong, not text.
        words = [cell for cell in odd if as_number(cell.replace(",", ".", 1)) is None]
        if not odd or 2 * len(words) >= len(cells):
            return
        row = next(i for i, cell in enumerate(table[name]) if cell == odd[0])
        n = f", as are {len(odd) - 1} more of {len(cells)} values" if len(odd) > 1 else ""
        raise NotANumberError(f"{table.where(row, name)}: {not_a_number(odd[0])}{n}", name)

    def _no_rows(self) -> NoRowsError:
        return NoRowsError(f"{self.name} has a header and no rows")


def _joined(pieces: list[Table], names: Sequence[str]) -> Table:
    columns = {name: np.concatenate([piece[name] for piece in pieces]) for name in names}
    lines = np.concatenate([piece.lines for piece in pieces if piece.lines is not None])
    return Table(pieces[0].source, columns, len(lines), lines)
