"""What a learner had learned on the way, for those who draw it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

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


def trace(learner: Any, X: Any, y: Any, n_frames: int) -> tuple[list[Frame], Any]:
    """Learn anew from the first start, and return the polyhedra on the way and the label inside.

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
    >>> from polyceptron.learners.trace import trace
    >>> frames, inside = trace(BatchPolyceptron(1), [[0.0], [1.0], [3.0]], [0, 0, 1], 5)
    >>> frames[0].when, inside
    ('at the start', 1)
    """
    if not isinstance(learner, IteratedClassifier):
        raise ValueError(
            "learner must be one that moves hyperplanes step by step (BatchPolyceptron, "
            f"OnlinePolyceptron, SPLA1, SPLA2 or PCSLP), got {type(learner).__name__}"
        )
    from sklearn.base import clone
    from sklearn.utils import check_random_state

    one = clone(learner)
    one._check_parameters()
    problem = one._problem(X, y, None)
    state = one._start(problem, one._seeds(check_random_state(one.random_state))[0])
    if isinstance(one, OnlinePolyceptron):
        return _by_rows(one, problem, state, X, np.asarray(y), n_frames), one.inside_
    return _by_steps(one, problem, state, n_frames), one.inside_


class _Recorder:
    """A learner whose steps are written down."""

    def __init__(self, learner: IteratedClassifier, first: Any) -> None:
        self._learner, self.states = learner, [first]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learner, name)

    def _step(self, data: Any, state: Any) -> solver.Step[Any]:
        step = self._learner._step(data, state)
        self.states.append(step.state if step.finished else step.following)
        return step


def _by_steps(one: IteratedClassifier, problem: Any, state: Any, n_frames: int) -> list[Frame]:
    """Take the steps that `fit` takes from its first start."""
    recorder: Any = _Recorder(one, state)
    one.max_iter = min(one.max_iter, _MOST_STEPS)
    progress = solver.Progress(0, type(one).__name__)
    solver.run_once(recorder, problem.data, state, one._stopping(), progress)
    frames = []
    for n_iter in _closer_first(len(recorder.states) - 1, n_frames):
        one._publish(problem, one._answer(recorder.states[n_iter]))
        frames.append(Frame(one.polyhedron_, _after(n_iter, "iteration")))
    return frames


def _by_rows(
    one: OnlinePolyceptron, problem: Any, state: Any, X: Any, y: Any, n_frames: int
) -> list[Frame]:
    """Take rows in a random order, and look before a pass is over: most happens in the first."""
    one._publish(problem, state.answer)
    one._keep(state)
    one.n_iter_ = 0
    first = one.polyhedron_
    rows = as_rows(X, first.n_features)
    one.__dict__.pop("feature_names_in_", None)  # parts of the rows have no names
    n, n_passes = rows.shape[0], min(_MOST_PASSES, one.max_iter)
    random = np.random.default_rng(state.seed)
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
