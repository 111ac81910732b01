"""Delimited text as a source of rows."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from polyceptron.data.blocks import count_threads
from polyceptron.data.encoding import coded
from polyceptron.data.source import SourceError
from polyceptron.readers import Table, open_table
from polyceptron.readers._table import as_number
from polyceptron.readers._threads import in_order
from polyceptron.sources._tables import TEXT, Coded, Kind, Piece, TableFile, Wanted


class DelimitedFile(TableFile):
    """CSV and its kin, also inside gzip.

    Parameters
    ----------
    path : Path
    header : bool or None
        As in `open_table`.
    expect : collection of str
        Columns that will be asked for.
    """

    is_text = True

    def __init__(self, path: Path, header: bool | None, expect: Collection[str]) -> None:
        self._path, self.name = path, str(path)
        self._open = partial(open_table, path, header=header, expect=expect)
        with self._open() as reader:
            if reader.is_sparse:
                raise SourceError(f"{path}: rows of LIBSVM are sparse, and are read in memory only")
            self.names, self.unnamed = reader.names, reader.unnamed

    def kinds(self, names: Sequence[str]) -> dict[str, Kind]:
        with self._open() as reader:
            first = next(reader.chunks([], list(names)))
        return {name: _kind(_coded(first, name)) for name in names}

    def label_kind(self, name: str) -> str:
        del name
        return "written"

    def pieces(self, wanted: Wanted) -> Iterator[tuple[Piece, float]]:
        target = () if wanted.target is None else (wanted.target,)
        texts = list(dict.fromkeys((*wanted.texts, *target)))
        size = max(1, self._path.stat().st_size)
        with self._open() as reader:
            for table in in_order(reader.jobs(wanted.numbers, texts), _threads()):
                piece = Piece(
                    table.n_rows,
                    {name: table[name] for name in wanted.numbers},
                    {name: _coded(table, name) for name in wanted.texts},
                    None if wanted.target is None else _coded(table, wanted.target),
                    table.where,
                )
                yield piece, min(1.0, reader.source.position() / size)


def _threads() -> int:
    return count_threads(None, sys.maxsize)


def _coded(table: Table, name: str) -> Coded:
    return table.coded[name] if name in table.coded else coded(table[name])


def _kind(values: Coded) -> Kind:
    found = [value for value in values[1] if value is not None]
    if not found:
        return None
    return np.dtype(np.float64) if all(as_number(text) is not None for text in found) else TEXT
