"""What is explained: a polyhedron with two answers, or the leaves of a tree; and its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from polyceptron.geometry import GeometryError
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.checks import as_floats, refuse_text
from polyceptron.utils.types import Floats


class ExplainError(ValueError):
    """A question that this model or row has no answer to."""


@contextmanager
def answerable() -> Iterator[None]:
    """Turn errors of geometry into those of explanations."""
    try:
        yield
    except GeometryError as error:
        raise ExplainError(str(error)) from None


class Target(NamedTuple):
    """A polyhedron in which the answer is another one, and what its faces are called."""

    polyhedron: Polyhedron
    faces: tuple[int, ...]
    task: str


@dataclass(frozen=True)
class OnePolyhedron:
    """A polyhedron, and the answers inside and outside of it."""

    polyhedron: Polyhedron
    inside: Any
    outside: Any

    def answer(self, x: Floats) -> Any:
        return self.inside if self.polyhedron.contains(x[None, :])[0] else self.outside

    def targets(self, x: Floats) -> list[Target]:
        """Where to go for the other answer: beyond any face, or inside of them all."""
        P = self.polyhedron
        if not P.contains(x[None, :])[0]:
            return [Target(P, tuple(range(P.n_faces)), "meet")]
        return [
            Target(Polyhedron(-P.W[[k]], -P.b[[k]], P.feature_names), (k,), "cross")
            for k in range(P.n_faces)
        ]


@dataclass(frozen=True)
class Leaves:
    """The leaves of an OC1 tree, each a polyhedron with an answer."""

    leaves: tuple[tuple[Polyhedron, Any], ...]
    model: Any

    @property
    def polyhedron(self) -> Polyhedron:
        """Any of them, for its features."""
        return self.leaves[0][0]

    def answer(self, x: Floats) -> Any:
        tree = self.model.tree_
        return _plain(self.model.classes_[tree.labels[tree.apply(x[None, :])[0]]])

    def targets(self, x: Floats) -> list[Target]:
        """The leaves with other answers."""
        now = self.answer(x)
        return [
            Target(leaf, tuple(range(leaf.n_faces)), "meet")
            for leaf, label in self.leaves
            if label != now
        ]


def subject(model: Any) -> OnePolyhedron | Leaves:
    """Return what a fitted learner or a polyhedron answers by."""
    if isinstance(model, Polyhedron):
        return OnePolyhedron(model, "inside", "outside")
    _check_learner(model)
    if hasattr(model, "tree_"):
        leaves = [(leaf, _plain(c)) for c in model.classes_ for leaf in model.polyhedra(c)]
        return Leaves(tuple(leaves), model)
    if hasattr(model, "estimators_"):
        raise ExplainError(
            f"model has {len(model.classes_)} classes and answers by the most probable, not by "
            "one polyhedron: explain that of a class instead, for example "
            f"model.polyhedra_[{_plain(model.classes_[0])!r}]"
        )
    place = model._inside
    labels = [_plain(model.classes_[place]), _plain(model.classes_[1 - place])]
    return OnePolyhedron(model.polyhedron_, *labels)


def one_polyhedron(model: Any) -> OnePolyhedron:
    """Return the single polyhedron that a model answers by, or say why there is none."""
    found = subject(model)
    if isinstance(found, Leaves):
        raise ExplainError(
            "model is a tree, which has many polyhedra: explain one of its leaves instead, for "
            f"example model.polyhedra({_plain(model.classes_[0])!r})[0]"
        )
    return found


def parts(model: Any) -> list[tuple[Any, list[Polyhedron]]]:
    """Return every label that has polyhedra, with them."""
    if not isinstance(model, Polyhedron):
        _check_learner(model)
        if hasattr(model, "tree_"):
            return [(_plain(c), model.polyhedra(c)) for c in model.classes_]
        if hasattr(model, "estimators_"):
            return [(_plain(c), [p]) for c, p in model.polyhedra_.items()]
    found = one_polyhedron(model)
    return [(found.inside, [found.polyhedron])]


def _check_learner(model: Any) -> None:
    is_learner = hasattr(model, "predict") and hasattr(model, "get_params")
    if isinstance(model, type) or not is_learner:
        raise ExplainError(
            f"model must be a fitted learner of polyceptron or a Polyhedron; got {model!r:.200}"
        )
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    if not any(hasattr(model, name) for name in ("polyhedron_", "estimators_", "tree_")):
        raise ExplainError(
            f"model must be a fitted learner of polyceptron or a Polyhedron; got a "
            f"{type(model).__name__}. Of a pipeline, explain the last step on transformed rows"
        )


def names_of(polyhedron: Polyhedron) -> tuple[str, ...]:
    """The names of the features, x0, x1, ... where there are none."""
    return polyhedron.feature_names or tuple(f"x{j}" for j in range(polyhedron.n_features))


def place_of(key: Any, polyhedron: Polyhedron, argument: str) -> int:
    """The place of a feature that is given by its name or by its place."""
    names = names_of(polyhedron)
    if isinstance(key, str) and key in names:
        return names.index(key)
    whole = isinstance(key, int | np.integer) and not isinstance(key, bool)
    if whole and 0 <= key < len(names):
        return int(key)
    shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
    raise ExplainError(f"{argument} names {key!r}, which is no feature; features are {shown}")


def places_of(keys: Any, polyhedron: Polyhedron, argument: str) -> list[int]:
    """The places of several features; a single one may come without brackets."""
    if isinstance(keys, str | int | np.integer) or not isinstance(keys, Iterable):
        keys = [keys]
    return [place_of(key, polyhedron, argument) for key in keys]


def columns_of(values: Any, polyhedron: Polyhedron, argument: str, default: float) -> Any:
    """One number a feature, from a mapping by name that may leave some at the default."""
    if not isinstance(values, Mapping):
        return values
    columns = np.full(polyhedron.n_features, default)
    for key, value in values.items():
        columns[place_of(key, polyhedron, argument)] = as_floats(value, f"{argument}[{key!r}]")
    return columns


def as_row(x: Any, polyhedron: Polyhedron, argument: str = "x") -> Floats:
    """Return one row as numbers: by name from a mapping, a series or a frame, else by place."""
    row = _by_name(x, polyhedron, argument)
    if row is None:
        dense = x.toarray() if hasattr(x, "toarray") else x
        row = as_floats(dense, argument, copy=True)
        row = row[0] if row.ndim == 2 and len(row) == 1 else row
    if row.shape != (polyhedron.n_features,):
        raise ExplainError(
            f"{argument} must be one row of {polyhedron.n_features} numbers; got shape {row.shape}"
        )
    bad = np.flatnonzero(~np.isfinite(row))
    if bad.size:
        name = names_of(polyhedron)[bad[0]]
        raise ExplainError(f"{argument} must be finite; {name!r} is {row[bad[0]]}")
    return row


def _by_name(x: Any, polyhedron: Polyhedron, argument: str) -> Floats | None:
    """The row of a mapping, a pandas series or a frame of one row, if it has names."""
    keys = getattr(x, "columns", getattr(x, "index", None))
    if isinstance(x, Mapping):
        keys = list(x)
    elif callable(keys) or keys is None:  # a list has a method of that name
        return None
    names = names_of(polyhedron)
    known = set(keys)
    if not known & set(names) and not isinstance(x, Mapping):
        return None  # names of its own: columns count by place
    missing = [name for name in names if name not in known]
    if missing:
        raise ExplainError(f"{argument} has no value for {missing[0]!r}")
    row = np.empty(len(names))
    for j, name in enumerate(names):
        refuse_text(np.asarray(x[name]), f"{argument}, {name!r},")
        value = as_floats(x[name], f"{argument}, {name!r},")
        if value.size != 1:
            raise ExplainError(
                f"{argument} must be one row; {name!r} has {value.size} values. Choose one, for "
                "example frame.iloc[0]"
            )
        row[j] = value.reshape(())
    return row


def _plain(label: Any) -> Any:
    """A label without its numpy type."""
    return label.item() if isinstance(label, np.generic) else label
