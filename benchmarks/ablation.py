"""Does it help to average matched hyperplanes, when, and why? One command, JSON out.

``python -m benchmarks.ablation`` measures parts of `Polyceptron` on Datasets 1 and 2 of the
paper, with the labels as they are and with 10% of the training labels flipped: 10 draws, 1,000
rows to train, 5,000 to test. ``--tables`` measures nothing, and prints the tables of
``docs/averaging.md`` from a file that is there.

Of each draw there are 25 online runs for every margin. Single runs, and means of the first n of
them, matched or in the order in which they come, are held against the truth, which is known:

- ``accuracy``: percent of the test rows; ``shifted`` is that with one offset added to all
  hyperplanes, the one that makes the fewest mistakes on the training rows;
- ``excess``: percent of the test rows said to be inside, less the percent that are;
- ``angle``: degrees between [w_k, b_k] and the truth's, in standardised columns, each
  hyperplane matched to its own, the mean over the hyperplanes; ``worst_angle`` is the greatest;
- ``spread``: of single runs, degrees from the matched mean of all 25, as ``angle``;
- ``lost``, ``converged``: percent of the runs with a hyperplane more than 45 degrees from its
  own, and of those that made no more updates;
- ``least``, ``low``: the least signed distance of training rows, and its 5% quantile, with
  true labels, unit normals and standardised columns: positive on the right side;
- ``wrong``: percent of the training rows, with the labels trained on, on the wrong side.

``refined`` is what the noisy likelihood makes of one run or of a mean of 9 with a margin of
20: its maximum, or the mean of likely hyperplanes (``sampled``). Each is a mean over the draws
with its standard error; ``values`` are those of the draws.
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from benchmarks.report import PACKAGES
from polyceptron import datasets
from polyceptron.data.blocks import ArrayBlocks, kernel_rows
from polyceptron.learners.polyceptron.hyperplanes import (
    FIT,
    Setting,
    centre_of,
    matched_mean,
    min_scores,
    refined,
    with_offset,
)
from polyceptron.paper.folds import seed_of
from polyceptron.paper.processes import in_processes
from polyceptron.paper.results_log import package_versions
from polyceptron.utils.atomic import write_text

Floats = NDArray[np.float64]
PROBLEMS = (("dataset1", 0), ("dataset2", 0), ("dataset1", 10), ("dataset2", 10))
MARGINS = (0.0, 5.0, 20.0, 60.0)
RUNS = (1, 3, 9, 25)
PENALTIES = (1e-5, 1e-4, 1e-3)
REFINED_MARGIN, REFINED_RUNS = 20.0, (1, 9)
LOST = 45.0
"""Degrees from the truth beyond which a hyperplane is some other one."""
RESULTS = Path("docs/results/ablation.json")


class Size(NamedTuple):
    draws: int = 10
    train: int = 1000
    test: int = 5000


class Draw(NamedTuple):
    """The rows of one draw in standardised columns, and the truth [w_k, b_k] there."""

    rows: ArrayBlocks
    true_y: NDArray[np.int64]
    """Of the training rows, before any was flipped."""
    test: ArrayBlocks
    truth: Floats


def drawn(dataset: str, flipped: int, draw: int, seed: int, size: Size) -> Draw:
    """The same rows for clean and for flipped labels."""
    make = getattr(datasets, f"make_{dataset}")
    made = make(size.train + size.test, random_state=seed_of(seed, "ablation", dataset, draw))
    X, y, true = made.data, made.target, made.polyhedron
    mean, spread = X[: size.train].mean(axis=0), X[: size.train].std(axis=0)
    X = (X - mean) / spread
    truth = np.column_stack([true.W * spread, true.b + true.W @ mean])
    labels = y[: size.train].astype(np.int8)
    order = np.random.default_rng(seed_of(seed, "flips", dataset, draw)).permutation(size.train)
    labels[order[: size.train * flipped // 100]] *= -1
    rows, test = (
        ArrayBlocks(kernel_rows(part), signs, np.empty(0), X.shape[1])
        for part, signs in (
            (X[: size.train], labels),
            (X[size.train :], y[size.train :].astype(np.int8)),
        )
    )
    return Draw(rows, y[: size.train], test, truth)


def angles(theta: Floats, truth: Floats) -> Floats:
    """Degrees between each [w_k, b_k] of the second and the one matched to it."""
    cosines = _unit_faces(truth) @ _unit_faces(theta).T
    found = cosines[linear_sum_assignment(cosines, maximize=True)]
    return np.degrees(np.arccos(np.clip(found, -1.0, 1.0)))


def _unit_faces(theta: Floats) -> Floats:
    faces: Floats = theta / np.linalg.norm(theta, axis=1, keepdims=True)
    return faces


def judged(theta: Floats, draw: Draw) -> dict[str, float]:
    """What there is to say of some hyperplanes, as the module's docstring has it."""
    normals = theta / np.linalg.norm(theta[:, :-1], axis=1, keepdims=True)
    h = min_scores(draw.rows, normals)
    off = angles(theta, draw.truth)
    signed = h * draw.true_y
    shifted = with_offset(draw.rows, theta, inside=1)
    is_inside = draw.test.y > 0
    inside, inside_shifted = (min_scores(draw.test, faces) >= 0 for faces in (theta, shifted))
    return {
        "accuracy": 100 * float(np.mean(inside == is_inside)),
        "shifted": 100 * float(np.mean(inside_shifted == is_inside)),
        "excess": 100 * float(inside.mean() - is_inside.mean()),
        "angle": float(off.mean()),
        "worst_angle": float(off.max()),
        "least": float(signed.min()),
        "low": float(np.quantile(signed, 0.05)),
        "wrong": 100 * float(np.mean((h >= 0) != (draw.rows.y > 0))),
    }


def measure(dataset: str, flipped: int, draw: int, seed: int, size: Size) -> list[dict[str, Any]]:
    """All that is measured on one draw; each entry says what it is, and what was found."""
    here = drawn(dataset, flipped, draw, seed, size)
    with threadpool_limits(1):
        found = [*_averaged(here, seed), *_refinements(here, seed)]
    names = {"dataset": dataset, "flipped": flipped}
    return [{"what": names | what, "draw": draw, "found": values} for what, values in found]


Found = tuple[dict[str, Any], dict[str, float]]


def _seeds(seed: int) -> list[int]:
    return [seed_of(seed, "run", number) for number in range(max(RUNS))]


def _averaged(draw: Draw, seed: int) -> Iterator[Found]:
    K = len(draw.truth)
    for margin in MARGINS:
        setting = Setting(1, K, margin, None)
        centres = [centre_of(draw.rows, setting, [one], FIT) for one in _seeds(seed)]
        runs = [one.theta / np.linalg.norm(one.theta) for one in centres]
        yield {"kind": "single", "margin": margin}, _of_single(runs, centres, draw)
        for n in RUNS:
            matched = judged(matched_mean(runs[:n]), draw)
            yield {"kind": "mean", "margin": margin, "runs": n, "matched": True}, matched
            if n > 1:
                plain = judged(np.mean(runs[:n], axis=0), draw)
                yield {"kind": "mean", "margin": margin, "runs": n, "matched": False}, plain


def _of_single(runs: list[Floats], centres: list[Any], draw: Draw) -> dict[str, float]:
    """Means over all runs of a draw."""
    each = [judged(run, draw) for run in runs]
    found = {name: float(np.mean([one[name] for one in each])) for name in each[0]}
    middle = matched_mean(runs)
    found["spread"] = float(np.mean([angles(run, middle).mean() for run in runs]))
    found["lost"] = 100 * float(np.mean([one["worst_angle"] > LOST for one in each]))
    found["converged"] = 100 * float(np.mean([one.n_converged for one in centres]))
    return found


def _refinements(draw: Draw, seed: int) -> Iterator[Found]:
    seeds = _seeds(seed)
    for n in REFINED_RUNS:
        setting = Setting(1, len(draw.truth), REFINED_MARGIN, None)
        start = centre_of(draw.rows, setting, seeds[:n], FIT).theta
        for penalty in PENALTIES:
            for sampled in (False, True):
                own = setting._replace(penalty=penalty, sampled=sampled)
                theta = refined(draw.rows, start, own, seeds[0], FIT)
                what = {"kind": "refined", "runs": n, "penalty": penalty, "sampled": sampled}
                yield what, judged(theta, draw)


def summarise(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A cell for all that has one name: mean, standard error and values of every measure."""
    cells: dict[str, dict[str, Any]] = {}
    for one in sorted(found, key=lambda one: one["draw"]):  # which keeps the order of a draw
        cell = cells.setdefault(json.dumps(one["what"]), {"what": one["what"], "values": {}})
        for name, value in one["found"].items():
            cell["values"].setdefault(name, []).append(round(value, 4))
    order = {problem: place for place, problem in enumerate(PROBLEMS)}
    ordered = sorted(
        cells.values(), key=lambda cell: order[cell["what"]["dataset"], cell["what"]["flipped"]]
    )
    return [
        cell["what"] | {name: spread(values) for name, values in cell["values"].items()}
        for cell in ordered
    ]


def spread(values: list[float]) -> dict[str, Any]:
    """Mean and standard error; no error of one value."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else None
    return {
        "mean": round(float(np.mean(values)), 4),
        "error": None if error is None else round(float(error), 4),
        "values": values,
    }


def run(size: Size, seed: int, jobs: int) -> dict[str, Any]:
    """Measure all; the same for any number of processes."""
    arguments = [
        (dataset, flipped, draw, seed, size)
        for draw in range(size.draws)
        for dataset, flipped in PROBLEMS
    ]
    found = [one for part in in_processes(measure, arguments, jobs) for one in part]
    return {
        "kind": "polyceptron ablation",
        "seed": seed,
        "size": size._asdict(),
        "versions": package_versions(PACKAGES),
        "cells": summarise(found),
    }


def as_text(results: dict[str, Any]) -> str:
    """JSON with a cell a line."""
    head = json.dumps(results | {"cells": []}, indent=1).removesuffix("[]\n}")
    cells = ",\n".join("  " + json.dumps(cell) for cell in results["cells"])
    return f"{head}[\n{cells}\n ]\n}}\n"


# --- tables -----------------------------------------------------------------------------------

Cell = dict[str, Any]


def cell_of(results: dict[str, Any], **what: Any) -> Cell:
    """The one cell that is all this."""
    cells = [c for c in results["cells"] if all(c.get(k) == v for k, v in what.items())]
    (cell,) = cells
    return dict(cell)


def gain(cell: Cell, other: Cell, name: str = "accuracy") -> dict[str, Any]:
    """By how much a measure is greater, draw by draw."""
    pairs = zip(cell[name]["values"], other[name]["values"], strict=True)
    return spread([a - b for a, b in pairs])


def number(found: dict[str, Any], digits: int = 1, sign: str = "") -> str:
    """Mean ± standard error."""
    error = "" if found["error"] is None else f" ± {found['error']:.{digits}f}"
    return f"{found['mean']:{sign}.{digits}f}{error}".replace("-", "\N{MINUS SIGN}")


def _named(dataset: str, flipped: int) -> str:
    return f"{dataset[-1]}, {f'{flipped}% flipped' if flipped else 'clean'}"


def _table(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])


def _by_problem(
    results: dict[str, Any],
    lines: Callable[[Callable[..., Cell], str], list[list[str]]],
    problems: tuple[tuple[str, int], ...] = PROBLEMS,
) -> list[list[str]]:
    """Lines for every problem, each given a way to its cells and its name."""
    found = []
    for dataset, flipped in problems:

        def cell(dataset: str = dataset, flipped: int = flipped, **what: Any) -> Cell:
            return cell_of(results, dataset=dataset, flipped=flipped, **what)

        found += lines(cell, _named(dataset, flipped))
    return found


def accuracy_table(results: dict[str, Any]) -> str:
    def lines(cell: Callable[..., Cell], name: str) -> list[list[str]]:
        found = []
        for margin in MARGINS:
            single = cell(kind="single", margin=margin)
            means = [cell(kind="mean", margin=margin, runs=n, matched=True) for n in RUNS]
            plain = cell(kind="mean", margin=margin, runs=9, matched=False)
            entries = [number(one["accuracy"]) for one in (single, *means)]
            gained = number(gain(means[RUNS.index(9)], single), sign="+")
            found.append([name, f"{margin:g}", *entries, gained, number(plain["accuracy"])])
        return found

    head = ["Dataset", "margin", "single run, mean of 25", *(f"n_init {n}" for n in RUNS)]
    head += ["gain of 9", "9 not matched"]
    return _table(head, _by_problem(results, lines))


def angle_table(results: dict[str, Any]) -> str:
    def lines(cell: Callable[..., Cell], name: str) -> list[list[str]]:
        found = []
        for margin in MARGINS:
            single = cell(kind="single", margin=margin)
            means = [cell(kind="mean", margin=margin, runs=n, matched=True) for n in RUNS[1:]]
            plain = cell(kind="mean", margin=margin, runs=9, matched=False)
            entries = [number(one["angle"]) for one in (single, *means, plain)]
            more = [number(single["spread"]), number(single["lost"], 0)]
            found.append([name, f"{margin:g}", *entries, *more])
        return found

    head = ["Dataset", "margin", "single run", *(f"mean of {n}" for n in RUNS[1:])]
    head += ["9 not matched", "runs from their mean", "runs with a lost face, %"]
    return _table(head, _by_problem(results, lines))


def excess_table(results: dict[str, Any]) -> str:
    def lines(cell: Callable[..., Cell], name: str) -> list[list[str]]:
        found = []
        for margin in MARGINS:
            single = cell(kind="single", margin=margin)
            mean = cell(kind="mean", margin=margin, runs=9, matched=True)
            entries = [number(one["excess"], sign="+") for one in (single, mean)]
            entries += [number(one["shifted"]) for one in (single, mean)]
            gained = number(gain(mean, single, "shifted"), sign="+")
            found.append([name, f"{margin:g}", *entries, gained])
        return found

    head = ["Dataset", "margin", "excess, single", "excess, mean of 9", "shifted, single"]
    head += ["shifted, mean of 9", "gain of 9, both shifted"]
    return _table(head, _by_problem(results, lines))


def distance_table(results: dict[str, Any]) -> str:
    """Of clean labels only: among flipped ones no hyperplanes have all rows on the right side."""

    def lines(cell: Callable[..., Cell], name: str) -> list[list[str]]:
        found = []
        for margin in MARGINS:
            single = cell(kind="single", margin=margin)
            mean = cell(kind="mean", margin=margin, runs=9, matched=True)
            entries = [number(one[what], 3) for what in ("least", "low") for one in (single, mean)]
            wrong = [number(one["wrong"]) for one in (single, mean)]
            farther = [value > 0 for value in gain(mean, single, "least")["values"]]
            count = f"{sum(farther)} of {len(farther)}"
            ended = number(single["converged"], 0)
            found.append([name, f"{margin:g}", ended, *entries[:2], count, *entries[2:], *wrong])
        return found

    head = ["Dataset", "margin", "runs converged, %", "least, single", "least, mean of 9"]
    head += ["draws where the mean's is greater", "5%, single", "5%, mean of 9"]
    head += ["wrong, single, %", "wrong, mean of 9, %"]
    return _table(head, _by_problem(results, lines, PROBLEMS[:2]))


def refined_table(results: dict[str, Any]) -> str:
    def lines(cell: Callable[..., Cell], name: str) -> list[list[str]]:
        found = []
        for penalty in PENALTIES:
            (top_1, mean_1), (top_9, mean_9) = (
                [
                    cell(kind="refined", runs=n, penalty=penalty, sampled=sampled)
                    for sampled in (False, True)
                ]
                for n in REFINED_RUNS
            )
            entries = [number(one["accuracy"]) for one in (top_1, top_9, mean_1, mean_9)]
            gains = [number(gain(a, b), sign="+") for a, b in ((top_9, top_1), (mean_9, top_9))]
            wrong = [number(one["wrong"]) for one in (top_9, mean_9)]
            short = f"{penalty:.0e}".replace("e-0", "e-")
            found.append([name, short, *entries[:2], gains[0], *entries[2:], gains[1], *wrong])
        return found

    head = ["Dataset", "penalty", "maximum from 1", "maximum from 9", "gain of 9"]
    head += ["posterior mean from 1", "posterior mean from 9", "gain over the maximum"]
    head += ["wrong, maximum, %", "wrong, posterior mean, %"]
    return _table(head, _by_problem(results, lines))


TABLES = {
    "accuracy": accuracy_table,
    "angle": angle_table,
    "excess": excess_table,
    "distance": distance_table,
    "refined": refined_table,
}


def tables(results: dict[str, Any]) -> dict[str, str]:
    """All tables as Markdown, by name."""
    return {name: table(results) for name, table in TABLES.items()}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ablation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    for name, value in Size()._asdict().items():
        add(f"--{name}", type=int, default=value, help=f"{value} by default")
    add("--seed", type=int, default=1, help="of draws, flips and runs")
    add("--jobs", type=int, choices=(1, 2), default=2, help="processes; no figure depends on it")
    add("--out", type=Path, default=RESULTS, help="the file to write, or to read with --tables")
    add("--tables", action="store_true", help="measure nothing, print the tables of a file")
    options = parser.parse_args(argv)
    if options.tables:
        results = json.loads(options.out.read_text(encoding="utf-8"))
    else:
        size = Size(options.draws, options.train, options.test)
        results = run(size, options.seed, options.jobs)
        write_text(options.out, as_text(results))
    for name, table in tables(results).items():
        print(f"\n{name}\n\n{table}")


if __name__ == "__main__":
    # By its name, so that worker processes find the functions.
    importlib.import_module("benchmarks.ablation").main()
