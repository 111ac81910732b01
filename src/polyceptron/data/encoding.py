"""How the columns of a table become numbers: text one-hot, gaps filled, with readable names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from polyceptron.data.guesses import as_number
from polyceptron.utils.text import quoted_names
from polyceptron.utils.types import Floats

MAX_CATEGORIES = 100
"""Of a text column with more different values, the most frequent have a feature."""


BOOLEANS = ("false", "true")
"""What the values of yes/no columns are called, which text may write with capitals."""
ZERO_ONE = ("0", "1")
"""The values of yes/no columns of numbers."""


class Coded(NamedTuple):
    """A column as a number for each row, and what each number stands for, None for a gap."""

    codes: NDArray[np.integer[Any]]
    values: list[Any]

    def take(self, rows: NDArray[np.bool_] | None) -> Coded:
        """Some of the rows; None is all."""
        return self if rows is None else Coded(self.codes[rows], self.values)

    def gaps(self) -> NDArray[np.bool_]:
        """Which rows are missing."""
        none = np.array([value is None for value in self.values] or [False])
        gaps: NDArray[np.bool_] = none[self.codes]
        return gaps

    def counts(self) -> Counter[Any]:
        """How often each value is there; gaps do not count."""
        found = np.bincount(self.codes, minlength=len(self.values)).tolist()
        counts: Counter[Any] = Counter()
        for value, n in zip(self.values, found, strict=True):
            if n and value is not None:
                counts[value] += n
        return counts


class Column(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A column of a table; `fill` is for what is missing.

    A number is one feature, a category one for each value; a number that has categories is always
    0 or 1. A binary column has two values, and is one feature: 1 for the second of them. What is
    missing of a column may be a feature beside it: 1 where there is a gap.
    """

    name: str
    kind: Literal["number", "category", "binary", "missing"]
    categories: tuple[str, ...] = ()
    fill: float | str | None = None

    def __post_init__(self) -> None:
        if self.is_text:
            if not self.categories:
                raise ValueError("categories must be a list of text with at least one item")
            if self.kind == "binary" and len(self.categories) != 2:
                raise ValueError(f"categories must be two; got {len(self.categories)}")
            _refuse_twice(self.categories, "categories")
            if self.fill is not None and self.fill not in self.categories:
                raise ValueError(f"fill must be one of its categories; got {self.fill!r:.60}")
        elif self.categories and (self.kind, self.categories) != ("number", ZERO_ONE):
            raise ValueError("categories must be those of text, or 0 and 1 for a number")
        elif self.kind == "missing" and self.fill is not None:
            raise ValueError(f"fill must be None for what is missing; got {self.fill!r:.60}")
        elif self.fill is not None and (isinstance(self.fill, str) or not math.isfinite(self.fill)):
            raise ValueError(f"fill must be a finite number; got {self.fill!r:.60}")

    @property
    def is_text(self) -> bool:
        return self.kind in ("category", "binary")

    @property
    def two_values(self) -> tuple[str, ...]:
        """The values that 0 and 1 stand for, if the column has no others; else nothing."""
        return () if self.kind == "category" else self.categories

    @property
    def feature_names(self) -> tuple[str, ...]:
        if self.kind == "missing":
            return (f"{self.name} is missing",)
        if self.kind == "number":
            return (self.name,)
        return tuple(f"{self.name}={category}" for category in self.shown_categories)

    @property
    def shown_categories(self) -> tuple[str, ...]:
        """Those of text that have a feature, 1 where a row has the value."""
        if not self.is_text:
            return ()
        return self.categories[1:] if self.kind == "binary" else self.categories

    def knows(self, text: str) -> bool:
        """Whether a value is one of the categories."""
        return text in self.categories or self.canonical(text) in self.categories

    def canonical(self, text: Any) -> Any:
        """A value as categories are written: true and false in small letters, codes unpadded."""
        if not isinstance(text, str):
            return text
        if text.lower() in BOOLEANS:
            return text.lower()
        plain = text.strip()
        are_codes = plain != text and None not in map(as_number, self.shown_categories)
        return plain if are_codes else text


@dataclass(frozen=True)
class Encoding:
    """The columns that a model reads, in the order of its features.

    That of a table is ``open_blocks(table, target).encoding``, where some columns are text.

    Parameters
    ----------
    columns : sequence of Column
        At least one, with different names.

    Attributes
    ----------
    columns : tuple of Column
    feature_names : tuple of str
        A number has the name of its column, a category one name for each value, a column of two
        values that of the second.

    Examples
    --------
    >>> from polyceptron.data.encoding import Column, Encoding
    >>> colour = Column("colour", "category", ("blue", "red"))
    >>> encoding = Encoding([Column("age", "number"), colour])
    >>> encoding.feature_names
    ('age', 'colour=blue', 'colour=red')
    >>> encoding.transform({"age": [3, 4], "colour": ["red", "green"], "shoes": [1, 2]})
    array([[3., 0., 1.],
           [4., 0., 0.]])
    """

    columns: tuple[Column, ...]
    feature_names: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __init__(self, columns: Sequence[Column]) -> None:
        checked = tuple(columns)
        if not checked:
            raise ValueError("columns must name at least one column; got none")
        _refuse_twice([c.name for c in checked if c.kind != "missing"], "columns")
        names = tuple(name for column in checked for name in column.feature_names)
        _refuse_twice(names, "the features of columns")
        object.__setattr__(self, "columns", checked)
        object.__setattr__(self, "feature_names", names)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column.name for column in self.columns))

    @property
    def kinds(self) -> tuple[list[str], list[str]]:
        """The names of numbers, and of categories."""
        numbers = [column.name for column in self.columns if column.kind == "number"]
        return numbers, [name for name in self.names if name not in set(numbers)]

    def transform(self, table: Any) -> Floats:
        """Return the features of every row.

        A category that was not known gives zeros. A missing value gives what the column is filled
        with, or an error that names the row and the column.

        Parameters
        ----------
        table : mapping of str to array-like, frame of pandas or polars, or table of Arrow
            Columns are found by name; others are ignored.
        """
        from polyceptron.data.arrow_tables import open_frame
        from polyceptron.data.dates import with_dates

        with with_dates(open_frame(table, self.names), None, self.names) as rows:
            return np.concatenate([batch.features(self) for batch in rows.batches(*self.kinds)])

    def features(self, table: Mapping[str, Any], dtype: Any = np.float64) -> NDArray[Any]:
        """The same of arrays of numbers and `Coded` text; where nothing fills them, gaps stay."""
        first = table[self.names[0]]
        n_rows = len(first.codes if isinstance(first, Coded) else first)
        X = np.zeros((n_rows, len(self.feature_names)), dtype)
        for column, start, stop in self.places():
            values = table[column.name]
            if column.kind == "missing":
                X[:, start] = gaps_of(values)
            elif isinstance(values, Coded):
                _set_categories(X[:, start:stop], column, values)
            elif column.fill is None:
                X[:, start] = values
            else:
                X[:, start] = np.where(np.isnan(values), float(column.fill), values)
        return X

    def learned_from(self, X: NDArray[Any], *, narrow: bool = True) -> Encoding:
        """The encoding that these rows alone would give, of features in which gaps are NaN.

        Columns that are filled are so anew. If it is to `narrow`, categories go that the rows do
        not have, and what is missing nowhere.
        """
        columns = []
        for column, start, stop in self.places():
            values, fill = X[:, start:stop], column.fill is not None
            if column.kind == "missing":
                columns += [column] if values.any() or not narrow else []
                continue
            if column.kind == "number":
                told = Column(column.name, "number", ZERO_ONE if is_flag(values) else ())
                most: Any = median_of(told, values) if fill else None
                columns.append(msgspec.structs.replace(told, fill=most))
                continue
            one_hot = _one_hot(column, values)
            counts = {name: float(np.nansum(hot)) for name, hot in one_hot.items()}
            if not any(counts.values()):
                raise ValueError(f"column {column.name!r} has no value")
            seen = tuple(name for name, n in counts.items() if n or not narrow)
            most = max(counts, key=counts.__getitem__) if fill else None
            kind = column.kind if seen == column.categories else kind_of(seen)
            if column.categories == BOOLEANS:
                kind, seen = "binary", BOOLEANS
            columns.append(Column(column.name, kind, seen, most))
        return Encoding(columns)

    def recoded(self, X: NDArray[Any], other: Encoding) -> NDArray[Any]:
        """Features as another encoding of these columns has them, which `learned_from` gave."""
        new = np.empty((len(X), len(other.feature_names)), X.dtype)
        places = {(old.name, old.kind == "missing"): (old, a, b) for old, a, b in self.places()}
        for column, at, _ in other.places():
            old, start, stop = places[column.name, column.kind == "missing"]
            values = X[:, start:stop]
            if not column.is_text:
                parts = {column.fill: values[:, 0]}
            else:
                one_hot = _one_hot(old, values)
                parts = {name: one_hot[name] for name in column.shown_categories}
            for j, (name, part) in enumerate(parts.items(), at):
                gap: Any = column.fill == name if column.is_text else name
                new[:, j] = part if column.fill is None else np.where(np.isnan(part), gap, part)
        return new

    def places(self) -> Iterator[tuple[Column, int, int]]:
        """The columns, and where the features of each begin and end."""
        start = 0
        for column in self.columns:
            stop = start + len(column.feature_names)
            yield column, start, stop
            start = stop


def missing_columns(missing: Sequence[str], there: Sequence[str]) -> str:
    """Say which columns are missing, and which of those there are may be meant."""
    if len(missing) > 1:
        text = f"columns {quoted_names(missing)} are missing"
    else:
        text = f"column {missing[0]!r} is missing"
        # Spelt alike, capitals and blanks apart.
        plain = {known.casefold().strip(): known for known in there}
        near = get_close_matches(missing[0].casefold().strip(), list(plain), n=3, cutoff=0.7)
        if near:
            return f"{text} (is it {' or '.join(repr(plain[match]) for match in near)}?)"
    return f"{text}; there {'is' if len(there) < 2 else 'are'} {quoted_names(there) or 'no column'}"


def _set_categories(X: NDArray[Any], column: Column, found: Coded) -> None:
    places: dict[Any, int] = {name: j for j, name in enumerate(column.shown_categories)}
    # What stands for a value is looked up once, not for every row.
    texts = [column.fill if value is None else value for value in found.values]
    place = [places.get(text, places.get(column.canonical(text), -1)) for text in texts]
    at = np.array(place or [0])[found.codes]
    known = np.flatnonzero(at >= 0)
    X[known, at[known]] = 1.0
    if column.fill is None:
        X[found.gaps()] = np.nan


def kind_of(categories: Sequence[str]) -> Literal["category", "binary"]:
    """How a column with these values becomes features."""
    return "binary" if len(categories) == 2 else "category"


def _one_hot(column: Column, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """For every category which rows have it, also where a column is one feature."""
    if column.kind == "binary":
        return dict(zip(column.categories, [1 - values[:, 0], values[:, 0]], strict=True))
    return dict(zip(column.categories, values.T, strict=True))


def median_of(column: Column, values: NDArray[Any]) -> float:
    """The median of what is not missing; of 0 and 1 that of them which is there more often."""
    known = values[~np.isnan(values)]
    if not known.size:
        raise ValueError(f"column {column.name!r} has no value to fill its gaps with")
    median = float(np.median(known.astype(np.float64)))
    return float(median > 0.5) if column.categories else median


def gaps_of(values: NDArray[Any] | Coded) -> NDArray[np.bool_]:
    """Which rows of a column are missing."""
    return values.gaps() if isinstance(values, Coded) else np.isnan(values)


def are_zero_one(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which numbers are 0, 1, or missing."""
    found: NDArray[np.bool_] = (values == 0) | (values == 1) | (values != values)
    return found


def is_flag(values: NDArray[Any]) -> bool:
    """Whether numbers are 0, 1, or missing, and both are there."""
    return bool(are_zero_one(values).all() and (values == 0).any() and (values == 1).any())


def as_text(item: Any) -> str:
    """Return a value as the text that stands for it in a file: 3.0 is 3."""
    return str(int(item) if isinstance(item, float) and item.is_integer() else item)


def _refuse_twice(names: Sequence[str], what: str) -> None:
    for name, n in Counter(names).items():
        if n > 1:
            raise ValueError(f"{what} must have different names; {name!r:.60} is there twice")
