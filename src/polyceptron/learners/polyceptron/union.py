"""A class as a union of polyhedra: fitted too large, thinned face by face, then made hard.

A row is inside where it is inside of one of the pieces. The likelihood is soft: a piece is a
product of logistics, and P(inside | x) = 1 - prod_m (1 - piece_m). Too many small faces to begin
with find what few would not; then the face or the piece that costs least is taken away, again and
again, and the rest is fitted anew. At last h = max_m min_k (w_mk . x + b_mk) itself is fitted to
the probabilities of the soft model, which leaves faces where the rule needs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron import kernels
from polyceptron.data.blocks import ArrayBlocks, Blocks, KernelRows
from polyceptron.learners.polyceptron.hyperplanes import even_cut, min_scores, needed
from polyceptron.learners.polyceptron.mixture import NO_NOISE, Loss, whole_rows
from polyceptron.learners.polyceptron.starts import around_groups
from polyceptron.scoring import scores
from polyceptron.utils.types import Floats

_SMALL = 0.3
"""Size of the random faces to start from."""
_MOST_ODDS = 1e150
ROWS_A_NUMBER = 10
"""Rows for each number learned that let likelihoods tell more pieces from fewer."""
_FREE = 1.0
"""What a face may cost of the likelihood of all rows to go along with a cheaper one."""
_PAYS = 0.5
"""What a face more has to gain of the penalised likelihood of all rows."""
_LIMIT = 40.0
"""Of scores, as in the kernel."""


class Union(NamedTuple):
    """Rows [w_k, b_k] of all faces, and how many each piece has."""

    theta: Floats
    sizes: tuple[int, ...]

    @property
    def n_faces(self) -> int:
        return len(self.theta)

    def pieces(self) -> list[Floats]:
        """The faces of each piece."""
        return np.split(self.theta, np.cumsum(self.sizes)[:-1])

    def places(self) -> list[list[int]]:
        """Where the faces of each piece are."""
        return [
            part.tolist() for part in np.split(np.arange(self.n_faces), np.cumsum(self.sizes)[:-1])
        ]

    def without(self, gone: set[int]) -> Union:
        """The others; a piece without faces is none."""
        sizes = [sum(k not in gone for k in faces) for faces in self.places()]
        kept = [k for k in range(self.n_faces) if k not in gone]
        return Union(self.theta[kept], tuple(size for size in sizes if size))

    def scores(self, data: ArrayBlocks) -> Floats:
        """max_m min_k of every row."""
        return np.asarray(np.max([min_scores(data, one) for one in self.pieces()], axis=0))


def soft_scores(data: ArrayBlocks, union: Union) -> Floats:
    """The logarithm of the odds of being inside."""
    E = _exponentials(data, union)
    odds = np.zeros(data.n_samples)
    for faces in union.places():
        odds = _either(odds, _odds(E, faces))
    return np.log(odds)


def _either(odds: Floats, more: Floats) -> Floats:
    """The odds of being inside of one of two; those of many pieces would overflow."""
    return np.minimum(odds + more * (1.0 + odds), _MOST_ODDS)


def _exponentials(data: ArrayBlocks, union: Union) -> Floats:
    limit = min(_LIMIT, 690.0 / max(union.sizes) - 0.7)
    found = scores(data.matrix, union.theta[:, :-1].copy(), union.theta[:, -1].copy())
    return np.exp(-np.clip(found, -limit, limit))


def _odds(E: Floats, faces: list[int]) -> Floats:
    """Odds of being inside of one piece: 1 / (prod (1 + e_k) - 1), without cancellation."""
    D = np.zeros(len(E))
    for k in faces:
        D += E[:, k] * (1.0 + D)
    return 1.0 / D


# --- fitting ------------------------------------------------------------------------------


def ascend(
    data: Blocks,
    start: Union,
    penalty: float,
    n_steps: int,
    unit: float = 1.0,
    fixed: NDArray[np.bool_] | None = None,
) -> Union:
    """The likelihood of the soft model, maximised; the penalty is that of all rows."""
    return _minimised(Loss(data, start.sizes, penalty, unit, False, fixed), start, n_steps)


def _minimised(loss: Loss, start: Union, n_steps: int) -> Union:
    found = loss.minimised(np.append(start.theta, NO_NOISE), n_steps, 1e-7)
    return start._replace(theta=loss.unpack(found)[0])


def first_union(
    data: ArrayBlocks,
    penalty: float,
    n_pieces: int,
    n_faces: int,
    seed: int,
    n_starts: int,
    n_steps: int,
    n_around: int = 0,
) -> Union:
    """The likeliest of some short ascents from small random faces, carried on.

    The last ``n_around`` of them start around groups of rows inside instead.
    """
    random, d = np.random.default_rng(seed), data.n_features
    sizes = (n_faces,) * n_pieces
    shape = sum(sizes), d + 1
    n_random = n_starts - n_around
    starts = [_SMALL * random.standard_normal(shape) / np.sqrt(d + 1) for _ in range(n_random)]
    starts += [around_groups(data, n_pieces, n_faces, random) for _ in range(n_around)]
    found = [ascend(data, Union(theta, sizes), penalty, 30) for theta in starts]
    best = min(found, key=partial(penalised_loss, data, penalty))
    return ascend(data, best, penalty, n_steps)


def penalised_loss(data: ArrayBlocks, penalty: float, union: Union) -> float:
    """What `ascend` makes small."""
    square = float((union.theta[:, :-1] ** 2).sum())
    return soft_loss(data, union) + 0.5 * penalty * square


def soft_loss(data: ArrayBlocks, union: Union) -> float:
    """Minus the log-likelihood of the soft model."""
    return float(data.weights @ _surprise(np.exp(soft_scores(data, union)), data.y > 0))


def _surprise(odds: Floats, is_inside: NDArray[np.bool_]) -> Floats:
    side = np.where(is_inside, odds, 1.0) / (1.0 + odds)
    return np.asarray(-np.log(kernels.LEAST_NOISE + (1.0 - 2.0 * kernels.LEAST_NOISE) * side))


# --- more faces ------------------------------------------------------------------------------


def with_missing_faces(
    data: ArrayBlocks, union: Union, penalty: float, most: int, n_steps: int
) -> Union:
    """One polyhedron with further faces where rows are still wrong, as long as these pay.

    An ascent may end with two faces where one would do and none where one is missing. So faces
    that reject nothing go, and a new one cuts off the outside row that is deepest inside.
    """
    is_inside = data.y > 0
    loss = penalised_loss(data, penalty, union)
    while True:
        W, b = union.theta[:, :-1].copy(), union.theta[:, -1].copy()
        found = scores(data.matrix, W, b)
        h = found.min(axis=1)
        rejecting = np.unique(found.argmin(axis=1)[h < 0])
        wrong = np.flatnonzero((h >= 0) & ~is_inside)
        if not len(wrong) or not 0 < len(rejecting) < most:
            return union
        deepest = wrong[[int(h[wrong].argmax())]]
        row, middle = (_mean_row(data, rows) for rows in (deepest, np.flatnonzero(is_inside)))
        size = float(np.median(np.linalg.norm(W[rejecting], axis=1)))
        w = (middle - row) * (size / max(float(np.linalg.norm(middle - row)), 1e-300))
        theta = np.vstack([union.theta[rejecting], np.append(w, -kernels.dot(w, row))])
        more = ascend(data, Union(theta, (len(theta),)), penalty, n_steps)
        before, loss = loss, penalised_loss(data, penalty, more)
        if not loss < before - _PAYS:
            return union
        union = more


def _mean_row(data: ArrayBlocks, rows: NDArray[np.intp]) -> Floats:
    return np.asarray(data.matrix[rows].mean(axis=0), np.float64).ravel()


# --- fewer faces -----------------------------------------------------------------------------


def thinned(
    data: ArrayBlocks, union: Union, penalty: float, most: int, n_steps: int, beyond: int = 0
) -> Iterator[Union]:
    """Unions of ever fewer faces, each fitted anew: of at most ``most``, down to a single one.

    Those on the way there are among them, too, if they have at most ``beyond``.
    """
    rows = whole_rows(data)
    while True:
        if union.n_faces <= max(most, beyond):
            yield union
        if union.n_faces == 1:
            return
        over = union.n_faces - most
        room = 1 + (over // 4 if over > 0 else (union.n_faces > 9))
        gone: set[int] = set()
        for cost, faces in _cheapest(data, rows, union, penalty):
            if gone and cost > _FREE:  # only what costs nothing goes along with the cheapest
                break
            if room > 0 and len(gone) + len(faces) < union.n_faces:
                gone.update(faces)
                room -= len(faces)
        union = ascend(data, union.without(gone), penalty, n_steps)


def without_spare_pieces(data: ArrayBlocks, union: Union, penalty: float, n_steps: int) -> Union:
    """Without pieces that make the rows likelier by less than e for each of their faces.

    Two pieces may share what one would do; a face less at a time does not show it. With few rows
    for each number learned, likelihoods say nothing of that.
    """
    loss = penalised_loss(data, penalty, union)
    while len(union.sizes) > 1 and data.n_samples >= ROWS_A_NUMBER * union.theta.size:
        ends = np.cumsum(union.sizes)
        costs = kernels.removal_costs(whole_rows(data), data.y, data.weight, union.theta, ends)
        gone = union.places()[int(costs[union.n_faces :].argmin())]
        fewer = ascend(data, union.without(set(gone)), penalty, n_steps)
        more = penalised_loss(data, penalty, fewer) - loss
        if more > len(gone):
            break
        union, loss = fewer, loss + more
    return union


def _cheapest(
    data: ArrayBlocks, rows: KernelRows, union: Union, penalty: float
) -> list[tuple[float, list[int]]]:
    """For each piece what it can lose most cheaply, a face or all: costs a face, least first."""
    ends = np.cumsum(union.sizes)
    costs = kernels.removal_costs(rows, data.y, data.weight, union.theta, ends)
    saved = 0.5 * penalty * (union.theta[:, :-1] ** 2).sum(axis=1)
    found = []
    for m, faces in enumerate(union.places()):
        ways = [(costs[k] - saved[k], [k]) for k in faces] if len(faces) > 1 else []
        if len(union.sizes) > 1:
            ways.append(((costs[union.n_faces + m] - saved[faces].sum()) / len(faces), faces))
        if ways:
            found.append(min(ways))
    return sorted(found)


# --- the rule ---------------------------------------------------------------------------------


def hardened(data: ArrayBlocks, soft: Union, penalty: float, n_steps: int) -> Union:
    """h = max_m min_k itself fitted to the probabilities of the soft model."""
    target = 1.0 / (1.0 + np.exp(-soft_scores(data, soft)))
    loss = Loss(data, soft.sizes, penalty / 10, 1.0, is_noisy=False, target=target)
    return _minimised(loss, soft, n_steps)


def settled(data: ArrayBlocks, union: Union) -> Union:
    """An offset that leans to no class, and only pieces that an answer needs; of mean size 1."""
    weight, h = data.weights, union.scores(data)
    theta = union.theta.copy()
    theta[:, -1] -= even_cut(h, data.y > 0, weight)
    union = union._replace(theta=theta)
    inside, pieces = union.scores(data) >= 0, union.pieces()
    for piece in sorted(pieces, key=lambda one: int((min_scores(data, one) >= 0).sum())):
        others = [one for one in pieces if one is not piece]
        if others:
            left = np.max([min_scores(data, one) for one in others], axis=0) >= 0
            pieces = others if np.array_equal(left, inside) else pieces
    return of_mean_size(data, pieces)


def without_idle_faces(data: ArrayBlocks, union: Union) -> Union:
    """Only faces that bound something."""
    return of_mean_size(data, [needed(data, piece) for piece in union.pieces()])


def of_mean_size(data: ArrayBlocks, pieces: list[Floats]) -> Union:
    """The union of these, so scaled that scores have a mean size of 1."""
    found, weight = Union(np.concatenate(pieces), tuple(map(len, pieces))), data.weights
    size = float(weight @ np.abs(found.scores(data))) / float(weight.sum())
    return found._replace(theta=found.theta / size) if size > 0 else found
