"""The study as a whole: which runs, on how many cores, and where their results go."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from polyceptron.paper.convergence import runs, searches
from polyceptron.paper.convergence.runs import ORDERS, Cell, Key
from polyceptron.paper.journal import (
    Journal,
    read_journal,
    results_are_there,
    versions,
)
from polyceptron.paper.processes import in_processes

_Call = tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]

RUNS_FILE = "convergence.jsonl"
SEARCHES_FILE = "cycles.jsonl"

_CENTRE = Cell(d=5, K=4, margin=0.05, N=300, digits=16)
# One factor at a time around the centre. Few digits are for cycles: fewer weights are possible.
_LINES: dict[str, tuple[float, ...]] = {
    "d": (2, 5, 10, 20),
    "K": (2, 3, 4, 6),
    "margin": (0.025, 0.05, 0.1, 0.2, 0.4),
    "N": (30, 100, 300, 1000),
    "digits": (4, 6, 8, 16),
}
_SMALL = tuple(Cell(d=2, K=3, margin=0.05, N=30, digits=digits) for digits in (3, 4, 6))
_QUICK_LINES: dict[str, tuple[float, ...]] = {"K": (2, 4), "digits": (4, 16)}
# By `quick`: runs of each cell and order, and passes of a run at most.
_RUNS = {True: 40, False: 300}
_LIMIT = {True: 5_000, False: 20_000}


@dataclass(frozen=True)
class Study:
    """Results of a study, complete or not.

    Attributes
    ----------
    header : dict
        Seed, cells, runs of each cell and order, pass limit, versions.
    records : list of dict
        One for each random run: the fields of its `Cell`, ``run``, ``order`` ("fixed" or
        "shuffled"), ``passes``, ``converged``, ``updates``, ``mistakes`` (rows that are wrong at
        the end), ``cycle`` (its length in passes, where weights came back, else None),
        ``reached`` (passes before the cycle), ``trap`` (where no sequence of rows leads to
        convergence any more: the number of weights it can lead to, else None) and ``moving``
        (hyperplanes that still moved at the end of a run that did not converge).
    searches : list of dict
        One for each exact search of small instances; ``search`` says which.
    """

    header: dict[str, Any]
    records: list[dict[str, Any]]
    searches: list[dict[str, Any]]

    @classmethod
    def load(cls, out: Path) -> Self:
        """Read what `run_study` wrote into this folder."""
        header, records = read_journal(out / RUNS_FILE)
        return cls(header, records, read_journal(out / SEARCHES_FILE)[1])


def cells(*, quick: bool) -> list[Cell]:
    """The cells of a study."""
    lines = _QUICK_LINES if quick else _LINES
    found = {_beside(name, value) for name, values in lines.items() for value in values}
    return sorted(found | set(_SMALL[-1:] if quick else _SMALL))


def _beside(name: str, value: Any) -> Cell:
    return replace(_CENTRE, **{name: value})


def run_study(
    out: Path,
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
    each pass. Results are written as they come, to ``convergence.jsonl`` (random runs) and
    ``cycles.jsonl`` (exact searches), and depend on `seed` and `quick` only; with more jobs their
    order in the files may differ.

    Parameters
    ----------
    out : Path
        The folder to write to; made if need be.
    quick : bool
        A sample in seconds; else some minutes.
    jobs : int
        Processes.
    seed : int
        Where all random numbers come from.
    resume : bool
        Go on with what is there; a study that is complete is only read.
    overwrite : bool
        Start anew where results are there. Without either, results that are there are an error.
    progress : callable, optional
        Called as ``progress(done, total)`` at the start and after every result.

    Returns
    -------
    Study
        All records, those found included.

    Raises
    ------
    JournalError
        If results are there and neither `resume` nor `overwrite` is set, if they belong to
        another study, or if another run is writing them. The message says what to do.
    """
    grid, count, limit = cells(quick=quick), _RUNS[quick], _LIMIT[quick]
    common = {"seed": seed, "quick": quick, "versions": versions(("polyceptron", "numpy", "numba"))}
    header = {
        "study": "convergence",
        **common,
        "limit": limit,
        "runs": count,
        "cells": [asdict(cell) for cell in grid],
    }
    keys = [Key(cell, run, order) for cell in grid for run in range(count) for order in ORDERS]
    hunts = searches.tasks(quick=quick)
    for name in (RUNS_FILE, SEARCHES_FILE):  # before either is begun
        if not (resume or overwrite) and (out / name).exists():
            raise results_are_there(out / name, len(read_journal(out / name)[1]))
    with ExitStack() as stack:
        options = {"resume": resume, "overwrite": overwrite}
        measured = stack.enter_context(Journal(out / RUNS_FILE, header, **options))
        hunted = stack.enter_context(
            Journal(out / SEARCHES_FILE, {"study": "cycles", **common}, **options)
        )
        known = {Key.of(record) for record in measured.records}
        settled = [_task_of(record, hunts) for record in hunted.records]
        calls: list[_Call] = [
            (searches.work, (task, seed)) for task in hunts if task not in settled
        ]
        calls += [(runs.work, (key, seed, limit)) for key in keys if key not in known]
        total = len(keys) + len(hunts)
        say = progress or (lambda _done, _total: None)
        say(total - len(calls), total)
        for n, record in enumerate(in_processes(_call, calls, jobs), 1):
            (hunted if "search" in record else measured).append(record)
            say(total - len(calls) + n, total)
        return Study(measured.header, measured.records, hunted.records)


def _task_of(record: dict[str, Any], tasks: Iterable[searches.Task]) -> searches.Task | None:
    for name, arguments in tasks:
        if record["search"] == name and arguments.items() <= record.items():
            return name, arguments
    return None


def _call(function: Callable[..., dict[str, Any]], arguments: tuple[Any, ...]) -> dict[str, Any]:
    return function(*arguments)
