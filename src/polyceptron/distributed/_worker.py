"""What workers do: blocks of their partitions, and sums over these."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from distributed import get_worker
from polyceptron.data.blocks import RUN, Adds, Block, map_in_order, rows_of_blocks
from polyceptron.data.source import LabelledRows, SourceError, View
from polyceptron.distributed._partitions import Partition, PartitionFacts

_SHARE = 0.6
"""Of a worker's memory: as much may be in use when rows are kept in the coordinates of learning."""

NumberedRows = dict[int, LabelledRows]
"""Blocks of rows by their numbers among all, in rising order."""


def cut(
    parts: list[Partition], facts: list[PartitionFacts], firsts: list[int], classes: NDArray[Any]
) -> NumberedRows:
    """Blocks of partitions, numbered from a first one of each; ``facts`` as they once were."""
    found: NumberedRows = {}
    for part, once, first in zip(parts, facts, firsts, strict=True):
        if (part.facts.digest, *part.facts.labels) != (once.digest, *once.labels):
            raise SourceError(
                f"partition {once.number} came out different when it was computed again, so "
                "learning cannot go on from a lost worker: fix the seed of random rows, or "
                "persist or store the rows"
            )
        code = np.searchsorted(classes, once.labels).astype(np.int8)
        codes = code[part.codes] if part.codes.size else part.codes
        edges = [*range(0, len(codes), rows_of_blocks(part.X.shape[1])), len(codes)]
        for number, (a, b) in enumerate(pairwise(edges), first):
            found[number] = LabelledRows(part.X[a:b], codes[a:b], part.weight[a:b])
    return found


def seen(rows: NumberedRows, view: View) -> dict[int, Block]:
    """Blocks as a view shows them, as many as there is memory for.

    To find them anew costs a step 15 to 50% of its time.
    """
    room, numbers = _room(), []
    for number, (X, *_) in rows.items():
        needed = 0 if view.coordinates.is_identity else np.asarray(X).nbytes
        if needed <= room:
            numbers.append(number)
            room -= needed
    blocks = map_in_order(lambda n: view.block(n, *rows[n]), numbers, _n_threads())
    return dict(zip(numbers, blocks, strict=True))


def reduced(
    rows: NumberedRows, kept: dict[int, Block], view: View, statistic: Callable[[Block], Adds]
) -> list[tuple[int, Adds]]:
    """Sums of a statistic over blocks, as :func:`in_runs` gives them."""

    def of_block(number: int) -> Adds:
        return statistic(kept.get(number) or view.block(number, *rows[number]))

    numbers = list(rows)
    return in_runs(zip(numbers, map_in_order(of_block, numbers, _n_threads()), strict=True))


def in_runs(parts: Iterable[tuple[int, Adds]]) -> list[tuple[int, Adds]]:
    """Add up what can be added here: blocks that follow each other from the start of a run.

    The rest waits for blocks that are elsewhere, since sums run in block order.

    Examples
    --------
    >>> in_runs([(0, 1), (1, 1), (3, 1), (62, 1), (63, 1), (64, 1), (65, 1)])
    [(0, 2), (3, 1), (62, 1), (63, 1), (64, 2)]
    """
    sums: list[tuple[int, Adds]] = []
    last = -1
    for number, part in parts:
        if sums and number % RUN and number == last + 1 and sums[-1][0] % RUN == 0:
            sums[-1] = sums[-1][0], sums[-1][1] + part
        else:
            sums.append((number, part))
        last = number
    return sums


def taken(rows: NumberedRows, wanted: dict[int, Any]) -> NumberedRows:
    """Some rows of some blocks: numbers of rows, or a slice, for each block."""
    found = {}
    for number, at in wanted.items():
        X, codes, weight = rows[number]
        assert isinstance(X, np.ndarray)
        found[number] = LabelledRows(X[at], codes[at], weight[at] if len(weight) else weight)
    return found


def _n_threads() -> int:
    return int(get_worker().state.nthreads)


def _room() -> float:
    limit = get_worker().memory_manager.memory_limit or psutil.virtual_memory().total
    used = psutil.Process().memory_info().rss
    return float(min(_SHARE * limit - used, psutil.virtual_memory().available / 2))
