"""What is asked, and of whom: the rule of a model, one row, features by name or place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from polyceptron.geometry import GeometryError
from polyceptron.rule import Rule, as_rule
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


def rule_of(model: Any) -> Rule:
    """The rule that a model answers by, unless it answers by the most probable class."""
    rule = as_rule(model, error=ExplainError)
    if rule.is_most_probable:
        raise ExplainError(
            f"model has {len(rule.classes)} classes and answers by the most probable, not by one "
            "polyhedron: explain that of a class instead, for example "
            f"model.polyhedra_[{rule.labels[0]!r}]"
        )
    return rule


def place_of(key: Any, rule: Rule, argument: str) -> int:
    """The place of a feature that is given by its name or by its place."""
    names = rule.names
    if isinstance(key, str) and key in names:
        return names.index(key)
    whole = isinstance(key, int | np.integer) and not isinstance(key, bool)
    if whole and 0 <= key < len(names):
        return int(key)
    shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
    raise ExplainError(f"{argument} names {key!r}, which is no feature; features are {shown}")


def places_of(keys: Any, rule: Rule, argument: str) -> list[int]:
    """The places of several features; a single one may come without brackets."""
    if isinstance(keys, str | int | np.integer) or not isinstance(keys, Iterable):
        keys = [keys]
    return [place_of(key, rule, argument) for key in keys]


def columns_of(values: Any, rule: Rule, argument: str, default: float) -> Any:
    """One number a feature, from a mapping by name that may leave some at the default."""
    if not isinstance(values, Mapping):
        return values
    columns = np.full(rule.n_features, default)
    for key, value in values.items():
        columns[place_of(key, rule, argument)] = as_floats(value, f"{argument}[{key!r}]")
    return columns


def as_row(x: Any, model: Any, argument: str = "x") -> Floats:
    """Return one row as numbers: by name from a mapping, a series or a frame, else by place.

    It has the features of the model; errors call it by the name of the argument.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.explain import as_row
    >>> as_row({"dose": 3, "age": 40}, Polyhedron([[1, 2]], [0], ["age", "dose"]))
    array([40.,  3.])
    """
    rule = as_rule(model, error=ExplainError)
    row = _by_name(x, rule, argument)
    if row is None:
        dense = x.toarray() if hasattr(x, "toarray") else x
        row = as_floats(dense, argument, copy=True)
        row = row[0] if row.ndim == 2 and len(row) == 1 else row
    if row.shape != (rule.n_features,):
        raise ExplainError(
            f"{argument} must be one row of {rule.n_features} numbers; got shape {row.shape}"
        )
    bad = np.flatnonzero(~np.isfinite(row))
    if bad.size:
        raise ExplainError(f"{argument} must be finite; {rule.names[bad[0]]!r} is {row[bad[0]]}")
    return row


def _by_name(x: Any, rule: Rule, argument: str) -> Floats | None:
    """The row of a mapping, a pandas series or a frame of one row, if it has names."""
    keys = getattr(x, "columns", getattr(x, "index", None))
    if isinstance(x, Mapping):
        keys = list(x)
    elif callable(keys) or keys is None:  # a list has a method of that name
        return None
    names = rule.names
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
