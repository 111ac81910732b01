"""The paper's four sets, random polyhedrally separable data, and a set that is never learned.

Labels are -1 and +1, and the paper's positive class, the inside, is +1.

Examples
--------
>>> from polyceptron import datasets
>>> for name, bunch in datasets.paper_datasets().items():
...     print(name, bunch.data.shape, bunch.n_hyperplanes)
Dataset 1 (1000, 10) 3
Dataset 2 (1000, 20) 4
Ionosphere (351, 34) 2
Breast-Cancer (683, 9) 2
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
