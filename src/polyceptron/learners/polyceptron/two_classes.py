"""One class against the other: choose by rows held out, learn, and answer in the user's units."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.data.blocks import ArrayBlocks, count_threads
from polyceptron.data.training import TrainingData
from polyceptron.learners._parameters import check_seed
from polyceptron.learners.polyceptron.automatic import choose_automatically, first_shape
from polyceptron.learners.polyceptron.fitted import LearnedUnion
from polyceptron.learners.polyceptron.hyperplanes import (
    FIT,
    Setting,
    learn_hyperplanes,
    n_mistakes,
    needed,
    parting,
)
from polyceptron.learners.polyceptron.knowledge import Knowledge
from polyceptron.learners.polyceptron.limited import Search, fewest_terms, path_table
from polyceptron.learners.polyceptron.parameters import (
    OF_ONE,
    allowed_faces,
    asked_shape,
    asked_strengths,
    is_auto,
    number_or,
    possible_insides,
)
from polyceptron.learners.polyceptron.rounding import round_faces, rows_to_round_by
from polyceptron.learners.polyceptron.sample import Sample, refined_by_all
from polyceptron.learners.polyceptron.selection import (
    CLEARLY,
    LADDER,
    PARTING,
    FoldTrials,
    Selection,
    TrialOutcome,
    mean_and_error,
    search,
)
from polyceptron.learners.polyceptron.union import Union
from polyceptron.learners.polyceptron.union_trials import (
    PENALTIES,
    UnionChoice,
    choose_sharp,
    choose_union,
    fit_union,
)
from polyceptron.optim.checkpoint import A_COUNT, FitJournal, Form
from polyceptron.scoring import scores
from polyceptron.utils.types import Floats

if TYPE_CHECKING:
    from polyceptron.learners.polyceptron.learner import Polyceptron


class TwoClassFit:
    """A fit with the parameters of a learner, which is read only."""

    def __init__(self, model: Polyceptron, training: TrainingData, journal: FitJournal) -> None:
        self._model, self._training, self._journal = model, training, journal
        self._sample = Sample.of(training)
        random = journal.random(check_seed(model.random_state))
        self._seeds = [int(seed) for seed in random.randint(0, 2**31 - 1, size=model.n_init)]
        self._seed = int(random.randint(0, 2**31 - 1))
        self._effort = FIT._replace(max_iter=model.max_iter)
        self._insides = possible_insides(model.inside, training.classes)
        self._n_faces = number_or(model.n_hyperplanes, 0)
        self._n_pieces = number_or(model.n_polyhedra, 0)
        self._faces = allowed_faces(model.max_faces)

    def learned(self, knowledge: Knowledge | None) -> LearnedUnion:
        """Choose a setting by trials, and learn with it from a sample, then from all rows."""
        if knowledge is not None:
            return self._learned_within(knowledge)
        sample = self._sample
        selection = self._selection(sample.data)
        chosen, union = self._choose(selection)
        if union is not None and union.columns is not None:
            sample, selection, union = self._narrowed(selection, union, union.columns)
            chosen = union.setting
        if self._model.verbose:
            n_rows = sample.data.n_samples
            sys.stdout.write(f"Polyceptron: the best of these is fitted to {n_rows:,} rows\n")
        if union is not None:
            found = self._kept(
                "union", lambda: fit_union(self._training, sample, union, selection.trials)
            )
            found, chosen = _settled(found, selection, chosen, len(self._insides) > 1)
            return self._in_user_units(sample, found, selection, chosen)

        def fitted(data: ArrayBlocks) -> tuple[NDArray[Any], ...]:
            theta, n_iter = learn_hyperplanes(data, chosen, self._seeds, self._effort)
            return theta, np.array(n_iter)

        form = Form(float, (None, sample.data.n_features + 1))
        theta, n_iter = self._journal.memo("fit", lambda: fitted(sample.data), form, A_COUNT)
        sample, theta = refined_by_all(self._training, sample, theta, chosen, fitted, self._journal)
        asks = self._n_faces and all(is_auto(getattr(self._model, name)) for name in OF_ONE)
        if asks and sample.numbers is None:
            chosen, theta, n_iter = self._or_parting(selection, chosen, theta, n_iter)
        theta = needed(sample.data, theta)
        found = Union(theta, (len(theta),))
        return self._in_user_units(sample, found, selection, chosen, n_iter=int(n_iter))

    def _or_parting(
        self, selection: Selection, chosen: Setting, theta: Floats, n_iter: NDArray[Any]
    ) -> tuple[Setting, Floats, NDArray[Any]]:
        """The same, or as many hyperplanes that part all rows where that is no chance.

        A likelihood gives rows up for those to come; of few rows more than it has to.
        """
        data, trials = self._sample.data, selection.trials
        if not trials.may_part(chosen) or not n_mistakes(data, theta, chosen.inside):
            return chosen, theta, n_iter
        margin, penalty = PARTING
        for inside in sorted(self._insides, key=lambda one: one != chosen.inside):
            if not selection.is_open(chosen, inside):
                continue
            setting = Setting(inside, chosen.n_hyperplanes, margin, penalty)
            found = parting(data, setting, self._seeds, self._effort)
            if found is None or not trials.needs_several(setting):
                continue
            selection.add(setting, trials.parting_outcome(setting))
            lost, error = selection.less_accurate_than(chosen, setting)
            if lost <= CLEARLY * error:
                return setting, found[0], np.array(found[1])
        return chosen, theta, n_iter

    def _selection(self, data: ArrayBlocks, journal: FitJournal | None = None) -> Selection:
        """Settings to be tried on these rows."""
        journal = self._journal if journal is None else journal
        threads = count_threads(self._model.n_jobs, sys.maxsize)
        report = self._say if self._model.verbose else lambda *_: None
        return Selection(
            FoldTrials(data, self._seed, self._seeds, self._effort, journal, report, threads)
        )

    def _say(self, setting: Setting, share: float) -> None:
        inside, K, margin, penalty, sampled, n_polyhedra = setting
        label = self._training.classes.tolist()[inside]
        several = f"n_polyhedra={n_polyhedra}, " if n_polyhedra > 1 else ""
        width = "None" if margin is None else f"{margin:g}"
        sys.stdout.write(
            f"Polyceptron: inside={label!r}, {several}n_hyperplanes={K}, margin={width}, "
            f"penalty={penalty}{', sampled' * sampled}: {share:.2%} of held-out rows\n"
        )

    def _kept(self, name: str, fit: Callable[[], Union]) -> Union:
        """A union that the journal has, or that is fitted now."""

        def fitted() -> tuple[NDArray[Any], ...]:
            found = fit()
            return found.theta, np.array(found.sizes)

        forms = Form(float, (None, self._sample.data.n_features + 1)), Form(np.int64, (None,))
        theta, sizes = self._journal.memo(name, fitted, *forms)
        if sizes.sum() != len(theta) or not all(sizes):
            raise ValueError(f"pieces of {sizes.tolist()} faces, of which there are {len(theta)}")
        return Union(theta, tuple(sizes.tolist()))

    def _choose(self, selection: Selection) -> tuple[Setting, UnionChoice | None]:
        """The setting that rows held out speak for, and the union if it is not of online runs."""
        model, data, insides = self._model, self._sample.data, self._insides
        usual = self._faces.usual
        if self._n_pieces > 1:
            shape = asked_shape(self._n_pieces, self._n_faces, usual)
        elif model.margin is None:
            shape = asked_shape(1, self._n_faces, min(usual, data.n_samples))
        elif self._n_faces or not all(is_auto(getattr(model, name)) for name in OF_ONE):
            return self._search(selection), None
        else:
            several = not self._n_pieces
            best, union = choose_automatically(selection, insides, self._faces, several, self._seed)
            share = selection.accuracy(best)
            sharp = choose_sharp(data, insides, usual, self._seed, share)
            if sharp is not None:
                selection.add(sharp.setting, sharp.outcome)
            return (best, union) if sharp is None else (sharp.setting, sharp)
        total = float(selection.weight.sum())
        penalties = PENALTIES if is_auto(model.penalty) else (float(model.penalty) * total,)  # type: ignore[arg-type]
        union = choose_union(selection.trials, insides, shape, self._seed, penalties)
        assert union is not None  # without a rival there is always one
        selection.add(union.setting, union.outcome)
        return union.setting, union

    def _narrowed(
        self, selection: Selection, wide: UnionChoice, columns: NDArray[np.intp]
    ) -> tuple[Sample, Selection, UnionChoice]:
        """A union of these columns alone, if rows held out prefer it to that of all."""
        sample = self._sample.of_columns(columns)
        narrow = self._selection(sample.data, self._journal.part(f"columns {columns.tolist()}"))
        shape = first_shape(sample.data, self._faces, wide.setting.n_polyhedra > 1)
        found = choose_union(narrow.trials, [wide.setting.inside], shape, self._seed)
        assert found is not None  # without a rival there is always one
        gained, error = mean_and_error(wide.surprise - found.surprise, selection.weight)
        if gained <= error:
            return self._sample, selection, wide
        narrow.outcomes, narrow.beside = selection.outcomes, selection.beside
        narrow.add(found.setting, found.outcome)
        return sample, narrow, found

    def _search(self, selection: Selection) -> Setting:
        """What rows held out speak for among settings of online runs."""
        model, n_rows = self._model, self._sample.data.n_samples
        numbers = [self._n_faces] if self._n_faces else list(LADDER)
        most = max(self._faces.usual, numbers[0])
        numbers = [number for number in numbers if number <= min(n_rows, most)]
        sampled = None if is_auto(model.sampled) else bool(model.sampled)
        strengths = asked_strengths(model.margin, model.penalty)
        return search(selection, self._insides, numbers, strengths, sampled)

    def _learned_within(self, knowledge: Knowledge) -> LearnedUnion:
        """Learn a union that holds to what the caller knows, and asks of its size."""
        model, training, insides = self._model, self._training, self._insides
        if len(insides) > 1 and knowledge.is_of_the_inside:
            insides = [1]  # the greater label, as what rises is in scikit-learn
        data, limits, rows = knowledge.narrowed(training, self._sample, insides[0])
        selection = self._selection(data)
        trials = selection.trials
        if len(insides) == 1 and trials.is_inside(insides[0]).all():
            return self._given(knowledge, selection, insides[0])
        n_pieces = self._n_pieces or int(self._n_faces > 0)
        most = min(self._faces.usual, trials.data.n_samples)
        shape = asked_shape(n_pieces, self._n_faces, most)
        within = Search(shape, limits, model.max_terms is not None, rows)
        penalty = None if is_auto(model.penalty) else float(model.penalty)  # type: ignore[arg-type]
        total = float(trials.weight.sum())
        tried = within.climbed(trials, within.candidates(insides, model.max_terms, penalty, total))
        for one in tried:
            selection.add(one.setting, one.outcome)
        best = fewest_terms(tried)
        selection.outcomes[best.setting] = best.outcome  # others may have come to the same
        found = self._kept(
            "union within limits", lambda: within.fitted(data, best.candidate, trials)
        )
        found, chosen = _settled(found, selection, best.setting, len(insides) > 1)
        labels = training.classes.tolist()
        turned = chosen.inside != best.candidate.inside
        path = path_table(tried, best, labels[::-1] if turned else labels)
        learned = self._in_user_units(self._sample, found, selection, chosen, knowledge)
        return learned._replace(path=path)

    def _given(self, knowledge: Knowledge, selection: Selection, inside: int) -> LearnedUnion:
        """The given faces alone, where they leave nothing to learn."""
        rows = rows_to_round_by(self._training, self._sample, inside)
        (piece,) = knowledge.held_to([], rows.matrix, self._model._names)
        chosen = Setting(inside, piece.n_faces, None, None)
        h = scores(rows.matrix, piece.W, piece.b).min(axis=1)
        outcome = TrialOutcome(h, rows.y > 0, rows.weights)
        selection.add(chosen, outcome)
        table = selection.table(self._training.classes, chosen)
        return LearnedUnion(
            [piece], chosen, outcome.calibration, 0, 1, table, given=(piece.n_faces,)
        )

    def _in_user_units(
        self,
        sample: Sample,
        union: Union,
        selection: Selection,
        chosen: Setting,
        knowledge: Knowledge | None = None,
        n_iter: int = 1,
    ) -> LearnedUnion:
        """Short numbers for what was learned, held to what is known."""
        training, digits = self._training, self._model.digits
        theta = sample.in_all_columns(union.theta, training.source.n_features)
        whole = Union(theta, union.sizes).pieces()
        pieces, exponent = self._model._polyhedra(training, whole)
        # Calibrated are scores in the coordinates of learning, which leave its unit out.
        unit = math.frexp(training.coordinates.bias_unit)[1] - 1
        link = selection.outcomes[chosen].calibration._replace(exponent=exponent + 2 * unit)
        if digits is not None or knowledge is not None:
            rows = rows_to_round_by(training, sample, chosen.inside)
        if knowledge is not None:
            rows = rows.take(np.flatnonzero(knowledge.admits(rows.matrix)))
        if digits is not None:
            most = None if is_auto(digits) else int(digits)
            is_free = knowledge is None or knowledge.is_free
            pieces, factor = round_faces(pieces, rows, most, may_merge=is_free)
            link = link.stretched(factor)
        if knowledge is not None:
            pieces = knowledge.held_to(pieces, rows.matrix, self._model._names)
        given = (0 if knowledge is None else len(knowledge.faces),) * len(pieces)
        table = selection.table(training.classes, chosen)
        return LearnedUnion(pieces, chosen, link, exponent, n_iter, table, given=given)


def _settled(
    found: Union, selection: Selection, tried: Setting, may_turn: bool
) -> tuple[Union, Setting]:
    """The union, and the setting that it came out as, which takes the place of the one tried."""
    outcome, chosen = selection.outcomes[tried], tried
    if may_turn and found.n_faces == len(found.sizes) > 1:
        # What is outside of half-spaces is one polyhedron, of the other class.
        found = Union(-found.theta, (found.n_faces,))
        outcome, chosen = outcome.turned(), chosen._replace(inside=1 - chosen.inside)
    chosen = chosen._replace(n_polyhedra=len(found.sizes))
    selection.replace(tried, chosen, outcome)
    return found, chosen
