"""Whole fits of Polyceptron: small data, and how the time grows with the rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from benchmarks.registry import Bar, Measurement, Sizes, benchmark
from benchmarks.timing import in_turns, seconds
from polyceptron import Polyceptron
from polyceptron.datasets import make_dataset1, make_dataset2

FEWEST, MOST = 10_000, 1_000_000


@benchmark
def flagship(sizes: Sizes) -> Iterator[Measurement]:
    """`fit` on Datasets 1 and 2 of the paper, 1,000 rows, beside two peers on the same rows."""
    for name, draw, K in (("Dataset 1", make_dataset1, 3), ("Dataset 2", make_dataset2, 4)):
        X, y = draw(random_state=0, return_X_y=True)
        sides = {
            "K given": lambda X=X, y=y, K=K: Polyceptron(K, random_state=0).fit(X, y),
            "auto": lambda X=X, y=y: Polyceptron(random_state=0).fit(X, y),
            "LogisticRegression": lambda X=X, y=y: LogisticRegression().fit(X, y),
            "RBF-SVM": lambda X=X, y=y: SVC().fit(X, y),
        }
        t = in_turns(sides, sizes.rounds(3))
        for side, bar in {"K given": Bar("<=", 0.5), "auto": Bar("<=", 5.0)}.items():
            ratios = [f"{t[side] / t[peer]:.0f} x {peer}" for peer in list(sides)[2:]]
            yield Measurement(
                f"seconds of a whole fit on {name}: Polyceptron, {side}",
                t[side],
                bar,
                {peer: t[peer] for peer in (side, *list(sides)[2:])},
                ", ".join(ratios),
            )


@benchmark
def growth(sizes: Sizes) -> Iterator[Measurement]:
    """`fit` with everything automatic on 20 columns and ever more rows, 5% of labels wrong."""
    X, y = _many(sizes.rows(MOST))
    model = Polyceptron(random_state=0)
    model.fit(X[:2000], y[:2000])  # compiles
    took = {}
    n = sizes.rows(FEWEST)
    while n <= len(y):
        took[n] = seconds(lambda n=n: model.fit(X[:n], y[:n]))
        n *= 10
    peer = seconds(lambda: LogisticRegression().fit(X, y))
    note = ", ".join(f"{n:,} rows {t:.1f} s" for n, t in took.items())
    yield Measurement(
        f"seconds of a whole fit, auto, {len(y):,} rows x 20, two cores: Polyceptron",
        took[len(y)],
        Bar("<=", 120.0),
        {**{f"{n} rows": t for n, t in took.items()}, "LogisticRegression": peer},
        f"{note}; {took[len(y)] / peer:.0f} x LogisticRegression",
    )
    yield Measurement(
        "Polyceptron, ten times the rows: time ÷ (ten times the time)",
        took[len(y)] / (10 * took[len(y) // 10]),
        Bar("<=", 1.0),
        {f"{n} rows": t for n, t in took.items()},
        "1 is linear growth; below, the part that does not grow (the selection) still shows",
    )


def _many(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Four faces in 20 dimensions, half of the rows inside, 5% of the labels wrong."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, 20))
    W = random.standard_normal((4, 20))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    y = np.where((X @ W.T + 1.0).min(axis=1) >= 0, 1, -1)
    y[random.random(n) < 0.05] *= -1
    return X, y
