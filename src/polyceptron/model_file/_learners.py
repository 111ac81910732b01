"""Which learners a file can hold, and the way there and back.

A learner is a fixed list of parts. Its class is found by its name in a table, never by a path
that a file could name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyceptron.model_file._error import ModelFileError
from polyceptron.model_file._node import Node
from polyceptron.model_file._parts import (
    Choice,
    Faces,
    Fields,
    Likelihood,
    Nodes,
    Part,
    Programs,
    Run,
    Search,
    Stream,
)
from polyceptron.model_file._values import Labels, read_parameters, write_parameters


class Each(Part):
    """A Polyceptron for each of more than two classes, against the rest."""

    fields = ("estimators",)

    def write(self, model: Any) -> dict[str, Any]:
        return {"estimators": [_write_fitted(one)[0] for one in model.estimators_]}

    def read(self, fields: Fields, model: Any) -> None:
        against_rest = np.array([False, True])
        model.estimators_ = [
            _read_fitted(node, type(model), against_rest, model.n_features_in_, None)
            for node in fields["estimators"].items(len(model.classes_))
        ]
        for one, node in zip(model.estimators_, fields["estimators"].items(), strict=True):
            if one._inside != 1:
                Node(node.value["inside"], f"{node.where}.inside").refuse("must be true")
        model._describe_each()


# --- the learners -----------------------------------------------------------------------


_FACES, _RUN = Faces(), Run()
_PARTS: dict[str, tuple[Part, ...]] = {
    "BatchPolyceptron": (_FACES, _RUN),
    "OnlinePolyceptron": (_FACES, _RUN, Stream()),
    "SPLA1": (_FACES, _RUN, Likelihood()),
    "SPLA2": (_FACES, _RUN, Likelihood(), Search()),
    "PCSLP": (_FACES, _RUN, Programs()),
    "OC1": (Nodes(),),
    "Polyceptron": (_FACES, Choice()),
}
_MANY_CLASSES = (Each(),)
LEARNERS = tuple(_PARTS)


def write_learner(estimator: Any) -> tuple[dict[str, Any], list[str]]:
    """The learner as JSON, and notes on what could not be kept."""
    name = type(estimator).__name__
    if name not in LEARNERS or not _is_ours(type(estimator), _learner(name)):
        raise ValueError(
            f"estimator must be a learner of polyceptron ({', '.join(LEARNERS)}) itself, not one "
            f"inside a pipeline or a search; got {name}"
        )
    fitted, notes = _write_fitted(estimator)
    return {"name": name} | fitted, notes


def _is_ours(kind: type, learner: type) -> bool:
    """Whether a class is the learner, or the same on Dask; a user's own may be anything."""
    on_dask = kind.__module__.startswith("polyceptron.distributed.") and issubclass(kind, learner)
    return kind is learner or on_dask


def read_learner(node: Node, classes: Labels, n_features: int, names: list[str] | None) -> Any:
    """A fitted estimator."""
    fields = node.fields()
    if "name" not in fields:
        raise ModelFileError("is missing", "learner.name")
    name = fields["name"]
    if name.text() not in LEARNERS:
        name.refuse(f"must be one of {', '.join(LEARNERS)}")
    fitted = Node({key: value for key, value in node.value.items() if key != "name"}, node.where)
    return _read_fitted(fitted, _learner(name.text()), classes, n_features, names)


def _learner(name: str) -> Any:
    from polyceptron import learners

    assert name in LEARNERS
    return getattr(learners, name)


def _parts(name: str, classes: Labels) -> tuple[Part, ...]:
    return _MANY_CLASSES if name == "Polyceptron" and len(classes) > 2 else _PARTS[name]


def _write_fitted(model: Any) -> tuple[dict[str, Any], list[str]]:
    parameters, notes = write_parameters(model)
    fitted: dict[str, Any] = {"parameters": parameters}
    for part in _parts(type(model).__name__, model.classes_):
        fitted |= part.write(model)
    return fitted, notes


def _read_fitted(
    node: Node, learner: Any, classes: Labels, n_features: int, names: list[str] | None
) -> Any:
    parts = _parts(learner.__name__, classes)
    if parts[0] is _FACES and len(classes) != 2:
        raise ModelFileError(
            f"must be two for {learner.__name__}; got {len(classes)}", "classes.labels"
        )
    fields = node.record("parameters", *(name for part in parts for name in part.fields))
    model = read_parameters(fields["parameters"], learner)
    model.n_features_in_ = n_features
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    model.classes_ = classes
    for part in parts:
        part.read(fields, model)
    return model
