"""Whole fits of Polyceptron: small data, and how the time grows with the rows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from subprocess import PIPE
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks import realdata
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
            "K given": lambda X=X, y=y, K=K: Polyceptron(K, random_state=0, n_jobs=2).fit(X, y),
            "auto": lambda X=X, y=y: Polyceptron(random_state=0, n_jobs=2).fit(X, y),
            "LogisticRegression": lambda X=X, y=y: LogisticRegression().fit(X, y),
            "RBF-SVM": lambda X=X, y=y: SVC().fit(X, y),
        }
        t = in_turns(sides, sizes.rounds(3))
        for side, bar in {"K given": Bar("<=", 0.5), "auto": Bar("<=", 0.5)}.items():
            ratios = [f"{t[side] / t[peer]:.0f} x {peer}" for peer in list(sides)[2:]]
            yield Measurement(
                f"seconds of a whole fit on {name}: Polyceptron, {side}",
                t[side],
                bar,
                {peer: t[peer] for peer in (side, *list(sides)[2:])},
                ", ".join(ratios),
            )


_FIRST_FIT = """
import resource
from polyceptron import Polyceptron
from polyceptron.datasets import make_dataset1
X, y = make_dataset1(random_state=0, return_X_y=True)
Polyceptron(random_state=0, n_jobs=1).fit(X, y)
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime)
"""


@benchmark
def first_fit(sizes: Sizes) -> Iterator[Measurement]:
    """What compiling costs: a process that fits with no compiled kernels, and one that has them."""
    name, bar = "CPU seconds of the first fit: Polyceptron, no kernels compiled - all", Bar("<=", 4)
    if find_spec("resource") is None:
        yield Measurement(name, None, bar, note="this system does not say what a process used")
        return
    took: dict[str, list[float]] = {"first": [], "again": []}
    for _ in range(sizes.rounds(5)):
        with TemporaryDirectory() as folder:
            env = os.environ | {"NUMBA_CACHE_DIR": folder, "POLYCEPTRON_QUIET": "1"}
            for times in took.values():
                run = [sys.executable, "-c", _FIRST_FIT]
                times.append(float(subprocess.run(run, env=env, stdout=PIPE, check=True).stdout))
    cold, warm = (float(np.median(times)) for times in took.values())
    note = f"medians: {cold:.1f} s and {warm:.1f} s"
    yield Measurement(name, cold - warm, bar, {"first": cold, "again": warm}, note)


@benchmark
def real_sets(sizes: Sizes) -> Iterator[Measurement]:
    """`fit` on up to 4,000 rows of real sets of thousands, beside a tuned RBF-SVM and trees."""
    most = sizes.rows(4000)
    names = [name for name in realdata.names_of("development") if _n_rows(name) >= 2000]
    scaled = make_pipeline(StandardScaler(), SVC())
    grid = {"svc__C": [0.1, 1, 10, 100], "svc__gamma": ["scale", 0.01, 0.1, 1.0]}
    models = {
        "auto": Polyceptron(random_state=0, n_jobs=2),
        "n_polyhedra=1": Polyceptron(n_polyhedra=1, random_state=0, n_jobs=2),
        "GridSearchCV of RBF-SVM": GridSearchCV(scaled, grid, cv=3, n_jobs=2),
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
    }
    took = dict.fromkeys(models, 0.0)
    for name in names:
        X, y = realdata.load(name)
        rows = np.random.default_rng(0).permutation(len(y))[:most]
        models["auto"].fit(X[rows[:300]], y[rows[:300]])  # compiles
        with threadpool_limits(2, user_api="openmp"):  # two cores for the trees as well
            for side, model in models.items():
                took[side] += seconds(lambda m=model, r=rows, X=X, y=y: m.fit(X[r], y[r]))
    took = {side: total / len(names) for side, total in took.items()}
    for side, bar in {"auto": Bar("<=", 3.0), "n_polyhedra=1": Bar("<=", 1.5)}.items():
        peers = list(models)[2:]
        yield Measurement(
            f"seconds of a fit, mean of {len(names)} real sets, two cores: Polyceptron, {side}",
            took[side],
            bar,
            {one: took[one] for one in (side, *peers)},
            ", ".join(f"{took[side] / took[peer]:.2g} x {peer}" for peer in peers),
        )


@benchmark
def few_terms(sizes: Sizes) -> Iterator[Measurement]:
    """`fit` with at most three terms a face on 4,000 rows of 20 columns, beside one without."""
    X, y = _many(sizes.rows(4000))
    sides = {
        "max_terms=3": lambda: Polyceptron(max_terms=3, random_state=0, n_jobs=2).fit(X, y),
        "dense": lambda: Polyceptron(random_state=0, n_jobs=2).fit(X, y),
    }
    t = in_turns(sides, sizes.rounds(3))
    yield Measurement(
        f"fit of {len(y):,} rows x 20: Polyceptron, max_terms=3 ÷ dense",
        t["max_terms=3"] / t["dense"],
        Bar("<=", 2.0),
        t,
        f"{t['max_terms=3']:.2f} s and {t['dense']:.2f} s, two cores",
    )


def _n_rows(name: str) -> int:
    return len(realdata.load(name)[1])


@benchmark
def growth(sizes: Sizes) -> Iterator[Measurement]:
    """`fit` with everything automatic on 20 columns and ever more rows, 5% of labels wrong."""
    X, y = _many(sizes.rows(MOST))
    model = Polyceptron(random_state=0, n_jobs=2)
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
        Bar("<=", 15.0),
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
