"""Numbers and sentences from the results of a study; nothing is measured here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from polyceptron.paper.convergence.runs import ROW_ORDERS, Cell, RunResult
from polyceptron.paper.convergence.study import Study
from polyceptron.paper.words import paragraphs

_Z = 1.959964


@dataclass(frozen=True)
class CellSummary:
    """How the runs of a cell in one order ended; ``cell`` is None for all cells together.

    The ``share`` that converged before the pass limit has the Wilson 95% interval ``low`` to
    ``high``; those runs took ``median`` and ``p95`` passes (None without any). ``proved`` runs
    never converge: there is a cycle, of ``lengths`` passes (fixed order), or no sequence of rows
    leads out (shuffled). ``open`` runs did neither.
    """

    cell: Cell | None
    order: str
    runs: int
    converged: int
    share: float
    low: float
    high: float
    median: float | None
    p95: float | None
    proved: int
    open: int
    lengths: tuple[int, ...]


@dataclass(frozen=True)
class GrowthRate:
    """Passes grow like ``factor ** slope``: a straight line through the logarithms.

    Least squares over the converged runs of the cells that differ from the centre in this factor
    only, so that it leans low where some did not converge; `low` and `high` are the 95% interval
    of the slope if the line is right. Where medians do not rise throughout, ``rises`` is False.
    """

    factor: str
    order: str
    slope: float
    low: float
    high: float
    rises: bool


@dataclass(frozen=True)
class Summary:
    """All numbers of a study's random runs.

    By cell (the fixed order first), over all cells by order, and around the cell ``centre``, from
    which one factor at a time was varied. ``pairs`` says which of the two orders converged from
    the same start, ``moving`` of the runs that did not how many hyperplanes still moved, and in
    how many runs.
    """

    cells: tuple[CellSummary, ...]
    overall: dict[str, CellSummary]
    growth: tuple[GrowthRate, ...]
    pairs: dict[str, int]
    moving: dict[int | None, int]
    centre: Cell | None


def summarise(runs: Iterable[RunResult]) -> Summary:
    """Summarise random runs (`Study.runs`), complete or not, in any order."""
    runs = list(runs)
    by: dict[tuple[Cell, str], list[RunResult]] = {}
    orders: dict[str, list[RunResult]] = {}
    for run in runs:
        by.setdefault((run.cell, run.order), []).append(run)
        orders.setdefault(run.order, []).append(run)
    grid = sorted({cell for cell, _ in by})
    # The cell with the most cells on lines through it.
    lines = {cell: sum(on_line(cell, o, f) for o in grid for f in Cell._fields) for cell in grid}
    centre = max(grid, key=lines.__getitem__, default=None)
    factors = ("d", "K", "1/margin", "N")
    rates = (_growth(f, o, centre, by) for f in factors for o in ROW_ORDERS if centre is not None)
    return Summary(
        cells=tuple(_summary(*key, by[key]) for key in sorted(by)),
        overall={order: _summary(None, order, orders[order]) for order in sorted(orders)},
        growth=tuple(rate for rate in rates if rate is not None),
        pairs=_pairs(runs),
        moving=dict(sorted(Counter(run.moving for run in runs if not run.converged).items())),
        centre=centre,
    )


def _summary(cell: Cell | None, order: str, runs: Sequence[RunResult]) -> CellSummary:
    n = len(runs)
    passes = [run.passes for run in runs if run.converged]
    lengths = tuple(sorted(run.cycle for run in runs if run.cycle is not None))
    proved = len(lengths) + sum(run.trap is not None for run in runs)
    low, high = map(float, stats.binomtest(len(passes), n).proportion_ci(0.95, "wilson"))
    median, p95 = (
        float(np.quantile(passes, q, method="inverted_cdf")) if passes else None
        for q in (0.5, 0.95)
    )
    share, left = len(passes) / n, n - len(passes) - proved
    return CellSummary(
        cell, order, n, len(passes), share, low, high, median, p95, proved, left, lengths
    )


def factor_value(cell: Cell, factor: str) -> float:
    """What a cell has of a factor, a field or ``1/`` a field."""
    value = float(getattr(cell, factor.removeprefix("1/")))
    return 1 / value if factor.startswith("1/") else value


def on_line(cell: Cell, centre: Cell, factor: str) -> bool:
    """Whether cells differ in this factor at most."""
    same = {factor.removeprefix("1/"): 0}
    return cell._replace(**same) == centre._replace(**same)


def _growth(
    factor: str, order: str, centre: Cell, by: Mapping[tuple[Cell, str], Sequence[RunResult]]
) -> GrowthRate | None:
    points = sorted(
        (math.log(factor_value(cell, factor)), math.log(run.passes))
        for (cell, its_order), group in by.items()
        if its_order == order and on_line(cell, centre, factor)
        for run in group
        if run.converged
    )
    at = sorted({x for x, _ in points})
    if len(at) < 2 or len(points) < 3:
        return None
    line = stats.linregress(*zip(*points, strict=True))
    slope, error = float(line.slope), _Z * float(line.stderr)
    medians = [np.median([y for x, y in points if x == value]) for value in at]
    rises = bool((np.diff(medians) >= 0).all())
    return GrowthRate(factor, order, slope, slope - error, slope + error, rises)


def _pairs(runs: Iterable[RunResult]) -> dict[str, int]:
    converged: dict[tuple[Cell, int], dict[str, bool]] = {}
    for run in runs:
        converged.setdefault((run.cell, run.run), {})[run.order] = run.converged
    found = Counter((of["fixed"], of["shuffled"]) for of in converged.values() if len(of) == 2)
    names = ("both", "only_fixed", "only_shuffled", "neither")
    ends = ((True, True), (True, False), (False, True), (False, False))
    return {name: found[end] for name, end in zip(names, ends, strict=True)}


def findings(study: Study) -> list[str]:
    """Return the conclusions of a study: one plain-text sentence or two each, numbers included.

    What the study holds no results for is left out, so that a study cut short has fewer.
    """
    summary, searches = summarise(study.runs), study.searches
    return paragraphs(
        "convergence/findings.txt.j2",
        replays={record["variant"]: record for record in searches if record["search"] == "replay"},
        counted=[record for record in searches if record["search"] == "cycles"],
        starts=[record for record in searches if record["search"] == "random starts"],
        limit=study.header.get("limit"),
        **summary.overall,
        pairs=summary.pairs,
        moving=summary.moving,
        growth=[rate for rate in summary.growth if rate.order == "shuffled"],
    )
