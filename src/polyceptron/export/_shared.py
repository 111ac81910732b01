"""What the formats share: checks of arguments, names that cannot break out of a comment."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polyceptron.calibration import Calibration, Logistic
from polyceptron.data.encoding import Column, Encoding
from polyceptron.rule import Rule, as_rule, is_bare
from polyceptron.utils.text import inequality, printed_faces
from polyceptron.utils.types import Floats

PlainLabel: TypeAlias = bool | int | float | str


class ExportError(ValueError):
    """A polyhedron, a name or a label that a format cannot hold."""


class ExportOptionError(ExportError):
    """An option that a format does not have, or a value that it does not take."""


class Labelled(NamedTuple):
    """A rule, and labels for its classes; of one class and all else, 1 is inside and 0 outside."""

    rule: Rule
    labels: tuple[PlainLabel, ...]

    def faces(self) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """W and b of all pieces, one after the other, as they are printed; and their exponents."""
        parts = [piece.polyhedron for piece in self.rule.pieces]
        W, b = np.vstack([part.W for part in parts]), np.concatenate([part.b for part in parts])
        return printed_faces(W, b)

    def pieces(self) -> list[list[int]]:
        """Of each piece the place of its label, its first face and the one after its last."""
        ends = np.cumsum([piece.polyhedron.n_faces for piece in self.rule.pieces]).tolist()
        return [
            [piece.place, first, end]
            for piece, first, end in zip(self.rule.pieces, [0, *ends], ends, strict=False)
        ]

    def links(self) -> list[tuple[float, ...]]:
        """Of each class the exponent of its link, and slopes and lapses outside and inside.

        All are zero where the score is the log-odds.
        """
        found: list[tuple[float, ...]] = []
        for link in self.rule.links:
            if isinstance(link, Calibration):
                found.append((link.exponent, *link.outside, *link.inside))
            elif isinstance(link, Logistic):
                found.append((0, 0.0, 0.0, 0.0, 0.0))
            else:
                raise ExportError(f"a link of type {type(link).__name__} cannot be exported")
        return found

    def comment(self) -> list[str]:
        """Say what made a file, and what is answered where, to be read in a comment."""
        rule = self.rule
        headings, besides = rule.in_words([safe(str(label)) for label in self.labels])
        lines = [made_by(), "What it answers:"]
        for heading, piece in zip(headings, rule.pieces, strict=True):
            lines.append(f"  {heading}:")
            for w, b in zip(piece.polyhedron.W, piece.polyhedron.b.tolist(), strict=True):
                face = inequality(w, b, rule.names, None, lambda name: safe(name, 40))
                # A dot at the end: a backslash there would join the next line in C.
                face = face if len(face) <= 400 else face[:400].rstrip("\\") + " ..."
                lines.append(f"    {face}")
        return [*lines, f"  {besides}"]


def labelled(model: Any, inside: Any, outside: Any, encoding: Any = None) -> Labelled:
    """Return the rule of a model with its labels: those given, or its own."""
    model = named(model, encoding)
    rule = as_rule(model)
    place = rule.inside_place
    if place is None or len(rule.classes) != 2:
        if inside is not None or outside is not None:
            raise ExportOptionError(
                "inside and outside are the labels of one class of polyhedra and of all else; here "
                f"the labels are those of the model, {rule.labels!r:.60}"
            )
        return Labelled(rule, tuple(_label(label, "a label") for label in rule.labels))
    own, other = rule.labels[place], rule.labels[1 - place]
    if is_bare(model):
        own, other = "1", "0"
    one = _label(own if inside is None else inside, "inside")
    other = _label(other if outside is None else outside, "outside")
    if isinstance(one, str) != isinstance(other, str):
        raise ExportError(
            "inside and outside must both be text or both be numbers; "
            f"got {one!r:.60} and {other!r:.60}"
        )
    if one == other:
        raise ExportError(f"inside and outside must be different; both are {one!r:.60}")
    union = [piece.polyhedron for piece in rule.pieces]
    binary = Rule.inside([0, 1], 1, *union)
    return Labelled(replace(binary, encoding=rule.encoding), (other, one))


def named(model: Any, encoding: Encoding | None) -> Any:
    """Return the model with the features of an encoding, if there is one."""
    rule = as_rule(model, "polyhedron", ExportError)
    if encoding is None:
        return model
    names = encoding.feature_names
    if rule.feature_names not in (None, names) or len(names) != rule.n_features:
        raise ExportError(
            f"encoding must give the features of the polyhedron, {rule.n_features}; it gives "
            f"{len(names)}, {list(names)!r:.60}, expected {list(rule.names)!r:.60}"
        )
    renamed = rule.renamed(names)
    return [piece.polyhedron for piece in renamed.pieces] if is_bare(model) else renamed


def columns_of(rule: Rule, encoding: Encoding | None) -> list[tuple[Column, slice]]:
    """Return the columns of the table that the rule is about, and the features of each."""
    numbers = [Column(name, "number") for name in rule.names]
    encoding = encoding or rule.encoding
    columns = numbers if encoding is None else encoding.columns
    ends = np.cumsum([len(column.feature_names) for column in columns]).tolist()
    return list(zip(columns, map(slice, [0, *ends], ends), strict=True))


def _label(value: Any, name: str) -> PlainLabel:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        return str(plain)
    if not isinstance(plain, bool | int | float):
        raise ExportError(f"{name} must be text, a number or a bool; got {value!r:.60}")
    if isinstance(plain, float) and not math.isfinite(plain):
        raise ExportError(f"{name} must be finite; got {plain}")
    return plain


def check_name(name: Any) -> str:
    """Return a name that is an identifier in every language; nothing is made of others."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,39}", name):
        raise ExportOptionError(
            "name must be a letter and at most 39 letters, digits and underscores; "
            f"got {name!r:.60}"
        )
    return name


def refuse_unwritable(text: str, what: str) -> None:
    """Refuse what no file of UTF-8 text can hold, and the character that ends text in C."""
    if "\0" in text:
        raise ExportError(f"{what} must not hold the character NUL; got {text!r:.60}")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ExportError(f"{what} must be whole characters, not surrogates; got {text!r:.60}")


def safe(name: str, most: int = 200) -> str:
    """Return a name that cannot end a comment of any language; in quotes if no plain word."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", name) and len(name) <= most:
        return name
    shown = "".join(map(_escaped_character, name[:most]))
    rest = len(name) - most
    return f'"{shown}"' if rest <= 0 else f'"{shown}..." ({rest} more characters)'


def _escaped_character(character: str) -> str:
    if character.isalnum() or character in " _.,:;=+-/()[]%":
        return character
    escape = character.encode("unicode_escape").decode("ascii")
    return escape if len(escape) > 1 else f"\\x{ord(character):02x}"


def filled(template: str, **parts: Any) -> str:
    """Return a program: its template, with parts in their places, which are looked through once."""
    from importlib.resources import files

    text = (files("polyceptron.export") / "templates" / template).read_text("utf-8")
    return re.sub("@([A-Z]+)@", lambda found: str(parts[found[1]]), text)


def made_by() -> str:
    """Say what wrote a file."""
    # By name: modules of this package do not import its front door.
    return f"Made by polyceptron {import_module('polyceptron').__version__}."
