"""Dates as text: of ISO 8601, 31.12.2019, 31 Dec 2019, and 12/31/2019 or the other way round."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}[0-9:.]*(?:Z|[+-][0-9:]+)?)?")
_HOURS = r"(?:[ T]+([0-9]{1,2})(:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)(?: ?([AaPp])[Mm])?)?"
_OTHER = re.compile(r"([0-9]{1,2})([./])([0-9]{1,2})\2([0-9]{4})" + _HOURS)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
# 13-Jun-2019, 13 June 2019, 13JUN2019; Jun 13 2019, June 13, 2019, Jun-13-2019
_DAY_FIRST = re.compile(rf"([0-9]{{1,2}})([-/ ]?){_MONTH}(?:\2|, )([0-9]{{4}}){_HOURS}", re.I)
_NAME_FIRST = re.compile(rf"{_MONTH}([-/ ])([0-9]{{1,2}})(?:\2|, )([0-9]{{4}}){_HOURS}", re.I)
DATE_ORDERS = {"mdy": "month/day/year", "dmy": "day/month/year"}
"""Those of dates with slashes."""
DATE_EXAMPLES = {
    "mdy": "12/31/2020",
    "dmy": "31/12/2020",
    ".": "31.12.2020",
    "": "2020-12-31",
    "name": "31-Dec-2020",
}


class DateStyle(NamedTuple):
    """How a column has its dates: with hours or not, and in which order text has its numbers.

    Text of ISO 8601 has no order to find, with points it is ".", with the English names of months
    "name", and in "?" it cannot be told.
    """

    has_hour: bool
    order: str = ""


def guess_dates(
    names: Sequence[str], columns: Sequence[Sequence[str]], order: str | None = None
) -> dict[str, DateStyle]:
    """The columns that hold dates, by values that are not missing; with slashes in this order."""
    found = {}
    for name, cells in zip(names, columns, strict=True):
        if cells and all(map(_ISO.fullmatch, cells)):
            found[name] = DateStyle(any(len(cell) > 10 for cell in cells))
        dates = [one for one in map(_OTHER.fullmatch, cells) if one]
        if cells and len(dates) == len(cells) and len({one[2] for one in dates}) == 1:
            found[name] = DateStyle(any(one[5] for one in dates), _order_of(dates, order))
        named = [one for one in map(_with_a_name, cells) if one]
        if cells and len(named) == len(cells):
            found[name] = DateStyle(any(one[5] for one in named), "name")
    return found


def _with_a_name(text: str) -> re.Match[str] | None:
    return _DAY_FIRST.fullmatch(text) or _NAME_FIRST.fullmatch(text)


def _order_of(dates: Sequence[re.Match[str]], asked: str | None) -> str:
    if dates[0][2] == ".":
        return "."
    if asked:
        return asked
    if any(int(one[1]) > 12 for one in dates):
        return "dmy"
    return "mdy" if any(int(one[3]) > 12 for one in dates) else "?"


def note_of_order(name: str, order: str) -> str:
    """Say which order was found, and how to choose the other."""
    if order not in DATE_ORDERS:
        return f"dates of {name!r} are read as day.month.year"
    other = next(one for one in DATE_ORDERS if one != order)
    how = f"(--date-order {other} reads them otherwise)"
    return f"dates of {name!r} are read as {DATE_ORDERS[order]} {how}"


def is_ambiguous(text: str, order: str) -> bool:
    """Whether it cannot be told which number is the month."""
    return order == "?" and _OTHER.fullmatch(text) is not None


def as_iso(text: str, order: str) -> str:
    """A date as ISO 8601 writes it, if it is one in this order; nanoseconds are cut."""
    found = _OTHER.fullmatch(text) or _with_a_name(text)
    if found is None:
        return re.sub(r"(\.[0-9]{6})[0-9]+", r"\1", text)
    first, sign, second, year, hour, rest, half = found.groups()
    month_first = order == "mdy" and sign == "/" and first.isdecimal() and second.isdecimal()
    month, day = (first, second) if month_first or not first.isdecimal() else (second, first)
    if not month.isdecimal():
        month = str(1 + _MONTHS.index(month[:3].lower()))
    date = f"{year}-{int(month):02}-{int(day):02}"
    if hour is None:
        return date
    if half and int(hour) <= 12:
        hour = str(int(hour) % 12 + 12 * (half in "Pp"))
    return f"{date} {int(hour):02}{rest}"
