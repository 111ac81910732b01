"""Partitions of Dask collections as rows with labels and weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from dask import config, delayed, is_dask_collection
from dask.utils import is_dataframe_like, is_series_like
from numpy.typing import NDArray
from scipy import sparse

from polyceptron.data.source import SourceError
from polyceptron.utils.checks import as_floats
from polyceptron.utils.types import Floats

_MOST_LABELS = 100
"""A column with more different values is taken for something else than classes."""


class Part(NamedTuple):
    """The rows of a partition.

    Parameters
    ----------
    X : array of float32 or float64, C-ordered
    codes : int8 array
        For every row the place of its label in ``labels``.
    labels : array
        Those of this partition, sorted.
    weight : float64 array, or empty where every row weighs 1
    is_whole : bool
        Whether no row was left out because it weighs 0.
    """

    X: NDArray[Any]
    codes: NDArray[np.int8]
    labels: NDArray[Any]
    weight: Floats
    is_whole: bool


# --- at the client -----------------------------------------------------------------------


def is_frame(collection: Any) -> bool:
    """Whether this is a Dask DataFrame."""
    return bool(is_dask_collection(collection) and is_dataframe_like(collection))


def is_array(collection: Any) -> bool:
    """Whether this is a Dask array."""
    return bool(is_dask_collection(collection) and hasattr(collection, "chunks"))


def in_row_chunks(X: Any) -> Any:
    """Return a Dask array whose chunks hold whole rows."""
    return X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})


def checked_rows(X: Any) -> Any:
    """Return a DataFrame of numbers as it is, or an array in chunks of whole rows."""
    if is_frame(X):
        for column, dtype in zip(X.columns, X.dtypes, strict=True):
            if getattr(dtype, "kind", "O") not in "biuf":
                raise ValueError(
                    f"X, column {column!r}, must hold real numbers; got {dtype}: leave it out, or "
                    "encode it first"
                )
        return X
    if is_array(X) and X.ndim == 2:
        return in_row_chunks(X)
    shape = f" of shape {X.shape}" if is_array(X) else ""
    raise ValueError(
        "X must be a 2-D Dask array or a Dask DataFrame; "
        f"got {type(X).__name__}{shape} (for rows in memory, use polyceptron.BatchPolyceptron)"
    )


def aligned(column: Any, name: str, X: Any) -> Any:
    """Return labels or weights in the partitions of X, as far as these can be known."""
    if is_array(column) and column.ndim == 1:
        if is_array(X) and not np.isnan(sum(column.shape) + X.shape[0]):
            if column.shape[0] != X.shape[0]:
                raise ValueError(f"X has {X.shape[0]} rows, but {name} has {column.shape[0]}")
            return column.rechunk((X.chunks[0],))
    elif not (is_dask_collection(column) and is_series_like(column)):
        shape = f" of shape {column.shape}" if is_array(column) else ""
        raise ValueError(
            f"{name} must be a 1-D Dask array or a Dask Series; got {type(column).__name__}{shape}"
        )
    if column.npartitions != n_partitions(X):
        raise ValueError(
            f"X has {n_partitions(X)} partitions, but {name} has {column.npartitions}: take both "
            "from one collection, or repartition one like the other"
        )
    return column


def n_partitions(X: Any) -> int:
    """How many partitions rows have."""
    return int(X.npartitions)


def feature_names(X: Any) -> tuple[str, ...] | None:
    """Return the columns of a DataFrame if they have names, as scikit-learn does it."""
    columns = list(X.columns) if is_frame(X) else []
    are_text = [isinstance(column, str) for column in columns]
    if any(are_text) and not all(are_text):
        raise ValueError("the columns of X must all be text, or none of them")
    return tuple(columns) if any(are_text) else None


def prepared(X: Any, y: Any, weight: Any, classes: NDArray[Any] | None) -> list[Any]:
    """One delayed `Part` for each partition."""
    rows, labels = _delayed(X), _delayed(y)
    weights = [None] * len(rows) if weight is None else _delayed(weight)
    task = delayed(prepare, pure=False)
    known = None if classes is None else delayed(classes)
    return [
        task(number, *partition, known)
        for number, partition in enumerate(zip(rows, labels, weights, strict=True))
    ]


def _delayed(collection: Any) -> list[Any]:
    # Dask would read several small files at once, of X and of y not the same ones.
    with config.set({"optimization.tune.active": False}):
        pieces = collection.to_delayed()
    return list(pieces.ravel() if isinstance(pieces, np.ndarray) else pieces)


# --- on a worker -------------------------------------------------------------------------


def prepare(
    number: int, X: Any, y: Any, weight: Any = None, classes: NDArray[Any] | None = None
) -> Part:
    """Check a partition and bring it into the form of the kernels."""
    where = f"partition {number}"
    rows, labels = _rows(X, where), np.asarray(y)
    given = np.empty(0) if weight is None else as_floats(weight, f"{where}: the weight")
    for name, column in [("y", labels), ("the weight", given)]:
        if column.shape != (len(rows),) and not (name != "y" and weight is None):
            raise SourceError(
                f"{where}: X has {len(rows)} rows, but {name} is of shape {column.shape}"
            )
    codes, found = _coded(labels, where, classes)
    _check_weight(given, where)
    if given.size and not given.all():
        kept = np.flatnonzero(given)
        return Part(rows[kept], codes[kept], found, given[kept], False)
    return Part(rows, codes, found, given, True)


def _rows(X: Any, where: str) -> NDArray[Any]:
    if sparse.issparse(X) or hasattr(X, "todense"):
        raise SourceError(
            f"{where} is sparse ({type(X).__name__}), and learning on Dask takes dense rows: "
            "X.map_blocks(lambda chunk: chunk.toarray()) makes them"
        )
    if hasattr(X, "columns"):
        single = all(dtype == np.float32 for dtype in X.dtypes)
        X = X.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
    is_kept = isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64)
    rows: NDArray[Any] = np.ascontiguousarray(X) if is_kept else as_floats(X, f"{where}: X")
    if rows.ndim != 2:
        raise SourceError(f"{where}: X must be 2-D, one row a sample; got shape {rows.shape}")
    return rows


def _coded(
    labels: NDArray[Any], where: str, classes: NDArray[Any] | None
) -> tuple[NDArray[np.int8], NDArray[Any]]:
    with np.errstate(invalid="ignore"):
        missing = np.array([x is None or x != x for x in labels]) if _may_miss(labels) else None
    if missing is not None and missing.any():
        raise SourceError(f"{where}, row {int(missing.argmax())}: the label is missing")
    try:
        found, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise SourceError(f"{where}: labels of one kind are needed ({error})") from None
    if len(found) > _MOST_LABELS:
        raise SourceError(
            f"{where}: y has {len(found)} different values, which are no classes; "
            f"the first is {found[0]!r}"
        )
    unknown = [] if classes is None else np.flatnonzero(~np.isin(found, classes)).tolist()
    if unknown:
        row = int((codes == unknown[0]).argmax())
        raise SourceError(
            f"{where}, row {row}: the label {labels[row]!r} is not among the classes "
            f"{np.asarray(classes).tolist()!r}"
        )
    return codes.astype(np.int8), found


def _may_miss(labels: NDArray[Any]) -> bool:
    if labels.dtype.kind == "f":
        return bool(np.isnan(labels).any())
    return labels.dtype.kind == "O"


def _check_weight(weight: Floats, where: str) -> None:
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise SourceError(
            f"{where}, row {row}: a weight must be a finite number, at least 0; got {weight[row]}"
        )
