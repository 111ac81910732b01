"""Measure the paper's table again, fold by fold, so that a run can be stopped and resumed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from polyceptron.experiments.files import write_text
from polyceptron.experiments.folds import Task, measure, plan, task_of
from polyceptron.experiments.journal import Journal, read_journal, versions
from polyceptron.experiments.processes import in_processes
from polyceptron.experiments.protocol import Protocol, load_protocol
from polyceptron.experiments.table import Table, tabulate, to_csv, to_latex

FOLDS = "folds.jsonl"
_PACKAGES = ("polyceptron", "numpy", "scipy", "scikit-learn", "numba", "highspy")

Report = Callable[[int, int], None]
"""Called with how many results are there and how many there will be."""


def environment() -> dict[str, str]:
    """Versions that the results depend on."""
    return versions(_PACKAGES)


def header(protocol: Protocol, seed: int) -> dict[str, Any]:
    """What results must have in common to be put into one table."""
    return {
        "kind": "polyceptron reproduce",
        "format": 1,
        "seed": seed,
        "protocol": protocol.digest,
        "versions": environment(),
    }


def reproduce(
    out: str | os.PathLike[str],
    *,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    repetitions: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    resume: bool = False,
    overwrite: bool = False,
    report: Report | None = None,
) -> Table:
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
    report : callable or None
        Called with (done, all) at the start and after each result.

    Returns
    -------
    Table
        Of what was asked for.
    """
    protocol, folder = load_protocol(), Path(out)
    sets = protocol.choose("datasets", datasets)
    chosen = protocol.choose("methods", methods)
    n = protocol.repetitions if repetitions is None else repetitions
    if n < 1:
        raise ValueError(f"repetitions must be at least 1; got {n}")
    tasks = plan(protocol, sets, chosen, n)
    path = folder / FOLDS
    with Journal(path, header(protocol, seed), resume=resume, overwrite=overwrite) as journal:
        known = {task_of(record) for record in journal.records}
        left = [task for task in tasks if task not in known]
        done = len(tasks) - len(left)
        if report:
            report(done, len(tasks))
        for record in in_processes(measure, [(task, seed) for task in left], jobs):
            journal.append(record)
            done += 1
            if report:
                report(done, len(tasks))
        table = tabulate(protocol, _asked(journal.records, tasks))
    write_text(folder / "table1.csv", to_csv(table))
    write_text(folder / "table1.tex", to_latex(table))
    return table


def read_table(out: str | os.PathLike[str]) -> tuple[Table, dict[str, Any]]:
    """The table of the results in a folder, all of them, and their header."""
    found, records = read_journal(Path(out) / FOLDS)
    return tabulate(load_protocol(), records), found


def _asked(records: Iterable[dict[str, Any]], tasks: Iterable[Task]) -> list[dict[str, Any]]:
    """The records of these tasks, in their order: the table does not show who came first."""
    by_task = {task_of(record): record for record in records}
    return [by_task[task] for task in tasks]
