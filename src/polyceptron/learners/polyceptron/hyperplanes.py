"""The hyperplanes of one setting: the centre of online runs, refined, without idle faces.

Rows are in memory, with +1 for the second class; a setting says which class is inside.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, linprog
from scipy.special import expit

from polyceptron import kernels, scoring
from polyceptron.data.blocks import ArrayBlocks, map_in_order
from polyceptron.data.scaling import column_range
from polyceptron.learners.polyceptron import mixture
from polyceptron.optim import lbfgs
from polyceptron.utils.types import Floats

_LP_TOLERANCE = 1e-7
"""That of the linear programs: a face and its double are one."""
_VISITS = 100_000
"""Rows that an online run with a margin visits, in whole passes."""
_NEAR = 0.3
"""The share of rows, those nearest to a cut, that say where it is even."""
_OVERLAP = 30
"""Mistakes by the best cut, at least, for rows to tell that."""
_FEW_ROWS, _FIRST_RUNS = 200, 3
"""Of more rows, runs that may all fail to part them before the others are left out."""
_HOPELESS = 0.05
LEAST_SAMPLES = 10
Strength = tuple[float | None, float | None]


class Setting(NamedTuple):
    """What a fit depends on. ``inside`` is the place of the class inside among the classes."""

    inside: int
    n_hyperplanes: int
    margin: float | None
    """None where there are no online runs: faces grow from small random ones."""
    penalty: float | None
    sampled: bool = False
    """Whether the mean of likely hyperplanes is taken, not the likeliest."""
    n_polyhedra: int = 1

    @property
    def strength(self) -> Strength:
        return self.margin, self.penalty


class Effort(NamedTuple):
    """How much is spent on one fit.

    ``products`` are multiplications to spend on sampling. A run without a margin that still
    updates on more than the share ``hopeless`` of the rows after 40 passes is given up.
    """

    max_iter: int
    n_steps: int
    products: float
    most_samples: int
    hopeless: float = 1.0

    def n_samples(self, data: ArrayBlocks, n_hyperplanes: int) -> int:
        leaps = self.products / (data.n_samples * (data.n_features + 1) * n_hyperplanes)
        return min(self.most_samples, int(leaps / mixture.MOST_LEAPS))


FIT = Effort(max_iter=1000, n_steps=200, products=1e9, most_samples=100)


def varied(data: ArrayBlocks) -> tuple[ArrayBlocks, NDArray[np.intp]]:
    """The rows without constant columns, of which nothing is learned; places of the others.

    Weights get a mean of 1: an update on a row of mean weight is the row itself.
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


# --- the centre of what online runs agree on ------------------------------------------


class Centre(NamedTuple):
    """Rows [w_k, b_k] of a matched mean, passes of the longest run, and how many runs converged."""

    theta: Floats
    n_passes: int
    n_converged: int


def centre_of(data: ArrayBlocks, setting: Setting, seeds: list[int], effort: Effort) -> Centre:
    """The matched mean of online runs, one for each seed; its h has a mean size of 1.

    Every run has its own start and order of rows, and is scaled to norm one: runs count alike.
    """
    runs = _runs(data, setting, seeds, effort)
    mean = matched_mean([theta / (np.linalg.norm(theta) or 1.0) for theta, _, _ in runs])
    return Centre(
        to_mean_size(data, mean), max(run[1] for run in runs), sum(run[2] for run in runs)
    )


def _runs(
    data: ArrayBlocks, setting: Setting, seeds: list[int], effort: Effort
) -> list[tuple[Floats, int, bool]]:
    """What `online_run` returns for each seed."""
    n_passes, margin = effort.max_iter, setting.margin or 0.0
    if margin > 0:
        n_passes = min(n_passes, max(10, _VISITS // data.n_samples))
    elif data.n_samples > 1000:
        n_passes = min(n_passes, max(10, 10 * _VISITS // data.n_samples))
    rows, K = in_sign(data, setting.inside), setting.n_hyperplanes
    return map_in_order(
        lambda seed: online_run(rows, K, margin, seed, n_passes, effort.hopeless),
        seeds,
        data.n_threads,
    )


def online_run(
    data: ArrayBlocks, K: int, margin: float, seed: int, n_passes: int, hopeless: float = 1.0
) -> tuple[Floats, int, bool]:
    """Rows [w_k, b_k] of one run, its passes, and whether it converged: made no update any more.

    Those are its last where it did, else their mean over the last three quarters of the passes,
    or over all if it was given up.
    """
    d = data.n_features
    start = np.random.default_rng(seed).standard_normal((K, d)) if K > 1 else np.zeros((1, d))
    panel, bias = kernels.to_panels(start, np.zeros(K), is_wide=True)
    U, u = np.zeros((K, d)), np.zeros(K)
    seen, n_made, converged = kernels.online_passes(
        data.X, data.y, data.weight, panel, bias, K, margin, seed, n_passes, hopeless, U, u
    )
    W, b = kernels.from_panels(panel, bias, K)
    if not converged:
        W, b = W - U / seen, b - u / seen
    return np.column_stack([W, b]), n_made, converged


def matched_mean(runs: list[Floats]) -> Floats:
    """Mean of runs whose hyperplanes come in any order: each is matched to the sum before it."""
    total = runs[0].copy()
    for run in runs[1:]:
        _, columns = linear_sum_assignment(total @ run.T, maximize=True)
        total += run[columns]
    return total / len(runs)


# --- hyperplanes that part all rows ----------------------------------------------------


def parting(
    data: ArrayBlocks, setting: Setting, seeds: list[int], effort: Effort
) -> tuple[Floats, int] | None:
    """The likeliest hyperplanes that part all rows, and passes; None where no run parts them.

    The likelihood begins at each run that parts them, and takes no label to be wrong. Where it
    leaves mistakes nevertheless, the run itself is as good as any.
    """
    few = seeds if data.n_samples <= _FEW_ROWS else seeds[:_FIRST_RUNS]
    effort = effort._replace(hopeless=min(effort.hopeless, _HOPELESS))
    runs = _runs(data, setting, few, effort)
    if any(converged for _, _, converged in runs):
        runs += _runs(data, setting, seeds[len(few) :], effort)
    starts = [to_mean_size(data, theta) for theta, _, converged in runs if converged]
    if not starts:
        return None
    total, K = float(data.weights.sum()), setting.n_hyperplanes
    loss = mixture.Loss(
        in_sign(data, setting.inside), (K,), setting.penalty or 0.0, total, is_noisy=False
    )
    flats = [mixture.maximise(loss, start, effort.n_steps) for start in starts]
    likely = sorted(flats, key=lambda flat: loss(flat)[0])
    offers = [with_offset(data, loss.unpack(flat)[0], setting.inside) for flat in likely]
    parted = (one for one in offers if not n_mistakes(data, one, setting.inside))
    return next(parted, starts[0]), max(run[1] for run in runs)


def n_mistakes(data: ArrayBlocks, theta: Floats, inside: int) -> int:
    """Rows on the wrong side."""
    is_inside = (data.y > 0) == (inside == 1)
    return int(((min_scores(data, theta) >= 0) != is_inside).sum())


# --- refinement -----------------------------------------------------------------------


def refined(
    data: ArrayBlocks, start: Floats, setting: Setting, seed: int, effort: Effort
) -> Floats:
    """What the penalised likelihood makes of a centre; without a penalty the centre itself."""
    if setting.penalty is None:
        return start
    total = float(data.weights.sum())
    loss = mixture.Loss(in_sign(data, setting.inside), (len(start),), setting.penalty, total)
    flat = mixture.maximise(loss, start, effort.n_steps)
    theta, _ = loss.unpack(flat)
    if setting.sampled:
        n_samples = max(effort.n_samples(data, len(start)), LEAST_SAMPLES)
        theta = mixture.posterior_mean(loss, flat, n_samples, seed)
    return with_offset(data, theta, setting.inside)


def in_sign(data: ArrayBlocks, inside: int) -> ArrayBlocks:
    """The rows with +1 for the class inside."""
    return data if inside == 1 else data.turned()


def to_mean_size(data: ArrayBlocks, theta: Floats) -> Floats:
    """The same hyperplanes, so scaled that h has a mean size of 1 on these rows."""
    weight = data.weights
    size = float(weight @ np.abs(min_scores(data, theta))) / float(weight.sum())
    return theta / size if size > 0 else theta


def with_offset(data: ArrayBlocks, theta: Floats, inside: int) -> Floats:
    """The same normals with the best common offset; their h has a mean size of 1.

    {x : P(inside | x) >= 1/2} of a product has round edges; its faces alone are not where
    the polyhedron should be.
    """
    is_inside = (data.y > 0) == (inside == 1)
    shifted = theta.copy()
    shifted[:, -1] -= best_cut(min_scores(data, theta), is_inside, data.weights)
    return to_mean_size(data, shifted)


def best_cut(h: Floats, is_inside: NDArray[np.bool_], weight: Floats) -> float:
    """Where to cut scores with the fewest mistakes; of equally good places the middle one."""
    order = np.argsort(h, kind="stable")
    signed = np.where(is_inside, -weight, weight)[order]
    saved = np.append(0.0, np.cumsum(signed))  # by a cut below the i-th row
    ends = np.append(True, np.diff(h[order]) > 0), [True]
    saved[~np.concatenate(ends)] = -np.inf  # equal rows are not cut apart
    best = np.flatnonzero(saved >= saved.max() - 1e-9 * float(weight.sum()))
    place = int(best[len(best) // 2])
    edges = np.concatenate([[h[order[0]] - 1.0], h[order], [h[order[-1]] + 1.0]])
    return float(0.5 * (edges[place] + edges[place + 1]))


def even_cut(h: Floats, is_inside: NDArray[np.bool_], weight: Floats) -> float:
    """Where both classes are as likely, by a logistic function of the scores near the best cut.

    Where classes overlap, the cut with the fewest mistakes on some rows follows their chance, and
    this one makes fewer on rows to come. Few mistakes do not tell where.
    """
    cut, counts = best_cut(h, is_inside, weight), weight > 0
    if np.count_nonzero(((h >= cut) != is_inside) & counts) < _OVERLAP:
        return cut
    away = np.abs(h - cut)
    near = np.flatnonzero(counts & (away <= np.quantile(away[counts], _NEAR)))
    h, is_inside, weight = h[near], is_inside[near], weight[near]
    if h.min() == h.max():
        return cut
    total = float(weight.sum())
    middle = float(weight @ h) / total
    size = math.sqrt(float(weight @ (h - middle) ** 2) / total)
    z, signs = (h - middle) / size, np.where(is_inside, 1.0, -1.0)

    def loss(point: Floats) -> tuple[float, Floats]:
        slope, offset = point
        margins = signs * (slope * z + offset)
        steep = -weight * signs * expit(-margins)
        slopes = np.array([steep @ z, steep.sum()])
        return float(weight @ np.logaddexp(0.0, -margins)) / total, slopes / total

    slope, offset = lbfgs.minimise(loss, np.array([1.0, 0.0]), 100, 1e-9)
    # Scores that say nothing of the class, or the contrary, have no such place among them.
    even = middle - size * float(offset / slope) if slope > 0.0 else np.inf
    return even if h.min() < even < h.max() else cut


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
