"""JSON as bytes, values and typed documents: strict on the way in, laid out on the way out."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec
import numpy as np

from polyceptron.learners.documents import ModelFileError, name_measure

MAX_BYTES = 48 * 2**20
"""A file that is larger is neither read nor written."""
MAX_BEYOND_ASCII = 8 * 2**20
"""The same for text that is not all ASCII, which takes four times the memory. We write ASCII."""
MAX_VALUES = 2_500_000
"""Commas in one document: as many as the numbers that 48 MB hold in full length."""
MAX_CONTAINERS = 250_000
"""Arrays and objects in one document: each takes some hundred bytes and a visit."""
MAX_TEXTS = 300_000
"""Pairs of quotes in one document: texts, and names of fields."""
MAX_DIGITS = 20
"""Of a whole number: the greatest of 64 bits has so many, and long ones are slow to read."""
MAX_DEPTH = 32
"""Arrays in arrays in objects ... in the parts of a document whose form is free."""
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


class NotJSON:
    """Stands where a file has what we do not take; it is of no type that a field may have."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __repr__(self) -> str:
        return self.what


# --- from bytes to values ---------------------------------------------------------------


def parse_json(data: bytes) -> Any:
    """Return the value of a JSON text, with `NotJSON` where it has none."""
    ascii_only = data.isascii()
    for what, found, most in (
        ("bytes", len(data), MAX_BYTES),
        ("bytes, not all of them ASCII", 0 if ascii_only else len(data), MAX_BEYOND_ASCII),
        ("arrays and objects", data.count(b"[") + data.count(b"{"), MAX_CONTAINERS),
        ("values", data.count(b","), MAX_VALUES),
        ("texts", data.count(b'"') // 2, MAX_TEXTS),
    ):
        if found > most:
            raise ModelFileError(f"has more than {most:,} {what}")
    try:
        return json.loads(
            data.decode("utf-8-sig"),
            object_pairs_hook=_object,
            parse_int=_whole,
            parse_constant=NotJSON,
        )
    except UnicodeDecodeError as error:
        raise ModelFileError(f"is not text in UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ModelFileError(f"is not JSON: {error.msg} ({where})") from None
    except RecursionError:
        raise ModelFileError("has arrays or objects nested too deeply") from None


def _object(pairs: list[tuple[str, Any]]) -> Any:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            return NotJSON(f"an object that has the field {brief(key)} twice")
        found[key] = value
    return found


def _whole(digits: str) -> Any:
    if len(digits) > MAX_DIGITS:
        return NotJSON(f"a whole number of {len(digits):,} digits")
    return int(digits)


def check_plain(value: Any, field: str, depth: int = MAX_DEPTH) -> None:
    """Refuse what is no JSON, numbers beyond 64 bits, and what is nested too deeply."""
    kind, must = type(value), ""
    if kind is dict or kind is list:
        if depth == 0:
            raise ModelFileError(f"is nested more than {MAX_DEPTH} levels deep", field)
        for key, item in value.items() if kind is dict else enumerate(value):
            if kind is dict and type(key) is not str:
                raise ModelFileError(f"must have names that are text; got {key!r:.60}", field)
            try:
                check_plain(item, "", depth - 1)
            except ModelFileError as error:  # the path is made only where it is needed
                path = f"{field}{step(key)}{error.field}"
                raise ModelFileError(error.problem, path) from None
    elif kind is int:
        must = "" if -(2**63) <= value < 2**64 else "must be a whole number of 64 bits"
    elif kind is float:
        must = "" if math.isfinite(value) else "must be a finite number"
    elif value is not None and kind is not str and kind is not bool:
        must = "must be JSON: text, numbers, lists, objects"
    if must:
        raise ModelFileError(f"{must}; got {brief(value)}", field)


# --- from values to typed documents -----------------------------------------------------


def convert(raw: Any, kind: Any) -> Any:
    """Return a document of a type; errors name the field, and the value that is there."""
    try:
        return msgspec.convert(raw, kind)
    except UnicodeEncodeError:
        raise ModelFileError("has a field whose name is no text in Unicode") from None
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
    field, value = "", raw
    for name, number in _STEP.findall(path.rstrip("`")):
        key: Any = name or number
        if number == "...":
            key = _culprit(raw, kind, value)
        elif number:
            key = int(number)
        elif name not in value:
            break  # what tells apart several types, and is not there
        field, value = field + step(key), value[key]
    found = re.search(r"(unknown|required) field `(.*)`", message, re.DOTALL)
    if found:
        problem = "is missing" if found[1] == "required" else "is not a field that is known"
        raise ModelFileError(problem, f"{field}{step(found[2])}".removeprefix("."))
    must = message.partition(", got ")[0].replace("Expected", "must be")
    must = must.replace("`", "").replace(" | ", " or ")
    must = must if must.startswith("must") else "must be one of the values in the schema"
    raise ModelFileError(f"{must}; got {brief(value)}", field.removeprefix("."))


def _culprit(raw: Any, kind: Any, within: dict[str, Any]) -> str:
    """The key of a dict whose value is refused, by halves: msgspec does not say which it is."""
    items = list(within.items())
    while len(items) > 1:
        half, rest = items[: len(items) // 2], items[len(items) // 2 :]
        within.clear()
        within.update(half)
        try:
            msgspec.convert(raw, kind)
            items = rest
        except msgspec.ValidationError:
            items = half
    within.update(items)
    return items[0][0]


def step(key: Any) -> str:
    """One step of a path: ``[3]``, ``.name`` or ``["odd name"]``."""
    if isinstance(key, str) and key.isidentifier():
        return f".{key}"
    return f"[{brief(key)}]"


def brief(value: Any, most: int = 60) -> str:
    """Say in a few words what was found, whatever its size."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"an array of {len(value):,}"
    if isinstance(value, str):
        return json.dumps(value if len(value) <= most else value[:most] + "...")
    return json.dumps(value) if value is None or isinstance(value, bool) else repr(value)


# --- the way out ------------------------------------------------------------------------


def plain(value: Any, field: str, *, measured: bool = False) -> Any:
    """Return `value` with numpy's scalars, arrays and tuples as those of JSON.

    Numbers that are not finite are an error, or where `measured` given by name.
    """
    try:
        value = _plain(value, measured)
    except RecursionError:
        raise ModelFileError(f"is nested more than {MAX_DEPTH} levels deep", field) from None
    check_plain(value, field)
    return value


def _plain(value: Any, measured: bool) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        finite = value.dtype.kind == "f" and bool(np.isfinite(value).all())
        value = value.tolist()
        if finite:
            return value
    if isinstance(value, dict):
        return {
            str(key) if isinstance(key, str) else key: _plain(item, measured)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(item, measured) for item in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            value = kind(value)  # which makes a plain one of a subclass
            return name_measure(value) if kind is float and measured else value
    return value


def layout(value: Any, indent: str = "") -> str:
    """Return JSON with one row of a matrix, and one simple object of a list, on a line.

    In ASCII: no editor and no channel can mistake it, and lone surrogates survive.
    """
    inner = indent + "  "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{json.dumps(key)}: {layout(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        lines = [inner + (layout(item, inner) if _is_deep(item) else _text(item)) for item in value]
        return "[\n" + ",\n".join(lines) + f"\n{indent}]"
    return _text(value)


def _is_deep(item: Any) -> bool:
    return isinstance(item, dict) and any(isinstance(part, dict) for part in item.values())


def _text(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
