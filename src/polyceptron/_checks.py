"""What arguments must be, said in one place: each check names the argument and what it found."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]

# "Copy only if needed" is spelled False before numpy 2 and None from then on.
_IF_NEEDED: Any = None if int(np.__version__.partition(".")[0]) >= 2 else False


def as_count(value: Any, name: str) -> int:
    """Return `value` as an int of at least 1, or raise a ValueError that names it."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}")
    return int(value)


def as_floats(value: Any, name: str, *, copy: bool = False) -> Floats:
    """Return `value` as a C-contiguous float64 array.

    Booleans, integers and real numbers pass, also as objects. Text, dates and complex numbers do
    not: numpy would parse the first two and silently drop the imaginary part of the third.
    """
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "biufO":
            raise TypeError(f"found {raw.dtype}")
        return np.array(raw, dtype=np.float64, order="C", copy=True if copy else _IF_NEEDED)
    except (TypeError, ValueError) as error:
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


def as_columns(value: ArrayLike, name: str, n_features: int) -> Floats:
    """Return one finite number for each column."""
    array = as_floats(value, name)
    if array.shape not in ((), (n_features,)):
        raise ValueError(
            f"{name} must be a number or have one number a column, shape ({n_features},); "
            f"got shape {array.shape}"
        )
    columns = np.broadcast_to(array, (n_features,))
    bad = np.flatnonzero(~np.isfinite(columns))
    if bad.size:
        raise ValueError(f"{name} must be finite; {name}[{bad[0]}] is {columns[bad[0]]}")
    return columns
