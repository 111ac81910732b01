"""Dask collections: learning where their rows are, and lazy predictions."""

from polyceptron.distributed._client import ClusterError
from polyceptron.distributed._lazy import lazy
from polyceptron.distributed._source import DaskSource, source_of

__all__ = ["ClusterError", "DaskSource", "lazy", "source_of"]
