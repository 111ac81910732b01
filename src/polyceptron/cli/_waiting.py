"""A sign of life on stderr for work that takes more than a second."""

from __future__ import annotations

import threading
import warnings
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import click

_SECONDS = 1.0


class Waiting:
    """Shows what is going on, and for how long, once it has taken a second; a context manager.

    It also turns Python's warnings into notes of one line.
    """

    def __init__(self, what: str) -> None:
        self._now: dict[str, Any] = {"description": what, "total": None}
        self._bar: Any = None
        self._lock = threading.Lock()
        self._over = False
        self._timer = threading.Timer(_SECONDS, self._show)
        self._timer.daemon = True
        self._caught = warnings.catch_warnings(record=True)

    def say(self, what: str, done: int = 0, total: int | None = None) -> None:
        """Change what is shown, and how much of it is done where that is known."""
        with self._lock:
            self._now = {"description": what, "completed": done, "total": total}
            if self._bar is not None:
                self._bar.update(self._bar.task_ids[0], **self._now)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        if not console.is_terminal:
            return
        with self._lock:
            if self._over:
                return
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=20),  # it swings where the total is not known
                TimeElapsedColumn(),
                console=console,
                transient=True,
            )
            self._bar.add_task(**self._now)
            self._bar.start()

    def __enter__(self) -> Self:
        self._warnings = self._caught.__enter__()
        warnings.simplefilter("always")
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._bar is not None:
                self._bar.stop()
        self._caught.__exit__(kind, error, trace)
        if error is None:
            with suppress(BrokenPipeError):
                for text in dict.fromkeys(str(item.message) for item in self._warnings or []):
                    click.echo(f"Warning: {' '.join(text.split())}", err=True)
