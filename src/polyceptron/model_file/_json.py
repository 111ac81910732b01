"""JSON as bytes and as values: strict on the way in, laid out for people on the way out."""

from __future__ import annotations

import json
from typing import Any

from polyceptron.model_file._error import ModelFileError

MAX_BYTES = 256 * 2**20
"""A file that is larger is neither read nor written."""
MAX_BRACKETS = 5_000_000
"""Arrays and objects in one document: an empty one of two bytes takes sixty in memory."""
MAX_VALUES = 20_000_000
"""Commas in one document: as many numbers as 256 MB can hold in full length."""
MAX_DIGITS = 20
"""Of a whole number: the greatest of 64 bits has so many, and long ones are slow to read."""
MAX_DEPTH = 32
"""Arrays in arrays in objects ... in the parts of a document whose form is free."""


class NotJSON:
    """Stands where a file has something that is not JSON, or that we do not take.

    It is of no type that a field may have, so whoever reads the field says which one it is.
    """

    def __init__(self, what: str) -> None:
        self.what = what

    def __repr__(self) -> str:
        return self.what


def parse(data: bytes) -> Any:
    """Return the value of a JSON text, with `NotJSON` where it has none."""
    if len(data) > MAX_BYTES:
        raise ModelFileError(f"is larger than {MAX_BYTES:,} bytes, the most that is read")
    if data.count(b"[") + data.count(b"{") > MAX_BRACKETS:
        raise ModelFileError(f"has more than {MAX_BRACKETS:,} arrays and objects")
    if data.count(b",") > MAX_VALUES:
        raise ModelFileError(f"has more than {MAX_VALUES:,} values")
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
    except MemoryError:
        raise ModelFileError("needs more memory than there is") from None


def _object(pairs: list[tuple[str, Any]]) -> Any:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return NotJSON(f"an object that has the field {brief(key)} twice")
        seen.add(key)
    raise AssertionError("fewer keys than pairs, but none twice")


def _whole(digits: str) -> Any:
    if len(digits) > MAX_DIGITS:
        return NotJSON(f"a whole number of {len(digits):,} digits")
    return int(digits)


def brief(value: Any, most: int = 60) -> str:
    """Say in a few words what was found, whatever its size."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"an array of {len(value):,}"
    if isinstance(value, str):
        return json.dumps(value if len(value) <= most else value[:most] + "...")
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return repr(value)


def layout(value: Any, indent: str = "") -> str:
    """Return JSON with one row of a matrix, and one simple object of a list, on a line."""
    inner = indent + "  "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{_text(key)}: {layout(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        lines = [inner + (_text(item) if _is_row(item) else layout(item, inner)) for item in value]
        return "[\n" + ",\n".join(lines) + f"\n{indent}]"
    return _text(value)


def _is_row(item: Any) -> bool:
    """Whether this is a number, a list of them, or an object of such."""
    parts = item.values() if isinstance(item, dict) else [item]
    return not any(
        isinstance(part, dict)
        or (isinstance(part, list) and any(isinstance(one, dict | list) for one in part))
        for part in parts
    )


def _text(value: Any) -> str:
    # In ASCII: no editor and no channel can mistake it, and lone surrogates survive.
    return json.dumps(value, allow_nan=False)
