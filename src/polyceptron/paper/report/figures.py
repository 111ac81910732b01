"""What the page shows of single fits, and its figures, as SVG images."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from polyceptron.paper.folds import repetition_of, seed_of
from polyceptron.paper.protocol import Dataset, Method
from polyceptron.paper.table import TableRow
from polyceptron.paper.words import paragraphs
from polyceptron.plots import PolyhedronDisplay
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.palette import BLUE, GREEN, PURPLE, VERMILLION
from polyceptron.utils.types import Floats

_MARKS = {
    "ours": ("o", BLUE),
    "paper": ("s", VERMILLION),
    "rival": ("^", GREEN),
    "baseline": ("D", PURPLE),
}


class Curves:
    """A measure of fits from several starts, pass by pass or iteration by iteration.

    It rose in ``rises`` of all ``steps``; ``falling`` runs never rose, and ``cut`` ended at the
    ``limit`` of a run: what would have followed is not known.
    """

    def __init__(self, dataset: Dataset, runs: list[Floats], limit: int) -> None:
        self.dataset, self.runs, self.limit = dataset, runs, limit
        rises = [int((np.diff(run) > 0).sum()) for run in runs]
        self.rises, self.falling = sum(rises), rises.count(0)
        self.steps = sum(len(run) - 1 for run in runs)
        self.cut = sum(len(run) >= limit for run in runs)


@dataclass(frozen=True)
class Learned:
    """A polyhedron and the rows that it was learned from."""

    dataset: Dataset
    polyhedron: Polyhedron
    X: Floats
    y: NDArray[Any]
    inside: Any
    inside_name: str
    outside_name: str

    @property
    def right(self) -> int:
        return int((self.polyhedron.contains(self.X) == (self.y == self.inside)).sum())


def learning_curves(
    method: Method, dataset: Dataset, measure: str, seed: int, starts: int, **changes: Any
) -> Curves:
    """Fit all rows of repetition 0 from several starts, one start a fit."""
    models = [_fit(method, dataset, seed, start, n_init=1, **changes)[0] for start in range(starts)]
    runs = [np.asarray(model.history_[measure], dtype=float) for model in models]
    return Curves(dataset, runs, models[0].max_iter)


def learn_polyhedron(method: Method, dataset: Dataset, seed: int) -> Learned:
    """Fit all rows of repetition 0."""
    model, bunch = _fit(method, dataset, seed)
    inside = int(model.inside_)
    names = dict(zip((-1, 1), map(str, bunch.target_names), strict=True))
    polyhedron = Polyhedron(model.coef_, model.intercept_, bunch.feature_names)
    return Learned(
        dataset, polyhedron, bunch.data, bunch.target, inside, names[inside], names[-inside]
    )


def _fit(
    method: Method, dataset: Dataset, seed: int, *start: int, **changes: Any
) -> tuple[Any, Any]:
    bunch, _ = repetition_of(seed, dataset.key, 0)
    model = method.build(dataset, seed_of(seed, dataset.key, "report", *start))
    with warnings.catch_warnings():  # the curves show it
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.set_params(**changes).fit(bunch.data, bunch.target), bunch


@dataclass(frozen=True)
class Chart:
    """A figure of the page: plain text, and an SVG document in base64.

    ``label`` says what is drawn to those who do not see it.
    """

    name: str
    title: str
    label: str
    caption: str
    svg: str


def draw_chart(
    name: str,
    title: str,
    paint: Callable[[Any], None],
    height: float,
    *,
    of: str = "",
    **facts: Any,
) -> Chart:
    """What `paint` draws, with label and caption from the template: its kind is how names begin.

    The same drawing gives the same characters.
    """
    from matplotlib import style
    from matplotlib.figure import Figure

    kind, heading = name.partition("-")[0], f"{title}, {of}" if of else title
    label, caption = paragraphs("report/captions.txt.j2", kind=kind, title=title, **facts)
    looks = str(files("polyceptron.paper.report").joinpath("figures.mplstyle"))
    with style.context(["default", looks, {"svg.hashsalt": name}]):
        figure = Figure(figsize=(3.9, height), layout="constrained", facecolor="none")
        figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03)
        paint(figure)
        for ax in figure.axes:
            ax.set_facecolor("none")
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return Chart(name, heading, label, caption, base64.b64encode(out.getvalue()).decode())


def set_ticks(axis: Any, values: list[float]) -> None:
    """Ticks at these values and nowhere else."""
    axis.minorticks_off()
    axis.set_ticks(values, [f"{value:g}" for value in values])


def plain_log(axis: Any, most: int = 8) -> None:
    """Powers of ten as people write them, so many at most."""
    from matplotlib.ticker import EngFormatter, LogLocator

    thousands = EngFormatter(sep="")
    axis.set_major_locator(LogLocator(numticks=most))
    axis.set_major_formatter(lambda value, _: thousands(value) if value >= 1e4 else f"{value:g}")
    axis.minorticks_off()


def mistakes_chart(given: Curves, reshuffled: Curves) -> Chart:
    """The paper's figure: misclassified rows against passes, in both orders."""
    most = max(run.max() for run in given.runs + reshuffled.runs)
    panels = (
        (given, "Rows in the given order, pass after pass", VERMILLION),
        (reshuffled, "Rows reshuffled before each pass", BLUE),
    )

    def paint(figure: Any) -> None:
        axes = figure.subplots(2, sharex=True, sharey=True)
        for ax, (curves, text, color) in zip(axes, panels, strict=True):
            _plot_runs(ax, curves.runs, color)
            ax.set_yscale("symlog", linthresh=1, linscale=0.35)
            ax.set(ylim=(-0.15, None), ylabel="mistakes")
            ax.set_title(text, loc="left", color=color)
            set_ticks(ax.yaxis, [0, *(v for v in (1, 3, 10, 30, 100, 300, 1000) if v <= most)])
        axes[-1].set_xlabel("pass")

    name, facts = f"mistakes-{given.dataset.key}", {"given": given, "reshuffled": reshuffled}
    return draw_chart(name, given.dataset.title, paint, 4.0, of="online Polyceptron", **facts)


def _plot_runs(ax: Any, runs: list[Floats], color: str, **options: Any) -> None:
    """Draw all runs, the first of them bold and with these options."""
    for run in runs[1:]:
        ax.plot(np.arange(1, len(run) + 1), run, color=color, linewidth=0.6, alpha=0.4)
    counts = np.arange(1, len(runs[0]) + 1)
    ax.plot(counts, runs[0], color=color, linewidth=1.4, **options)


def criterion_chart(paper: Curves, small: Curves, step: float, small_step: float) -> Chart:
    """The criterion against iterations of batch, with the paper's step and a small one."""

    def paint(figure: Any) -> None:
        ax = figure.subplots()
        _plot_runs(ax, paper.runs, VERMILLION, label=f"step {step:g}, the paper's")
        _plot_runs(ax, small.runs, BLUE, linestyle=(0, (4, 1.2)), label=f"step {small_step:g}")
        ax.set(xscale="log", yscale="log", xlabel="iteration", ylabel="criterion")
        plain_log(ax.xaxis)
        plain_log(ax.yaxis)
        figure.legend(loc="outside upper left", ncols=2, handlelength=1.8, columnspacing=1.2)

    name = f"criterion-{paper.dataset.key}"
    facts: dict[str, Any] = {"paper": paper, "small": small, "small_step": small_step}
    return draw_chart(name, paper.dataset.title, paint, 2.9, of="batch Polyceptron", **facts)


def time_chart(dataset: Dataset, rows: list[TableRow]) -> Chart:
    """Accuracy, and beside it seconds of a fit: one line a method, the most accurate on top."""
    rising = sorted(rows, key=lambda row: row.accuracy.mean)

    def paint(figure: Any) -> None:
        left, right = figure.subplots(1, 2, sharey=True)
        for at, row in enumerate(rising):
            marker, color = _MARKS[row.method.kind]
            mean, spread = row.accuracy.mean, row.accuracy.spread
            left.errorbar(mean, at, xerr=spread, fmt=marker, color=color, elinewidth=1)
            right.plot(row.seconds.mean, at, marker, color=color)
        left.set_yticks(range(len(rising)), [row.method.short for row in rising])
        left.set_xlabel("accuracy in %")
        right.set(xscale="log", xlabel="seconds of a fit")
        right.margins(x=0.12)
        plain_log(right.xaxis, 4)
        for ax in (left, right):
            ax.tick_params(axis="y", length=0)
            ax.grid(axis="both")

    fastest = min(rows, key=lambda row: row.seconds.mean)
    facts: dict[str, Any] = {"rows": rows, "best": rising[-1], "fastest": fastest}
    height = max(2.9, 0.7 + 0.18 * len(rows))
    return draw_chart(f"time-{dataset.key}", dataset.title, paint, height, **facts)


def plane_chart(learned: Learned) -> Chart:
    """A slice of a polyhedron by the plane that says most about its faces, with its rows."""
    X, polyhedron = learned.X, learned.polyhedron

    def paint(figure: Any) -> None:
        # Axes of their own size, whatever labels they had for a moment: arrows depend on it.
        figure.set_layout_engine("none")
        ax = figure.add_axes((0.13, 0.14, 0.86, 0.85))
        unnamed = Polyhedron(polyhedron.W, polyhedron.b)  # no room for names
        looks: dict[str, Any] = {"inside": learned.inside, "plane": "faces", "at": X.mean(axis=0)}
        PolyhedronDisplay.from_polyhedron(unnamed, X, learned.y, ax=ax, **looks)
        ax.get_legend().remove()
        ax.set_title("", loc="left")
        ax.grid(False)
        ax.set(xlabel="first direction, in spreads", ylabel="second direction")
        for points in ax.collections:
            points.set_sizes(points.get_sizes() * 0.45)

    dataset = learned.dataset
    return draw_chart(f"plane-{dataset.key}", dataset.title, paint, 3.4, learned=learned)
