"""What the page says about the convergence study, and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from polyceptron.paper.convergence.exact import shipped_cycle, take_rows
from polyceptron.paper.convergence.runs import ROW_ORDERS, Cell
from polyceptron.paper.convergence.study import Study
from polyceptron.paper.convergence.summary import (
    CellSummary,
    Summary,
    factor_value,
    findings,
    on_line,
    summarise,
)
from polyceptron.paper.report import figures
from polyceptron.paper.report.figures import Chart
from polyceptron.paper.words import signed
from polyceptron.utils.palette import BLUE, VERMILLION

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
    "1/margin": "1/margin",
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
        "charts": list(filter(None, (_growth_chart(factor, summary) for factor in _FACTORS))),
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
            move = {
                "number": number,
                "point": ", ".join(map(_short_number, x)),
                "label": signed(y, 0),
            }
            moved = step.updated[0] if step.updated else None
            said = [_vector(w) for w in weights]
            moves.append(
                {**move, "scores": [*map(_short_number, scores)], "moved": moved, "weights": said}
            )
    assert weights == start, f"{variant}: the weights are not back"
    first = [_vector(w) for w in start]
    return {"title": _KINDS[variant], "start": first, "moves": moves, "rows": len(rows)}


def _short_number(value: float) -> str:
    return f"{value + 0.0:g}".replace("-", "\N{MINUS SIGN}")


def _vector(w: Sequence[float]) -> str:
    return "(" + ", ".join(map(_short_number, w)) + ")"


def _facts(record: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """A search as its name and what was counted."""
    (_, search), *facts = record.items()
    return search, [
        (name.replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value))
        for name, value in facts
        if isinstance(value, int | float | str)
    ]


def _growth_chart(factor: str, summary: Summary) -> Chart | None:
    """The share that converges against a factor, and the passes that it takes."""
    line = [
        (factor_value(each.cell, factor), each)
        for each in summary.cells
        if each.cell and summary.centre and on_line(each.cell, summary.centre, factor)
    ]
    values = sorted({value for value, _ in line})
    if len(values) < 2:
        return None

    def paint(figure: Any) -> None:
        above, below = figure.subplots(2, sharex=True)
        for order in ROW_ORDERS:
            mine = [(value, each) for value, each in line if each.order == order]
            if mine:
                _plot_order(above, below, order, sorted(mine, key=itemgetter(0)))
        above.set(ylabel="converged, %", ylim=(None, 101.5))
        below.set(ylabel="passes", xlabel=_FACTORS[factor], xscale="log", yscale="log")
        below.set_xlim(values[0] / 1.25, values[-1] * 1.25)
        figures.set_ticks(below.xaxis, values)
        figures.plain_log(below.yaxis)
        figure.legend(*above.get_legend_handles_labels(), loc="outside upper left", ncols=2)

    return figures.draw_chart(
        f"study-{factor.removeprefix('1/')}",
        _FACTORS[factor],
        paint,
        3.9,
        line=[(_LOOKS[s.order][2], value, s) for value, s in line],
        growth=[(_LOOKS[g.order][3], g) for g in summary.growth if g.factor == factor],
    )


def _plot_order(above: Any, below: Any, order: str, line: list[tuple[float, CellSummary]]) -> None:
    """The share of converged runs above, their passes below, of one order."""
    marker, color, name, _, aside = _LOOKS[order]
    looks: dict[str, Any] = {"color": color, "markersize": 4.5, "linewidth": 0.8}
    numbers = [(value * aside, s.share, s.low, s.high, s.median, s.p95) for value, s in line]
    x, share, low, high, median, p95 = np.array(numbers, dtype=float).T
    # Rounding may leave a share a little outside of its interval.
    error = 100 * np.maximum([share - low, high - share], 0.0)
    above.errorbar(x, 100 * share, error, fmt=marker + "-", elinewidth=1.2, label=name, **looks)
    below.plot(x, median, marker + "-", **looks)
    below.vlines(x, median, p95, color=color, lw=1.2)
