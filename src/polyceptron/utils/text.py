"""Inequalities as text that is unambiguous, whatever the columns are called."""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal

from polyceptron.utils.types import Floats


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


def inequality(
    w: Floats, b: float, names: Sequence[str], digits: int, quote: Callable[[str], str] = quoted
) -> str:
    """Return ``w . x + b >= 0`` as ``0.83*age - 1.2*bmi >= 12.4``."""
    left, right = two_sides(w, b, list(map(quote, names)), lambda value: f"{value:.{digits}g}")
    return f"{left} >= {right}"


def two_sides(
    w: Floats, b: float, names: Sequence[str], written: Callable[[float], str], times: str = "*"
) -> tuple[str, str]:
    """Return what stands left and right of the sign in ``w . x >= -b``."""
    left = ""
    for coefficient, name in zip(w.tolist(), names, strict=True):
        if coefficient != 0:
            number = written(abs(coefficient))
            left += " - " if coefficient < 0 else " + "
            left += name if number == "1" else f"{number}{times}{name}"
    left = f"-{left[3:]}" if left.startswith(" - ") else left.removeprefix(" + ")
    # Adding zero turns -0.0 into 0.0.
    return left, written(-b + 0.0)


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
