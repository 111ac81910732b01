"""Where a learner is given a Dask collection: the rows become a source, answers become lazy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polyceptron.data.source import Source


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or frame; Dask itself is not imported."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def dask_source(X: Any, y: Any, sample_weight: Any) -> Source:
    """The rows, which stay on the workers."""
    from polyceptron.distributed import source_of

    return source_of(X, y, sample_weight)


def lazily(method: Callable[[Any], Any], X: Any) -> Any:
    """What a method of a fitted learner says of every chunk, when it is computed."""
    from polyceptron.distributed import lazy

    return lazy(method, X)
