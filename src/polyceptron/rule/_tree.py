"""Faces that pieces share, and how the leaves of a tree share out rows by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyceptron.scoring import scores
from polyceptron.utils.types import Floats, Indices

if TYPE_CHECKING:
    from polyceptron.rule._rule import Rule


def distinct_faces(rule: Rule) -> tuple[Floats, list[list[int]]]:
    """Every face once, a row [w, b] each; and those of each piece, by number.

    Numbers count from 1, and -k is the other side of k. Equal are faces to the last bit.
    """
    distinct: list[Floats] = []
    numbers: dict[bytes, int] = {}
    pieces = []
    for piece in rule.pieces:
        faces = np.column_stack([piece.polyhedron.W, piece.polyhedron.b])
        keys = [face.tobytes() for face in faces]
        for key, face in zip(keys, faces, strict=True):
            if key not in numbers:
                distinct.append(face)
                numbers[key], numbers[(-face).tobytes()] = len(distinct), -len(distinct)
        pieces.append([numbers[key] for key in keys])
    return np.array(distinct), pieces


def splits_of_tree(rule: Rule) -> dict[tuple[int, int], int]:
    """Where the pieces are the leaves of a tree in preorder, how it shares out rows; else {}.

    Of the pieces from `start` that agree in their first `depth` faces, those from
    ``splits[start, depth]`` on have the next one the other way round.
    """
    splits: dict[tuple[int, int], int] = {}
    faces = rule.faces[1]
    waiting = [(0, len(faces), 0)] if rule.is_partition else []
    while waiting:
        start, stop, depth = waiting.pop()
        if stop - start == 1 and len(faces[start]) == depth:
            continue
        tests = [one[depth] if depth < len(one) else 0 for one in faces[start:stop]]
        n, test = tests.count(tests[0]), tests[0]
        if n == len(tests) or tests != [test] * n + [-test] * (len(tests) - n):
            return {}
        splits[start, depth] = start + n
        waiting += [(start, start + n, depth + 1), (start + n, stop, depth + 1)]
    return splits


def leaf_of_rows(rule: Rule, rows: Any) -> Indices:
    """The leaf of every row: test by test, each for the rows that come to it."""
    piece = np.zeros(rows.shape[0], np.intp)
    waiting = [(0, len(rule.pieces), 0, np.arange(rows.shape[0]))]
    while waiting:
        start, stop, depth, here = waiting.pop()
        if stop - start == 1 or not len(here):
            piece[here] = start
            continue
        one, test = rule.pieces[start].polyhedron, slice(depth, depth + 1)
        there = rows[here] if depth else rows
        passed = scores(there, one.W[test], one.b[test], rule.feature_names)[:, 0] >= 0
        middle = rule.splits[start, depth]
        waiting.append((start, middle, depth + 1, here[passed]))
        waiting.append((middle, stop, depth + 1, here[~passed]))
    return piece
