"""What the formats share: checks at the door, names that cannot break out of a comment."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding

Label: TypeAlias = bool | int | float | str


class ExportError(ValueError):
    """A polyhedron, a name or a label that a format cannot hold."""


class ExportOptionError(ExportError):
    """An option that a format does not have, or a value that it does not take."""


class Field(NamedTuple):
    """One column of a table, and which features it becomes."""

    name: str
    start: int
    categories: tuple[str, ...] | None
    """None for a number, which is the feature ``start``."""
    fill: float | str | None


def need(module: str, what: str, extra: str | None = None) -> Any:
    """Return an optional module, or say how to get it."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        wanted = f"polyceptron[{extra}]" if extra else package
        raise ImportError(f"{what} needs {package}: pip install {wanted}") from None


def check_polyhedron(polyhedron: Any) -> Polyhedron:
    """Return `polyhedron`, or say what was expected."""
    if not isinstance(polyhedron, Polyhedron):
        raise ExportError(
            "polyhedron must be a Polyhedron, such as model.polyhedron_; "
            f"got {type(polyhedron).__name__}"
        )
    return polyhedron


def features(polyhedron: Polyhedron, encoding: Encoding | None = None) -> tuple[str, ...]:
    """Return what the features are called: x0, x1, ... where nobody has said."""
    names = polyhedron.feature_names
    if encoding is not None:
        if names is not None and names != encoding.feature_names:
            raise ExportError(
                "encoding must give the features of the polyhedron; it gives "
                f"{brief(list(encoding.feature_names))}, expected {brief(list(names))}"
            )
        names = encoding.feature_names
        if len(names) != polyhedron.n_features:
            raise ExportError(
                f"encoding gives {len(names)} features, the polyhedron has {polyhedron.n_features}"
            )
    return names or tuple(f"x{j}" for j in range(polyhedron.n_features))


def fields(polyhedron: Polyhedron, encoding: Encoding | None) -> list[Field]:
    """Return the columns of the table that the polyhedron is about."""
    names = features(polyhedron, encoding)
    if encoding is None:
        return [Field(name, j, None, None) for j, name in enumerate(names)]
    found, start = [], 0
    for column in encoding.columns:
        categories = column.categories if column.kind == "category" else None
        found.append(Field(column.name, start, categories, column.fill))
        start += len(column.categories) if categories is not None else 1
    return found


def check_labels(inside: Any, outside: Any) -> tuple[Label, Label]:
    """Return the two labels as plain values of one kind."""
    one, other = _label(inside, "inside"), _label(outside, "outside")
    if isinstance(one, str) != isinstance(other, str):
        raise ExportError(
            "inside and outside must both be text or both be numbers; "
            f"got {brief(one)} and {brief(other)}"
        )
    if one == other:
        raise ExportError(f"inside and outside must be different; both are {brief(one)}")
    return one, other


def _label(value: Any, name: str) -> Label:
    plain = value.item() if hasattr(value, "dtype") and hasattr(value, "item") else value
    if isinstance(plain, str):
        return str(plain)
    if not isinstance(plain, bool | int | float):
        raise ExportError(f"{name} must be text, a number or a bool; got {brief(value)}")
    if isinstance(plain, float) and not math.isfinite(plain):
        raise ExportError(f"{name} must be finite; got {plain}")
    return plain


def check_name(name: Any, what: str = "name") -> str:
    """Return a name that is an identifier in every language; nothing is made of others."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,39}", name):
        raise ExportOptionError(
            f"{what} must be a letter and at most 39 letters, digits and underscores; "
            f"got {brief(name)}"
        )
    return name


def refuse_unwritable(text: str, what: str) -> None:
    """Refuse what no file of UTF-8 text can hold, and the character that ends text in C."""
    if "\0" in text:
        raise ExportError(f"{what} must not hold the character NUL; got {brief(text)}")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ExportError(f"{what} must be whole characters, not surrogates; got {brief(text)}")


def safe(name: str, most: int = 200) -> str:
    r"""Return a name for a comment of any language: quoted where it is not a plain word.

    Letters, digits and some signs stay. All else is escaped, so that the name can neither end the
    comment nor show in another order than it is read.

    Examples
    --------
    >>> print(safe("age"), safe("body mass (kg)"), safe("*/ x"), safe("a\nb"))
    age "body mass (kg)" "\x2a/ x" "a\nb"
    """
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", name) and len(name) <= most:
        return name
    shown = "".join(map(_escaped, name[:most]))
    rest = len(name) - most
    return f'"{shown}"' if rest <= 0 else f'"{shown}..." ({rest} more characters)'


def _escaped(character: str) -> str:
    if character.isalnum() or character in " _.,:;=+-/()[]%":
        return character
    escape = character.encode("unicode_escape").decode("ascii")
    return escape if len(escape) > 1 else f"\\x{ord(character):02x}"


def inequalities(polyhedron: Polyhedron, names: Sequence[str]) -> list[str]:
    """Return the inequalities to three digits, to be read in a comment."""
    return [
        _shortened(" ".join(_terms(w, names)) + f" >= {-float(b) + 0.0:.3g}")
        for w, b in zip(polyhedron.W, polyhedron.b, strict=True)
    ]


def _terms(w: Floats, names: Sequence[str]) -> list[str]:
    pairs = [(float(c), safe(name, 40)) for c, name in zip(w, names, strict=True) if c != 0]
    first, *rest = pairs
    signed = [f"{'-' if c < 0 else '+'} {abs(c):.3g}*{name}" for c, name in rest]
    return [f"{first[0]:.3g}*{first[1]}", *signed]


def _shortened(line: str, most: int = 400) -> str:
    # A dot at the end: a backslash there would join the next line in C.
    return line if len(line) <= most else line[:most].rstrip("\\") + " ..."


def brief(value: Any, most: int = 60) -> str:
    """Return a value for a message."""
    text = repr(value)
    return text if len(text) <= most else text[:most] + "..."


def numbers(values: Floats) -> list[float]:
    """Return plain floats, whose repr is read back to the last bit."""
    return [float(value) for value in values]


def made_by() -> str:
    """Say what wrote a file."""
    # By name: modules of this package do not import its front door.
    return f"Made by polyceptron {import_module('polyceptron').__version__}."
