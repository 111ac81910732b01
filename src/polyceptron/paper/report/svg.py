"""Matplotlib figures as SVG that is part of a page: its fonts, its colours, dark or light."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

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
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= 10 * unit or (letter == "M" and value >= unit):
            return f"{value / unit:g}{letter}"
    return f"{value:g}"
