"""Whole fits on small data, and the cost of importing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from sklearn.linear_model import LogisticRegression

from benchmarks.registry import Bar, Measurement, Sizes, benchmark
from benchmarks.timing import in_turns
from polyceptron import BatchPolyceptron, OnlinePolyceptron
from polyceptron.datasets import make_dataset1


@benchmark
def fit(sizes: Sizes) -> Iterator[Measurement]:
    """`fit` with defaults on Dataset 1 of the paper, 1000 x 10: the mean of ten seeds."""
    X, y = make_dataset1(random_state=0, return_X_y=True)
    seeds = range(10)
    sides = {
        "LogisticRegression": lambda: [LogisticRegression().fit(X, y) for _ in seeds],
        "BatchPolyceptron": lambda: [
            BatchPolyceptron(3, random_state=seed).fit(X, y) for seed in seeds
        ],
        "OnlinePolyceptron": lambda: [
            OnlinePolyceptron(3, random_state=seed).fit(X, y) for seed in seeds
        ],
    }
    t = {name: total / len(seeds) for name, total in in_turns(sides, sizes.rounds(9)).items()}
    peer = "LogisticRegression"
    for name, bar in {"BatchPolyceptron": Bar("<=", 3.0), "OnlinePolyceptron": None}.items():
        yield Measurement(
            f"whole fit on Dataset 1: {name} ÷ {peer}",
            t[name] / t[peer],
            bar,
            {name: t[name], peer: t[peer]},
            f"{1e3 * t[name]:.2f} ms and {1e3 * t[peer]:.2f} ms, mean of {len(seeds)} seeds",
        )


@benchmark
def imports(sizes: Sizes) -> Iterator[Measurement]:
    """Importing in a fresh interpreter."""
    ours, learners = "import polyceptron", "from polyceptron import BatchPolyceptron"
    peer = "from sklearn.linear_model import Perceptron"
    statements = (ours, learners, peer)
    best = dict.fromkeys(statements, float("inf"))
    for _ in range(sizes.rounds(5)):
        for statement in statements:
            best[statement] = min(best[statement], _import_seconds(statement))
    for statement in (ours, learners):
        yield Measurement(
            f"`{statement}` ÷ `{peer}`",
            best[statement] / best[peer],
            None,
            {statement: best[statement], peer: best[peer]},
            f"{1e3 * best[statement]:.0f} ms and {1e3 * best[peer]:.0f} ms",
        )


def _import_seconds(statement: str) -> float:
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(run.stdout)
