"""The paper's four sets, random polyhedrally separable data, and a set that is never learned.

Labels are -1 and +1, and the paper's positive class, the inside, is +1.
"""

from polyceptron.datasets._loaders import (
    load_breast_cancer,
    load_cycle,
    load_ionosphere,
    make_dataset1,
    make_dataset2,
    paper_datasets,
)
from polyceptron.datasets._random import make_polyhedron

__all__ = [
    "load_breast_cancer",
    "load_cycle",
    "load_ionosphere",
    "make_dataset1",
    "make_dataset2",
    "make_polyhedron",
    "paper_datasets",
]
