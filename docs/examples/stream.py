"""Learn from a stream that never ends and whose truth moves.

Rows arrive in blocks, are learned once and forgotten. The polyhedron that labels them turns
slowly, at one moment it is replaced by another, and one label in fifty is wrong. One learner goes
on with every block; a copy of it stops after the first blocks and shows how far the truth has
moved since. Mistakes are counted before a row is learned, and the memory of the process is looked
at along the way.

Run it with ``python docs/examples/stream.py``, which takes a few seconds, or with ``--rows
50_000_000 --out stream.png``. It needs matplotlib.
"""

# ruff: noqa: T201 - an example prints

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from polyceptron import OnlinePolyceptron

K, D = 3, 5
OFFSET = 0.819  # of orthogonal faces from the middle: half of all normal rows are inside
FLIPPED = 0.02  # of the labels are wrong
BLOCK = 10_000  # rows
TURN = 20_000_000  # rows in which the faces turn once
FROZEN_AFTER = 20  # blocks
MOST_POINTS = 500  # of the record, however many rows there are


def drifting_rows(
    seed: int = 0, *, jump_at: float = math.inf, turn: int = TURN, block: int = BLOCK
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield blocks of rows and labels, without end.

    The faces turn in two planes, at different speeds: once in `turn` rows in the first. The block
    that begins at row `jump_at` is the first with faces that have nothing to do with those before.
    """
    rng = np.random.default_rng(seed)
    faces, others = (np.linalg.qr(rng.standard_normal((D, K)))[0].T.copy() for _ in range(2))
    n_rows = 0
    while True:
        W = turned(faces if n_rows < jump_at else others, n_rows / turn).astype(np.float32)
        X = rng.standard_normal((block, D), dtype=np.float32)
        inside = (W @ X.T >= -OFFSET).all(axis=0)
        yield X, inside ^ (rng.random(block, dtype=np.float32) < FLIPPED)
        n_rows += block


def turned(faces: np.ndarray, turns: float) -> np.ndarray:
    """Turn columns 0 and 1 as complex numbers, and columns 2 and 3 at 0.6 times the speed."""
    planes = faces[:, :4].copy().view(complex) * np.exp(2j * np.pi * turns * np.array([1, 0.6]))
    return np.hstack([planes.view(float), faces[:, 4:]])


class Record(NamedTuple):
    """What was seen along a stream: a fixed number of points."""

    rows: np.ndarray
    """Rows seen at the end of each point."""
    learning: np.ndarray
    """Mistakes per 1,000 rows of the model that learns on."""
    frozen: np.ndarray
    """The same of the model that stopped; nan until it stops."""
    memory: np.ndarray
    """Resident memory of the process in MB."""


def follow(
    stream: Iterator[tuple[np.ndarray, np.ndarray]], n_blocks: int, model: OnlinePolyceptron
) -> Record:
    """Let the model learn from the first blocks of a stream, and record how it does."""
    n_points = min(n_blocks, MOST_POINTS)
    ends = np.arange(1, n_points + 1) * n_blocks // n_points  # in blocks
    seen, wrong, memory = np.zeros(n_points), np.zeros((2, n_points)), np.zeros(n_points)
    frozen = None
    point = 0
    for block, (X, y) in enumerate(islice(stream, n_blocks), start=1):
        wrong[1, point] += np.nan if frozen is None else np.count_nonzero(frozen.predict(X) != y)
        model.partial_fit(X, y, classes=[False, True])
        wrong[0, point] += model.history_["mistakes"][0]
        seen[point] += len(y)
        if block == FROZEN_AFTER:
            frozen = deepcopy(model)
        if block == ends[point]:
            memory[point] = resident_memory()
            point += 1
    learning, stopped = 1000 * wrong / seen
    return Record(seen.cumsum(), learning, stopped, memory)


def resident_memory() -> float:
    """Return the memory of this process in MB, as Linux knows it; nan elsewhere."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return math.nan
    (kib,) = (line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return int(kib) * 1024 / 1e6


def draw(record: Record, jump_at: float, out: Path) -> None:
    """Draw mistakes and memory against the rows seen."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    above, below = figure.subplots(2, sharex=True, height_ratios=[3, 1])
    rows = record.rows / 1e6
    above.plot(rows, record.frozen, "--", color="#D55E00", label="a copy that stopped learning")
    above.plot(rows, record.learning, color="#0072B2", label="the model that learns on")
    above.axhline(1000 * FLIPPED, linestyle=":", color="#222222", label="wrong labels")
    above.set(ylabel="mistakes per 1,000 rows", yscale="log", ylim=(15, 1000))
    above.set_yticks([20, 50, 100, 200, 500], ["20", "50", "100", "200", "500"])
    above.minorticks_off()
    below.plot(rows, record.memory, color="#222222")
    below.set(xlabel="million rows seen", ylabel="memory, MB", xlim=(0, rows[-1]))
    below.set_ylim(0, 1.4 * np.nanmax(record.memory, initial=1))
    for axes in (above, below):
        axes.axvline(jump_at / 1e6, color="#999999", linewidth=0.8, zorder=0)
        axes.grid(axis="y", color="#E6E6E6")
        axes.spines[["top", "right"]].set_visible(False)
    above.text(jump_at / 1e6, 1000, " another truth", color="#555555", va="top")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(out, dpi=100)


def report(record: Record) -> None:
    """Print the record at some moments, and the spread of the memory."""
    print("      rows   mistakes per 1,000 rows   memory, MB")
    print("               learns on      stopped")
    for part in (0.02, 0.1, 0.2, 0.5, 0.75, 1):
        rows, learning, frozen, memory = (
            column[math.ceil(part * len(column)) - 1] for column in record
        )
        print(f"{rows:10,.0f} {learning:13.1f} {frozen:12.1f} {memory:12.1f}")
    later = record.memory[len(record.memory) // 50 :]
    print(f"memory after the first 2%: {later.min():.1f} to {later.max():.1f} MB")


def main(arguments: list[str] | None = None) -> None:
    """Follow a stream, print what happened and draw it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--out", type=Path, default=Path("stream.png"))
    parser.add_argument("--seed", type=int, default=0, help="of the stream")
    options = parser.parse_args(arguments)
    n_blocks = max(1, options.rows // BLOCK)
    jump_at = n_blocks // 2 * BLOCK
    begun = time.perf_counter()
    record = follow(
        drifting_rows(options.seed, jump_at=jump_at),
        n_blocks,
        OnlinePolyceptron(K, margin=200, random_state=0),
    )
    speed = record.rows[-1] / (time.perf_counter() - begun)
    report(record)
    print(f"{speed:,.0f} rows a second")
    draw(record, jump_at, options.out)


if __name__ == "__main__":
    main()
