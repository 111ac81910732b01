"""One polyhedron or several, with nothing given: each candidate has to earn its place."""

from __future__ import annotations

from polyceptron.data.blocks import ArrayBlocks
from polyceptron.learners.polyceptron.hyperplanes import Setting
from polyceptron.learners.polyceptron.selection import (
    CLEARLY,
    LADDER,
    MANY_ROWS,
    NOISY,
    Selection,
    better_clean,
    clean_settings,
    first_proven,
    with_samples,
)
from polyceptron.learners.polyceptron.union import ROWS_A_NUMBER
from polyceptron.learners.polyceptron.union_trials import (
    FIRST_FACES,
    FIRST_PIECES,
    ONE_FACES,
    Shape,
    UnionChoice,
    choose_union,
)

_FEW_FACES = 6
"""Most faces that are tried with a share of wrong labels."""
_BEYOND_NOISE = 5.0
"""Standard errors of a gain by several polyhedra that no share of wrong labels explains."""


def choose_automatically(
    selection: Selection, insides: list[int], most: int, several: bool, seed: int
) -> tuple[Setting, UnionChoice | None]:
    """The setting that rows held out speak for, and how it is fitted if not from online runs.

    One polyhedron of the likelihood says about how many faces there are, and of which class. Where
    clean labels are proven, online runs part the rows better. Otherwise a union is tried if
    ``several`` are allowed, and a few faces with a share of wrong labels.
    """
    trials = selection.trials
    few = min(ONE_FACES, most)
    one = _one(selection, insides, Shape(1, few, most), seed)
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
        shape = Shape(_first_pieces(trials.data), FIRST_FACES, most)
        union = choose_union(trials, insides, shape, seed, rival=one)
        if union is not None and union.setting != one.setting:  # it may have come to the same
            selection.add(union.setting, union.outcome)
            if selection.is_better(union.setting, best):
                best, best_choice = union.setting, union
    less, error = selection.worse_than(best, one.setting)
    if less <= _BEYOND_NOISE * error:
        best = _or_noisy(selection, best, one.setting.inside, numbers)
    best = better_clean(selection, best, clean)
    return best, best_choice if best == best_choice.setting else None


def _first_pieces(data: ArrayBlocks) -> int:
    """Pieces to begin with: more where few columns leave many rows for each number learned."""
    n = data.n_samples // (ROWS_A_NUMBER * FIRST_FACES * (data.n_features + 1))
    return min(max(FIRST_PIECES, n), 2 * FIRST_PIECES)


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
    if noisy.n_hyperplanes > best.n_hyperplanes:
        return noisy if selection.is_better(noisy, best) else best
    return selection.likeliest([best, noisy])


def _one(selection: Selection, insides: list[int], shape: Shape, seed: int) -> UnionChoice:
    one = choose_union(selection.trials, insides, shape, seed)
    assert one is not None  # without a rival there is always one
    selection.add(one.setting, one.outcome)
    return one
