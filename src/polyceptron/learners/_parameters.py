"""Checks of parameters and labels at the door: each names the argument and the value found."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from polyceptron.data.training import check_total
from polyceptron.utils.checks import as_count, as_floats
from polyceptron.utils.types import Floats


def check_seed(random_state: Any) -> np.random.RandomState:
    try:
        random: np.random.RandomState = check_random_state(random_state)
    except ValueError as error:
        raise ValueError(f"random_state: {error}; got {random_state!r}") from None
    return random


def check_verbose(verbose: Any) -> None:
    if not isinstance(verbose, bool | np.bool_):
        as_count(verbose, "verbose", 0)


def check_n_jobs(n_jobs: Any) -> None:
    if n_jobs is not None and (
        isinstance(n_jobs, bool | np.bool_) or not isinstance(n_jobs, Integral) or n_jobs == 0
    ):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}")


def check_flag(name: str, value: Any, *words: str) -> None:
    """True, False or one of these words."""
    if not isinstance(value, np.bool_):
        check_word(name, value, (True, False, *words))


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


def check_class_labels(labels: NDArray[Any]) -> None:
    """Refuse labels that are no classes, such as fractions."""
    if labels.ndim != 1:
        raise ValueError(f"the labels must be one-dimensional, got shape {labels.shape}")
    # Twice, as scikit-learn takes as many labels as rows for a regression.
    check_classification_targets(np.tile(labels, 2))


def check_two_classes(classes: NDArray[Any]) -> None:
    """Refuse more and fewer labels than two."""
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass. "
            f"Found {len(classes)} classes; a polyhedron separates one class from one other: "
            "use sklearn.multiclass.OneVsRestClassifier for more"
        )
    if len(classes) < 2:
        raise ValueError(
            f"y must have rows of two classes, one inside and one outside; found only 1 class: "
            f"{classes.tolist()!r}"
        )


def check_known_labels(y: NDArray[Any], classes: NDArray[Any]) -> None:
    unknown = np.setdiff1d(y, classes)
    if unknown.size:
        raise ValueError(
            f"y has the label {unknown.tolist()[0]!r}, which is not among the classes "
            f"{classes.tolist()!r}"
        )


def check_inside(inside: Any, classes: NDArray[Any]) -> int:
    """Index of the class that is inside: the greater label unless one is named."""
    return 1 if inside is None else place_of_label("inside", inside, classes)


def place_of_label(name: str, label: Any, classes: NDArray[Any]) -> int:
    """Index of a label that the argument of this name has."""
    found = [k for k, known in enumerate(classes) if np.ndim(label) == 0 and known == label]
    if not found:
        raise ValueError(f"{name} must be one of the labels {classes.tolist()!r}, got {label!r}")
    return found[0]


def check_word(name: str, value: Any, words: Sequence[Any]) -> None:
    """One of these words, and of its type: 1 is not True."""
    if not any(isinstance(value, type(word)) and value == word for word in words):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, words))}, got {value!r}")


def check_sample_weight(sample_weight: Any, X: Any, *, some: bool = True) -> Floats | None:
    """The weight of every row, of which ``some`` must be above zero; None where all weigh 1."""
    if sample_weight is None:
        return None
    if not some and not np.any(sample_weight):
        return np.zeros(X.shape[0])
    try:
        weight: Floats = _check_sample_weight(sample_weight, X, dtype=np.float64)
    except ValueError as error:
        message = str(error)
        raise ValueError(
            message if "sample_weight" in message else f"sample_weight: {message}"
        ) from None
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise ValueError(f"sample_weight must not be negative, got {weight[row]} in row {row}")
    with np.errstate(over="ignore"):
        check_total(float(weight.sum()))
    return weight
