"""Small tables and other text for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from textwrap import indent
from typing import Any

import click

from polyceptron.cli._lazy import text as texts


def shown(label: Any) -> str:
    """Return a label on one line, whatever it holds."""
    text = str(label)
    plain = text.isprintable() and text.strip() == text and text
    return text if plain else str(texts.quoted(text))


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], align: str = "<") -> str:
    """Return aligned columns: where `align` has no < for them, to the right.

    Examples
    --------
    >>> print(table(["face", "rows"], [["0", 12], ["1", 3]]))
    face  rows
    0       12
    1        3
    """
    cells = [list(map(str, row)) for row in [header, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    sides = zip(align.ljust(len(widths), ">"), widths, strict=True)
    line = "  ".join(f"{{:{side}{width}}}" for side, width in sides)
    return "\n".join(line.format(*row).rstrip() for row in cells)


def percent(share: float) -> str:
    """Return a share as a percentage."""
    return f"{100 * share:.2f}%"


def section(title: str, body: str) -> None:
    """Print a title and what belongs to it."""
    click.echo(f"\n{title}\n{indent(body, '  ')}")


def note(text: str) -> None:
    """Say something beside the results, on stderr, if anyone listens."""
    with suppress(BrokenPipeError):
        click.echo(f"Note: {text}", err=True)
