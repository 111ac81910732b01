"""The figures of the page, but for those of the convergence study."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyceptron.paper.protocol import Dataset
from polyceptron.paper.report import svg
from polyceptron.paper.report.fits import Curves, Learned
from polyceptron.paper.report.svg import Chart
from polyceptron.paper.table import TableRow
from polyceptron.plots import PolyhedronDisplay
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats

_SHORT = {
    "batch-paper": "Batch, paper",
    "online-paper": "Online, paper",
    "batch": "Batch",
    "online": "Online",
    "polyceptron": "Polyceptron",
    "logistic": "Logistic",
}
_MARKS = {
    **dict.fromkeys(("batch", "online", "polyceptron"), ("o", svg.BLUE)),
    **dict.fromkeys(("batch-paper", "online-paper"), ("s", svg.VERMILLION)),
    **dict.fromkeys(("spla1", "pcslp", "oc1"), ("^", svg.GREEN)),
}


def mistakes_chart(given: Curves, reshuffled: Curves) -> Chart:
    """The paper's figure: misclassified rows against passes, in both orders."""
    most = max(run.max() for run in given.runs + reshuffled.runs)
    panels = (
        (given, "Rows in the given order, pass after pass", svg.VERMILLION),
        (reshuffled, "Rows reshuffled before each pass", svg.BLUE),
    )

    def paint(figure: Any) -> None:
        axes = figure.subplots(2, sharex=True, sharey=True)
        for ax, (curves, text, color) in zip(axes, panels, strict=True):
            _plot(ax, curves.runs, color)
            ax.set_yscale("symlog", linthresh=1, linscale=0.35)
            ax.set_ylim(bottom=-0.15)
            ax.set_title(text, loc="left", color=color)
            svg.set_ticks(ax.yaxis, [0, *(v for v in (1, 3, 10, 30, 100, 300, 1000) if v <= most)])
            ax.grid(axis="y")
            ax.set_ylabel("mistakes")
        axes[-1].set_xlabel("pass")

    name, facts = f"mistakes-{given.dataset.key}", {"given": given, "reshuffled": reshuffled}
    return svg.draw_chart(name, given.dataset.title, paint, 4.0, of="online Polyceptron", **facts)


def _plot(ax: Any, runs: list[Floats], color: str, **options: Any) -> Any:
    """Draw all runs, the first of them bold, which is returned."""
    for run in runs[1:]:
        ax.plot(np.arange(1, len(run) + 1), run, color=color, linewidth=0.6, alpha=0.4)
    counts = np.arange(1, len(runs[0]) + 1)
    return ax.plot(counts, runs[0], color=color, linewidth=1.4, **options)[0]


def criterion_chart(paper: Curves, small: Curves, step: float, small_step: float) -> Chart:
    """The criterion against iterations of batch, with the paper's step and a small one."""

    def paint(figure: Any) -> None:
        ax = figure.subplots()
        handles = [_plot(ax, paper.runs, svg.VERMILLION)]
        handles += [_plot(ax, small.runs, svg.BLUE, linestyle=(0, (4, 1.2)))]
        ax.set(xscale="log", yscale="log", xlabel="iteration", ylabel="criterion")
        ax.grid(axis="y")
        svg.plain_log(ax.xaxis)
        svg.plain_log(ax.yaxis)
        names = [f"step {step:g}, the paper's", f"step {small_step:g}"]
        figure.legend(
            handles, names, loc="outside upper left", ncols=2, handlelength=1.8, columnspacing=1.2
        )

    name = f"criterion-{paper.dataset.key}"
    facts: dict[str, Any] = {"paper": paper, "small": small, "small_step": small_step}
    return svg.draw_chart(name, paper.dataset.title, paint, 2.9, of="batch Polyceptron", **facts)


def time_chart(dataset: Dataset, rows: list[TableRow]) -> Chart:
    """Accuracy against seconds of a fit, one labelled mark a method."""
    names = [_SHORT.get(row.method.key, row.method.title) for row in rows]

    def paint(figure: Any) -> None:
        ax = figure.subplots()
        points = []
        for row, name in zip(rows, names, strict=True):
            x, y = row.seconds.mean, row.accuracy.mean
            marker, color = _MARKS.get(row.method.key, ("D", svg.PURPLE))
            ax.errorbar(
                x, y, yerr=row.accuracy.spread, fmt=marker, color=color, markersize=5.5,
                elinewidth=1, zorder=3,
            )  # fmt: skip
            points.append((x, y, name, color))
        ax.set(xscale="log", xlabel="seconds of a fit", ylabel="accuracy in %")
        ax.margins(x=0.12, y=0.12)
        ax.set_ylim(top=min(ax.get_ylim()[1], 100.5))
        ax.grid(axis="y")
        svg.plain_log(ax.xaxis)
        svg.label_points(ax, points)

    fastest = min(rows, key=lambda row: row.seconds.mean)
    facts: dict[str, Any] = {
        "rows": list(zip(names, rows, strict=True)),
        "best": max(rows, key=lambda row: row.accuracy.mean),
        "fastest": fastest,
        "duration": duration(fastest.seconds.mean),
    }
    return svg.draw_chart(f"time-{dataset.key}", dataset.title, paint, 3.3, **facts)


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 0.01:
        return f"{1000 * seconds:.2g} ms"
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.2g} s"


def plane_chart(learned: Learned) -> Chart:
    """A slice of a polyhedron by the plane that says most about its faces, with its rows."""
    X = learned.X

    def paint(figure: Any) -> None:
        # Axes of their own size, whatever labels they had for a moment: arrows depend on it.
        figure.set_layout_engine("none")
        ax = figure.add_axes((0.13, 0.14, 0.86, 0.85))
        unnamed = Polyhedron(learned.polyhedron.W, learned.polyhedron.b)  # no room for names
        PolyhedronDisplay.from_polyhedron(
            unnamed, X, learned.y, inside=learned.inside, plane="faces",
            at=X.mean(axis=0), ax=ax,
        )  # fmt: skip
        ax.get_legend().remove()
        ax.set_title("", loc="left")
        ax.set(xlabel="first direction, in spreads", ylabel="second direction")
        for points in ax.collections:
            points.set_sizes(points.get_sizes() * 0.45)

    dataset = learned.dataset
    return svg.draw_chart(f"plane-{dataset.key}", dataset.title, paint, 3.4, learned=learned)
