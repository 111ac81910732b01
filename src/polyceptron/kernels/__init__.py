"""The compiled inner loops: plain functions on arrays, no objects.

Every kernel is written once and serves dense rows (a C-ordered float32 or float64 array) and CSR
rows (a tuple ``(data, indices, indptr)``). Three primitives hide the difference: ``score_rows``,
``add_row`` and ``row_norm`` of :mod:`~polyceptron.kernels.scores`. All sums are taken in float64.
"""

from polyceptron.kernels.columns import column_ends, column_moments, digest, map_columns
from polyceptron.kernels.jit import compiled
from polyceptron.kernels.likelihood import likelihood_block, logistic_block, product_block
from polyceptron.kernels.perceptron import (
    batch_block,
    descend,
    frozen_block,
    gradient_norms,
    online_pass,
    shuffle,
)
from polyceptron.kernels.scores import (
    assign_block,
    decide,
    from_panels,
    inverse_norms,
    margins,
    plane,
    to_panels,
)

__all__ = [
    "assign_block",
    "batch_block",
    "column_ends",
    "column_moments",
    "compiled",
    "decide",
    "descend",
    "digest",
    "from_panels",
    "frozen_block",
    "gradient_norms",
    "inverse_norms",
    "likelihood_block",
    "logistic_block",
    "map_columns",
    "margins",
    "online_pass",
    "plane",
    "product_block",
    "shuffle",
    "to_panels",
]
