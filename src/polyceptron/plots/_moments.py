"""What a learner had learned on the way."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polyceptron.learners._iterated import IteratedClassifier
from polyceptron.learners.online import OnlinePolyceptron
from polyceptron.learners.trace import trace
from polyceptron.plots._arguments import as_array
from polyceptron.polyhedron import Polyhedron

_MOST_STEPS = 2000
_MOST_PASSES = 10


class Moment(NamedTuple):
    """What a learner had learned at some time, and when that was."""

    polyhedron: Polyhedron
    when: str


def moments_of(learner: Any, X: Any, y: Any, most: int) -> tuple[list[Moment], Any]:
    """Learn anew from the first start, and return the moments and the label inside."""
    if isinstance(learner, OnlinePolyceptron):
        return _by_rows(learner, X, y, most)
    if isinstance(learner, IteratedClassifier):
        return _by_steps(learner, X, y, most)
    raise ValueError(
        "learner must be one that moves hyperplanes step by step (BatchPolyceptron, "
        f"OnlinePolyceptron, SPLA1, SPLA2 or PCSLP), got {type(learner).__name__}"
    )


def _by_steps(learner: IteratedClassifier, X: Any, y: Any, most: int) -> tuple[list[Moment], Any]:
    """Take the steps that `fit` takes from its first start."""
    found = trace(learner, X, y, _MOST_STEPS)
    moments = []
    for n_iter in _closer_first(len(found.planes) - 1, most):
        when = "at the start" if n_iter == 0 else _after(n_iter, "iteration")
        moments.append(Moment(found.polyhedron(n_iter), when))
    return moments, found.inside


def _by_rows(learner: OnlinePolyceptron, X: Any, y: Any, most: int) -> tuple[list[Moment], Any]:
    """Take rows in a random order, and look before a pass is over: most happens in the first."""
    found = trace(learner, X, y, 0)
    one: Any = found.learner
    state = found.state
    one._publish(found.training, state.answer)
    one._state, one.n_iter_ = state, 0
    first = one.polyhedron_
    rows, labels = as_array(X, first), np.asarray(y)
    vars(one).pop("feature_names_in_", None)  # parts of the rows have no names
    n, n_passes = len(rows), min(_MOST_PASSES, one.max_iter)
    random = np.random.default_rng(state.seed)
    orders = [random.permutation(n) if one.shuffle else np.arange(n) for _ in range(n_passes)]
    order = np.concatenate(orders)
    moments, seen = [Moment(first, "at the start")], 0
    for n_rows in _closer_first(len(order), most)[1:]:
        some = order[seen:n_rows]
        one.partial_fit(rows[some], labels[some])
        now = Polyhedron(one.coef_, one.intercept_, first.feature_names)
        moments.append(Moment(now, _after(n_rows, "row")))
        seen = n_rows
        right = now.contains(rows) == (labels == one.inside_)
        if n_rows >= n and right.all():
            break
    return moments, one.inside_


def _after(n: int, unit: str) -> str:
    return f"after {n} {unit}{'s' * (n != 1)}"


def _closer_first(last: int, most: int) -> list[int]:
    """Return at most `most` whole numbers from 0 to `last`, ever farther apart."""
    if last < most:
        return list(range(last + 1))
    later = np.unique(np.geomspace(1, last, most - 1).round().astype(int))
    while len(later) < most - 1:  # the first ones were rounded to the same
        missing = np.setdiff1d(np.arange(1, last), later)
        later = np.sort(np.append(later, missing[: most - 1 - len(later)]))
    return [0, *later.tolist()]
