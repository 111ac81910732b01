"""What the page shows of single fits: curves of learning, and polyhedra with their rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from polyceptron.paper.folds import repetition_of, seed_of
from polyceptron.paper.protocol import Dataset, Method
from polyceptron.polyhedron import Polyhedron
from polyceptron.utils.types import Floats


@dataclass(frozen=True)
class Curves:
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


def learning_curves(
    method: Method, dataset: Dataset, measure: str, seed: int, starts: int, **changes: Any
) -> Curves:
    """Fit all rows of repetition 0 from several starts, one start a fit."""
    bunch, _ = repetition_of(seed, dataset.key, 0)
    models = [
        method.build(dataset, seed_of(seed, dataset.key, "report", start))
        for start in range(starts)
    ]
    runs = [
        _fit(model.set_params(n_init=1, **changes), bunch).history_[measure] for model in models
    ]
    return Curves(dataset, [np.asarray(run, dtype=float) for run in runs], models[0].max_iter)


def learn_polyhedron(method: Method, dataset: Dataset, seed: int) -> Learned:
    """Fit all rows of repetition 0."""
    bunch, _ = repetition_of(seed, dataset.key, 0)
    model = _fit(method.build(dataset, seed_of(seed, dataset.key, "report")), bunch)
    inside = int(model.inside_)
    names = dict(zip((-1, 1), map(str, bunch.target_names), strict=True))
    polyhedron = Polyhedron(model.coef_, model.intercept_, bunch.feature_names)
    return Learned(
        dataset, polyhedron, bunch.data, bunch.target, inside, names[inside], names[-inside]
    )


def _fit(model: Any, bunch: Any) -> Any:
    with warnings.catch_warnings():  # the curves show it
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(bunch.data, bunch.target)
