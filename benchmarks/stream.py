"""Compare settings of the online learner on the stream of docs/examples/stream.py.

    python -m benchmarks.stream [--rows 4_000_000] [--streams 6]

Every block is predicted before it is learned; the truth changes after half of the rows. Prints
the table of docs/streaming.md, each figure from the least to the greatest of the streams: mistakes
per 1,000 rows in the second and in the last quarter of the rows, and how many thousand rows after
the change a block has less than 1.5 times the mistakes of the better quarter.
"""

import argparse
import math
import runpy
from itertools import islice
from pathlib import Path

import numpy as np

from polyceptron import OnlinePolyceptron

EXAMPLE = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "examples" / "stream.py"))
BLOCK, K = EXAMPLE["BLOCK"], EXAMPLE["K"]
SETTINGS = [{"margin": margin} for margin in (0, 10, 30, 100, 200, 300, 1000)]
SETTINGS += [{"margin": margin, "average": True} for margin in (0, 200)]


def measure(setting, seed, n_blocks):
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


def span(values):
    ends = dict.fromkeys(f"{end:.0f}" for end in (min(values), max(values)))
    return " to ".join(ends).replace("inf", "never")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--streams", type=int, default=6)
    options = parser.parse_args()
    print("| margin | average | before the change | at the end | thousand rows to recover |")
    print("| --- | --- | --- | --- | --- |")
    for setting in SETTINGS:
        runs = [measure(setting, seed, options.rows // BLOCK) for seed in range(options.streams)]
        spans = map(span, zip(*runs, strict=True))
        average = "yes" if setting.get("average") else "no"
        print(f"| {setting['margin']} | {average} |", " | ".join(spans), "|", flush=True)


if __name__ == "__main__":
    main()
