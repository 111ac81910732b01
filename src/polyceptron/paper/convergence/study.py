"""The study as a whole: which runs, on how many cores, and where their results go."""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from polyceptron.paper.convergence.exact import list_searches, run_search
from polyceptron.paper.convergence.runs import ROW_ORDERS, Cell, RunResult, measure_run
from polyceptron.paper.processes import in_processes, report_progress
from polyceptron.paper.results_log import Result, ResultsLog, package_versions, read_results

RUNS_FILE = "convergence.jsonl"
SEARCHES_FILE = "cycles.jsonl"

_CENTRE = Cell(d=5, K=4, margin=0.05, N=300, digits=16)
# One factor at a time around the centre. Few digits are for cycles: fewer weights are possible.
_LINES: dict[str, tuple[Any, ...]] = {
    "d": (2, 5, 10, 20),
    "K": (2, 3, 4, 6),
    "margin": (0.025, 0.05, 0.1, 0.2, 0.4),
    "N": (30, 100, 300, 1000),
    "digits": (4, 6, 8, 16),
}
_SMALL = tuple(Cell(d=2, K=3, margin=0.05, N=30, digits=digits) for digits in (3, 4, 6))
_QUICK_LINES: dict[str, tuple[Any, ...]] = {"K": (2, 4), "digits": (4, 16)}
# By `quick`: runs of each cell and order, and passes of a run at most.
_RUNS = {True: 40, False: 300}
_LIMIT = {True: 5_000, False: 20_000}


@dataclass(frozen=True)
class Study:
    """Results of a study, complete or not: random runs, and exact searches of small instances.

    ``header`` has seed, cells, runs of each cell and order, pass limit and versions; ``search``
    says in each record of ``searches`` which it is.
    """

    header: dict[str, Any]
    runs: list[RunResult]
    searches: list[dict[str, Any]]

    @classmethod
    def load(cls, out: str | os.PathLike[str]) -> Self:
        """Read what `run_study` wrote into this folder; what is not there is empty."""

        def read(name: str, kind: type[Result]) -> tuple[dict[str, Any], list[Result]]:
            path = Path(out) / name
            return read_results(path, kind) if path.exists() else ({}, [])

        header, runs = read(RUNS_FILE, RunResult)
        other, searches = read(SEARCHES_FILE, dict[str, Any])
        return cls(header or other, runs, searches)


def list_cells(*, quick: bool) -> list[Cell]:
    """The cells of a study."""
    lines = _QUICK_LINES if quick else _LINES
    found = {_CENTRE._replace(**{name: v}) for name, values in lines.items() for v in values}
    return sorted(found | set(_SMALL[-1:] if quick else _SMALL))


def run_study(
    out: str | os.PathLike[str],
    *,
    quick: bool = False,
    jobs: int = 1,
    seed: int = 0,
    resume: bool = False,
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Study:
    """Measure how often and how fast online Polyceptron converges, and look for cycles.

    Every random set is learned from the same start in the given order and in a new order for
    each pass. Results are written to the folder `out` as they come, to ``convergence.jsonl``
    (random runs) and ``cycles.jsonl`` (exact searches), and depend on `seed` and `quick` (a
    sample in seconds) only; with more `jobs` (processes) their order in the files may differ.

    Results that are there are gone on with (`resume`), or replaced (`overwrite`); without either
    they are a ResultsLogError, as are those of another study or of a run that is still writing.
    ``progress(done, total)`` is called at the start and after every result.
    """
    grid, hunts = list_cells(quick=quick), list_searches(quick=quick)
    versions = package_versions(("polyceptron", "numpy", "numba"))
    common = {"seed": seed, "quick": quick, "versions": versions}
    counts: dict[str, Any] = {"limit": _LIMIT[quick], "runs": _RUNS[quick]}
    header = {"study": "convergence", **common, **counts, "cells": [c._asdict() for c in grid]}
    keys = list(itertools.product(grid, range(_RUNS[quick]), ROW_ORDERS))
    how, folder = {"resume": resume, "overwrite": overwrite}, Path(out)
    other = {"study": "cycles", **common}
    with (
        ResultsLog(folder / SEARCHES_FILE, other, dict[str, Any], **how) as searched,
        ResultsLog(folder / RUNS_FILE, header, RunResult, **how) as ran,
    ):
        known = {result.key for result in ran.results}
        calls: list[tuple[Any, ...]] = [
            (run_search, (name, arguments), seed)
            for name, arguments in hunts
            if not any({"search": name, **arguments}.items() <= r.items() for r in searched.results)
        ]
        calls += [(measure_run, key, seed, _LIMIT[quick]) for key in keys if key not in known]
        results = in_processes(operator.call, calls, jobs)
        for result in report_progress(results, len(keys) + len(hunts), len(calls), progress):
            (ran if isinstance(result, RunResult) else searched).append(result)
        return Study(ran.header, ran.results, searched.results)
