"""Learners that iterate: a run is a loop of steps, and the best of several starts is kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from polyceptron.data.blocks import Blocks
from polyceptron.data.source import Source
from polyceptron.data.training import TrainingData
from polyceptron.learners._base import PolyhedralClassifier, PolyhedronFitted
from polyceptron.learners._parameters import (
    check_flag,
    check_init,
    check_n_jobs,
    check_seed,
    check_verbose,
)
from polyceptron.learners.documents import Count, History
from polyceptron.optim import solver
from polyceptron.optim.checkpoint import StateArrays, as_checkpoint
from polyceptron.optim.planes import Planes
from polyceptron.utils.checks import as_count


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

    def _learn(self, source: Source) -> Iterator[str]:
        training = self._training(source)
        journal = self._journal(training)
        seeds = self._seeds(journal.random(check_seed(self.random_state)))
        run = solver.run(
            self,
            training.data,
            self._starts(training, seeds),
            self._stopping(),
            [solver.PrintedProgress(type(self).__name__)] if self.verbose else [],
            journal,
        )
        self._publish(training, self._answer(run.state))
        self._keep(run.state)
        yield from self._report(run)
        journal.finish()

    def _pack(self, state: Any) -> StateArrays | None:
        """A state as arrays; None if a run cannot go on from it."""
        del state
        return None

    def _unpack(self, data: Blocks, record: StateArrays) -> Any:
        """The state that was packed."""
        raise NotImplementedError

    def _pack_end(self, state: Any) -> StateArrays | None:
        """The state at the end of a run as arrays."""
        return self._pack(state)

    def _unpack_end(self, data: Blocks, record: StateArrays) -> Any:
        """The state at the end of a run."""
        return self._unpack(data, record)

    # --- what a learner adds ------------------------------------------------------------

    def _check_parameters(self) -> None:
        as_count(self.n_hyperplanes, "n_hyperplanes")
        as_count(self.max_iter, "max_iter")
        as_count(self.n_init, "n_init")
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)
        check_flag("standardize", self.standardize)
        check_flag("warm_start", self.warm_start)
        as_checkpoint(self.checkpoint)

    @abstractmethod
    def _stopping(self) -> solver.Stopping: ...
    @abstractmethod
    def _start(self, training: TrainingData, seed: int) -> Any: ...
    @abstractmethod
    def _step(self, data: Blocks, state: Any) -> solver.Step[Any]: ...
    @abstractmethod
    def _rank(self, data: Blocks, state: Any) -> solver.Rank: ...
    @abstractmethod
    def _answer(self, state: Any) -> Planes: ...

    def _keep(self, state: Any) -> None:
        """Keep what a later call goes on from; nothing by default."""

    # --- where a run starts, and how it ended ------------------------------------------

    def _starts(self, training: TrainingData, seeds: list[int]) -> Iterator[Any]:
        """The states to start from, each made when it is its turn."""
        return (self._start(training, seed) for seed in seeds)

    def _first_planes(self, training: TrainingData, seed: int) -> Planes:
        """Where a run starts, in the coordinates of learning."""
        K, d, coordinates = self.n_hyperplanes, training.data.n_features, training.coordinates
        given = check_init(self.init, (K, d + 1))
        if self._is_warm:
            self._check_warm_start(training)
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

    @property
    def _is_warm(self) -> bool:
        """Whether to start from the hyperplanes of a fit before."""
        return self.warm_start and hasattr(self, "polyhedron_")

    def _check_warm_start(self, training: TrainingData) -> None:
        before = (*self.coef_.shape, self.classes_.tolist(), self._inside)
        d, labels = training.data.n_features, training.classes.tolist()
        now = (self.n_hyperplanes, d, labels, training.inside)
        if before != now:
            raise ValueError(
                "warm_start=True needs the same n_hyperplanes, features, labels and class inside "
                f"as before: had {before}, now {now}"
            )

    def _seeds(self, random: np.random.RandomState) -> list[int]:
        """One seed for each start; a given start needs only one."""
        n_init = self.n_init if isinstance(self.init, str) and not self._is_warm else 1
        return [int(seed) for seed in random.randint(0, 2**31 - 1, size=n_init)]

    def _report(self, run: solver.Run[Any]) -> Iterator[str]:
        """Set the fitted attributes that describe the run; what to warn of if it was cut short."""
        self.n_iter_ = run.n_iter
        self.converged_ = run.converged
        self.history_ = run.history
        if not run.converged:
            yield (
                f"{type(self).__name__} did not converge in max_iter={self.max_iter} "
                f"iterations; it ends with {self._kept}. {self._advice}"
            )
