"""Learning again around faces that stay."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyceptron.rule import Rule
from polyceptron.rule.editing import face_name
from polyceptron.utils.text import quoted_names
from polyceptron.utils.types import Floats


def kept_faces(rule: Rule, locked: Any) -> dict[int, Floats]:
    """Rows [w, b] of the faces that stay, by the place of their class.

    They are those that are locked, and these. A face that stays is in every piece of its class.
    """
    addresses = rule.edit().addresses
    named = {face_name(face) for face in _listed_faces(locked)}
    unknown = sorted(named - set(addresses))
    if unknown:
        known = quoted_names(list(addresses))
        raise ValueError(f"locked must be faces as they are printed, {known}; got {unknown[0]!r}")
    kept = {*rule.locked, *(addresses[name] for name in named)}
    if not kept:
        raise ValueError("refit keeps faces that are locked, and none is: name them in locked")
    names = {at: name for name, at in addresses.items()}
    of_pieces: list[dict[tuple[float, ...], str]] = [{} for _ in rule.pieces]
    for p, k in sorted(kept):
        one = rule.pieces[p].polyhedron.printed
        of_pieces[p][*one.W[k].tolist(), float(one.b[k])] = names[p, k]
    found: dict[int, Floats] = {}
    for place in sorted({rule.pieces[p].place for p, _ in kept}):
        own = [one for one, piece in zip(of_pieces, rule.pieces, strict=True) if piece[1] == place]
        everywhere = set(own[0]).intersection(*own)
        alone = [name for one in own for face, name in one.items() if face not in everywhere]
        if alone:
            raise ValueError(
                f"face {alone[0]} stays in one of {len(own)} polyhedra of "
                f"{rule.labels[place]!r}, and what stays has to be in all of them: write it into "
                "each by rule.edit().replace(...), and name it in locked for each; or fit with "
                "n_polyhedra=1"
            )
        found[place] = np.array([face for face in own[0] if face in everywhere])
    return found


def _listed_faces(locked: Any) -> list[Any]:
    """Faces of a list or an array, or a single one."""
    if locked is None:
        return []
    if isinstance(locked, str | tuple) or np.ndim(locked) == 0:
        return [locked]
    return list(locked)
