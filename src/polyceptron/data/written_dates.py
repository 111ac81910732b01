"""Dates as text: of ISO 8601, 31.12.2019, 31 Dec 2019, and 12/31/2019 or the other way round."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}[0-9:.]*(?:Z|[+-][0-9:]+)?)?")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_TIME = (
    r"(?:[ T]+(?P<hour>[0-9]{1,2})(?P<rest>:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)"
    r"(?: ?(?P<half>[AaPp])[Mm])?)?"
)
_DAY, _MONTH, _YEAR = r"(?P<day>[0-9]{1,2})", r"(?P<month>[0-9]{1,2})", r"(?P<year>[0-9]{4})"
_FORMS = {
    form: re.compile(pattern + _TIME, re.IGNORECASE)
    for form, pattern in {
        "/": rf"(?P<first>[0-9]{{1,2}})/(?P<second>[0-9]{{1,2}})/{_YEAR}",
        ".": rf"{_DAY}\.{_MONTH}\.{_YEAR}",
        "ymd": rf"{_YEAR}([-./]){_MONTH}\2{_DAY}",
        "day name": rf"{_DAY}([-/ ]?){_NAME}(?:\2|, ){_YEAR}",  # 13-Jun-2019, 13JUN2019
        "name day": rf"{_NAME}([-/ ]){_DAY}(?:\2|, ){_YEAR}",  # Jun 13, 2019
    }.items()
}
DATE_ORDERS = {"mdy": "month/day/year", "dmy": "day/month/year"}
"""Those of dates with slashes."""
DATE_EXAMPLES = {
    "mdy": "12/31/2020",
    "dmy": "31/12/2020",
    ".": "31.12.2020",
    "": "2020-12-31",
    "ymd": "2020/12/31",
    "day name": "31-Dec-2020",
    "name day": "Dec 31, 2020",
}


class DateStyle(NamedTuple):
    """How a column has its dates: with hours or not, and in which order text has its numbers.

    Text of ISO 8601 has no order to find, with points it is ".", and in "?" it cannot be told.
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
            continue
        for form, pattern in _FORMS.items() if cells else ():
            dates = [one for one in map(pattern.fullmatch, cells) if one]
            if len(dates) == len(cells):
                own = _order_of(dates, order) if form == "/" else form
                found[name] = DateStyle(any(one["hour"] for one in dates), own)
    return found


def _order_of(dates: Sequence[re.Match[str]], asked: str | None) -> str:
    if asked:
        return asked
    if any(int(one["first"]) > 12 for one in dates):
        return "dmy"
    return "mdy" if any(int(one["second"]) > 12 for one in dates) else "?"


def note_of_order(name: str, order: str) -> str:
    """Say which order was found, and how to choose the other, if it may be another one."""
    if order == ".":
        return f"dates of {name!r} are read as day.month.year"
    if order not in DATE_ORDERS:
        return ""
    other = next(one for one in DATE_ORDERS if one != order)
    how = f"(--date-order {other} reads them otherwise)"
    return f"dates of {name!r} are read as {DATE_ORDERS[order]} {how}"


def is_ambiguous(text: str, order: str) -> bool:
    """Whether it cannot be told which number is the month."""
    return order == "?" and _FORMS["/"].fullmatch(text) is not None


def as_iso(text: str, order: str) -> str:
    """A date as ISO 8601 writes it, if it is one in this order; nanoseconds are cut."""
    matches = (pattern.fullmatch(text) for pattern in _FORMS.values())
    found = None if _ISO.fullmatch(text) else next(filter(None, matches), None)
    if found is None:
        return re.sub(r"(\.[0-9]{6})[0-9]+", r"\1", text)
    known = found.groupdict()
    if "first" in known:
        known["month"], known["day"] = known["first"], known["second"]
        if order != "mdy":
            known["month"], known["day"] = known["day"], known["month"]
    elif "name" in known:
        known["month"] = 1 + _MONTHS.index(known["name"][:3].lower())
    date = f"{known['year']}-{int(known['month']):02}-{int(known['day']):02}"
    if known["hour"] is None:
        return date
    hour = int(known["hour"])
    if known["half"] and hour <= 12:
        hour = hour % 12 + 12 * (known["half"] in "Pp")
    return f"{date} {hour:02}{known['rest']}"
