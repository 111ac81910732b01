"""The paper's four sets: two drawn from a cube and labelled by a known polyhedron, two of UCI."""

from typing import Any

import numpy as np

from polyceptron.datasets._bunch import as_generator, pack, stored_text
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.checks import as_count

# Section 4.1 of the paper; the last number of each row is the offset.
_FACES = {
    1: (
        (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
        (1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1),
        (1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0.5),
    ),
    2: (
        (1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 20, 8, 7, 6, 5, 4, 3, 2, 1, 1, 20),
        (-1, 2, -3, 4, -5, 6, -7, 8, -9, 15, -11, 10, -9, 8, -7, 6, -5, 4, -3, 2, 15),
        (1, 0, 1, 0, 1, 0, 1, 2, 0, 8, 0, 2, 3, 0, 3, 3, 0, 4, 0, 4, 8),
        (1, -1, 0, 0, 2, -2, 0, 0, 6, -3, 0, 0, 4, -4, 0, 0, 5, -5, 0, 0, 6),
    ),
}


def make_dataset1(
    n_samples: int = 1000,
    *,
    random_state: Any = 0,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Draw Dataset 1 of the paper: 10 features, 3 hyperplanes.

    Parameters
    ----------
    n_samples : int
        How many points to draw; 1000 in the paper.
    random_state : int, Generator, RandomState or None
        Where the random numbers come from.
    return_X_y : bool
        Whether to return ``(data, target)`` rather than a Bunch.
    as_frame : bool
        Whether data and target are pandas objects.

    Returns
    -------
    Bunch
        ``data``, ``target`` (-1 or +1), ``frame``, ``feature_names``, ``target_names``, ``DESCR``,
        ``n_hyperplanes`` and ``polyhedron``, the truth.

    Examples
    --------
    >>> from polyceptron.datasets import make_dataset1
    >>> bunch = make_dataset1()
    >>> print(bunch.polyhedron)
    x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + x10 >= -1
    x1 - x2 + x3 - x4 + x5 - x6 + x7 - x8 + x9 - x10 >= -1
    x1 + x3 + x5 + x7 + x9 >= -0.5
    >>> bool((bunch.polyhedron.contains(bunch.data) == (bunch.target == 1)).all())
    True
    """
    return _draw(1, n_samples, random_state, return_X_y=return_X_y, as_frame=as_frame)


def make_dataset2(
    n_samples: int = 1000,
    *,
    random_state: Any = 0,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Draw Dataset 2 of the paper: 20 features, 4 hyperplanes.

    Parameters
    ----------
    n_samples, random_state, return_X_y, as_frame
        As of `make_dataset1`.

    Returns
    -------
    Bunch
        As `make_dataset1` returns.

    Examples
    --------
    >>> from polyceptron.datasets import make_dataset2
    >>> X, y = make_dataset2(500, random_state=1, return_X_y=True)
    >>> X.shape
    (500, 20)
    """
    return _draw(2, n_samples, random_state, return_X_y=return_X_y, as_frame=as_frame)


def _draw(number: int, n_samples: int, random_state: Any, **form: bool) -> Any:
    n = as_count(n_samples, "n_samples")
    coefficients = np.array(_FACES[number], dtype=np.float64)
    K, d = coefficients.shape[0], coefficients.shape[1] - 1
    names = [f"x{j}" for j in range(1, d + 1)]
    truth = Polyhedron(coefficients[:, :-1], coefficients[:, -1], names)
    X = as_generator(random_state).uniform(-1.0, 1.0, (n, d))
    about = stored_text("synthetic.rst").format(number=number, n_samples=n, d=d, K=K, faces=truth)
    y = np.where(truth.contains(X), 1, -1)
    facts: dict[str, Any] = {"DESCR": about, "n_hyperplanes": K, "polyhedron": truth}
    return pack(X, y, names, ("outside", "inside"), **form, **facts)


def load_ionosphere(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the Ionosphere set: 351 rows, 34 features, +1 = good.

    Parameters
    ----------
    return_X_y : bool
        Whether to return ``(data, target)`` rather than a Bunch.
    as_frame : bool
        Whether data and target are pandas objects.

    Returns
    -------
    Bunch
        ``data``, ``target`` (-1 or +1), ``frame``, ``feature_names``, ``target_names`` (of -1 and
        +1, in this order), ``DESCR`` and ``n_hyperplanes``; ``polyhedron`` is None, as nobody
        knows it.

    Examples
    --------
    >>> from polyceptron.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> X.shape, int((y == 1).sum())
    ((351, 34), 225)
    """
    form = {"return_X_y": return_X_y, "as_frame": as_frame}
    return _load("ionosphere", ("bad", "good"), **form)


def load_breast_cancer(
    *, with_id: bool = False, return_X_y: bool = False, as_frame: bool = False
) -> Any:
    """Load the Breast Cancer Wisconsin (original) set: 683 rows, 9 features, +1 = benign.

    Parameters
    ----------
    with_id : bool
        Whether the sample code number is the first column, as in the paper's 10 dimensions.
    return_X_y, as_frame : bool
        As of `load_ionosphere`.

    Returns
    -------
    Bunch
        As `load_ionosphere` returns.

    Examples
    --------
    >>> from polyceptron.datasets import load_breast_cancer
    >>> load_breast_cancer().data.shape, load_breast_cancer(with_id=True).data.shape
    ((683, 9), (683, 10))
    """
    form = {"return_X_y": return_X_y, "as_frame": as_frame}
    return _load("breast_cancer", ("malignant", "benign"), first=0 if with_id else 1, **form)


def _load(name: str, classes: tuple[str, str], first: int = 0, **form: bool) -> Any:
    """Read a set of this package from column `first` on; the last column is the label."""
    header, *lines = stored_text(f"{name}.csv").splitlines()
    values = np.loadtxt(lines, delimiter=",", dtype=np.float64)
    X, y = np.ascontiguousarray(values[:, first:-1]), values[:, -1].astype(np.int64)
    facts: dict[str, Any] = {
        "DESCR": stored_text(f"{name}.rst"),
        "n_hyperplanes": 2,
        "polyhedron": None,
    }
    return pack(X, y, header.split(",")[first:-1], classes, **form, **facts)


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
