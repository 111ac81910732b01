"""What is said on the terminal: small tables, notes, and how far long work has got.

That is a bar on a terminal, now and then a line elsewhere; both on stderr.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from textwrap import indent
from typing import Any, Self

import click

from polyceptron.cli._lazy import rich_progress as bars
from polyceptron.cli._lazy import text as texts

_SECONDS_BEFORE_A_BAR = 1.0
_SECONDS_BETWEEN_LINES = 30.0


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


def note(text: str, kind: str = "Note") -> None:
    """Say something beside the results, on stderr, if anyone listens."""
    with suppress(BrokenPipeError):
        click.echo(f"{kind}: {text}", err=True)


class Waiting:
    """Shows what is going on, and for how long, once it has taken a second; a context manager.

    It also turns Python's warnings into notes of one line. What is `counted` also shows how much
    of it is done; where there is no terminal, now and then in a line.
    """

    def __init__(self, what: str, *, counted: bool = False) -> None:
        from rich.console import Console

        console = Console(stderr=True)
        description = bars.TextColumn("{task.description}", markup=False)
        columns = [description, bars.BarColumn(bar_width=20), bars.TimeElapsedColumn()]
        if counted:
            left = bars.TextColumn("left"), bars.TimeRemainingColumn()
            columns = [*columns[:2], bars.MofNCompleteColumn(), columns[2], *left]
        self._bar = bars.Progress(
            *columns, console=console, transient=True, disable=not console.is_terminal
        )
        self._task = self._bar.add_task(what, total=None)
        self._timer = threading.Timer(_SECONDS_BEFORE_A_BAR, self._bar.start)
        self._timer.daemon = True
        self._caught = warnings.catch_warnings(record=True)
        self._lines = counted and self._bar.disable
        self._begun = self._said = time.monotonic()
        self._first: int | None = None
        self.total = 0

    def say(self, what: str, done: int, total: int) -> None:
        """Change what is shown, and how much of it is done."""
        self._bar.update(self._task, description=what, completed=done, total=total)

    def __call__(self, done: int, total: int) -> None:
        """Say how much is done."""
        what, self.total = self._bar.tasks[0].description, total
        self.say(what, done, total)
        now = time.monotonic()
        if self._first is None:
            self._first = done
        if not self._lines or done == self._first or now - self._said < _SECONDS_BETWEEN_LINES:
            return
        self._said = now
        left = (now - self._begun) / (done - self._first) * (total - done)
        duration = f"{left / 60:.0f} min" if left >= 90 else f"{left:.0f} s"
        click.echo(f"{what}: {done} of {total}, about {duration} left", err=True)

    def __enter__(self) -> Self:
        self._warnings = self._caught.__enter__()
        warnings.simplefilter("always")
        for said in ("the fitted rule never answers", ".* though a locked face"):  # by the verdict
            warnings.filterwarnings("ignore", said)
        self._timer.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._timer.cancel()
        self._timer.join()
        if self._bar.live.is_started:
            self._bar.stop()
        self._caught.__exit__(*error)
        if error[0] is None:
            for text in dict.fromkeys(str(item.message) for item in self._warnings or []):
                note(" ".join(text.split()), "Warning")
