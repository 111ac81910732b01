"""The two UCI sets of the paper, shipped with the package."""

from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.datasets._bunch import Table
from polyceptron.utils.types import Floats

_IONOSPHERE = """\
Ionosphere
----------

Radar returns from the ionosphere, collected at Goose Bay, Labrador: 17 pulses, two numbers each.

- 351 rows, 34 features a01 to a34. Column a02 is constant 0; rows 102 and 248 (counted from 0) are
  equal, so 350 rows are distinct.
- Label +1 is "good" (the return shows structure in the ionosphere), 225 rows; -1 is "bad" (the
  signal passed through), 126 rows.
- The paper uses 2 hyperplanes.

Sigillito, V., Wing, S., Hutton, L. and Baker, K. (1989). Ionosphere [Dataset]. UCI Machine Learning
Repository. https://doi.org/10.24432/C5W01B. Licence: Creative Commons Attribution 4.0 (CC BY 4.0).
Changed here: the labels g and b are written 1 and -1, and the columns have names.
"""

_BREAST_CANCER = """\
Breast Cancer Wisconsin (original)
----------------------------------

Cells from breast tumours, graded from 1 to 10 in nine respects.

- 683 rows: the 16 rows of the original 699 that have a missing value are left out.
- 9 features; with the sample code number, an identifier that says nothing of the tumour, 10: the
  dimension that the paper prints.
- Label +1 is benign, 444 rows; -1 is malignant, 239 rows. To have malignant inside, learn with
  ``inside=-1``.
- Only 449 of the 683 rows of 9 features are distinct: 280 rows have an equal one elsewhere, always
  of the same class, so in cross-validation many test rows are also in training.
- The paper uses 2 hyperplanes.

Wolberg, W. (1990). Breast Cancer Wisconsin (Original) [Dataset]. UCI Machine Learning Repository.
https://doi.org/10.24432/C5HP4Z. Licence: Creative Commons Attribution 4.0 (CC BY 4.0).
Changed here: rows with missing values left out, the classes 2 and 4 written 1 and -1.
"""


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
    names, data, target = _read("ionosphere.csv")
    table = Table(data, target, names, ("bad", "good"), _IONOSPHERE, n_hyperplanes=2)
    return table.pack(return_X_y=return_X_y, as_frame=as_frame)


def load_breast_cancer(
    *, with_id: bool = False, return_X_y: bool = False, as_frame: bool = False
) -> Any:
    """Load the Breast Cancer Wisconsin (original) set: 683 rows, 9 features, +1 = benign.

    Parameters
    ----------
    with_id : bool
        Whether the sample code number is the first column, as in the paper's 10 dimensions.
    return_X_y : bool
        Whether to return ``(data, target)`` rather than a Bunch.
    as_frame : bool
        Whether data and target are pandas objects.

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
    names, data, target = _read("breast_cancer.csv")
    if not with_id:
        names, data = names[1:], np.ascontiguousarray(data[:, 1:])
    table = Table(data, target, names, ("malignant", "benign"), _BREAST_CANCER, n_hyperplanes=2)
    return table.pack(return_X_y=return_X_y, as_frame=as_frame)


def _read(file: str) -> tuple[list[str], Floats, NDArray[np.int64]]:
    text = resources.files("polyceptron.datasets").joinpath("data", file).read_text("utf-8")
    header, *lines = text.splitlines()
    values = np.loadtxt(lines, delimiter=",", dtype=np.float64)
    target = values[:, -1].astype(np.int64)
    return header.split(",")[:-1], np.ascontiguousarray(values[:, :-1]), target
