"""What a learner had learned after each step, for pictures and studies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from polyceptron.data.training import TrainingData
from polyceptron.learners._iterated import IteratedClassifier
from polyceptron.learners.online import OnlinePolyceptron
from polyceptron.optim import solver
from polyceptron.optim.planes import Planes
from polyceptron.polyhedron import Polyhedron
from polyceptron.scoring import as_rows

_MOST_STEPS = 2000
_MOST_PASSES = 10


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


class Frame(NamedTuple):
    """What a learner had learned at some time, and when that was."""

    polyhedron: Polyhedron
    when: str


def learning_frames(learner: Any, X: Any, y: Any, n_frames: int) -> tuple[list[Frame], Any]:
    """Learn anew from the first start, and return some polyhedra on the way and the label inside.

    Frames are closer at the beginning, where most happens: the online learner is looked at while
    it takes rows (up to ten passes), the others after iterations. The learner is left as it is.

    Parameters
    ----------
    learner : BatchPolyceptron, OnlinePolyceptron, SPLA1, SPLA2 or PCSLP
    X : array-like or data frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    n_frames : int
        The most frames returned.

    Returns
    -------
    frames : list of Frame
    inside : label

    Examples
    --------
    >>> from polyceptron import BatchPolyceptron
    >>> from polyceptron.learners.trace import learning_frames
    >>> rows = [[0.0], [1.0], [3.0]]
    >>> frames, inside = learning_frames(BatchPolyceptron(1), rows, ["no", "no", "yes"], 5)
    >>> frames[0].when, str(inside)
    ('at the start', 'yes')
    """
    if not isinstance(learner, IteratedClassifier):
        raise ValueError(
            "learner must be one that moves hyperplanes step by step (BatchPolyceptron, "
            f"OnlinePolyceptron, SPLA1, SPLA2 or PCSLP), got {type(learner).__name__}"
        )
    if isinstance(learner, OnlinePolyceptron):
        found = trace(learner, X, y, 0)
        return _frames_of_rows(found, X, np.asarray(y), n_frames), found.inside
    found = trace(learner, X, y, _MOST_STEPS)
    chosen = _closer_first(len(found.planes) - 1, n_frames)
    return [Frame(found.polyhedron(n), _after(n, "iteration")) for n in chosen], found.inside


def _frames_of_rows(found: Trace, X: Any, y: Any, n_frames: int) -> list[Frame]:
    """Take rows in a random order, and look before a pass is over: most happens in the first."""
    one: Any = found.learner
    one._publish(found.training, found.planes[0])
    one._state, one.n_iter_ = found.state, 0
    first = one.polyhedron_
    rows = as_rows(X, first.n_features)
    vars(one).pop("feature_names_in_", None)  # parts of the rows have no names
    n, n_passes = rows.shape[0], min(_MOST_PASSES, one.max_iter)
    random = np.random.default_rng(found.state.seed)
    orders = [random.permutation(n) if one.shuffle else np.arange(n) for _ in range(n_passes)]
    order = np.concatenate(orders)
    frames, seen = [Frame(first, _after(0, "row"))], 0
    for n_rows in _closer_first(len(order), n_frames)[1:]:
        some = order[seen:n_rows]
        one.partial_fit(rows[some], y[some])
        now = Polyhedron(one.coef_, one.intercept_, first.feature_names)
        frames.append(Frame(now, _after(n_rows, "row")))
        seen = n_rows
        if n_rows >= n and np.array_equal(now.contains(rows), y == one.inside_):
            break
    return frames


def _after(n: int, unit: str) -> str:
    return f"after {n} {unit}{'s' * (n != 1)}" if n else "at the start"


def _closer_first(last: int, most: int) -> list[int]:
    """Return at most `most` whole numbers from 0 to `last`, ever farther apart."""
    if last < most:
        return list(range(last + 1))
    later = np.unique(np.geomspace(1, last, most - 1).round().astype(int))
    while len(later) < most - 1:  # the first ones were rounded to the same
        missing = np.setdiff1d(np.arange(1, last), later)
        later = np.sort(np.append(later, missing[: most - 1 - len(later)]))
    return [0, *later.tolist()]
