"""Numbers and sentences from the results of a study; nothing is measured here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from polyceptron.paper.convergence.runs import ORDERS, Cell, RunResult
from polyceptron.paper.convergence.study import Study

_FACTORS = ("d", "K", "1/margin", "N")
_Z = 1.959964


@dataclass(frozen=True)
class CellSummary:
    """How the runs of a cell in one order ended; `cell` is None for all cells together.

    Attributes
    ----------
    share, low, high : float
        Share of runs that converged before the pass limit, and its Wilson 95% interval.
    median, p95 : float or None
        Passes of the runs that converged; None if there are none.
    proved : int
        Runs that are proved never to converge: by a cycle (fixed order), or because no sequence
        of rows leads out (shuffled).
    open : int
        Runs that neither converged nor were proved not to.
    lengths : tuple of int
        The lengths of the cycles in passes, ascending.
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

    Attributes
    ----------
    cells : tuple of CellSummary
        By cell, the fixed order before the shuffled one.
    overall : dict of str to CellSummary
        By order, over all cells.
    growth : tuple of GrowthRate
        By factor and order.
    pairs : Pairs
    moving : dict of int to int
        Of runs in either order that did not converge: how many hyperplanes still moved, and in
        how many runs.
    centre : Cell or None
        The cell around which one factor at a time was varied.
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
    for run in runs:
        by.setdefault((run.cell, run.order), []).append(run)
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
        overall={
            order: _summary(None, order, group)
            for order in ORDERS
            if (group := [run for run in runs if run.order == order])
        },
        growth=tuple(rate for rate in rates if rate is not None),
        pairs=_pairs(runs),
        moving=dict(sorted(Counter(run.moving for run in runs if not run.converged).items())),
        centre=centre,
    )


def _summary(cell: Cell | None, order: str, runs: Sequence[RunResult]) -> CellSummary:
    n = len(runs)
    passes = sorted(run.passes for run in runs if run.converged)
    lengths = sorted(run.cycle for run in runs if run.cycle is not None)
    proved = len(lengths) + sum(run.trap is not None for run in runs)
    low, high = stats.binomtest(len(passes), n).proportion_ci(0.95, "wilson")
    return CellSummary(
        cell,
        order,
        n,
        len(passes),
        len(passes) / n,
        float(low),
        float(high),
        _quantile(passes, 0.5),
        _quantile(passes, 0.95),
        proved,
        n - len(passes) - proved,
        tuple(lengths),
    )


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
    summary = summarise(study.runs)
    found = _from_searches(study.searches)
    if len(summary.overall) == len(ORDERS):
        found += _from_runs(summary, study.header["limit"])
    return found


def _from_searches(searches: Sequence[Mapping[str, Any]]) -> list[str]:
    replays = {r["variant"]: r for r in searches if r["search"] == "replay"}
    counted = [r for r in searches if r["search"] == "cycles"]
    found = []
    if "smallest" in replays:
        r = replays["smallest"]
        found.append(
            f"No: in a fixed order online Polyceptron need not converge. On {len(r['points'])} "
            f"points of a line, with {len(r['start'])} hyperplanes that start at zero, the weights "
            f"are the same again every {r['length']} passes, with mistakes in each. In a random "
            f"order the same start never converges with probability {r['p_never']:.3f}."
        )
    if counted:
        runs, linear = (sum(r[name] for r in counted) for name in ("runs", "linear"))
        cycles, linear_cycles = (sum(r[n] for r in counted) for n in ("cycles", "linear_cycles"))
        found.append(
            f"Of {runs - linear:,} small integer instances that need more than one hyperplane "
            f"(set, order and start), {cycles - linear_cycles:,} cycle for ever; of {linear:,} "
            f"that one hyperplane separates, {linear_cycles:,} do."
        )
    if "trap" in replays and replays["trap"]["converges_in_no_sequence"]:
        free = replays["trap"]["trapped_without_ties"] == replays["trap"]["states"]
        found.append(
            "Reshuffling is no guarantee either: there is a start of the same three points "
            f"{'without any ties ' if free else ''}from which no sequence of rows converges, "
            "because one hyperplane is never the least and the other cannot do the task alone."
        )
    return found + [
        f"From Gaussian starts {'with' if r['biases'] else 'without'} biases on these points "
        f"{r['cycles'] / r['runs']:.0%} of {r['runs']:,} runs in a fixed order cycle; in a "
        f"random order {r['p_never']:.1%} never converge."
        for r in searches
        if r["search"] == "random starts"
    ]


def _from_runs(summary: Summary, limit: int) -> list[str]:
    fixed, shuffled = (summary.overall[order] for order in ORDERS)
    pairs, stuck = summary.pairs, sum(summary.moving.values())
    found = [
        (
            f"On random separable sets {_share(fixed)} converged within {limit:,} passes in the "
            f"fixed order, and {_share(shuffled)} reshuffled."
        ),
        (
            f"With the same set and start, {pairs.only_shuffled} converged only reshuffled, "
            f"{pairs.only_fixed} only in the fixed order, {pairs.neither} in neither."
        ),
    ]
    if stuck:
        found.append(
            f"Of the {stuck} runs that did not converge, {summary.moving.get(1, 0)} moved a single "
            "hyperplane in the end, while the others stood still."
        )
    if fixed.proved:
        found.append(
            f"Runs in the fixed order that are proved to cycle: {fixed.proved}, every "
            f"{_between(fixed.lengths)} passes; those that did not converge and are undecided: "
            f"{fixed.open}."
        )
    if shuffled.proved:
        found.append(
            f"Of the {shuffled.runs - shuffled.converged} reshuffled runs that did not converge, "
            f"{shuffled.proved} can be proved never to: no sequence of rows leads out of the "
            "weights reached."
        )
    found.append(
        f"Runs that converged took {_passes(fixed)} in the fixed order and {_passes(shuffled)} "
        "reshuffled."
    )
    if summary.growth:
        shuffled_growth = [g for g in summary.growth if g.order == "shuffled"]
        slopes = "; ".join(
            f"{g.factor} to the {g.slope:.2f} ({g.low:.2f} to {g.high:.2f})"
            for g in shuffled_growth
            if g.rises
        )
        other = ", ".join(g.factor for g in shuffled_growth if not g.rises)
        said = f"Reshuffled, passes of runs that converged grow like {slopes}." if slopes else ""
        rest = f"They do not grow throughout with {other}." if other else ""
        found.append(f"{said} {rest}".strip())
    return found


def _between(ascending: Sequence[int]) -> str:
    least, most = ascending[0], ascending[-1]
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _share(s: CellSummary) -> str:
    return f"{s.share:.2%} of {s.runs:,} runs (95% interval {s.low:.2%} to {s.high:.2%})"


def _passes(s: CellSummary) -> str:
    if s.median is None or s.p95 is None:
        return "no passes"
    return f"{s.median:,.0f} passes in the median, {s.p95:,.0f} at the 95th percentile,"
