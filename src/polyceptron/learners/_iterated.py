"""Learners that iterate: a run is a loop of steps, and the best of several starts is kept."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from polyceptron.data.blocks import Blocks
from polyceptron.learners._base import PolyhedralClassifier, PolyhedronFitted, Problem
from polyceptron.learners._parameters import (
    check_flag,
    check_init,
    check_n_jobs,
    check_seed,
    check_verbose,
    check_whole,
)
from polyceptron.learners.documents import Count, History
from polyceptron.optim import solver
from polyceptron.optim.checkpoint import Record, as_checkpoint
from polyceptron.optim.planes import Planes


class RunFitted(PolyhedronFitted):
    """What a model file keeps of a run."""

    n_iter: Count
    converged: bool
    history: History


class IteratedClassifier(PolyhedralClassifier):
    """Base of the learners that `polyceptron.optim.solver` runs.

    A learner says where a run starts (``_start``), what a step is (``_step``), how good a
    state is (``_rank``), when to stop (``_stopping``) and which hyperplanes a state stands
    for (``_answer``).
    """

    # Parameters that every such learner has besides; the learners' __init__ set them.
    init: Any
    n_init: int
    warm_start: bool
    max_iter: int

    _Fitted: ClassVar[Any] = RunFitted

    @property
    def _kept(self) -> str:
        """What a run that did not converge ends with."""
        return "the best hyperplanes seen"

    def _conclude(self, data: Blocks, best: Any, last: Any) -> Any:
        """What a run ends with that is not finished, from its best state and its last."""
        del data, last
        return best

    @property
    def _advice(self) -> str:
        """What to change where a run did not converge."""
        return "Raise max_iter."

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
            self._learn(self._problem(X, y, sample_weight))
        return self

    def _learn(self, problem: Problem) -> None:
        """Learn from these rows, wherever they are."""
        label = problem.classes.tolist()[problem.inside]
        journal = self._journal(problem.data, label, problem.coordinates)
        seeds = self._seeds(journal.random(check_seed(self.random_state)))
        run = solver.run(
            self,
            problem.data,
            (self._start(problem, seed) for seed in seeds),
            self._stopping(),
            solver.Progress(self.verbose, type(self).__name__),
            journal,
        )
        self._publish(problem, self._answer(run.state))
        self._keep(run.state)
        self._report(run)
        journal.finish()

    def _pack(self, state: Any) -> Record | None:
        """A state as arrays; None if a run cannot go on from it."""
        del state
        return None

    def _unpack(self, data: Blocks, record: Record) -> Any:
        """The state that was packed."""
        raise NotImplementedError

    def _pack_end(self, state: Any) -> Record | None:
        """The state at the end of a run as arrays."""
        return self._pack(state)

    def _unpack_end(self, data: Blocks, record: Record) -> Any:
        """The state at the end of a run."""
        return self._unpack(data, record)

    # --- what a learner adds ------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_whole("n_hyperplanes", self.n_hyperplanes)
        check_whole("max_iter", self.max_iter)
        check_whole("n_init", self.n_init)
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)
        check_flag("standardize", self.standardize)
        check_flag("warm_start", self.warm_start)
        as_checkpoint(self.checkpoint)

    @abstractmethod
    def _stopping(self) -> solver.Stopping: ...
    @abstractmethod
    def _start(self, problem: Problem, seed: int) -> Any: ...
    @abstractmethod
    def _step(self, data: Blocks, state: Any) -> solver.Step[Any]: ...
    @abstractmethod
    def _rank(self, data: Blocks, state: Any) -> solver.Rank: ...
    @abstractmethod
    def _answer(self, state: Any) -> Planes: ...

    def _keep(self, state: Any) -> None:
        """Keep what a later call goes on from; nothing by default."""

    # --- where a run starts, and how it ended ------------------------------------------

    def _first_planes(self, problem: Problem, seed: int) -> Planes:
        """Where a run starts, in the coordinates of learning."""
        K, d, coordinates = self.n_hyperplanes, problem.data.n_features, problem.coordinates
        given = check_init(self.init, (K, d + 1))
        if self.warm_start and hasattr(self, "polyhedron_"):
            self._check_warm_start(problem)
            start = coordinates.from_user(self.coef_, self.intercept_, self._exponent)
        elif given is not None:
            start = coordinates.from_user(given[:, :-1], given[:, -1])
        elif K == 1:  # no symmetry to break: the perceptron's own start
            start = np.zeros((1, d)), np.zeros(1)
        else:
            W = np.random.default_rng(seed).standard_normal((K, d))
            start = W * coordinates.bias_unit, np.zeros(K)
        if not all(np.isfinite(part).all() for part in start):
            name = "init" if given is not None else "warm_start=True"
            raise ValueError(f"{name}: that start is beyond the range of numbers on these columns")
        return Planes.of(*start)

    def _check_warm_start(self, problem: Problem) -> None:
        before = (*self.coef_.shape, self.classes_.tolist(), self._inside)
        now = (
            self.n_hyperplanes,
            problem.data.n_features,
            problem.classes.tolist(),
            problem.inside,
        )
        if before != now:
            raise ValueError(
                "warm_start=True needs the same n_hyperplanes, features, labels and class inside "
                f"as before: had {before}, now {now}"
            )

    def _seeds(self, random: np.random.RandomState) -> list[int]:
        """One seed for each start; a given start needs only one."""
        given = not isinstance(self.init, str) or (self.warm_start and hasattr(self, "polyhedron_"))
        n_init = 1 if given else self.n_init
        return [int(seed) for seed in random.randint(0, 2**31 - 1, size=n_init)]

    def _report(self, run: solver.Run[Any], deeper: int = 0) -> None:
        """Set the fitted attributes that describe the run, and warn if it was cut short."""
        self.n_iter_ = run.n_iter
        self.converged_ = run.converged
        self.history_ = run.history
        if not run.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in max_iter={self.max_iter} "
                f"iterations; it ends with {self._kept}. {self._advice}",
                ConvergenceWarning,
                stacklevel=4 + deeper,
            )
