"""What a learner had learned after each step, for pictures and studies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.utils import check_random_state

from polyceptron.data.training import TrainingData
from polyceptron.learners._iterated import IteratedClassifier
from polyceptron.optim import solver
from polyceptron.optim.planes import Planes
from polyceptron.polyhedron import Polyhedron


class _Recorder(solver.Callback):
    def __init__(self, learner: IteratedClassifier, planes: list[Planes]) -> None:
        self._learner, self._planes = learner, planes

    def on_step(self, run: int, iteration: int, state: Any, measures: dict[str, float]) -> None:
        del run, iteration, measures
        self._planes.append(self._learner._answer(state))


@dataclass(frozen=True)
class Trace:
    """The hyperplanes of a run: at its start, and after each iteration.

    Parameters
    ----------
    learner : IteratedClassifier
        A copy of the one that was given, with the columns of the rows.
    training : TrainingData
    state : State
        The first one.
    planes : list of Planes
        In the coordinates of learning; item 0 is the start.
    """

    learner: IteratedClassifier
    training: TrainingData
    state: Any
    planes: list[Planes]

    def polyhedron(self, iteration: int) -> Polyhedron:
        """The polyhedron after so many iterations, in the units of the rows."""
        return self.learner._polyhedron(self.training, self.planes[iteration])[0]

    @property
    def inside(self) -> Any:
        """The label inside."""
        return self.training.classes[self.training.inside]


def trace(learner: IteratedClassifier, X: Any, y: Any, max_iter: int | None = None) -> Trace:
    """Take the steps that `fit` takes from its first start, and keep what each led to.

    Parameters
    ----------
    learner : learner
        One that iterates. It is left as it is.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    max_iter : int, optional
        Most iterations, if these are fewer than the learner's own; 0 is the start alone.

    Returns
    -------
    Trace

    Examples
    --------
    >>> from polyceptron import BatchPolyceptron
    >>> from polyceptron.datasets import make_dataset1
    >>> from polyceptron.learners.trace import trace
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> found = trace(BatchPolyceptron(random_state=0), X, y, max_iter=20)
    >>> [float((found.polyhedron(n).contains(X) == (y > 0)).mean()) for n in (0, 20)]
    [0.505, 0.964]
    """
    one = clone(learner)
    one._check_parameters()
    training = one._training(one._source(X, y, None))
    seeds = one._seeds(check_random_state(one.random_state))
    state = next(one._starts(training, seeds[:1]))
    planes = [one._answer(state)]
    stopping = one._stopping()
    most = stopping.max_iter if max_iter is None else min(max_iter, stopping.max_iter)
    if most > 0:
        stopping = solver.Stopping(most, stopping.patience, stopping.at_least)
        solver.run_once(one, training.data, state, stopping, [_Recorder(one, planes)])
    return Trace(one, training, state, planes)
