"""JSON as bytes, values and typed documents: strict on the way in, laid out on the way out."""

from __future__ import annotations

import json
import math
import re
from functools import partial
from typing import Any

import msgspec
import numpy as np

from polyceptron.learners.documents import ModelFileError

MAX_BYTES = 48 * 2**20
"""A file that is larger is neither read nor written."""
MAX_BEYOND_ASCII = 8 * 2**20
"""The same for text that is not all ASCII, which takes four times the memory. We write ASCII."""
MAX_VALUES = 2_300_000
"""Commas in one document: about as many as the numbers that 48 MB hold in full length."""
MAX_CONTAINERS = 130_000
"""Arrays and objects in one document: each takes some hundred bytes and a visit."""
MAX_TEXTS = 300_000
"""Pairs of quotes in one document: texts, and names of fields."""
MAX_DIGITS = 20
"""Of a whole number: the greatest of 64 bits has so many, and long ones are slow to read."""
MAX_DEPTH = 32
"""Arrays in arrays in objects ... in the parts of a document whose form is free."""
_WHOLE = -(2**63), 2**64 - 1
_text = partial(json.dumps, allow_nan=False)
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


class NotJSON:
    """Stands where a file has what we do not take; it is of no type that a field may have."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __repr__(self) -> str:
        return self.what


def parse_json(data: bytes) -> Any:
    """Return the value of a JSON text, with `NotJSON` where it has none."""
    for what, found, most in (
        ("bytes", len(data), MAX_BYTES),
        ("bytes, not all of them ASCII", 0 if data.isascii() else len(data), MAX_BEYOND_ASCII),
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
    value = int(digits) if len(digits) <= MAX_DIGITS else 2**64
    if _WHOLE[0] <= value <= _WHOLE[1]:
        return value
    return NotJSON(f"a whole number of {len(digits):,} digits, beyond 64 bits")


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
    if own := re.match(r"([a-z]+) (must .*)", message):
        raise ModelFileError(own[2], f"{field}.{own[1]}".removeprefix("."))
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


def brief(value: Any) -> str:
    """Say in a few words what was found, whatever its size."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"an array of {len(value):,}"
    if isinstance(value, str):
        return json.dumps(value if len(value) <= 60 else value[:60] + "...")
    return json.dumps(value) if value is None or isinstance(value, bool) else repr(value)


def plain(value: Any, field: str, *, measured: bool = False, depth: int = MAX_DEPTH) -> Any:
    """Return `value` with numpy's scalars, arrays and tuples as those of JSON; else an error.

    Numbers that are not finite are an error, or where `measured` given by name.
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, dict | list | tuple):
        if depth == 0:
            raise ModelFileError(f"is nested more than {MAX_DEPTH} levels deep", field)
        within = partial(plain, measured=measured, depth=depth - 1)
        if isinstance(value, dict):
            return {_name(key, field): within(one, field + step(key)) for key, one in value.items()}
        if all(type(one) in (int, float) and _WHOLE[0] <= one <= _WHOLE[1] for one in value):
            return list(value)  # most of them, and fast
        return [within(one, f"{field}[{number}]") for number, one in enumerate(value)]
    kind = next((kind for kind in (bool, int, float, str) if isinstance(value, kind)), None)
    if kind is None and value is not None:
        must = "must be JSON: text, numbers, lists, objects"
        raise ModelFileError(f"{must}; got {brief(value)}", field)
    value = kind(value) if kind else None  # which makes a plain one of a subclass
    if kind is float and not math.isfinite(value):
        if measured:
            return json.dumps(value)  # its name
        raise ModelFileError(f"must be a finite number; got {brief(value)}", field)
    if kind is int and not _WHOLE[0] <= value <= _WHOLE[1]:
        raise ModelFileError(f"must be a whole number of 64 bits; got {brief(value)}", field)
    return value


def _name(key: Any, field: str) -> str:
    if not isinstance(key, str):
        raise ModelFileError(f"must have names that are text; got {key!r:.60}", field)
    return str(key)


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
