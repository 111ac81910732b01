"""Which columns of some files are read as what: decided before any row is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from polyceptron.data.encoding import missing_columns
from polyceptron.data.source import SourceError
from polyceptron.sources._columns import column_of, listed
from polyceptron.sources._formats import Tables
from polyceptron.sources._tables import TEXT, Kind, TableFile, Wanted


class Request(NamedTuple):
    """What was asked for; see `open_blocks`."""

    target: str | None
    features: tuple[str, ...] | None
    drop: tuple[str, ...]
    weight: str | None
    categories: tuple[str, ...]
    missing: str | None
    dtype: str | None
    header: bool | None


class Plan(NamedTuple):
    """How to read the files.

    Parameters
    ----------
    target : str
    weight : str or None
    features : tuple of str
    texts : tuple of str
        Those of the features that are categories.
    codes : tuple of str
        Those of the texts that are categories because it was asked for.
    dtype : dtype
        Of the rows.
    label_kind : str
    """

    target: str
    weight: str | None
    features: tuple[str, ...]
    texts: tuple[str, ...]
    codes: tuple[str, ...]
    dtype: np.dtype[Any]
    label_kind: str

    @property
    def free(self) -> list[str]:
        """The columns that may be numbers or text, as the files say."""
        weight = () if self.weight is None else (self.weight,)
        return [name for name in (*self.features, *weight) if name not in self.codes]

    @property
    def wanted(self) -> Wanted:
        """The columns to read."""
        numbers = [name for name in self.features if name not in self.texts]
        weight = [] if self.weight is None else [self.weight]
        return Wanted((*numbers, *weight), self.texts, self.target)


def make_plan(tables: Tables, request: Request, scratch: Path) -> Plan:
    """Look into every file, and find out what its columns hold."""
    seen = _Seen()
    for number in range(len(tables.paths)):
        with tables.open(number, scratch) as file:
            if number == 0:
                plan, names = _columns(file, request), file.names
                tables.expect = names
            _check_names(file, plan, None if request.features else names, tables.paths[0])
            seen.add(file, plan)
            tables.firsts[number] = seen.n_rows - (file.n_rows or 0)
    seen.check_labels(plan.target)
    if tables.labels is not None and tables.labels.shape != (seen.n_rows,):
        shape = tables.labels.shape
        raise SourceError(f"{tables.paths[0]}: {seen.n_rows} rows, and a target of shape {shape}")
    return plan._replace(
        texts=tuple(name for name in plan.features if name in plan.codes or seen.is_text(name)),
        dtype=seen.dtype(plan, request.dtype),
        label_kind=next(iter(seen.labels)),
    )


class _Seen:
    """What the columns of the files up to now hold."""

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}
        self.n_rows = 0
        self._kinds: dict[str, dict[Kind, str]] = {}

    def add(self, file: TableFile, plan: Plan) -> None:
        self.labels.setdefault(file.label_kind(plan.target), file.name)
        self.n_rows += file.n_rows or 0
        for name, kind in file.kinds(plan.free).items():
            kinds = self._kinds.setdefault(name, {})
            kinds.setdefault(kind, file.name)
            numbers = next((kinds[kind] for kind in kinds if isinstance(kind, np.dtype)), None)
            if TEXT in kinds and numbers is not None:
                raise SourceError(
                    f"{kinds[TEXT]}: column {name!r} holds text, and numbers in {numbers}; "
                    "categories or drop would say what to do"
                )
            if TEXT in kinds and name == plan.weight:
                raise SourceError(f"{file.name}: the weight {name!r} is a column of text")

    def is_text(self, name: str) -> bool:
        return TEXT in self._kinds[name]

    def check_labels(self, target: str) -> None:
        if len(self.labels) > 1:
            found = ", ".join(f"{kind} in {name}" for kind, name in self.labels.items())
            raise SourceError(f"column {target!r}: labels of different types: {found}")

    def dtype(self, plan: Plan, asked: str | None) -> np.dtype[Any]:
        """The type that a data frame of these columns becomes."""
        if asked is not None:
            return np.dtype(asked)
        kinds = {kind for name in plan.features for kind in self._kinds.get(name, {TEXT: ""})}
        types = [kind for kind in kinds if isinstance(kind, np.dtype) and kind.kind != "b"]
        single = len(types) == len(kinds) and np.result_type(*types) == np.float32
        return np.dtype(np.float32 if single else np.float64)


def _columns(file: TableFile, request: Request) -> Plan:
    names, source = file.names, file.name

    def columns(values: Sequence[str]) -> list[str]:
        return [column_of(name, names, source) for name in listed(values, names)]

    target = file.target if request.target is None else column_of(request.target, names, source)
    if target is None:
        shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
        raise SourceError(f"{source}: target is needed: which of {shown} is the class?")
    weight = None if request.weight is None else column_of(request.weight, names, source)
    if weight == target:
        raise SourceError(f"{source}: {target!r} cannot be both target and weight")
    wanted, dropped = columns(request.features or ()), columns(request.drop)
    for name, what in [(target, "target"), (weight, "weight")]:
        if name in wanted:
            raise SourceError(f"{source}: features names the {what}, {name!r}")
    if not wanted:
        wanted = [name for name in names if name not in {target, weight, *file.unnamed}]
    features = tuple(name for name in dict.fromkeys(wanted) if name not in dropped)
    if not features:
        raise SourceError(f"{source}: no column is left to learn from")
    codes = tuple(
        column_of(name, features, source) for name in listed(request.categories, features)
    )
    return Plan(target, weight, features, (), codes, np.dtype(np.float64), "")


def _check_names(file: TableFile, plan: Plan, known: Sequence[str] | None, first: Path) -> None:
    missing = [name for name in plan.wanted.names if name not in file.names]
    if missing:
        text = missing_columns(missing, file.names)
        raise SourceError(f"{file.name}: {text} (the columns are those of {first})")
    extra = [name for name in file.names if known is not None and name not in known]
    if extra:
        shown = ", ".join(map(repr, extra[:10])) + (" and more" if len(extra) > 10 else "")
        raise SourceError(
            f"{file.name}: {shown} {'is' if len(extra) == 1 else 'are'} not in {first}; "
            "features would say which columns to read"
        )
