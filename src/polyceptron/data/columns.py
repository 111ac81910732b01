"""Which columns of some tables are read as what: decided once, before any row is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow.types as pt

from polyceptron.data.encoding import MAX_CATEGORIES, missing_columns
from polyceptron.data.guesses import FIND_OUT, FileOptions
from polyceptron.data.source import LabelKind, SourceError
from polyceptron.data.tables import Table, is_number, is_text
from polyceptron.data.written_dates import note_of_order
from polyceptron.utils.text import quoted_names

Kind = np.dtype[Any] | str | None
"""Of a column: the type of its numbers, "text", or None where it is empty."""


class RequestError(SourceError):
    """Arguments that contradict each other or are not enough, whatever the rows."""


Missing = Mapping[str, str]
WAYS = ("drop", "median", "indicator", "error")
"""What may be done about missing values: what leaves rows out, fills them, and so on."""
FILLED = frozenset({"median", "indicator"})


class Request(NamedTuple):
    """What was asked for; see `open_blocks`. Names may be numbers of columns, in digits.

    What is done about what is `missing` is said by column, "" for the others. With `later` gaps
    that are to be filled stay, for who knows which rows are learned from.
    With `is_command` errors name the options of the command line, else the arguments.
    """

    target: str | None = None
    features: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    weight: str | None = None
    categories: tuple[str, ...] = ()
    missing: Missing = MappingProxyType({})
    dtype: str | None = None
    file: FileOptions = FIND_OUT
    is_command: bool = False
    later: bool = False
    max_categories: int = MAX_CATEGORIES
    keep_identifiers: bool = False

    @property
    def fills(self) -> bool:
        """Whether gaps of some column are filled."""
        return not FILLED.isdisjoint(self.missing.values())

    def option(self, name: str, value: str | None = None) -> str:
        """What an argument is called by those who gave it."""
        if self.is_command:
            return f"--{name}" if value is None else f"--{name} {value}"
        return name if value is None else f"{name}={value!r}"


@dataclass
class Tables:
    """Tables that are one together: what errors call each, and their bytes, for progress.

    `opener` opens one, by its number, the columns that will be asked for and the rows before it.
    `labels` are those of all tables, if they are elsewhere.
    """

    names: list[str]
    sizes: list[int]
    opener: Callable[[int, Collection[str], int], Table]
    labels: Any = None
    expect: Collection[str] = ()
    firsts: list[int] = field(default_factory=list)

    def open(self, number: int) -> Table:
        """Open a table."""
        return self.opener(number, self.expect, self.firsts[number])

    @property
    def title(self) -> str:
        """What errors call all of them."""
        n = len(self.names) - 1
        return self.names[0] if not n else f"{self.names[0]} and {n} more"


class Plan(NamedTuple):
    """How to read the tables.

    Of the features `texts` are categories, and of those `codes` because it was asked for; `unnamed`
    columns are left out as they have no name, unless no column has one, and `identifiers` as they
    tell rows apart.
    """

    target: str
    weight: str | None
    features: tuple[str, ...]
    texts: tuple[str, ...]
    codes: tuple[str, ...]
    dtype: np.dtype[Any]
    label_kind: LabelKind
    unnamed: tuple[str, ...]
    is_named: bool
    missing: Missing
    notes: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()

    def with_missing(self, *ways: str) -> tuple[str, ...]:
        """The features of which something is done about what is missing."""
        return tuple(name for name in self.features if self.missing[name] in ways)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns to read as numbers."""
        return self._but(self.texts)

    @property
    def free(self) -> tuple[str, ...]:
        """The columns that may be numbers or text, as the tables say."""
        return self._but(self.codes)

    def _but(self, others: Sequence[str]) -> tuple[str, ...]:
        weight = () if self.weight is None else (self.weight,)
        left_out = set(others)
        return tuple(name for name in (*self.features, *weight) if name not in left_out)


def column_of(name: str, names: Sequence[str], source: str) -> str:
    """Return the column that a name or a number stands for: from 1, or from the end -1."""
    if name in names:
        return name
    with suppress(ValueError):
        number = int(name)
        if number and -len(names) <= number <= len(names):
            return names[number - 1 if number > 0 else number]
    raise SourceError(f"{source}: {missing_columns([name], names)}")


def listed(values: Sequence[str], names: Sequence[str]) -> list[str]:
    """Take lists at commas apart, unless a whole one is a name."""
    return [
        name.strip() if name.strip() in names else name
        for value in values
        for name in ([value] if value in names else value.split(","))
        if name.strip()
    ]


def make_plan(tables: Tables, request: Request) -> Plan:
    """Look into every table, and find out what its columns hold."""
    labels: dict[LabelKind, str] = {}  # and the first table that has such
    kinds: dict[str, dict[Kind, str]] = {}
    n_rows, notes = 0, dict[str, None]()
    for number, name in enumerate(tables.names):
        tables.firsts[number:] = [n_rows]
        with tables.open(number) as table:
            if number == 0:
                plan, names = _asked_columns(table, request), table.names
                tables.expect = names
            _check_known_names(table, plan, None if request.features else names, tables.names[0])
            if table.is_sparse and len(tables.names) > 1:
                raise SourceError(f"{name}: sparse rows of LIBSVM are read from one file only")
            labels.setdefault(_label_kind(table, plan.target), name)
            _add_kinds(kinds, table, plan, request)
            n_rows += table.n_rows or 0
            notes |= dict.fromkeys((*table.notes, *_notes_of_dates(table, plan, request)))
    if len(labels) > 1:
        found = ", ".join(f"{kind} in {name}" for kind, name in labels.items())
        raise SourceError(f"column {plan.target!r}: labels of different types: {found}")
    if tables.labels is not None and tables.labels.shape != (n_rows,):
        shape = tables.labels.shape
        raise SourceError(f"{tables.names[0]}: {n_rows} rows, and a target of shape {shape}")
    codes = set(plan.codes)
    held = {kind for name in plan.features for kind in kinds.get(name, {"text": ""})}
    return plan._replace(
        texts=tuple(name for name in plan.features if name in codes or "text" in kinds[name]),
        dtype=_dtype_of(held) if request.dtype is None else np.dtype(request.dtype),
        label_kind=next(iter(labels)),
        notes=tuple(notes),
    )


def _notes_of_dates(table: Table, plan: Plan, request: Request) -> list[str]:
    """Say what became of dates, of those that are learned from."""
    made = [name for names in table.made_of.values() for name in names if name in plan.features]
    other = request.option("dates", "parts" if request.file.dates == "days" else "days")
    notes = [f"{table.name}: dates become {quoted_names(made)} ({other} otherwise)"] if made else []
    for source, names in table.made_of.items():
        told = note_of_order(source, table.date_orders.get(source, ""))
        if told and request.file.date_order is None and set(names) & set(plan.features):
            notes.append(f"{table.name}: {told}")
    return notes


def _asked_columns(table: Table, request: Request) -> Plan:
    names, source, option = table.names, table.name, request.option

    def columns(values: Sequence[str]) -> list[str]:
        found: list[str] = []
        for name in listed(values, [*names, *table.made_of]):
            found += table.made_of.get(name) or [column_of(name, names, source)]
        return found

    if request.target in table.made_of:
        raise SourceError(f"{source}, column {request.target!r}: dates are no classes")
    target = table.target if request.target is None else column_of(request.target, names, source)
    if target is None:
        shown = quoted_names(names)
        raise RequestError(f"{option('target')} is needed: which of {shown} is the class?")
    weight = None if request.weight is None else column_of(request.weight, names, source)
    if weight == target:
        raise RequestError(f"{target!r} cannot be both target and weight")
    wanted, dropped = columns(request.features or ()), set(columns(request.drop))
    for name, what in [(target, "target"), (weight, "weight")]:
        for argument, named in [("features", wanted), ("drop", dropped)]:
            if name in named:
                raise RequestError(f"{option(argument)} names the {what}, {name!r}")
    left_out = () if wanted else tuple(n for n in names if n in table.unnamed - dropped)
    others = {target, weight, *dropped, *left_out}
    features = tuple(name for name in dict.fromkeys(wanted or names) if name not in others)
    if not features:
        raise SourceError(f"{source}: no column is left to learn from")
    codes = tuple(
        column_of(name, features, source) for name in listed(request.categories, features)
    )
    both = [target] if weight is None else [target, weight]
    missing = _ways(request, both, features, columns)
    plan = Plan(
        target, weight, features, (), codes, np.dtype(np.float64), "str", left_out, True, {}
    )
    return plan._replace(is_named=table.is_named, missing=missing)


def _ways(
    request: Request,
    others: Sequence[str],
    features: Sequence[str],
    columns: Callable[[Sequence[str]], list[str]],
) -> Missing:
    """What is done about what is missing of each column; a row without a label cannot be filled."""
    usual, option = request.missing.get("", "error"), request.option("missing")
    found = dict.fromkeys(features, usual)
    found |= dict.fromkeys(others, "error" if usual == "error" else "drop")
    for name, way in request.missing.items():
        for column in columns([name]) if name else ():
            if column not in found:
                raise RequestError(f"{option}: {name!r} is no column to learn from")
            if column in others and way in FILLED:
                raise RequestError(f"{option}: {name!r} can be drop or error; got {way!r}")
            found[column] = way
    return found


def _check_known_names(table: Table, plan: Plan, known: Sequence[str] | None, first: str) -> None:
    there = set(table.names)
    missing = [name for name in (*plan.numbers, plan.target) if name not in there]
    if missing:
        text = missing_columns(missing, table.names)
        raise SourceError(f"{table.name}: {text} (the columns are those of {first})")
    extra = [] if known is None or table.names == known else sorted(there - set(known))
    if extra:
        raise SourceError(
            f"{table.name}: {quoted_names(extra)} {'is' if len(extra) == 1 else 'are'} not in "
            f"{first}; "
            "features would say which columns to read"
        )


def _kind(table: Table, name: str, kind: Any, drop: str) -> Kind:
    if pt.is_null(kind):
        return None
    if is_number(kind):
        numbers: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
        return numbers
    if pt.is_decimal(kind):
        return np.dtype(np.float64)
    if pt.is_dictionary(kind) or pt.is_boolean(kind) or is_text(kind):
        return "text"
    raise SourceError(
        f"{table.name}, column {name!r}: a column of {kind} is neither numbers nor text; "
        f"leave it out ({drop})"
    )


def _label_kind(table: Table, name: str) -> LabelKind:
    if table.is_text:
        return "written"
    kind = table.types([name])[name]
    if pt.is_dictionary(kind):
        kind = kind.value_type
    tests: dict[LabelKind, Callable[[Any], bool]] = {
        "bool": pt.is_boolean, "int": pt.is_integer, "float": pt.is_floating, "str": is_text
    }  # fmt: skip
    for found, test in tests.items():
        if test(kind):
            return found
    raise SourceError(f"{table.name}, column {name!r}: a column of {kind} holds no classes")


def _add_kinds(
    kinds: dict[str, dict[Kind, str]], table: Table, plan: Plan, request: Request
) -> None:
    """Take note of what the columns of one more table hold, and refuse what does not fit."""
    drop, categories = request.option("drop"), request.option("categories")
    for name, kind in table.types(plan.free).items():
        held = kinds.setdefault(name, {})
        held.setdefault(_kind(table, name, kind, drop), table.name)
        numbers = next((k for k in held if isinstance(k, np.dtype)), None)
        if "text" in held and numbers is not None:
            raise SourceError(
                f"{held['text']}: column {name!r} holds text, and numbers in "
                f"{held[numbers]}; {categories} or {drop} would say what to do"
            )
        if "text" in held and name == plan.weight:
            raise SourceError(f"{table.name}: the weight {name!r} is a column of text")


def _dtype_of(kinds: Collection[Kind]) -> np.dtype[Any]:
    """The type that a data frame of columns of these kinds becomes."""
    types = [kind for kind in kinds if isinstance(kind, np.dtype)]
    single = len(types) == len(kinds) and np.result_type(*types) == np.float32
    return np.dtype(np.float32 if single else np.float64)
