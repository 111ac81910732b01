"""SPLA2: a polyhedron by logistic likelihood, as many hyperplanes as held-out rows ask for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from polyceptron import likelihood, solve
from polyceptron._types import Floats
from polyceptron.blocks import ArrayBlocks
from polyceptron.learners._base import Problem
from polyceptron.learners._parameters import check_real, check_whole
from polyceptron.learners.spla1 import SPLA1, LogisticClassifier, LogisticState

_SPREAD = 0.5
"""How far the halves of a split hyperplane go apart, in its own length."""


class SPLA2(LogisticClassifier):
    """Learn a polyhedron by logistic likelihood, and how many hyperplanes it has.

    Some rows are held out. SPLA1 learns from the others with one hyperplane, with two, and
    so on, until the likelihood of the held-out rows stops rising; then it learns from all
    rows with the best number so far. Besides random starts it has one from the hyperplanes
    of before, of which the one with the least likely rows is split in two (after Manwani &
    Sastry, *Learning Polyhedral Classifiers Using Logistic Function*, 2010; see
    docs/errata.md for what is ours).

    Parameters
    ----------
    max_hyperplanes : int, default=10
        The most hyperplanes to try.
    validation_fraction : float, default=0.2
        Share of the rows of each class to hold out: at least one, never all of them.
    C : float, default=3.0
        Inverse strength of the penalty, as for :class:`SPLA1`. It is less than there:
        hyperplanes that are too sure of themselves make the likelihood of held-out rows a
        poor guide.
    inner_steps : int, default=5
        L-BFGS steps before the rows are shared out anew.
    tol : float, default=1e-3
        Stop when sharing out and stepping raised the log-likelihood by no more than this
        part of it.
    max_iter : int, default=200
        Most times that the rows of one start are shared out.
    n_init : int, default=5
        Random starts for each number of hyperplanes.
    standardize : bool, default=True
        Learn on columns of zero mean and unit spread (sparse columns are only scaled).
        The answer is in the units of X all the same.
    inside : label, default=None
        The class inside the polyhedron; the greater label if None.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    random_state : int, RandomState or None, default=None
        Chooses the rows that are held out, and the starts.
    n_jobs : int or None, default=None
        Threads for the many rows of large data; None is all cores. The result does not
        depend on it.
    verbose : int, default=0
        Print progress.

    Attributes
    ----------
    n_hyperplanes_ : int
        How many hyperplanes were found best.
    validation_scores_ : ndarray
        Mean log-likelihood of the held-out rows with 1, 2, ... hyperplanes; the greatest is
        that of ``n_hyperplanes_``.
    polyhedron_ : Polyhedron
        The learned set, in the units and with the column names of X.
    coef_ : ndarray of shape (n_hyperplanes_, n_features)
    intercept_ : ndarray of shape (n_hyperplanes_,)
    classes_ : ndarray of shape (2,)
    inside_ : label
        The class inside.
    log_likelihood_ : float
        What was maximised at last: the weighted log-likelihood of all rows, less the
        penalty.
    n_iter_ : int
        Iterations of the run on all rows that was kept.
    converged_ : bool
        Whether that run ended by its stopping rule, not by `max_iter`.
    history_ : dict of str to ndarray of shape (n_iter_,)
        "log_likelihood", which never falls, and "mistakes" after each iteration of that
        run.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    See Also
    --------
    SPLA1 : For a number of hyperplanes that you know.

    Examples
    --------
    >>> from polyceptron import SPLA2
    >>> from polyceptron.datasets import make_dataset2
    >>> X, y = make_dataset2(random_state=0, return_X_y=True)
    >>> model = SPLA2(random_state=1).fit(X, y)
    >>> model.n_hyperplanes_
    4
    >>> model.score(X, y) > 0.9
    True
    """

    # What the base asks for at the door, and no parameters here: one hyperplane is the least,
    # and starts are made for each number of them.
    n_hyperplanes = 1
    init = "random"
    warm_start = False

    def __init__(
        self,
        max_hyperplanes: int = 10,
        *,
        validation_fraction: float = 0.2,
        C: float = 3.0,
        inner_steps: int = 5,
        tol: float = 1e-3,
        max_iter: int = 200,
        n_init: int = 5,
        standardize: bool = True,
        inside: Any = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_hyperplanes = max_hyperplanes
        self.validation_fraction = validation_fraction
        self.C = C
        self.inner_steps = inner_steps
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.standardize = standardize
        self.inside = inside
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the polyhedron of the inside class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative. A row of weight 0 is no row.

        Returns
        -------
        self : object
            The fitted estimator. If anything goes wrong it is left as it was.
        """
        self._check_parameters()
        with self._all_or_nothing():
            problem = self._problem(X, y, sample_weight)
            random = check_random_state(self.random_state)
            scores, theta = self._search(problem, random)
            run = self._run(problem, len(theta), random, theta)
            self._publish(problem, self._answer(run.state))
            self._keep(run.state)
            self.n_hyperplanes_ = len(theta)
            self.validation_scores_ = np.array(scores)
            self._report(run)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("max_hyperplanes", self.max_hyperplanes)
        if check_real("validation_fraction", self.validation_fraction, positive=True) >= 1:
            raise ValueError(
                f"validation_fraction must be less than 1, got {self.validation_fraction!r}"
            )

    def _search(
        self, problem: Problem, random: np.random.RandomState
    ) -> tuple[list[float], Floats]:
        """Add hyperplanes while the held-out rows gain: all scores, and the best hyperplanes."""
        held = self._held_out(problem.data.y, random)
        learned, others = _weighted(problem, ~held), _weighted(problem, held).data
        most = min(self.max_hyperplanes, int((~held).sum()))
        scores: list[float] = []
        start: Floats | None = None
        best = np.empty((0, 0))
        for K in range(1, most + 1):
            state = self._run(learned, K, random, start).state
            totals, _ = likelihood.share_out(others, state.planes)
            scores.append(totals.log_likelihood / float(others.weight.sum()))
            if K > 1 and scores[-1] <= scores[-2]:
                break
            best, start = state.theta, _split(learned, state, random)
        return scores, best

    def _run(
        self, problem: Problem, K: int, random: np.random.RandomState, start: Floats | None
    ) -> solve.Run[LogisticState]:
        """SPLA1 with K hyperplanes, from this start and from random ones."""
        learner = SPLA1(
            K,
            C=self.C,
            inner_steps=self.inner_steps,
            tol=self.tol,
            n_init=self.n_init,
            standardize=self.standardize,
            random_state=random,
        )

        def starts() -> Iterator[LogisticState]:
            if start is not None:
                yield learner._at(problem, start)
            for seed in learner._seeds():
                yield learner._start(problem, seed)

        progress = solve.Progress(self.verbose, f"{type(self).__name__} ({K} hyperplanes)")
        return solve.run(learner, problem.data, starts(), self._stopping(), progress)

    def _held_out(self, y: NDArray[np.int8], random: np.random.RandomState) -> NDArray[np.bool_]:
        """Which rows are held out: the same share of both classes."""
        held = np.zeros(len(y), bool)
        for sign in (-1, 1):
            rows = np.flatnonzero(y == sign)
            n_held = min(max(1, round(self.validation_fraction * len(rows))), len(rows) - 1)
            held[random.permutation(rows)[:n_held]] = True
        if not held.any():
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} needs two rows of a class "
                f"to hold one out, got n_samples={len(y)}"
            )
        return held


def _weighted(problem: Problem, rows: NDArray[np.bool_]) -> Problem:
    """The problem with these rows only: the others weigh nothing."""
    data = problem.data
    weight = data.weight if data.weight.size else np.ones(data.n_samples)
    part = ArrayBlocks(data.X, data.y, weight * rows, data.n_features, n_threads=data.n_threads)
    return replace(problem, data=part)


def _split(problem: Problem, state: LogisticState, random: np.random.RandomState) -> Floats:
    """One hyperplane more: that of the least likely set goes two ways, in a random direction."""
    totals, _ = likelihood.share_out(problem.data, state.planes)
    worst = int(totals.by_set[:, 0].argmin())
    half = state.theta[worst]
    apart = random.standard_normal(half.shape) * (_SPREAD * float(np.linalg.norm(half)))
    theta = np.vstack([state.theta, half - apart])
    theta[worst] = half + apart
    return theta
