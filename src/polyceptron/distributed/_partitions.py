"""Partitions of Dask collections as rows with labels and weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from dask import config, delayed, is_dask_collection
from dask.utils import is_dataframe_like, is_series_like
from numpy.typing import NDArray
from scipy import sparse

from polyceptron.data.blocks import Block
from polyceptron.data.source import SourceError
from polyceptron.optim.checkpoint import DigestOf
from polyceptron.utils.checks import as_floats
from polyceptron.utils.types import Floats

_MOST_LABELS = 100
"""A column with more different values is taken for something else than classes."""


class PartitionFacts(NamedTuple):
    """What the client knows of a partition: which it is, its size, and its labels, sorted.

    ``is_whole`` says whether no row was left out because it weighs 0.
    """

    number: int
    n_rows: int
    n_features: int
    labels: NDArray[Any]
    is_whole: bool
    digest: int


class Partition(NamedTuple):
    """The rows of a partition: C-ordered, codes as places in ``facts.labels``.

    ``weight`` is empty where every row weighs 1.
    """

    X: NDArray[Any]
    codes: NDArray[np.int8]
    weight: Floats
    facts: PartitionFacts


# --- at the client -----------------------------------------------------------------------


def is_array(collection: Any) -> bool:
    """Whether this is a Dask array."""
    return bool(is_dask_collection(collection) and hasattr(collection, "chunks"))


def _described(collection: Any) -> str:
    shape = f" of shape {collection.shape}" if is_array(collection) else ""
    return f"{type(collection).__name__}{shape}"


def checked_rows(X: Any) -> Any:
    """Return a DataFrame of numbers as it is, or an array in chunks of whole rows."""
    if is_array(X) and X.ndim == 2:
        return X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})
    if not (is_dask_collection(X) and is_dataframe_like(X)):
        raise ValueError(f"X must be a 2-D Dask array or a Dask DataFrame; got {_described(X)}")
    for column, dtype in zip(X.columns, X.dtypes, strict=True):
        if getattr(dtype, "kind", "O") not in "biuf":
            raise ValueError(
                f"X, column {column!r}, must hold real numbers; got {dtype}: leave it out, or "
                "encode it first"
            )
    return X


def aligned(column: Any, name: str, X: Any) -> Any:
    """Return labels or weights in the partitions of X, as far as these can be known."""
    if is_array(column) and column.ndim == 1:
        if is_array(X) and not np.isnan(sum(column.shape) + X.shape[0]):
            if column.shape[0] != X.shape[0]:
                raise ValueError(f"X has {X.shape[0]} rows, but {name} has {column.shape[0]}")
            return column.rechunk((X.chunks[0],))
    elif not (is_dask_collection(column) and is_series_like(column)):
        raise ValueError(
            f"{name} must be a 1-D Dask array or a Dask Series; got {_described(column)}"
        )
    if column.npartitions != X.npartitions:
        raise ValueError(
            f"X has {X.npartitions} partitions, but {name} has {column.npartitions}: take both "
            "from one collection, or repartition one like the other"
        )
    return column


def feature_names(X: Any) -> tuple[str, ...] | None:
    """Return the columns of a DataFrame if they have names, as scikit-learn does it."""
    columns = [] if is_array(X) else list(X.columns)
    are_text = [isinstance(column, str) for column in columns]
    if any(are_text) and not all(are_text):
        raise ValueError("the columns of X must all be text, or none of them")
    return tuple(columns) if any(are_text) else None


def prepared(X: Any, y: Any, weight: Any, classes: NDArray[Any] | None) -> list[Any]:
    """One delayed `Partition` for each of the collection."""
    rows, labels = _delayed(X), _delayed(y)
    weights = [None] * len(rows) if weight is None else _delayed(weight)
    task = delayed(prepare, pure=False)
    parts = enumerate(zip(rows, labels, weights, strict=True))
    return [task(number, *columns, classes) for number, columns in parts]


def _delayed(collection: Any) -> list[Any]:
    # Dask would read several small files at once, of X and of y not the same ones.
    with config.set({"optimization.tune.active": False}):
        pieces = collection.to_delayed()
    return list(pieces.ravel() if isinstance(pieces, np.ndarray) else pieces)


# --- on a worker -------------------------------------------------------------------------


def prepare(
    number: int, X: Any, y: Any, weight: Any = None, classes: NDArray[Any] | None = None
) -> Partition:
    """Check a partition and bring it into the form of the kernels."""
    where = f"partition {number}"
    rows, labels = _rows(X, where), np.asarray(y)
    given = np.ones(len(rows)) if weight is None else as_floats(weight, f"{where}: the weight")
    for name, column in [("y", labels), ("the weight", given)]:
        if column.shape != (len(rows),):
            raise SourceError(
                f"{where}: X has {len(rows)} rows, but {name} is of shape {column.shape}"
            )
    codes, found = _coded(labels, where, classes)
    wrong = ~(np.isfinite(given) & (given >= 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise SourceError(
            f"{where}, row {row}: a weight must be a finite number, at least 0; got {given[row]}"
        )
    is_whole = bool(given.all())
    if not is_whole:
        rows, codes, given = rows[given > 0], codes[given > 0], given[given > 0]
    given = np.empty(0) if weight is None else given
    digest = int(DigestOf()(Block(0, rows, codes, given)))
    facts = PartitionFacts(number, len(rows), rows.shape[1], found, is_whole, digest)
    return Partition(rows, codes, given, facts)


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
    """For each label its place among those of this partition, and these, sorted."""
    from pandas import isna

    missing = isna(labels)
    if missing.any():
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
    unknown = np.zeros(len(labels), bool) if classes is None else ~np.isin(labels, classes)
    if unknown.any():
        row = int(unknown.argmax())
        raise SourceError(
            f"{where}, row {row}: the label {labels[row]!r} is not among the classes "
            f"{np.asarray(classes).tolist()!r}"
        )
    return codes.astype(np.int8), found
