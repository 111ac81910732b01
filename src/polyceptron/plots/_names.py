"""The user's words as labels: printable, short, and still told apart."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any


def shorten(text: Any, width: int = 24) -> str:
    r"""Return `text` on one line and at most `width` long, with its middle left out.

    Examples
    --------
    >>> shorten("age"), shorten("concentration of chloride, mg per litre", 20), shorten("a\nb")
    ('age', 'concentrat…per litre', 'a\\nb')
    """
    # Only so many characters can be seen; the rest of a very long name is not looked at.
    whole = str(text) or '""'
    ends = whole if len(whole) <= 2 * width else whole[:width] + whole[-width:]
    line = "".join(c if c.isprintable() else _escaped(c) for c in ends)
    if len(line) > width or len(ends) < len(whole):
        front = width // 2
        line = f"{line[:front]}…{line[-(width - 1 - front) :]}"
    return line


MARK = "\u200e"
"""Left-to-right: it has no width, and ends a run from right to left."""


def short_names(names: Sequence[Any], width: int = 24) -> list[str]:
    """Return all names shortened; those that are alike then get the number of their column.

    Examples
    --------
    >>> short_names(["mean of the radius", "mean of some radius", "age"], 11)
    ['mean… #0', 'mean… #1', 'age']
    """
    short = [shorten(name, width) for name in names]
    alike = Counter(short)
    return [
        text if alike[text] == 1 else f"{shorten(name, 2 * width)[: width - 6].rstrip('… ')}… #{j}"
        for j, (text, name) in enumerate(zip(short, names, strict=True))
    ]


def steady(text: str) -> str:
    """Return a label in which what follows a name from right to left is not drawn before it.

    That is done by marks without width around such names; other labels stay as they are.
    """
    if not any(map(_leftwards, text)):
        return text
    words = re.split(r"(\s+)", text)
    marked = "".join(f"{w}{MARK}" if any(map(_leftwards, w)) else w for w in words)
    return MARK + marked.replace("\n", f"\n{MARK}")  # each line has a direction of its own


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return the first few names with commas, and an ellipsis where there are more."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def _leftwards(character: str) -> bool:
    return unicodedata.bidirectional(character) in ("R", "AL", "AN")


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
