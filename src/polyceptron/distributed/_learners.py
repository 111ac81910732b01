"""The learners on Dask collections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

import numpy as np
from dask import is_dask_collection
from sklearn.utils.validation import check_is_fitted

from distributed import Client, LocalCluster, get_client
from polyceptron import learners
from polyceptron.data.source import Source
from polyceptron.distributed._partitions import in_row_chunks, is_array
from polyceptron.distributed._source import DaskBlocks
from polyceptron.learners._blocks import FitsBlocks


@contextmanager
def _client() -> Iterator[Client]:
    """The current client, or one of a cluster of processes on this machine, for a while."""
    try:
        client = get_client()
    except ValueError:
        with (
            LocalCluster(processes=True, dashboard_address=":0") as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client
    else:
        yield client


def _of_chunk(chunk: Any, model: Any, method: str) -> Any:
    """What a model says of a chunk of rows; of a frame as a frame, with its index."""
    found = getattr(model, method)(chunk)
    if not hasattr(chunk, "index"):
        return found
    from pandas import DataFrame, Series

    if found.ndim == 1:
        return Series(found, index=chunk.index)
    return DataFrame(found, index=chunk.index, columns=model.classes_.tolist())


class OnDask(FitsBlocks):
    """Learn from Dask collections, and predict them lazily."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the polyhedron of the inside class.

        The rows stay on the workers of the current `distributed.Client`. Where there is none, a
        `distributed.LocalCluster` of processes is started, and closed after the fit: a script
        then needs ``if __name__ == "__main__":``.

        Parameters
        ----------
        X : Dask array, Dask DataFrame, Source, or rows in memory
            Rows in memory are learned from as the learner without Dask does it.
        y : Dask array or Dask Series of shape (n_samples,)
            Two labels; None where X is a Source, such as `DaskBlocks`, which has them.
        sample_weight : Dask array or Dask Series of shape (n_samples,), default=None
            Weights of the rows, not negative. A row of weight 0 is no row.

        Returns
        -------
        self : object
            The fitted estimator. If anything goes wrong it is left as it was.
        """
        if isinstance(X, Source):
            if y is not None or sample_weight is not None:
                raise ValueError("a Source has its labels and weights: leave out y, sample_weight")
            return self.fit_blocks(X)
        if not is_dask_collection(X):
            fitted: Self = super().fit(X, y, sample_weight)
            return fitted
        self._check_parameters()
        with _client() as client, DaskBlocks(X, y, sample_weight, client=client) as source:
            return self.fit_blocks(source)

    def predict(self, X: Any) -> Any:
        """Label of every row; lazy for a Dask collection.

        Parameters
        ----------
        X : Dask array, Dask DataFrame, or rows in memory

        Returns
        -------
        Dask array or Series of shape (n_samples,), or an ndarray for rows in memory
        """
        return self._said("predict", X)

    def decision_function(self, X: Any) -> Any:
        """Signed score of every row, positive for ``classes_[1]``; lazy for a Dask collection.

        Parameters
        ----------
        X : Dask array, Dask DataFrame, or rows in memory

        Returns
        -------
        Dask array or Series of shape (n_samples,), or an ndarray for rows in memory
        """
        return self._said("decision_function", X)

    def _said(self, method: str, X: Any) -> Any:
        if not is_dask_collection(X):
            return getattr(super(), method)(X)
        check_is_fitted(self)
        model = copy(self)
        model.n_jobs = 1  # the threads are those of the workers
        model.__dict__.pop("history_", None)
        if not is_array(X):
            meta = _of_chunk(X._meta_nonempty, model, method)
            return X.map_partitions(_of_chunk, model, method, meta=meta)
        X = in_row_chunks(X)
        found = _of_chunk(np.zeros((1, X.shape[1])), model, method)
        shape: dict[str, Any] = {"drop_axis": 1}
        if found.ndim == 2:
            shape = {"chunks": (X.chunks[0], (2,))}
        return X.map_blocks(_of_chunk, model, method, dtype=found.dtype, meta=found[:0], **shape)


class BatchPolyceptron(OnDask, learners.BatchPolyceptron):
    """`polyceptron.BatchPolyceptron` on a Dask cluster.

    From the same blocks of rows it is the same model, to the last bit: see `DaskBlocks`.
    Parameters and fitted attributes are those of `polyceptron.BatchPolyceptron`; `n_jobs` and
    `prune` are without effect where rows are on a cluster.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from polyceptron.distributed import BatchPolyceptron
    >>> from polyceptron.datasets import make_dataset1
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> rows, labels = da.from_array(X, chunks=(500, 2)), da.from_array(y, chunks=500)
    >>> with Client(n_workers=1, processes=False, dashboard_address=":0"):
    ...     model = BatchPolyceptron(random_state=0).fit(rows, labels)
    ...     found = (model.predict(rows) == labels).mean().compute()
    >>> bool(found > 0.97)
    True
    """


class SPLA1(OnDask, learners.SPLA1):
    """`polyceptron.SPLA1` on a Dask cluster.

    From the same blocks of rows it is the same model, to the last bit: see `DaskBlocks`.
    Parameters and fitted attributes are those of `polyceptron.SPLA1`; `n_jobs` is without
    effect where rows are on a cluster.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from polyceptron.distributed import SPLA1
    >>> from polyceptron.datasets import make_dataset1
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> rows, labels = da.from_array(X, chunks=(500, 2)), da.from_array(y, chunks=500)
    >>> with Client(n_workers=1, processes=False, dashboard_address=":0"):
    ...     model = SPLA1(random_state=0).fit(rows, labels)
    ...     model.predict_proba(rows)[:2].compute().round(2)
    array([[0.03, 0.97],
           [0.02, 0.98]])
    """

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, for every row; lazy for a Dask collection.

        Parameters
        ----------
        X : Dask array, Dask DataFrame, or rows in memory

        Returns
        -------
        Dask array or DataFrame of shape (n_samples, 2), or an ndarray for rows in memory
            Columns in the order of ``classes_``.
        """
        return self._said("predict_proba", X)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of `predict_proba`; lazy for a Dask collection.

        Parameters
        ----------
        X : Dask array, Dask DataFrame, or rows in memory

        Returns
        -------
        Dask array or DataFrame of shape (n_samples, 2), or an ndarray for rows in memory
            Columns in the order of ``classes_``.
        """
        return self._said("predict_log_proba", X)
