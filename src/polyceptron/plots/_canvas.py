"""A canvas for pixels that names the characters its font cannot draw; imported when one is made.

In SVG and HTML names stay as they are: a browser finds a font for them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.font_manager import FontProperties, findfont, get_font


def legible(text: str, families: tuple[str, ...]) -> str:
    """Return a text with U+XXXX for what no font of these families can draw.

    Of several such characters on end the first and the last are named.

    Examples
    --------
    >>> legible("dose \\N{CJK UNIFIED IDEOGRAPH-4E2D}, mg", ("DejaVu Sans",))
    'dose U+4E2D, mg'
    """
    if text.isascii():
        return text
    parts: list[str] = []
    missing = ""
    for character in f"{text}\n":
        if character != "\n" and not _has(families, character):
            missing += character
            continue
        if missing:
            parts.append("…".join(f"U+{ord(c):04X}" for c in dict.fromkeys(missing[:: max(1, len(missing) - 1)])))
            missing = ""
        parts.append(character)
    return "".join(parts)[:-1]
