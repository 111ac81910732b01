"""What a learner had learned after each step, for pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from polyceptron.data.training import TrainingData
from polyceptron.learners._iterated import IteratedClassifier
from polyceptron.learners.online import OnlinePolyceptron
from polyceptron.optim import solver
from polyceptron.polyhedron import Polyhedron
from polyceptron.scoring import as_rows

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
    learner : BatchPolyceptron, OnlinePolyceptron, SPLA1, SPLA2 or PCSLP
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
            "learner must be one that moves hyperplanes step by step (BatchPolyceptron, "
            f"OnlinePolyceptron, SPLA1, SPLA2 or PCSLP), got {type(learner).__name__}"
        )
    one, training, state = first_start(learner, X, y)
    inside = training.classes[training.inside]
    if isinstance(one, OnlinePolyceptron):
        return _frames_of_rows(one, training, state, X, np.asarray(y), n_frames), inside
    planes, stopping = [one._answer(state)], one._stopping()

    class Recorder(solver.Callback):
        def on_step(self, run: int, iteration: int, state: Any, measures: Any) -> None:
            del run, iteration, measures
            planes.append(one._answer(state))

    stopping = replace(stopping, max_iter=min(_MOST_STEPS, stopping.max_iter))
    solver.run(one, training.data, [state], stopping, [Recorder()])
    chosen = _closer_first(len(planes) - 1, n_frames)
    shown = (one._polyhedra(training, [planes[n].rows()])[0][0] for n in chosen)
    return [Frame(*frame) for frame in zip(shown, map(_after, chosen), strict=True)], inside


def first_start(learner: IteratedClassifier, X: Any, y: Any) -> tuple[Any, TrainingData, Any]:
    """A copy of the learner with the columns of these rows, the rows, and where `fit` starts."""
    one = clone(learner)
    one._check_parameters()
    source = one._source(X, y, None)
    training = TrainingData.of(source, **one._training_options(source))
    seeds = one._seeds(check_random_state(one.random_state))
    return one, training, next(one._starts(training, seeds[:1]))


def _frames_of_rows(
    one: OnlinePolyceptron, training: TrainingData, state: Any, X: Any, y: Any, n_frames: int
) -> list[Frame]:
    """Take rows in a random order, and look before a pass is over: most happens in the first."""
    one._publish(training, state.answer)
    one._state, one.n_iter_ = state, 0
    first = one.polyhedron_
    rows = as_rows(X, first.n_features)
    one.__dict__.pop("feature_names_in_", None)  # parts of the rows have no names
    n, n_passes = rows.shape[0], min(_MOST_PASSES, one.max_iter)
    random = np.random.default_rng(state.seed)
    orders = [random.permutation(n) if one.shuffle else np.arange(n) for _ in range(n_passes)]
    order = np.concatenate(orders)
    frames, seen = [Frame(first, _after(0))], 0
    for n_rows in _closer_first(len(order), n_frames)[1:]:
        some = order[seen:n_rows]
        one.partial_fit(rows[some], y[some])
        now = Polyhedron(one.coef_, one.intercept_, first.feature_names)
        frames.append(Frame(now, _after(n_rows, "row")))
        seen = n_rows
        if n_rows >= n and np.array_equal(now.contains(rows), y == one.inside_):
            break
    return frames


def _after(n: int, unit: str = "iteration") -> str:
    return f"after {n} {unit}{'s' * (n != 1)}" if n else "at the start"


def _closer_first(last: int, most: int) -> list[int]:
    """Return at most `most` whole numbers from 0 to `last`, ever farther apart."""
    if last < most:
        return list(range(last + 1))
    later = np.unique(np.geomspace(1, last, most - 1).round().astype(int))
    # Where the first ones were rounded to the same, there are others.
    others = np.setdiff1d(np.arange(1, last), later)[: most - 1 - len(later)]
    return [0, *sorted([*later.tolist(), *others.tolist()])]
