"""Accuracy of polyhedral learners and their peers: same rows for all, one command, JSON out.

``python -m benchmarks.accuracy`` measures every method of `benchmarks.contenders` on five
groups of sets:

- synthetic: Datasets 1 and 2 of the paper, 10 fresh draws, 1,000 rows to train, 5,000 to test;
- noise: the same draws with 10% and 20% of the training labels flipped;
- cv: 10-fold cross-validation of Ionosphere and Breast-Cancer, 3 repetitions;
- development, report: the real sets of `benchmarks.realdata`, 5 stratified splits, at most
  4,000 rows to train. Choose defaults on the first, never on the second.

Rows, flips, folds and seeds follow from ``--seed``, the set and the number of the split, so they
are the same for every method and any ``--jobs``. What is tuned is tuned by 3-fold cross-validation
inside the training rows (a stratified sample of 1,500 where there are more), and fitted on
all of them. Every result is a line of ``results.jsonl`` when it is there; ``--resume`` goes on
with what is missing, also with more methods or groups. ``summary.json`` has means, spreads,
times, and the bars asked for.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from threadpoolctl import threadpool_limits

from benchmarks import contenders, realdata
from benchmarks.registry import Bar
from benchmarks.report import PACKAGES, environment
from polyceptron import datasets
from polyceptron.paper.folds import hyperplanes_of, seed_of
from polyceptron.paper.processes import in_processes
from polyceptron.paper.results_log import ResultsLog, ResultsLogError, package_versions
from polyceptron.utils.atomic import write_text

GROUPS = ("synthetic", "noise", "cv", *realdata.GROUPS)
FACES = {"dataset1": 3, "dataset2": 4, "ionosphere": 2, "breast-cancer": 2}
NOISE = (10, 20)
FOLDS, TUNING_FOLDS = 10, 3
JOURNAL, SUMMARY = "results.jsonl", "summary.json"


class Task(NamedTuple):
    """One fit to measure; of `cv`, the split counts folds through the repetitions."""

    group: str
    dataset: str
    method: str
    split: int


class Size(NamedTuple):
    """How much is measured."""

    draws: int = 10
    train: int = 1000
    test: int = 5000
    repetitions: int = 3
    splits: int = 5
    most: int = 4000
    """Most rows of a real set to train on."""
    tuning: int = 1500
    """Most training rows to tune on."""


FULL, QUICK = Size(), Size(2, 300, 1000, 1, 1, 500)


class Rows(NamedTuple):
    """The rows of one split; `train` and `test` are their places in the whole set."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    train: NDArray[np.intp]
    test: NDArray[np.intp]
    labels: NDArray[np.int64]
    """The labels to train with: those of `train`, some flipped where noise is asked for."""


def datasets_of(group: str) -> list[str]:
    if group == "synthetic":
        return ["dataset1", "dataset2"]
    if group == "noise":
        return [f"{name}+{share}%" for share in NOISE for name in ("dataset1", "dataset2")]
    if group == "cv":
        return ["ionosphere", "breast-cancer"]
    return realdata.names_of(group)


def splits_of(group: str, size: Size) -> int:
    if group == "cv":
        return FOLDS * size.repetitions
    return size.draws if group in ("synthetic", "noise") else size.splits


def plan(groups: Iterable[str], methods: Iterable[str], size: Size) -> list[Task]:
    """All fits, the methods on one split together; without those that cannot take part."""
    methods = list(methods)
    return [
        Task(group, dataset, method, split)
        for group in groups
        for split in range(splits_of(group, size))
        for dataset in datasets_of(group)
        for method in methods
        if contenders.make(method, contenders.Problem(2, FACES.get(_base(dataset)), 0)) is not None
    ]


def _base(dataset: str) -> str:
    return dataset.partition("+")[0]


@lru_cache(maxsize=4)
def rows_of(group: str, dataset: str, split: int, seed: int, size: Size) -> Rows:
    """The rows of a split; no method has a part in them."""
    if group in ("synthetic", "noise"):
        return _drawn(dataset, split, seed, size)
    if group == "cv":
        return _fold(dataset, split, seed)
    X, y = realdata.load(dataset)
    n = min(size.most, int(0.7 * len(y)))
    drawn = seed_of(seed, dataset, split, "split")
    train, test = train_test_split(np.arange(len(y)), train_size=n, stratify=y, random_state=drawn)
    return Rows(X, y, train, test, y[train])


def _drawn(dataset: str, split: int, seed: int, size: Size) -> Rows:
    name, _, share = dataset.partition("+")
    draw = getattr(datasets, f"make_{name}")
    n = size.train + size.test
    X, y = draw(n, random_state=seed_of(seed, name, split, "draw"), return_X_y=True)
    train, test = np.arange(size.train), np.arange(size.train, n)
    labels = y[train].copy()
    if share:  # the flips of 10% are among those of 20%
        order = np.random.default_rng(seed_of(seed, name, split, "flips")).permutation(size.train)
        flipped = order[: size.train * int(share[:-1]) // 100]
        labels[flipped] *= -1
    return Rows(X, y, train, test, labels)


def _fold(dataset: str, split: int, seed: int) -> Rows:
    X, y = getattr(datasets, f"load_{dataset.replace('-', '_')}")(return_X_y=True)
    repetition, fold = divmod(split, FOLDS)
    shuffled = seed_of(seed, dataset, repetition, "folds")
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=shuffled)
    train, test = list(folds.split(X, y))[fold]
    return Rows(X, y, train, test, y[train])


_warm: set[str] = set()


def measure(task: Task, seed: int, size: Size) -> dict[str, Any]:
    """Tune inside the training rows, fit on all of them, count on the test rows."""
    rows = rows_of(task.group, task.dataset, task.split, seed, size)
    X, y = rows.X[rows.train], rows.labels
    own = seed_of(seed, _base(task.dataset), task.split, "model")
    problem = contenders.Problem(X.shape[1], FACES.get(_base(task.dataset)), own)
    contender = contenders.make(task.method, problem)
    if contender is None:
        raise ValueError(f"{task.method} cannot take part in {task.dataset}")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if task.method not in _warm:  # no compilation in the times
            clone(contender.model).fit(X, y)
            _warm.add(task.method)
        started = time.perf_counter()
        chosen = _tune(contender, X, y, own, size.tuning)
        model = contender.model.set_params(**chosen)
        tuned = time.perf_counter()
        model.fit(X, y)
        fitted = time.perf_counter()
        right = int((model.predict(rows.X[rows.test]) == rows.y[rows.test]).sum())
    return {
        **task._asdict(),
        "right": right,
        "rows": len(rows.test),
        "train_rows": len(rows.train),
        "n_features": X.shape[1],
        "seconds": fitted - tuned,
        "tuning_seconds": tuned - started,
        "hyperplanes": hyperplanes_of(model),
        "chosen": {name.rpartition("__")[2]: value for name, value in chosen.items()},
    }


def _tune(contender: contenders.Contender, X: Any, y: Any, seed: int, most: int) -> dict[str, Any]:
    if not contender.grid:
        return {}
    if len(y) > most:
        X, _, y, _ = train_test_split(X, y, train_size=most, stratify=y, random_state=seed)
    inner = StratifiedKFold(TUNING_FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(contender.model, contender.grid, cv=inner, refit=False)
    found: dict[str, Any] = search.fit(X, y).best_params_
    return found


def task_of(record: dict[str, Any]) -> Task:
    return Task(*(record[name] for name in Task._fields))


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure what is missing, and return the summary of all that the journal has."""
    size = QUICK if options.quick else FULL
    header = {
        "kind": "polyceptron accuracy",
        "seed": options.seed,
        "size": size._asdict(),
        "versions": package_versions(dict.fromkeys([*PACKAGES, *realdata.PACKAGES])),
    }
    path = Path(options.out) / JOURNAL
    how = {"resume": options.resume, "overwrite": options.overwrite}
    with ResultsLog(path, header, dict, **how) as log:
        done = {task_of(r) for r in log.results if r["method"] not in options.redo}
        missing = [t for t in plan(options.groups, options.methods, size) if t not in done]
        arguments = ((task, options.seed, size) for task in missing)
        for n, record in enumerate(in_processes(measure, arguments, options.jobs), 1):
            log.append(record)
            if sys.stderr.isatty():
                print(f"\r{n} of {len(missing)} fits", end="", file=sys.stderr, flush=True)
            elif n % max(1, len(missing) // 20) == 0:
                print(f"{n} of {len(missing)} fits", file=sys.stderr, flush=True)
        summary = summarise(log.results, header)
    write_text(Path(options.out) / SUMMARY, json.dumps(summary, indent=1) + "\n")
    return summary


def summarise(records: list[dict[str, Any]], header: dict[str, Any]) -> dict[str, Any]:
    """Means in percent, spreads, seconds and bars; of a fit measured again, the last counts."""
    latest = {task_of(record): record for record in records}
    cells: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for task in sorted(latest):
        cells[task[:3]].append(latest[task])
    results = [_cell(*key, found) for key, found in cells.items()]
    return {
        **header,
        "environment": environment(),
        "sets": _sets({cell["dataset"] for cell in results}),
        "results": results,
        "bars": bars(results),
    }


def _cell(group: str, dataset: str, method: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    """One method on one set; of cross-validation, the spread is that of repetitions."""
    parts: dict[int, list[float]] = defaultdict(list)
    for record in found:
        part = record["split"] // FOLDS if group == "cv" else record["split"]
        parts[part].append(100 * record["right"] / record["rows"])
    means = [float(np.mean(values)) for values in parts.values()]
    fits = [record["seconds"] for record in found]
    faces = [record["hyperplanes"] for record in found if record["hyperplanes"] is not None]
    return {
        "group": group,
        "dataset": dataset,
        "method": method,
        "accuracy": float(np.mean(means)),
        "spread": float(np.std(means, ddof=1)) if len(means) > 1 else None,
        "fits": len(found),
        "fit_seconds": float(np.mean(fits)),
        "most_fit_seconds": max(fits),
        "tuning_seconds": float(np.mean([record["tuning_seconds"] for record in found])),
        "hyperplanes": float(np.mean(faces)) if faces else None,
    }


def _sets(names: set[str]) -> dict[str, Any]:
    found = {}
    for name in sorted(names & set(realdata.SETS)):
        X, y = realdata.load(name)
        shape = {"rows": len(y), "features": X.shape[1], "positives": float(np.mean(y == 1))}
        found[name] = {**shape, **realdata.SETS[name].provenance()}
    return found


Table = dict[tuple[str, str], dict[str, Any]]
WANTED = {"dataset1": 98.4, "dataset2": 95.8, "dataset1+10%": 94.5, "dataset2+10%": 90.5}


def bars(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the flagship must show; None where it, or a peer that it is held to, is missing."""
    table = {(cell["dataset"], cell["method"]): cell for cell in results}
    lines = []
    for dataset, wanted in WANTED.items():
        lines.append(_reach(table, dataset, "polyceptron-K", Bar(">=", wanted)))
        lines.append(_reach(table, dataset, "polyceptron", Bar(">=", round(wanted - 0.4, 1))))
    lines.append(_reach(table, "ionosphere", "polyceptron", Bar(">=", 92.0)))
    lines.append(_reach(table, "breast-cancer", "polyceptron", Bar(">=", 96.8)))
    for method, most in {"polyceptron-K": 0.5, "polyceptron": 5.0}.items():
        bar = Bar("<=", most)
        lines += [
            _reach(table, name, method, bar, "fit_seconds") for name in ("dataset1", "dataset2")
        ]
    return lines + _against_peers(table)


def _reach(
    table: Table, dataset: str, method: str, bar: Bar, what: str = "accuracy"
) -> dict[str, Any]:
    found = table.get((dataset, method))
    line = _line(f"{method} on {dataset}: {what}", found and found[what], bar)
    if found and what == "fit_seconds":
        for peer in ("logistic", "rbf-svm"):
            if (dataset, peer) in table:
                line[f"over_{peer}"] = found[what] / table[dataset, peer][what]
    return line


def _line(name: str, value: float | None, bar: Bar) -> dict[str, Any]:
    passed = None if value is None else bar.holds(value)
    return {"name": name, "value": value, "bar": str(bar), "passed": passed}


def _against_peers(table: Table) -> list[dict[str, Any]]:
    """On the report sets: never far below logistic regression, and nearer to the RBF-SVM."""
    ours, linear, rbf = "polyceptron", "logistic", "rbf-svm"
    names = [n for n in realdata.names_of("report")
             if all((n, m) in table for m in (ours, linear, rbf))]  # fmt: skip

    def accuracies(method: str) -> NDArray[np.float64]:
        return np.array([table[name, method]["accuracy"] for name in names])

    worst = distance = None
    details: dict[str, Any] = {"sets": names}
    if names:
        gains = accuracies(ours) - accuracies(linear)
        worst = float(gains.min())
        apart = {m: float(np.abs(accuracies(rbf) - accuracies(m)).mean()) for m in (ours, linear)}
        distance = apart[ours] - apart[linear]
        details["mean_distance_from_rbf"] = apart
        details["worst_set"] = names[int(gains.argmin())]
    first = _line("least of polyceptron - logistic over the report sets", worst, Bar(">=", -1.0))
    second = _line("mean distance from rbf-svm, polyceptron - logistic", distance,
                   Bar("<=", 0.0))  # fmt: skip
    return [{**first, **details}, {**second, **details}, _against_cpm(table)]


def _against_cpm(table: Table) -> dict[str, Any]:
    """Over all sets that both were measured on, with everything automatic or tuned."""
    names = sorted(
        {d for d, m in table if m == "cpm"} & {d for d, m in table if m == "polyceptron"}
    )
    gains = [table[n, "polyceptron"]["accuracy"] - table[n, "cpm"]["accuracy"] for n in names]
    mean = float(np.mean(gains)) if gains else None
    line = _line("mean of polyceptron - cpm over all sets", mean, Bar(">=", 0.0))
    return {**line, "gains": dict(zip(names, gains, strict=True))}


def text(summary: dict[str, Any]) -> str:
    """The summary as a table: accuracies, then seconds a fit, then the bars."""
    results = summary["results"]
    methods = list(dict.fromkeys(cell["method"] for cell in results))
    order = {key: n for n, key in enumerate(contenders.CONTENDERS)}
    methods.sort(key=lambda m: (order.get(m.partition("[")[0], len(order)), m))
    table = {(cell["dataset"], cell["method"]): cell for cell in results}
    wide = max(10, *(len(method) for method in methods))
    lines = []
    for what in ("accuracy", "fit_seconds"):
        lines.append(f"\n{what.replace('_', ' '):<14}" + "".join(f" {m:>{wide}}" for m in methods))
        for group in GROUPS:
            for name in datasets_of(group):
                if any((name, m) in table for m in methods):
                    row = [table.get((name, m)) for m in methods]
                    lines.append(
                        f"{name:<14}" + "".join(f" {_entry(c, what):>{wide}}" for c in row)
                    )
    for bar in summary["bars"]:
        mark = {True: "pass", False: "FAIL", None: "-"}[bar["passed"]]
        value = "-" if bar["value"] is None else f"{bar['value']:.2f}"
        lines.append(f"{mark:<5} {value:>7} {bar['bar']:<8} {bar['name']}")
    return "\n".join(lines)


def _entry(cell: dict[str, Any] | None, what: str) -> str:
    if cell is None:
        return "-"
    if what != "accuracy":
        return f"{cell[what]:.3f}"
    spread = "" if cell["spread"] is None else f" ±{cell['spread']:.1f}"
    return f"{cell[what]:.1f}{spread}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    keys = ", ".join(contenders.CONTENDERS)
    add("--methods", nargs="+", metavar="KEY", default=None,
        help=f"of {keys}; a key may set parameters, as in polyceptron[n_init=3]; all by "
        "default")  # fmt: skip
    add("--groups", nargs="+", choices=GROUPS, default=list(GROUPS), metavar="GROUP",
        help=f"of {', '.join(GROUPS)}; all by default")  # fmt: skip
    add("--quick", action="store_true", help="few draws and rows; only a rough idea")
    add("--jobs", type=int, default=1, help="processes; the accuracies do not depend on it")
    add("--seed", type=int, default=0, help="of draws, splits and models")
    add("--out", type=Path, default=Path("polyceptron-report/accuracy"), help="folder to write to")
    add("--resume", action="store_true", help="go on with the results that are there")
    add("--overwrite", action="store_true", help="throw away the results that are there")
    add("--redo", nargs="+", metavar="KEY", default=[],
        help="with --resume: measure these methods again")  # fmt: skip
    return parser


def main(argv: list[str] | None = None) -> None:
    parser = _parser()
    options = parser.parse_args(argv)
    if options.methods is None:
        options.methods = contenders.available()
    try:
        for key in options.methods:
            if contenders.make(key, contenders.Problem(2, 2, 0)) is None:
                raise ValueError(f"{key}: this learner is not there yet")
        summary = run(options)
    except (ResultsLogError, ValueError) as error:
        parser.error(str(error))
    print(text(summary))
    print(f"\nWritten to {Path(options.out) / SUMMARY}")


if __name__ == "__main__":
    # By its name, so that worker processes find the functions, and keep what they compiled.
    importlib.import_module("benchmarks.accuracy").main()
