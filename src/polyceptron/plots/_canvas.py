"""A canvas of pixels that names the characters its font cannot draw.

In SVG and HTML they stay as they are: a browser finds a font for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.font_manager import FontProperties, findfont, get_font


def legible(text: str, families: Sequence[str]) -> str:
    """Return a line with U+XXXX for what the fonts cannot draw; of many in a row, for the ends.

    Examples
    --------
    >>> legible("dose \N{CJK UNIFIED IDEOGRAPH-4E2D}, mg", ["DejaVu Sans"])
    'dose U+4E2D, mg'
    """
    if text.isascii():
        return text
    fonts = [get_font(findfont(FontProperties(family=[family]))) for family in families]
    runs = groupby(text, lambda c: any(font.get_char_index(ord(c)) for font in fonts))
    return "".join("".join(run) if drawn else _codes("".join(run)) for drawn, run in runs)


def _codes(missing: str) -> str:
    if len(missing) > 2:
        return f"{_codes(missing[0])}…{_codes(missing[-1])}"
    return " ".join(f"U+{ord(character):04X}" for character in missing)


class Renderer(RendererAgg):
    """Agg, with legible text."""

    def draw_text(
        self, gc: Any, x: Any, y: Any, s: str, prop: Any, angle: Any, ismath: Any = False,
        mtext: Any = None,
    ) -> None:  # fmt: skip
        """Draw a line of text."""
        super().draw_text(gc, x, y, _plain(s, prop, ismath), prop, angle, ismath, mtext)

    def get_text_width_height_descent(self, s: str, prop: Any, ismath: Any) -> Any:
        """Measure a line of text."""
        return super().get_text_width_height_descent(_plain(s, prop, ismath), prop, ismath)


def _plain(text: str, prop: Any, is_formula: Any) -> str:
    return text if is_formula else legible(text, prop.get_family())


class FigureCanvas(FigureCanvasAgg):
    """Agg's canvas; its name is the one that matplotlib looks for in a backend."""

    _made: tuple[Any, Renderer] | None = None

    def get_renderer(self) -> Renderer:
        """Return what draws on this canvas, the same as long as its size is."""
        size = (*self.get_width_height(physical=True), self.figure.dpi)
        if self._made is None or self._made[0] != size:
            self._made = size, Renderer(*size)
        self.renderer = self._made[1]
        return self.renderer
