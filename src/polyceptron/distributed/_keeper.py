"""What lives on a worker: some partitions, and the sums over their blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import psutil
from distributed.protocol import pickle
from numpy.typing import NDArray

from distributed import get_worker
from polyceptron.data.blocks import RUN, Adds, Block, map_in_order, rows_of_blocks
from polyceptron.data.source import Rows, SourceError, View
from polyceptron.distributed._partitions import Part
from polyceptron.optim.checkpoint import DigestOf
from polyceptron.utils.types import Floats

_SHARE = 0.6
"""Of a worker's memory: as much may be in use when rows are kept in the coordinates of learning."""


class Facts(NamedTuple):
    """What the client knows of a partition."""

    n_rows: int
    n_features: int
    labels: NDArray[Any]
    is_whole: bool
    digest: int


class Place(NamedTuple):
    """Where a partition is among all: its first block, and what it was when it was loaded."""

    first: int
    digest: int


class Layout(NamedTuple):
    """The classes, and the place of each partition."""

    classes: NDArray[Any]
    places: Mapping[int, Place]


class Failed(NamedTuple):
    """What went wrong in the work itself, not on the way to it."""

    error: Exception


class _Piece(NamedTuple):
    number: int
    X: NDArray[Any]
    codes: NDArray[np.int8]
    weight: Floats


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


class Keeper:
    """Partitions of one worker; a Dask actor.

    Rows are kept as they came, and in the coordinates of learning besides as far as there is
    memory for that: to find these anew costs a step 15 to 50% of its time.
    """

    def __init__(self) -> None:
        worker = get_worker()
        self._n_threads = int(worker.state.nthreads)
        self._limit = worker.memory_manager.memory_limit or psutil.virtual_memory().total
        self._parts: dict[int, Part] = {}
        self._pieces: list[_Piece] = []
        self._view = b""
        self._seen: View
        self._kept: list[Block | None] = []

    async def adopt(self, keys: bytes) -> bytes:
        """Take over partitions that this worker holds under these keys; whether all are here.

        An actor that had them as arguments would keep their tasks at the scheduler as long as it
        lives, in the way of whatever else is done with the same collection.
        """
        data, wanted = get_worker().data, pickle.loads(keys)
        is_here = all(key in data for key in wanted.values())
        if is_here:
            self._parts = {number: data[key] for number, key in wanted.items()}
        return bytes(pickle.dumps(is_here))

    def answer(self, method: str, arguments: bytes) -> bytes:
        """Call a method; errors of the work come back as results.

        So whatever is raised tells of the way here: the worker is lost.
        """
        result: Any
        try:
            result = getattr(self, method)(*pickle.loads(arguments))
        except Exception as error:
            result = Failed(error)
        return bytes(pickle.dumps(result))

    def facts(self) -> dict[int, Facts]:
        """What there is to know of each partition."""
        return {
            number: Facts(len(part.X), part.X.shape[1], part.labels, part.is_whole, _digest(part))
            for number, part in self._parts.items()
        }

    def arrange(self, layout: Layout) -> None:
        """Cut the partitions into numbered blocks."""
        pieces: list[_Piece] = []
        for partition, part in sorted(self._parts.items()):
            place = layout.places[partition]
            if place.digest != _digest(part):
                raise SourceError(
                    f"partition {partition} came out different when it was computed again, so "
                    "learning cannot go on from a lost worker: fix the seed of random rows, or "
                    "persist or store the rows"
                )
            code = np.searchsorted(layout.classes, part.labels).astype(np.int8)
            codes = code[part.codes] if part.codes.size else part.codes
            pieces += _cut(place.first, part.X, codes, part.weight)
        self._pieces = pieces
        self._view, self._kept = b"", []

    def reduce(self, view: bytes, statistic: Callable[[Block], Adds]) -> list[tuple[int, Adds]]:
        """Sums of a statistic over blocks, as :func:`in_runs` gives them."""
        self._look(view)
        parts = map_in_order(
            lambda place: statistic(self._block(place)),
            range(len(self._pieces)),
            self._n_threads,
        )
        return in_runs(zip((piece.number for piece in self._pieces), parts, strict=True))

    def rows(self, number: int) -> Rows | None:
        """The rows of a block, if it is here."""
        found = (piece[1:] for piece in self._pieces if piece.number == number)
        return next((Rows(*piece) for piece in found), None)

    def take(self, wanted: dict[int, NDArray[np.int64]]) -> dict[int, Rows]:
        """Some rows of blocks, of those that are here."""
        return {
            piece.number: Rows(
                piece.X[wanted[piece.number]],
                piece.codes[wanted[piece.number]],
                piece.weight[wanted[piece.number]] if piece.weight.size else piece.weight,
            )
            for piece in self._pieces
            if piece.number in wanted
        }

    # --- views --------------------------------------------------------------------------

    def _look(self, view: bytes) -> None:
        """Keep blocks as this view shows them, as far as there is room."""
        if view == self._view:
            return
        self._kept = []  # before new ones are made
        self._view, self._seen = view, pickle.loads(view)
        room = self._room()
        fits = []
        for piece in self._pieces:
            needed = 0 if self._seen.coordinates.is_identity else piece.X.nbytes
            fits.append(needed <= room)
            room -= needed if fits[-1] else 0
        self._kept = map_in_order(
            lambda place: self._made(place) if fits[place] else None,
            range(len(fits)),
            self._n_threads,
        )

    def _room(self) -> float:
        used = psutil.Process().memory_info().rss
        return float(min(_SHARE * self._limit - used, psutil.virtual_memory().available / 2))

    def _block(self, place: int) -> Block:
        return self._kept[place] or self._made(place)

    def _made(self, place: int) -> Block:
        return self._seen.block(*self._pieces[place])


def _digest(part: Part) -> int:
    return int(DigestOf()(Block(0, part.X, part.codes, part.weight)))


def _cut(first: int, X: NDArray[Any], codes: NDArray[np.int8], weight: Floats) -> list[_Piece]:
    edges = [*range(0, len(X), rows_of_blocks(X.shape[1])), len(X)]
    return [
        _Piece(first + place, X[a:b], codes[a:b], weight[a:b])
        for place, (a, b) in enumerate(pairwise(edges))
    ]
