"""Predictions of Dask collections, computed when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.distributed._partitions import checked_rows, is_array


def lazy(method: Callable[[Any], Any], X: Any) -> Any:
    """What a method says of the rows of a Dask collection, as a Dask collection.

    Columns are checked at once, by names if the model has them.

    Parameters
    ----------
    method : bound method of a fitted learner or of a `Rule`
        `predict`, `predict_proba`, `predict_log_proba` or `decision_function`.
    X : Dask array of shape (n_samples, n_features), or Dask DataFrame

    Returns
    -------
    Dask array for an array; Series or DataFrame with the index of X for a DataFrame
        Shape, types and chunks are those of the answer.

    Examples
    --------
    >>> import dask.array as da
    >>> from polyceptron import BatchPolyceptron
    >>> from polyceptron.datasets import make_dataset1
    >>> from polyceptron.distributed import lazy
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
    from pandas import DataFrame, Series

    if found.ndim == 1:
        return Series(found, index=chunk.index)
    return DataFrame(found, index=chunk.index, columns=getattr(model, "rule_", model).labels)
