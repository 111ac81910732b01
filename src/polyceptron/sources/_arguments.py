"""Arguments of `open_blocks`, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyceptron.data.source import SourceError

Names = str | int | Sequence[str | int]


def as_names(names: Names) -> tuple[str, ...]:
    """Names or numbers of columns as text."""
    return (str(names),) if isinstance(names, str | int) else tuple(map(str, names))


def as_name(name: Any, what: str) -> str | None:
    """The name or number of a column as text."""
    if name is None:
        return None
    if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
        raise SourceError(f"{what} must be the name or number of a column; got {name!r:.60}")
    return str(name)


def as_missing(missing: Any) -> str | None:
    """What to do with rows that have a missing value."""
    if missing == "median":
        raise SourceError(
            "missing='median' needs all rows in memory; fill the gaps before, or use 'drop'"
        )
    if missing not in (None, "drop"):
        raise SourceError(f"missing must be None or 'drop'; got {missing!r}")
    return "drop" if missing else None


def as_dtype(dtype: Any) -> str | None:
    """The name of the type of rows."""
    if dtype is None:
        return None
    try:
        name = str(np.dtype(dtype).name)
    except TypeError:
        name = ""
    if name not in ("float32", "float64"):
        raise SourceError(f"dtype must be None, 'float32' or 'float64'; got {dtype!r}")
    return name
