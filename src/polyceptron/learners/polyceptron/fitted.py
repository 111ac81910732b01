"""What a fit to two classes gives, and what a model file keeps of it."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from polyceptron.calibration import Link
from polyceptron.learners.documents import (
    Count,
    Document,
    Exponent,
    Finite,
    ModelFileError,
    NotNegative,
)
from polyceptron.learners.polyceptron.hyperplanes import Setting
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Rule


class LearnedUnion(NamedTuple):
    """The polyhedra of the class inside, and how they were chosen."""

    pieces: list[Polyhedron]
    chosen: Setting
    link: Link
    exponent: int
    n_iter: int
    selection: dict[str, list[Any]]
    path: dict[str, list[Any]] | None = None
    given: tuple[int, ...] = ()
    """How many of the first faces of each piece are not learned."""


class SelectionTable(Document):
    """What was tried, a column each; ``inside`` are places among the two classes."""

    inside: list[Annotated[int, Meta(ge=0, le=1)]]
    n_hyperplanes: list[Count]
    margin: list[NotNegative | None]
    penalty: list[NotNegative | None]
    sampled: list[bool]
    n_polyhedra: list[Count]
    accuracy: list[Finite]
    chosen: list[bool]


class PathTable(Document):
    """What was tried within limits, a column each, as in `SelectionTable`."""

    inside: list[Annotated[int, Meta(ge=0, le=1)]]
    max_terms: list[Count]
    n_terms: list[NotNegative]
    n_hyperplanes: list[Count]
    n_polyhedra: list[Count]
    penalty: list[NotNegative]
    accuracy: list[Finite]
    error: list[NotNegative]
    chosen: list[bool]


class ClassFitted(Document):
    """What a model file keeps of the polyhedron of one class."""

    exponent: Exponent
    n_iter: Count
    margin: NotNegative | None
    penalty: NotNegative | None
    sampled: bool
    selection: SelectionTable
    random_state: Annotated[int, Meta(ge=0, le=2**32 - 1)] | None
    path: PathTable | None = None

    def learned(self, rule: Rule, where: str) -> LearnedUnion:
        """What the fit gave; ``where`` in the file this is."""
        place = rule.pieces[0].place
        selection = _table(self.selection, rule.labels, f"{where}.selection")
        path = None if self.path is None else _table(self.path, rule.labels, f"{where}.path")
        link = rule.links[place] if rule.links else None
        if link is None:
            raise ModelFileError("must give the class of each polyhedron a link", "rule.links")
        pieces = [piece.polyhedron for piece in rule.pieces]
        n_faces = sum(piece.n_faces for piece in pieces)
        chosen = Setting(place, n_faces, self.margin, self.penalty, self.sampled, len(pieces))
        return LearnedUnion(pieces, chosen, link, self.exponent, self.n_iter, selection, path)


def _table(stored: Document, labels: list[Any], where: str) -> dict[str, list[Any]]:
    """The columns of a table, with labels in the place of places."""
    table = msgspec.structs.asdict(stored)
    if len(set(map(len, table.values()))) > 1:
        raise ModelFileError("must have arrays of one length", where)
    return table | {"inside": [labels[place] for place in table["inside"]]}


class PolyceptronFitted(Document):
    """One for the class inside, or one for each of more than two classes."""

    fits: list[ClassFitted]
