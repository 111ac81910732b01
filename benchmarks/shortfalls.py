"""Where `Polyceptron()` falls short of the best of what it is made of, on made-up sets.

Sets of many kinds, small and middling: clean, with a share of the labels flipped, imbalanced, of
one hyperplane, and in several pieces. The online and the batch learner are given the number of
faces that the rows were drawn with, which `Polyceptron()` has to find. Accuracy is that on 2,000
fresh rows with true labels; the rival is the one that is best in the mean over all draws of a kind.

    python -m benchmarks.shortfalls --draws 20
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.report import environment
from polyceptron import SPLA2, BatchPolyceptron, OnlinePolyceptron, Polyceptron
from polyceptron.datasets import make_polyhedron
from polyceptron.utils.atomic import write_text

FRESH = 2000
RIVALS: dict[str, Callable[[int, int], Any]] = {
    "OnlinePolyceptron": lambda K, seed: OnlinePolyceptron(K, random_state=seed),
    "BatchPolyceptron": lambda K, seed: BatchPolyceptron(K, random_state=seed),
    "SPLA2": lambda _, seed: SPLA2(random_state=seed),
    "logistic regression": lambda *_: make_pipeline(StandardScaler(), LogisticRegression()),
}
Draw = Callable[[int, Any], tuple[Any, Any]]


def _polyhedron(d: int, K: int, balance: float = 0.5) -> Draw:
    return lambda n, random: make_polyhedron(n, d, K, balance=balance, random_state=random)[:2]


def _half_space(n: int, random: Any) -> tuple[Any, Any]:
    X = random.uniform(-1, 1, (n, 5))
    return X, np.where(X @ random.standard_normal(5) > 0, 1, -1)


def _normals(n: int, random: Any) -> tuple[Any, Any]:
    """Two normal distributions that overlap."""
    y = np.where(random.random(n) < 0.5, 1, -1)
    X = random.standard_normal((n, 5))
    X[:, 0] += y
    return X, y


def _balls(n: int, random: Any) -> tuple[Any, Any]:
    middles, X = random.uniform(-1, 1, (3, 2)), random.uniform(-1.5, 1.5, (n, 2))
    distances = np.linalg.norm(X[:, None] - middles, axis=2)
    return X, np.where((distances < 0.45).any(axis=1), 1, -1)


def _chessboard(n: int, random: Any) -> tuple[Any, Any]:
    X = random.uniform(-1, 1, (n, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1, -1)


KINDS: dict[str, tuple[Draw, int]] = {
    "3 faces, 2 columns": (_polyhedron(2, 3), 3),
    "3 faces, 4 columns": (_polyhedron(4, 3), 3),
    "5 faces, 5 columns": (_polyhedron(5, 5), 5),
    "2 faces, 8 columns": (_polyhedron(8, 2), 2),
    "3 faces, a tenth inside": (_polyhedron(4, 3, 0.1), 3),
    "a half-space": (_half_space, 1),
    "two normals": (_normals, 1),
    "three balls": (_balls, 6),
    "a chessboard of 4": (_chessboard, 2),
}
"""How rows are drawn, and the number of faces that is given where one has to be."""


def accuracies(kind: str, n: int, flipped: float, number: int) -> list[float]:
    """Those of `Polyceptron()`, then of the rivals, on one draw in percent."""
    draw, K = KINDS[kind]
    random = np.random.default_rng([list(KINDS).index(kind), n, number])
    X, y = draw(n + FRESH, random)
    labels = y[:n].copy()
    labels[random.permutation(n)[: round(flipped * n)]] *= -1
    models = [Polyceptron(random_state=number)]
    models += [rival(K, number) for rival in RIVALS.values()]
    return [100 * float(model.fit(X[:n], labels).score(X[n:], y[n:])) for model in models]


def shortfall(kind: str, n: int, flipped: float, n_draws: int) -> dict[str, Any]:
    """Means over the draws of a kind, and what the best rival is ahead."""
    found = np.array([accuracies(kind, n, flipped, number) for number in range(n_draws)])
    means = found.mean(axis=0)
    best = 1 + int(means[1:].argmax())
    ahead = found[:, best] - found[:, 0]
    names = ["Polyceptron", *RIVALS]
    return {
        "kind": kind,
        "rows": n,
        "flipped": flipped,
        "shortfall": round(float(ahead.mean()), 2),
        "error": round(float(ahead.std(ddof=1)) / n_draws**0.5, 2),
        "rival": names[best],
        "accuracy": {name: round(float(m), 2) for name, m in zip(names, means, strict=True)},
    }


def as_line(one: dict[str, Any]) -> str:
    """A shortfall in words."""
    accuracy, rival = one["accuracy"], one["rival"]
    return (
        f"{one['shortfall']:+6.2f} ± {one['error']:.2f}  {one['kind']}, {one['rows']} rows, "
        f"{one['flipped']:.0%} flipped: {rival} {accuracy[rival]:.1f}, "
        f"Polyceptron {accuracy['Polyceptron']:.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--rows", type=int, nargs="+", default=[60, 300, 1000])
    parser.add_argument("--flipped", type=float, nargs="+", default=[0.0, 0.1])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of learners that did not converge
    cells = [
        (kind, n, share) for n in given.rows for kind in given.kinds for share in given.flipped
    ]
    found = [shortfall(*cell, given.draws) for cell in cells]
    for one in sorted(found, key=lambda one: -one["shortfall"]):
        print(as_line(one))
    if given.out:
        summary = {"environment": environment(), "draws": given.draws, "cells": found}
        write_text(given.out, json.dumps(summary, indent=1) + "\n")


if __name__ == "__main__":
    main()
