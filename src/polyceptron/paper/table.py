"""Table 1 from the results of folds: ours beside the paper's, as CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from polyceptron.paper.folds import FoldResult
from polyceptron.paper.protocol import Dataset, Method, Printed, Protocol
from polyceptron.paper.words import fill_words


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
class TableRow:
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
    reason: str

    @property
    def below(self) -> bool:
        """Whether ours is below the printed figure by more than two standard deviations."""
        if self.printed is None:
            return False
        spread = math.hypot(self.accuracy.spread or 0.0, self.printed.spread)
        return self.accuracy.mean < self.printed.accuracy - 2 * spread


@dataclass(frozen=True)
class ResultTable:
    """All rows, in the order of the protocol: set by set, methods within.

    ``measured`` is the day of the newest result, as year-month-day.
    """

    rows: list[TableRow]
    measured: str | None = None

    @property
    def datasets(self) -> list[Dataset]:
        return list({row.dataset.key: row.dataset for row in self.rows}.values())

    @property
    def methods(self) -> list[Method]:
        return list({row.method.key: row.method for row in self.rows}.values())

    def of(self, dataset: Dataset) -> list[TableRow]:
        """The rows of one set."""
        return [row for row in self.rows if row.dataset.key == dataset.key]

    @property
    def notes(self) -> dict[str, list[TableRow]]:
        """The rows below the printed figure, by the reason that is given for it."""
        found: dict[str, list[TableRow]] = {}
        for row in self.rows:
            if row.below:
                found.setdefault(row.reason, []).append(row)
        return found

    def to_csv(self) -> str:
        """One line a row, numbers at full precision; an empty cell where there is none."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for row in self.rows:
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

    def to_latex(self) -> str:
        """A tabular in the form of the paper's Table 1, with its figures in columns beside ours.

        Titles are those of paper.toml, which have no character that LaTeX takes for a command.
        """
        return fill_words("table1.tex.j2", table=self)


_COLUMNS = (
    "dataset", "method", "repetitions", "folds", "accuracy", "accuracy_sd", "paper_accuracy",
    "paper_accuracy_sd", "below_paper", "fit_seconds", "fit_seconds_sd", "fit_ratio",
    "paper_seconds", "paper_ratio", "tuning_seconds", "hyperplanes", "hyperplanes_sd",
    "paper_hyperplanes",
)  # fmt: skip


# By set and method, then by repetition.
_Results = dict[tuple[str, str], dict[int, list[FoldResult]]]


def tabulate(protocol: Protocol, results: Iterable[FoldResult]) -> ResultTable:
    """Means over repetitions; an unfinished repetition counts with the folds that it has."""
    found: _Results = defaultdict(dict)
    days = []
    for fit in sorted(results, key=lambda fit: fit.task):  # not in the order they were ready
        days.append(fit.at[:10])
        found[fit.dataset, fit.method].setdefault(fit.repetition, []).append(fit)
    rows = [
        _row_of_results(protocol, dataset, method, found)
        for dataset in protocol.datasets.values()
        for method in protocol.methods.values()
        if found[dataset.key, method.key]
    ]
    return ResultTable(rows, max(days, default=None) or None)


def _row_of_results(
    protocol: Protocol, dataset: Dataset, method: Method, found: _Results
) -> TableRow:
    fits = [*found[dataset.key, method.key].values()]
    baseline = [*found[dataset.key, protocol.baseline].values()]
    right = (100 * sum(fit.right for fit in some) / sum(fit.rows for fit in some) for some in fits)
    seconds = _mean(fits, "seconds")
    counted = all(fit.hyperplanes is not None for some in fits for fit in some)
    printed = dataset.printed.get(method.printed or "")
    printed_baseline = dataset.printed[protocol.methods[protocol.baseline].printed or ""]
    return TableRow(
        dataset=dataset,
        method=method,
        repetitions=len(fits),
        folds=sum(map(len, fits)),
        accuracy=Measured.of(right),
        seconds=seconds,
        tuning=_mean(fits, "tuning_seconds"),
        hyperplanes=_mean(fits, "hyperplanes") if counted else None,
        ratio=seconds.mean / _mean(baseline, "seconds").mean if baseline else None,
        printed=printed,
        printed_ratio=printed.seconds / printed_baseline.seconds if printed else None,
        reason=protocol.reasons.get(method.key, {}).get(dataset.key, "We know no reason."),
    )


def _mean(repetitions: list[list[FoldResult]], name: str) -> Measured:
    return Measured.of(float(np.mean([getattr(fit, name) for fit in fits])) for fits in repetitions)
