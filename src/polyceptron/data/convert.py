"""From tables to arrays, in memory or on disk: batch by batch, what is decided decided here."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.sparse import vstack

from polyceptron.data.columns import FILLED, Plan, Request, Tables, make_plan
from polyceptron.data.dialect import NotANumberError
from polyceptron.data.encoding import (
    Coded,
    Column,
    Encoding,
    gaps_of,
    median_of,
)
from polyceptron.data.files import ArrayWriter
from polyceptron.data.identifiers import SAMPLE_ROWS, identifiers_among
from polyceptron.data.source import ArraySource, RowFacts, SourceError
from polyceptron.data.tables import Batch
from polyceptron.data.values import (
    Categories,
    Kept,
    Labels,
    YesNoColumns,
    columns_of_text,
    has_missing,
    notes_of_blanks,
)
from polyceptron.utils.text import quoted_names

Progress = Callable[[int, int], None]

_SOME = 1 << 20
PARTS = 4
"""Rows may take this part of the memory: they are copied once or twice before they are learned."""
_GROUP = 1 << 25
"""Values of columns whose medians are found at once."""

_INFINITE = re.compile(r"'[-+]?inf(inity)?' is not a number", re.IGNORECASE)


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
                plan = self._without_identifiers(plan)
                return self._write(plan, self._columns(plan))
            except _NotInPlaceError:
                self._in_place = False
            except NotANumberError as error:
                if error.column in plan.texts or error.column not in plan.features:
                    option = self._request.option
                    use = f"use {option('drop')} or {option('categories')} for the column"
                    if _INFINITE.search(str(error)):
                        use = f"leave it empty and say by {option('missing')} what is done"
                    raise NotANumberError(f"{error}: mend it, or {use}", error.column) from None
                # What the beginning said of this column does not hold.
                self._doubts[error.column] = error
                texts = {*plan.texts, error.column}
                plan = plan._replace(
                    texts=tuple(name for name in plan.features if name in texts),
                    dtype=np.dtype(self._request.dtype or np.float64),
                )

    def _without_identifiers(self, plan: Plan) -> Plan:
        """Leave out what tells rows apart, if it was not asked for; the first rows tell."""
        request = self._request
        if request.features or request.keep_identifiers or not plan.is_named or plan.identifiers:
            return plan
        with self._tables.open(0) as table:
            made = {name for names in table.made_of.values() for name in names}
            names = [name for name in plan.numbers if name not in {*made, plan.weight}]
            if table.is_sparse or not names:
                return plan
            batches: Any = table.batches(names)
            with closing(batches):
                batch = next(batches)
        X = np.column_stack([batch.numbers(name)[:SAMPLE_ROWS] for name in names])
        found = identifiers_among(X, names)
        features = tuple(name for name in plan.features if name not in found)
        if not found or not features:
            return plan
        return plan._replace(features=features, identifiers=tuple(found))

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
        needed = {plan.weight, *plan.with_missing("drop", "indicator")}
        numbers, told = (
            tuple(n for n in plan.numbers if n in needed),
            plan.with_missing("indicator"),
        )
        fills = () if self._request.later else plan.with_missing(*FILLED)
        with_gaps: set[str] = set()
        try:
            for _, batch, values in self._batches(plan, numbers, 2) if found or told else ():
                kept = self._kept(batch, plan, values)
                for categories in found:
                    categories.add(batch, values[categories.name], kept)
                with_gaps |= {name for name in told if has_missing(values[name], kept)}
            most = self._request.max_categories
            columns.update(columns_of_text(found, fills, most))
            self._notes = [
                f"{c.name!r}: the {most} most frequent values have a "
                f"feature, {c.n_others} others have none ({option})"
                for c in found
                if c.n_others
            ]
            self._notes += [note for c in found for note in notes_of_blanks(c.name, c.counts)]
            pairs = [(c, Column(c.name, "missing")) for c in columns.values()]
            return Encoding([c for two in pairs for c in two[: 1 + (two[0].name in with_gaps)]])
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
        passes = 2 if plan.texts or plan.with_missing("indicator") else 1
        flags = YesNoColumns(plan.numbers if plan.is_named and X is not None else ())
        for number, batch, columns in self._batches(plan, plan.numbers, passes):
            firsts += [codes.n_rows] * (number + 1 - len(firsts))
            kept = self._kept(batch, plan, columns)
            n_read += int(np.count_nonzero(_weight(batch, plan, columns)))
            if self._gap:
                continue  # all are counted, and nothing is written
            if batch.matrix is not None:
                matrices.append(batch.matrix if kept is None else batch.matrix[kept])
            elif X is not None:
                flags.add(columns, kept)
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
        encoding = flags.told(encoding)
        if X is not None and not matrices:
            encoding = self._filled(X, encoding, set(plan.with_missing(*FILLED)))
        facts = RowFacts(
            target=plan.target,
            kind=plan.label_kind,
            labels=found,
            columns=encoding.columns,
            is_plain=all(c == Column(c.name, "number") for c in encoding.columns),
            is_named=plan.is_named,
            firsts=firsts,
            n_left_out=n_read - codes.n_rows,
            unnamed=plan.unnamed,
            notes=self._all_notes(plan, found),
        )
        return Converted(vstack(matrices, format="csr") if matrices else X, codes, weight, facts)

    def _kept(self, batch: Batch, plan: Plan, columns: dict[str, Any]) -> Kept:
        """Which rows are taken, or None if all are; gaps that are an error are counted.

        A row of weight 0 is no row.
        """
        weight = _weight(batch, plan, columns)
        batch.refuse(weight < 0, str(plan.weight), weight, "is no weight: it must be at least 0")
        left_out = weight == 0
        needed = [*plan.with_missing("drop", "error"), plan.weight, plan.target]
        # Of sparse rows, which have no gaps, only the labels are there.
        gaps = {name: gaps_of(columns[name]) for name in needed if name in columns}
        gaps = {name: rows & ~left_out for name, rows in gaps.items() if (rows & ~left_out).any()}
        wrong = {name: rows for name, rows in gaps.items() if plan.missing[name] == "error"}
        if wrong:
            name = min(wrong, key=lambda name: int(wrong[name].argmax()))
            self._gap = self._gap or batch.where(int(wrong[name].argmax()), name)
            self._n_gaps.update({name: int(rows.sum()) for name, rows in wrong.items()})
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

    def _all_notes(self, plan: Plan, classes: list[Any]) -> tuple[str, ...]:
        of_classes = notes_of_blanks(plan.target, classes)
        return (*plan.notes, *self._notes_of_identifiers(plan), *self._notes, *of_classes)

    def _notes_of_identifiers(self, plan: Plan) -> list[str]:
        if not plan.identifiers:
            return []
        one = (
            "looks like an identifier, and is"
            if len(plan.identifiers) == 1
            else ("look like identifiers, and are")
        )
        keep = self._request.option("features")
        other = self._request.option(
            "keep-identifiers" if self._request.is_command else "keep_identifiers"
        )
        names = quoted_names(plan.identifiers)
        return [f"{names} {one} left out ({keep} or {other} takes such columns in)"]

    def _filled(self, X: Rows, encoding: Encoding, names: set[str]) -> Encoding:
        """Fill missing numbers with the medians of their columns; `later` they are only marked."""
        fills: dict[str, Any] = {}
        columns = [c for c in encoding.columns if c.name in names and c.kind != "missing"]
        if self._request.later:
            fills = {c.name: c.categories[0] if c.is_text else 0.0 for c in columns}
        else:
            fills = {c.name: c.fill for c in columns} | self._medians(X, encoding, names)
        found = [
            c if c.kind == "missing" else replace(c, fill=fills.get(c.name))
            for c in encoding.columns
        ]
        return Encoding(found)

    def _medians(self, X: Rows, encoding: Encoding, names: set[str]) -> dict[str, float]:
        places = [(c, j) for c, j, _ in encoding.places() if c.kind == "number" and c.name in names]
        size = max(1, _GROUP // max(1, X.n_rows))
        medians: dict[str, float] = {}
        for first in range(0, len(places), size):
            columns, at = zip(*places[first : first + size], strict=True)
            values = X.array()
            part = np.asarray(values[:, at], np.float64)
            for column, own in zip(columns, part.T, strict=True):
                try:
                    medians[column.name] = median_of(column, own)
                except ValueError as error:
                    raise SourceError(f"{self._tables.title}: {error}") from None
                own[np.isnan(own)] = medians[column.name]
            values[:, at] = part
        return medians


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
