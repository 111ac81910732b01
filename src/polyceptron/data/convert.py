"""From tables to arrays, in memory or on disk: batch by batch, what is decided decided here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.sparse import vstack

from polyceptron.data.columns import MANY, Labels, Plan, Request, Tables, make_plan
from polyceptron.data.dialect import NotANumberError, not_a_number
from polyceptron.data.encoding import BOOLEANS, MAX_CATEGORIES, Coded, Column, Encoding, kind_of
from polyceptron.data.files import ArrayWriter
from polyceptron.data.guesses import as_number, has_decimal_comma
from polyceptron.data.source import ArraySource, RowFacts, SourceError
from polyceptron.data.tables import Batch

Progress = Callable[[int, int], None]
Kept = NDArray[np.bool_] | None
"""Which rows of a batch are taken; None is all."""

_SOME = 1 << 20
PARTS = 4
"""Rows may take this part of the memory: they are copied once or twice before they are learned."""
_GROUP = 1 << 25
"""Values of columns whose medians are found at once."""


class HeldRows:
    """Rows in memory, of at most so many bytes."""

    def __init__(
        self, name: str, dtype: Any, width: tuple[int, ...], most: float = math.inf
    ) -> None:
        del name
        self.n_rows, self._parts, self._most = 0, [np.empty((0, *width), dtype)], most

    def append(self, rows: NDArray[Any]) -> None:
        size = (self.n_rows + len(rows)) * self._parts[0].dtype.itemsize
        if (size := size * math.prod(self._parts[0].shape[1:])) > self._most:
            raise SourceError(
                f"the rows take more than {self._most / 1e9:.2g} GB, for which there is room in "
                f"memory; --out-of-core leaves them on disk (--memory-limit: {PARTS} times that)"
            )
        self._parts.append(np.asarray(rows, self._parts[0].dtype))
        self.n_rows += len(rows)

    def array(self) -> NDArray[Any]:
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0]


Rows = HeldRows | ArrayWriter
"""An array that grows by rows; what is written into its `array` stays."""
Store = Callable[[str, Any, tuple[int, ...]], Rows]
"""Makes an array without rows, of a name, type and width, in memory or in a folder."""


class Converted(NamedTuple):
    """What there is of rows when they were converted."""

    X: Any  # rows, or a csr_matrix; None where the rows can be read from the file itself
    codes: Rows  # places of labels among the classes
    weight: Rows | None
    facts: RowFacts

    def source(self) -> ArraySource:
        """The rows as a source, where they are in memory."""
        X = self.X.array() if isinstance(self.X, HeldRows) else self.X
        weight = None if self.weight is None else self.weight.array()
        source = ArraySource(X, self.facts.classes[self.codes.array()], weight)
        source.take_facts(self.facts)
        return source


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
            odd = next((text for text in counts if as_number(text, batch.decimal) is None), None)
            if odd is not None:
                row = int((found.codes == found.values.index(odd)).argmax())
                self.odd = f"{batch.where(row, self.name)}: {not_a_number(odd)}"
        self.counts.update(counts)
        if len(self.counts) > MANY:
            self.column(fill=False)  # which says so

    def column(self, fill: bool, most_kept: int = MAX_CATEGORIES) -> Column:
        """How the column becomes features; of many values the most frequent are kept."""
        n, categories = self.counts.total(), tuple(sorted(self.counts))
        if self.odd is not None:
            odd = [text for text in self.counts if as_number(text, self.decimal) is None]
            # Another decimal sign is a number that is written wrong, not text.
            words = [t for t in odd if not has_decimal_comma(t) and as_number(t) is None]
            n_odd, n_words = (sum(self.counts[text] for text in texts) for texts in (odd, words))
            if 2 * n_words < n:
                more = f", as are {n_odd - 1} more of {n} values" if n_odd > 1 else ""
                raise NotANumberError(f"{self.odd}{more}", self.name)
        if len(categories) > min(MANY, max(10, n // 2)):
            many = f"too many categories: {self.name!r} has {len(categories)} in {n} rows"
            many += "" if self.odd is None else f", as of {self.odd}"
            raise self.doubt or ValueError(f"{many}: leave such columns out")
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


def _count_alike(counts: Counter[str], text: str) -> int:
    return sum(n for other, n in counts.items() if other.lower() == text)


class _NotInPlaceError(Exception):
    """Rows have to be left out, so that the file cannot be read as it is."""


class Conversion:
    """Makes rows, places of labels and weights of tables, and puts them into a store.

    With `in_place` the rows are those of a file .npy already, if none is left out.
    """

    def __init__(
        self,
        tables: Tables,
        request: Request,
        store: Store,
        *,
        in_place: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self._tables, self._request, self._store = tables, request, store
        self._in_place, self._progress = in_place, progress
        self._doubts: dict[str, NotANumberError] = {}
        self._gap, self._n_gaps = "", Counter[str]()  # the first, and how many by column
        self._passes, self._notes = 0, list[str]()

    def run(self) -> Converted:
        """Convert all, and say what there is."""
        plan = make_plan(self._tables, self._request)
        while True:
            try:
                return self._write(plan, self._columns(plan))
            except _NotInPlaceError:
                self._in_place = False
            except NotANumberError as error:
                if error.column in plan.texts or error.column not in plan.features:
                    option = self._request.option
                    hint = f"mend it, or use {option('drop')} or {option('categories')}"
                    raise NotANumberError(f"{error}: {hint} for the column", error.column) from None
                # What the beginning said of this column does not hold.
                self._doubts[error.column] = error
                texts = {*plan.texts, error.column}
                plan = plan._replace(
                    texts=tuple(name for name in plan.features if name in texts),
                    dtype=np.dtype(self._request.dtype or np.float64),
                )

    def _batches(
        self, plan: Plan, numbers: tuple[str, ...], expected: int
    ) -> Iterator[tuple[int, Batch, dict[str, Any]]]:
        """Of every table its number, the batches, and their columns: arrays, and `Coded` text."""
        texts = tuple(dict.fromkeys((*plan.texts, plan.target)))
        sizes = self._tables.sizes
        total, before = sum(sizes), self._passes * sum(sizes)
        self._passes += 1
        expected = max(expected, self._passes)
        for number, size in enumerate(sizes):
            with self._tables.open(number) as table:
                for batch in table.batches(numbers, texts):
                    columns: dict[str, Any] = {plan.target: batch.coded(plan.target)}
                    if batch.matrix is None:
                        columns |= {name: batch.numbers(name) for name in numbers}
                        columns |= {name: batch.texts(name) for name in plan.texts}
                    yield number, batch, columns
                    if self._progress is not None:
                        self._progress(before + int(batch.share * size), expected * total)
            before += size

    def _columns(self, plan: Plan) -> Encoding:
        """How columns become features; the categories of text are known when all was read."""
        missing, fill = self._request.missing, self._request.fills
        columns = {name: Column(name, "number") for name in plan.features}
        option = self._request.option(
            "max-categories" if self._request.is_command else "max_categories"
        )
        written = plan.label_kind == "written"
        found = [
            Categories(name, self._doubts.get(name), written and name not in plan.codes)
            for name in plan.texts
        ]
        # What is in rows that will be left out does not count.
        weight = () if plan.weight is None else (plan.weight,)
        numbers = plan.numbers if missing == "drop" else weight
        try:
            for _, batch, values in self._batches(plan, numbers, 2) if found else ():
                kept = self._kept(batch, plan, values)
                for categories in found:
                    categories.add(batch, values[categories.name], kept)
            columns.update({c.name: c.column(fill, self._request.max_categories) for c in found})
            self._notes = [
                f"{c.name!r}: the {self._request.max_categories} most frequent values have a "
                f"feature, {c.n_others} others have none ({option})"
                for c in found
                if c.n_others
            ]
            return Encoding(list(columns.values()))
        except SourceError:
            raise
        except ValueError as error:
            hint = self._request.option("drop")
            raise SourceError(f"{self._tables.title}: {error} ({hint})") from None

    def _write(self, plan: Plan, encoding: Encoding) -> Converted:
        labels = Labels(plan.label_kind, f"{self._tables.title}, column {plan.target!r}")
        firsts: list[int] = []
        n_read = 0
        self._gap, self._n_gaps = "", Counter()
        new, width = self._store, (len(encoding.feature_names),)
        X = None if self._in_place else new("X.npy", plan.dtype, width)
        matrices = []
        codes = new("codes.npy", np.int8, ())
        weight = None if plan.weight is None else new("weight.npy", np.float64, ())
        passes = 2 if plan.texts else 1
        for number, batch, columns in self._batches(plan, plan.numbers, passes):
            firsts += [codes.n_rows] * (number + 1 - len(firsts))
            kept = self._kept(batch, plan, columns)
            n_read += int(np.count_nonzero(_weight(batch, plan, columns)))
            if self._gap:
                continue  # all are counted, and nothing is written
            if batch.matrix is not None:
                matrices.append(batch.matrix if kept is None else batch.matrix[kept])
            elif X is not None:
                X.append(_features(batch, plan, encoding, columns, kept))
            elif kept is not None:
                raise _NotInPlaceError
            if plan.weight is not None and weight is not None:
                values = columns[plan.weight]
                weight.append(values if kept is None else values[kept])
            codes.append(labels.codes(columns[plan.target].take(kept)))
        self._refuse_gaps()
        found, places = labels.sorted()
        all_codes = codes.array()
        for first in range(0, len(all_codes), _SOME):  # as they may be on disk
            all_codes[first : first + _SOME] = places[all_codes[first : first + _SOME]]
        if self._request.fills and not matrices:
            encoding = self._filled(X, encoding)
        facts = RowFacts(
            target=plan.target,
            kind=plan.label_kind,
            labels=found,
            columns=encoding.columns,
            is_plain=not plan.texts and self._request.missing != "median",
            is_named=plan.is_named,
            firsts=firsts,
            n_left_out=n_read - codes.n_rows,
            unnamed=plan.unnamed,
            notes=(*plan.notes, *self._notes),
        )
        return Converted(vstack(matrices, format="csr") if matrices else X, codes, weight, facts)

    def _kept(self, batch: Batch, plan: Plan, columns: dict[str, Any]) -> Kept:
        """Which rows are taken, or None if all are; gaps that are an error are counted.

        A row of weight 0 is no row.
        """
        missing = self._request.missing
        weight = _weight(batch, plan, columns)
        batch.refuse(weight < 0, str(plan.weight), weight, "is no weight: it must be at least 0")
        left_out = weight == 0
        needed = [] if missing == "median" else list(plan.features)
        needed += [plan.target] if plan.weight is None else [plan.weight, plan.target]
        gaps: dict[str, NDArray[np.bool_]] = {}
        for name in needed:
            values = columns.get(name)
            if isinstance(values, Coded):
                gaps[name] = values.gaps()
            elif values is not None and values.dtype.kind == "f":
                gaps[name] = np.isnan(values)
        gaps = {name: rows & ~left_out for name, rows in gaps.items() if (rows & ~left_out).any()}
        if missing is None and gaps:
            name = min(gaps, key=lambda name: int(gaps[name].argmax()))
            self._gap = self._gap or batch.where(int(gaps[name].argmax()), name)
            self._n_gaps.update({name: int(rows.sum()) for name, rows in gaps.items()})
        kept: NDArray[np.bool_] = ~np.logical_or.reduce([left_out, *gaps.values()])
        return None if kept.all() else kept

    def _refuse_gaps(self) -> None:
        if self._gap:
            counts = ", ".join(f"{name!r} ({n})" for name, n in self._n_gaps.items())
            option = self._request.option
            raise SourceError(
                f"{self._gap}: a missing value, the first of those in {counts}; "
                f"{option('missing', 'drop')} leaves such rows out, "
                f"{option('missing', 'median')} fills them"
            )

    def _filled(self, X: Rows | None, encoding: Encoding) -> Encoding:
        """Fill missing numbers with the medians of their columns."""
        assert X is not None
        values, medians = X.array(), {}
        places = [(c.name, start) for c, start, _ in encoding.places() if c.kind == "number"]
        size = max(1, _GROUP // max(1, X.n_rows))
        for first in range(0, len(places), size):
            names, at = zip(*places[first : first + size], strict=True)
            part = np.asarray(values[:, at], np.float64)
            for name, column in zip(names, part.T, strict=True):
                gaps = np.isnan(column)
                if gaps.all():
                    what = f"column {name!r} has no value to fill its gaps with"
                    raise SourceError(f"{self._tables.title}: {what}")
                column[gaps] = medians[name] = float(np.median(column[~gaps]))
            values[:, at] = part
        return Encoding([replace(c, fill=medians.get(c.name, c.fill)) for c in encoding.columns])


def _weight(batch: Batch, plan: Plan, columns: dict[str, Any]) -> NDArray[Any]:
    return np.ones(batch.n_rows) if plan.weight is None else columns[plan.weight]


def _features(
    batch: Batch, plan: Plan, encoding: Encoding, columns: dict[str, Any], kept: Kept
) -> NDArray[Any]:
    """The features of the rows that are taken."""
    taken: dict[str, Any] = {}
    for name in plan.features:
        values = columns[name]
        if isinstance(values, Coded):
            taken[name] = values.take(kept)
            continue
        if plan.dtype.itemsize < values.dtype.itemsize:
            with np.errstate(over="ignore"):
                beyond = np.isinf(values.astype(plan.dtype))
            batch.refuse(beyond, name, values, f"is beyond {plan.dtype}")
        taken[name] = values if kept is None else values[kept]
    return encoding.features(taken, plan.dtype)
