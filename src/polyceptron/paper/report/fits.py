"""What the page shows of single fits: courses of learning, and polyhedra with their rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from polyceptron.paper.folds import repetition_of, seed_of
from polyceptron.paper.protocol import Dataset, Method, Protocol
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats

STARTS = 10
FEW_STARTS = 5  # where courses cross too often to be seen
SMALLER_STEPS = (0.01, 0.001, 0.0001)  # than the paper's; the last is drawn beside it


@dataclass(frozen=True)
class Courses:
    """A measure of fits from several starts, pass by pass or iteration by iteration.

    ``limit`` is how long a run may be.
    """

    dataset: Dataset
    runs: list[Floats]
    limit: int

    @property
    def rises(self) -> int:
        """In how many steps of all runs the measure rose."""
        return sum(int((np.diff(run) > 0).sum()) for run in self.runs)

    @property
    def steps(self) -> int:
        return sum(len(run) - 1 for run in self.runs)

    @property
    def cut(self) -> int:
        """How many runs ended at the limit: what would have followed is not known."""
        return sum(len(run) >= self.limit for run in self.runs)

    @property
    def falling(self) -> int:
        """How many runs never rose."""
        return sum(bool((np.diff(run) <= 0).all()) for run in self.runs)


@dataclass(frozen=True)
class Learned:
    """A polyhedron and the rows that it was learned from."""

    dataset: Dataset
    polyhedron: Polyhedron
    X: Floats
    y: NDArray[Any]
    inside: Any
    inside_name: str
    outside_name: str

    @property
    def right(self) -> int:
        return int((self.polyhedron.contains(self.X) == (self.y == self.inside)).sum())


def courses(
    protocol: Protocol,
    dataset: str,
    method: str,
    measure: str,
    seed: int,
    *,
    starts: int = STARTS,
    **changes: Any,
) -> Courses:
    """Fit all rows of repetition 0 from several starts, one start a fit."""
    bunch, _ = repetition_of(seed, dataset, 0)
    of = protocol.datasets[dataset]
    runs, limit = [], 0
    for start in range(starts):
        model = protocol.methods[method].build(of, seed_of(seed, dataset, "report", start))
        model.set_params(n_init=1, **changes)
        limit = model.max_iter
        runs.append(np.asarray(_fit(model, bunch).history_[measure], dtype=float))
    return Courses(of, runs, limit)


def learn(method: Method, dataset: Dataset, seed: int) -> Learned:
    """Fit all rows of repetition 0."""
    bunch, _ = repetition_of(seed, dataset.key, 0)
    model = _fit(method.build(dataset, seed_of(seed, dataset.key, "report")), bunch)
    inside = model.inside_
    names = dict(zip((-1, 1), map(str, bunch.target_names), strict=True))
    return Learned(
        dataset,
        Polyhedron(model.coef_, model.intercept_, bunch.feature_names),
        bunch.data,
        bunch.target,
        inside,
        names[int(inside)],
        names[-int(inside)],
    )


def _fit(model: Any, bunch: Any) -> Any:
    with warnings.catch_warnings():  # the curves show it
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(bunch.data, bunch.target)
