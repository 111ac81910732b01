"""Learning on a Dask cluster: rows stay on the workers, hyperplanes and sums of them travel."""

from polyceptron.dask._cluster import ClusterError
from polyceptron.dask._learners import SPLA1, BatchPolyceptron
from polyceptron.dask._source import DaskBlocks

__all__ = ["SPLA1", "BatchPolyceptron", "ClusterError", "DaskBlocks"]
