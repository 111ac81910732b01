"""Two pieces of a union that one polyhedron can take the place of.

An ascent often has several pieces share a group of rows. Taking away faces or pieces does not mend
that, as each of them has its part of these rows.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from polyceptron.data.blocks import ArrayBlocks
from polyceptron.learners.polyceptron.union import Union, ascend, penalised_loss
from polyceptron.scoring import scores

_ROWS_TO_JOIN = 5
"""Rows for each number learned; of fewer any pieces can be joined, as all rows can be parted."""
_CUT_OFF = 0.02
"""Share of the rows inside of a piece that a face of the other may cut off to begin with."""
_LET_IN = 0.05
"""Rows outside that one piece may let in to begin with, a share of the rows inside of the two."""
_FREE = 1.0
"""What joining two may cost of the likelihood of all rows."""


def joined(data: ArrayBlocks, union: Union, penalty: float, n_steps: int) -> Union:
    """In fewer pieces of as many faces, where the rows are as likely by them."""
    loss = penalised_loss(data, penalty, union)
    while len(union.sizes) > 1 and data.n_samples >= _ROWS_TO_JOIN * union.theta.size:
        start = _with_nearest_joined(data, union)
        if start is None:
            break
        fewer = ascend(data, start, penalty, n_steps)
        more = penalised_loss(data, penalty, fewer) - loss
        if more > _FREE:
            break
        union, loss = fewer, loss + more
    return union


def _with_nearest_joined(data: ArrayBlocks, union: Union) -> Union | None:
    """The two made one that lets in the fewest rows outside, if these are few.

    It has the faces of both, moved so far out that they leave each other's rows inside.
    """
    found = scores(data.matrix, union.theta[:, :-1].copy(), union.theta[:, -1].copy())
    places, is_inside = union.places(), data.y > 0
    within = np.array([found[:, faces].min(axis=1) >= 0 for faces in places])
    room = np.zeros((len(places), union.n_faces))
    for m, rows in enumerate(within & is_inside):
        if rows.any():
            room[m] = np.maximum(-np.quantile(found[rows], _CUT_OFF, axis=0), 0.0)

    def let_in(pair: tuple[int, int]) -> float:
        """Weight of the rows outside that only the new piece has, by that of those inside."""
        one, other = pair
        faces = places[one] + places[other]
        before = within[one] | within[other]
        after = (found[:, faces] + np.maximum(room[one], room[other])[faces]).min(axis=1) >= 0
        n_new = float(data.weights @ (after & ~before & ~is_inside))
        return n_new / max(float(data.weights @ (before & is_inside)), 1.0)

    shares = {pair: let_in(pair) for pair in combinations(range(len(places)), 2)}
    one, other = min(shares, key=lambda pair: shares[pair])
    if shares[one, other] > _LET_IN:
        return None
    faces, moved = places[one] + places[other], union.theta.copy()
    moved[:, -1] += np.maximum(room[one], room[other])
    kept = [k for k in range(union.n_faces) if k not in faces]
    sizes = [size for m, size in enumerate(union.sizes) if m not in (one, other)]
    return Union(np.concatenate([union.theta[kept], moved[faces]]), (*sizes, len(faces)))
