"""Work in threads whose results come in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_AHEAD = 2
"""Results that are ready or waiting, for each thread."""


def in_order(tasks: Iterable[Callable[[], T]], n_threads: int) -> Iterator[T]:
    """Run tasks in threads, few at a time, and give their results in order.

    Examples
    --------
    >>> list(in_order([lambda: 1, lambda: 2, lambda: 3], 2))
    [1, 2, 3]
    """
    waiting: deque[Future[T]] = deque()
    pool = ThreadPoolExecutor(n_threads)
    try:
        for task in tasks:
            waiting.append(pool.submit(task))
            if len(waiting) >= _AHEAD * n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
