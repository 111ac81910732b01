"""The hyperplanes of one setting: a centre of online runs, refined, without idle faces."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog
from sklearn.model_selection import StratifiedKFold

from polyceptron.data.blocks import ArrayBlocks, kernel_rows
from polyceptron.data.scaling import column_range
from polyceptron.learners._base import Problem
from polyceptron.learners.polyceptron import mixture
from polyceptron.learners.polyceptron.centre import Centre, centre
from polyceptron.learners.polyceptron.selection import STRENGTHS, Outcome, Selection, Setting
from polyceptron.optim.checkpoint import NO_JOURNAL, Journal
from polyceptron.scoring import decide
from polyceptron.utils.types import Floats

_LP_TOLERANCE = 1e-7
"""That of the linear programs: a face and its double are one."""
_VISITS = 100_000
"""Rows that an online run with a margin visits, in whole passes."""
_ROWS_BEYOND_CHANCE = 10
"""Rows for each number learned: 2 is what a hyperplane parts by chance half of the time."""
_MISTAKES_BEYOND_CHANCE = 3
"""Mistakes of one hyperplane for each number of the others: few are mended by chance, too."""


class Effort(NamedTuple):
    """How much is spent on one fit."""

    max_iter: int
    n_steps: int
    products: float
    """Multiplications to spend on sampling; how many samples that is depends on the rows."""
    most_samples: int

    def n_samples(self, rows: Rows, n_hyperplanes: int) -> int:
        n, d = rows.X.shape
        leaps = self.products / (n * (d + 1) * n_hyperplanes)
        return min(self.most_samples, int(leaps / mixture.MOST_LEAPS))


_ROWS_TO_SELECT = 4000
"""Most rows that the selection looks at."""
_LEAST_OF_A_CLASS = 0.05
"""Share of these that are of a rare class, if there are so many."""
_TRIAL = Effort(max_iter=250, n_steps=40, products=2e8, most_samples=40)
FIT = Effort(max_iter=1000, n_steps=200, products=1e9, most_samples=100)
_LEAST_SAMPLES = 10
_TRIAL_RUNS = 3
_FOLDS = 5
"""With fewer, training sets are so small that strong penalties look better than they are."""


class Rows(NamedTuple):
    """Training rows in the coordinates of learning; ``y`` is +1 for ``classes[1]``.

    Columns that are constant are left out: nothing can be learned of their coefficients.
    """

    X: Any
    y: NDArray[np.int8]
    weight: Floats
    n_threads: int

    def take(self, places: Any) -> Rows:
        return Rows(self.X[places], self.y[places], self.weight[places], self.n_threads)

    def blocks(self, inside: int) -> ArrayBlocks:
        signs = self.y if inside == 1 else -self.y
        plain = (self.weight == 1.0).all()
        weight = np.empty(0) if plain else self.weight
        d = self.X.shape[1]
        return ArrayBlocks(kernel_rows(self.X), signs, weight, d, n_threads=self.n_threads)

    def h(self, theta: Floats) -> Floats:
        return decide(self.X, theta[:, :-1].copy(), theta[:, -1].copy(), self.n_threads)[0]


def rows_of(problem: Problem) -> tuple[Rows, NDArray[np.intp]]:
    """The rows of a problem, and which of its columns they have."""
    data = problem.arrays
    n, d = data.n_samples, data.n_features
    X = sparse.csr_matrix(data.X, shape=(n, d)) if isinstance(data.X, tuple) else data.X
    y = data.y if problem.inside == 1 else -data.y
    # Only shares of weight matter: an update on a row of mean weight is the row itself.
    weight = data.weight / data.weight.mean() if data.weight.size else np.ones(n)
    low, high = column_range(X)
    varied = np.flatnonzero(low < high)
    if len(varied) == 0:
        varied = np.arange(1)  # there has to be one
    if len(varied) < d:
        X = X[:, varied]
    return Rows(X, y, weight, data.n_threads), varied


def learn(rows: Rows, setting: Setting, seeds: list[int], effort: Effort) -> tuple[Floats, int]:
    """Hyperplanes [w_k, b_k] whose h has a mean size of 1 on these rows; passes over them."""
    start = centre_of(rows, setting, seeds, effort)
    return refined(rows, start.theta, setting, seeds[0], effort), start.n_passes


def centre_of(rows: Rows, setting: Setting, seeds: list[int], effort: Effort) -> Centre:
    """The matched mean of online runs, whose h has a mean size of 1."""
    data = rows.blocks(setting.inside)
    n_passes = effort.max_iter
    if setting.margin > 0:
        n_passes = min(n_passes, max(10, _VISITS // data.n_samples))
    elif data.n_samples > 1000:
        n_passes = min(n_passes, max(10, 10 * _VISITS // data.n_samples))
    found = centre(data, setting.n_hyperplanes, setting.margin, seeds, n_passes)
    return found._replace(theta=to_mean_size(rows, found.theta))


def refined(rows: Rows, start: Floats, setting: Setting, seed: int, effort: Effort) -> Floats:
    """What the penalised likelihood makes of a centre; without a penalty the centre itself."""
    if setting.penalty is None:
        return start
    data, total = rows.blocks(setting.inside), float(rows.weight.sum())
    loss = mixture.Loss(data, start.shape, setting.penalty, total)
    flat = mixture.maximise(loss, start, effort.n_steps)
    theta, _ = loss.unpack(flat)
    if setting.sampled:
        n_samples = max(effort.n_samples(rows, len(start)), _LEAST_SAMPLES)
        theta = mixture.posterior_mean(loss, flat, n_samples, seed)
    theta = with_offset(theta, rows.h(theta), data.y > 0, rows.weight)
    return to_mean_size(rows, theta)


def to_mean_size(rows: Rows, theta: Floats) -> Floats:
    """The same hyperplanes, so scaled that h has a mean size of 1 on these rows."""
    size = float(rows.weight @ np.abs(rows.h(theta))) / float(rows.weight.sum())
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


def needed(rows: Rows, theta: Floats) -> Floats:
    """The hyperplanes that matter: they reject a row, and the others do not do it for them."""
    rejects = [bool((rows.h(face[None]) < 0).any()) for face in theta]
    if not any(rejects):
        return theta[:1]
    kept = list(theta[rejects])
    box = np.column_stack(column_range(rows.X))
    k = 0
    while len(kept) > 1 and k < len(kept):
        others = np.array(kept[:k] + kept[k + 1 :])
        face = kept[k]
        found = linprog(face[:-1], -others[:, :-1], others[:, -1], bounds=box, method="highs")
        # 2 is an infeasible program: the others leave nothing, with or without this one.
        rounding = -_LP_TOLERANCE * float(np.linalg.norm(face))
        idle = found.status == 2 or (found.status == 0 and found.fun + face[-1] >= rounding)
        if idle and _same(rows, theta, others):
            kept.pop(k)
        else:
            k += 1
    return np.array(kept)


def _same(rows: Rows, theta: Floats, others: Floats) -> bool:
    """Whether no prediction of these rows changes: the program's rounding must not show."""
    return bool(((rows.h(theta) >= 0) == (rows.h(others) >= 0)).all())


def trials(
    rows: Rows,
    seed: int,
    seeds: list[int],
    effort: Effort,
    say: Callable[[Setting, float], None],
    journal: Journal = NO_JOURNAL,
) -> Selection:
    """What judges settings: a few folds of some of the rows, the same for every setting.

    ``seeds`` and ``effort`` are those of the fit itself; a trial takes no more than that. What
    the journal has of trials is not done again.
    """
    random, whole = np.random.RandomState(seed), rows
    if len(rows.y) > _ROWS_TO_SELECT:
        rows = _some(rows, _ROWS_TO_SELECT, random)
    parts = [(rows.take(train), rows.take(test), test) for train, test in _folds(rows.y, random)]
    own = [int(one) for one in random.randint(0, 2**31 - 1, size=_TRIAL_RUNS)][: len(seeds)]
    less = _TRIAL._replace(max_iter=min(_TRIAL.max_iter, effort.max_iter))

    @cache  # settings that differ only in penalty start from the same centres
    def centres(unrefined: Setting) -> list[Floats]:
        return [centre_of(train, unrefined, own, less).theta for train, _, _ in parts]

    def held_out(setting: Setting) -> tuple[Floats]:
        starts = centres(setting._replace(penalty=None, sampled=False))
        return (_held_out(parts, starts, setting, own[0], less),)

    def evaluate(setting: Setting) -> Outcome:
        (h,) = journal.memo(f"trial of {setting}", lambda: held_out(setting))
        outcome = Outcome(h, (rows.y > 0) == (setting.inside == 1), rows.weight)
        say(setting, float(rows.weight @ outcome.right / rows.weight.sum()))
        return outcome

    @cache
    def mistakes_of_one(inside: int) -> int:
        theta, _ = learn(rows, Setting(inside, 1, *STRENGTHS[1]), own, less)
        return int(((rows.h(theta) >= 0) != ((rows.y > 0) == (inside == 1))).sum())

    def parts_all(setting: Setting) -> bool:
        more = (setting.n_hyperplanes - 1) * (rows.X.shape[1] + 1)
        if more and mistakes_of_one(setting.inside) < _MISTAKES_BEYOND_CHANCE * more:
            return False
        (n_converged,) = journal.memo(
            f"runs of {setting}",
            lambda: (np.array(centre_of(rows, setting, seeds, effort).n_converged),),
        )
        return 2 * int(n_converged) > len(seeds)

    def pins(n_hyperplanes: int) -> bool:
        n, d = rows.X.shape
        return bool(n >= _ROWS_BEYOND_CHANCE * n_hyperplanes * (d + 1))

    def affords(n_hyperplanes: int) -> bool:
        few = less.n_samples(rows, n_hyperplanes), effort.n_samples(whole, n_hyperplanes)
        return min(few) >= _LEAST_SAMPLES

    return Selection(evaluate, rows.weight, parts_all, pins, affords)


def _held_out(
    parts: list[tuple[Rows, Rows, Any]],
    starts: list[Floats],
    setting: Setting,
    seed: int,
    effort: Effort,
) -> Floats:
    """h of every row by hyperplanes that did not see it."""
    h = np.empty(sum(len(test.y) for _, test, _ in parts))
    for (train, test, places), start in zip(parts, starts, strict=True):
        h[places] = test.h(refined(train, start, setting, seed, effort))
    return h


def _some(rows: Rows, n: int, random: np.random.RandomState) -> Rows:
    """About n rows, as many of each class as its share; more of a rare class, each for less."""
    places, factor = [], np.ones(len(rows.y))
    for sign in (-1, 1):
        here = np.flatnonzero(rows.y == sign)
        share = n * len(here) / len(rows.y)
        taken = min(len(here), max(round(_LEAST_OF_A_CLASS * n), round(share), 1))
        if taken > round(share):
            factor[here] = share / taken
        places.append(random.permutation(here)[:taken])
    some = rows._replace(weight=rows.weight * factor).take(np.sort(np.concatenate(places)))
    return some._replace(weight=some.weight / some.weight.mean())


def _folds(y: NDArray[np.int8], random: np.random.RandomState) -> list[tuple[Any, Any]]:
    least = int(min((y > 0).sum(), (y < 0).sum()))
    if least < 2:  # a class of one row cannot be on both sides
        return [(np.arange(len(y)), np.arange(len(y)))]
    folds = StratifiedKFold(min(_FOLDS, least), shuffle=True, random_state=random)
    return list(folds.split(y, y))
