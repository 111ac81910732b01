"""How the columns of a table become numbers: text one-hot, gaps filled, with readable names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from polyceptron.utils.checks import as_floats
from polyceptron.utils.text import quoted_names
from polyceptron.utils.types import Floats

KINDS = ("number", "category")

MAX_CATEGORIES = 100
"""A text column with more different values than this describes rows rather than kinds of row."""

_GAP = -2
_WORDS = {
    "Expected": "must be", ", got": "; got", "Object contains": "has an",
    "Object missing": "has no", "Number out of range": "must be a finite number", "`": "",
}  # fmt: skip
"""What msgspec says, and how we say it."""


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
    """One column of a table, and what stands in for a value that is missing.

    Parameters
    ----------
    name : str
    kind : {"number", "category"}
        A number is one feature; a category is one feature, 0 or 1, for each of `categories`.
    categories : tuple of str
        The values of a category, in the order of their features.
    fill : float, str or None
        Takes the place of a missing value; None leaves missing values an error.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    fill: float | str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {self.kind!r:.60}")
        if self.kind == "category":
            if not self.categories:
                raise ValueError("categories must be a list of text with at least one item")
            _refuse_twice(self.categories, "categories")
            if self.fill is not None and self.fill not in self.categories:
                raise ValueError(f"fill must be one of its categories; got {self.fill!r:.60}")
        elif self.categories:
            raise ValueError("categories must be empty for a number")
        elif self.fill is not None and (isinstance(self.fill, str) or not math.isfinite(self.fill)):
            raise ValueError(f"fill must be a finite number; got {self.fill!r:.60}")

    @property
    def feature_names(self) -> tuple[str, ...]:
        if self.kind == "number":
            return (self.name,)
        return tuple(f"{self.name}={category}" for category in self.categories)


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
        A number has the name of its column, a category one name for each value.

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
    >>> Encoding.from_json(encoding.to_json()) == encoding
    True
    """

    columns: tuple[Column, ...]
    feature_names: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __init__(self, columns: Sequence[Column]) -> None:
        try:
            plain = msgspec.to_builtins(columns, enc_hook=np.generic.item)
            checked = msgspec.convert(plain, tuple[Column, ...])
        except TypeError:
            raise ValueError(f"columns must be a list of Column; got {columns!r:.60}") from None
        except msgspec.ValidationError as error:
            raise ValueError(_problem(error)) from None
        if not checked:
            raise ValueError("columns must name at least one column; got none")
        _refuse_twice([column.name for column in checked], "columns")
        names = tuple(name for column in checked for name in column.feature_names)
        _refuse_twice(names, "the features of columns")
        object.__setattr__(self, "columns", checked)
        object.__setattr__(self, "feature_names", names)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def transform(self, table: Mapping[str, Any]) -> Floats:
        """Return the features of every row.

        A category that was not known gives zeros. A missing value (None or NaN) gives what the
        column is filled with, or an error that names the column and counts.

        Parameters
        ----------
        table : mapping of str to array-like
            Such as a dict or a data frame. Columns are found by name; others are ignored.
        """
        # The items of a data frame of polars would be the columns themselves.
        there = list(getattr(table, "columns", table))
        missing = [name for name in self.names if name not in there]
        if missing:
            raise ValueError(missing_columns(missing, there))
        columns: dict[str, Any] = {}
        for name, kind in ((column.name, column.kind) for column in self.columns):
            columns[name] = _floats(name, table[name]) if kind == "number" else coded(table[name])
        return self.features(columns)

    def features(
        self, table: Mapping[str, Any], dtype: Any = np.float64, *, keep_gaps: bool = False
    ) -> NDArray[Any]:
        """The same of arrays of numbers and `Coded` text; numbers may stay missing."""
        columns = ((name, table[name]) for name in self.names)
        n_rows = {name: len(c.codes if isinstance(c, Coded) else c) for name, c in columns}
        if len(set(n_rows.values())) > 1:
            raise ValueError(f"columns must be of one length; got {n_rows}")
        X = np.zeros((n_rows[self.names[0]], len(self.feature_names)), dtype)
        for column, start, stop in self.places():
            values = table[column.name]
            if column.kind == "number":
                X[:, start] = values if keep_gaps else _filled(column, values)
            else:
                _set_categories(X[:, start:stop], column, values)
        return X

    def places(self) -> Iterator[tuple[Column, int, int]]:
        """The columns, and where the features of each begin and end."""
        start = 0
        for column in self.columns:
            stop = start + len(column.feature_names)
            yield column, start, stop
            start = stop

    def unseen(self, X: Floats) -> dict[str, int]:
        """Count the rows of `transform` whose category was not known, by column.

        Examples
        --------
        >>> encoding = Encoding([Column("colour", "category", ("blue", "red"))])
        >>> encoding.unseen(encoding.transform({"colour": ["red", "green", "pink"]}))
        {'colour': 2}
        """
        return {
            column.name: n
            for column, start, stop in self.places()
            if column.kind == "category" and (n := int((~X[:, start:stop].any(axis=1)).sum()))
        }

    def to_json(self) -> list[dict[str, Any]]:
        """Return the columns as lists, dicts, text and numbers.

        Examples
        --------
        >>> Encoding([Column("age", "number", fill=3.5)]).to_json()
        [{'name': 'age', 'kind': 'number', 'fill': 3.5}]
        """
        return list(msgspec.to_builtins(self.columns))

    @classmethod
    def from_json(cls, value: Any) -> Encoding:
        """Return what `to_json` was called on; a ValueError names what is wrong.

        Examples
        --------
        >>> Encoding.from_json([{"name": "age", "kind": "date"}])
        Traceback (most recent call last):
        ...
        ValueError: columns[0].kind must be one of number, category; got 'date'
        """
        return cls(value)


def _problem(error: msgspec.ValidationError) -> str:
    """What msgspec says is wrong, in our words."""
    problem, _, path = str(error).partition(" - at `$")
    if problem[0].islower():  # ours begin with the field
        return f"columns{path.rstrip('`')}.{problem}"
    for theirs, ours in _WORDS.items():
        problem = problem.replace(theirs, ours)
    return f"columns{path.rstrip('`')} {problem}"


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


def is_missing(values: Any) -> NDArray[np.bool_]:
    """Which values are None or NaN."""
    array = _as_array(values)
    if array.dtype.kind != "O":
        return np.isnan(array) if array.dtype.kind == "f" else np.zeros(len(array), np.bool_)
    return np.fromiter((_is_gap(item) for item in array), dtype=np.bool_, count=len(array))


def _is_gap(item: Any) -> bool:
    # pandas.NA is told by its name, as comparing it gives no bool.
    if item is None or isinstance(item, float):
        return item is None or item != item
    return type(item).__name__ in ("NAType", "NaTType")


def _as_array(values: Any) -> NDArray[Any]:
    if not isinstance(values, list | tuple):
        return np.asarray(values)
    try:
        numbers = np.asarray(values)
    except ValueError:  # ragged
        return np.asarray(values, dtype=object)
    return numbers if numbers.dtype.kind in "biuf" else np.asarray(values, dtype=object)


def _floats(name: str, values: Any) -> Floats:
    array = _as_array(values)
    if array.dtype.kind == "O":
        array = np.where(is_missing(array), np.nan, array)
    return as_floats(array, f"column {name!r}")


def _filled(column: Column, numbers: NDArray[Any]) -> NDArray[Any]:
    gaps = np.isnan(numbers)
    if gaps.any():
        if column.fill is None:
            raise _gaps_error(column.name, gaps)
        numbers = np.where(gaps, float(column.fill), numbers)
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise ValueError(f"column {column.name!r} must be finite; row {row} is {numbers[row]}")
    return numbers


def _set_categories(X: NDArray[Any], column: Column, found: Coded) -> None:
    places: dict[str | None, int] = {name: j for j, name in enumerate(column.categories)}
    gap = places[str(column.fill)] if column.fill is not None else _GAP
    # What stands for a value is looked up once, not for every row.
    place = [gap if value is None else places.get(value, -1) for value in found.values]
    at = np.array(place or [0])[found.codes]
    if (at == _GAP).any():
        raise _gaps_error(column.name, at == _GAP)
    known = np.flatnonzero(at >= 0)
    X[known, at[known]] = 1.0


def coded(values: Any) -> Coded:
    """Return a number for each value, and the text, or None for a gap, that it stands for."""
    numbers: dict[str | None, int] = {}
    texts = (None if _is_gap(item) else as_text(item) for item in _as_array(values).tolist())
    codes = [numbers.setdefault(text, len(numbers)) for text in texts]
    return Coded(np.array(codes, dtype=np.int64), list(numbers))


def as_text(item: Any) -> str:
    """Return a value as the text that stands for it in a file: 3.0 is 3."""
    return str(int(item) if isinstance(item, float) and item.is_integer() else item)


def _gaps_error(name: str, gaps: NDArray[np.bool_]) -> ValueError:
    n, first = int(gaps.sum()), int(gaps.argmax())
    return ValueError(
        f"column {name!r} has {n} missing value{'s' if n > 1 else ''}, the first in row {first}"
    )


def _refuse_twice(names: Sequence[str], what: str) -> None:
    for name, n in Counter(names).items():
        if n > 1:
            raise ValueError(f"{what} must have different names; {name!r:.60} is there twice")
