"""A sign of life on stderr for work that takes more than a second."""

from __future__ import annotations

import threading
import warnings
from types import TracebackType
from typing import Any, Self

import click

_SECONDS = 1.0


class Waiting:
    """Shows what is going on, and for how long, once it has taken a second; a context manager.

    It also turns Python's warnings into notes of one line.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._status: Any = None
        self._lock = threading.Lock()
        self._over = False
        self._timer = threading.Timer(_SECONDS, self._show)
        self._timer.daemon = True
        self._caught = warnings.catch_warnings(record=True)

    def say(self, what: str) -> None:
        """Change what is shown."""
        with self._lock:
            self._what = what
            if self._status is not None:
                self._status.update(what)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        if not console.is_terminal:
            return
        with self._lock:
            if self._over:
                return
            bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                TimeElapsedColumn(),
                console=console,
                transient=True,
            )
            self._status = _Task(bar, self._what)
            bar.start()

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
            if self._status is not None:
                self._status.bar.stop()
        self._caught.__exit__(kind, error, trace)
        if error is None:
            for text in dict.fromkeys(str(item.message) for item in self._warnings or []):
                click.echo(f"Warning: {' '.join(text.split())}", err=True)


class _Task:
    def __init__(self, bar: Any, what: str) -> None:
        self.bar, self._task = bar, bar.add_task(what, total=None)

    def update(self, what: str) -> None:
        self.bar.update(self._task, description=what)
