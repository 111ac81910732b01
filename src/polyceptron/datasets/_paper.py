"""The paper's four sets together, in the order of its tables."""

from typing import Any

from polyceptron.datasets._synthetic import make_dataset1, make_dataset2
from polyceptron.datasets._uci import load_breast_cancer, load_ionosphere


def paper_datasets(*, random_state: Any = 0) -> dict[str, Any]:
    """Return the paper's four sets by name, each a Bunch with the paper's K in `n_hyperplanes`.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        Where the points of Datasets 1 and 2 come from.

    Examples
    --------
    >>> from polyceptron.datasets import paper_datasets
    >>> [(name, bunch.n_hyperplanes) for name, bunch in paper_datasets().items()]
    [('Dataset 1', 3), ('Dataset 2', 4), ('Ionosphere', 2), ('Breast-Cancer', 2)]
    """
    return {
        "Dataset 1": make_dataset1(random_state=random_state),
        "Dataset 2": make_dataset2(random_state=random_state),
        "Ionosphere": load_ionosphere(),
        "Breast-Cancer": load_breast_cancer(),
    }
