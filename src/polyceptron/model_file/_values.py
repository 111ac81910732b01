"""Labels, parameters and summaries as JSON and back, with their types kept apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.model_file._error import ModelFileError
from polyceptron.model_file._json import MAX_DEPTH, brief
from polyceptron.model_file._node import Node
from polyceptron.utils.checks import as_floats

Labels = NDArray[Any]

LABEL_TYPES = (
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *(f"float{bits}" for bits in (16, 32, 64)),
    "str",
    "object",
)
"""Numpy's names of the types of labels; "object" is an array of Python's own strings."""


def plain(value: Any, name: str, depth: int = MAX_DEPTH) -> Any:
    """Return `value` with numpy's scalars, arrays and tuples as those of JSON."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    elif isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict | list | tuple) and depth == 0:
        raise ValueError(f"{name} must not be nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"{name} must have keys that are strings; got {key!r}")
        return {str(key): plain(item, f"{name}[{key!r}]", depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, f"{name}[{i}]", depth - 1) for i, item in enumerate(value)]
    return _plain_scalar(value, name)


def _plain_scalar(value: Any, name: str) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} must be finite, since JSON has no other numbers; got {value}")
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)  # which makes a plain one of a subclass
    if value is None:
        return None
    raise ValueError(
        f"{name} must be JSON: text, numbers, lists, dicts; got {type(value).__name__}"
    )


# --- labels -----------------------------------------------------------------------------


def write_labels(classes: Labels) -> dict[str, Any]:
    name = "str" if classes.dtype.kind == "U" else classes.dtype.name
    labels = classes.tolist()
    strange = name == "object" and not all(isinstance(label, str) for label in labels)
    if name not in LABEL_TYPES or strange:
        raise ValueError(
            f"labels of this type ({classes.dtype}: {labels[0]!r}) cannot be written to a model "
            "file: learn from labels that are text, whole numbers, floats or booleans"
        )
    return {"type": name, "labels": plain(labels, "classes")}


def read_labels(node: Node) -> Labels:
    fields = node.record("type", "labels")
    if fields["type"].text() not in LABEL_TYPES:
        fields["type"].refuse(f"must be one of {', '.join(LABEL_TYPES)}")
    dtype = np.dtype(fields["type"].text())
    items = fields["labels"].items()
    if not items:
        fields["labels"].refuse("must have at least one label")
    values = [_read_label(item, dtype) for item in items]
    for item, before, value in zip(items[1:], values, values[1:], strict=False):
        if not before < value:
            item.refuse(f"must be greater than the label before it, {brief(before)}")
    return np.array(values, dtype=dtype)


def read_place(node: Node, classes: Labels) -> int:
    """The place among the classes of a label."""
    value = _read_label(node, classes.dtype)
    labels: list[Any] = classes.tolist()
    if value not in labels:
        node.refuse("must be one of classes.labels")
    return labels.index(value)


def _read_label(node: Node, dtype: np.dtype[Any]) -> Any:
    """The label as a Python value, if numpy's type can hold it as it is."""
    if dtype.kind == "b":
        return node.flag()
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return node.whole(int(limits.min), int(limits.max))
    if dtype.kind == "f":
        value = float(node.number())
        with np.errstate(over="ignore", under="ignore"):
            if float(dtype.type(value)) != value:
                node.refuse(f"must be a number of type {dtype}")
        return value
    if dtype.kind == "U" and node.text().endswith("\0"):
        node.refuse("must not end in a zero character, which numpy drops")
    return node.text()


# --- parameters -------------------------------------------------------------------------


def kept_parameters(learner: Any) -> list[str]:
    """Those that a file has: not where the fit wrote its checkpoints."""
    return [name for name in learner._get_param_names() if name != "checkpoint"]


def write_parameters(estimator: Any) -> tuple[dict[str, Any], list[str]]:
    """The parameters of an estimator, and notes on what could not be kept."""
    written: dict[str, Any] = {}
    notes = []
    for name in kept_parameters(type(estimator)):
        value = getattr(estimator, name)
        if name == "random_state" and not isinstance(value, int | np.integer | None):
            written[name] = None
            notes.append(f"random_state was a {type(value).__name__}, which is not kept")
        elif isinstance(value, dict):
            pairs = [[plain(label, name), plain(weight, name)] for label, weight in value.items()]
            written[name] = {"pairs": pairs}
        elif isinstance(value, list | tuple) or np.ndim(value) > 0:
            written[name] = {"array": as_floats(value, name).tolist()}
        else:
            written[name] = plain(value, name)
    return written, notes


def read_parameters(node: Node, learner: Any) -> Any:
    """An estimator with these parameters, not fitted."""
    fields = node.record(*kept_parameters(learner))
    special = {"init": _read_init, "class_weight": _read_weights, "random_state": _read_seed}
    estimator = learner(
        **{name: special.get(name, _read_scalar)(field) for name, field in fields.items()}
    )
    try:
        estimator._check_parameters()
    except ImportError:  # it says that fitting needs HiGHS; predicting does not
        pass
    except ValueError as error:
        raise ModelFileError(f"are not those of the learner: {error}", node.where) from None
    return estimator


def _read_scalar(node: Node) -> Any:
    if type(node.value) in (dict, list):
        node.refuse("must be text, a number, true, false or null")
    return node.free()


def _read_init(node: Node) -> Any:
    if type(node.value) is dict:
        return node.record("array")["array"].matrix()
    if node.value != "random":
        node.refuse('must be "random" or an object with an array')
    return node.value


def _read_weights(node: Node) -> Any:
    if type(node.value) is not dict:
        if node.value not in (None, "balanced"):
            node.refuse('must be null, "balanced" or an object with pairs')
        return node.value
    weights: dict[Any, int | float] = {}
    for pair in node.record("pairs")["pairs"].items():
        label, weight = pair.items(2)
        if label.is_null or _read_scalar(label) in weights:
            label.refuse("must be a label that is not there before")
        weights[label.value] = weight.number()
    return weights


def _read_seed(node: Node) -> int | None:
    return None if node.is_null else node.whole(0, 2**32 - 1)
