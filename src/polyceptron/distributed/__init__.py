"""Learning on a Dask cluster: rows stay on the workers, hyperplanes and sums of them travel."""

from polyceptron.distributed._cluster import ClusterError
from polyceptron.distributed._learners import SPLA1, BatchPolyceptron
from polyceptron.distributed._source import DaskBlocks

__all__ = ["SPLA1", "BatchPolyceptron", "ClusterError", "DaskBlocks"]
