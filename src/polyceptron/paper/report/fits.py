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


class Curves:
    """A measure of fits from several starts, pass by pass or iteration by iteration.

    It rose in ``rises`` of all ``steps``; ``falling`` runs never rose, and ``cut`` ended at the
    ``limit`` of a run: what would have followed is not known.
    """

    def __init__(self, dataset: Dataset, runs: list[Floats], limit: int) -> None:
        self.dataset, self.runs, self.limit = dataset, runs, limit
        rises = [int((np.diff(run) > 0).sum()) for run in runs]
        self.rises, self.falling = sum(rises), rises.count(0)
        self.steps = sum(len(run) - 1 for run in runs)
        self.cut = sum(len(run) >= limit for run in runs)


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
    models = [_fit(method, dataset, seed, start, n_init=1, **changes)[0] for start in range(starts)]
    runs = [np.asarray(model.history_[measure], dtype=float) for model in models]
    return Curves(dataset, runs, models[0].max_iter)


def learn_polyhedron(method: Method, dataset: Dataset, seed: int) -> Learned:
    """Fit all rows of repetition 0."""
    model, bunch = _fit(method, dataset, seed)
    inside = int(model.inside_)
    names = dict(zip((-1, 1), map(str, bunch.target_names), strict=True))
    polyhedron = Polyhedron(model.coef_, model.intercept_, bunch.feature_names)
    return Learned(
        dataset, polyhedron, bunch.data, bunch.target, inside, names[inside], names[-inside]
    )


def _fit(
    method: Method, dataset: Dataset, seed: int, *start: int, **changes: Any
) -> tuple[Any, Any]:
    bunch, _ = repetition_of(seed, dataset.key, 0)
    model = method.build(dataset, seed_of(seed, dataset.key, "report", *start))
    with warnings.catch_warnings():  # the curves show it
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.set_params(**changes).fit(bunch.data, bunch.target), bunch
