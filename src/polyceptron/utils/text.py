"""Inequalities as text that is unambiguous, whatever the columns are called."""

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from polyceptron.utils.types import Floats

_FAR = 300
_SOME = 32
"""Coefficients of a face that tell how many digits it has."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[-+][0-9.]+(e[-+]?[0-9]+)?")
MOST_SHORT = 12
"""Digits of a number that was rounded, at most; others have 15 to 17."""


def quoted(name: str) -> str:
    r"""Return `name` itself where it reads as one word, else in quotes with escapes.

    Examples
    --------
    >>> print(quoted("age"), quoted("Petal.Length"), quoted("mean radius"), quoted("a\nb"))
    age Petal.Length "mean radius" "a\nb"
    """
    if name.isprintable() and all(part.isidentifier() for part in name.split(".")):
        return name
    escaped = name.replace("\\", r"\\").replace('"', r"\"")
    return f'"{printable(escaped)}"'


def quoted_names(names: Sequence[str], most: int = 10) -> str:
    """Return names in quotes; of many the first, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"{name!r:.60}" for name in names[:most]) + more


def printable(text: str) -> str:
    """Return text with escapes for what cannot be printed, line ends above all."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def safe_cell(text: str, *, formulas: bool = True) -> str:
    r"""Return text that neither a terminal nor a spreadsheet obeys.

    What cannot be printed is escaped; with `formulas`, what a spreadsheet would compute begins with
    an apostrophe.

    Examples
    --------
    >>> safe_cell("=1+1"), safe_cell("-1.5"), safe_cell("a\x1b[2J")
    ("'=1+1", '-1.5', 'a\\x1b[2J')
    """
    if formulas and text[:1] in _FORMULA and not _NUMBER.fullmatch(text):
        text = f"'{text}"
    return printable(text)


def inequality(
    w: Floats,
    b: float,
    names: Sequence[str],
    digits: int | None = None,
    quote: Callable[[str], str] = quoted,
) -> str:
    """Return ``w . x + b >= 0`` as ``0.83*age - 1.2*bmi >= 12.4``, or with <= and fewer minuses.

    Numbers are those of `printed_face`, rounded to `digits` if these are given.

    Examples
    --------
    >>> inequality(np.array([-0.75, -0.25, 0.0]), 1.5, ["age", "dose", "bmi"])
    '3*age + dose <= 6'
    >>> inequality(np.array([-1.0, 2000.0]), -1440.25, ["age", "dose"], 2)
    '2000*dose - age >= 1400'
    """
    left, sign, right = two_sides(w, b, list(map(quote, names)), writer(digits))
    return f"{left} {sign} {right}"


def writer(digits: int | None) -> Callable[[float], str]:
    """Return what writes numbers: with so many significant digits, or exactly."""
    if digits is None:
        return short_number
    return lambda value: short_number(float(f"{value:.{digits}g}"))


def two_sides(
    w: Floats, b: float, names: Sequence[str], written: Callable[[float], str], times: str = "*"
) -> tuple[str, str, str]:
    """Return the left side, the sign and the right side of ``w . x >= -b`` as people write it.

    Positive terms come first, the greatest numbers before others; <= where it has fewer minuses.
    """
    shown, sense, bound = one_side(w, b)
    values = shown.tolist()
    left = ""
    for j in sorted(np.flatnonzero(shown).tolist(), key=lambda j: (values[j] < 0, -abs(values[j]))):
        number = written(abs(values[j]))
        left += " - " if values[j] < 0 else " + "
        left += names[j] if number == "1" else f"{number}{times}{names[j]}"
    left = f"-{left[3:]}" if left.startswith(" - ") else left.removeprefix(" + ")
    return left, sense, written(bound)


def one_side(w: Floats, b: float) -> tuple[Floats, str, float]:
    """Return the numbers of the text of a face: coefficients, >= or <=, and the right side.

    Examples
    --------
    >>> one_side(np.array([-0.75, -0.25, 0.0]), 1.5)
    (array([3., 1., 0.]), '<=', 6.0)
    """
    w, b, _ = printed_face(w, b)
    n_minus, n_terms = int((w < 0).sum()), int((w != 0).sum())
    # Adding zero turns -0.0 into 0.0.
    if 2 * n_minus > n_terms or (2 * n_minus == n_terms and b > 0):
        return -w + 0.0, "<=", b + 0.0
    return w + 0.0, ">=", -b + 0.0


def printed_face(w: Floats, b: float) -> tuple[Floats, float, int]:
    """Return w and b as they are printed, and e: the face is 2**e times these, to the last bit.

    Learned faces with few digits are such products. Others stay as they are, with e = 0.

    Examples
    --------
    >>> printed_face(np.array([5000.0, 1.0]) / 1024, -1440.5 / 1024)
    (array([5.e+03, 1.e+00]), -1440.5, -10)
    >>> printed_face(np.array([4.0, 4.0, -2.0]), -5.0)
    (array([ 2.,  2., -1.]), -2.5, 1)
    """
    used = w[w != 0]
    mantissas, exponents = np.frexp(used)
    whole = np.ldexp(np.abs(mantissas), 53).astype(np.int64)
    last_bits = np.frexp((whole & -whole).astype(float))[1] - 1
    # The greatest power of two of which all coefficients are multiples, and some below.
    top = int((exponents - 53 + last_bits).min(initial=1023))
    some = used[:_SOME]
    if _length(some, top)[0] > MOST_SHORT * len(some):
        return w, float(b), 0  # no power of two makes them short
    is_one = len(used) == 1 and abs(mantissas[0]) == 0.5  # `age >= 47`, not `2*age >= 94`
    e = min((top,) if is_one else (0, *range(top, top - 7, -1)), key=lambda e: _length(some, e))
    sizes = np.abs([*used.tolist(), b])
    if (
        e == 0
        or abs(e) > _FAR
        or not ((sizes < 2.0**_FAR) & (sizes > 2.0**-_FAR) | (sizes == 0)).all()
    ):
        return w, float(b), 0  # at the ends of the range of numbers, even powers of two round
    return np.ldexp(w, -e), math.ldexp(b, -e), e


def _length(coefficients: Floats, e: int) -> tuple[int, int]:
    """Digits and characters of coefficients without their factor 2**e; a 1 is not written."""
    with np.errstate(over="ignore", under="ignore"):
        shown = np.abs(np.ldexp(coefficients, -e)).tolist()
    texts = (len(short_number(value)) for value in shown if math.isfinite(value) and value != 1)
    return sum(map(count_digits, shown)), sum(texts)


def printed_faces(W: Floats, b: Floats) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return `printed_face` of every face: W, b and the exponents."""
    faces = [printed_face(w, offset) for w, offset in zip(W, b.tolist(), strict=True)]
    shown, offsets, exponents = zip(*faces, strict=True)
    return np.array(shown), np.array(offsets), np.array(exponents, dtype=np.intp)


def short_number(value: float) -> str:
    """Return the shortest text that is read back as this number.

    Examples
    --------
    >>> [short_number(value) for value in (5000.0, 0.1, 4e9, 1.25e-7, 123456789.5)]
    ['5000', '0.1', '4e+9', '1.25e-7', '123456789.5']
    """
    n = max(count_digits(value), 1)
    exact = Decimal(repr(float(value)))
    plain = f"{exact:f}"
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return plain if len(plain) <= max(7, n + 3) else f"{exact:.{n - 1}e}"


def count_digits(value: float) -> int:
    """Return the significant digits of the shortest text that is read back as this number."""
    return len(repr(value).partition("e")[0].replace(".", "").strip("-0"))


def number_text(value: float, spread: float = 0.0, digits: int = 6) -> str:
    """Return a number to so many digits, more where a hundredth of the spread needs them.

    It is written as people do: 3570, not 3.57e+03.

    Examples
    --------
    >>> number_text(101323.456), number_text(101323.456, spread=12), number_text(3568, digits=3)
    ('101323', '101323.5', '3570')
    """
    if value and 0 < spread < math.inf:
        places = math.floor(math.log10(abs(value))) - math.floor(math.log10(spread)) + 3
        digits = min(max(digits, places), 15)
    text = f"{value:.{digits}g}"
    return f"{Decimal(text):f}" if "e" in text and 1e-5 < abs(value) < 1e7 else text
