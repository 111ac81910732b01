"""What the page says about the convergence study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyceptron.datasets import load_cycle
from polyceptron.paper import convergence
from polyceptron.paper.convergence import Cell, CellSummary, Summary
from polyceptron.paper.convergence.exact import Weights, take
from polyceptron.paper.convergence.study import RUNS_FILE, SEARCHES_FILE
from polyceptron.paper.journal import read_journal
from polyceptron.paper.report import figures_study
from polyceptron.paper.report.figures import minus, signed
from polyceptron.paper.report.svg import Chart

_KINDS = {
    "smallest": "The smallest: from the zero start",
    "no ties": "Without ties: no score is 0, the minimum is never at both",
    "trap": "A trap: no order of the rows converges",
}


@dataclass(frozen=True)
class Move:
    """One row taken: its scores, and the weights after it. ``moved`` is the hyperplane."""

    number: int
    point: str
    label: str
    scores: list[str]
    moved: int | None
    weights: list[str]


@dataclass(frozen=True)
class Cycle:
    """A shipped example, row by row until the weights are back."""

    title: str
    start: list[str]
    moves: list[Move]
    passes: int
    rows: int


@dataclass(frozen=True)
class StudyPage:
    """All that a page says about the study."""

    header: Mapping[str, Any]
    summary: Summary
    findings: list[str]
    cycles: list[Cycle]
    charts: list[Chart]
    searches: list[tuple[str, list[tuple[str, str]]]]

    @property
    def command(self) -> str:
        quick = " --quick" if self.header.get("quick") else ""
        return f"polyceptron study convergence{quick} --seed {self.header['seed']} --out FOLDER"

    @property
    def cells(self) -> list[tuple[Cell, dict[str, CellSummary]]]:
        """The orders of each cell side by side."""
        found: dict[Cell, dict[str, CellSummary]] = {}
        for summary in self.summary.cells:
            if summary.cell is not None:
                found.setdefault(summary.cell, {})[summary.order] = summary
        return list(found.items())

    @property
    def unfinished(self) -> int:
        """How many random runs are still to come, as far as the header says."""
        planned = 2 * int(self.header.get("runs", 0)) * len(self.header.get("cells", ()))
        return max(planned - sum(each.runs for each in self.summary.overall.values()), 0)


def read_study(folder: Path) -> StudyPage | None:
    """What is in the folder of the study's two files; None without results."""
    header, records = _journal(folder / RUNS_FILE)
    other, searches = _journal(folder / SEARCHES_FILE)
    if not records and not searches:
        return None
    study = convergence.Study(header or other, records, searches)
    summary = convergence.summarise(records)
    return StudyPage(
        header=study.header,
        summary=summary,
        findings=convergence.findings(study),
        cycles=[written_out(name) for name in _KINDS],
        charts=figures_study.growth(summary),
        searches=[_facts(record) for record in searches if record["search"] != "replay"],
    )


def _journal(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return read_journal(path) if path.exists() else ({}, [])


def written_out(name: str) -> Cycle:
    """Follow a shipped example by hand, in exact arithmetic, until its weights are back."""
    bunch = load_cycle(ties=name == "smallest", trap=name == "trap")
    rows = [(tuple(x), int(y)) for x, y in zip(bunch.data.tolist(), bunch.target, strict=True)]
    start: Weights = tuple(map(tuple, bunch.start.tolist()))
    weights, moves = start, []
    for passed in range(bunch.cycle_length):
        for x, y in rows:
            step = take(weights, [(x, y)])
            scores = [sum(a * b for a, b in zip(w, (*x, 1.0), strict=True)) for w in weights]
            weights = step.weights
            moves.append(
                Move(
                    passed + 1,
                    ", ".join(map(_number, x)),
                    signed(y, 0),
                    [_number(score) for score in scores],
                    step.updated[0] if step.updated else None,
                    [_vector(w) for w in weights],
                )
            )
    assert weights == start, f"{name}: the weights are not back"
    return Cycle(_KINDS[name], [_vector(w) for w in start], moves, bunch.cycle_length, len(rows))


def _number(value: float) -> str:
    return minus(f"{value + 0.0:g}")


def _vector(w: Sequence[float]) -> str:
    return "(" + ", ".join(map(_number, w)) + ")"


def _facts(record: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """A search as its name and what was counted."""
    facts = [
        (name.replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value))
        for name, value in record.items()
        if name != "search" and isinstance(value, bool | int | float | str)
    ]
    return record["search"], facts
