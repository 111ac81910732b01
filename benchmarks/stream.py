"""Figures and the picture of docs/streaming.md, on the stream of docs/examples/stream.py.

    python -m benchmarks.stream [--rows 50_000_000] [--drift 4_000_000] [--streams 6]

First one long stream, with a copy of the model that stopped: mistakes and memory along the way.
Then settings of the online learner on shorter ones. Every block is predicted before it is learned
there; the truth changes after half of the rows. Each figure is from the least to the greatest of
the streams: mistakes per 1,000 rows in the second and in the last quarter of the rows, and how many
thousand rows after the change a block has less than 1.5 times the mistakes of the better quarter.
"""

from __future__ import annotations

import argparse
import json
import math
import runpy
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import environment
from polyceptron import OnlinePolyceptron
from polyceptron.utils.atomic import write_text

ROOT = Path(__file__).parents[1]
EXAMPLE = runpy.run_path(str(ROOT / "docs" / "examples" / "stream.py"))
BLOCK, K = EXAMPLE["BLOCK"], EXAMPLE["K"]
SETTINGS: list[dict[str, Any]] = [{"margin": m} for m in (0, 10, 30, 100, 200, 300, 1000)]
SETTINGS += [{"margin": margin, "average": True} for margin in (0, 200)]
MOMENTS = (0.02, 0.1, 0.2, 0.5, 0.75, 1.0)
"""Of the long stream: what was seen by then is reported."""


def long_stream(n_rows: int, picture: Path | None) -> dict[str, Any]:
    """What the example records of one stream, at some moments."""
    n_blocks = max(1, n_rows // BLOCK)
    jump_at = n_blocks // 2 * BLOCK
    model = OnlinePolyceptron(K, margin=200, random_state=0)
    begun = time.perf_counter()
    record = EXAMPLE["follow"](EXAMPLE["drifting_rows"](0, jump_at=jump_at), n_blocks, model)
    seconds = time.perf_counter() - begun
    if picture is not None:
        EXAMPLE["draw"](record, jump_at, picture)
    places = [math.ceil(part * len(record.rows)) - 1 for part in MOMENTS]
    columns = zip(record._fields, record, strict=True)
    moments = {
        name: [None if math.isnan(v) else round(v, 2) for v in values[places].tolist()]
        for name, values in columns
    }  # what has not stopped yet makes no mistakes
    return {"rows_a_second": round(n_blocks * BLOCK / seconds), "moments": moments}


def measure(setting: dict[str, Any], seed: int, n_blocks: int) -> tuple[float, float, float]:
    """Mistakes before the change and at the end, and thousands of rows to recover."""
    model = OnlinePolyceptron(K, random_state=0, **setting)
    half, quarter = n_blocks // 2, n_blocks // 4
    stream = EXAMPLE["drifting_rows"](seed, jump_at=half * BLOCK)
    model.partial_fit(*next(stream), classes=[False, True])
    mistakes = np.full(n_blocks, np.nan)
    for block, (X, y) in enumerate(islice(stream, n_blocks - 1), start=1):
        mistakes[block] = 1000 * np.mean(model.predict(X) != y)
        model.partial_fit(X, y)
    before, end = mistakes[quarter:half].mean(), mistakes[-quarter:].mean()
    recovered = np.flatnonzero(mistakes[half:] < 1.5 * min(before, end))
    return before, end, recovered[0] * BLOCK / 1000 if len(recovered) else math.inf


def drifts(n_rows: int, n_streams: int) -> list[dict[str, Any]]:
    """A line for each setting, the least and the greatest of the streams."""
    found = []
    for setting in SETTINGS:
        runs = [measure(setting, seed, n_rows // BLOCK) for seed in range(n_streams)]
        ends = [span(values) for values in zip(*runs, strict=True)]
        found.append({**setting, **dict(zip(("before", "end", "recovered"), ends, strict=True))})
        print(found[-1], flush=True)
    return found


def span(values: tuple[float, ...]) -> str:
    """The least and the greatest, in words."""
    ends = dict.fromkeys(f"{end:.0f}" for end in (min(values), max(values)))
    return " to ".join(ends).replace("inf", "never")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000_000, help="of the long stream")
    parser.add_argument("--drift", type=int, default=4_000_000, help="rows of each of the others")
    parser.add_argument("--streams", type=int, default=6)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "stream.json")
    parser.add_argument("--picture", type=Path, help="where to draw the long stream")
    given = parser.parse_args()
    long = long_stream(given.rows, given.picture)
    print(long, flush=True)
    settings = drifts(given.drift, given.streams)
    drift = {"streams": given.streams, "rows": given.drift, "settings": settings}
    found = {"environment": environment(), "long": long, "drift": drift}
    write_text(given.out, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
