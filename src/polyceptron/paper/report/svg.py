"""Matplotlib figures as SVG that is part of a page: its fonts, its colours, dark or light."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from polyceptron.plots import style

# Figures are drawn in these colours, and the page says by variables what they are.
PURPLE, ORANGE, RULE = "#CC79A7", "#E69F00", "#E6E6E6"
VARIABLES = {
    style.BLUE: "--blue",
    style.VERMILLION: "--vermillion",
    style.GREEN: "--green",
    PURPLE: "--purple",
    ORANGE: "--orange",
    style.INK: "--ink",
    style.FAINT: "--faint",
    style.PAPER: "--paper",
    RULE: "--rule",
}
_OF_COLOUR = {colour.lower(): f"var({name})" for colour, name in VARIABLES.items()}
_RC = {
    "svg.fonttype": "none",
    "font.size": 9.5,
    "axes.labelsize": 9.5,
    "axes.titlesize": 9.5,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "text.color": style.INK,
    "axes.labelcolor": style.INK,
    "axes.edgecolor": style.FAINT,
    "axes.linewidth": 0.8,
    "path.simplify_threshold": 0.2,
    "text.parse_math": False,
    "axes.formatter.use_mathtext": False,
}
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")


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


def draw(
    name: str,
    title: str,
    label: str,
    caption: str,
    paint: Callable[[Any], None],
    size: tuple[float, float] = (3.9, 2.9),
) -> Chart:
    """Let `paint` draw in a new matplotlib Figure, and return it as part of a page.

    Text needs no escaping here: it leaves matplotlib as text of an XML document, is read
    as such and written again. The same drawing gives the same characters.
    """
    from matplotlib import style as looks
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings = {**_RC, "svg.hashsalt": name}
    with looks.context(["default", settings]):
        figure = Figure(figsize=size, layout="constrained", facecolor="none")
        FigureCanvasAgg(figure)  # measures text; no window, no state
        figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03)
        paint(figure)
        for ax in figure.axes:
            ax.set_facecolor("none")
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return Chart(name, title, label, caption, _inline(out.getvalue(), name, label))


def _inline(text: str, name: str, label: str) -> str:
    """An SVG document as an element of HTML, with no identifier that another figure has."""
    root = ElementTree.fromstring(text)
    used = set(re.findall(r"#([\w-]+)", text))
    # The viewBox stays, so the page decides about the size.
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    for parent in list(root.iter()):
        for child in list(parent):
            if _plain(child.tag) in ("metadata", "style") or _is_empty(child):
                parent.remove(child)
    for element in root.iter():
        element.tag = _plain(element.tag)
        element.attrib = {
            _plain(key): _value(value, name) for key, value in element.attrib.items() if key != "id"
        } | _identifier(element.attrib.get("id"), used, name)
    root.attrib |= {"role": "img", "aria-label": label}
    return ElementTree.tostring(root, encoding="unicode").strip()


def _plain(name: str) -> str:
    return name.rpartition("}")[2]


def _is_empty(element: ElementTree.Element) -> bool:
    return _plain(element.tag) in ("g", "defs") and len(element) == 0


def _identifier(found: str | None, used: set[str], name: str) -> dict[str, str]:
    return {"id": f"{name}-{found}"} if found in used else {}


def _value(value: str, name: str) -> str:
    value = re.sub(r"#([0-9a-fA-F]{6})\b", _variable, value)
    value = re.sub(r"(?<=url\(#)|(?<=^#)", f"{name}-", value)
    value = re.sub(r"('[\w ]+'|sans-serif)(, ('[\w ]+'|sans-serif|cursive))*", "var(--sans)", value)
    return _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.2f}", value)


def _variable(found: re.Match[str]) -> str:
    return _OF_COLOUR.get(found[0].lower(), found[0])
