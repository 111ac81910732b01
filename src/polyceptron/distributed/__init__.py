"""Dask collections: learning where their rows are, and lazy predictions."""

from polyceptron.distributed._partitions import lazy
from polyceptron.distributed._source import ClusterError, DaskSource, source_of

__all__ = ["ClusterError", "DaskSource", "lazy", "source_of"]
