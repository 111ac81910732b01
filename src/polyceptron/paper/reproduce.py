"""The paper's Table 1 measured again, fold by fold, so that a run can be stopped and resumed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from polyceptron.paper.folds import FoldResult, measure_fold, plan_folds
from polyceptron.paper.processes import in_processes
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
    """Measure what is not yet in ``out``, and write the table.

    Every result is appended to ``folds.jsonl`` as soon as it is there. The same seed gives
    the same accuracies, whatever `jobs`, the order, and how often the run was interrupted.

    Parameters
    ----------
    out : path-like
        Folder for ``folds.jsonl``, ``table1.csv`` and ``table1.tex``.
    datasets, methods : sequence of str or None
        Keys of paper.toml; None is all.
    repetitions : int or None
        Of the cross-validation; None is the paper's ten.
    seed : int, default=0
    jobs : int, default=1
        Processes. Each fit has one thread.
    resume, overwrite : bool
        What to do with results that are in ``out`` already; with neither it is an error.
    progress : callable or None
        Called as ``progress(done, total)`` at the start and after each result.

    Returns
    -------
    ResultTable
        Of what was asked for.
    """
    protocol, folder = load_protocol(), Path(out)
    sets = protocol.choose("datasets", datasets)
    chosen = protocol.choose("methods", methods)
    n = protocol.repetitions if repetitions is None else repetitions
    if not 1 <= n <= _MOST_REPETITIONS:
        raise ValueError(f"repetitions must be 1 to {_MOST_REPETITIONS}; got {n}")
    tasks = plan_folds(protocol, sets, chosen, n)
    say = progress or (lambda _done, _total: None)
    header = folds_header(protocol, seed)
    with ResultsLog(
        folder / FOLDS_FILE, header, FoldResult, resume=resume, overwrite=overwrite
    ) as log:
        known = {result.task for result in log.results}
        left = [task for task in tasks if task not in known]
        say(len(tasks) - len(left), len(tasks))
        arguments = [(task, seed) for task in left]
        for done, result in enumerate(in_processes(measure_fold, arguments, jobs), 1):
            log.append(result)
            say(len(tasks) - len(left) + done, len(tasks))
        results = log.results
    whole = tabulate(protocol, results)
    write_text(folder / "table1.csv", whole.to_csv())
    write_text(folder / "table1.tex", whole.to_latex())
    asked = set(tasks)
    return tabulate(protocol, (result for result in results if result.task in asked))


def read_folds(path: str | os.PathLike[str]) -> tuple[ResultTable, dict[str, Any]]:
    """The table of all results in a file of folds, and their header."""
    header, results = read_results(path, FoldResult)
    if header.get("kind") != _KIND:
        raise ResultsLogError(f"{path}, line 1: no header of results of `polyceptron reproduce`")
    return tabulate(load_protocol(), results), header
