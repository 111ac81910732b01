"""The paper's Table 1 measured again, fold by fold, so that a run can be stopped and resumed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from polyceptron.paper.folds import FoldResult, measure_fold, plan_folds
from polyceptron.paper.processes import in_processes, report_progress
from polyceptron.paper.protocol import Protocol, load_protocol, source_digest
from polyceptron.paper.results_log import (
    ResultsLog,
    ResultsLogError,
    package_versions,
    read_results,
)
from polyceptron.paper.table import ResultTable, tabulate
from polyceptron.utils.atomic import write_text

FOLDS_FILE = "folds.jsonl"
PACKAGES = ("polyceptron", "numpy", "scipy", "scikit-learn", "numba", "highspy")
_KIND = "polyceptron reproduce"
_MOST_REPETITIONS = 1000


def folds_header(protocol: Protocol, seed: int) -> dict[str, Any]:
    """What results must have in common to be put into one table."""
    return {
        "kind": _KIND,
        "format": 1,
        "seed": seed,
        "protocol": protocol.digest,
        "source": source_digest(),
        "versions": package_versions(PACKAGES),
    }


def measure_table(
    out: str | os.PathLike[str],
    *,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    repetitions: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    resume: bool = False,
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ResultTable:
    """Measure what is not yet in the folder `out`, and write ``table1.csv`` and ``table1.tex``.

    `datasets` and `methods` are keys of paper.toml, None all, and None for `repetitions` the
    paper's ten. Every result is appended to ``folds.jsonl`` as soon as it is there. The same seed
    gives the same accuracies, whatever `jobs` (processes), the order, and how often the run was
    interrupted. Results that are there need `resume` or `overwrite`; with neither they are an
    error. ``progress(done, total)`` is called at the start and after each result. The files have
    all results of the folder, the table returned those that were asked for.
    """
    protocol, folder = load_protocol(), Path(out)
    sets = protocol.choose("datasets", datasets)
    chosen = protocol.choose("methods", methods)
    n = protocol.repetitions if repetitions is None else repetitions
    if not 1 <= n <= _MOST_REPETITIONS:
        raise ValueError(f"repetitions must be 1 to {_MOST_REPETITIONS}; got {n}")
    tasks = plan_folds(protocol, sets, chosen, n)
    header, options = folds_header(protocol, seed), {"resume": resume, "overwrite": overwrite}
    with ResultsLog(folder / FOLDS_FILE, header, FoldResult, **options) as log:
        known = {result.task for result in log.results}
        left = [(task, seed) for task in tasks if task not in known]
        results = in_processes(measure_fold, left, jobs)
        for result in report_progress(results, len(tasks), len(left), progress):
            log.append(result)
    whole = tabulate(protocol, log.results)
    write_text(folder / "table1.csv", whole.to_csv())
    write_text(folder / "table1.tex", whole.to_latex())
    asked = set(tasks)
    return tabulate(protocol, (result for result in log.results if result.task in asked))


def read_folds(path: str | os.PathLike[str]) -> tuple[ResultTable, dict[str, Any]]:
    """The table of all results in a file of folds, and their header."""
    header, results = read_results(path, FoldResult)
    if header.get("kind") != _KIND:
        raise ResultsLogError(f"{path}, line 1: no header of results of `polyceptron reproduce`")
    return tabulate(load_protocol(), results), header
