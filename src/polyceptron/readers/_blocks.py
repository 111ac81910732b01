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
from polyceptron.readers._table import MISSING, Table

_MISSING = frozenset(MISSING)


@cache
def _kernel() -> Any:
    from numba import config

    from polyceptron.readers import _kernels

    return None if config.DISABLE_JIT else _kernels.read_block


def parse(block: Block, layout: Layout, numbers: Sequence[str], texts: Sequence[str]) -> Table:
    """Return the columns `numbers` as numbers and `texts` as text; others are not looked at.

    Whether it is compiled makes no difference to what is returned.
    """
    table = _parse_plain(block, layout, numbers, texts)
    return table or _records.parse(block, layout, numbers, texts, 0)


def _parse_plain(
    block: Block, layout: Layout, numbers: Sequence[str], texts: Sequence[str]
) -> Table | None:
    read = _kernel()
    if read is None:
        return None
    text = block.data if block.data.endswith(b"\n") else block.data + b"\n"
    most = block.n_lines
    data = np.frombuffer(text, dtype=np.uint8)
    roles = np.full(len(layout.names), -1, dtype=np.int64)
    places = {name: j for j, name in enumerate(layout.names)}
    for role, name in enumerate((*numbers, *texts)):
        roles[places[name]] = role
    X = np.empty((most, len(numbers)))
    spans = np.empty((most, len(texts), 2), dtype=np.int64)
    lines = np.empty(most, dtype=np.int64)
    delimiter = np.uint8(ord(layout.delimiter))
    n = read(data, delimiter, roles, len(numbers), block.line, X, spans, lines)
    if n < 0:
        return None
    columns: dict[str, NDArray[Any]] = {name: X[:n, j] for j, name in enumerate(numbers)}
    for j, name in enumerate(texts):
        values = _texts(text, spans[:n, j])
        if values is None:
            return None
        columns[name] = values
    return Table(layout.source, columns, n, lines[:n], block=(tuple(numbers), X[:n]))


def _texts(text: bytes, spans: NDArray[np.int64]) -> NDArray[Any] | None:
    """Return fields as text; None where one is not UTF-8."""
    known: dict[bytes, str | None] = {}
    values = np.empty(len(spans), dtype=object)
    pieces = [text[start:stop] for start, stop in spans.tolist()]
    try:
        for piece in set(pieces):
            field = piece.decode("utf-8").strip()
            known[piece] = None if field in _MISSING else field
    except UnicodeDecodeError:
        return None
    values[:] = [known[piece] for piece in pieces]
    return values
