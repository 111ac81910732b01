"""Matplotlib figures as SVG that is part of a page: its fonts, its colours, dark or light."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np

from polyceptron.paper.words import paragraphs

# Figures are drawn in these colours, those of polyceptron.plots among them (Okabe & Ito, 2008),
# and the page says by variables what they are.
BLUE, VERMILLION, GREEN, PURPLE, ORANGE = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"
INK, FAINT, PAPER, RULE = "#222222", "#999999", "#FFFFFF", "#E6E6E6"
VARIABLES = {
    BLUE: "--blue", VERMILLION: "--vermillion", GREEN: "--green", PURPLE: "--purple",
    ORANGE: "--orange", INK: "--ink", FAINT: "--faint", PAPER: "--paper", RULE: "--rule",
}  # fmt: skip


@dataclass(frozen=True)
class Chart:
    """A figure of the page: an ``svg`` element, which is safe to write, and plain text.

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
    """What `paint` draws, with label and caption from the template: its kind is how names begin."""
    kind, heading = name.partition("-")[0], f"{title}, {of}" if of else title
    label, caption = paragraphs("report/captions.txt.j2", kind=kind, title=title, **facts)
    return Chart(name, heading, label, caption, to_svg(name, label, paint, height))


def to_svg(name: str, label: str, paint: Callable[[Any], None], height: float = 2.9) -> str:
    """Let `paint` draw in a new matplotlib Figure, and return it as an element of the page.

    Matplotlib escapes all text. The same drawing gives the same characters.
    """
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    looks = str(files("polyceptron.paper.report").joinpath("figures.mplstyle"))
    with style.context(["default", looks, {"svg.hashsalt": name}]):
        figure = Figure(figsize=(3.9, height), layout="constrained", facecolor="none")
        FigureCanvasAgg(figure)  # measures text; no window, no state
        figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03)
        paint(figure)
        for ax in figure.axes:
            ax.set_facecolor("none")
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return _inline(out.getvalue(), name, label)


def _inline(text: str, name: str, label: str) -> str:
    """An SVG document as an element of HTML, with no identifier that another figure has."""
    used = set(re.findall(r"#(\w+)", text))
    text = re.sub(r"<(metadata|style)\b.*?</\1>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r"<g id=\"\w+\"/>|<defs>\s*</defs>\s*", "", text)
    # The viewBox stays, so the page decides about the size.
    start, rest = re.split(r"(?<=>)", text, maxsplit=1)
    box = re.search(r'viewBox="[^"]*"', start)
    assert box is not None
    start = f'<svg {box[0]} role="img" aria-label="{html.escape(label)}">'
    return start + re.sub(r"<\w[^>]*>", lambda tag: _of_page(tag[0], name, used), rest).strip()


def _of_page(tag: str, name: str, used: set[str]) -> str:
    """A tag without needless identifiers, in the colours and the font of the page."""
    tag = re.sub(r' id="(\w+)"', lambda found: found[0] if found[1] in used else "", tag)
    for colour, variable in VARIABLES.items():
        tag = re.sub(colour, f"var({variable})", tag, flags=re.IGNORECASE)
    tag = re.sub(r'(id="|#)(?=\w)', rf"\g<1>{name}-", tag.replace("xlink:href", "href"))
    tag = re.sub(r"('[\w ]+'|sans-serif)(, ('[\w ]+'|sans-serif|cursive))*", "var(--sans)", tag)
    return re.sub(r"-?\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", tag)


def set_ticks(axis: Any, values: list[float]) -> None:
    """Ticks at these values and nowhere else."""
    axis.minorticks_off()
    axis.set_ticks(values, [f"{value:g}" for value in values])


def plain_log(axis: Any) -> None:
    """Powers of ten as people write them."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axis.set_major_locator(LogLocator(numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _compact(value)))
    axis.minorticks_off()


def _compact(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if value >= 1e4 else f"{value:g}"


_ANGLES = np.deg2rad([0, 180, 90, 270, 30, 150, 330, 210, 60, 120, 300, 240])
_DISTANCES = (7.0, 13.0, 20.0, 28.0, 37.0, 47.0)
_LINE = {"arrowstyle": "-", "linewidth": 0.6, "alpha": 0.7, "shrinkA": 0, "shrinkB": 3}


def label_points(ax: Any, points: Sequence[tuple[float, float, str, str]]) -> None:
    """Write the text of each (x, y, text, colour) near its point, with a line where it is far.

    Each takes the nearest place that overlaps no label, no mark and no edge of the axes;
    those with the least room choose first.
    """
    from matplotlib.transforms import Bbox

    ax.figure.draw_without_rendering()
    ax.figure.set_layout_engine("none")  # the boxes must stay where they were measured
    scale, edge = ax.figure.dpi / 72, ax.get_window_extent()
    marks = ax.transData.transform([(x, y) for x, y, *_ in points])
    taken = [Bbox([mark - 4 * scale, mark + 4 * scale]) for mark in marks]
    crowd = [sum(np.hypot(*(mark - other)) < 40 * scale for other in marks) for mark in marks]
    for i in sorted(range(len(points)), key=lambda i: (-crowd[i], -marks[i][1], i)):
        x, y, text, color = points[i]
        label = ax.annotate(
            text, (x, y), (0, 0), textcoords="offset points", ha="center", va="center",
            fontsize=9, color=color, zorder=4,
        )  # fmt: skip
        box = label.get_window_extent(ax.figure.canvas.get_renderer())
        others = taken[:i] + taken[i + 1 :]
        best, least = np.zeros(2), np.inf
        for distance, angle in product(_DISTANCES, _ANGLES):
            towards = np.array([np.cos(angle), np.sin(angle)])
            place = towards * (distance + box.size / 2 / scale)
            cost = _cost(box.translated(*(scale * place)), others, edge)
            if cost < least:
                best, least = place, cost
            if cost == 0:
                break
        label.set_position(best)
        taken.append(box.translated(*(scale * best)))
        if np.hypot(*np.maximum(np.abs(best) - box.size / 2 / scale, 0)) > 9:
            line = {**_LINE, "color": color}
            ax.annotate("", (x, y), best, textcoords="offset points", arrowprops=line, zorder=4)


def _cost(box: Any, taken: Sequence[Any], edge: Any) -> float:
    """The area that a label shares with others or has beyond the edge; rounding is none."""

    def shared(other: Any) -> float:
        common = box.intersection(box, other)
        return 0.0 if common is None else float(common.width * common.height)

    beyond = float(box.width * box.height) - shared(edge)
    return round(sum(map(shared, taken)) + beyond, 6)
