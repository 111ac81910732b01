"""Batch iterations over a file that is read in each of them, beside reading it and nothing else.

    python -m benchmarks.out_of_core [--rows 100_000_000] [--iterations 20] [--folder DIR]

As a program it measures a large file once, with the most memory of a fit in a process of its own,
and writes ``docs/results/out_of_core.json``; as a part of ``make bench``, ten million rows. Cold
means that the file is out of the cache of the operating system before each reading, warm that it
is in it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.registry import Bar, Measurement, Sizes, benchmark
from benchmarks.report import environment
from polyceptron import open_blocks
from polyceptron.data.scaling import Coordinates
from polyceptron.data.source import View
from polyceptron.optim.criterion import gradient
from polyceptron.optim.planes import Planes
from polyceptron.utils.atomic import write_text

N_COLUMNS, N_HYPERPLANES, MARGIN = 20, 3, 20.0
_FIT = """
import json, sys, time, warnings
from pathlib import Path
from polyceptron import BatchPolyceptron, open_blocks
warnings.simplefilter("ignore")
def most_memory():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6
source = open_blocks(sys.argv[1], target=sys.argv[2], cache_dir=sys.argv[3])
before, begun = most_memory(), time.perf_counter()
model = BatchPolyceptron(3, max_iter=int(sys.argv[4]), n_init=1, random_state=0, n_jobs=-1)
model.fit_blocks(source)
seconds = time.perf_counter() - begun
mistakes = model.history_["mistakes"][-1] / source.n_samples
MB = {"MB before": before, "MB": most_memory()}
print(json.dumps({"fit seconds": seconds, **MB, "share of mistakes": mistakes}))
"""


def write_rows(folder: Path, n: int) -> tuple[Path, Path]:
    """Rows inside and outside of three hyperplanes, float32, in a file that can be mapped."""
    rng = np.random.default_rng(0)
    W = rng.standard_normal((N_HYPERPLANES, N_COLUMNS)).astype(np.float32)
    paths = folder / "X.npy", folder / "y.npy"
    with paths[0].open("wb") as X, paths[1].open("wb") as y:
        for file, shape, kind in ((X, (n, N_COLUMNS), "<f4"), (y, (n,), "|i1")):
            header = {"descr": kind, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n, 1_000_000):
            rows = rng.standard_normal((min(1_000_000, n - start), N_COLUMNS), dtype=np.float32)
            X.write(rows.tobytes())
            y.write(((rows @ W.T + 4).min(axis=1) >= 0).astype(np.int8).tobytes())
    return paths


def forget(path: Path) -> None:
    """Have a file out of the cache of the operating system."""
    os.sync()
    handle = os.open(path, os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


def read(path: Path) -> None:
    """Read a file once, in pieces of the size of a block."""
    room = bytearray(65_536 * N_COLUMNS * 4)
    with path.open("rb", buffering=0) as file:
        while file.readinto(room):
            pass


def in_turn(path: Path, sides: dict[str, Any], cold: bool, rounds: int) -> dict[str, float]:
    """Median seconds of each side, one after the other."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, work in sides.items():
            if cold:
                forget(path)
            begun = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - begun)
    return {name: statistics.median(found) for name, found in times.items()}


def measure(X: Path, y: Path, cache: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Seconds of reading and of an iteration, cold and warm."""
    source = open_blocks(X, target=y, cache_dir=cache)
    moved = Coordinates(np.full(N_COLUMNS, 1.01), np.full(N_COLUMNS, 0.01))  # as standardised
    data = source.blocks(View(moved, 1), len(os.sched_getaffinity(0)))
    W = np.random.default_rng(1).standard_normal((N_HYPERPLANES, N_COLUMNS))
    planes = Planes.of(W, np.zeros(N_HYPERPLANES))
    sides = {"read": lambda: read(X), "iteration": lambda: gradient(data, planes, MARGIN)}
    gradient(data, planes, MARGIN)  # compiles, and warms up
    warm = in_turn(X, sides, False, rounds)
    return {"cold": in_turn(X, sides, True, rounds), "warm": warm}


@benchmark
def out_of_core(sizes: Sizes) -> Iterator[Measurement]:
    """A batch iteration over a file of ten million rows x 20, float32, K = 3."""
    n = sizes.rows(10_000_000)
    with tempfile.TemporaryDirectory() as name:
        X, y = write_rows(Path(name), n)
        found = measure(X, y, Path(name), sizes.rounds(5))
    for state, bar in (("cold", Bar("<=", 1.5)), ("warm", None)):
        t = found[state]
        yield Measurement(
            f"batch iteration from a file ÷ reading it once, {state}",
            t["iteration"] / t["read"],
            bar,
            t,
            f"{t['iteration']:.2f} s and {t['read']:.2f} s for {n / 1e6:g} million rows",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="for the file; by default a temporary one")
    parser.add_argument("--out", type=Path, default=Path("docs/results/out_of_core.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        X, y = write_rows(Path(name), options.rows)
        found: dict[str, Any] = measure(X, y, Path(name), options.rounds)
        for state in found.values():
            state["ratio"] = state["iteration"] / state["read"]
        command = [sys.executable, "-c", _FIT, X, y, name, options.iterations]
        done = subprocess.run(map(str, command), capture_output=True, text=True, check=True)
        found["fit"] = json.loads(done.stdout)
    size = {"rows": options.rows, "iterations": options.iterations}
    text = json.dumps({"environment": environment(), **size, **found}, indent=1)
    print(text)
    write_text(options.out, text + "\n")


if __name__ == "__main__":
    main()
