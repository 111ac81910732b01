"""``python -m benchmarks.classes``: counterfactuals of three classes, on rows of real sets.

Wine and iris (in millimetres, as whole numbers), a learner with default settings, rows whose values
are drawn column by column from those that were seen. Counted is how many have a change that flips
the answer, stays in range and keeps whole numbers whole. Then small made-up sets with a category,
at most one or two columns changing: against the nearest of all rows there are.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, load_wine

from polyceptron import Polyceptron, Polyhedron
from polyceptron.calibration import Calibration, Side
from polyceptron.explain import Domain, counterfactual
from polyceptron.rule import Piece, Rule


def real_sets() -> Any:
    wine, iris = load_wine(), load_iris()
    yield "wine", wine.data, wine.target
    yield "iris", (iris.data * 10).round(), iris.target


def measure_set(X: Any, y: Any, n: int, most: int | None) -> tuple[Counter[str], list[float]]:
    model = Polyceptron(random_state=0).fit(X, y)
    domain, rng = Domain.of(X), np.random.default_rng(1)
    rows = np.column_stack([rng.choice(column, n) for column in X.T])
    whole, counts, seconds = np.array(domain.whole), Counter[str](rows=n), []
    for x in rows:
        start = time.process_time()
        found = counterfactual(model, x, weights=1 / X.var(axis=0), domain=domain, max_changes=most)
        seconds.append(time.process_time() - start)
        counts["exact"] += found.exact
        if found.x is None:
            counts["impossible"] += found.exact
            continue
        new = found.x
        counts["found"] += 1
        counts["flip"] += bool(model.predict([new])[0] != model.predict([x])[0])
        counts["in range"] += bool(((domain.lower <= new) & (new <= domain.upper)).all())
        counts["whole"] += bool((new[whole] == np.rint(new[whole])).all())
    return counts, seconds


def small_rule(rng: np.random.Generator) -> Rule:
    """Three classes of two numbers and a category of three; the first is a union."""
    places = (0, 0, 1, 2)
    links = [
        Calibration(*(Side(rng.uniform(0.5, 5), 10 ** rng.uniform(-5, -1)) for _ in range(2)))
        for _ in range(3)
    ]
    pieces = []
    for place in places:
        W = rng.normal(size=(int(rng.integers(1, 4)), 5)) * [1, 1, 3, 3, 3]
        b = rng.uniform(0, 2, len(W)) - W[:, :2] @ rng.uniform(0, 5, 2)
        pieces.append(Piece(Polyhedron(W, b), place))
    return Rule([0, 1, 2], pieces, links=links)


def measure_small(n: int, most: int) -> Counter[str]:
    """How many are as near as the nearest of all rows."""
    rng, counts = np.random.default_rng(most), Counter[str]()
    numbers = np.array(list(itertools.product(range(6), repeat=2)), float)
    rows = np.array([[*pair, *kind] for pair in numbers for kind in np.eye(3)])
    domain = Domain.of(rows, categories=[(2, 3, 4)])
    for _ in range(n):
        rule, x = small_rule(rng), rows[rng.integers(len(rows))]
        weights = rng.exponential(size=5) + 0.2
        found = counterfactual(rule, x, weights=weights, domain=domain, max_changes=most)
        parts = [rows[:, :1], rows[:, 1:2], rows[:, 2:]], [x[:1], x[1:2], x[2:]]
        changed = sum((a != b).any(axis=1).astype(int) for a, b in zip(*parts, strict=True))
        there = (rule.predict(rows) != rule.predict([x])[0]) & (changed <= most)
        best = np.sqrt((rows - x) ** 2 @ weights)[there].min(initial=np.inf)
        counts["rows"] += 1
        counts["possible"] += bool(np.isfinite(best))
        counts["as near"] += bool(found.distance == best or np.isclose(found.distance, best, 1e-6))
        counts["exact"] += found.exact
    return counts


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.classes")
    parser.add_argument("--rows", type=int, default=300, help="of each set and number of columns")
    options = parser.parse_args(argv)
    for most in (None, 2, 1):
        for name, X, y in real_sets():
            counts, seconds = measure_set(X, y, options.rows, most)
            print(f"{name}, at most {most or 'all'} columns: {dict(counts)}", flush=True)
            middle, last = 1e3 * np.median(seconds), 1e3 * max(seconds)
            print(f"  CPU ms a row: median {middle:.0f}, most {last:.0f}", flush=True)
    for most in (1, 2):
        print(f"small, at most {most}: {dict(measure_small(options.rows, most))}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
