"""The only iteration loop: restarts, stopping, the best so far, history, progress.

A learner says where to start and what one step is; it never loops itself. A step
makes a new state and leaves the old one, but for caches that change no result.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from polyceptron.data.blocks import Blocks
from polyceptron.optim.checkpoint import NO_JOURNAL, Journal, Record
from polyceptron.optim.criterion import gradient
from polyceptron.optim.planes import Planes
from polyceptron.utils.types import Floats

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
    def _pack(self, state: State) -> Record | None: ...
    def _unpack(self, data: Blocks, record: Record) -> State: ...
    def _pack_end(self, state: State) -> Record | None: ...
    def _unpack_end(self, data: Blocks, record: Record) -> State: ...


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
    """The outcome of one run, or of the best of several.

    ``totals`` are the sums of the history, over all of them.
    """

    state: State
    rank: Rank
    history: dict[str, Floats]
    n_iter: int
    converged: bool
    totals: dict[str, float] = field(default_factory=dict)


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


@dataclass(slots=True)
class Course(Generic[State]):
    """Where a run stands before its next step.

    ``fewest`` is the least number of mistakes so far, and ``since`` how many steps ago;
    ``n_whole`` is the number of steps after which all this is known.
    """

    state: State
    rows: list[dict[str, float]]
    best: State | None = None
    best_rank: Rank | None = None
    fewest: float = np.inf
    since: int = 0
    n_whole: int = 0

    def whole(self, learner: Learner[State]) -> Record | None:
        """Arrays to go on from, unless a step is half taken."""
        return self.pack(learner) if self.rows and self.n_whole == len(self.rows) else None

    def pack(self, learner: Learner[State]) -> Record | None:
        """Arrays to go on from; None if the learner cannot go on in the middle of a run."""
        state = learner._pack(self.state)
        best = None if self.best is None else learner._pack(self.best)
        if state is None or best is None:
            return None
        rank = () if self.best_rank is None else self.best_rank
        since = np.array([self.fewest, float(self.since)])
        more = {"best_rank": np.array(rank, float), "since": since}
        return (
            _named("state", state)
            | _named("best", best)
            | _named("history", _columns(self.rows))
            | more
        )

    @classmethod
    def unpack(cls, learner: Learner[State], data: Blocks, record: Record) -> Course[State]:
        rank, (fewest, since) = record["best_rank"].tolist(), record["since"].tolist()
        return cls(
            learner._unpack(data, _of("state", record)),
            _unpacked_rows(record),
            learner._unpack(data, _of("best", record)),
            Rank(*rank) if rank else None,
            fewest,
            int(since),
        )


def _named(name: str, record: Record) -> Record:
    return {f"{name}.{key}": value for key, value in record.items()}


def _of(name: str, record: Record) -> Record:
    start = f"{name}."
    return {key[len(start) :]: value for key, value in record.items() if key.startswith(start)}


def _columns(rows: list[dict[str, float]]) -> dict[str, Floats]:
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _unpacked_rows(record: Record) -> list[dict[str, float]]:
    columns = _of("history", record)
    lists = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in lists]


def run_once(
    learner: Learner[State],
    data: Blocks,
    state: State,
    stopping: Stopping,
    progress: Progress,
    start: int = 0,
    journal: Journal = NO_JOURNAL,
    name: str = "",
) -> Run[State]:
    """Step until finished, settled or out of iterations.

    A finished run gives its last state, any other what the learner concludes from the best
    state and the last.
    """
    saved = journal.get(name)
    course = Course(state, []) if saved is None else Course.unpack(learner, data, saved)

    def last() -> Record | None:
        return course.whole(learner) if len(course.rows) < stopping.max_iter else None

    with journal.at_a_stop(name, last):
        return _run_on(learner, data, course, stopping, progress, start, journal, name)


def _run_on(
    learner: Learner[State],
    data: Blocks,
    course: Course[State],
    stopping: Stopping,
    progress: Progress,
    start: int,
    journal: Journal,
    name: str,
) -> Run[State]:
    rows = course.rows
    why = "stopped"
    while len(rows) < stopping.max_iter:
        step = learner._step(data, course.state)
        rows.append(step.measures)
        progress.step(start, len(rows), step.measures)
        better = step.rank is None or course.best_rank is None or step.rank < course.best_rank
        if course.best is None or better:
            course.best, course.best_rank = step.state, step.rank
        if step.finished:
            why = "finished"
            break
        if step.rank is not None:
            fewer = step.rank.mistakes < course.fewest
            course.fewest = step.rank.mistakes if fewer else course.fewest
            course.since = 0 if fewer else course.since + 1
        if stopping.settled(len(rows), course.since):
            why = "settled"
            break
        course.state = step.following
        course.n_whole = len(rows)
        if journal.step() and len(rows) < stopping.max_iter:
            packed = course.pack(learner)
            if packed is not None:
                journal.put(name, packed)
    assert course.best is not None
    state = step.state if step.finished else learner._conclude(data, course.best, step.state)
    progress.run(start, len(rows), rows[-1], why)
    history = _columns(rows)
    rank = learner._rank(data, state)
    journal.drop(name)
    return Run(state, rank, history, len(rows), why != "stopped")


def _packed_run(learner: Learner[State], run: Run[State]) -> Record | None:
    state = learner._pack_end(run.state)
    if state is None:
        return None
    facts = np.array([*run.rank, run.n_iter, run.converged], float)
    return _named("state", state) | _named("history", run.history) | {"facts": facts}


def _unpacked_run(learner: Learner[State], data: Blocks, record: Record) -> Run[State]:
    mistakes, value, n_iter, converged = record["facts"].tolist()
    return Run(
        learner._unpack_end(data, _of("state", record)),
        Rank(mistakes, value),
        _of("history", record),
        int(n_iter),
        bool(converged),
    )


def run(
    learner: Learner[State],
    data: Blocks,
    starts: Iterable[State],
    stopping: Stopping,
    progress: Progress,
    journal: Journal = NO_JOURNAL,
    name: str = "run",
) -> Run[State]:
    """Best of several starts; ties go to the earlier one.

    What the journal has of these runs, which it knows by ``name``, is not done again.
    """
    kept: Run[State] | None = None
    totals: dict[str, float] = {}
    for number, start in enumerate(starts):
        ended, now = f"{name}, start {number}", f"{name}, start {number}, now"
        saved = journal.get(ended)
        if saved is not None:
            found = _unpacked_run(learner, data, saved)
        else:
            found = run_once(learner, data, start, stopping, progress, number, journal, now)
            packed = _packed_run(learner, found) if journal.is_kept else None
            if packed is not None:
                journal.put(ended, packed)
        for measure, values in found.history.items():
            totals[measure] = totals.get(measure, 0.0) + float(values.sum())
        if kept is None or found.rank < kept.rank:
            kept = found
        if kept.rank <= Rank(0.0, 0.0):
            break
    assert kept is not None
    return replace(kept, totals=totals)
