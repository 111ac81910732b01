"""Learners that iterate: a run is a loop of steps, and the best of several starts is kept."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from inspect import cleandoc, signature
from typing import Any, ClassVar

import numpy as np

from polyceptron.data.blocks import Blocks
from polyceptron.data.source import Source
from polyceptron.data.training import TrainingData
from polyceptron.learners import _parameters
from polyceptron.learners._base import PolyhedralClassifier, PolyhedronFitted
from polyceptron.learners.documents import Count, History
from polyceptron.learners.registry import Learner
from polyceptron.optim import solver
from polyceptron.optim.checkpoint import StateArrays, as_checkpoint
from polyceptron.optim.planes import Planes
from polyceptron.utils.checks import as_count

_DOCS = {
    "parameters": """
        n_hyperplanes : int, default=3
            K, the number of inequalities.
        init : "random" or array-like of shape (n_hyperplanes, n_features + 1), default="random"
            Where to start: Gaussian weights with zero biases (all zero for one hyperplane),
            or rows [w_k, b_k] in the units of X.
        n_init : int, default=3
            Random starts. The one with the fewest mistakes on the training rows is kept.
        standardize : bool, default=True
            Learn on columns of zero mean and unit spread (sparse columns are only scaled).
        inside : label, default=None
            The class inside the polyhedron; the greater label if None.
        class_weight : dict, "balanced" or None, default=None
            Weights of the classes, as in scikit-learn.
        warm_start : bool, default=False
            Start `fit` from the previous fit's hyperplanes.
        random_state : int, RandomState or None, default=None
        n_jobs : int or None, default=None
            Threads for large data; -1 is all cores. None is one, unless
            `joblib.parallel_config` says otherwise. The result does not depend on it.
        verbose : int, default=0
            Print progress.
        checkpoint : path, Checkpoint or None, default=None
            A file that a fit which was killed goes on from: see `Checkpoint`.""",
    "attributes": """
        polyhedron_ : Polyhedron
            The learned set, in the units and with the column names of X.
        coef_, intercept_ : ndarrays of shape (n_hyperplanes, n_features) and (n_hyperplanes,)
        classes_, inside_ : ndarray of shape (2,), and the label inside
        n_iter_ : int
            Iterations of the run that was kept.
        converged_ : bool
            Whether that run ended by its stopping rule, not by `max_iter`.
        verdict_ : Verdict
            How well the rows learned from are answered; see `polyceptron.explain.verdict`.
        n_features_in_, feature_names_in_ : int, ndarray of shape (n_features_in_,)""",
}


def share_docs(learner: Learner) -> Learner:
    """Put into a docstring, for {parameters} and {attributes}, what it does not say itself."""
    doc, there = cleandoc(learner.__doc__ or ""), signature(learner).parameters
    for section, shared in _DOCS.items():
        entries = re.split(r"\n(?=\S)", cleandoc(shared))
        if section == "parameters":
            entries = [entry for entry in entries if entry.partition(" :")[0] in there]
        missing = [entry for entry in entries if f"\n{entry.partition(' :')[0]} :" not in doc]
        doc = doc.replace(f"{{{section}}}", "\n".join(missing))
    learner.__doc__ = doc
    return learner


class RunFitted(PolyhedronFitted):
    """What a model file keeps of a run."""

    n_iter: Count
    converged: bool
    history: History


@dataclass(eq=False, repr=False, kw_only=True)
class IteratedClassifier(PolyhedralClassifier):
    """Base of the learners that `polyceptron.optim.solver` runs, with the parameters of all.

    A learner says where a run starts (``_start``), what a step is (``_step``), how good a
    state is (``_rank``), when to stop (``_stopping``) and which hyperplanes a state stands
    for (``_answer``).
    """

    n_hyperplanes: int = field(default=3, kw_only=False)
    max_iter: int = 100
    init: Any = "random"
    n_init: int = 3
    standardize: bool = True
    inside: Any = None
    class_weight: Any = None
    warm_start: bool = False
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    _Fitted: ClassVar[Any] = RunFitted
    _packs_steps: ClassVar[bool] = True
    """Whether a run goes on from its middle; if not, only those at their end are packed."""
    _grows: ClassVar[frozenset[str]] = frozenset()
    """Arrays of a packed state that may have more rows than at the start."""

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
        training = TrainingData.of(source, **self._training_options(source))
        journal = self._journal(training)
        seeds = self._seeds(journal.random(_parameters.check_seed(self.random_state)))
        with journal.going_on():
            run = solver.run(
                self,
                training.data,
                self._starts(training, seeds),
                self._stopping(),
                [solver.PrintedProgress(type(self).__name__)] if self.verbose else [],
                journal,
            )
            self._publish(training, self._answer(run.state))
            yield from self._report(run)
        journal.finish()

    def _pack(self, state: Any) -> StateArrays | None:
        """A state as arrays; None if no run can go on from any."""
        del state
        return None

    def _unpack(self, data: Blocks, record: StateArrays) -> Any:
        """The state that was packed."""
        raise NotImplementedError

    # --- what a learner adds ------------------------------------------------------------

    def _check_parameters(self) -> None:
        as_count(self.n_hyperplanes, "n_hyperplanes")
        as_count(self.max_iter, "max_iter")
        as_count(self.n_init, "n_init")
        _parameters.check_n_jobs(self.n_jobs)
        _parameters.check_verbose(self.verbose)
        _parameters.check_flag("standardize", self.standardize)
        _parameters.check_flag("warm_start", self.warm_start)
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

    # --- where a run starts, and how it ended ------------------------------------------

    def _starts(self, training: TrainingData, seeds: list[int]) -> Iterator[Any]:
        """The states to start from, each made when it is its turn."""
        return (self._start(training, seed) for seed in seeds)

    def _first_planes(self, training: TrainingData, seed: int) -> Planes:
        """Where a run starts, in the coordinates of learning."""
        K, d, coordinates = self.n_hyperplanes, training.data.n_features, training.coordinates
        given = _parameters.check_init(self.init, (K, d + 1))
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
