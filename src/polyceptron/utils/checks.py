"""What arguments must be, said in one place: each check names the argument and what it found."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time, timedelta
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyceptron.utils.text import quoted_names
from polyceptron.utils.types import Floats

_NO_NUMBERS = {"U": "text", "S": "text", "M": "dates", "m": "spans of time"}
_ENCODED = "encode it, for example by sklearn.preprocessing.OneHotEncoder"
_AS_NUMBERS = "say which numbers, for example days since a day of your choice"


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
    if isinstance(columns, list) and hasattr(value, "column_names"):
        columns = value.column_names  # the columns of an Arrow table are arrays
    if columns is not None:
        for column in columns:
            # A column of numbers is not looked through.
            refuse_text(np.asarray(value[column]), f"{name}, column {column!r},")
        return
    if kind is None and not isinstance(value, list | tuple):
        return
    raw = value if kind is not None else np.asarray(value)
    if raw.dtype.kind in _NO_NUMBERS:
        remedy = _AS_NUMBERS if raw.dtype.kind in "Mm" else _ENCODED
        what = f"{_NO_NUMBERS[raw.dtype.kind]} ({raw.dtype}): {remedy}"
        raise ValueError(f"{name} must hold real numbers; got {what}")
    if raw.dtype.kind == "O":
        refused = str | bytes | date | time | timedelta | np.datetime64 | np.timedelta64
        found = next((item for item in raw.flat if isinstance(item, refused)), None)
        if found is not None:
            what = f"date or time {found!r}: {_AS_NUMBERS}"
            if isinstance(found, str | bytes):
                what = f"text {found!r:.80}: {_ENCODED}"
            raise ValueError(f"{name} must hold real numbers; got the {what}")


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
        must = f"{name} must hold real numbers"
        raise ValueError(str(error) if must in str(error) else f"{must} ({error})") from None


def check_faces(W: Floats, b: Floats) -> None:
    """Raise a ValueError that names the first face that cannot be one."""
    if W.ndim != 2 or 0 in W.shape:
        raise ValueError(
            "W must be 2-D, one row a face, with at least one face and one feature; "
            f"got shape {W.shape}"
        )
    K = len(W)
    if b.shape != (K,):
        raise ValueError(f"b must hold one offset a face, shape ({K},); got shape {b.shape}")
    for k, j in np.argwhere(~np.isfinite(W)):
        raise ValueError(f"W must be finite; row {k}, column {j} is {W[k, j]}")
    for k in np.flatnonzero(~np.isfinite(b)):
        raise ValueError(f"b must be finite; row {k} is {b[k]}")
    for k in np.flatnonzero(~W.any(axis=1)):
        zero = f"row {k} is all zero (b[{k}] is {b[k]})"
        raise ValueError(f"W must have a nonzero normal for every face; {zero}")


def as_label_array(labels: Any) -> NDArray[Any]:
    """Labels as numpy has them: text in an array of objects is text, if all of it is.

    Text that ends in a zero character, which numpy's own would lose, stays an object.
    """
    found = np.asarray(labels)
    if found.dtype.kind == "O":
        plain = found.tolist()
        if plain and all(isinstance(label, str) and label[-1:] != "\0" for label in plain):
            return found.astype(str)
    return found


def as_names(names: Iterable[str] | None, n_features: int) -> tuple[str, ...] | None:
    """Return the names of `n_features` columns as a tuple of different strings, or None."""
    if names is None:
        return None
    if isinstance(names, str):
        raise ValueError(f"feature_names must be a sequence of strings; got the string {names!r}")
    listed = tuple(names)
    n = len(listed)
    if n != n_features:
        raise ValueError(f"feature_names must have one name a column, {n_features}; got {n}")
    seen: dict[str, int] = {}
    for j, name in enumerate(listed):
        if not isinstance(name, str):
            raise ValueError(f"feature_names must be strings; item {j} is {name!r}")
        if seen.setdefault(name, j) != j:
            same = f"items {seen[name]} and {j} are both {name!r}"
            raise ValueError(f"feature_names must be different; {same}")
    return tuple(map(str, listed))


def as_columns(value: ArrayLike, name: str, n_features: int, *, finite: bool = True) -> Floats:
    """Return one number for each column."""
    array = as_floats(value, name)
    if array.shape not in ((), (n_features,)):
        shapes = f"shape ({n_features},); got shape {array.shape}"
        raise ValueError(f"{name} must be a number or have one number a column, {shapes}")
    columns = np.broadcast_to(array, (n_features,))
    for j in np.flatnonzero(~np.isfinite(columns)) if finite else ():
        raise ValueError(f"{name} must be finite; {name}[{j}] is {columns[j]}")
    return columns


def place_of(key: Any, names: Sequence[str], argument: str, error: type[Exception]) -> int:
    """Return the place of a feature that an argument gives by its name or by its place."""
    if isinstance(key, str) and key in names:
        return names.index(key)
    whole = isinstance(key, int | np.integer) and not isinstance(key, bool)
    if whole and 0 <= key < len(names):
        return int(key)
    shown = quoted_names(names)
    raise error(f"{argument} names {key!r:.60}, which is no feature; features are {shown}")


def as_bounds(bounds: Any, names: Sequence[str], error: type[Exception]) -> tuple[Floats, Floats]:
    """Return the limits of all features: those of a mapping to pairs, where None is no limit."""
    lower, upper = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    if not isinstance(bounds, Mapping | None):
        raise error(f"bounds must be a mapping of feature to (lower, upper); got {bounds!r:.200}")
    for key, pair in (bounds or {}).items():
        j, name = place_of(key, names, "bounds", error), f"bounds[{key!r:.60}]"
        try:
            low, high = pair
        except (TypeError, ValueError):
            raise error(f"{name} must be a pair (lower, upper); got {pair!r:.60}") from None
        lower[j] = -np.inf if low is None else as_floats(low, name)
        upper[j] = np.inf if high is None else as_floats(high, name)
        if not lower[j] <= upper[j] or lower[j] == np.inf or upper[j] == -np.inf:
            raise error(f"{name} must have lower <= upper; got {pair!r:.60}")
    return lower, upper
