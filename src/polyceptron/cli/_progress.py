"""How far long work has got, on stderr: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console

_SECONDS_BETWEEN_LINES = 30.0


class Progress:
    """Call it with (done, total); it is a context manager that takes the bar away at the end."""

    def __init__(self, what: str) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bar

        self.what = what
        self.console: Console = Console(stderr=True)
        self.done = self.total = 0
        self._bar: Bar | None = None
        if self.console.is_terminal:
            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=self.console,
                transient=True,
            )
            self._task = self._bar.add_task(what, total=None)
        self._begun = self._said = time.monotonic()
        self._first: int | None = None

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        self.done, self.total = done, total
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
        self.console.print(f"{self.what}: {done} of {total}, about {_duration(left)} left")


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
