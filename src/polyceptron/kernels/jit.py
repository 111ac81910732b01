"""How kernels are compiled, where the result is kept, and what is said meanwhile.

Numba compiles a kernel together with all that it calls, but looks only at the kernel's own file to
tell whether what it kept is still true. So its cache is put into a folder named after the sources
of this whole package. Compiled code may call what is in its own file or in this package, no more.
"""

import hashlib
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import resources
from typing import Any, TypeVar

from numba import njit
from numba.core import event as numba_event
from numba.core.caching import CompileResultCacheImpl, FunctionCache

_F = TypeVar("_F", bound=Callable[..., Any])


def compiled(function: _F) -> _F:
    """Compile on first use and cache on disk where some place is writable."""
    kernel = njit(nogil=True, error_model="numpy")(function)
    if kernel is not function:  # under NUMBA_DISABLE_JIT=1 it is
        with suppress(OSError, RuntimeError):  # no writable directory: compile in every process
            kernel._cache = _Cache(function)
    return kernel  # type: ignore[no-any-return]


def inlined(function: _F) -> _F:
    """Compile as a part of whoever calls it: a function of its own takes a quarter of a second."""
    return njit(nogil=True, error_model="numpy", inline="always")(function)  # type: ignore[no-any-return]


@cache
def _folder() -> str:
    """A name that changes with any source of this package."""
    digest = hashlib.blake2b(digest_size=8)
    for file in sorted(resources.files(__package__).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".py"):
            digest.update(hashlib.blake2b(file.read_bytes()).digest())
    return f"polyceptron-{digest.hexdigest()}"


class _Files(CompileResultCacheImpl):
    """Numba's choice of a place, and our folder in it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        path = os.path.join(self.locator.get_cache_path(), _folder())  # noqa: PTH118 - as Numba's
        self.locator.get_cache_path = lambda: path
        self.locator.ensure_cache_path()


class _Cache(FunctionCache):
    _impl_class = _Files


@cache  # once
def _announce() -> None:
    if not os.environ.get("POLYCEPTRON_QUIET"):
        message = "polyceptron: compiling kernels for this machine (once; the result is cached)"
        print(message, file=sys.stderr, flush=True)


class _Listener(numba_event.Listener):
    """Announces a compilation of ours that takes over a second."""

    def __init__(self) -> None:
        self._timers: list[threading.Timer] = []

    def on_start(self, event: Any) -> None:
        if self._is_ours(event):
            timer = threading.Timer(1.0, _announce)
            timer.daemon = True
            self._timers.append(timer)
            timer.start()

    def on_end(self, event: Any) -> None:
        if self._is_ours(event):
            self._timers.pop().cancel()

    def _is_ours(self, event: Any) -> bool:
        return str(event.data["dispatcher"].py_func.__module__).startswith("polyceptron.")


numba_event.register("numba:compile", _Listener())
