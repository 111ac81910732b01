"""The figures of the page, but for those of the convergence study."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyceptron.paper.protocol import Dataset
from polyceptron.paper.report.fits import Courses, Learned
from polyceptron.paper.report.labels import place
from polyceptron.paper.report.svg import PURPLE, RULE, Chart, draw
from polyceptron.paper.table import Row
from polyceptron.plots import PolyhedronDisplay, style
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats

THIN = {"linewidth": 0.6, "alpha": 0.4}
_SHORT = {
    "batch-paper": "Batch, paper",
    "online-paper": "Online, paper",
    "batch": "Batch",
    "online": "Online",
    "polyceptron": "Polyceptron",
    "logistic": "Logistic",
}
_OURS = {"batch", "online", "polyceptron"}
_OF_PAPER = {"batch-paper", "online-paper"}


def frame(ax: Any, grid: str = "y") -> None:
    """The quiet frame and grid that all figures have."""
    ax.grid(axis=grid, color=RULE, linewidth=0.8)
    ax.set_axisbelow(True)
    style.quiet_frame(ax)


def mistakes(given: Courses, reshuffled: Courses) -> Chart:
    """The paper's figure: misclassified rows against passes, in both orders."""
    title = given.dataset.title
    panels = (
        (given, "Rows in the given order, pass after pass", style.VERMILLION),
        (reshuffled, "Rows reshuffled before each pass", style.BLUE),
    )

    def paint(figure: Any) -> None:
        axes = figure.subplots(2, sharex=True, sharey=True)
        for ax, (courses, text, color) in zip(axes, panels, strict=True):
            _curves(ax, courses.runs, color)
            ax.set_yscale("symlog", linthresh=1, linscale=0.35)
            ax.set_ylim(bottom=-0.15)
            ax.set_title(text, loc="left", color=color)
            most = max(run.max() for run in given.runs + reshuffled.runs)
            ticks(ax.yaxis, [0, *(v for v in (1, 3, 10, 30, 100, 300, 1000) if v <= most)])
            frame(ax)
            ax.set_ylabel("mistakes")
        axes[-1].set_xlabel("pass")

    said = [
        f"In the given order {_ended(given.runs)}",
        f"reshuffled, {_ended(reshuffled.runs)}",
    ]
    return draw(
        f"mistakes-{given.dataset.key}",
        f"{title}, online Polyceptron",
        f"{title}: misclassified rows in each pass of online Polyceptron; " + "; ".join(said),
        f"Rows misclassified in each pass, from {len(given.runs)} starts, one of them bold. "
        f"{said[0]}; {said[1]}. The scale of mistakes is logarithmic, with 0 at the bottom.",
        paint,
        size=(3.9, 4.0),
    )


def _curves(ax: Any, runs: list[Floats], color: str, **options: Any) -> None:
    for run in runs[1:]:
        ax.plot(np.arange(1, len(run) + 1), run, color=color, **THIN)
    counts = np.arange(1, len(runs[0]) + 1)
    ax.plot(counts, runs[0], color=color, **{"linewidth": 1.4, **options})


def _ended(runs: list[Floats]) -> str:
    done = sum(run[-1] == 0 for run in runs)
    left = sorted(int(run[-1]) for run in runs if run[-1] > 0)
    if not left:
        passes = sorted(len(run) for run in runs)
        return f"all {len(runs)} starts ended without a mistake, after {_range(passes)} passes"
    return f"{done or 'none'} of {len(runs)} starts ended without a mistake ({_range(left)} left)"


def _range(values: list[int]) -> str:
    return str(values[0]) if values[0] == values[-1] else f"{values[0]} to {values[-1]}"


def ticks(axis: Any, values: list[float]) -> None:
    """Ticks at these values and nowhere else."""
    axis.minorticks_off()
    axis.set_ticks(values, [f"{value:g}" for value in values])


def criterion(paper: Courses, small: Courses, step: float, small_step: float) -> Chart:
    """The criterion against iterations of batch, with the paper's step and a small one."""
    title = paper.dataset.title

    def paint(figure: Any) -> None:
        ax = figure.subplots()
        _curves(ax, paper.runs, style.VERMILLION)
        _curves(ax, small.runs, style.BLUE, linestyle=(0, (4, 1.2)))
        ax.set(xscale="log", yscale="log", xlabel="iteration", ylabel="criterion")
        frame(ax)
        plain_log(ax.xaxis)
        plain_log(ax.yaxis)
        handles = [ax.lines[len(paper.runs) - 1], ax.lines[-1]]
        names = [f"step {step:g}, the paper's", f"step {small_step:g}"]
        figure.legend(
            handles, names, loc="outside upper left", ncols=2, frameon=False, fontsize=9,
            handlelength=1.8, columnspacing=1.2, borderaxespad=0,
        )  # fmt: skip

    said = (
        f"With the paper's step the criterion rose in {paper.rises} of {paper.steps} iterations, "
        f"and fell throughout in {paper.falling} of {len(paper.runs)} runs; with the step "
        f"{small_step:g} it rose in {small.rises} of {small.steps}, and fell throughout in "
        f"{small.falling} of {len(small.runs)}, {small.cut} of the {len(small.runs)} cut off at "
        f"{small.limit} iterations."
    )
    return draw(
        f"criterion-{paper.dataset.key}",
        f"{title}, batch Polyceptron",
        f"{title}: the criterion against iterations. {said}",
        f"{said} {len(paper.runs)} starts each, one of them bold.",
        paint,
    )


def plain_log(axis: Any) -> None:
    """Powers of ten as people write them."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axis.set_major_locator(LogLocator(numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _compact(value)))
    axis.minorticks_off()


def _compact(value: float) -> str:
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= 10 * unit or (letter == "M" and value >= unit):
            return f"{value / unit:g}{letter}"
    return f"{value:g}"


def accuracy_and_time(dataset: Dataset, rows: list[Row]) -> Chart:
    """Accuracy against seconds of a fit, one labelled mark a method."""

    def paint(figure: Any) -> None:
        ax = figure.subplots()
        points = []
        for row in rows:
            x, y = row.seconds.mean, row.accuracy.mean
            marker, color = _mark(row.method.key)
            ax.errorbar(
                x, y, yerr=row.accuracy.spread, fmt=marker, color=color, markersize=5.5,
                elinewidth=1, zorder=3,
            )  # fmt: skip
            points.append((x, y, _SHORT.get(row.method.key, row.method.title), color))
        ax.set_xscale("log")
        ax.set(xlabel="seconds of a fit", ylabel="accuracy in %")
        ax.margins(x=0.12, y=0.12)
        ax.set_ylim(top=min(ax.get_ylim()[1], 100.5))
        frame(ax)
        plain_log(ax.xaxis)
        place(ax, points)

    best = max(rows, key=lambda row: row.accuracy.mean)
    fastest = min(rows, key=lambda row: row.seconds.mean)
    return draw(
        f"time-{dataset.key}",
        dataset.title,
        f"{dataset.title}: accuracy against fit time of {len(rows)} methods. "
        + "; ".join(
            f"{_SHORT.get(r.method.key, r.method.title)} {r.accuracy.mean:.1f}%, "
            f"{r.seconds.mean:.2g} s"
            for r in rows
        ),
        f"Most accurate: {best.method.title} ({best.accuracy.mean:.2f}%). "
        f"Fastest: {fastest.method.title} ({duration(fastest.seconds.mean)}).",
        paint,
        size=(3.9, 3.3),
    )


def _mark(method: str) -> tuple[str, str]:
    if method in _OURS:
        return "o", style.BLUE
    if method in _OF_PAPER:
        return "s", style.VERMILLION
    return ("^", style.GREEN) if method in ("spla1", "pcslp", "oc1") else ("D", PURPLE)


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 0.01:
        return f"{1000 * seconds:.2g} ms"
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.2g} s"


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign, always."""
    return minus(f"{value:+.{digits}f}")


def minus(number: str) -> str:
    """A number with the sign that typographers use."""
    return number.replace("-", "\N{MINUS SIGN}")


def telling_plane(learned: Learned) -> tuple[Polyhedron, Floats]:
    """The polyhedron and its rows in coordinates whose first two say most about its faces.

    The coordinates are orthogonal, in units of the columns' spreads, around the mean of the
    rows. With two faces the first two span both normals, and nothing else decides.
    """
    X, W = learned.X, learned.polyhedron.W
    spread = X.std(axis=0)
    spread[spread == 0] = 1.0
    normals = W * spread
    units = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    _, _, directions = np.linalg.svd(units)
    # A direction has two signs; the same is taken on every machine.
    largest = directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)]
    directions = directions * np.where(largest < 0, -1.0, 1.0)[:, None]
    turned = Polyhedron(normals @ directions.T, learned.polyhedron.margins(X.mean(axis=0)[None])[0])
    rows: Floats = ((X - X.mean(axis=0)) / spread) @ directions.T
    return turned, rows


def plane(learned: Learned) -> Chart:
    """A slice of a polyhedron, with its rows."""
    turned, rows = telling_plane(learned)
    K, n = turned.n_faces, len(rows)
    wrong = n - learned.right

    def paint(figure: Any) -> None:
        ax = figure.subplots()
        PolyhedronDisplay.from_polyhedron(
            turned,
            rows,
            learned.y,
            inside=learned.inside,
            at=np.zeros(rows.shape[1]),  # the mean
            ax=ax,
            limits=_limits(rows),
        )
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
    return draw(
        f"plane-{learned.dataset.key}",
        learned.dataset.title,
        f"{learned.dataset.title}: the learned polyhedron cut by a plane, with {n} rows, "
        f"{wrong} of them on the wrong side",
        f"● {_inside(learned)}, \N{MULTIPLICATION SIGN} {learned.outside_name}; "
        f"the {wrong} of {n} rows on the wrong side are ringed. {exact}",
        paint,
        size=(3.9, 3.4),
    )


def _inside(learned: Learned) -> str:
    name = learned.inside_name
    return name if name == "inside" else f"{name} (inside)"


def _limits(rows: Floats) -> Any:
    """All but the outermost rows, so that a few do not make the rest small."""
    low, high = np.quantile(rows[:, :2], [0.005, 0.995], axis=0)
    room = 0.08 * (high - low)
    (left, bottom), (right, top) = (low - room).tolist(), (high + room).tolist()
    return (left, right), (bottom, top)
