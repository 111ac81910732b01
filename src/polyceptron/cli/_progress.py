"""How far long work has got, on stderr: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import threading
import time
import warnings
from contextlib import suppress
from typing import Any, Self

import click

from polyceptron.cli._lazy import rich_progress as bars

_SECONDS_BEFORE_A_BAR = 1.0
_SECONDS_BETWEEN_LINES = 30.0


def _bar_on_a_terminal(*columns: Any) -> Any:
    """A bar with a description before these columns, or None where nobody would see it."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        return None
    description = bars.TextColumn("{task.description}", markup=False)
    return bars.Progress(description, *columns, console=console, transient=True)


class Progress:
    """Call it with (done, total); it is a context manager that takes the bar away at the end."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.total = 0
        columns = bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeElapsedColumn()
        self._bar = _bar_on_a_terminal(
            *columns, bars.TextColumn("left"), bars.TimeRemainingColumn()
        )
        if self._bar is not None:
            self._task = self._bar.add_task(what, total=None)
        self._begun = self._said = time.monotonic()
        self._first: int | None = None

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        self.total = total
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)
            return
        now = time.monotonic()
        if self._first is None:
            self._first = done
        if now - self._said < _SECONDS_BETWEEN_LINES or done == self._first:
            return
        self._said = now
        left = (now - self._begun) / (done - self._first) * (total - done)
        duration = f"{left / 60:.0f} min" if left >= 90 else f"{left:.0f} s"
        click.echo(f"{self.what}: {done} of {total}, about {duration} left", err=True)


class Waiting:
    """Shows what is going on, and for how long, once it has taken a second; a context manager.

    It also turns Python's warnings into notes of one line.
    """

    def __init__(self, what: str) -> None:
        self._now: dict[str, Any] = {"description": what, "total": None}
        self._bar: Any = None
        self._lock = threading.Lock()
        self._over = False
        self._timer = threading.Timer(_SECONDS_BEFORE_A_BAR, self._show)
        self._timer.daemon = True
        self._caught = warnings.catch_warnings(record=True)

    def say(self, what: str, done: int = 0, total: int | None = None) -> None:
        """Change what is shown, and how much of it is done where that is known."""
        with self._lock:
            self._now = {"description": what, "completed": done, "total": total}
            if self._bar is not None:
                self._bar.update(self._bar.task_ids[0], **self._now)

    def _show(self) -> None:
        # The bar swings where the total is not known.
        bar = _bar_on_a_terminal(bars.BarColumn(bar_width=20), bars.TimeElapsedColumn())
        with self._lock:
            if bar is not None and not self._over:
                self._bar = bar
                bar.add_task(**self._now)
                bar.start()

    def __enter__(self) -> Self:
        self._warnings = self._caught.__enter__()
        warnings.simplefilter("always")
        self._timer.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._bar is not None:
                self._bar.stop()
        self._caught.__exit__(*error)
        if error[0] is None:
            with suppress(BrokenPipeError):
                for text in dict.fromkeys(str(item.message) for item in self._warnings or []):
                    click.echo(f"Warning: {' '.join(text.split())}", err=True)
