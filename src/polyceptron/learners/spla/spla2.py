"""SPLA2: a polyhedron by logistic likelihood, as many hyperplanes as held-out rows ask for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from polyceptron import kernels
from polyceptron.data.blocks import ArrayBlocks
from polyceptron.data.source import Source
from polyceptron.data.training import TrainingData
from polyceptron.learners._held_out import hold_out
from polyceptron.learners._iterated import share_docs
from polyceptron.learners._parameters import check_seed
from polyceptron.learners.documents import Measure
from polyceptron.learners.spla import spla1
from polyceptron.learners.spla.spla1 import LogisticClassifier, LogisticState
from polyceptron.optim import solver
from polyceptron.optim.checkpoint import FitJournal
from polyceptron.optim.planes import Planes
from polyceptron.rule import Rule
from polyceptron.utils.checks import as_count, as_real
from polyceptron.utils.types import Floats

_SPREAD = 0.5
"""How far the halves of a split hyperplane go apart, in its own length."""


class SearchResult(NamedTuple):
    """Mean log-likelihoods with 1, 2, ... hyperplanes, those chosen, numbers not converged."""

    scores: list[float]
    theta: Floats
    unconverged: list[int]


class SearchFitted(spla1.LogisticFitted):
    """What a model file keeps of a search."""

    validation_scores: list[Measure]


@share_docs
@dataclass(eq=False, repr=False, kw_only=True)
class SPLA2(LogisticClassifier):
    """Learn a polyhedron by logistic likelihood, and how many hyperplanes it has.

    Some rows are held out. SPLA1 learns from the others with one hyperplane, with two, and
    so on, until the likelihood of the held-out rows has not risen for a while. The least
    number that is within one standard error of the best is taken, and all rows are learned
    with it. Besides random starts it has one from the hyperplanes of before, of which the one
    with the least likely rows is split in two (after Manwani & Sastry, *Learning Polyhedral
    Classifiers Using Logistic Function*, 2010; see docs/errata.md for what is ours).

    Parameters
    ----------
    max_hyperplanes : int, default=10
        The most hyperplanes to try. Where they are taken, more may be better still, and `fit`
        warns.
    n_hyperplanes_no_change : int, default=3
        How many numbers of hyperplanes in a row may be no better than the best so far before
        the search ends: a polyhedron of many faces is often no likelier with two or three of
        them than with one.
    validation_fraction : float, default=0.2
        Share of each class to hold out, by weight: at least one row, never all of them. Equal
        rows are held out together.
    C : float, default=3.0
        Inverse strength of the penalty, as for :class:`SPLA1`. It is less than there:
        hyperplanes that are too sure of themselves make the likelihood of held-out rows a
        poor guide.
    inner_steps, tol, max_iter : int, default=5, float, default=1e-3, and int, default=200
        As for :class:`SPLA1`. The runs of the search warn together once.
    n_init : int, default=5
        Random starts for each number of hyperplanes.
    random_state : int, RandomState or None, default=None
        Chooses the rows that are held out, and the starts.
    {parameters}

    Attributes
    ----------
    n_hyperplanes_ : int
        How many hyperplanes were taken.
    validation_scores_ : ndarray
        Mean log-likelihood of the held-out rows with 1, 2, ... hyperplanes. That of
        ``n_hyperplanes_`` is the first that is within a standard error of the greatest.
    coef_, intercept_ : ndarrays of shape (n_hyperplanes_, n_features) and (n_hyperplanes_,)
    objective_, log_likelihood_, history_ : float, float, and dict of str to ndarray
        As for :class:`SPLA1`, of the run on all rows.
    n_iter_ : int
        Iterations of the run on all rows that was kept.
    {attributes}

    See Also
    --------
    SPLA1 : For a number of hyperplanes that you know.

    Examples
    --------
    >>> from polyceptron import SPLA2
    >>> from polyceptron.datasets import make_dataset2
    >>> X, y = make_dataset2(random_state=0, return_X_y=True)
    >>> model = SPLA2(random_state=0).fit(X, y)
    >>> model.n_hyperplanes_
    4
    >>> model.score(X, y) > 0.9
    True
    """

    # What the base asks for, and no parameters here: one hyperplane is the least, and starts
    # are made for each number of them.
    n_hyperplanes: int = field(default=1, init=False)
    init: Any = field(default="random", init=False)
    warm_start: bool = field(default=False, init=False)

    max_hyperplanes: int = field(default=10, kw_only=False)
    n_hyperplanes_no_change: int = 3
    validation_fraction: float = 0.2
    C: float = 3.0

    def _learn(self, source: Source) -> Iterator[str]:
        training = TrainingData.of(source, **self._training_options(source))
        journal = self._journal(training)
        random = journal.random(check_seed(self.random_state))
        with journal.going_on():
            search = self._search(training, random, journal)
            run = self._run(training, search.theta, len(search.theta), random, "all rows", journal)
            self._publish(training, self._answer(run.state))
            self.n_hyperplanes_ = len(search.theta)
            self.validation_scores_ = np.array(search.scores)
            yield from self._report(run)
        yield from self._report_search(search)
        journal.finish()

    _Fitted = SearchFitted

    def _restore(self, rule: Rule, fitted: Any) -> None:
        super()._restore(rule, fitted)
        self.n_hyperplanes_ = len(self.intercept_)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_count(self.max_hyperplanes, "max_hyperplanes")
        as_count(self.n_hyperplanes_no_change, "n_hyperplanes_no_change")
        if as_real(self.validation_fraction, "validation_fraction", positive=True) >= 1:
            raise ValueError(
                f"validation_fraction must be less than 1, got {self.validation_fraction!r}"
            )

    def _search(
        self, training: TrainingData, random: np.random.RandomState, journal: FitJournal
    ) -> SearchResult:
        """Add hyperplanes until the held-out rows have not gained for a while."""
        data = training.arrays
        groups = _groups_of_equal_rows(data)
        held = self._held_out(data, groups, random)
        learned, held_out = _weighted(training, ~held), HeldOut.of(data, groups, held)
        most = min(self.max_hyperplanes, int((~held).sum()))
        found: list[tuple[Floats, Floats]] = []
        scores: list[float] = []
        unconverged: list[int] = []
        start: Floats | None = None
        for K in range(1, most + 1):
            run = self._run(learned, start, K, random, "search", journal)
            found.append((run.state.theta, held_out.log_likelihoods(run.state.planes)))
            scores.append(held_out.mean(found[-1][1]))
            if self.verbose:
                name = f"{type(self).__name__}, search, {_counted(K)}"
                print(f"{name}: held-out log-likelihood {scores[-1]:.6g} a row", flush=True)  # noqa: T201
            if not run.converged:
                unconverged.append(K)
            if K - 1 - int(np.argmax(scores)) == self.n_hyperplanes_no_change:
                break
            start = _split_hyperplane(learned, run.state, random)
        best = found[int(np.argmax(scores))][1]
        chosen = next(theta for theta, values in found if held_out.as_good(values, best))
        return SearchResult(scores, chosen, unconverged)

    def _run(
        self,
        training: TrainingData,
        start: Floats | None,
        K: int,
        random: np.random.RandomState,
        what: str,
        journal: FitJournal,
    ) -> solver.Run[LogisticState]:
        """SPLA1 with K hyperplanes, from this start and from random ones."""
        same = ("C", "inner_steps", "tol", "n_init", "standardize")
        learner = spla1.SPLA1(K, **{name: getattr(self, name) for name in same})
        seeds = learner._seeds(random)

        def starts() -> Iterator[LogisticState]:
            if start is not None:
                yield learner._at(training, start)
            for seed in seeds:
                yield learner._start(training, seed)

        name = f"{type(self).__name__}, {what}, {_counted(K)}"
        callbacks = [solver.PrintedProgress(name)] if self.verbose else []
        return solver.run(
            learner, training.data, starts(), self._stopping(), callbacks, journal, f"{what}, {K}"
        )

    def _report_search(self, search: SearchResult) -> Iterator[str]:
        """What to warn of where the search may have ended too early, or on runs cut short."""
        if 1 < self.max_hyperplanes == len(search.theta):
            yield (
                f"{type(self).__name__} found max_hyperplanes={self.max_hyperplanes} best; more "
                "may be better still. Raise max_hyperplanes."
            )
        if self.converged_ and search.unconverged:
            yield (
                f"{type(self).__name__} searched with runs that did not converge in "
                f"max_iter={self.max_iter} iterations (n_hyperplanes "
                f"{', '.join(map(str, search.unconverged))}). {self._advice}"
            )

    def _held_out(
        self, data: ArrayBlocks, groups: NDArray[np.intp], random: np.random.RandomState
    ) -> NDArray[np.bool_]:
        """Which rows are held out: the same share of both classes, equal rows together."""
        weight = _group_weights(data, groups)
        y = np.empty(len(weight), np.int64)
        y[groups] = data.y
        rng = np.random.default_rng(random.randint(2**31 - 1))
        held = hold_out(y, weight, float(self.validation_fraction), rng)
        for sign in (-1, 1):
            of_class = rng.permutation(np.flatnonzero(y == sign))
            if len(of_class) > 1 and not held[of_class].any():
                held[of_class[weight[of_class].argmin()]] = True
        if not held.any():
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} needs two rows of a class "
                f"to hold one out, got n_samples={data.n_samples}"
            )
        return np.asarray(held[groups])


def _counted(K: int) -> str:
    return f"{K} hyperplane{'s' if K > 1 else ''}"


def _groups_of_equal_rows(data: ArrayBlocks) -> NDArray[np.intp]:
    """The number of each row's group: equal rows of a class share one.

    Rows are told apart by a score in a fixed direction, which is the same for dense and sparse
    rows to the last bit. Where no class has different rows, each row is a group.
    """
    w = np.random.default_rng(0).standard_normal(data.n_features)
    planes, marks = Planes.of(w[None, :], np.zeros(1)), np.empty(data.n_samples)
    kernels.decide(data.X, planes.panel, planes.bias, marks)
    order = np.lexsort((marks, data.y))
    is_new = np.ones(data.n_samples, bool)
    is_new[1:] = (np.diff(marks[order]) != 0) | (np.diff(data.y[order]) != 0)
    if is_new.sum() == 2:
        is_new[:] = True
    groups = np.empty(data.n_samples, np.intp)
    groups[order] = np.cumsum(is_new) - 1
    return groups


def _group_weights(data: ArrayBlocks, groups: NDArray[np.intp]) -> Floats:
    """Weight of each group, but for a common factor."""
    weight = data.weights
    return np.bincount(groups, weight / weight.max()).astype(float)


class HeldOut(NamedTuple):
    """The held-out rows, one of each group, and the weights of the groups."""

    data: ArrayBlocks
    rows: NDArray[np.intp]
    weight: Floats

    @classmethod
    def of(cls, data: ArrayBlocks, groups: NDArray[np.intp], held: NDArray[np.bool_]) -> HeldOut:
        which, first = np.unique(groups[held], return_index=True)
        return cls(data, np.flatnonzero(held)[first], _group_weights(data, groups)[which])

    def log_likelihoods(self, planes: Planes) -> Floats:
        h = np.empty(self.data.n_samples)
        kernels.decide(self.data.X, planes.panel, planes.bias, h)
        return np.asarray(log_expit(self.data.y[self.rows] * h[self.rows]))

    def mean(self, values: Floats) -> float:
        return float(self.weight @ values / self.weight.sum())

    def as_good(self, values: Floats, best: Floats) -> bool:
        """Whether the means differ by no more than the standard error of their difference."""
        with np.errstate(invalid="ignore"):  # infinities, of rows far away
            gain = best - values
            error = np.linalg.norm(self.weight * (gain - self.mean(gain))) / self.weight.sum()
            return bool(values is best or self.mean(gain) <= error)


def _weighted(training: TrainingData, rows: NDArray[np.bool_]) -> TrainingData:
    """The data with these rows only: the others weigh nothing."""
    data = training.arrays
    return replace(training, data=data.like(None, data.y, data.weights * rows))


def _split_hyperplane(
    training: TrainingData, state: LogisticState, random: np.random.RandomState
) -> Floats:
    """One hyperplane more: that of the least likely set goes two ways, in a random direction."""
    totals, _ = spla1.share_out(training.data, state.planes)
    worst = int(totals[:, 0].argmin())
    half = state.theta[worst]
    apart = random.standard_normal(half.shape) * (_SPREAD * float(np.linalg.norm(half)))
    theta = np.vstack([state.theta, half - apart])
    theta[worst] = half + apart
    return theta
