"""The only iteration loop: restarts, stopping, the best so far, history, callbacks.

A step makes a new state and leaves the old one, but for caches that change no result.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from polyceptron.data.blocks import Blocks
from polyceptron.optim.checkpoint import (
    NO_JOURNAL,
    FitJournal,
    Form,
    Record,
    StateArrays,
    checked,
)
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

    ``rank`` and ``measures``, a row of the history, are those of ``state``; the next step starts at
    ``following``. Without a rank no best state is kept. If finished, ``state`` is the answer.
    """

    state: State
    following: State
    rank: Rank | None
    measures: dict[str, float]
    finished: bool


class IterativeLearner(Protocol[State]):
    """What the loop needs of a learner.

    Packed states have the forms of that at the start, but for the length of arrays that grow.
    """

    _packs_steps: ClassVar[bool]
    _grows: ClassVar[frozenset[str]]

    def _step(self, data: Blocks, state: State) -> Step[State]: ...
    def _rank(self, data: Blocks, state: State) -> Rank: ...
    def _conclude(self, data: Blocks, best: State, last: State) -> State: ...
    def _pack(self, state: State) -> StateArrays | None: ...
    def _unpack(self, data: Blocks, record: StateArrays) -> State: ...


class Callback:
    """Sees every step of every run; a subclass does something with what it sees.

    States are those of the learner; its ``_answer`` makes hyperplanes of them.
    """

    def on_step(self, run: int, iteration: int, state: Any, measures: dict[str, float]) -> None:
        """A step was taken, from 1 on, and led to this state."""

    def on_end(self, run: int, iteration: int, measures: dict[str, float], why: str) -> None:
        """A run is "finished", "settled" or "stopped" after so many steps."""


class PrintedProgress(Callback):
    """Lines on stdout at most once a second, for long work."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._next = time.monotonic() + 1.0

    def on_step(self, run: int, iteration: int, state: Any, measures: dict[str, float]) -> None:
        del state
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + 1.0
            self._say(f"start {run + 1}, iteration {iteration}", measures)

    def on_end(self, run: int, iteration: int, measures: dict[str, float], why: str) -> None:
        self._say(f"start {run + 1} {why} after {iteration} iterations", measures)

    def _say(self, what: str, measures: dict[str, float]) -> None:
        numbers = ", ".join(f"{name} {value:.6g}" for name, value in measures.items())
        print(f"{self._name}: {what}: {numbers}", flush=True)


@dataclass(frozen=True, slots=True)
class Stopping:
    """When a run ends, besides being finished.

    ``patience`` is the number of steps without fewer mistakes after which a run
    counts as settled, though not before ``at_least`` steps; None for never.
    """

    max_iter: int
    patience: int | None = None
    at_least: int = 0

    def reason(self, finished: bool, n_iter: int, n_no_change: int) -> str:
        """Why a run ends after so many steps; empty if it goes on."""
        enough = self.patience is not None and n_no_change >= self.patience
        if finished or (enough and n_iter >= self.at_least):
            return "finished" if finished else "settled"
        return "stopped" if n_iter >= self.max_iter else ""


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

    def pack(self, learner: IterativeLearner[State]) -> Record | None:
        """The run as arrays, if the learner can pack its end."""
        state = learner._pack(self.state)
        if state is None:
            return None
        facts = np.array([*self.rank, self.n_iter, self.converged], float)
        return {"state": state, "history": self.history, "facts": facts}

    @classmethod
    def unpack(
        cls, learner: IterativeLearner[State], data: Blocks, start: State, record: Record
    ) -> Run[State]:
        facts = checked(record["facts"], Form(float, (4,))).tolist()
        mistakes, value, n_iter, converged = facts
        if not n_iter.is_integer() or converged not in (0, 1):
            raise ValueError(f"no run has {n_iter} steps, or converged {converged} times")
        state = unpacked(learner, data, start, record["state"])
        history = _history_of(record, int(n_iter))
        return cls(state, Rank(mistakes, value), history, int(n_iter), bool(converged))

    def joined(self, kept: Run[State] | None) -> Run[State]:
        """The better of this run and that kept of those before, with the totals of all."""
        totals = {} if kept is None else dict(kept.totals)
        for measure, values in self.history.items():
            totals[measure] = totals.get(measure, 0.0) + float(values.sum())
        return replace(self if kept is None or self.rank < kept.rank else kept, totals=totals)


@dataclass(slots=True)
class RunState(Generic[State]):
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

    def take(self, step: Step[State]) -> None:
        """Take note of a step, but for where it leads."""
        if self.rows and self.rows[-1].keys() != step.measures.keys():
            raise ValueError(f"a history of {[*self.rows[-1]]}, not of {[*step.measures]}")
        self.rows.append(step.measures)
        better = step.rank is None or self.best_rank is None or step.rank < self.best_rank
        if self.best is None or better:
            self.best, self.best_rank = step.state, step.rank
        if step.rank is not None:
            fewer = step.rank.mistakes < self.fewest
            self.fewest = step.rank.mistakes if fewer else self.fewest
            self.since = 0 if fewer else self.since + 1

    def end(
        self, learner: IterativeLearner[State], data: Blocks, last: Step[State], why: str
    ) -> Run[State]:
        """What comes of the run, which ends with this step."""
        assert self.best is not None
        state = last.state if last.finished else learner._conclude(data, self.best, last.state)
        rank = learner._rank(data, state)
        return Run(state, rank, self.history(), len(self.rows), why != "stopped")

    def history(self) -> dict[str, Floats]:
        return {name: np.array([row[name] for row in self.rows]) for name in self.rows[0]}

    def pack(self, learner: IterativeLearner[State]) -> Record | None:
        """Arrays to go on from; None in a step, after the last, or where the learner has none."""
        is_whole = self.rows and self.n_whole == len(self.rows)
        if not learner._packs_steps or not is_whole or self.best is None:
            return None
        state, best = learner._pack(self.state), learner._pack(self.best)
        if state is None or best is None:
            return None
        rank = np.array(() if self.best_rank is None else self.best_rank, float)
        since = np.array([self.fewest, float(self.since)])
        known = {"state": state, "best": best, "history": self.history()}
        return known | {"best_rank": rank, "since": since}

    @classmethod
    def unpack(
        cls, learner: IterativeLearner[State], data: Blocks, start: State, record: Record
    ) -> RunState[State]:
        rank = checked(record["best_rank"], Form(float, (None,))).tolist()
        fewest, since = checked(record["since"], Form(float, (2,), is_finite=False)).tolist()
        state, best = (unpacked(learner, data, start, record[name]) for name in ("state", "best"))
        columns = _history_of(record)
        lists = zip(*(column.tolist() for column in columns.values()), strict=True)
        rows = [dict(zip(columns, row, strict=True)) for row in lists]
        return cls(state, rows, best, Rank(*rank) if rank else None, fewest, int(since))


def unpacked(
    learner: IterativeLearner[State], data: Blocks, start: State, record: StateArrays
) -> State:
    """The state that arrays stand for, if they have the forms of those of the start."""
    like = learner._pack(start)
    if like is None or like.keys() != record.keys():
        raise ValueError(f"a state of {[*record]}, not of {[*(like or ())]}")
    for name, array in record.items():
        shape = like[name].shape
        if name in learner._grows:
            shape = (None, *shape[1:])
        checked(array, Form(like[name].dtype, shape))
    return learner._unpack(data, record)


def _history_of(record: Record, n_iter: int | None = None) -> dict[str, Floats]:
    """The history of a record: columns of one length, that of the run."""
    columns: dict[str, Floats] = record["history"]
    for column in columns.values():
        n_iter = len(column) if n_iter is None else n_iter
        checked(
            column, Form(float if column.dtype.kind == "f" else int, (n_iter,), is_finite=False)
        )
    if not n_iter:
        raise ValueError("a run without a step")
    return columns


def run(
    learner: IterativeLearner[State],
    data: Blocks,
    starts: Iterable[State],
    stopping: Stopping,
    callbacks: Sequence[Callback] = (),
    journal: FitJournal = NO_JOURNAL,
    name: str = "run",
) -> Run[State]:
    """Step from every start until the run ends; the best of them, ties to the earlier one.

    What the journal has of these runs, which it knows by ``name``, is not done again.
    """
    kept: Run[State] | None = None
    for number, start in enumerate(starts):
        ended, now = f"{name}, start {number}", f"{name}, start {number}, now"
        found = journal.restored(ended, partial(Run.unpack, learner, data, start))
        if found is None:
            at, why = journal.restored(now, partial(RunState.unpack, learner, data, start)), ""
            at = RunState(start, []) if at is None else at
            with journal.at_a_stop(now, partial(at.pack, learner)):
                while not why:
                    step = learner._step(data, at.state)
                    at.take(step)
                    reached = step.state if step.finished else step.following
                    for callback in callbacks:
                        callback.on_step(number, len(at.rows), reached, step.measures)
                    why = stopping.reason(step.finished, len(at.rows), at.since)
                    if not why:
                        at.state, at.n_whole = step.following, len(at.rows)
                        if journal.step():
                            journal.put(now, at.pack(learner))
                found = at.end(learner, data, step, why)
                for callback in callbacks:
                    callback.on_end(number, found.n_iter, step.measures, why)
            journal.drop(now)
            if journal.is_kept:
                journal.put(ended, found.pack(learner))
        kept = found.joined(kept)
        if kept.rank <= Rank(0.0, 0.0):
            break
    assert kept is not None
    return kept
