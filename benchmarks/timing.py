"""Timing in turns: the sides of a ratio alternate, so that both meet the same machine."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from sklearn.exceptions import ConvergenceWarning

HOW = "best of the rounds for each side; the sides take turns"


Clock = Callable[[], float]


def seconds(function: Callable[[], object], clock: Clock = time.perf_counter) -> float:
    start = clock()
    function()
    return clock() - start


def in_turns(
    sides: dict[Any, Callable[[], object]], rounds: int, clock: Clock = time.perf_counter
) -> dict[Any, float]:
    """Best time of each side over the rounds, after one round that does not count."""
    best = dict.fromkeys(sides, np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for function in sides.values():
            function()
        gc.collect()
        for _ in range(rounds):
            for name, function in sides.items():
                best[name] = min(best[name], seconds(function, clock))
    return best


@njit(fastmath={"reassoc", "nsz"}, nogil=True)
def _sum(values):
    total = values.dtype.type(0)
    for i in range(values.shape[0]):  # by index: `for value in values` is not vectorised
        total += values[i]
    return total


@njit(fastmath={"reassoc", "nsz"}, nogil=True)
def _sum_of_four_streams(values):
    quarter = values.shape[0] // 4
    a = b = c = d = values.dtype.type(0)
    for i in range(quarter):
        a += values[i]
        b += values[i + quarter]
        c += values[i + 2 * quarter]
        d += values[i + 3 * quarter]
    return a + b + c + d


def read_once(X: np.ndarray) -> Callable[[], object]:
    """Read X from its first value to its last: a sum that the compiler may vectorise."""
    values = X.ravel()
    return lambda: _sum(values)


def read_in_streams(X: np.ndarray) -> Callable[[], object]:
    """Read X at four places at once, which keeps more of the memory busy."""
    values = X.ravel()
    return lambda: _sum_of_four_streams(values)


def check_yardstick(t: dict[str, float]) -> None:
    """Refuse to go on with a slow read: every ratio to it would look better than it is."""
    if t["read"] > 1.05 * t["numpy sum"]:
        raise RuntimeError(
            f"reading X took {t['read']:.4f} s, more than numpy's sum, {t['numpy sum']:.4f} s: "
            "the yardstick is not vectorised, or the machine is too busy to measure"
        )
