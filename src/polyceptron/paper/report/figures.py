"""The figures of the page, but for those of the convergence study."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyceptron.paper.protocol import Dataset
from polyceptron.paper.report.fits import Curves, Learned
from polyceptron.paper.report.labels import label_points
from polyceptron.paper.report.svg import (
    BLUE,
    GREEN,
    PURPLE,
    VERMILLION,
    Chart,
    draw_chart,
    plain_log,
    set_ticks,
)
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
    **dict.fromkeys(("batch", "online", "polyceptron"), ("o", BLUE)),
    **dict.fromkeys(("batch-paper", "online-paper"), ("s", VERMILLION)),
    **dict.fromkeys(("spla1", "pcslp", "oc1"), ("^", GREEN)),
}


def mistakes_chart(given: Curves, reshuffled: Curves) -> Chart:
    """The paper's figure: misclassified rows against passes, in both orders."""
    title = given.dataset.title
    most = max(run.max() for run in given.runs + reshuffled.runs)
    panels = (
        (given, "Rows in the given order, pass after pass", VERMILLION),
        (reshuffled, "Rows reshuffled before each pass", BLUE),
    )

    def paint(figure: Any) -> None:
        axes = figure.subplots(2, sharex=True, sharey=True)
        for ax, (curves, text, color) in zip(axes, panels, strict=True):
            _plot(ax, curves.runs, color)
            ax.set_yscale("symlog", linthresh=1, linscale=0.35)
            ax.set_ylim(bottom=-0.15)
            ax.set_title(text, loc="left", color=color)
            set_ticks(ax.yaxis, [0, *(v for v in (1, 3, 10, 30, 100, 300, 1000) if v <= most)])
            ax.grid(axis="y")
            ax.set_ylabel("mistakes")
        axes[-1].set_xlabel("pass")

    said = f"In the given order {_ended(given.runs)}; reshuffled, {_ended(reshuffled.runs)}"
    return draw_chart(
        f"mistakes-{given.dataset.key}",
        f"{title}, online Polyceptron",
        f"{title}: misclassified rows in each pass of online Polyceptron; {said}",
        f"Rows misclassified in each pass, from {len(given.runs)} starts, one of them bold. "
        f"{said}. The scale of mistakes is logarithmic, with 0 at the bottom.",
        paint,
        size=(3.9, 4.0),
    )


def _plot(ax: Any, runs: list[Floats], color: str, **options: Any) -> Any:
    """Draw all runs, the first of them bold, which is returned."""
    for run in runs[1:]:
        ax.plot(np.arange(1, len(run) + 1), run, color=color, linewidth=0.6, alpha=0.4)
    counts = np.arange(1, len(runs[0]) + 1)
    return ax.plot(counts, runs[0], color=color, linewidth=1.4, **options)[0]


def _ended(runs: list[Floats]) -> str:
    left = sorted(int(run[-1]) for run in runs if run[-1] > 0)
    if not left:
        passes = sorted(len(run) for run in runs)
        return f"all {len(runs)} starts ended without a mistake, after {_range(passes)} passes"
    done = len(runs) - len(left) or "none"
    return f"{done} of {len(runs)} starts ended without a mistake ({_range(left)} left)"


def _range(values: list[int]) -> str:
    return str(values[0]) if values[0] == values[-1] else f"{values[0]} to {values[-1]}"


def criterion_chart(paper: Curves, small: Curves, step: float, small_step: float) -> Chart:
    """The criterion against iterations of batch, with the paper's step and a small one."""
    title = paper.dataset.title

    def paint(figure: Any) -> None:
        ax = figure.subplots()
        handles = [
            _plot(ax, paper.runs, VERMILLION),
            _plot(ax, small.runs, BLUE, linestyle=(0, (4, 1.2))),
        ]
        ax.set(xscale="log", yscale="log", xlabel="iteration", ylabel="criterion")
        ax.grid(axis="y")
        plain_log(ax.xaxis)
        plain_log(ax.yaxis)
        names = [f"step {step:g}, the paper's", f"step {small_step:g}"]
        figure.legend(
            handles, names, loc="outside upper left", ncols=2, handlelength=1.8, columnspacing=1.2
        )

    said = (
        f"With the paper's step the criterion rose in {paper.rises} of {paper.steps} iterations, "
        f"and fell throughout in {paper.falling} of {len(paper.runs)} runs; with the step "
        f"{small_step:g} it rose in {small.rises} of {small.steps}, and fell throughout in "
        f"{small.falling} of {len(small.runs)}, {small.cut} of the {len(small.runs)} cut off at "
        f"{small.limit} iterations."
    )
    return draw_chart(
        f"criterion-{paper.dataset.key}",
        f"{title}, batch Polyceptron",
        f"{title}: the criterion against iterations. {said}",
        f"{said} {len(paper.runs)} starts each, one of them bold.",
        paint,
    )


def time_chart(dataset: Dataset, rows: list[TableRow]) -> Chart:
    """Accuracy against seconds of a fit, one labelled mark a method."""
    names = [_SHORT.get(row.method.key, row.method.title) for row in rows]

    def paint(figure: Any) -> None:
        ax = figure.subplots()
        points = []
        for row, name in zip(rows, names, strict=True):
            x, y = row.seconds.mean, row.accuracy.mean
            marker, color = _MARKS.get(row.method.key, ("D", PURPLE))
            ax.errorbar(
                x, y, yerr=row.accuracy.spread, fmt=marker, color=color, markersize=5.5,
                elinewidth=1, zorder=3,
            )  # fmt: skip
            points.append((x, y, name, color))
        ax.set(xscale="log", xlabel="seconds of a fit", ylabel="accuracy in %")
        ax.margins(x=0.12, y=0.12)
        ax.set_ylim(top=min(ax.get_ylim()[1], 100.5))
        ax.grid(axis="y")
        plain_log(ax.xaxis)
        label_points(ax, points)

    best = max(rows, key=lambda row: row.accuracy.mean)
    fastest = min(rows, key=lambda row: row.seconds.mean)
    values = (
        f"{name} {row.accuracy.mean:.1f}%, {row.seconds.mean:.2g} s"
        for row, name in zip(rows, names, strict=True)
    )
    return draw_chart(
        f"time-{dataset.key}",
        dataset.title,
        f"{dataset.title}: accuracy against fit time of {len(rows)} methods. " + "; ".join(values),
        f"Most accurate: {best.method.title} ({best.accuracy.mean:.2f}%). "
        f"Fastest: {fastest.method.title} ({duration(fastest.seconds.mean)}).",
        paint,
        size=(3.9, 3.3),
    )


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 0.01:
        return f"{1000 * seconds:.2g} ms"
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.2g} s"


def plane_chart(learned: Learned) -> Chart:
    """A slice of a polyhedron by the plane that says most about its faces, with its rows."""
    X, K, n = learned.X, learned.polyhedron.n_faces, len(learned.X)
    wrong, title = n - learned.right, learned.dataset.title

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

    exact = (
        "Both normals lie in this plane, so every row is seen where it lies to both faces."
        if K == 2
        else f"The plane closest to all {K} normals, through the mean of the rows; rows are "
        "projected onto it, so some seem to be on another side than they are."
    )
    name = learned.inside_name
    inside = name if name == "inside" else f"{name} (inside)"
    return draw_chart(
        f"plane-{learned.dataset.key}",
        title,
        f"{title}: the learned polyhedron cut by a plane, with {n} rows, "
        f"{wrong} of them on the wrong side",
        f"● {inside}, \N{MULTIPLICATION SIGN} {learned.outside_name}; "
        f"the {wrong} of {n} rows on the wrong side are ringed. {exact}",
        paint,
        size=(3.9, 3.4),
    )
