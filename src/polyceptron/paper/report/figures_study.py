"""The figures of the convergence study."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from polyceptron.paper.convergence import ORDERS, Cell, CellSummary, Summary
from polyceptron.paper.report.figures import frame, plain_log, ticks
from polyceptron.paper.report.svg import Chart, draw
from polyceptron.plots import style

_LOOKS = {
    "fixed": ("s", style.VERMILLION, "fixed order", "in the fixed order", 0.97),
    "shuffled": ("o", style.BLUE, "reshuffled", "reshuffled", 1.03),
}
_FACTORS = {
    "d": "d, the number of features",
    "K": "K, the number of hyperplanes",
    "margin": "1/margin",
    "N": "N, the number of rows",
    "digits": "Binary digits after the point",
}


def growth(summary: Summary) -> list[Chart]:
    """For each factor the share that converges, and the passes that it takes."""
    if summary.centre is None:
        return []
    charts = []
    for factor in _FACTORS:
        line = [s for s in summary.cells if s.cell and _beside(s.cell, summary.centre, factor)]
        if len({_value(each, factor) for each in line}) > 1:
            charts.append(_chart(factor, line, summary))
    return charts


def _beside(cell: Cell, centre: Cell, factor: str) -> bool:
    first, second = asdict(cell), asdict(centre)
    return all(first[name] == second[name] for name in first if name != factor)


def _value(summary: CellSummary, factor: str) -> float:
    value = float(getattr(summary.cell, factor))
    return 1 / value if factor == "margin" else value


def _chart(factor: str, line: list[CellSummary], summary: Summary) -> Chart:
    def paint(figure: Any) -> None:
        above, below = figure.subplots(2, sharex=True)
        for order in ORDERS:
            mine = sorted((s for s in line if s.order == order), key=lambda s: _value(s, factor))
            if mine:
                _share(above, mine, factor, order)
                _passes(below, mine, factor, order)
        above.set_ylabel("converged, %")
        above.set_ylim(top=101.5)
        below.set(ylabel="passes", yscale="log", xlabel=_FACTORS[factor])
        values = sorted({_value(each, factor) for each in line})
        below.set_xscale("log")
        below.set_xlim(values[0] / 1.25, values[-1] * 1.25)
        ticks(below.xaxis, values)
        plain_log(below.yaxis)
        frame(above)
        frame(below)
        figure.legend(
            *above.get_legend_handles_labels(), loc="outside upper left", ncols=2,
            frameon=False, fontsize=9, borderaxespad=0,
        )  # fmt: skip

    slopes = [
        f"{g.slope:.2f} {_LOOKS[g.order][3]} ({g.low:.2f} to {g.high:.2f})"
        for g in summary.growth
        if g.factor == ("1/margin" if factor == "margin" else factor)
    ]
    said = "; ".join(
        f"{_LOOKS[s.order][2]} at {_value(s, factor):g}: {s.share:.1%}"
        + ("" if s.median is None else f", {s.median:.0f} passes in the median")
        for s in line
    )
    name = _FACTORS[factor].partition(",")[0]
    return draw(
        f"study-{factor}",
        _FACTORS[factor],
        f"Share of runs that converged, and their passes, against {_FACTORS[factor]}. {said}",
        "Above the share of runs that converged, with 95% intervals; below their passes, the "
        "median and up to the 95th percentile."
        + (f" Passes grow like a power of {name}: {', '.join(slopes)}." if slopes else ""),
        paint,
        size=(3.9, 3.9),
    )


def _share(ax: Any, line: list[CellSummary], factor: str, order: str) -> None:
    marker, color, name, _, aside = _LOOKS[order]
    x = [_value(each, factor) * aside for each in line]
    y = [100 * each.share for each in line]
    # Rounding may leave a share a little outside of its interval.
    down = [max(100 * (each.share - each.low), 0.0) for each in line]
    up = [max(100 * (each.high - each.share), 0.0) for each in line]
    ax.errorbar(
        x, y, yerr=[down, up], fmt=marker + "-", color=color, markersize=4.5, linewidth=0.8,
        elinewidth=1.2, label=name,
    )  # fmt: skip


def _passes(ax: Any, line: list[CellSummary], factor: str, order: str) -> None:
    marker, color, _, _, aside = _LOOKS[order]
    known = [each for each in line if each.median is not None and each.p95 is not None]
    x = [_value(each, factor) * aside for each in known]
    ax.plot(x, [each.median for each in known], marker + "-", color=color, markersize=4.5, lw=0.8)
    ax.vlines(x, [each.median for each in known], [each.p95 for each in known], color=color, lw=1.2)
