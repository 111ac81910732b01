"""A learner in one file, as CONTRIBUTING.md describes it: gradient descent with a fixed step."""

from dataclasses import dataclass
from typing import Any

from polyceptron.learners.base import (
    IteratedClassifier,
    Planes,
    Rank,
    Step,
    Stopping,
    gradient,
    rank_planes,
    register,
)


@register("toy")
@dataclass(eq=False, repr=False, kw_only=True)
class ToyPolyceptron(IteratedClassifier):
    """Learn a polyhedron by plain gradient descent on the Polyceptron criterion."""

    n_init: int = 2
    step_size: float = 0.05

    def _stopping(self) -> Stopping:
        return Stopping(self.max_iter, patience=20)

    def _start(self, training: Any, seed: int) -> Planes:
        return self._first_planes(training, seed)

    def _step(self, data: Any, state: Planes) -> Step[Planes]:
        here = gradient(data, state, 1.0)
        value, mistakes = here.totals[:2].tolist()
        measures = {"criterion": value, "mistakes": mistakes}
        following = state.descend(here, self.step_size, 1.0)
        return Step(state, following, Rank(mistakes, value), measures, value == 0)

    def _rank(self, data: Any, state: Planes) -> Rank:
        return rank_planes(data, state, 1.0)

    def _answer(self, state: Planes) -> Planes:
        return state
