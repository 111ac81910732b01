"""A block of text as columns: compiled where it is plain, record by record where it is not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.readers import _records
from polyceptron.readers._layout import Layout
from polyceptron.readers._split import Block
from polyceptron.readers._table import MISSING, Coded, Table

_MISSING = frozenset(MISSING)


@cache
def _kernels() -> Any:
    from numba import config

    from polyceptron.readers import _kernels as compiled

    return None if config.DISABLE_JIT else compiled


def parse(block: Block, layout: Layout, numbers: Sequence[str], texts: Sequence[str]) -> Table:
    """Return the columns `numbers` as numbers and `texts` as text; others are not looked at.

    Whether it is compiled makes no difference to what is returned.
    """
    table = _parse_plain(block, layout, numbers, texts)
    return table or _records.parse(block, layout, numbers, texts, 0)


def _parse_plain(
    block: Block, layout: Layout, numbers: Sequence[str], texts: Sequence[str]
) -> Table | None:
    kernels = _kernels()
    if kernels is None:
        return None
    text = block.data if block.data.endswith(b"\n") else block.data + b"\n"
    most = block.n_lines
    data = np.frombuffer(text, dtype=np.uint8)
    roles = np.full(len(layout.names), -1, dtype=np.int64)
    places = {name: j for j, name in enumerate(layout.names)}
    for role, name in enumerate((*numbers, *texts)):
        roles[places[name]] = role
    X = np.empty((most, len(numbers)))
    spans = np.empty((len(texts), most, 2), dtype=np.int64)
    lines = np.empty(most, dtype=np.int64)
    delimiter = np.uint8(ord(layout.delimiter))
    n = kernels.read_block(data, delimiter, roles, len(numbers), block.line, X, spans, lines)
    if n < 0:
        return None
    columns: dict[str, NDArray[Any]] = {name: X[:n, j] for j, name in enumerate(numbers)}
    coded: dict[str, Coded] = {}
    try:
        for j, name in enumerate(texts):
            coded[name] = _coded(text, data, spans[j, :n])
    except UnicodeDecodeError:
        return None  # the other reader says where
    whole = (tuple(numbers), X[:n])
    return Table(layout.source, columns, n, lines[:n], block=whole, coded=coded)


def _coded(text: bytes, data: NDArray[np.uint8], spans: NDArray[np.int64]) -> Coded:
    """Return texts as numbers, and what the numbers stand for."""
    kernels = _kernels()
    codes = np.empty(len(spans), dtype=np.int64)
    firsts = np.empty((kernels.MOST_DISTINCT, 2), dtype=np.int64)
    n = kernels.distinct(data, spans, codes, firsts)
    if n < 0:
        pieces = [text[start:stop] for start, stop in spans.tolist()]
        numbers = {piece: code for code, piece in enumerate(dict.fromkeys(pieces))}
        codes = np.array([numbers[piece] for piece in pieces], dtype=np.int64)
        found = list(numbers)
    else:
        found = [text[start:stop] for start, stop in firsts[:n].tolist()]
    values = [piece.decode("utf-8").strip() for piece in found]
    return codes, [None if value in _MISSING else value for value in values]
