"""The only iteration loop: restarts, stopping, the best so far, history, progress.

A learner says where to start and what one step is; it never loops itself. A step
makes a new state and leaves the old one, but for caches that change no result.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from polyceptron._types import Floats
from polyceptron.blocks import Blocks
from polyceptron.criterion import Planes, gradient

State = TypeVar("State")


class Rank(NamedTuple):
    """How good a state is on the training rows: fewer mistakes first, then the criterion.

    Steps of one run and whole runs are compared only among themselves: a learner may count
    something else than mistakes, as rows short of the margin, from step to step.
    """

    mistakes: float
    criterion: float


def rank_planes(data: Blocks, planes: Planes, margin: float) -> Rank:
    """The rank of hyperplanes by the criterion that asks for this margin."""
    totals = gradient(data, planes, margin).totals
    return Rank(totals[1], totals[0])


class Step(NamedTuple, Generic[State]):
    """What one step found out, and where it went.

    Parameters
    ----------
    state : State
        The state that ``rank`` and ``measures`` speak of.
    following : State
        Where the next step starts.
    rank : Rank or None
        None where it is not known, and no best state is kept.
    measures : dict of str to float
        One row of the history.
    finished : bool
        Nothing is left to do: ``state`` is the answer.
    """

    state: State
    following: State
    rank: Rank | None
    measures: dict[str, float]
    finished: bool


class Learner(Protocol[State]):
    """What the loop needs of a learner."""

    def _step(self, data: Blocks, state: State) -> Step[State]: ...
    def _rank(self, data: Blocks, state: State) -> Rank: ...
    def _conclude(self, data: Blocks, best: State, last: State) -> State: ...


@dataclass(frozen=True, slots=True)
class Stopping:
    """When a run ends, besides being finished.

    ``patience`` is the number of steps without fewer mistakes after which a run
    counts as settled, though not before ``at_least`` steps; None for never.
    """

    max_iter: int
    patience: int | None = None
    at_least: int = 0

    def settled(self, n_iter: int, n_no_change: int) -> bool:
        enough = self.patience is not None and n_no_change >= self.patience
        return enough and n_iter >= self.at_least


@dataclass(frozen=True, slots=True)
class Run(Generic[State]):
    """The outcome of one run, or of the best of several."""

    state: State
    rank: Rank
    history: dict[str, Floats]
    n_iter: int
    converged: bool


class Progress:
    """Lines on stdout at most once a second, for long work; silent unless verbose."""

    def __init__(self, verbose: int, name: str) -> None:
        self._verbose = verbose
        self._name = name
        self._next = time.monotonic() + 1.0

    def step(self, start: int, n_iter: int, measures: dict[str, float]) -> None:
        if self._verbose and time.monotonic() >= self._next:
            self._next = time.monotonic() + 1.0
            self._say(f"start {start + 1}, iteration {n_iter}", measures)

    def run(self, start: int, n_iter: int, measures: dict[str, float], why: str) -> None:
        if self._verbose:
            self._say(f"start {start + 1} {why} after {n_iter} iterations", measures)

    def _say(self, what: str, measures: dict[str, float]) -> None:
        numbers = ", ".join(f"{name} {value:.6g}" for name, value in measures.items())
        print(f"{self._name}: {what}: {numbers}", file=sys.stdout, flush=True)


def run_once(
    learner: Learner[State],
    data: Blocks,
    state: State,
    stopping: Stopping,
    progress: Progress,
    start: int = 0,
) -> Run[State]:
    """Step until finished, settled or out of iterations.

    A finished run gives its last state, any other what the learner concludes from the best
    state and the last.
    """
    rows: list[dict[str, float]] = []
    best: Step[State] | None = None
    fewest, since = np.inf, 0
    why = "stopped"
    while len(rows) < stopping.max_iter:
        step = learner._step(data, state)
        rows.append(step.measures)
        progress.step(start, len(rows), step.measures)
        if best is None or step.rank is None or best.rank is None or step.rank < best.rank:
            best = step
        if step.finished:
            why = "finished"
            break
        if step.rank is not None:
            mistakes = step.rank.mistakes
            fewest, since = (mistakes, 0) if mistakes < fewest else (fewest, since + 1)
        if stopping.settled(len(rows), since):
            why = "settled"
            break
        state = step.following
    assert best is not None
    state = step.state if step.finished else learner._conclude(data, best.state, step.state)
    progress.run(start, len(rows), rows[-1], why)
    history = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    rank = learner._rank(data, state)
    return Run(state, rank, history, len(rows), why != "stopped")


def run(
    learner: Learner[State],
    data: Blocks,
    starts: Iterable[State],
    stopping: Stopping,
    progress: Progress,
) -> Run[State]:
    """Best of several starts; ties go to the earlier one."""
    kept: Run[State] | None = None
    for number, start in enumerate(starts):
        found = run_once(learner, data, start, stopping, progress, number)
        if kept is None or found.rank < kept.rank:
            kept = found
        if kept.rank <= Rank(0.0, 0.0):
            break
    assert kept is not None
    return kept
