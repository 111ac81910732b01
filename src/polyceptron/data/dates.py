"""Dates as numbers: columns such as ``days_since_1970-01-01(start)`` and ``month(start)``.

A model has no kind of column for dates: the name of a feature says what it is made of, so that a
table which has the date gives the number as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from polyceptron.data.guesses import unpadded
from polyceptron.data.source import SourceError
from polyceptron.data.tables import Batch, Table, is_text
from polyceptron.data.written_dates import DATE_EXAMPLES, DateStyle, as_iso, is_ambiguous

DAYS = "days_since_1970-01-01"
_DAY = 86_400_000_000
_PARTS: dict[str, Callable[[Any], Any]] = {
    DAYS: lambda times: pc.divide(times.cast("int64").cast("float64"), float(_DAY)),
    "month": pc.month,
    "weekday": pc.day_of_week,
    "hour": pc.hour,
}
_NAME = re.compile(rf"({'|'.join(map(re.escape, _PARTS))})\((.*)\)", re.DOTALL)


def with_dates(table: Table, dates: str | None, expect: Collection[str]) -> Table:
    """The table with numbers in the place of its dates, as `dates` says: "days" or "parts".

    Numbers that are expected are made of the dates that they name, also where it says nothing.
    """
    made = {}
    for name in expect:
        found = part_of(name)
        if found and found[1] in table.names and name not in table.names:
            made[name] = found
    known = {source for _, source in made.values()}
    styles = table.dates if dates is not None or made else {}
    for source, style in styles.items() if dates is not None else ():
        if source not in known:
            parts = [DAYS] if dates == "days" else ["month", "weekday", *["hour"] * style.has_hour]
            made |= {f"{part}({source})": (part, source) for part in parts}
    return DatedTable(table, made, styles, dates) if made else table


def part_of(name: str) -> tuple[str, str] | None:
    """The part of a date that a column is called after, and the column of the date."""
    found = _NAME.fullmatch(name)
    return None if found is None else (found[1], found[2])


def columns_needed(names: Sequence[str], there: Collection[str]) -> list[str]:
    """The columns that these are, or are made of."""
    found: dict[str, None] = {}
    for name in names:
        made = None if name in there else part_of(name)
        found[made[1] if made and made[1] in there else name] = None
    return list(found)


class DatedTable(Table):
    """A table, and numbers that are made of its dates: for each its part and its column."""

    def __init__(
        self,
        table: Table,
        made: dict[str, tuple[str, str]],
        styles: dict[str, DateStyle],
        dates: str | None,
    ) -> None:
        self._table, self._made, self.made_of = table, made, {}
        self.date_orders = {name: style.order for name, style in styles.items()}
        for name in ("name", "unnamed", "target", "is_text", "is_named", "has_header", "n_rows"):
            setattr(self, name, getattr(table, name))
        for name, (_, source) in made.items():
            self.made_of[source] = (*self.made_of.get(source, ()), name)
        left = tuple(n for n in table.names if dates is None or n not in self.made_of)
        self.names = (*left, *made)
        self.notes, self.stream = table.notes, table.stream

    def types(self, names: Sequence[str]) -> dict[str, Any]:
        found = self._table.types([name for name in names if name not in self._made])
        return {name: found.get(name, pa.float64()) for name in names}

    def jobs(self, numbers: Sequence[str], texts: Sequence[str]) -> Iterator[Callable[[], Batch]]:
        plain = [name for name in numbers if name not in self._made]
        sources = dict.fromkeys(self._made[n][1] for n in numbers if n in self._made)
        others = [*texts, *(name for name in sources if name not in {*texts, *plain})]
        for job in self._table.jobs(plain, others):
            yield partial(self._with_numbers, job, [n for n in numbers if n in self._made])

    def _with_numbers(self, job: Callable[[], Batch], names: Sequence[str]) -> Batch:
        batch = job()
        needed, orders = {self._made[n][1] for n in names}, self.date_orders
        times = {name: _points_in_time(batch, name, orders.get(name, "")) for name in needed}
        data = batch.data
        for name in names:
            part, source = self._made[name]
            data = data.append_column(name, _PARTS[part](times[source]).cast("float64"))
        return batch._replace(data=data)

    def close(self) -> None:
        self._table.close()
        super().close()


def _points_in_time(batch: Batch, name: str, order: str) -> Any:
    """A column as points in time; dates of text that are not of ISO 8601 have an order."""
    column = batch.column(name)
    if not is_text(column.type):
        zone = column.type.tz if pt.is_timestamp(column.type) else None
        return column.cast(pa.timestamp("us", zone), safe=False)
    codes, texts = batch.texts(name)
    values = [None if text is None else unpadded(text) for text in texts]
    found: list[Any] = []
    for j, text in enumerate(values):
        row = int((codes == j).argmax())
        if text is not None and is_ambiguous(text, order):
            what = f"{text!r:.60} may be month/day or day/month: --date-order mdy or dmy says which"
            raise SourceError(f"{batch.where(row, name)}: {what}")
        try:
            zoned = text is not None and re.search(r"(Z|[+-]\d\d:?\d\d)$", text[10:])
            kind = pa.timestamp("us", "UTC" if zoned else None)
            iso = None if text is None else as_iso(text, order)
            found.append(pa.scalar(iso, pa.string()).cast(kind).cast(pa.timestamp("us")))
        except pa.ArrowException:
            like = DATE_EXAMPLES[order]
            what = f"{text!r:.60} is no date such as {like} or {like} 23:59"
            raise SourceError(f"{batch.where(row, name)}: {what}; mend it, or drop it") from None
    values_ = pa.array([one.value for one in found], pa.int64()).cast(pa.timestamp("us"))
    return values_.take(pa.array(codes))
