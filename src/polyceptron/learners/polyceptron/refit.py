"""Learning again around faces that stay."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Rule
from polyceptron.rule.editing import face_name
from polyceptron.utils.text import quoted_names
from polyceptron.utils.types import Floats


class StartPiece(NamedTuple):
    """A piece of a union to begin with: rows [w, b], those that stay first."""

    faces: Floats
    n_kept: int
    is_whole: bool
    """Whether it stays as it is."""

    @property
    def kept(self) -> Floats:
        """Rows of the faces that stay."""
        return self.faces[: self.n_kept]

    @property
    def n_learned(self) -> int:
        """The number of faces that do not stay."""
        return len(self.faces) - self.n_kept


class Around(NamedTuple):
    """A rule to be learned again, and the places (piece, face) of its faces that stay."""

    rule: Rule
    kept: frozenset[tuple[int, int]]

    @classmethod
    def of(cls, rule: Rule, locked: Any) -> Around:
        """The faces that are locked stay, and these."""
        if rule.is_partition:
            raise ValueError("refit is for rules of polyhedra, and this one is a tree: fit again")
        addresses = rule.edit().addresses
        named = {face_name(face) for face in _listed_faces(locked)}
        unknown = sorted(named - set(addresses))
        if unknown:
            known = quoted_names(list(addresses))
            raise ValueError(
                f"locked must be faces as they are printed, {known}; got {unknown[0]!r}"
            )
        kept = frozenset({*rule.locked, *(addresses[name] for name in named)})
        if not kept:
            raise ValueError("refit keeps faces that are locked, and none is: name them in locked")
        return cls(rule, kept)

    @property
    def places(self) -> list[int]:
        """The classes that have faces that stay."""
        return sorted({self.rule.pieces[p].place for p, _ in self.kept})

    def common(self, place: int) -> Floats:
        """Rows [w, b], as they are printed, of the faces that stay in every piece of a class."""
        first, *others = self._printed(place)
        found = [face for face in first if all(face in one for one in others)]
        return np.array(found).reshape(len(found), self.rule.n_features + 1)

    def starts(self, labels: list[Any]) -> dict[int, list[StartPiece]]:
        """What to begin with by the place of those classes that are learned piece by piece."""
        found = {place: self.start(place) for place in self.places}
        found = {place: start for place, start in found.items() if start}
        if found and labels != self.rule.labels:
            raise ValueError(
                f"y must have the classes of the rule, {self.rule.labels!r}, for faces"
                f" to stay in one of several polyhedra; got {labels!r}"
            )
        return found

    def start(self, place: int) -> list[StartPiece]:
        """The pieces of a class where others stay in one than in another; else none."""
        if len({frozenset(one) for one in self._printed(place)}) == 1:
            return []
        found = []
        for p, piece in enumerate(self.rule.pieces):
            if piece.place == place:
                faces = np.column_stack([piece.polyhedron.W, piece.polyhedron.b])
                stays = np.array([(p, k) in self.kept for k in range(len(faces))])
                ordered = np.vstack([faces[stays], faces[~stays]])
                found.append(StartPiece(ordered, int(stays.sum()), bool(stays.all())))
        return found

    def _printed(self, place: int) -> list[dict[tuple[float, ...], None]]:
        """The faces that stay in each piece of a class, each as it is printed."""
        found = []
        for p, piece in enumerate(self.rule.pieces):
            if piece.place == place:
                one: Polyhedron = piece.polyhedron.printed
                rows = np.column_stack([one.W, one.b]).tolist()
                stays = (tuple(row) for k, row in enumerate(rows) if (p, k) in self.kept)
                found.append(dict.fromkeys(stays))
        return found


def _listed_faces(locked: Any) -> list[Any]:
    """Faces of a list or an array, or a single one."""
    if locked is None:
        return []
    is_one = not isinstance(locked, list) and (isinstance(locked, tuple) or np.ndim(locked) == 0)
    return [locked] if is_one else list(locked)
