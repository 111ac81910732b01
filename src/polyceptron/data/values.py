"""What values the columns of tables have: gathered batch by batch, told when all was read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from polyceptron.data.dialect import NotANumberError, not_a_number
from polyceptron.data.encoding import (
    BOOLEANS,
    MAX_CATEGORIES,
    ZERO_ONE,
    Coded,
    Column,
    Encoding,
    are_zero_one,
    gaps_of,
    kind_of,
)
from polyceptron.data.guesses import as_number, has_decimal_comma, unpadded
from polyceptron.data.source import LabelKind, SourceError
from polyceptron.data.tables import Batch
from polyceptron.utils.text import quoted_names

MAX_CLASSES = 100
"""A column with more different values is taken for something else than classes."""

_MOST_FRACTIONS = 20
"""More different labels that are numbers, with fractions, are a measurement."""

MANY = 10_000
"""More different values are not counted to the end."""

Kept = NDArray[np.bool_] | None
"""Which rows of a batch are taken; None is all."""


class TooManyCategoriesError(ValueError):
    """A column of text has so many values that it says nothing of new rows."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(f"{text}: leave such columns out")
        self.text, self.name = text, name


def columns_of_text(
    found: Sequence[Categories], fills: Sequence[str], most: int
) -> dict[str, Column]:
    """How columns become features, by name; all that have too many values are an error."""
    columns, crowded = {}, []
    for one in found:
        try:
            columns[one.name] = one.column(one.name in fills, most)
        except TooManyCategoriesError as error:
            crowded.append(error)
    if len(crowded) > 1:
        others = quoted_names([error.name for error in crowded[1:]])
        raise TooManyCategoriesError(
            f"{crowded[0].text}; the same holds for {others}", crowded[0].name
        )
    if crowded:
        raise crowded[0]
    return columns


@dataclass
class Categories:
    """The values of a column of text, gathered batch by batch.

    `doubt` says why the column is no longer taken for one of numbers. One that `may_be_numbers` and
    has more numbers than words is one of numbers with something wrong.
    """

    name: str
    doubt: NotANumberError | None
    may_be_numbers: bool
    counts: Counter[str] = field(default_factory=Counter)
    odd: str | None = None
    decimal: str = "."
    n_others: int = 0

    def add(self, batch: Batch, found: Coded, kept: Kept) -> None:
        """Take the rows of a batch into account."""
        counts = found.take(kept).counts()
        if self.may_be_numbers and self.odd is None:
            self.decimal = batch.decimal
            odd = next(filter(self._is_odd, counts), None)
            if odd is not None:
                row = int((found.codes == found.values.index(odd)).argmax())
                self.odd = f"{batch.where(row, self.name)}: {not_a_number(odd)}"
        self.counts.update(counts)
        if len(self.counts) > MANY:
            self.column(fill=False)  # which says so

    def _is_odd(self, text: str) -> bool:
        """Whether a value of a column of numbers is none, and not missing either."""
        plain = unpadded(text)
        return plain is not None and as_number(plain, self.decimal) is None

    def column(self, fill: bool, most_kept: int = MAX_CATEGORIES) -> Column:
        """How the column becomes features; of many values the most frequent are kept."""
        if not any(map(_is_word, self.counts)):  # codes, as numbers may have blanks around them
            counts, self.counts = self.counts, Counter()
            for text, count in counts.items():
                self.counts[text.strip()] += count
        n, categories = self.counts.total(), tuple(sorted(self.counts))
        if self.odd is not None:
            odd = list(filter(self._is_odd, self.counts))
            # Another decimal sign is a number that is written wrong, not text.
            words = [t for t in odd if not has_decimal_comma(t.strip()) and _is_word(t)]
            n_odd, n_words = (sum(self.counts[text] for text in texts) for texts in (odd, words))
            if 2 * n_words < n:
                more = f", as are {n_odd - 1} more of {n} values" if n_odd > 1 else ""
                raise NotANumberError(f"{self.odd}{more}", self.name)
        if len(categories) > min(MANY, max(10, n // 2)):
            many = f"too many categories: {self.name!r} has {len(categories)} in {n} rows"
            many += "" if self.odd is None else f", as of {self.odd}"
            raise self.doubt or TooManyCategoriesError(many, self.name)
        if not categories:
            raise self.doubt or ValueError(f"column {self.name!r} has no value")
        if len(categories) > most_kept:
            # Ties by the alphabet, as the order of rows has no meaning.
            order = sorted(categories, key=lambda text: (-self.counts[text], text))
            self.n_others, categories = len(order) - most_kept, tuple(sorted(order[:most_kept]))
        kind = kind_of(categories)
        most = max(categories, key=self.counts.__getitem__)
        if {text.lower() for text in categories} <= {*BOOLEANS}:
            kind, categories = "binary", BOOLEANS
            most = max(BOOLEANS, key=lambda text: _count_alike(self.counts, text))
        return Column(self.name, kind, categories, most if fill else None)


def _is_word(text: str) -> bool:
    return as_number(text.strip()) is None


def notes_of_blanks(name: str, values: Iterable[Any]) -> list[str]:
    """Say that blanks around text count, where some value has them."""
    padded = [text for text in values if isinstance(text, str) and text != text.strip()]
    return [f"{name!r}: blanks around text count, as in {min(padded)!r:.60}"] if padded else []


def _count_alike(counts: Counter[str], text: str) -> int:
    return sum(n for other, n in counts.items() if other.lower() == text)


class YesNoColumns:
    """Finds the columns of numbers that are always 0 or 1, and each of them somewhere."""

    def __init__(self, names: Sequence[str]) -> None:
        self._seen = {name: [False, False] for name in names}

    def add(self, columns: Mapping[str, Any], kept: Kept) -> None:
        """Take the rows of a batch into account."""
        for name, seen in list(self._seen.items()):
            values = columns[name] if kept is None else columns[name][kept]
            if not are_zero_one(values[:1000]).all() or not are_zero_one(values).all():
                del self._seen[name]
                continue
            self._seen[name] = [seen[0] or bool((values == 0).any()), seen[1] or bool(values.any())]

    def told(self, encoding: Encoding) -> Encoding:
        """The encoding that says so of them."""
        flags = {name for name, seen in self._seen.items() if all(seen)}
        told = [
            replace(c, categories=ZERO_ONE) if c.kind == "number" and c.name in flags else c
            for c in encoding.columns
        ]
        return Encoding(told)


def has_missing(values: Any, kept: Kept) -> bool:
    """Whether something is missing of a column, of the rows that are taken."""
    gaps = gaps_of(values)
    return bool((gaps if kept is None else gaps[kept]).any())


def as_labels(texts: Sequence[str]) -> list[Any]:
    """Return labels as whole numbers if they are all written as such, else as text.

    Text has no types: what is not a whole number, such as true or 1.0, is the text that it is.
    Blanks around numbers do not count.
    """
    if any(map(_is_word, texts)):
        return list(texts)
    plain = [text.strip() for text in texts]
    whole = all(len(text) < 18 and re.fullmatch("0|-?[1-9][0-9]*", text) for text in plain)
    return [int(text) for text in plain] if whole else plain


def _fraction_of_many(texts: Sequence[str]) -> str | None:
    """A fraction among many labels that are all numbers, if there is one."""
    numbers = [as_number(text) for text in texts] if len(texts) > _MOST_FRACTIONS else []
    if any(number is None for number in numbers):
        return None
    pairs = zip(texts, numbers, strict=True) if numbers else ()
    return next((text for text, number in pairs if number and not number.is_integer()), None)


class Labels:
    """The labels, gathered batch by batch and numbered as they come."""

    def __init__(self, kind: LabelKind, where: str) -> None:
        self._kind, self._where = kind, where
        self._numbers: dict[Any, int] = {}
        self._n_rows = 0

    def codes(self, labels: Coded) -> NDArray[np.int8]:
        """The numbers of the labels."""
        codes, values = labels
        place = np.zeros(len(values), np.int8)
        self._n_rows += len(codes)
        for j in np.flatnonzero(np.bincount(codes, minlength=len(values))).tolist():
            number = self._numbers.setdefault(values[j], len(self._numbers))
            place[j] = min(number, MAX_CLASSES)
        if len(self._numbers) > MANY:
            self._refuse_many()
        found: NDArray[np.int8] = place[codes]
        return found

    def _refuse_many(self) -> None:
        raise SourceError(
            f"{self._where}: {len(self._numbers)} different values in {self._n_rows} rows are no "
            f"classes (at most {MAX_CLASSES})"
        )

    def sorted(self) -> tuple[list[Any], NDArray[np.int8]]:
        """The labels in order, and for every number its place among them."""
        values = list(self._numbers)
        if len(values) > MAX_CLASSES:
            self._refuse_many()
        labels = as_labels(values) if self._kind == "written" else values
        classes = sorted(set(labels)) if len(values) > 1 else values
        if len(classes) < 2:
            found = f"all rows are {values[0]!r}" if values else "every row has a missing value"
            raise SourceError(f"{self._where}: two classes are needed; {found}")
        if self._kind == "float" and not all(float(value).is_integer() for value in values):
            odd = next(value for value in values if not float(value).is_integer())
            raise SourceError(
                f"{self._where}: {odd} is no class, but a measurement (text would be a class)"
            )
        if self._kind == "written" and (odd := _fraction_of_many([*map(str, labels)])):
            raise SourceError(
                f"{self._where}: {odd!r} is no class, but a measurement, as {len(classes)} "
                "different values are numbers: make few of them, such as low and high"
            )
        return classes, np.array([classes.index(label) for label in labels], np.int8)
