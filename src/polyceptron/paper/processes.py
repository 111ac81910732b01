"""Independent work in several processes, which end with the one that started them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, TypeVar

from joblib import Parallel, delayed

Answer = TypeVar("Answer")


def in_processes(
    function: Callable[..., Answer], arguments: Iterable[tuple[Any, ...]], jobs: int
) -> Iterator[Answer]:
    """Results as they come, in any order; of one job in this process."""
    if jobs == 1:
        yield from (function(*given) for given in arguments)
        return
    pool = Parallel(jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
    # Ctrl-C reaches the whole group of processes; only the first of them shall speak of it, so
    # those started here inherit that they ignore it.
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        results = pool(delayed(_work)(os.getpid(), function, given) for given in arguments)
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
    yield from results


def report_progress(
    results: Iterable[Answer], total: int, left: int, progress: Callable[[int, int], None] | None
) -> Iterator[Answer]:
    """Pass results on, ``left`` of a ``total``, and call ``progress(done, total)`` after each."""
    say = progress or (lambda _done, _total: None)
    say(total - left, total)
    for done, result in enumerate(results, total - left + 1):
        yield result
        say(done, total)


def _work(parent: int, function: Callable[..., Answer], given: tuple[Any, ...]) -> Answer:
    _end_with(parent)
    return function(*given)


@cache
def _end_with(parent: int) -> None:
    """Leave when the parent is gone: a killed one cannot say goodbye to its workers."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
