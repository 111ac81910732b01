"""Pictures as files: whole or not there, the same each time, and nothing in them is a link."""

from __future__ import annotations

import html
import io
import re
from os import PathLike
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from polyceptron.plots import style
from polyceptron.utils import atomic

# What changes from run to run, or names a program.
_WITHOUT_DATE = {
    "png": {"Software": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ margin: 0; padding: 1rem; overflow-x: auto;
 background: #fff; color: #222; font-family: sans-serif; }}
svg {{ display: block; width: 100%; min-width: {least:.0f}px; max-width: {width:.0f}px;
 height: auto; margin: 0 auto; }}
</style>
</head>
<body>
{svg}
</body>
</html>
"""


def save(
    picture: Any, path: str | PathLike[str], *, title: str = "Polyceptron", dpi: float = 150
) -> Path:
    """Write a picture to a file, in one step: a file that is there is replaced or left whole.

    A pipe or a device is written into. The same picture gives the same bytes. In SVG and HTML,
    names are text, never markup or a formula; an HTML page holds its picture, and loads nothing.

    Parameters
    ----------
    picture : display or any matplotlib Figure
    path : str or path
        Its end says what is written: .png, .svg, .pdf or .html; .gif for an animation.
    title : str, default="Polyceptron"
        Of an HTML page, and for those who do not see the picture.
    dpi : float, default=150
        Of a PNG.
    """
    target = Path(path)
    kind = target.suffix.lower().removeprefix(".")
    if hasattr(picture, "to_gif"):
        if kind != "gif":
            raise ValueError(f"path must end in .gif for an animation, got {str(path)!r}")
        atomic.write_bytes(target, picture.to_gif())
        return target
    if kind not in ("png", "svg", "pdf", "html"):
        raise ValueError(f"path must end in .png, .svg, .pdf or .html, got {str(path)!r}")
    figure = getattr(picture, "figure_", picture)
    if not hasattr(figure, "savefig"):
        raise ValueError(f"picture must be a display that is drawn, or a figure; got {picture!r}")
    atomic.write_bytes(target, rendered(figure, kind, title, dpi))
    return target


def rendered(figure: Any, kind: str, title: str, dpi: float) -> bytes:
    """Return a figure as the bytes of a file."""
    if kind in _WITHOUT_DATE:
        out = io.BytesIO()
        with style.drawing():
            figure.savefig(out, format=kind, dpi=dpi, metadata=_WITHOUT_DATE[kind])
        return out.getvalue()
    text = io.StringIO()
    settings = {"svg.fonttype": "none", "svg.hashsalt": "polyceptron"}
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with style.pyplot().rc_context(settings), style.drawing():
        figure.savefig(text, format="svg", metadata=nothing)
    # What the writer let through of names that are no text of XML would not be read back.
    root = ElementTree.fromstring(text.getvalue())
    for child in root.findall("{*}metadata"):
        root.remove(child)
    root.attrib |= {"role": "img", "aria-label": _printable(title)}
    if kind == "svg":
        ElementTree.register_namespace("", "http://www.w3.org/2000/svg")
        ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
        return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))
    width = float(root.attrib.pop("width").removesuffix("pt")) * 96 / 72
    root.attrib.pop("height", None)
    for element in root.iter():  # as HTML has it: ``href`` for ``xlink:href``, and no prefixes
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
    svg = ElementTree.tostring(root, encoding="unicode")
    least = 0.6 * width  # smaller, text is not read; a narrow window scrolls
    title = html.escape(_printable(title))
    return _PAGE.format(title=title, least=least, width=width, svg=svg.strip()).encode("utf-8")


def _printable(text: str) -> str:
    return re.sub(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", " ", text)
