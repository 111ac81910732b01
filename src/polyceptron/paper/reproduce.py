"""Measure the paper's table again, fold by fold, so that a run can be stopped and resumed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from polyceptron.paper.folds import measure, plan, task_of
from polyceptron.paper.journal import Journal, JournalError, read_journal, versions
from polyceptron.paper.processes import in_processes
from polyceptron.paper.protocol import Protocol, load_protocol, source_digest
from polyceptron.paper.table import Table, tabulate, to_csv, to_latex
from polyceptron.utils.atomic import write_text

FOLDS = "folds.jsonl"
_KIND = "polyceptron reproduce"
_MOST_REPETITIONS = 1000
_PACKAGES = ("polyceptron", "numpy", "scipy", "scikit-learn", "numba", "highspy")

Report = Callable[[int, int], None]
"""Called with how many results are there and how many there will be."""


def environment() -> dict[str, str]:
    """Versions that the results depend on."""
    return versions(_PACKAGES)


def header(protocol: Protocol, seed: int) -> dict[str, Any]:
    """What results must have in common to be put into one table."""
    return {
        "kind": _KIND,
        "format": 1,
        "seed": seed,
        "protocol": protocol.digest,
        "source": source_digest(),
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
    if not 1 <= n <= _MOST_REPETITIONS:
        raise ValueError(f"repetitions must be 1 to {_MOST_REPETITIONS}; got {n}")
    tasks = plan(protocol, sets, chosen, n)
    path = folder / FOLDS
    with Journal(path, header(protocol, seed), resume=resume, overwrite=overwrite) as journal:
        check_records(path, journal.records, protocol)
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
        whole = tabulate(protocol, journal.records)
        asked = set(tasks)
        table = tabulate(protocol, (one for one in journal.records if task_of(one) in asked))
    write_text(folder / "table1.csv", to_csv(whole))
    write_text(folder / "table1.tex", to_latex(whole))
    return table


def read_table(out: str | os.PathLike[str]) -> tuple[Table, dict[str, Any]]:
    """The table of the results in a folder, all of them, and their header."""
    path, protocol = Path(out) / FOLDS, load_protocol()
    found, records = read_journal(path)
    if found.get("kind") != _KIND:
        raise JournalError(f"{path}, line 1: no header of results of `polyceptron reproduce`")
    check_records(path, records, protocol)
    return tabulate(protocol, records), found


_FIELDS: dict[str, tuple[type, ...]] = {
    "dataset": (str,), "method": (str,), "repetition": (int,), "fold": (int,), "right": (int,),
    "rows": (int,), "seconds": (int, float), "tuning_seconds": (int, float),
    "hyperplanes": (int, type(None)),
}  # fmt: skip


def check_records(path: Path, records: Iterable[dict[str, Any]], protocol: Protocol) -> None:
    """Refuse a record that no table can be made of, with its line."""
    for number, record in enumerate(records, 2):
        for name, types in _FIELDS.items():
            if not isinstance(record.get(name), types):
                raise JournalError(f"{path}, line {number}: {name} is {record.get(name)!r}")
        for name, known in (("dataset", protocol.datasets), ("method", protocol.methods)):
            if record[name] not in known:
                raise JournalError(
                    f"{path}, line {number}: {name} {record[name]!r} is not one of "
                    + ", ".join(known)
                )
