"""What the page says about the convergence study, and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polyceptron.paper.convergence import ORDERS, Cell, Study, findings, summarise
from polyceptron.paper.convergence.exact import take_rows
from polyceptron.paper.convergence.searches import shipped_cycle
from polyceptron.paper.convergence.summary import CellSummary, Summary
from polyceptron.paper.report.svg import BLUE, VERMILLION, Chart, draw_chart, plain_log, set_ticks

_KINDS = {
    "smallest": "The smallest: from the zero start",
    "no ties": "Without ties: no score is 0, the minimum is never at both",
    "trap": "A trap: no order of the rows converges",
}
_LOOKS = {
    "fixed": ("s", VERMILLION, "fixed order", "in the fixed order", 0.97),
    "shuffled": ("o", BLUE, "reshuffled", "reshuffled", 1.03),
}
_FACTORS = {
    "d": "d, the number of features",
    "K": "K, the number of hyperplanes",
    "margin": "1/margin",
    "N": "N, the number of rows",
    "digits": "Binary digits after the point",
}


def study_context(folder: Path) -> dict[str, Any] | None:
    """What the template says about the study's two files; None without results."""
    study = Study.load(folder)
    if not study.runs and not study.searches:
        return None
    summary, header = summarise(study.runs), study.header
    cells: dict[Cell | None, dict[str, CellSummary]] = {}  # the orders of each side by side
    for each in summary.cells:
        cells.setdefault(each.cell, {})[each.order] = each
    planned = 2 * int(header.get("runs", 0)) * len(header.get("cells", ()))
    quick = " --quick" if header.get("quick") else ""
    return {
        "header": header,
        "summary": summary,
        "findings": findings(study),
        "cycles": [written_out(variant) for variant in _KINDS],
        "charts": _growth_charts(summary),
        "cells": list(cells.items()),
        "unfinished": max(planned - len(study.runs), 0),
        "command": f"polyceptron study convergence{quick} --seed {header['seed']} --out FOLDER",
        "searches": [_facts(record) for record in study.searches if record["search"] != "replay"],
    }


def written_out(variant: str) -> dict[str, Any]:
    """Follow a shipped example by hand, in exact arithmetic, until its weights are back."""
    start, rows, length = shipped_cycle(variant)
    weights, moves = start, []
    for number in range(1, length + 1):
        for x, y in rows:
            scores = [sum(a * b for a, b in zip(w, (*x, 1.0), strict=True)) for w in weights]
            step = take_rows(weights, [(x, y)])
            weights = step.weights
            moves.append(
                {
                    "number": number,
                    "point": ", ".join(map(_number, x)),
                    "label": signed(y, 0),
                    "scores": [_number(score) for score in scores],
                    "moved": step.updated[0] if step.updated else None,
                    "weights": [_vector(w) for w in weights],
                }
            )
    assert weights == start, f"{variant}: the weights are not back"
    first = [_vector(w) for w in start]
    return {"title": _KINDS[variant], "start": first, "moves": moves, "rows": len(rows)}


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign, always, and that which typographers use."""
    return f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _number(value: float) -> str:
    return f"{value + 0.0:g}".replace("-", "\N{MINUS SIGN}")


def _vector(w: Sequence[float]) -> str:
    return "(" + ", ".join(map(_number, w)) + ")"


def _facts(record: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """A search as its name and what was counted."""
    (_, search), *facts = record.items()
    return search, [
        (name.replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value))
        for name, value in facts
        if isinstance(value, int | float | str)
    ]


def _growth_charts(summary: Summary) -> list[Chart]:
    """For each factor the share that converges, and the passes that it takes."""

    def alike(cell: Cell | None, factor: str) -> Cell | None:
        return cell and cell._replace(**{factor: 0})

    charts = []
    for factor in _FACTORS:
        centre = alike(summary.centre, factor)
        line = [each for each in summary.cells if alike(each.cell, factor) == centre]
        if len({each.cell for each in line}) > 1:
            charts.append(_growth_chart(factor, line, summary))
    return charts


def _value(summary: CellSummary, factor: str) -> float:
    value = float(getattr(summary.cell, factor))
    return 1 / value if factor == "margin" else value


def _growth_chart(factor: str, line: list[CellSummary], summary: Summary) -> Chart:
    def paint(figure: Any) -> None:
        above, below = figure.subplots(2, sharex=True)
        for order in ORDERS:
            mine = sorted((s for s in line if s.order == order), key=lambda s: _value(s, factor))
            if mine:
                _plot(above, below, mine, factor)
        above.set_ylabel("converged, %")
        above.set_ylim(top=101.5)
        below.set(ylabel="passes", yscale="log", xlabel=_FACTORS[factor])
        values = sorted({_value(each, factor) for each in line})
        below.set_xscale("log")
        below.set_xlim(values[0] / 1.25, values[-1] * 1.25)
        set_ticks(below.xaxis, values)
        plain_log(below.yaxis)
        above.grid(axis="y")
        below.grid(axis="y")
        figure.legend(*above.get_legend_handles_labels(), loc="outside upper left", ncols=2)

    return draw_chart(
        f"study-{factor}",
        _FACTORS[factor],
        paint,
        3.9,
        line=[(_LOOKS[s.order][2], _value(s, factor), s) for s in line],
        growth=[
            (_LOOKS[rate.order][3], rate)
            for rate in summary.growth
            if rate.factor == ("1/margin" if factor == "margin" else factor)
        ],
    )


def _plot(above: Any, below: Any, line: list[CellSummary], factor: str) -> None:
    """The share of converged runs above, their passes below, of one order."""
    marker, color, name, _, aside = _LOOKS[line[0].order]
    x = [_value(each, factor) * aside for each in line]
    y = [100 * each.share for each in line]
    # Rounding may leave a share a little outside of its interval.
    down = [max(100 * (each.share - each.low), 0.0) for each in line]
    up = [max(100 * (each.high - each.share), 0.0) for each in line]
    above.errorbar(
        x, y, yerr=[down, up], fmt=marker + "-", color=color, markersize=4.5, linewidth=0.8,
        elinewidth=1.2, label=name,
    )  # fmt: skip
    known = [each for each in line if each.median is not None]
    x, median = [_value(each, factor) * aside for each in known], [each.median for each in known]
    below.plot(x, median, marker + "-", color=color, markersize=4.5, lw=0.8)
    below.vlines(x, median, [each.p95 for each in known], color=color, lw=1.2)
