"""Inequalities as text that is unambiguous, whatever the columns are called."""

from collections.abc import Callable, Sequence

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
    shown = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in escaped)
    return f'"{"".join(shown)}"'


def inequality(
    w: Floats, b: float, names: Sequence[str], digits: int, quote: Callable[[str], str] = quoted
) -> str:
    """Return ``w . x + b >= 0`` as ``0.83*age - 1.2*bmi >= 12.4``."""
    left = ""
    for coefficient, name in zip(w, names, strict=True):
        if coefficient != 0:
            number = f"{abs(float(coefficient)):.{digits}g}"
            left += " - " if coefficient < 0 else " + "
            left += ("" if number == "1" else f"{number}*") + quote(name)
    left = f"-{left[3:]}" if left.startswith(" - ") else left.removeprefix(" + ")
    # Adding zero turns -0.0 into 0.0.
    return f"{left} >= {-b + 0.0:.{digits}g}"
