"""Checks of parameters and labels at the door: each names the argument and the value found."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight

from polyceptron.data.blocks import BLOCK_ROWS, OrderedSum, rows_of_blocks
from polyceptron.utils.checks import as_count, as_floats
from polyceptron.utils.types import Floats

_LARGEST_TOTAL = 1e303
"""Sums of weights times scores stay below the largest number, about 1.8e308."""


def check_whole(name: str, value: Any, low: int = 1) -> int:
    return as_count(value, name, low)


def check_real(name: str, value: Any, *, positive: bool = False) -> float:
    asked = "positive" if positive else "at least 0"
    real = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not real or not math.isfinite(value) or value < 0 or (positive and value == 0):
        raise ValueError(f"{name} must be a finite number, {asked}, got {value!r}")
    return float(value)


def check_seed(random_state: Any) -> np.random.RandomState:
    try:
        random: np.random.RandomState = check_random_state(random_state)
    except ValueError as error:
        raise ValueError(f"random_state: {error}; got {random_state!r}") from None
    return random


def check_verbose(verbose: Any) -> None:
    if not isinstance(verbose, bool | np.bool_):
        check_whole("verbose", verbose, 0)


def check_n_jobs(n_jobs: Any) -> None:
    if n_jobs is not None and (
        isinstance(n_jobs, bool | np.bool_) or not isinstance(n_jobs, Integral) or n_jobs == 0
    ):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}")


def check_flag(name: str, value: Any, *words: str) -> bool | str:
    """True, False or one of these words."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str) and value in words:
        return value
    allowed = ", ".join(["True", "False", *map(repr, words)])
    raise ValueError(f"{name} must be one of {allowed}, got {value!r}")


def check_init(init: Any, shape: tuple[int, int]) -> Floats | None:
    """The start as an array of [w_k, b_k], or None for a random one."""
    if isinstance(init, str):
        if init != "random":
            raise ValueError(f"init must be 'random' or an array of shape {shape}, got {init!r}")
        return None
    array = as_floats(init, "init")
    if array.shape != shape:
        raise ValueError(
            f"init must have shape (n_hyperplanes, n_features + 1) = {shape}, got {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError("init must be finite, got an array with NaN or infinity")
    return array


def check_two_classes(y: NDArray[Any]) -> NDArray[Any]:
    """The two labels, sorted."""
    if y.ndim != 1:
        raise ValueError(f"the labels must be one-dimensional, got shape {y.shape}")
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(y, input_name='y')}. "
            f"Found {len(classes)} classes; a polyhedron separates one class from one other: "
            "use sklearn.multiclass.OneVsRestClassifier for more"
        )
    if len(classes) < 2:
        raise ValueError(
            f"y must have rows of two classes, one inside and one outside; found only 1 class: "
            f"{classes.tolist()!r}"
        )
    return classes


def check_known_labels(y: NDArray[Any], classes: NDArray[Any]) -> None:
    unknown = np.setdiff1d(y, classes)
    if unknown.size:
        raise ValueError(
            f"y has the label {unknown.tolist()[0]!r}, which is not among the classes "
            f"{classes.tolist()!r}"
        )


def check_inside(inside: Any, classes: NDArray[Any]) -> int:
    """Index of the class that is inside: the greater label unless one is named."""
    if inside is None:
        return 1
    found = []
    if np.ndim(inside) == 0:
        found = [index for index, label in enumerate(classes) if label == inside]
    if not found:
        raise ValueError(f"inside must be one of the labels {classes.tolist()!r}, got {inside!r}")
    return found[0]


def check_weights(
    sample_weight: Any,
    class_weight: Any,
    X: Any,
    y: NDArray[Any],
    classes: NDArray[Any],
    *,
    stream: bool = False,
) -> Floats:
    """The weight of every row; empty where all rows weigh 1. In a stream a class may be away."""
    if sample_weight is None and class_weight is None:
        return np.empty(0)
    if stream and sample_weight is not None and not np.any(sample_weight):
        return np.zeros(X.shape[0])  # nothing to learn from these rows
    try:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    except ValueError as error:
        message = str(error)
        raise ValueError(
            message if "sample_weight" in message else f"sample_weight: {message}"
        ) from None
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise ValueError(f"sample_weight must not be negative, got {weight[row]} in row {row}")
    _check_total(weight)
    if stream and isinstance(class_weight, str) and class_weight == "balanced":
        raise ValueError(
            "class_weight='balanced' needs all rows at once, so partial_fit cannot use it: "
            "give a dict of label to weight"
        )
    if class_weight is not None:
        codes = np.searchsorted(classes, y)
        by_class = class_weights(class_weight, _class_totals(weight, codes, X), classes)
        with np.errstate(over="ignore"):
            weight = weight * by_class[codes]
        _check_total(weight)
    for label, name in [] if stream else zip(classes, classes.tolist(), strict=True):
        if not weight[y == label].any():
            raise ValueError(
                f"sample_weight and class_weight leave class {name!r} without weight: "
                "every row of it weighs zero"
            )
    return np.asarray(weight)


def _check_total(weight: Floats) -> None:
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if not total <= _LARGEST_TOTAL:
        raise ValueError(
            f"sample_weight and class_weight must not add up to more than {_LARGEST_TOTAL:g}, "
            f"got {total:g}: scale them down"
        )


def _class_totals(weight: Floats, codes: NDArray[Any], X: Any) -> Floats:
    """The weight of each class, added block by block as wherever else the rows may be."""
    rows = BLOCK_ROWS if sparse.issparse(X) else rows_of_blocks(X.shape[1])
    n = int(codes.max()) + 1
    total: OrderedSum[Floats] = OrderedSum()
    for number, start in enumerate(range(0, len(codes), rows)):
        here = slice(start, start + rows)
        total.add(number, np.bincount(codes[here], weight[here], n).astype(float))
    return total.result()


def class_weights(class_weight: Any, totals: Floats, classes: NDArray[Any]) -> Floats:
    """The weight of each class, from the parameter and the weight of its rows."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.asarray(totals.sum() / (len(classes) * np.maximum(totals, 1e-300)))
    if not isinstance(class_weight, dict):
        raise ValueError(
            "class_weight must be None, 'balanced' or a dict of label to weight, "
            f"got {class_weight!r}"
        )
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        raise ValueError(
            f"class_weight names the label {unknown[0]!r}, which is not in y; "
            f"the labels are {classes.tolist()!r}"
        )
    values = [class_weight.get(label, 1.0) for label in classes.tolist()]
    return np.array([check_real("class_weight", value) for value in values])
