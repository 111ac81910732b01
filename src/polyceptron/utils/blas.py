"""BLAS by one thread, while scipy's L-BFGS runs.

L-BFGS asks BLAS for systems of a few numbers, thousands of times. With several threads those
that wait keep their cores busy: twice the processor time on two cores, and where other
processes want the cores too a fit can take ten times as long.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


class _OneThread:
    """A context that limits BLAS; the last of several threads to leave lifts the limit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._limiter.restore_original_limits()


@cache
def _controller() -> Any:
    return ThreadpoolController()  # finding the libraries takes milliseconds


ONE_BLAS_THREAD = _OneThread()
