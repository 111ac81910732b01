"""Partitions of Dask collections: checked, cut into blocks, summed over, and predicted lazily."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import psutil
from dask import config, delayed, is_dask_collection
from dask.utils import is_dataframe_like, is_series_like
from numpy.typing import NDArray
from pandas import DataFrame, Series, isna
from scipy import sparse

from distributed import get_worker
from polyceptron.data.blocks import RUN, Adds, Block, map_in_order, rows_of_blocks
from polyceptron.data.source import LabelledRows, SourceError, View, take_from_blocks
from polyceptron.data.values import MAX_CLASSES
from polyceptron.optim.checkpoint import digest_of_block
from polyceptron.rule import as_rule
from polyceptron.utils.checks import as_floats
from polyceptron.utils.types import Floats

NumberedRows = dict[int, LabelledRows]
"""Blocks of rows by their numbers among all, in rising order."""


class PartitionFacts(NamedTuple):
    """What the client knows of a partition; whole is one without rows that weigh 0."""

    number: int
    n_rows: int
    n_features: int
    labels: NDArray[Any]
    is_whole: bool
    digest: int


class Partition(NamedTuple):
    """The rows of a partition, their places in ``facts.labels``, and weights or none."""

    X: NDArray[Any]
    codes: NDArray[np.int8]
    weight: Floats
    facts: PartitionFacts


def is_array(collection: Any) -> bool:
    """Whether this is a Dask array."""
    return bool(is_dask_collection(collection) and hasattr(collection, "chunks"))


def checked_rows(X: Any) -> Any:
    """Return a DataFrame of numbers as it is, or an array in chunks of whole rows."""
    if is_array(X) and X.ndim == 2:
        return X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})
    if not (is_dask_collection(X) and is_dataframe_like(X)):
        found = f"{type(X).__name__} of shape {getattr(X, 'shape', None)}"
        raise ValueError(f"X must be a 2-D Dask array or a Dask DataFrame; got {found}")
    for column, dtype in zip(X.columns, X.dtypes, strict=True):
        if getattr(dtype, "kind", "O") not in "biuf":
            found = f"got {dtype}: leave it out, or encode it first"
            raise ValueError(f"X, column {column!r}, must hold real numbers; {found}")
    return X


def _aligned(column: Any, name: str, X: Any) -> Any:
    """Return labels or weights in the partitions of X, as far as these can be known."""
    if is_array(column) and column.ndim == 1:
        if is_array(X) and not np.isnan(sum(column.shape) + X.shape[0]):
            if column.shape[0] != X.shape[0]:
                raise ValueError(f"X has {X.shape[0]} rows, but {name} has {column.shape[0]}")
            return column.rechunk((X.chunks[0],))
    elif not (is_dask_collection(column) and is_series_like(column)):
        found = f"{type(column).__name__} of shape {getattr(column, 'shape', None)}"
        raise ValueError(f"{name} must be a 1-D Dask array or a Dask Series; got {found}")
    if column.npartitions != X.npartitions:
        raise ValueError(
            f"X has {X.npartitions} partitions, but {name} has {column.npartitions}: take both "
            "from one collection, or repartition one like the other"
        )
    return column


def feature_names(X: Any) -> tuple[str, ...] | None:
    """Return the columns of a DataFrame if they have names, as scikit-learn does it."""
    columns = () if is_array(X) else tuple(X.columns)
    are_text = {isinstance(column, str) for column in columns}
    if len(are_text) > 1:
        raise ValueError("the columns of X must all be text, or none of them")
    return columns if are_text == {True} else None


def prepared(X: Any, y: Any, weight: Any) -> list[Any]:
    """One delayed `Partition` for each of the collection."""
    X = checked_rows(X)
    columns = [X, _aligned(y, "y", X)]
    columns += [] if weight is None else [_aligned(weight, "sample_weight", X)]
    parts = enumerate(zip(*map(_delayed, columns), strict=True))
    return [delayed(prepare, pure=False)(number, *part) for number, part in parts]


def _delayed(collection: Any) -> list[Any]:
    # Dask would read several small files at once, of X and of y not the same ones.
    with config.set({"optimization.tune.active": False}):
        pieces = collection.to_delayed()
    return list(pieces.ravel() if isinstance(pieces, np.ndarray) else pieces)


def prepare(number: int, X: Any, y: Any, weight: Any = None) -> Partition:
    """Check a partition and bring it into the form of the kernels."""
    where = f"partition {number}"
    rows, labels = _rows_of_partition(X, where), np.asarray(y)
    given = np.ones(len(rows)) if weight is None else as_floats(weight, f"{where}: the weight")
    for name, column in [("y", labels), ("the weight", given)]:
        if column.shape != (len(rows),):
            shape = f"but {name} is of shape {column.shape}"
            raise SourceError(f"{where}: X has {len(rows)} rows, {shape}")
    codes, found = _coded(labels, where)
    wrong = ~(np.isfinite(given) & (given >= 0))
    _refuse_rows(wrong, given, where, "a weight must be a finite number, at least 0")
    is_whole = bool(given.all())
    if not is_whole:
        rows, codes, given = rows[given > 0], codes[given > 0], given[given > 0]
    given = np.empty(0) if weight is None else given
    digest = int(digest_of_block(Block(0, rows, codes, given))[0])
    facts = PartitionFacts(number, len(rows), rows.shape[1], found, is_whole, digest)
    return Partition(rows, codes, given, facts)


def _rows_of_partition(X: Any, where: str) -> NDArray[Any]:
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


def _coded(labels: NDArray[Any], where: str) -> tuple[NDArray[np.int8], NDArray[Any]]:
    """For each label its place among those of this partition, and these, sorted."""
    _refuse_rows(np.asarray(isna(labels)), labels, where, "the label is missing")
    try:
        found, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise SourceError(f"{where}: labels of one kind are needed ({error})") from None
    if len(found) > MAX_CLASSES:
        many = f"y has {len(found)} different values, which are no classes"
        raise SourceError(f"{where}: {many}; the first is {found[0]!r}")
    return codes.astype(np.int8), found


def _refuse_rows(wrong: NDArray[np.bool_], values: NDArray[Any], where: str, why: str) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        raise SourceError(f"{where}, row {row}: {why}; got {values[row]!r}")


def cut_into_blocks(
    parts: list[Partition], facts: list[PartitionFacts], firsts: list[int], classes: NDArray[Any]
) -> NumberedRows:
    """Blocks of partitions, numbered from a first one of each; ``facts`` as they once were."""
    found: NumberedRows = {}
    for part, once, first in zip(parts, facts, firsts, strict=True):
        if (part.facts.digest, *part.facts.labels) != (once.digest, *once.labels):
            remedy = "fix the seed of random rows, or persist or store them"
            other = "came out different when it was computed again for a lost worker"
            raise SourceError(f"partition {once.number} {other}: {remedy}")
        code = np.searchsorted(classes, once.labels).astype(np.int8)
        codes = code[part.codes] if part.codes.size else part.codes
        edges = [*range(0, len(codes), rows_of_blocks(part.X.shape[1])), len(codes)]
        for number, (a, b) in enumerate(pairwise(edges), first):
            found[number] = LabelledRows(part.X[a:b], codes[a:b], part.weight[a:b])
    return found


def seen(rows: NumberedRows, view: View) -> dict[int, Block]:
    """Blocks as a view shows them, as far as memory goes: anew they cost 15 to 50% of a step."""
    room, numbers = _bytes_for_rows(), []
    for number, (X, *_) in rows.items():
        needed = 0 if view.coordinates.is_identity else np.asarray(X).nbytes
        if needed <= room:
            numbers.append(number)
            room -= needed
    blocks = map_in_order(lambda n: view.block(n, *rows[n]), numbers, get_worker().state.nthreads)
    return dict(zip(numbers, blocks, strict=True))


def reduced(
    rows: NumberedRows, kept: dict[int, Block], view: View, statistic: Callable[[Block], Adds]
) -> list[tuple[int, Adds]]:
    """Sums of a statistic over blocks that follow each other from the start of a run.

    Other blocks wait for those that are elsewhere, since sums run in block order.
    """

    def of_block(number: int) -> Adds:
        return statistic(kept.get(number) or view.block(number, *rows[number]))

    sums: list[tuple[int, Adds]] = []
    numbers, last = list(rows), -1
    parts = map_in_order(of_block, numbers, get_worker().state.nthreads)
    for number, part in zip(numbers, parts, strict=True):
        if sums and number % RUN and number == last + 1 and sums[-1][0] % RUN == 0:
            sums[-1] = sums[-1][0], sums[-1][1] + part
        else:
            sums.append((number, part))
        last = number
    return sums


def taken(rows: NumberedRows, numbers: NDArray[Any], within: NDArray[Any]) -> LabelledRows:
    """Some rows of the blocks of a worker."""
    return take_from_blocks(rows.__getitem__, numbers, within)


def _bytes_for_rows() -> float:
    """Bytes for rows in the coordinates of learning: until 60% of a worker's memory are in use."""
    limit = get_worker().memory_manager.memory_limit or psutil.virtual_memory().total
    free = 0.6 * limit - psutil.Process().memory_info().rss
    return float(min(free, psutil.virtual_memory().available / 2))


def lazy(method: Callable[[Any], Any], X: Any) -> Any:
    """What a method says of the rows of a Dask collection, as a Dask collection.

    Columns are checked at once, by names if the model has them. Of a DataFrame the answer is a
    Series or DataFrame with its index.

    Parameters
    ----------
    method : bound method of a fitted learner or of a `Rule`
        `predict`, `predict_proba`, `predict_log_proba` or `decision_function`.
    X : Dask array of shape (n_samples, n_features), or Dask DataFrame

    Examples
    --------
    >>> import dask.array as da
    >>> from polyceptron import BatchPolyceptron
    >>> from polyceptron.datasets import make_dataset1
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> model = BatchPolyceptron(random_state=0).fit(X, y)
    >>> found = lazy(model.predict, da.from_array(X, chunks=(400, 2)))
    >>> found.chunks, bool((found.compute() == model.predict(X)).all())
    (((400, 400, 200),), True)
    """
    X = checked_rows(X)
    model = copy(method.__self__)  # type: ignore[attr-defined]
    if hasattr(model, "n_jobs"):
        model.n_jobs = 1  # the threads are those of the workers
    vars(model).pop("history_", None)
    sample = np.zeros((1, X.shape[1])) if is_array(X) else X._meta_nonempty
    none = getattr(model, method.__name__)(sample)[:0]
    arguments = model, method.__name__, none
    if not is_array(X):
        return X.map_partitions(_of_chunk, *arguments, meta=_of_chunk(X._meta, *arguments))
    shape: dict[str, Any] = {"drop_axis": 1}
    if none.ndim == 2:
        shape = {"chunks": (X.chunks[0], (none.shape[1],))}
    return X.map_blocks(_of_chunk, *arguments, dtype=none.dtype, meta=none, **shape)


def _of_chunk(chunk: Any, model: Any, method: str, none: NDArray[Any]) -> Any:
    """What a model says of a chunk of rows; of a frame as a frame, with its index."""
    found = getattr(model, method)(chunk) if len(chunk) else none
    if not hasattr(chunk, "index"):
        return found
    if found.ndim == 1:
        return Series(found, index=chunk.index)
    return DataFrame(found, index=chunk.index, columns=as_rule(model).labels)
