"""Which columns are meant, and which labels a column of text holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyceptron.data.encoding import missing_columns
from polyceptron.readers import ReaderError

MAX_CLASSES = 100
"""A column with more different values is taken for something else than classes."""


def column_of(name: str, names: Sequence[str], source: str) -> str:
    """Return the column that a name or a number stands for.

    Examples
    --------
    >>> column_of("age", ["age", "dose"], "a.csv"), column_of("-1", ["age", "dose"], "a.csv")
    ('age', 'dose')
    """
    if name in names:
        return name
    try:
        number = int(name)
    except ValueError:
        number = 0
    if number and -len(names) <= number <= len(names):
        return names[number - 1 if number > 0 else number]
    raise ReaderError(f"{source}: {missing_columns([name], names)}")


def listed(values: Sequence[str], names: Sequence[str]) -> list[str]:
    """Take lists at commas apart, unless a whole one is a name.

    Examples
    --------
    >>> listed(["a,b", "c, d"], ["a", "b", "c, d"])
    ['a', 'b', 'c, d']
    """
    return [
        name.strip() if name.strip() in names else name
        for value in values
        for name in ([value] if value in names else value.split(","))
        if name.strip()
    ]


def as_labels(texts: Sequence[str]) -> list[Any]:
    """Return labels as whole numbers if they are all written as such, else as text.

    Examples
    --------
    >>> as_labels(["1", "-1"]), as_labels(["1", "01"])
    ([1, -1], ['1', '01'])
    """
    if all(text.lstrip("-").isdecimal() and len(text) < 18 for text in set(texts)):
        numbers = {text: int(text) for text in set(texts)}
        if all(str(number) == text for text, number in numbers.items()):
            return [numbers[text] for text in texts]
    return list(texts)
