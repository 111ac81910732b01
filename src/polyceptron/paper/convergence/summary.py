"""Numbers and sentences from the records of a study; nothing is measured here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyceptron.paper.convergence.runs import ORDERS, Cell, Key
from polyceptron.paper.convergence.study import Study

Record = Mapping[str, Any]

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
    p95_all : float or None
        The pass by which 95% of all runs had converged; None if that is beyond the limit.
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
    p95_all: float | None
    proved: int
    open: int
    lengths: tuple[int, ...]


@dataclass(frozen=True)
class Growth:
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
    growth : tuple of Growth
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
    growth: tuple[Growth, ...]
    pairs: Pairs
    moving: dict[int, int]
    centre: Cell | None


def summarise(records: Iterable[Record]) -> Summary:
    """Summarise the records of random runs (`Study.records`), complete or not, in any order."""
    by: dict[tuple[Cell, str], list[Record]] = {}
    for record in records:
        key = Key.of(dict(record))
        by.setdefault((key.cell, key.order), []).append(record)
    everything = [record for group in by.values() for record in group]
    grid = sorted({cell for cell, _ in by})
    centre = _centre(grid)
    stuck = Counter(r["moving"] for r in everything if not r["converged"])
    return Summary(
        cells=tuple(
            _summary(cell, order, by[cell, order])
            for cell in grid
            for order in ORDERS
            if (cell, order) in by
        ),
        overall={
            order: _summary(None, order, group)
            for order in ORDERS
            if (group := [r for r in everything if r["order"] == order])
        },
        growth=tuple(
            growth
            for factor in _FACTORS
            for order in ORDERS
            if centre is not None and (growth := _growth(factor, order, centre, by)) is not None
        ),
        pairs=_pairs(everything),
        moving=dict(sorted(stuck.items())),
        centre=centre,
    )


def wilson(successes: int, n: int) -> tuple[float, float]:
    """Return the Wilson 95% interval of a share.

    >>> [round(end, 3) for end in wilson(18, 18)]
    [0.824, 1.0]
    """
    p, z2 = successes / n, _Z * _Z
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    # Rounding must not spoil the ends that are exact.
    return 0.0 if successes == 0 else centre - half, 1.0 if successes == n else centre + half


def _summary(cell: Cell | None, order: str, records: Sequence[Record]) -> CellSummary:
    n = len(records)
    passes = sorted(r["passes"] for r in records if r["converged"])
    lengths = sorted(r["cycle"] for r in records if r["cycle"] is not None)
    proved = len(lengths) + sum(r["trap"] is not None for r in records)
    late = passes + [math.inf] * (n - len(passes))
    return CellSummary(
        cell,
        order,
        n,
        len(passes),
        len(passes) / n,
        *wilson(len(passes), n),
        _quantile(passes, 0.5),
        _quantile(passes, 0.95),
        _quantile(late, 0.95),
        proved,
        n - len(passes) - proved,
        tuple(lengths),
    )


def _quantile(ascending: Sequence[float], q: float) -> float | None:
    """The least value that a share q of them does not exceed."""
    if not ascending:
        return None
    value = ascending[math.ceil(q * len(ascending)) - 1]
    return None if math.isinf(value) else float(value)


def _values(cell: Cell) -> dict[str, float]:
    return {
        "d": cell.d,
        "K": cell.K,
        "1/margin": 1 / cell.margin,
        "N": cell.N,
        "digits": cell.digits,
    }


def _differences(a: Cell, b: Cell) -> list[str]:
    first, second = _values(a), _values(b)
    return [name for name in first if first[name] != second[name]]


def _centre(grid: Sequence[Cell]) -> Cell | None:
    """The cell with the most cells that differ from it in one factor."""
    if not grid:
        return None
    return max(grid, key=lambda cell: sum(len(_differences(cell, other)) == 1 for other in grid))


def _growth(
    factor: str, order: str, centre: Cell, by: Mapping[tuple[Cell, str], Sequence[Record]]
) -> Growth | None:
    points = [
        (math.log(_values(cell)[factor]), math.log(record["passes"]))
        for (cell, its_order), group in sorted(by.items(), key=lambda item: item[0])
        if its_order == order and _differences(cell, centre) in ([], [factor])
        for record in group
        if record["converged"]
    ]
    if len({x for x, _ in points}) < 2 or len(points) < 3:
        return None
    x, y = np.array(sorted(points)).T
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    rest = y - y.mean() - slope * x
    error = _Z * math.sqrt(float(rest @ rest) / (len(x) - 2) / float(x @ x))
    medians = [
        np.median([v for at, v in points if at == u]) for u in sorted({u for u, _ in points})
    ]
    rises = bool((np.diff(medians) >= 0).all())
    return Growth(factor, order, slope, slope - error, slope + error, rises)


def _pairs(records: Iterable[Record]) -> Pairs:
    ended: dict[tuple[Cell, int], dict[str, bool]] = {}
    for record in records:
        key = Key.of(dict(record))
        ended.setdefault((key.cell, key.run), {})[key.order] = record["converged"]
    counts = Counter((pair["fixed"], pair["shuffled"]) for pair in ended.values() if len(pair) == 2)
    return Pairs(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


# --- sentences --------------------------------------------------------------------------


def findings(study: Study) -> list[str]:
    """Return the conclusions of a study: one plain-text sentence or two each, numbers included.

    What the study holds no records for is left out, so that a study cut short has fewer.
    """
    summary = summarise(study.records)
    found = _from_searches(study.searches)
    if len(summary.overall) == len(ORDERS):
        found += _from_runs(summary, study.header["limit"])
    return found


def _from_searches(searches: Sequence[Record]) -> list[str]:
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
