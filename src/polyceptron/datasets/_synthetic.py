"""Datasets 1 and 2 of the paper: uniform points in a cube, labelled by a known polyhedron."""

from typing import Any

import numpy as np

from polyceptron.datasets._bunch import Table, as_generator
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.checks import as_count

# Section 4.1 of the paper; the last number of each row is the offset.
_FACES_1 = (
    (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    (1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1),
    (1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0.5),
)
_FACES_2 = (
    (1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 20, 8, 7, 6, 5, 4, 3, 2, 1, 1, 20),
    (-1, 2, -3, 4, -5, 6, -7, 8, -9, 15, -11, 10, -9, 8, -7, 6, -5, 4, -3, 2, 15),
    (1, 0, 1, 0, 1, 0, 1, 2, 0, 8, 0, 2, 3, 0, 3, 3, 0, 4, 0, 4, 8),
    (1, -1, 0, 0, 2, -2, 0, 0, 6, -3, 0, 0, 4, -4, 0, 0, 5, -5, 0, 0, 6),
)

_DESCRIPTION = """\
Dataset {number} of the Polyceptron paper
-------------------------------------

{n_samples} points drawn uniformly from the cube [-1, 1]^{d}. The label is +1 ("inside") for the
points of a polyhedron with {K} faces, else -1 ("outside"):

{faces}

The paper draws 1000 points and does not say which; here they follow from `random_state`.

Manwani, N. and Sastry, P. S. "Polyceptron: A Polyhedral Learning Algorithm".
"""


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
    table = _draw(1, _FACES_1, n_samples, random_state)
    return table.pack(return_X_y=return_X_y, as_frame=as_frame)


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
        As `make_dataset1` returns.

    Examples
    --------
    >>> from polyceptron.datasets import make_dataset2
    >>> X, y = make_dataset2(500, random_state=1, return_X_y=True)
    >>> X.shape
    (500, 20)
    """
    table = _draw(2, _FACES_2, n_samples, random_state)
    return table.pack(return_X_y=return_X_y, as_frame=as_frame)


def _draw(number: int, faces: tuple[tuple[float, ...], ...], n: int, random_state: Any) -> Table:
    n = as_count(n, "n_samples")
    coefficients = np.array(faces, dtype=np.float64)
    K, d = coefficients.shape[0], coefficients.shape[1] - 1
    names = [f"x{j}" for j in range(1, d + 1)]
    truth = Polyhedron(coefficients[:, :-1], coefficients[:, -1], names)
    X = as_generator(random_state).uniform(-1.0, 1.0, (n, d))
    return Table(
        data=X,
        target=np.where(truth.contains(X), 1, -1),
        feature_names=names,
        target_names=("outside", "inside"),
        description=_DESCRIPTION.format(number=number, n_samples=n, d=d, K=K, faces=truth),
        n_hyperplanes=K,
        polyhedron=truth,
    )
