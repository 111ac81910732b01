"""Inequalities as text that is unambiguous, whatever the columns are called."""

from collections.abc import Callable, Sequence

from polyceptron.utils.types import Floats


def inequality(
    w: Floats,
    b: float,
    names: Sequence[str],
    digits: int,
    quote: Callable[[str], str] | None = None,
) -> str:
    """Return ``w . x + b >= 0`` as ``0.83*age - 1.2*bmi >= 12.4``; `quoted` is the usual quote."""
    left = ""
    for coefficient, name in zip(w, names, strict=True):
        if coefficient != 0:
            number = _number(abs(float(coefficient)), digits)
            left += " - " if coefficient < 0 else " + "
            left += ("" if number == "1" else f"{number}*") + (quote or quoted)(name)
    left = f"-{left[3:]}" if left.startswith(" - ") else left.removeprefix(" + ")
    # Adding zero turns -0.0 into 0.0.
    return f"{left} >= {_number(-b + 0.0, digits)}"


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}g}"


def quoted(name: str) -> str:
    r"""Return `name` itself where it reads as one word, else in quotes with escapes.

    Examples
    --------
    >>> print(quoted("age"), quoted("Petal.Length"), quoted("mean radius"), quoted("a\nb"))
    age Petal.Length "mean radius" "a\nb"
    """
    if name.isprintable() and all(part.isidentifier() for part in name.split(".")):
        return name
    return '"' + "".join(map(_escaped, name)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
