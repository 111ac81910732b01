"""Numbers and sentences from the results of a study; nothing is measured here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from polyceptron.paper.convergence.runs import ORDERS, Cell, RunResult
from polyceptron.paper.convergence.study import Study
from polyceptron.paper.words import paragraphs

_FACTORS = ("d", "K", "1/margin", "N")
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
class Pairs:
    """The same set from the same start in both orders: which of the two converged."""

    both: int
    only_fixed: int
    only_shuffled: int
    neither: int


@dataclass(frozen=True)
class Summary:
    """All numbers of a study's random runs.

    By cell (the fixed order first), over all cells by order, and around the cell ``centre``, from
    which one factor at a time was varied. ``moving`` says of the runs that did not converge how
    many hyperplanes still moved, and in how many runs.
    """

    cells: tuple[CellSummary, ...]
    overall: dict[str, CellSummary]
    growth: tuple[GrowthRate, ...]
    pairs: Pairs
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
    # The cell with the most cells that differ from it in one factor.
    centre = max(
        grid,
        key=lambda cell: sum(len(_differences(cell, other)) == 1 for other in grid),
        default=None,
    )
    rates = (_growth(f, o, centre, by) for f in _FACTORS for o in ORDERS if centre is not None)
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
    passes = sorted(run.passes for run in runs if run.converged)
    lengths = tuple(sorted(run.cycle for run in runs if run.cycle is not None))
    proved = len(lengths) + sum(run.trap is not None for run in runs)
    low, high = map(float, stats.binomtest(len(passes), n).proportion_ci(0.95, "wilson"))
    counts, share, left = (n, len(passes)), len(passes) / n, n - len(passes) - proved
    quantiles = _quantile(passes, 0.5), _quantile(passes, 0.95)
    return CellSummary(cell, order, *counts, share, low, high, *quantiles, proved, left, lengths)


def _quantile(ascending: Sequence[float], q: float) -> float | None:
    """The least value that a share q of them does not exceed."""
    return float(ascending[math.ceil(q * len(ascending)) - 1]) if ascending else None


def _values(cell: Cell) -> dict[str, float]:
    return {**cell._asdict(), "1/margin": 1 / cell.margin}


def _differences(a: Cell, b: Cell) -> list[str]:
    names = (*_FACTORS, "digits")
    return [name for name in names if _values(a)[name] != _values(b)[name]]


def _growth(
    factor: str, order: str, centre: Cell, by: Mapping[tuple[Cell, str], Sequence[RunResult]]
) -> GrowthRate | None:
    points = sorted(
        (math.log(_values(cell)[factor]), math.log(run.passes))
        for (cell, its_order), group in by.items()
        if its_order == order and _differences(cell, centre) in ([], [factor])
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


def _pairs(runs: Iterable[RunResult]) -> Pairs:
    ended: dict[tuple[Cell, int], dict[str, bool]] = {}
    for run in runs:
        ended.setdefault((run.cell, run.run), {})[run.order] = run.converged
    counts = Counter((pair["fixed"], pair["shuffled"]) for pair in ended.values() if len(pair) == 2)
    return Pairs(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


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
