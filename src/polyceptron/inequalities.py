"""Inequalities that people write, and that rules print, as numbers."""

import math
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from polyceptron.data.encoding import ZERO_ONE, Column, Encoding, missing_columns
from polyceptron.utils.text import printable, quoted, quoted_names
from polyceptron.utils.types import Floats

MAX_CHARACTERS = 1_000_000
_NAME = r'"(?:[^"\\]|\\.)*"|[^\s"*+\-<>=!≤≥]+'
_TERM = re.compile(
    rf"""\s*(?P<sign>[-+])?\s*
    (?P<size>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)?
    (?P<times>\s*\*\s*)?
    (?P<name>{_NAME})?\s*""",
    re.VERBOSE,
)
_EQUATION = re.compile(rf'\s*({_NAME})\s*=\s*("(?:[^"\\]|\\.)*"|[^\s"<>=]+)\s*')
_RELATION = re.compile(r"[<>=!≤≥]+")
_UP = {">=": True, "≥": True, "<=": False, "≤": False}
_TOO_LARGE = "a number is larger than float64 can hold"
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))")


def parse_inequality(
    text: str, feature_names: Sequence[str], encoding: Encoding | None = None
) -> tuple[Floats, float]:
    r"""Return w and b of ``w . x + b >= 0``, which the text says; nothing in it is run.

    It reads what rules print, to the last bit, and what people write: terms on both sides, a
    column more than once. Names that are not one word are in quotes, ``"mean radius"``.

    Parameters
    ----------
    text : str
        With ``>=`` or ``<=``: a row on a face is inside, so there is no ``>``.
    feature_names : sequence of str
        The columns in their order; those without names are called x0, x1, ...
    encoding : Encoding, optional
        Tells the columns of categories: ``smoker = yes`` says which of them it must be.

    Examples
    --------
    >>> from polyceptron.inequalities import parse_inequality
    >>> parse_inequality("2*age - bmi >= 14", ["age", "bmi"])
    (array([ 2., -1.]), -14.0)
    >>> parse_inequality('1.5e3 <= "mean radius" + 2', ["age", "mean radius"])
    (array([0., 1.]), -1498.0)
    """
    given: Any = text
    if not isinstance(given, str) or len(given) > MAX_CHARACTERS:
        got = f"{len(given):,} characters" if isinstance(given, str) else f"{given!r:.60}"
        raise ValueError(
            f"an inequality must be text such as '2*age - bmi >= 14' of at most "
            f"{MAX_CHARACTERS:,} characters; got {got}"
        )
    if found := _EQUATION.fullmatch(text):
        return _parse_equation(text, _unquoted(found[1]), _unquoted(found[2]), encoding)
    return _parse_terms(text, feature_names)


def _parse_terms(text: str, feature_names: Sequence[str]) -> tuple[Floats, float]:
    places = {name: j for j, name in enumerate(feature_names)}
    w, b, side, relation, is_first, at = np.zeros(len(places)), 0.0, 1.0, "", True, 0
    while is_first or at < len(text):
        term = _term(text, at, is_first)
        size = side * _coefficient(text, term)
        with np.errstate(over="ignore"):  # which is refused below
            if term["name"] is None:
                b += size
            else:
                w[_place_of_name(text, term["name"], places)] += size
        at, is_first = term.end(), False
        found = _RELATION.match(text, at)
        if found:
            if relation:
                _refuse_text(
                    text, f"{found[0]} after {relation}: of two inequalities make two faces"
                )
            if found[0] not in _UP:
                _refuse_text(
                    text,
                    f"{found[0]} must be >= or <=, as a row on a face is inside (names that are "
                    "not one word are in quotes)",
                )
            relation, side, at, is_first = found[0], -1.0, found.end(), True
    if not relation:
        _refuse_text(text, "there is neither >= nor <=")
    if not (np.isfinite(w).all() and np.isfinite(b)):
        _refuse_text(text, _TOO_LARGE)
    if not w.any():
        _refuse_text(text, "no column is left in it")
    # Adding zero turns -0.0 into 0.0.
    return (w + 0.0, b + 0.0) if _UP[relation] else (-w + 0.0, -b + 0.0)


def equation(w: Floats, b: float, encoding: Encoding | None) -> str | None:
    """The text of a face that depends on a column of two values only, and holds for one of them."""
    used = np.flatnonzero(w)
    column = _columns_of_two(encoding).get(int(used[0])) if len(used) == 1 else None
    holds = [b >= 0, w[used].sum() + b >= 0]
    if column is None or sum(holds) != 1:
        return None
    value = column.two_values[int(holds[1])]
    return f"{quoted(column.name)} = {value if value in ZERO_ONE else quoted(value)}"


def _columns_of_two(encoding: Encoding | None) -> dict[int, Column]:
    """The columns of two values, by their feature."""
    places = () if encoding is None else encoding.places()
    return {start: column for column, start, _ in places if column.two_values}


def _parse_equation(
    text: str, name: str, value: str, encoding: Encoding | None
) -> tuple[Floats, float]:
    places = () if encoding is None else encoding.places()
    known = {column.name: (j, column) for column, j, _ in places if column.categories}
    if encoding is None or name not in known:
        listed = f"; those are {quoted_names(list(known))}" if known else ""
        _refuse_text(text, f"= is for columns of categories{listed}; others have >= or <=")
    (j, column), w = known[name], np.zeros(len(encoding.feature_names))
    if value not in column.categories:
        _refuse_text(text, f"{name[:60]} is {' or '.join(map(quoted, column.categories))}")
    sign = -1.0 if column.two_values and value == column.two_values[0] else 1.0
    w[j if column.two_values else j + column.categories.index(value)] = sign
    return w, -0.5 * sign


def _term(text: str, at: int, is_first: bool) -> re.Match[str]:
    term = _TERM.match(text, at)
    assert term is not None  # every part of it may be missing
    size, times, name, sign = term.group("size", "times", "name", "sign")
    both = size is not None and name is not None
    if both and times is None:
        _refuse_text(text, f"write {size[:60]}*{printable(name[:60])}")
    if (size is None and name is None) or both != (times is not None) or not (is_first or sign):
        rest = f"cannot read {text[at:].strip()!r:.60}" if text[at:].strip() else "it breaks off"
        _refuse_text(
            text, f"{rest}; write '2*age - bmi >= 14', and names of several words in quotes"
        )
    return term


def _coefficient(text: str, term: re.Match[str]) -> float:
    size = float(term["size"] or 1) * (-1 if term["sign"] == "-" else 1)
    if not math.isfinite(size):
        _refuse_text(text, _TOO_LARGE)
    return size


def _place_of_name(text: str, written: str, places: dict[str, int]) -> int:
    name = _unquoted(written)
    if name not in places:
        longer = next((one for one in places if one.startswith(f"{name}=") and one in text), "")
        hint = f"; write {quoted(longer)}, in quotes" if longer else ""
        _refuse_text(text, missing_columns([name[:200]], list(places)) + hint)
    return places[name]


def _unquoted(written: str) -> str:
    return _ESCAPE.sub(_unescaped, written[1:-1]) if written.startswith('"') else written


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code is None:
        return {"n": "\n", "r": "\r", "t": "\t"}.get(found[4], found[4])
    return chr(min(int(code, 16), 0x10FFFF))


def _refuse_text(text: str, problem: str) -> NoReturn:
    raise ValueError(f"the inequality {text!r:.100} cannot be used: {problem}")
