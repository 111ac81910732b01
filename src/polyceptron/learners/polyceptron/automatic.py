"""One polyhedron or several, with nothing given: each candidate has to earn its place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron.data.blocks import ArrayBlocks
from polyceptron.learners.polyceptron.hyperplanes import Setting
from polyceptron.learners.polyceptron.selection import (
    CLEARLY,
    LADDER,
    MANY_ROWS,
    NOISY,
    FoldTrials,
    Selection,
    better_clean,
    clean_settings,
    first_proven,
    mean_and_error,
    with_samples,
)
from polyceptron.learners.polyceptron.union import ROWS_A_NUMBER, Union, soft_scores
from polyceptron.learners.polyceptron.union_trials import (
    FIRST_FACES,
    FIRST_PIECES,
    ONE_FACES,
    Shape,
    UnionChoice,
    choose_union,
    tempered,
)
from polyceptron.utils.types import Floats

_FEW_FACES = 6
"""Most faces that are tried with a share of wrong labels."""
_TRIED_COLUMNS = 8
"""How many numbers of columns are thought of."""
_BEYOND_NOISE = 5.0
"""Standard errors of a gain by several polyhedra that no share of wrong labels explains."""


class Faces(NamedTuple):
    """How many a union may keep."""

    usual: int
    most: int
    """Where rows held out clearly ask for more."""


def choose_automatically(
    selection: Selection, insides: list[int], faces: Faces, several: bool, seed: int
) -> tuple[Setting, UnionChoice | None]:
    """The setting that rows held out speak for, and how it is fitted if not from online runs.

    One polyhedron of the likelihood says about how many faces there are, and of which class. Where
    clean labels are proven, online runs part the rows better. Otherwise a union is tried if
    ``several`` are allowed, and a few faces with a share of wrong labels.
    """
    trials = selection.trials
    shape = first_shape(trials.data, faces, several=False)
    few, most = shape.n_faces, shape.most
    one = _one(selection, insides, shape, seed)
    enough = len(trials.weight) >= MANY_ROWS
    if enough and one.setting.n_hyperplanes == few < most:  # as many as there were
        one = _one(selection, insides, Shape(1, most, most), seed)
    numbers = [number for number in LADDER if number <= most]
    clean = clean_settings(selection, one.setting, [one.setting.inside], numbers)
    proven = first_proven(selection, one.setting, clean)
    if proven is not None:
        return proven, None
    best, best_choice = one.setting, one
    if several:
        shape = first_shape(trials.data, faces, several)
        union = choose_union(trials, insides, shape, seed, rival=one)
        if union is not None and union.setting != one.setting:  # it may have come to the same
            selection.add(union.setting, union.outcome)
            if selection.is_better(union.setting, best):
                best, best_choice = union.setting, union
    less, error = selection.worse_than(best, one.setting)
    if less <= _BEYOND_NOISE * error:
        best = _or_noisy(selection, best, one.setting.inside, numbers)
    best = better_clean(selection, best, clean)
    if best != best_choice.setting:
        return best, None
    if best.n_hyperplanes > 1:
        best_choice = best_choice._replace(columns=_enough_columns(trials, best_choice))
    return best, best_choice


def first_shape(data: ArrayBlocks, faces: Faces, several: bool) -> Shape:
    """What is begun with: more pieces where few columns leave many rows for each number learned."""
    usual = min(faces.usual, data.n_samples)
    if not several:
        return Shape(1, min(ONE_FACES, usual), usual)
    n_faces = data.n_samples // (ROWS_A_NUMBER * (data.n_features + 1))
    n_pieces = min(max(FIRST_PIECES, n_faces // FIRST_FACES), 2 * FIRST_PIECES)
    return Shape(n_pieces, FIRST_FACES, usual, min(faces.most, n_faces))


def _enough_columns(trials: FoldTrials, choice: UnionChoice) -> NDArray[np.intp] | None:
    """Those of the greatest weights, if held-out rows are clearly likelier without the others.

    Nothing is fitted anew for that: columns that say nothing do harm as long as they are there.
    """
    inside, d = choice.setting.inside, trials.data.n_features
    squares = sum((one.theta[:, :-1] ** 2).sum(axis=0) for one in choice.in_folds)
    order = np.argsort(-np.asarray(squares), kind="stable")

    def losses(number: int) -> Floats:
        def narrowed(union: Union) -> Union:
            theta = union.theta.copy()
            theta[:, order[number:]] = 0.0
            return union._replace(theta=theta)

        pairs = zip(trials.folds, choice.in_folds, strict=True)
        h = trials.of_all(soft_scores(test, narrowed(union)) for (_, test, _), union in pairs)
        return tempered(h, trials.is_inside(inside), trials.weight)

    numbers = np.unique(np.linspace(1, d, min(d, _TRIED_COLUMNS), dtype=np.intp))
    found = {int(number): losses(int(number)) for number in numbers}
    best = min(found, key=lambda number: float(trials.weight @ found[number]))
    less, error = mean_and_error(found[d] - found[best], trials.weight)
    return np.sort(order[:best]) if less > CLEARLY * error else None


def _or_noisy(selection: Selection, best: Setting, inside: int, numbers: list[int]) -> Setting:
    """The best, or one polyhedron with a share of wrong labels if that is as likely, or its mean.

    A share of wrong labels has as much to say about a few faces as many faces have.
    """
    numbers = [number for number in numbers if number <= _FEW_FACES]
    noisy = selection.climb(Setting(inside, 1, *NOISY[0]), numbers)
    noisy = selection.simplest(noisy, NOISY[:1])
    more, error = selection.worse_than(best, noisy)
    if more > CLEARLY * error:
        return best
    noisy = with_samples(selection, noisy, numbers, NOISY, None)
    return selection.likeliest([best, noisy])


def _one(selection: Selection, insides: list[int], shape: Shape, seed: int) -> UnionChoice:
    one = choose_union(selection.trials, insides, shape, seed)
    assert one is not None  # without a rival there is always one
    selection.add(one.setting, one.outcome)
    return one
