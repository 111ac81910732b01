"""What a learner had learned after each step, for pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from polyceptron.data.training import TrainingData
from polyceptron.data.visits import visits
from polyceptron.learners._iterated import IteratedClassifier
from polyceptron.learners.online import OnlinePolyceptron
from polyceptron.optim import solver
from polyceptron.polyhedron import Polyhedron

_MOST_STEPS = 2000
_MOST_PASSES = 10


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
    learner : any but Polyceptron and OC1, which do not move hyperplanes step by step
    X : array-like or data frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    n_frames : int
        The most frames returned.

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
            "learner must be one that moves hyperplanes step by step, such as BatchPolyceptron, "
            f"got {type(learner).__name__}"
        )
    one, training, state = first_start(learner, X, y)
    inside = training.classes[training.inside]
    is_online = isinstance(one, OnlinePolyceptron)
    states, planes, stopping = [state], [one._answer(state)], one._stopping()

    class Recorder(solver.Callback):
        def on_step(self, run: int, iteration: int, state: Any, measures: Any) -> None:
            del run, iteration, measures
            states.append(state if is_online else None)  # what others know of rows may be large
            planes.append(one._answer(state))

    most = _MOST_PASSES if is_online else _MOST_STEPS
    stopping = replace(stopping, max_iter=min(most, stopping.max_iter))
    solver.run(one, training.data, [state], stopping, [Recorder()])
    n, unit = (training.data.n_samples, "row") if is_online else (1, "iteration")
    frames = []
    for number in _closer_first(n * (len(states) - 1), n_frames):
        n_passes, n_rows = divmod(number, n)
        now = planes[n_passes]
        if n_rows:
            now = _within_pass(one, training, states[n_passes], n_rows)
        polyhedron = one._polyhedra(training, [now.rows()])[0][0]
        after = f"after {number} {unit}{'s' * (number != 1)}" if number else "at the start"
        frames.append(Frame(polyhedron, after))
    return frames, inside


def _within_pass(one: OnlinePolyceptron, training: TrainingData, state: Any, n_rows: int) -> Any:
    """The answer after so many rows of the pass from this state: most happens in the first."""
    order = next(visits(training.data, state.order))[-1] if one.shuffle else np.arange(n_rows)
    return one._pass(training.arrays.take(order[:n_rows]), state, shuffle=False)[0].answer


def first_start(learner: IteratedClassifier, X: Any, y: Any) -> tuple[Any, TrainingData, Any]:
    """A copy of the learner with the columns of these rows, the rows, and where `fit` starts."""
    one = clone(learner)
    one._check_parameters()
    source = one._source(X, y, None)
    training = TrainingData.of(source, **one._training_options(source))
    seeds = one._seeds(check_random_state(one.random_state))
    return one, training, next(one._starts(training, seeds[:1]))


def _closer_first(last: int, most: int) -> list[int]:
    """Return at most `most` whole numbers from 0 to `last`, ever farther apart."""
    if last < most:
        return list(range(last + 1))
    later = np.unique(np.geomspace(1, last, most - 1).round().astype(int))
    # Where the first ones were rounded to the same, there are others.
    others = np.setdiff1d(np.arange(1, last), later)[: most - 1 - len(later)]
    return [0, *sorted([*later.tolist(), *others.tolist()])]
