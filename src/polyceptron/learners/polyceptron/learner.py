"""Polyceptron: the polyhedral learner to reach for, with nothing to tune."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from sklearn.base import clone

from polyceptron.data.blocks import ArrayBlocks, count_threads
from polyceptron.data.source import Source
from polyceptron.data.training import TrainingData
from polyceptron.learners._base import FitsBlocks, ProbabilisticClassifier
from polyceptron.learners._parameters import (
    check_flag,
    check_inside,
    check_n_jobs,
    check_seed,
    check_two_classes,
    check_verbose,
)
from polyceptron.learners.documents import (
    FITTED,
    Count,
    Document,
    Exponent,
    Finite,
    ModelFileError,
    NotNegative,
)
from polyceptron.learners.polyceptron.automatic import choose_automatically
from polyceptron.learners.polyceptron.few_terms import FaceLimits
from polyceptron.learners.polyceptron.hyperplanes import (
    FIT,
    Setting,
    Strength,
    learn_hyperplanes,
    needed,
)
from polyceptron.learners.polyceptron.knowledge import (
    NAMES,
    OF_THE_INSIDE,
    Knowledge,
    check_by_class,
)
from polyceptron.learners.polyceptron.limited import (
    DENSE_PENALTIES,
    PENALTY,
    SIZES,
    TERMS,
    Candidate,
    Search,
    fewest_terms,
    path_table,
)
from polyceptron.learners.polyceptron.rounding import round_faces, rows_to_round_by
from polyceptron.learners.polyceptron.sample import Sample, refined_by_all
from polyceptron.learners.polyceptron.selection import (
    LADDER,
    STRENGTHS,
    FoldTrials,
    Selection,
    TrialOutcome,
    search,
)
from polyceptron.learners.polyceptron.union import Union
from polyceptron.learners.polyceptron.union_trials import (
    FIRST_FACES,
    FIRST_PIECES,
    ONE_FACES,
    PENALTIES,
    Shape,
    UnionChoice,
    choose_sharp,
    choose_union,
    fit_union,
)
from polyceptron.optim.checkpoint import FitJournal, as_checkpoint
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Piece, Rule
from polyceptron.scoring import scores
from polyceptron.utils.checks import as_count, as_real

_FITTED = {"estimators_", "polyhedron_", "coef_", "intercept_", "inside_"}
_FITTED |= {"_inside", "_exponent", "_coordinates", "path_"}
"""What one kind of fit sets and the other does not."""
_OF_ONE = ("margin", "penalty", "sampled")
"""Parameters that speak of one polyhedron."""
_CHOSEN = ("n_iter", "margin", "penalty", "sampled")


def _say(labels: list[Any], setting: Setting, share: float) -> None:
    inside, K, margin, penalty, sampled, n_polyhedra = setting
    several = f"n_polyhedra={n_polyhedra}, " if n_polyhedra > 1 else ""
    width = "None" if margin is None else f"{margin:g}"
    sys.stdout.write(
        f"Polyceptron: inside={labels[inside]!r}, {several}n_hyperplanes={K}, margin={width}, "
        f"penalty={penalty}{', sampled' * sampled}: {share:.2%} of held-out rows\n"
    )


def _joined(tables: list[dict[str, list[Any]]]) -> dict[str, list[Any]]:
    """Tables of classes as one, which says no more which of two is inside."""
    names = [name for name in tables[0] if name != "inside"]
    return {name: [v for table in tables for v in table[name]] for name in names}


class SelectionTable(Document):
    """What was tried, a column each; ``inside`` are places among the two classes."""

    inside: list[Annotated[int, Meta(ge=0, le=1)]]
    n_hyperplanes: list[Count]
    margin: list[NotNegative | None]
    penalty: list[NotNegative | None]
    sampled: list[bool]
    n_polyhedra: list[Count]
    accuracy: list[Finite]
    chosen: list[bool]


class ClassFitted(Document):
    """What a model file keeps of the polyhedron of one class."""

    exponent: Exponent
    n_iter: Count
    margin: NotNegative | None
    penalty: NotNegative | None
    sampled: bool
    selection: SelectionTable
    random_state: Annotated[int, Meta(ge=0, le=2**32 - 1)] | None


class PolyceptronFitted(Document):
    """One for the class inside, or one for each of more than two classes."""

    fits: list[ClassFitted]


@dataclass(eq=False, repr=False)
class Polyceptron(ProbabilisticClassifier, FitsBlocks):
    """Learn a class as a polyhedron, or a few of them, with nothing to tune.

    A penalised likelihood begins with more small random faces than are needed, and takes those
    away that cost least. Its polyhedron has to compete with others on rows held out of the
    training rows: the matched mean of online runs where labels are clean; a few faces with a share
    of wrong labels, or the mean of many likely ones; and a union of polyhedra. The number of
    hyperplanes, the class inside and the strength are chosen on the way, of few rows the fewest
    hyperplanes within one standard error of the best. Each of more than two classes gets a
    polyhedron, or a union, of its own.

    Parameters
    ----------
    n_hyperplanes : int or "auto", default="auto"
        K, the number of inequalities to begin with; those not needed are dropped. Of a union,
        those of each polyhedron; with ``margin=None`` the most that are kept.
    n_polyhedra : int or "auto", default="auto"
        How many polyhedra the class inside is the union of, at most. 1 is a single one. "auto"
        lets rows held out choose between one and several; one if `n_hyperplanes`, `margin`,
        `penalty` or `sampled` is given, which speak of one.
    max_faces : int, default=16
        Most inequalities of all polyhedra together, with more than two classes of those of each
        class; a number given as `n_hyperplanes` of one polyhedron may be greater.
    margin : float, None or "auto", default="auto"
        How far on their side rows must be for an online run to leave them alone, in updates
        on standardised columns. 0 suits clean labels. None makes no online runs: the likelihood
        begins with more small random faces than are kept.
    penalty : float, None or "auto", default="auto"
        Penalty of the likelihood, per row: ``penalty / 2 * sum_k |w_k|^2``. None leaves the mean
        of the runs as it is, which is also what "auto" means where `margin` is a number. With
        ``margin=None`` at most 4,000 rows count.
    sampled : bool or "auto", default="auto"
        Take the mean of many likely hyperplanes, not the likeliest ones: better where labels are
        wrong, and slower. "auto" lets rows held out decide, where there are rows and time enough.
        Without a penalty there is nothing to sample.
    inside : label, None or "auto", default="auto"
        The class inside; None is the greater label. "auto" takes the one whose polyhedron is
        likelier for rows held out. With more than two classes it must be one of them, and says
        nothing: each has a polyhedron.
    n_init : int, default=9
        Online runs to average.
    max_iter : int, default=1000
        Most passes of an online run. Runs over many rows make fewer: a million visits
        (with a margin 100,000), but at least ten passes.
    standardize : bool, default=True
        Learn on columns of zero mean and unit spread (sparse columns are only scaled).
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Threads for folds and for large data; None is all cores. The result does not depend on it.
    verbose : int, default=0
        Print what is tried.
    checkpoint : path, Checkpoint or None, default=None
        A file that a fit which was killed goes on from: see `Checkpoint`.
    digits : int, None or "auto", default="auto"
        Significant digits of coefficients in the units of X. "auto" takes the fewest that cost
        nothing on the training rows, a number at most so many, and offsets are found again after
        that: what is printed is what predicts. None leaves the coefficients as they were learned.
    max_terms : int, None or "auto", default=None
        Most columns that an inequality has. "auto" tries 1, 2, 3, 5 and 8, and takes the fewest
        terms within one standard error of the best. With this parameter, or one of the next four,
        at most 20,000 rows are learned from, and `margin` and `sampled` must be "auto".
    monotonic_cst : array-like of shape (n_features,), dict or None, default=None
        Of a column 1 if the class inside may not become less likely as it rises, -1 if not more
        likely, 0 for either; or a dict of these by column. No inequality that is learned has a
        coefficient of the other sign.
    fixed_faces : str, list of str, Polyhedron, (A, b) or None, default=None
        Inequalities such as "2*age - bmi >= 14", or ``A @ x + b >= 0``, that are part of every
        polyhedron and are never moved; the others are learned around them.
    features_of_faces : list of lists of columns or None, default=None
        An inequality has columns of one of these lists only; columns are names or numbers.
    must_contain : array-like of shape (n_rows, n_features) or None, default=None
        Rows that have to be inside. Each counts up to ten times.

        With ``inside="auto"``, `monotonic_cst`, `fixed_faces` and `must_contain` speak of the
        greater label; with more than two classes they are dicts from the label of a class, and
        hold for the polyhedra of that class: the answer is still the most probable class.

    Attributes
    ----------
    polyhedron_ : Polyhedron
        The learned set, in the units and with the column names of X. Only with two classes, and
        where it is one, as with ``n_polyhedra=1``; `rule_` and `polyhedra_` are there always.
    polyhedra_ : dict of label to Polyhedron
        The polyhedron of each class that has one: the inside class, or all of more than two. Of a
        union a list of them.
    n_polyhedra_ : int
        How many polyhedra the class inside is. With more than two classes a dict from label.
    classes_ : ndarray of shape (n_classes,)
    inside_ : label
        The class inside. Only with two classes, as the next two.
    coef_, intercept_ : ndarrays of shape (n_hyperplanes_, n_features) and (n_hyperplanes_,)
    n_hyperplanes_, margin_, penalty_, sampled_ : int, float or None, float or None, bool
        Hyperplanes that are left, and what was chosen. With more than two classes dicts from label.
    selection_ : dict of str to list
        What was tried, a column each, for ``pandas.DataFrame(model.selection_)``: "inside" (with
        more than two classes "class"), "n_hyperplanes", "margin", "penalty", "sampled",
        "n_polyhedra", "accuracy" on rows held out, and which was "chosen".
    path_ : dict of str to list
        What was tried with `max_terms` or what is known, a column each, few terms first: "inside",
        "max_terms", "n_terms" of the whole rule in the mean of the folds, "n_hyperplanes" and
        "n_polyhedra" in their median, "penalty", "accuracy" on rows held out where `fixed_faces`
        hold, its standard "error", and which was "chosen". With more than two classes "class" in
        the place of "inside". It is not in model files.
    verdict_ : Verdict
        How well the rule answers the rows learned from, beside always answering one class, and
        what is remarkable; ``print(model.verdict_)``.
    n_iter_ : int
        Passes of the longest online run; 1 where there was none.
    estimators_ : list of Polyceptron
        One for each class, only with more than two.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features_in_,)

    See Also
    --------
    OnlinePolyceptron : A single run; also learns from a stream.
    Rule.edit : Changes of a learned rule by hand.

    Notes
    -----
    Up to about 16 million numbers all rows are learned from at once. Of more, a sample of that
    size decides; then all rows refine its hyperplanes: by their likelihood where labels are
    noisy, else by adding the rows that are on the wrong side to the sample.

    Examples
    --------
    >>> from polyceptron import Polyceptron
    >>> from polyceptron.datasets import make_dataset1
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> model = Polyceptron(random_state=0).fit(X, y)
    >>> model.n_hyperplanes_, model.score(X, y) > 0.97
    (3, True)

    Two terms at most, and a limit that is known:

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Polyceptron(max_terms=2, fixed_faces="x2 <= 6", inside=True, random_state=0)
    >>> print(model.fit(X, y == 1).rule_)
    True if all 3 hold:
      face 0: x2 <= 6
      face 1: 2*x3 + x2 <= 7.9
      face 2: x2 >= 2.8
    Otherwise False.
    """

    n_hyperplanes: int | str = "auto"  # type: ignore[assignment]
    _: KW_ONLY
    n_polyhedra: int | str = "auto"
    max_faces: int = 16
    margin: float | str | None = "auto"
    penalty: float | str | None = "auto"
    sampled: bool | str = "auto"
    inside: Any = "auto"
    n_init: int = 9
    max_iter: int = 1000
    standardize: bool = True
    class_weight: Any = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    checkpoint: Any = None
    digits: int | str | None = "auto"
    max_terms: int | str | None = None
    monotonic_cst: Any = None
    fixed_faces: Any = None
    features_of_faces: Any = None
    must_contain: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    if not TYPE_CHECKING:  # type checkers would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            """Say why there is no `polyhedron_`."""
            if name == "polyhedron_" and "rule_" in vars(self):
                n, n_classes = len(self.rule_.pieces), len(self.classes_)
                why, remedy = f"the class is {n} polyhedra", ", or fit with n_polyhedra=1"
                if n_classes > 2:
                    why, remedy = f"there are {n_classes} classes, each with its own", ""
                raise AttributeError(f"no polyhedron_: {why}; see rule_ or polyhedra_{remedy}")
            return super().__getattribute__(name)  # which raises

    def _learn(self, source: Source) -> Iterator[str]:
        for name in set(vars(self)) & _FITTED:  # three classes leave others than two
            delattr(self, name)
        training = TrainingData.of(source, **self._training_options(source))
        journal = self._journal(training)
        if len(training.classes) == 2:
            self._learn_two(training, journal)
        else:
            self._learn_each(training, journal)
        journal.finish()
        yield from ()  # nothing to warn of

    # --- two classes --------------------------------------------------------------------

    def _learn_two(self, training: TrainingData, journal: FitJournal) -> None:
        """Choose a setting by trials, and learn with it from a sample, then from all rows."""
        sample = Sample.of(training)
        random = journal.random(check_seed(self.random_state))
        seeds = [int(seed) for seed in random.randint(0, 2**31 - 1, size=self.n_init)]
        effort = FIT._replace(max_iter=self.max_iter)
        seed = int(random.randint(0, 2**31 - 1))
        report = partial(_say, training.classes.tolist()) if self.verbose else lambda *_: None
        threads = count_threads(self.n_jobs, sys.maxsize)

        def trials_of(data: ArrayBlocks) -> FoldTrials:
            return FoldTrials(data, seed, seeds, effort, journal, report, threads)

        knowledge = self._knowledge(training.source)
        if knowledge is not None:
            self._learn_within(training, sample, knowledge, trials_of)
            return
        selection = Selection(trials_of(sample.data))
        chosen, union = self._choose(selection, training, sample, seed)
        if self.verbose:
            n_rows = sample.data.n_samples
            sys.stdout.write(f"Polyceptron: the best of these is fitted to {n_rows:,} rows\n")
        if union is not None:
            self._learn_union(training, sample, selection, union, journal)
            return

        def fitted(data: ArrayBlocks) -> tuple[NDArray[Any], ...]:
            theta, n_iter = learn_hyperplanes(data, chosen, seeds, effort)
            return theta, np.array(n_iter)

        theta, n_iter = journal.memo("fit", partial(fitted, sample.data))
        self.n_iter_ = int(n_iter)
        sample, theta = refined_by_all(training, sample, theta, chosen, fitted, journal)
        theta = needed(sample.data, theta)
        self._set_pieces(training, sample, Union(theta, (len(theta),)), selection, chosen)

    def _choose(
        self, selection: Selection, training: TrainingData, sample: Sample, seed: int
    ) -> tuple[Setting, UnionChoice | None]:
        """The setting that rows held out speak for, and the union if it is not of online runs."""
        trials, n_rows = selection.trials, sample.data.n_samples
        insides = [0, 1] if self._is_auto("inside") else [self._inside_of(training.classes)]
        most = min(self.max_faces, n_rows)
        n_faces = 0 if self._is_auto("n_hyperplanes") else int(self.n_hyperplanes)
        if not self._is_auto("n_polyhedra") and self.n_polyhedra != 1:
            n_pieces = min(int(self.n_polyhedra), self.max_faces)  # each has a face
            shape = Shape(n_pieces, n_faces or FIRST_FACES, self.max_faces)
        elif self.margin is None:
            shape = Shape(1, max(n_faces, min(ONE_FACES, most)), n_faces or most)
        elif n_faces or not all(map(self._is_auto, _OF_ONE)):
            return self._search(selection, insides, n_rows), None
        else:
            several = self._is_auto("n_polyhedra")
            best, union = choose_automatically(selection, insides, most, several, seed)
            share = selection.accuracy(best)
            sharp = choose_sharp(sample.data, insides, self.max_faces, seed, share)
            if sharp is not None:
                selection.add(sharp.setting, sharp.outcome)
            return (best, union) if sharp is None else (sharp.setting, sharp)
        total = float(trials.weight.sum())
        penalties = PENALTIES if self._is_auto("penalty") else (float(self.penalty) * total,)  # type: ignore[arg-type]
        union = choose_union(trials, insides, shape, seed, penalties)
        assert union is not None  # without a rival there is always one
        selection.add(union.setting, union.outcome)
        return union.setting, union

    def _search(self, selection: Selection, insides: list[int], n_rows: int) -> Setting:
        """What rows held out speak for among settings of online runs."""
        numbers = list(LADDER) if self._is_auto("n_hyperplanes") else [int(self.n_hyperplanes)]
        most = max(self.max_faces, numbers[0])
        numbers = [number for number in numbers if number <= min(n_rows, most)]
        sampled = None if self._is_auto("sampled") else bool(self.sampled)
        return search(selection, insides, numbers, self._strengths(), sampled)

    def _learn_union(
        self,
        training: TrainingData,
        sample: Sample,
        selection: Selection,
        union: UnionChoice,
        journal: FitJournal,
    ) -> None:
        """Learn a union from a sample, then from all rows."""

        def fitted() -> tuple[NDArray[Any], ...]:
            found = fit_union(training, sample, union)
            return found.theta, np.array(found.sizes)

        theta, sizes = journal.memo("union", fitted)
        found, may_turn = Union(theta, tuple(sizes.tolist())), self._is_auto("inside")
        self._set_learned(training, sample, found, selection, union.setting, may_turn)

    def _learn_within(
        self,
        training: TrainingData,
        sample: Sample,
        knowledge: Knowledge,
        trials_of: Callable[[ArrayBlocks], FoldTrials],
    ) -> None:
        """Learn a union that holds to what the caller knows, and asks of its size."""
        insides = [0, 1]
        if not self._is_auto("inside"):
            insides = [self._inside_of(training.classes)]
        elif knowledge.is_of_the_inside:
            insides = [1]  # the greater label, as what rises is in scikit-learn
        data, limits, rows = knowledge.narrowed(training, sample, insides[0])
        trials = trials_of(data)
        selection = Selection(trials)
        if len(insides) == 1 and trials.is_inside(insides[0]).all():
            self._set_given(training, sample, knowledge, selection, insides[0])
            return
        search = self._search_within(limits, trials.data, rows)
        tried = search.climbed(trials, self._candidates(search, insides, trials.weight))
        for one in tried:
            selection.add(one.setting, one.outcome)
        best = fewest_terms(tried)
        selection.outcomes[best.setting] = best.outcome  # others may have come to the same

        def fitted() -> tuple[NDArray[Any], ...]:
            found = search.fitted(data, best.candidate)
            return found.theta, np.array(found.sizes)

        theta, sizes = trials.journal.memo("union within limits", fitted)
        found, may_turn = Union(theta, tuple(sizes.tolist())), len(insides) > 1
        self._set_learned(training, sample, found, selection, best.setting, may_turn, knowledge)
        labels = training.classes.tolist()
        turned = self._inside != best.candidate.inside
        self.path_ = path_table(tried, best, labels[::-1] if turned else labels)

    def _search_within(self, limits: FaceLimits, data: ArrayBlocks, rows: Any) -> Search:
        most = min(self.max_faces, data.n_samples)
        n_faces = 0 if self._is_auto("n_hyperplanes") else int(self.n_hyperplanes)
        if not self._is_auto("n_polyhedra") and self.n_polyhedra != 1:
            shape = Shape(min(int(self.n_polyhedra), most), n_faces or FIRST_FACES, most)
        elif n_faces or self.n_polyhedra == 1:
            shape = Shape(1, max(n_faces, min(ONE_FACES, most)), n_faces or most)
        else:
            shape = Shape(FIRST_PIECES, FIRST_FACES, most)
        sizes = sorted({*(size for size in SIZES if size < shape.most), shape.most})
        return Search(shape, tuple(sizes), limits, self.max_terms is not None, rows)

    def _candidates(self, search: Search, insides: list[int], weight: Any) -> list[Candidate]:
        d = len(search.limits.signs)
        if self.max_terms is None:
            numbers = [d]
        elif self._is_auto("max_terms"):
            numbers = [number for number in (*TERMS, d) if number <= min(d, TERMS[-1])]
        else:
            numbers = [min(int(self.max_terms), d)]
        found = []
        for number in dict.fromkeys(numbers):
            penalties = [PENALTY]
            if not self._is_auto("penalty"):
                penalties = [float(self.penalty)]  # type: ignore[arg-type]
            elif self.max_terms is None:
                penalties = [penalty / float(weight.sum()) for penalty in DENSE_PENALTIES]
            found += [
                Candidate(inside, number, penalty, size)
                for inside in insides
                for penalty in penalties
                for size in search.sizes
            ]
        return sorted(found)

    def _set_given(
        self,
        training: TrainingData,
        sample: Sample,
        knowledge: Knowledge,
        selection: Selection,
        inside: int,
    ) -> None:
        """The given faces alone, where they leave nothing to learn."""
        rows = rows_to_round_by(training, sample, inside)
        (piece,) = knowledge.held_to([], rows.matrix, self._names)
        chosen = Setting(inside, piece.n_faces, None, None)
        h = scores(rows.matrix, piece.W, piece.b).min(axis=1)
        selection.add(chosen, TrialOutcome(h, rows.y > 0, rows.weights))
        self.n_iter_, self._exponent, self._coordinates = 1, 0, training.coordinates
        self.classes_ = training.classes
        self._set_chosen([piece], selection, chosen, selection.outcomes[chosen].calibration)
        self._lock(piece.n_faces)

    def _set_learned(
        self,
        training: TrainingData,
        sample: Sample,
        found: Union,
        selection: Selection,
        tried: Setting,
        may_turn: bool,
        knowledge: Knowledge | None = None,
    ) -> None:
        """Set what follows from a union of the setting that was tried."""
        self.n_iter_ = 1
        outcome, chosen = selection.outcomes[tried], tried
        if may_turn and found.n_faces == len(found.sizes) > 1:
            # What is outside of half-spaces is one polyhedron, of the other class.
            found = Union(-found.theta, (found.n_faces,))
            outcome, chosen = outcome.turned(), chosen._replace(inside=1 - chosen.inside)
        chosen = chosen._replace(n_polyhedra=len(found.sizes))
        selection.replace(tried, chosen, outcome)
        self._set_pieces(training, sample, found, selection, chosen, knowledge)

    def _set_pieces(
        self,
        training: TrainingData,
        sample: Sample,
        union: Union,
        selection: Selection,
        chosen: Setting,
        knowledge: Knowledge | None = None,
    ) -> None:
        """Set the fitted attributes that follow from what was learned and chosen."""
        theta = sample.in_all_columns(union.theta, training.source.n_features)
        pieces, self._exponent = self._polyhedra(training, Union(theta, union.sizes).pieces())
        self._coordinates, self.classes_ = training.coordinates, training.classes
        # Calibrated are scores in the coordinates of learning, which leave its unit out.
        unit = math.frexp(training.coordinates.bias_unit)[1] - 1
        link = selection.outcomes[chosen].calibration._replace(exponent=self._exponent + 2 * unit)
        if self.digits is not None or knowledge is not None:
            rows = rows_to_round_by(training, sample, chosen.inside)
        if knowledge is not None:
            rows = rows.take(np.flatnonzero(knowledge.admits(rows.matrix)))
        if self.digits is not None:
            most = None if self._is_auto("digits") else int(self.digits)
            is_free = knowledge is None or knowledge.is_free
            pieces, factor = round_faces(pieces, rows, most, may_merge=is_free)
            link = link.stretched(factor)
        if knowledge is not None:
            pieces = knowledge.held_to(pieces, rows.matrix, self._names)
        self._set_chosen(pieces, selection, chosen, link)
        if knowledge is not None:
            self._lock(len(knowledge.faces))

    def _lock(self, n: int) -> None:
        """Nobody changes by accident the faces that were given, the first n of each piece."""
        pieces = range(len(self.rule_.pieces))
        self.rule_ = replace(self.rule_, locked=tuple((p, k) for p in pieces for k in range(n)))

    def _set_chosen(
        self, pieces: list[Polyhedron], selection: Selection, chosen: Setting, link: Any
    ) -> None:
        """Set what follows from the polyhedra of the class inside, and the choice of them."""
        self._set_union(pieces, chosen.inside, link)
        self.margin_, self.penalty_, self.sampled_ = chosen.margin, chosen.penalty, chosen.sampled
        self.selection_ = selection.table(self.classes_, chosen)

    def _set_union(self, pieces: list[Polyhedron], inside: int, link: Any) -> None:
        """Set what follows from the polyhedra of the class inside."""
        label = self.classes_.tolist()[inside]
        self.n_polyhedra_ = len(pieces)
        self.polyhedra_: dict[Any, Any] = {label: pieces}
        if len(pieces) == 1:
            self._set_rule(pieces[0], inside, link)
            self.polyhedra_[label] = self.polyhedron_
        else:
            self._inside, self.inside_ = inside, self.classes_[inside]
            self.coef_ = np.concatenate([piece.W for piece in pieces])
            self.intercept_ = np.concatenate([piece.b for piece in pieces])
            self.rule_ = Rule.inside(self.classes_, inside, *pieces, link=link)
        self.n_hyperplanes_ = len(self.intercept_)

    def _knowledge(self, source: Source) -> Knowledge | None:
        """What the caller knows, if anything, or if terms are to be few."""
        given = {name: getattr(self, name) for name in NAMES}
        if self.max_terms is None and all(value is None for value in given.values()):
            return None
        return Knowledge.of(given, source.n_features, source.feature_names)

    def _strengths(self) -> list[Strength]:
        auto_margin, auto_penalty = self._is_auto("margin"), self._is_auto("penalty")
        if auto_margin and auto_penalty:
            return list(STRENGTHS)
        if auto_margin:
            margins = [m for m, p in STRENGTHS if p is None] if self.penalty is None else [20.0]
            return [(m, self.penalty) for m in margins]  # type: ignore[misc]
        return [(float(self.margin), None if auto_penalty else self.penalty)]  # type: ignore[arg-type, list-item]

    def _is_auto(self, name: str) -> bool:
        value = getattr(self, name)
        return isinstance(value, str) and value == "auto"

    def _check_classes(self, classes: NDArray[Any]) -> None:
        if len(classes) < 2:
            check_two_classes(classes)
        if len(classes) == 2 and not self._is_auto("inside"):
            self._inside_of(classes)

    def _choose_inside(self, classes: NDArray[Any]) -> int:
        del classes
        return 1  # of training data; the class inside is chosen later

    def _inside_of(self, classes: NDArray[Any]) -> int:
        """The place of the class that the parameter names."""
        try:
            return check_inside(self.inside, classes)
        except ValueError as error:
            raise ValueError(f"{error}; or 'auto'") from None

    def _rows_needed(self) -> int:
        return 1 if self._is_auto("n_hyperplanes") else int(self.n_hyperplanes)

    # --- more classes -------------------------------------------------------------------

    def _learn_each(self, training: TrainingData, journal: FitJournal) -> None:
        """A polyhedron for each class against the rest."""
        random = journal.random(check_seed(self.random_state))
        if not self._is_auto("inside"):
            check_inside(self.inside, training.classes)
        for name in OF_THE_INSIDE:
            check_by_class(name, getattr(self, name), training.classes.tolist())
        self.estimators_ = []
        for place, label in enumerate(training.classes):
            if self.verbose:
                sys.stdout.write(f"Polyceptron: class {label!r} against the rest\n")
            one = self._for_class(label, random.randint(0, 2**31 - 1))
            one.n_features_in_ = training.source.n_features
            part = journal.part(f"class {label!r}")
            one._learn_two(training.one_against_rest(place), part)
            self.estimators_.append(one)
        self.classes_ = training.classes
        self._describe_each()

    def _describe_each(self) -> None:
        """Set the fitted attributes that follow from the estimators of the classes."""
        labels, each = self.classes_.tolist(), self.estimators_
        self.polyhedra_, pieces = {}, []
        for place, (label, one) in enumerate(zip(labels, each, strict=True)):
            parts = [piece.polyhedron for piece in one.rule_.pieces]
            named = [Polyhedron(part.W, part.b, self._names) for part in parts]
            self.polyhedra_[label] = named if len(named) > 1 else named[0]
            pieces += [Piece(part, place) for part in named]
        links = [one.rule_.links[1] for one in each]
        self.rule_ = Rule(self.classes_, tuple(pieces), links=tuple(links))
        self.n_iter_ = max(one.n_iter_ for one in each)
        for name in ("n_hyperplanes_", "n_polyhedra_", "margin_", "penalty_", "sampled_"):
            values = [getattr(one, name) for one in each]
            setattr(self, name, dict(zip(labels, values, strict=True)))
        tables = [
            {"class": [label] * len(one.selection_["inside"])} | one.selection_
            for label, one in zip(labels, each, strict=True)
        ]
        self.selection_ = _joined(tables)
        if all("path_" in vars(one) for one in each):
            paths = zip(labels, (one.path_ for one in each), strict=True)
            self.path_ = _joined([{"class": [label] * len(p["inside"])} | p for label, p in paths])

    # --- after editing ------------------------------------------------------------------

    def refit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        locked: Any = None,
        rule: Rule | None = None,
    ) -> Polyceptron:
        """Return a learner like this one that keeps some faces, fitted to these rows.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`
        locked : list of int, default=None
            Faces that stay, as ``print(rule)`` numbers them, beside those that are locked, as given
            faces are.
        rule : Rule, default=None
            The rule that has them, such as ``rule_.edit().replace(...).rule``; None is `rule_`.

        Examples
        --------
        >>> from polyceptron import Polyceptron
        >>> from polyceptron.datasets import make_dataset1
        >>> X, y = make_dataset1(random_state=0, return_X_y=True)
        >>> model = Polyceptron(max_terms=2, n_polyhedra=1, random_state=0).fit(X, y)
        >>> rule = model.rule_.edit().replace(0, "x0 + x1 >= -5").rule
        >>> again = model.refit(X, y, locked=[0], rule=rule)
        >>> print(again.polyhedron_.to_text().splitlines()[0])
        x0 + x1 >= -5
        """
        rule = self.rule_ if rule is None else rule
        if len(rule.pieces) > 1:
            raise ValueError(
                f"refit keeps faces of one polyhedron, and the rule has {len(rule.pieces)}: fit "
                "with n_polyhedra=1, or give what is known as fixed_faces"
            )
        one, named = rule.pieces[0].polyhedron, [] if locked is None else locked
        if not np.isin(named, np.arange(one.n_faces)).all() or np.asarray(named).dtype == bool:
            raise ValueError(f"locked must be faces from 0 to {one.n_faces - 1}; got {locked!r}")
        kept = sorted({int(k) for k in np.ravel(named)} | {k for _, k in rule.locked})
        if not kept:
            raise ValueError("refit keeps faces that are locked, and none is: name them in locked")
        own = {"inside": rule.labels[rule.pieces[0].place], "n_polyhedra": 1}
        faces = np.column_stack([one.W, one.b])[kept]
        model: Polyceptron = clone(self).set_params(**own, fixed_faces=faces)
        model.fit(X, y, sample_weight)
        model.rule_ = replace(model.rule_, edits=rule.edits)
        return model

    # --- model files ------------------------------------------------------------------

    _Fitted = PolyceptronFitted
    _parameters_since: ClassVar[dict[str, Any]] = dict.fromkeys(("digits", "max_terms", *NAMES))

    def _plain_parameters(self) -> dict[str, Any]:
        """What is known as arrays, which a file can have."""
        names, d = self._names, self.n_features_in_
        given = {name: getattr(self, name) for name in NAMES}
        if len(self.classes_) == 2:
            return Knowledge.of(given, d, names).plain()
        each: dict[str, Any] = {}
        for label in self.classes_.tolist():
            own = {n: (given[n] or {}).get(label) for n in OF_THE_INSIDE}
            known = Knowledge.of(given | own, d, names).plain()
            each["features_of_faces"] = known["features_of_faces"]
            for name in OF_THE_INSIDE:
                if known[name] is not None:
                    each.setdefault(name, {})[label] = known[name]
        return {name: each.get(name) for name in NAMES}

    def _fitted(self) -> dict[str, Any]:
        each = getattr(self, "estimators_", None)
        if each is None:
            return {"fits": [self._fitted_class() | {"random_state": None}]}
        return {"fits": [one._fitted_class() | {"random_state": one.random_state} for one in each]}

    def _fitted_class(self) -> dict[str, Any]:
        labels = self.classes_.tolist()
        inside = [labels.index(label) for label in self.selection_["inside"]]
        own = {name: getattr(self, f"{name}_") for name in _CHOSEN}
        return own | {
            "exponent": self._exponent,
            "selection": self.selection_ | {"inside": inside},
        }

    def _restore(self, rule: Rule, fitted: Any) -> None:
        n = 1 if len(rule.classes) == 2 else len(rule.classes)
        if len(fitted.fits) != n:
            problem = f"must be an array of {n}; got {len(fitted.fits)}"
            raise ModelFileError(problem, f"{FITTED}.fits")
        if n == 1:
            self._restore_class(rule, fitted.fits[0], f"{FITTED}.fits[0]")
            self._check_restored(rule)
            return
        if {piece.place for piece in rule.pieces} != set(range(n)) or len(rule.links) != n:
            raise ModelFileError("must have a polyhedron for each class", "rule.pieces")
        self.estimators_ = []
        for place, (label, one) in enumerate(zip(rule.labels, fitted.fits, strict=True)):
            estimator = self._for_class(label, one.random_state)
            estimator.n_features_in_, estimator.classes_ = rule.n_features, np.array([False, True])
            parts = [piece.polyhedron for piece in rule.pieces if piece.place == place]
            own = [Polyhedron(part.W, part.b) for part in parts]
            of_class = Rule.inside(estimator.classes_, 1, *own, link=rule.links[place])
            estimator._restore_class(of_class, one, f"{FITTED}.fits[{place}]")
            self.estimators_.append(estimator)
        self._describe_each()
        self._check_restored(rule)

    def _restore_class(self, rule: Rule, fitted: ClassFitted, where: str) -> None:
        place, table = rule.pieces[0].place, msgspec.structs.asdict(fitted.selection)
        if len(set(map(len, table.values()))) > 1:
            raise ModelFileError("must have arrays of one length", f"{where}.selection")
        if not rule.links or rule.links[place] is None:
            raise ModelFileError("must give the class of each polyhedron a link", "rule.links")
        self._set_union([piece.polyhedron for piece in rule.pieces], place, rule.links[place])
        labels, self._exponent = self.classes_.tolist(), fitted.exponent
        for name in _CHOSEN:
            setattr(self, f"{name}_", getattr(fitted, name))
        self.selection_ = table | {"inside": [labels[place] for place in table["inside"]]}

    def _for_class(self, label: Any, random_state: int | None) -> Polyceptron:
        """The learner of one class against the rest, not fitted."""
        own: dict[str, Any] = {"inside": True, "class_weight": None, "checkpoint": None}
        own |= {name: (getattr(self, name) or {}).get(label) for name in OF_THE_INSIDE}
        return clone(self).set_params(**own, random_state=random_state)  # type: ignore[no-any-return]

    # --- parameters -----------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self._check_or_auto("n_hyperplanes", as_count, "'auto'")
        if self.margin is not None:
            self._check_or_auto("margin", as_real, "None or 'auto'")
        elif self.penalty is None or (self.sampled and not self._is_auto("sampled")):
            raise ValueError(
                "margin=None needs a penalty, and samples need online runs: with it penalty must "
                f"be a number or 'auto' and sampled False or 'auto'; got {self.penalty!r} and "
                f"{self.sampled!r}"
            )
        if self.penalty is not None:
            self._check_or_auto("penalty", as_real, "None or 'auto'")
        check_flag("sampled", self.sampled, "auto")
        self._check_or_auto("n_polyhedra", as_count, "'auto'")
        if not self._is_auto("n_polyhedra") and self.n_polyhedra != 1:
            for name in _OF_ONE:
                if not self._is_auto(name):
                    raise ValueError(
                        f"{name} is for one polyhedron: with n_polyhedra={self.n_polyhedra!r} it "
                        f"must be 'auto'; got {getattr(self, name)!r}"
                    )
        for name in ("max_faces", "n_init", "max_iter"):
            as_count(getattr(self, name), name)
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)
        check_flag("standardize", self.standardize)
        as_checkpoint(self.checkpoint)
        for name in ("digits", "max_terms"):
            if getattr(self, name) is not None:
                self._check_or_auto(name, as_count, "None or 'auto'")
        self._check_within()

    def _check_within(self) -> None:
        """Refuse parameters of other ways to learn, where terms are few or something is known."""
        names = [name for name in ("max_terms", *NAMES) if getattr(self, name) is not None]
        for other in ("margin", "sampled") if names else ():
            if not self._is_auto(other):
                raise ValueError(
                    f"{other} is for faces without limits: with {names[0]} it must be 'auto'; got "
                    f"{getattr(self, other)!r}"
                )
        if names and self.penalty is None:
            raise ValueError(f"with {names[0]}, penalty must be a number or 'auto'; got None")

    def _check_or_auto(self, name: str, check: Any, words: str) -> None:
        if not self._is_auto(name):
            try:
                check(getattr(self, name), name)
            except ValueError as error:
                raise ValueError(f"{error}; or {words}") from None
