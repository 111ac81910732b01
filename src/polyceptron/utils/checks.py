"""What arguments must be, said in one place: each check names the argument and what it found."""

import math
from collections.abc import Iterable
from datetime import date, time, timedelta
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polyceptron.utils.types import Floats

_TIMES = {"M": "dates", "m": "spans of time"}


def as_count(value: Any, name: str, least: int = 1) -> int:
    """Return `value` as an int of at least `least`, or raise a ValueError that names it."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return int(value)


def as_real(value: Any, name: str, *, positive: bool = False) -> float:
    """Return `value` as a finite float of at least 0, or raise a ValueError that names it."""
    asked = "positive" if positive else "at least 0"
    real = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not real or not math.isfinite(value) or value < 0 or (positive and value == 0):
        raise ValueError(f"{name} must be a finite number, {asked}, got {value!r}")
    return float(value)


def refuse_text(value: Any, name: str) -> None:
    """Raise a ValueError if `value` holds text or dates: numpy would make numbers of them."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind is not None and kind in "biuf":
        return
    columns = getattr(value, "columns", None)
    if columns is not None:
        for column in columns:
            # A column of numbers is not looked through.
            refuse_text(np.asarray(value[column]), f"{name}, column {column!r},")
        return
    if kind is None and not isinstance(value, list | tuple):
        return
    raw = value if kind is not None else np.asarray(value)
    if raw.dtype.kind in "US":
        raise ValueError(f"{name} must hold real numbers; got text ({raw.dtype})")
    if raw.dtype.kind in "mM":
        raise ValueError(
            f"{name} must hold real numbers; got {_TIMES[raw.dtype.kind]} ({raw.dtype}): "
            "say which numbers, for example days since a day of your choice"
        )
    if raw.dtype.kind == "O":
        refused = str | bytes | date | time | timedelta | np.datetime64 | np.timedelta64
        found = next((item for item in raw.flat if isinstance(item, refused)), None)
        if isinstance(found, str | bytes):
            raise ValueError(f"{name} must hold real numbers; got the text {found!r}")
        if found is not None:
            raise ValueError(f"{name} must hold real numbers; got the date or time {found!r}")


def as_floats(value: Any, name: str, *, copy: bool = False) -> Floats:
    """Return `value` as a C-contiguous float64 array.

    Booleans, integers and real numbers pass, also as objects. Text, dates and complex numbers do
    not: numpy would parse the first two and silently drop the imaginary part of the third.
    """
    try:
        raw = np.asarray(value)
        refuse_text(raw, name)
        if raw.dtype.kind not in "biufO":
            raise TypeError(f"found {raw.dtype}")
        return np.array(raw, dtype=np.float64, order="C", copy=True if copy else None)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold real numbers ({error})") from None


def check_faces(W: Floats, b: Floats) -> None:
    """Raise a ValueError that names the first face that cannot be one."""
    if W.ndim != 2 or 0 in W.shape:
        raise ValueError(
            "W must be 2-D, one row a face, with at least one face and one feature; "
            f"got shape {W.shape}"
        )
    if b.shape != (W.shape[0],):
        raise ValueError(
            f"b must hold one offset a face, shape ({W.shape[0]},); got shape {b.shape}"
        )
    if not np.isfinite(W).all():
        k, j = np.argwhere(~np.isfinite(W))[0]
        raise ValueError(f"W must be finite; row {k}, column {j} is {W[k, j]}")
    if not np.isfinite(b).all():
        k = np.flatnonzero(~np.isfinite(b))[0]
        raise ValueError(f"b must be finite; row {k} is {b[k]}")
    flat = np.flatnonzero(~W.any(axis=1))
    if flat.size:
        raise ValueError(
            f"W must have a nonzero normal for every face; row {flat[0]} is all zero "
            f"(b[{flat[0]}] is {b[flat[0]]})"
        )


def as_names(names: Iterable[str] | None, n_features: int) -> tuple[str, ...] | None:
    """Return the names of `n_features` columns as a tuple of different strings, or None."""
    if names is None:
        return None
    if isinstance(names, str):
        raise ValueError(f"feature_names must be a sequence of strings; got the string {names!r}")
    listed = tuple(names)
    if len(listed) != n_features:
        raise ValueError(
            f"feature_names must have one name a column, {n_features}; got {len(listed)}"
        )
    seen: dict[str, int] = {}
    for j, name in enumerate(listed):
        if not isinstance(name, str):
            raise ValueError(f"feature_names must be strings; item {j} is {name!r}")
        if name in seen:
            raise ValueError(
                f"feature_names must be different; items {seen[name]} and {j} are both {name!r}"
            )
        seen[name] = j
    return tuple(map(str, listed))


def as_columns(value: ArrayLike, name: str, n_features: int, *, finite: bool = True) -> Floats:
    """Return one number for each column."""
    array = as_floats(value, name)
    if array.shape not in ((), (n_features,)):
        raise ValueError(
            f"{name} must be a number or have one number a column, shape ({n_features},); "
            f"got shape {array.shape}"
        )
    columns = np.broadcast_to(array, (n_features,))
    bad = np.flatnonzero(~np.isfinite(columns))
    if finite and bad.size:
        raise ValueError(f"{name} must be finite; {name}[{bad[0]}] is {columns[bad[0]]}")
    return columns
