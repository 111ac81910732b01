"""Table 1 from the records of folds: ours beside the paper's, as CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyceptron.paper.protocol import Dataset, Method, Printed, Protocol


@dataclass(frozen=True)
class Measured:
    """A mean over repetitions and their standard deviation (None for one repetition)."""

    mean: float
    spread: float | None

    @classmethod
    def of(cls, values: Iterable[float]) -> Measured:
        array = np.array(list(values))
        spread = float(array.std(ddof=1)) if len(array) > 1 else None
        return cls(float(array.mean()), spread)

    def text(self, digits: int = 2) -> str:
        spread = "" if self.spread is None else f" ± {self.spread:.{digits}f}"
        return f"{self.mean:.{digits}f}{spread}"


@dataclass(frozen=True)
class Row:
    """What one method reached on one set.

    ``accuracy`` is in %; ``seconds`` are those of the fit, ``tuning`` of the search before it;
    ``ratio`` is seconds ÷ those of the baseline method, where that was measured.
    """

    dataset: Dataset
    method: Method
    repetitions: int
    folds: int
    accuracy: Measured
    seconds: Measured
    tuning: Measured
    hyperplanes: Measured | None
    ratio: float | None
    printed: Printed | None
    printed_ratio: float | None
    reason: str | None

    @property
    def below(self) -> bool:
        """Whether ours is below the printed figure by more than two standard deviations."""
        if self.printed is None:
            return False
        spread = math.hypot(self.accuracy.spread or 0.0, self.printed.spread)
        return self.accuracy.mean < self.printed.accuracy - 2 * spread


@dataclass(frozen=True)
class Table:
    """All rows, in the order of the protocol: set by set, methods within.

    ``measured`` is the day of the newest record, as year-month-day.
    """

    rows: list[Row]
    measured: str | None = None

    @property
    def datasets(self) -> list[Dataset]:
        return list({row.dataset.key: row.dataset for row in self.rows}.values())

    @property
    def methods(self) -> list[Method]:
        return list({row.method.key: row.method for row in self.rows}.values())

    def row(self, dataset: str, method: str) -> Row | None:
        for row in self.rows:
            if (row.dataset.key, row.method.key) == (dataset, method):
                return row
        return None

    @property
    def below(self) -> list[Row]:
        return [row for row in self.rows if row.below]


def tabulate(protocol: Protocol, records: Iterable[Mapping[str, Any]]) -> Table:
    """Means over repetitions; an unfinished repetition counts with the folds that it has."""
    found: dict[tuple[str, str], dict[int, list[Mapping[str, Any]]]] = {}
    days = []
    for record in records:
        days.append(record.get("at", "")[:10])
        cell = found.setdefault((record["dataset"], record["method"]), defaultdict(list))
        cell[record["repetition"]].append(record)
    rows = []
    for dataset in protocol.datasets.values():
        of_baseline = _fit_seconds(found.get((dataset.key, protocol.baseline)))
        for method in protocol.methods.values():
            cell = found.get((dataset.key, method.key), defaultdict(list))
            if cell:
                in_order = [_by_fold(cell[repetition]) for repetition in sorted(cell)]
                rows.append(_row(protocol, dataset, method, in_order, of_baseline))
    return Table(rows, max(days, default=None) or None)


def _by_fold(fits: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sums do not show which fold was ready first."""
    return sorted(fits, key=lambda fit: fit["fold"])


def _fit_seconds(cell: Mapping[int, list[Mapping[str, Any]]] | None) -> float | None:
    if not cell:
        return None
    in_order = (_by_fold(cell[repetition]) for repetition in sorted(cell))
    return Measured.of(_mean(fits, "seconds") for fits in in_order).mean


def _row(
    protocol: Protocol,
    dataset: Dataset,
    method: Method,
    repetitions: list[list[Mapping[str, Any]]],
    of_baseline: float | None,
) -> Row:
    accuracy = Measured.of(
        100 * sum(fit["right"] for fit in fits) / sum(fit["rows"] for fit in fits)
        for fits in repetitions
    )
    seconds = Measured.of(_mean(fits, "seconds") for fits in repetitions)
    counted = all(fit["hyperplanes"] is not None for fits in repetitions for fit in fits)
    printed = dataset.printed.get(method.printed or "")
    of_printed = protocol.methods[protocol.baseline].printed
    printed_baseline = dataset.printed.get(of_printed or "")
    return Row(
        dataset=dataset,
        method=method,
        repetitions=len(repetitions),
        folds=sum(map(len, repetitions)),
        accuracy=accuracy,
        seconds=seconds,
        tuning=Measured.of(_mean(fits, "tuning_seconds") for fits in repetitions),
        hyperplanes=Measured.of(_mean(fits, "hyperplanes") for fits in repetitions)
        if counted
        else None,
        ratio=None if of_baseline is None else seconds.mean / of_baseline,
        printed=printed,
        printed_ratio=printed.seconds / printed_baseline.seconds
        if printed and printed_baseline
        else None,
        reason=protocol.reason(method.key, dataset.key),
    )


def _mean(fits: Iterable[Mapping[str, Any]], name: str) -> float:
    return float(np.mean([fit[name] for fit in fits]))


_COLUMNS = (
    "dataset", "method", "repetitions", "folds", "accuracy", "accuracy_sd", "paper_accuracy",
    "paper_accuracy_sd", "below_paper", "fit_seconds", "fit_seconds_sd", "fit_ratio",
    "paper_seconds", "paper_ratio", "tuning_seconds", "hyperplanes", "hyperplanes_sd",
    "paper_hyperplanes",
)  # fmt: skip


def to_csv(table: Table) -> str:
    """One line a row, numbers at full precision; an empty cell where there is none."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in table.rows:
        paper, faces = row.printed, row.hyperplanes
        writer.writerow([
            row.dataset.title, row.method.title, row.repetitions, row.folds,
            row.accuracy.mean, row.accuracy.spread,
            paper and paper.accuracy, paper and paper.spread,
            "" if paper is None else "yes" if row.below else "no",
            row.seconds.mean, row.seconds.spread, row.ratio,
            paper and paper.seconds, row.printed_ratio, row.tuning.mean,
            faces and faces.mean, faces and faces.spread, paper and paper.hyperplanes,
        ])  # fmt: skip
    return out.getvalue()


def to_markdown(table: Table) -> str:
    """A row for each method, with what the paper prints in brackets; ▼ marks `Row.below`."""
    sets = table.datasets
    lines = [
        "| accuracy in %, and ms of a fit | " + " | ".join(one.title for one in sets) + " |",
        "|---" * (len(sets) + 1) + "|",
    ]
    for method in table.methods:
        cells = [_markdown_cell(table.row(one.key, method.key)) for one in sets]
        lines.append(f"| {method.title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _markdown_cell(row: Row | None) -> str:
    if row is None:
        return ""
    mark = "▼ " if row.below else ""
    paper = f" ({row.printed.accuracy:.2f})" if row.printed else ""
    return f"{mark}{row.accuracy.text()}{paper}, {1000 * row.seconds.mean:.1f} ms"


def to_latex(table: Table) -> str:
    """A tabular in the form of the paper's Table 1, with its figures in columns beside ours."""
    lines = [
        r"\begin{tabular}{llrrrrrrrr}",
        r"\hline",
        r"Set & Method & Accuracy & paper & Seconds & paper & Ratio & paper & Faces & paper \\",
        r"\hline",
    ]
    for dataset in table.datasets:
        title = escape_latex(dataset.title)
        for row in (row for row in table.rows if row.dataset.key == dataset.key):
            lines.append(_latex_row(title, row))
            title = ""
        lines.append(r"\hline")
    lines.append(r"\end{tabular}")
    return "\n".join(lines) + "\n"


def _latex_row(title: str, row: Row) -> str:
    paper = row.printed
    accuracy = _latex_number(row.accuracy, 2) + (r"\,$\downarrow$" if row.below else "")
    cells = [
        title,
        escape_latex(row.method.title),
        accuracy,
        "" if paper is None else f"${paper.accuracy:.2f} \\pm {paper.spread:.2f}$",
        _latex_number(row.seconds, 4),
        "" if paper is None else f"{paper.seconds:.2f}",
        "" if row.ratio is None else f"{row.ratio:.2f}",
        "" if row.printed_ratio is None else f"{row.printed_ratio:.2f}",
        "" if row.hyperplanes is None else _latex_number(row.hyperplanes, 1),
        "" if paper is None else f"{paper.hyperplanes:g}",
    ]
    return " & ".join(cells) + r" \\"


def _latex_number(value: Measured, digits: int) -> str:
    if value.spread is None:
        return f"{value.mean:.{digits}f}"
    return f"${value.mean:.{digits}f} \\pm {value.spread:.{digits}f}$"


_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_LATEX.get(character, character) for character in text)
