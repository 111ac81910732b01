"""Small tables and other text for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import click


def shown(label: Any) -> str:
    """Return a label on one line, whatever it holds."""
    from polyceptron.utils.text import quoted

    text = str(label)
    return text if text.isprintable() and text.strip() == text and text else quoted(text)


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], *, left: int = 1) -> str:
    """Return aligned columns: the first `left` to the left, the others to the right.

    Examples
    --------
    >>> print(table(["face", "rows"], [["0", 12], ["1", 3]]))
    face  rows
    0       12
    1        3
    """
    cells = [list(map(str, row)) for row in [header, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        padded = [
            cell.ljust(width) if j < left else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def indented(text: str) -> str:
    """Return text with two blanks before every line."""
    return "\n".join(f"  {line}" for line in text.splitlines())


def percent(share: float) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> percent(0.97348)
    '97.35%'
    """
    return f"{100 * share:.2f}%"


def section(title: str, body: str) -> None:
    """Print a title and what belongs to it."""
    click.echo(f"\n{title}\n{indented(body)}")


def note(text: str) -> None:
    """Say something beside the results, on stderr, if anyone listens."""
    with suppress(BrokenPipeError):
        click.echo(f"Note: {text}", err=True)
