"""What is asked, and of whom: the rule of a model, one row, features by name or place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron.explain._domain import Domain
from polyceptron.geometry.faces import GeometryError, as_roots
from polyceptron.rule import Rule, as_rule
from polyceptron.utils.checks import as_bounds, as_floats, place_of, refuse_text
from polyceptron.utils.text import quoted
from polyceptron.utils.types import Floats, Indices


class ExplainError(ValueError):
    """A question that this model or row has no answer to."""


@contextmanager
def answerable() -> Iterator[None]:
    """Turn errors of geometry into those of explanations."""
    try:
        yield
    except GeometryError as error:
        raise ExplainError(str(error)) from None


def asked(model: Any, x: Any) -> tuple[Rule, Floats]:
    """The rule of a model, and one row for it."""
    rule = as_rule(model, error=ExplainError)
    return rule, as_row(x, rule)


def wanted_place(label: Any, rule: Rule) -> int | None:
    """The place of a label among the classes; None is none of them."""
    if label is None or label in rule.labels:
        return None if label is None else rule.labels.index(label)
    raise ExplainError(f"target must be one of {rule.labels!r:.200}; got {label!r:.60}")


def places_of(keys: Any, rule: Rule, argument: str) -> list[int]:
    """The places of several features; a single one may come without brackets."""
    if isinstance(keys, str | int | np.integer) or not isinstance(keys, Iterable):
        keys = [keys]
    return [place_of(key, rule.names, argument, ExplainError) for key in keys]


def roots_of(weights: Any, rule: Rule) -> Floats:
    """The square roots of the weights: one each where a mapping by name leaves them out."""
    if isinstance(weights, Mapping):
        given, weights = weights, np.ones(rule.n_features)
        for key, value in given.items():
            j = place_of(key, rule.names, "weights", ExplainError)
            weights[j] = as_floats(value, f"weights[{key!r}]")
    return as_roots(weights, rule.n_features)


class Conditions(NamedTuple):
    """What new values may be. ``clash`` says why there are none, if so."""

    row: Floats
    lower: Floats
    upper: Floats
    whole: NDArray[np.bool_]
    """Features of whole numbers, and whose own value may ``stay``, whatever it is."""
    stay: NDArray[np.bool_]
    columns: tuple[Indices, ...]
    """The features of each column: one, or those of a category."""
    max_changes: int | None
    """Columns that may change at most."""
    clash: str | None

    @property
    def categories(self) -> list[Indices]:
        """The features of each category."""
        return [column for column in self.columns if len(column) > 1]

    def ends(self, j: int, value: float) -> tuple[float, float]:
        """The allowed values of a feature next to this one, which is both if it is allowed."""
        low, high, own = np.floor(value), np.ceil(value), self.row[j]
        if self.stay[j]:
            low, high = (
                max(low, own) if own <= value else low,
                min(high, own) if own >= value else high,
            )
        return float(low), float(high)

    def kinds(self, column: Indices) -> list[Floats]:
        """The values that the features of a category may have together."""
        eye = np.eye(len(column))
        own = self.row[column]
        found = [own] if self.stay[column].all() and not (eye == own).all(axis=1).any() else []
        found += list(eye)
        low, high = self.lower[column], self.upper[column]
        return [one for one in found if (low <= one).all() and (one <= high).all()]


def conditions_of(
    row: Floats,
    rule: Rule,
    frozen: Any = (),
    bounds: Any = None,
    integers: Any = (),
    domain: Domain | None = None,
    max_changes: int | None = None,
) -> Conditions:
    """What new values of a row may be."""
    d = rule.n_features
    lower, upper = as_bounds(bounds, rule.names, ExplainError)
    held = np.isin(np.arange(d), places_of(frozen, rule, "frozen"))
    whole = np.isin(np.arange(d), places_of(integers, rule, "integers"))
    stay, columns = np.zeros(d, bool), tuple(np.array([j]) for j in range(d))
    clash = None
    if domain is None and rule.encoding is not None:
        domain = Domain.of_columns(rule.encoding)
    for j in np.flatnonzero(held | whole)[::-1]:  # the first one counts
        clash = _clash(rule.names[j], row[j], lower[j], upper[j], held[j], whole[j]) or clash
    if domain is not None:
        given = [place_of(key, rule.names, "bounds", ExplainError) for key in bounds or ()]
        columns = _features_of_columns(domain, d)
        stay = ~whole
        whole = whole | np.array(domain.whole, bool)
        for category in (column for column in columns if len(column) > 1):
            whole[category] = stay[category] = True
        low, high = domain.limits()
        low, high = np.minimum(low, row), np.maximum(high, row)
        low[given], high[given] = lower[given], upper[given]
        lower, upper = np.maximum(lower, low), np.minimum(upper, high)
    lower, upper = np.where(held, row, lower), np.where(held, row, upper)
    strict = whole & ~stay
    lower, upper = np.where(strict, np.ceil(lower), lower), np.where(strict, np.floor(upper), upper)
    return Conditions(row, lower, upper, whole, stay, columns, max_changes, clash)


def _features_of_columns(domain: Domain, d: int) -> tuple[Indices, ...]:
    """The features of each column, in their order."""
    if len(domain.lower) != d:
        raise ExplainError(f"domain must have {d} features; it has {len(domain.lower)}")
    grouped = {j for group in domain.categories for j in group}
    columns = [np.array(group) for group in domain.categories if group]
    columns += [np.array([j]) for j in range(d) if j not in grouped]
    return tuple(sorted(columns, key=lambda column: int(column[0])))


def _clash(
    name: str, value: float, lower: float, upper: float, held: bool, whole: bool
) -> str | None:
    """Why the conditions of a feature exclude each other, if they do."""
    if held and not lower <= value <= upper:
        return f"{quoted(name)} is frozen at {value:.6g}, outside its bounds"
    if held and whole and value != np.floor(value):
        return f"{quoted(name)} is frozen at {value:.6g}, which is no whole number"
    if whole and np.ceil(lower) > np.floor(upper):
        return f"the bounds of {quoted(name)} hold no whole number"
    return None


def as_row(x: Any, model: Any, argument: str = "x") -> Floats:
    """Return one row as numbers: by name from a mapping, a series or a frame, else by place.

    It has the features of the model; errors call it by the name of the argument.

    Examples
    --------
    >>> from polyceptron import Polyhedron, explain
    >>> explain.as_row({"dose": 3, "age": 40}, Polyhedron([[1, 2]], [0], ["age", "dose"]))
    array([40.,  3.])
    """
    rule = as_rule(model, error=ExplainError)
    row = _row_by_name(x, rule, argument)
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


def _row_by_name(x: Any, rule: Rule, argument: str) -> Floats | None:
    """The row of a mapping, a pandas series or a frame of one row, if it has names.

    Where the rule has an encoding, these may be the names of the table that it reads.
    """
    names, is_mapping = rule.names, isinstance(x, Mapping)
    keys = x if is_mapping else getattr(x, "columns", getattr(x, "index", None))
    if keys is None or callable(keys):  # a list has a method of that name
        return None
    known = set(keys)
    ours = {*names, *(rule.encoding.names if rule.encoding else ())}
    if not is_mapping and known.isdisjoint(ours):
        return None  # names of its own: columns count by place
    if rule.encoding is not None and known.issuperset(rule.encoding.names):
        table = {name: np.atleast_1d(np.asarray(x[name])) for name in rule.encoding.names}
        return rule.encoding.transform(table).squeeze(0)
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
