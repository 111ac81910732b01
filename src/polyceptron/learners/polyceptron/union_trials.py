"""Which union: the class inside, penalty and number of faces, by the folds that judge settings."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from polyceptron.data.blocks import ArrayBlocks
from polyceptron.data.training import TrainingData
from polyceptron.learners.polyceptron.hyperplanes import (
    Setting,
    in_sign,
    min_scores,
    online_run,
    to_mean_size,
)
from polyceptron.learners.polyceptron.sample import Sample
from polyceptron.learners.polyceptron.selection import (
    ROWS_TO_SELECT,
    FoldTrials,
    TrialOutcome,
    stratified_rows,
)
from polyceptron.learners.polyceptron.union import (
    Union,
    ascend,
    first_union,
    hardened,
    penalised_loss,
    settled,
    soft_loss,
    soft_scores,
    thinned,
)
from polyceptron.utils.types import Floats

PENALTIES = (0.01, 0.05, 0.25, 1.2, 6.0, 30.0)
"""Of all rows together: a prior of the faces, which does not depend on their number."""
FIRST_PIECES, FIRST_FACES = 6, 6
"""What a union begins with, before it is thinned."""
_FOLDS_TO_TURN = 2
"""Folds that decide which class is inside."""
_TRIAL_STEPS, _STEPS, _THIN_STEPS = 60, 200, 25
_ROWS = 20_000
"""Most rows that a union is fitted to before all refine it."""
_STEPS_OF_ALL = 20
_SHARP_FACES, _SHARP_FOLDS, _SHARP_VISITS = 16, 5, 4e6
_SHARP_PENALTIES = (3e-5, 1e-3, 0.03)


class UnionChoice(NamedTuple):
    """A setting, its penalty on all rows together, what held-out rows say, and a start."""

    setting: Setting
    penalty: float
    outcome: TrialOutcome
    start: Union | None
    """Without one, a long online run is where one polyhedron of many faces starts."""
    seed: int = 0


def choose_union(
    trials: FoldTrials, insides: list[int], n_pieces: int, n_faces: int, most: int, seed: int
) -> UnionChoice:
    """The best union that begins with so many pieces of so many faces, and keeps ``most`` faces."""
    first = {
        inside: _paths(trials, inside, range(_FOLDS_TO_TURN), n_pieces, n_faces, seed)
        for inside in insides
    }

    def loss(inside: int) -> float:
        return min(float(one.mean()) for one in _losses(trials, inside, first[inside]))

    inside = min(insides, key=loss)
    rest = range(_FOLDS_TO_TURN, len(trials.folds))
    paths = first[inside] | _paths(trials, inside, rest, n_pieces, n_faces, seed)
    losses = [float(one.mean()) for one in _losses(trials, inside, paths)]
    place = int(np.argmin(losses))
    penalty = PENALTIES[place]
    thin = trials.in_folds(
        lambda number: list(
            thinned(
                in_sign(trials.folds[number][0], inside),
                paths[number][place][0],
                penalty,
                most,
                _THIN_STEPS,
            )
        )
    )
    size = _size(trials, inside, thin)

    def judged(number: int) -> Floats:
        train, test, _ = trials.folds[number]
        train = in_sign(train, inside)
        soft = _of_size(thin[number], size)
        return settled(train, hardened(train, soft, penalty, _TRIAL_STEPS)).scores(test)

    h = np.empty(trials.data.n_samples)
    for (_, _, places), one in zip(trials.folds, trials.in_folds(judged), strict=True):
        h[places] = one
    data = in_sign(trials.data, inside)
    start = min((path[place][0] for path in paths.values()), key=lambda one: soft_loss(data, one))
    n_thin = int(np.median([len(_of_size(path, size).sizes) for path in thin]))
    total = float(trials.weight.sum())
    setting = Setting(inside, size, 0.0, penalty / total, n_polyhedra=n_thin)
    return UnionChoice(
        setting, penalty, TrialOutcome(h, trials.is_inside(inside), trials.weight), start
    )


def choose_sharp(
    data: ArrayBlocks, insides: list[int], most: int, seed: int, accuracy: float
) -> UnionChoice | None:
    """One polyhedron of many faces that parts nearly all rows, if it is better than ``accuracy``.

    More rows than the folds have, one part held out: that many faces need them. A long online run
    says whether there is anything to find, then a likelihood of hardly any penalty makes it exact.
    """
    rows = stratified_rows(data, _ROWS, np.random.RandomState(seed))
    least = int(min((rows.y > 0).sum(), (rows.y < 0).sum()))
    n_faces = min(_SHARP_FACES, most)
    enough = max(ROWS_TO_SELECT, 2 * n_faces * (rows.n_features + 1))
    if least < _SHARP_FOLDS or rows.n_samples <= enough:
        return None
    folds = StratifiedKFold(_SHARP_FOLDS, shuffle=True, random_state=seed)
    places, held = next(folds.split(rows.y, rows.y))
    train, test = rows.take(places), rows.take(held)
    runs = {inside: _sharp_run(in_sign(train, inside), n_faces, seed) for inside in insides}
    shares = {inside: _outcome(test, inside, min_scores(test, runs[inside])) for inside in insides}
    inside = max(insides, key=lambda one: shares[one].share)
    if shares[inside].share < accuracy:
        return None
    signed = in_sign(train, inside)
    found = []
    for penalty in _SHARP_PENALTIES:
        union = settled(signed, _sharp(signed, runs[inside], penalty))
        found.append((_outcome(test, inside, union.scores(test)), penalty))
    outcome, penalty = max(found, key=lambda pair: pair[0].share)
    spread = max(outcome.share * (1.0 - outcome.share), 1.0 / test.n_samples)
    error = float(np.sqrt(spread / test.n_samples))
    if outcome.share <= accuracy + error:
        return None
    total = float(rows.weights.sum())
    setting = Setting(inside, n_faces, 0.0, penalty / total)
    return UnionChoice(setting, penalty, outcome, None, seed)


def _outcome(test: ArrayBlocks, inside: int, h: Floats) -> TrialOutcome:
    return TrialOutcome(h, np.asarray((test.y > 0) == (inside == 1)), test.weights)


def _sharp_run(data: ArrayBlocks, n_faces: int, seed: int) -> Floats:
    n_passes = int(np.clip(_SHARP_VISITS / data.n_samples, 20, 400))
    theta, _, _ = online_run(data, n_faces, 0.0, seed, n_passes, hopeless=0.2)
    return to_mean_size(data, theta)


def _sharp(data: ArrayBlocks, start: Floats, penalty: float) -> Union:
    """The likelihood of one polyhedron from a run that nearly parts the rows: at once large."""
    sizes = (len(start),)
    starts = [Union(scale * start, sizes) for scale in (5.0, 10.0, 20.0, 40.0, 80.0, 160.0)]
    return ascend(data, min(starts, key=partial(penalised_loss, data, penalty)), penalty, _STEPS)


def fit_union(training: TrainingData, sample: Sample, choice: UnionChoice) -> Union:
    """A union of the chosen size, learned from some rows, and from all if they are more."""
    data, everything = sample.data, training.with_inside(choice.setting.inside).data
    inside, size = choice.setting.inside, choice.setting.n_hyperplanes
    rows = in_sign(stratified_rows(data, _ROWS, np.random.RandomState(0)), inside)
    if choice.start is None:
        soft = _sharp(rows, _sharp_run(rows, size, choice.seed), choice.penalty)
    else:
        union = ascend(rows, choice.start, choice.penalty, _STEPS)
        path = thinned(rows, union, choice.penalty, size, _THIN_STEPS)
        soft = ascend(rows, next(path), choice.penalty, _STEPS)
    if everything.n_samples > rows.n_samples:
        free = [*sample.columns, everything.n_features]
        fixed = np.ones(everything.n_features + 1, bool)
        fixed[free] = False
        unit = training.total_weight / everything.n_samples
        full = soft._replace(theta=sample.in_all_columns(soft.theta, everything.n_features))
        full = ascend(everything, full, choice.penalty, _STEPS_OF_ALL, unit, fixed)
        soft = soft._replace(theta=full.theta[:, free])
    if choice.start is not None:
        soft = hardened(rows, soft, choice.penalty, _STEPS)
    return settled(rows, soft)


_Path = list[tuple[Union, Floats]]


def _paths(
    trials: FoldTrials, inside: int, numbers: Any, n_pieces: int, n_faces: int, seed: int
) -> dict[int, _Path]:
    """For these folds and every penalty, weak ones first, a union and scores of held-out rows."""

    def path(number: int) -> _Path:
        train, test, _ = trials.folds[number]
        train = in_sign(train, inside)
        found: _Path = []
        union = first_union(train, PENALTIES[0], n_pieces, n_faces, seed + number, 2, _TRIAL_STEPS)
        for penalty in PENALTIES:
            if found:
                union = ascend(train, union, penalty, _TRIAL_STEPS)
            found.append((union, soft_scores(test, union)))
        return found

    numbers = [number for number in numbers if number < len(trials.folds)]
    return dict(zip(numbers, trials.in_folds(path, numbers), strict=True))


def _losses(trials: FoldTrials, inside: int, paths: dict[int, _Path]) -> list[Floats]:
    """The calibrated log-losses of held-out rows by each penalty."""
    rows = np.concatenate([trials.folds[number][2] for number in paths])
    found = []
    for place in range(len(PENALTIES)):
        h = np.concatenate([path[place][1] for path in paths.values()])
        found.append(_loss(trials, inside, rows, h))
    return found


def _loss(trials: FoldTrials, inside: int, rows: NDArray[np.intp], h: Floats) -> Floats:
    weight = trials.weight[rows]
    outcome = TrialOutcome(h, trials.is_inside(inside)[rows], weight)
    return np.asarray(outcome.surprise * weight / weight.mean())


def _size(trials: FoldTrials, inside: int, thin: list[list[Union]]) -> int:
    """The number of faces of least log-loss."""
    rows = np.concatenate([places for _, _, places in trials.folds])

    def loss(size: int) -> float:
        parts = [
            soft_scores(test, _of_size(path, size))
            for (_, test, _), path in zip(trials.folds, thin, strict=True)
        ]
        return float(_loss(trials, inside, rows, np.concatenate(parts)).mean())

    return min(sorted({one.n_faces for path in thin for one in path}), key=loss)


def _of_size(path: list[Union], size: int) -> Union:
    """The largest of a path with at most so many faces."""
    return next((one for one in path if one.n_faces <= size), path[-1])
