"""Which union: the class inside, penalty and number of faces, by the folds that judge settings."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
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
from polyceptron.learners.polyceptron.joining import joined
from polyceptron.learners.polyceptron.sample import Sample
from polyceptron.learners.polyceptron.selection import (
    CLEARLY,
    MANY_ROWS,
    ROWS_TO_SELECT,
    FoldTrials,
    TrialOutcome,
    mean_and_error,
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
    with_missing_faces,
    without_idle_faces,
    without_spare_pieces,
)
from polyceptron.optim.checkpoint import Form
from polyceptron.utils.types import Floats

PENALTIES = (0.01, 0.05, 0.25, 1.2, 6.0, 30.0)
"""Of all rows together: a prior of the faces, which does not depend on their number."""
ONE_FACES, FIRST_PIECES, FIRST_FACES = 10, 6, 6
"""Faces that one polyhedron begins with, pieces and faces of each that a union does."""
_TRIAL_STEPS, _STEPS, _THIN_STEPS = 60, 200, 25
_ROWS = 20_000
"""Most rows that a union is fitted to before all refine it."""
_STEPS_OF_ALL = 20
_FAIR = 3.0
"""Standard errors that the class in fewer pieces may be less likely by."""
_SHARP_FACES, _SHARP_FOLDS, _SHARP_VISITS, _SHARP_RUNS = 16, 5, 4e6, 4
_SHARP_PENALTIES = (3e-5, 1e-3, 0.03)


class Shape(NamedTuple):
    """What a union begins with, and how many faces it may keep."""

    n_pieces: int
    n_faces: int
    """Of each piece."""
    most: int
    beyond: int = 0
    """How many it may keep where rows held out clearly ask for more than that."""


class UnionChoice(NamedTuple):
    """A setting, its penalty on all rows together, what held-out rows say, and a start."""

    setting: Setting
    penalty: float
    outcome: TrialOutcome
    surprise: Floats
    """The tempered log-losses of held-out rows by the soft model."""
    starts: tuple[Union, ...]
    """Unions of the folds before thinning, and without one a long online run, as one polyhedron of
    many faces has it."""
    seed: int = 0
    in_folds: tuple[Union, ...] = ()
    """The soft unions of this size that the folds gave."""
    columns: NDArray[np.intp] | None = None
    """Those that are enough, where rows held out say that the others do harm."""


def choose_union(
    trials: FoldTrials,
    insides: list[int],
    shape: Shape,
    seed: int,
    penalties: tuple[float, ...] = PENALTIES,
    rival: UnionChoice | None = None,
) -> UnionChoice | None:
    """The best union of a shape; None if the first folds already speak for a rival.

    These folds choose the class inside. Of many rows one fold is enough, and it chooses the
    penalties that the others try, too.
    """
    search = _Paths(trials, shape, penalties, seed)
    is_large = trials.data.n_samples >= MANY_ROWS
    first = range(1 if is_large else 2)
    everything = range(len(penalties))
    paths = search.paths(insides, first, everything)
    losses = {inside: search.losses(inside, paths[inside]) for inside in insides}
    weight = trials.weight[search.rows(paths[insides[0]])]
    nearest = {inside: _key_of_least_loss(losses[inside], weight) for inside in insides}
    best = {inside: losses[inside][nearest[inside]] for inside in insides}
    if rival is not None:
        most = float(weight @ rival.surprise[search.rows(paths[insides[0]])])
        best = {inside: loss for inside, loss in best.items() if weight @ loss < most}
    if not best:
        return None
    if shape.n_pieces > 1 and len(best) > 1:
        inside = search.in_fewest_pieces(
            {one: paths[one][0][nearest[one]] for one in best}, nearest
        )
    else:
        inside = min(best, key=lambda one: float(weight @ best[one]))
    near = nearest[inside]
    rest = [number for number in range(len(trials.folds)) if number not in first]
    around = [place for place in everything if abs(place - near) <= 1 or not is_large]
    found = paths[inside] | search.paths([inside], rest, around)[inside]
    shared = search.losses(inside, found)
    weight = trials.weight[search.rows(found)]
    place = _key_of_least_loss(dict(reversed(shared.items())), weight, is_near=not is_large)
    return _judged(search, inside, penalties[place], [found[n][place] for n in sorted(found)])


def _judged(search: _Paths, inside: int, penalty: float, unions: list[Union]) -> UnionChoice:
    """Thin the unions of the folds, choose a number of faces, and judge the rules of that size."""
    trials = search.trials

    def thin(number: int) -> list[Union]:
        train = in_sign(trials.folds[number][0], inside)
        shape = search.shape
        return list(thinned(train, unions[number], penalty, shape.most, _THIN_STEPS, shape.beyond))

    paths = trials.in_folds(thin)
    size, surprise = _best_n_faces(trials, inside, paths, search.shape.most)

    def scored(number: int) -> Floats:
        train, test, _ = trials.folds[number]
        train = in_sign(train, inside)
        soft = of_size(paths[number], size)
        return settled(train, hardened(train, soft, penalty, _TRIAL_STEPS)).scores(test)

    h = trials.of_all(trials.in_folds(scored))
    n_pieces = int(np.median([len(of_size(path, size).sizes) for path in paths]))
    per_row = penalty / float(trials.weight.sum())
    setting = Setting(inside, size, None, per_row, n_polyhedra=n_pieces)
    outcome = TrialOutcome(h, trials.is_inside(inside), trials.weight)
    in_folds = tuple(of_size(path, size) for path in paths)
    return UnionChoice(setting, penalty, outcome, surprise, tuple(unions), in_folds=in_folds)


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
    found, start = [], _sharp_start(signed, runs[inside], seed)
    for penalty in _SHARP_PENALTIES:
        union = settled(signed, _sharp_to_the_end(signed, start, penalty))
        found.append((_outcome(test, inside, union.scores(test)), penalty))
    outcome, penalty = max(found, key=lambda pair: pair[0].share)
    spread = max(outcome.share * (1.0 - outcome.share), 1.0 / test.n_samples)
    error = float(np.sqrt(spread / test.n_samples))
    if outcome.share <= accuracy + error:
        return None
    total = float(rows.weights.sum())
    setting = Setting(inside, n_faces, None, penalty / total)
    return UnionChoice(setting, penalty, outcome, outcome.surprise, (), seed)


def _outcome(test: ArrayBlocks, inside: int, h: Floats) -> TrialOutcome:
    return TrialOutcome(h, np.asarray((test.y > 0) == (inside == 1)), test.weights)


def _sharp_run(data: ArrayBlocks, n_faces: int, seed: int) -> Floats:
    n_passes = int(np.clip(_SHARP_VISITS / data.n_samples, 20, 400))
    theta, _, _ = online_run(data, n_faces, 0.0, seed, n_passes, hopeless=0.2)
    return to_mean_size(data, theta)


def _sharp_start(data: ArrayBlocks, first: Floats, seed: int) -> Floats:
    """Of a long run and a few more the one that the likelihood makes most of in a short time."""
    penalty, n_faces = _SHARP_PENALTIES[0], len(first)
    more = [_sharp_run(data, n_faces, seed + number) for number in range(1, _SHARP_RUNS)]

    def loss(start: Floats) -> float:
        return penalised_loss(data, penalty, _sharp(data, start, penalty, _TRIAL_STEPS))

    return min([first, *more], key=loss)


def _sharp(data: ArrayBlocks, start: Floats, penalty: float, n_steps: int) -> Union:
    """The likelihood of one polyhedron from a run that nearly parts the rows: at once large."""
    sizes = (len(start),)
    starts = [Union(scale * start, sizes) for scale in (5.0, 10.0, 20.0, 40.0, 80.0, 160.0)]
    return ascend(data, min(starts, key=partial(penalised_loss, data, penalty)), penalty, n_steps)


def _sharp_to_the_end(data: ArrayBlocks, start: Floats, penalty: float) -> Union:
    union = _sharp(data, start, penalty, _STEPS)
    return with_missing_faces(data, union, penalty, len(start), _STEPS)


def fit_union(
    training: TrainingData, sample: Sample, choice: UnionChoice, trials: FoldTrials
) -> Union:
    """A union of the chosen size, learned from some rows, and from all if they are more."""
    data, everything = sample.data, training.with_inside(choice.setting.inside).data
    inside, size = choice.setting.inside, choice.setting.n_hyperplanes
    rows = in_sign(stratified_rows(data, _ROWS, np.random.RandomState(0)), inside)
    if not choice.starts:
        first = _sharp_run(rows, size, choice.seed)
        soft = _sharp_to_the_end(rows, _sharp_start(rows, first, choice.seed), choice.penalty)
    else:
        soft = _in_as_few_pieces(rows, _best_of_folds(rows, choice, trials), choice.penalty)
    if everything.n_samples > rows.n_samples:
        free = [*sample.columns, everything.n_features]
        fixed = np.ones(everything.n_features + 1, bool)
        fixed[free] = False
        unit = training.total_weight / everything.n_samples
        full = soft._replace(theta=sample.in_all_columns(soft.theta, everything.n_features))
        full = ascend(everything, full, choice.penalty, _STEPS_OF_ALL, unit, fixed)
        soft = soft._replace(theta=full.theta[:, free])
    if choice.starts:
        soft = hardened(rows, soft, choice.penalty, _STEPS)
    return without_idle_faces(rows, settled(rows, soft))


def _best_of_folds(rows: ArrayBlocks, choice: UnionChoice, trials: FoldTrials) -> Union:
    """The likeliest union of the chosen size of those that the unions of the folds lead to.

    One hyperplane has one maximum, wherever it starts.
    """
    size, penalty = choice.setting.n_hyperplanes, choice.penalty
    starts = sorted(choice.starts, key=partial(soft_loss, rows))

    def thin(start: Union) -> Union:
        path = thinned(rows, ascend(rows, start, penalty, _STEPS), penalty, size, _THIN_STEPS)
        return ascend(rows, next(path), penalty, _STEPS)

    found = trials.in_threads(thin, starts if size > 1 else starts[:1])
    return min(found, key=partial(penalised_loss, rows, penalty))


def _in_as_few_pieces(rows: ArrayBlocks, soft: Union, penalty: float) -> Union:
    """Without spare pieces, if the rule makes hardly more mistakes then: one for each face gone.

    A soft union has round corners, which a rule needs further pieces for.
    """
    fewer = without_spare_pieces(rows, soft, penalty, _STEPS)
    if len(fewer.sizes) == len(soft.sizes):
        return soft

    def mistakes(union: Union) -> float:
        rule = settled(rows, hardened(rows, union, penalty, _STEPS))
        return float(rows.weights @ ((rule.scores(rows) >= 0) != (rows.y > 0)))

    return fewer if mistakes(fewer) <= mistakes(soft) + soft.n_faces - fewer.n_faces else soft


class _Paths(NamedTuple):
    """Fits unions to folds, penalty by penalty, weak ones first, and judges them softly."""

    trials: FoldTrials
    shape: Shape
    penalties: tuple[float, ...]
    seed: int

    def paths(
        self, insides: list[int], numbers: Iterable[int], places: Iterable[int]
    ) -> dict[int, dict[int, dict[int, Union]]]:
        """By class inside, fold and penalty, those at these places, a union each."""
        pieces, faces = self.shape[:2]

        def path(task: tuple[int, int]) -> dict[int, Union]:
            inside, number = task
            train = in_sign(self.trials.folds[number][0], inside)
            weak, seed = self.penalties[0], self.seed + number
            how = (3, _TRIAL_STEPS, 2) if pieces > 1 else (2, _TRIAL_STEPS)
            union = first_union(train, weak, pieces, faces, seed, *how)
            union = joined(train, union, weak, _TRIAL_STEPS)
            found = {}
            for place in places:
                if place > 0:
                    union = ascend(train, union, self.penalties[place], _TRIAL_STEPS)
                found[place] = union
            return found

        places = list(places)
        numbers = [number for number in numbers if number < len(self.trials.folds)]
        tasks = [(inside, number) for inside in insides for number in numbers]

        def learned() -> tuple[NDArray[Any], ...]:
            paths = self.trials.in_threads(path, tasks)
            thetas = np.array([[path[place].theta for place in places] for path in paths])
            sizes = [path[places[0]].sizes for path in paths]
            filled = [(*own, *[0] * (pieces - len(own))) for own in sizes]
            return thetas, np.array(filled, np.int64).reshape(len(tasks), pieces)

        name = f"paths of {self.shape} for {tasks} and penalties {places} of {self.penalties}"
        width = self.trials.data.n_features + 1
        forms = (
            Form(float, (len(tasks), len(places), pieces * faces, width)),
            Form(np.int64, (len(tasks), pieces)),
        )
        thetas, sizes = self.trials.journal.memo(name, learned, *forms)
        if (sizes < 0).any() or (sizes.sum(axis=1) != pieces * faces).any():
            raise ValueError(f"pieces of {sizes.tolist()} faces, of {pieces * faces} altogether")
        found = {
            task: {
                place: Union(theta, tuple(own[own > 0].tolist()))
                for place, theta in zip(places, starts, strict=True)
            }
            for task, starts, own in zip(tasks, thetas, sizes, strict=True)
        }
        return {inside: {n: found[inside, n] for n in numbers} for inside in insides}

    def in_fewest_pieces(self, unions: dict[int, Union], places: dict[int, int]) -> int:
        """The class inside whose union of the first fold is as likely, thinned, in fewest pieces.

        Thinned, because the faces that may be kept may follow one class only.
        """
        train, test, rows = self.trials.folds[0]
        weight = self.trials.weight[rows]

        def thin(inside: int) -> tuple[int, Floats]:
            penalty, data = self.penalties[places[inside]], in_sign(train, inside)
            most, beyond = self.shape.most, self.shape.beyond
            path = list(thinned(data, unions[inside], penalty, most, _THIN_STEPS, beyond))
            is_inside = self.trials.is_inside(inside)[rows]
            losses = {
                one.n_faces: tempered(soft_scores(test, one), is_inside, weight)
                for one in reversed(path)
            }
            best = _key_of_least_loss(losses, weight, is_near=True)
            sizes = of_size(path, best).sizes
            # Half-spaces are one polyhedron of the others.
            return 1 if max(sizes) == 1 else len(sizes), losses[best]

        found = dict(zip(unions, self.trials.in_threads(thin, list(unions)), strict=True))
        losses = [loss for _, loss in found.values()]
        fair = [one for one in found if _is_near(found[one][1], losses, weight, _FAIR)]
        return min(fair, key=lambda one: (found[one][0], float(weight @ found[one][1])))

    def rows(self, paths: Iterable[int]) -> NDArray[np.intp]:
        """The places of the rows that these folds hold out."""
        return np.concatenate([self.trials.folds[number][2] for number in paths])

    def losses(self, inside: int, paths: dict[int, dict[int, Union]]) -> dict[int, Floats]:
        """The tempered log-losses of held-out rows by each penalty that all folds have."""
        rows, folds = self.rows(paths), self.trials.folds
        is_inside, weight = self.trials.is_inside(inside)[rows], self.trials.weight[rows]
        found = {}
        for place in sorted(set.intersection(*(set(path) for path in paths.values()))):
            parts = [soft_scores(folds[n][1], path[place]) for n, path in paths.items()]
            found[place] = tempered(np.concatenate(parts), is_inside, weight)
        return found


def _key_of_least_loss(losses: dict[int, Floats], weight: Floats, is_near: bool = False) -> int:
    """The key of least loss, or the first that is within a standard error of it."""
    if is_near:
        return next(k for k, loss in losses.items() if _is_near(loss, losses.values(), weight))
    return min(losses, key=lambda key: float(weight @ losses[key]))


def _is_near(loss: Floats, losses: Iterable[Floats], weight: Floats, n_errors: float = 1.0) -> bool:
    """Whether it is within a standard error, or some, of the least of some."""
    more, error = mean_and_error(loss - min(losses, key=lambda one: float(weight @ one)), weight)
    return more <= n_errors * error


def tempered(h: Floats, is_inside: NDArray[np.bool_], weight: Floats) -> Floats:
    """Log-losses of the logarithms h of odds after the best one scaling of them.

    So a model that is too sure is not held back for it.
    """
    signed = np.where(is_inside, h, -h)

    def losses(log_scale: float) -> Floats:
        return np.asarray(np.logaddexp(0.0, -np.exp(log_scale) * signed))

    found = minimize_scalar(lambda a: weight @ losses(a), bounds=(-5, 2), method="bounded")
    return losses(float(found.x))


def _best_n_faces(
    trials: FoldTrials, inside: int, thin: list[list[Union]], most: int
) -> tuple[int, Floats]:
    """The number of faces of least log-loss, of few rows the fewest within a standard error.

    It is more than ``most`` where that is clearly better.
    """
    weight, found = trials.weight, {}
    for size in sorted({one.n_faces for path in thin for one in path}):
        pairs = zip(trials.folds, thin, strict=True)
        h = trials.of_all(soft_scores(test, of_size(path, size)) for (_, test, _), path in pairs)
        found[size] = tempered(h, trials.is_inside(inside), weight)
    usual = {size: loss for size, loss in found.items() if size <= most}
    best = _key_of_least_loss(usual or found, weight, is_near=len(weight) < MANY_ROWS)
    if not _is_near(found[best], found.values(), weight, CLEARLY):
        best = _key_of_least_loss(found, weight, is_near=True)
    return best, found[best]


def of_size(path: list[Union], size: int) -> Union:
    """The largest of a path with at most so many faces."""
    return next((one for one in path if one.n_faces <= size), path[-1])
