"""The hyperplanes of one setting: a centre of online runs, refined, without idle faces.

Rows are in memory, with +1 for the second class; a setting says which class is inside.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from polyceptron import scoring
from polyceptron.data.blocks import ArrayBlocks
from polyceptron.data.scaling import column_range
from polyceptron.learners.polyceptron import mixture
from polyceptron.learners.polyceptron.centre import Centre, centre
from polyceptron.learners.polyceptron.selection import Setting
from polyceptron.utils.types import Floats

_LP_TOLERANCE = 1e-7
"""That of the linear programs: a face and its double are one."""
_VISITS = 100_000
"""Rows that an online run with a margin visits, in whole passes."""
LEAST_SAMPLES = 10


class Effort(NamedTuple):
    """How much is spent on one fit."""

    max_iter: int
    n_steps: int
    products: float
    """Multiplications to spend on sampling; how many samples that is depends on the rows."""
    most_samples: int

    def n_samples(self, data: ArrayBlocks, n_hyperplanes: int) -> int:
        leaps = self.products / (data.n_samples * (data.n_features + 1) * n_hyperplanes)
        return min(self.most_samples, int(leaps / mixture.MOST_LEAPS))


FIT = Effort(max_iter=1000, n_steps=200, products=1e9, most_samples=100)


def varied(data: ArrayBlocks) -> tuple[ArrayBlocks, NDArray[np.intp]]:
    """The rows without columns that are constant, and the places of the others.

    Nothing can be learned of the coefficients of constant columns. Weights get a mean of 1: only
    shares matter, an update on a row of mean weight is the row itself.
    """
    X, weight = data.matrix, data.weight
    if weight.size:
        weight = weight / weight.mean()
        weight = np.empty(0) if (weight == 1.0).all() else weight
    low, high = column_range(X)
    columns = np.flatnonzero(low < high)
    if len(columns) == 0:
        columns = np.arange(1)  # there has to be one
    return data.like(X[:, columns] if len(columns) < len(low) else None, data.y, weight), columns


def min_scores(data: ArrayBlocks, theta: Floats) -> Floats:
    """h(x) of every row by hyperplanes [w_k, b_k]."""
    W, b = theta[:, :-1].copy(), theta[:, -1].copy()
    return scoring.least_margins(data.matrix, W, b, data.n_threads)[0]


def learn_hyperplanes(
    data: ArrayBlocks, setting: Setting, seeds: list[int], effort: Effort
) -> tuple[Floats, int]:
    """Hyperplanes [w_k, b_k] whose h has a mean size of 1 on these rows; passes over them."""
    start = centre_of(data, setting, seeds, effort)
    return refined(data, start.theta, setting, seeds[0], effort), start.n_passes


def centre_of(data: ArrayBlocks, setting: Setting, seeds: list[int], effort: Effort) -> Centre:
    """The matched mean of online runs, whose h has a mean size of 1."""
    n_passes = effort.max_iter
    if setting.margin > 0:
        n_passes = min(n_passes, max(10, _VISITS // data.n_samples))
    elif data.n_samples > 1000:
        n_passes = min(n_passes, max(10, 10 * _VISITS // data.n_samples))
    signed = _signed(data, setting)
    found = centre(signed, setting.n_hyperplanes, setting.margin, seeds, n_passes)
    return found._replace(theta=to_mean_size(data, found.theta))


def refined(
    data: ArrayBlocks, start: Floats, setting: Setting, seed: int, effort: Effort
) -> Floats:
    """What the penalised likelihood makes of a centre; without a penalty the centre itself."""
    if setting.penalty is None:
        return start
    signed = _signed(data, setting)
    loss = mixture.Loss(signed, start.shape, setting.penalty, float(data.weights.sum()))
    flat = mixture.maximise(loss, start, effort.n_steps)
    theta, _ = loss.unpack(flat)
    if setting.sampled:
        n_samples = max(effort.n_samples(data, len(start)), LEAST_SAMPLES)
        theta = mixture.posterior_mean(loss, flat, n_samples, seed)
    theta = with_offset(theta, min_scores(data, theta), signed.y > 0, data.weights)
    return to_mean_size(data, theta)


def _signed(data: ArrayBlocks, setting: Setting) -> ArrayBlocks:
    """The rows with +1 for the class inside."""
    return data if setting.inside == 1 else data.turned()


def to_mean_size(data: ArrayBlocks, theta: Floats) -> Floats:
    """The same hyperplanes, so scaled that h has a mean size of 1 on these rows."""
    weight = data.weights
    size = float(weight @ np.abs(min_scores(data, theta))) / float(weight.sum())
    return theta / size if size > 0 else theta


def with_offset(theta: Floats, h: Floats, is_inside: Any, weight: Floats) -> Floats:
    """The same normals, with the offset, one for all, that makes the fewest mistakes.

    {x : P(inside | x) >= 1/2} of a product has round edges; its faces alone are not where
    the polyhedron should be. Of equally good offsets the middle one is taken.
    """
    order = np.argsort(h, kind="stable")
    signed = np.where(is_inside, -weight, weight)[order]
    saved = np.append(0.0, np.cumsum(signed))  # by a cut below the i-th row
    ends = np.append(True, np.diff(h[order]) > 0), [True]
    saved[~np.concatenate(ends)] = -np.inf  # equal rows are not cut apart
    best = np.flatnonzero(saved >= saved.max() - 1e-9 * float(weight.sum()))
    place = int(best[len(best) // 2])
    edges = np.concatenate([[h[order[0]] - 1.0], h[order], [h[order[-1]] + 1.0]])
    shifted = theta.copy()
    shifted[:, -1] -= 0.5 * (edges[place] + edges[place + 1])
    return shifted


def needed(data: ArrayBlocks, theta: Floats) -> Floats:
    """The hyperplanes that matter: they reject a row, and the others do not do it for them."""
    rejects = [bool((min_scores(data, face[None]) < 0).any()) for face in theta]
    if not any(rejects):
        return theta[:1]
    kept = list(theta[rejects])
    box = np.column_stack(column_range(data.matrix))
    k = 0
    while len(kept) > 1 and k < len(kept):
        others = np.array(kept[:k] + kept[k + 1 :])
        face = kept[k]
        found = linprog(face[:-1], -others[:, :-1], others[:, -1], bounds=box, method="highs")
        # 2 is an infeasible program: the others leave nothing, with or without this one.
        rounding = -_LP_TOLERANCE * float(np.linalg.norm(face))
        idle = found.status == 2 or (found.status == 0 and found.fun + face[-1] >= rounding)
        # The program's rounding must not show in any prediction.
        same = idle and np.array_equal(min_scores(data, theta) >= 0, min_scores(data, others) >= 0)
        if same:
            kept.pop(k)
        else:
            k += 1
    return np.array(kept)
