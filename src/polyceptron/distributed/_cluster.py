"""The client's side: which worker keeps which partitions, and what to do when one is lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from dask import optimize
from distributed.comm import CommClosedError
from distributed.protocol import pickle

from distributed import CancelledError, Client, KilledWorker, wait
from polyceptron.data.blocks import RUN
from polyceptron.distributed._keeper import Failed, Keeper, Layout

_LOOK = 0.5
"""Seconds between looks at who is still there, while an answer is waited for."""
_ANSWER = 10.0
"""Seconds for the scheduler to say who is there."""
_GRACE = 2.0
"""Seconds for the scheduler to notice that a worker is gone that did not answer."""
_TRIES = 5
"""How often lost partitions are brought back before one answer."""


class ClusterError(RuntimeError):
    """The cluster cannot go on: no worker is left, or rows that were lost cannot come back."""


class _Held(NamedTuple):
    """A keeper, the worker that it is on, and its partitions."""

    numbers: tuple[int, ...]
    future: Any
    actor: Any
    address: str


class _Answer(NamedTuple):
    value: Any


def shared_out(blocks: Sequence[int], threads: Sequence[int]) -> list[range]:
    """Cut partitions into a stretch for each worker, by its threads.

    Parameters
    ----------
    blocks : sequence of int
        How many blocks each partition has. A stretch that ends with a run of blocks is
        preferred to one that is somewhat more even: its sums are fewer.
    threads : sequence of int

    Examples
    --------
    >>> shared_out([1] * 8, [1, 1]), shared_out([8] * 26, [1, 2])
    ([range(0, 4), range(4, 8)], [range(0, 8), range(8, 26)])
    """
    edges = np.concatenate([[0], np.cumsum(blocks)])
    near = edges[-1] / len(threads) / 8
    cuts = [0]
    for goal in edges[-1] * np.cumsum(threads)[:-1] / sum(threads):
        off = np.abs(edges - goal) - near * (edges % RUN == 0)
        cuts.append(max(cuts[-1], int(off.argmin())))
    cuts.append(len(blocks))
    return [range(a, b) for a, b in pairwise(cuts)]


class Cluster:
    """Partitions on the workers of a cluster.

    Parameters
    ----------
    client : Client
    parts : list of Delayed
        The partitions, which can be computed again.
    blocks : list of int
        How many blocks each has, or 1 where that is not known.
    homes : callable
        Says which worker has which partition in memory already.
    timeout : float
        Seconds to wait for a worker when none is left.
    """

    def __init__(
        self,
        client: Client,
        parts: list[Any],
        blocks: list[int],
        homes: Callable[[], dict[int, str]],
        timeout: float,
    ) -> None:
        self._client, self._parts, self._blocks = client, parts, blocks
        self._homes, self._timeout = homes, timeout
        self._layout: Layout | None = None
        self._held = self._bring(range(len(parts)))

    def arrange(self, layout: Layout) -> None:
        """Tell all keepers the numbers of their blocks."""
        self._layout = layout
        self._ask_all(self._held, self._arranged)

    def close(self) -> None:
        """Let the workers forget their rows."""
        self._held = []

    def ask(self, method: str, *arguments: Any, partition: int | None = None) -> list[Any]:
        """What all keepers answer, or the one of a partition.

        Partitions of lost workers are computed again elsewhere, and all who have them then are
        asked.
        """
        if not self._held:
            raise ClusterError("these rows were closed; make new DaskBlocks of them")
        message = _packed(arguments)
        asked = [held for held in self._held if partition is None or partition in held.numbers]
        return self._ask_all(asked, lambda held: held.actor.answer(method, message))

    # --- asking -------------------------------------------------------------------------

    def _ask_all(self, asked: list[_Held], call: Callable[[_Held], Any]) -> list[Any]:
        answers: list[Any] = []
        for _ in range(_TRIES):
            found = self._answers(asked, call)
            answers += [answer.value for answer in found if answer is not None]
            lost = [held for held, answer in zip(asked, found, strict=True) if answer is None]
            if not lost:
                return answers
            asked = self._rescue(lost)
        raise ClusterError(
            f"workers were lost {_TRIES} times in a row, the last one at {lost[0].address}"
        )

    def _answers(self, asked: list[_Held], call: Callable[[_Held], Any]) -> list[_Answer | None]:
        """The answer of each keeper to a call; None of one that is lost."""
        calls = {place: _called(held, call) for place, held in enumerate(asked)}
        found: list[_Answer | None] = [None] * len(asked)
        calls = {place: call for place, call in calls.items() if call is not None}
        while calls:
            settled = self._client.sync(_settle, list(calls.values()), _LOOK)
            for place, (is_done, answer) in zip(list(calls), settled, strict=True):
                if is_done:
                    found[place] = answer
                    del calls[place]
            if calls:
                there = self._workers()
                for place in [place for place in calls if _is_lost(asked[place], there)]:
                    del calls[place]
        for answer in found:
            if answer is not None and isinstance(answer.value, Failed):
                raise answer.value.error
        return found

    def _workers(self) -> dict[str, int]:
        """The workers, and the threads of each."""
        if self._client.status in ("closing", "closed"):
            raise ClusterError("the Dask client is closed")
        try:
            return dict(self._client.nthreads(callback_timeout=_ANSWER))
        except (OSError, TimeoutError, RuntimeError, CancelledError) as error:
            raise ClusterError(f"the scheduler does not answer: {error!r}") from error

    # --- bringing rows to workers ---------------------------------------------------------

    def _rescue(self, lost: list[_Held]) -> list[_Held]:
        gone = {held.address for held in lost}
        self._held = [held for held in self._held if held not in lost]
        numbers = sorted(number for held in lost for number in held.numbers)
        brought = self._bring(numbers, gone)
        self._held += brought
        return brought

    def _bring(self, numbers: Iterable[int], gone: Collection[str] = ()) -> list[_Held]:
        """Load partitions on workers, others than those gone, and have them kept there."""
        brought: list[_Held] = []
        missing = list(numbers)
        for _ in range(_TRIES):
            brought += self._kept(self._loaded(missing, gone))
            there = {number for held in brought for number in held.numbers}
            missing = [number for number in missing if number not in there]
            if not missing:
                return brought
        raise ClusterError(f"partition {missing[0]} cannot be computed: its workers are lost")

    def _loaded(self, numbers: list[int], gone: Collection[str]) -> dict[int, Any]:
        """Futures of partitions, all that could be computed."""
        futures: dict[int, Any] = {}
        for address, group in self._allot(numbers, gone).items():
            # Without the tasks of other partitions, and what these hold.
            parts = optimize(*(self._parts[number] for number in group))
            found = self._client.compute(list(parts), **_at(address))
            futures |= zip(group, found, strict=True)
        self._wait(list(futures.values()))
        for number, future in futures.items():
            if future.status == "error":
                _refuse(future, f"partition {number}")
        return {number: future for number, future in futures.items() if _is_there(future)}

    def _kept(self, loaded: dict[int, Any]) -> list[_Held]:
        """One keeper for each worker that has partitions; those that took them over."""
        who_has = self._client.who_has(list(loaded.values()))
        keys: dict[str, dict[int, str]] = {}
        for number, future in loaded.items():
            for address in who_has.get(future.key, ())[:1]:
                keys.setdefault(address, {})[number] = future.key
        futures = {
            address: self._client.submit(Keeper, actor=True, pure=False, **_at(address))
            for address in keys
        }
        self._wait(list(futures.values()))
        held = [self._hold(tuple(keys[address]), future) for address, future in futures.items()]
        asked = [keeper for keeper in held if keeper is not None]
        taken = self._answers(
            asked,
            lambda held: held.actor.adopt(
                _packed({number: loaded[number].key for number in held.numbers})
            ),
        )
        asked = [keeper for keeper, answer in zip(asked, taken, strict=True) if answer == (True,)]
        if self._layout is None:
            return asked
        done = self._answers(asked, self._arranged)
        return [keeper for keeper, answer in zip(asked, done, strict=True) if answer is not None]

    def _arranged(self, held: _Held) -> Any:
        assert self._layout is not None
        places = {number: self._layout.places[number] for number in held.numbers}
        return held.actor.answer("arrange", _packed((self._layout._replace(places=places),)))

    def _allot(self, numbers: list[int], gone: Collection[str]) -> dict[str, list[int]]:
        """The partitions of each worker: those that it has, and stretches of the others."""
        threads = self._wait_for_workers(gone)
        homes = self._homes()
        allotted: dict[str, list[int]] = {address: [] for address in threads}
        free: list[int] = []
        for number in numbers:
            home = homes.get(number)
            (allotted[home] if home in threads else free).append(number)
        if free:
            stretches = shared_out(
                [self._blocks[number] for number in free], list(threads.values())
            )
            for address, stretch in zip(threads, stretches, strict=True):
                allotted[address] += [free[place] for place in stretch]
        return {address: sorted(group) for address, group in allotted.items() if group}

    def _wait_for_workers(self, gone: Collection[str]) -> dict[str, int]:
        """The workers but those gone; these too if the scheduler keeps them after a while."""
        begun = time.monotonic()
        while True:
            there = self._workers()
            others = {address: n for address, n in there.items() if address not in gone}
            waited = time.monotonic() - begun
            if others or (there and waited > _GRACE):
                return others or there
            if waited > self._timeout:
                raise self._nobody()
            time.sleep(_LOOK / 5)

    def _nobody(self) -> ClusterError:
        return ClusterError(f"no worker is left, and none came within {self._timeout:g} seconds")

    def _wait(self, futures: list[Any]) -> None:
        """Wait until all are done, as long as there is a worker."""
        end = time.monotonic() + self._timeout
        while any(future.status == "pending" for future in futures):
            try:
                with self._client.as_current():
                    wait(futures, timeout=_LOOK)
            except (TimeoutError, CancelledError):
                if self._workers():
                    end = time.monotonic() + self._timeout
            if time.monotonic() > end:
                raise self._nobody()

    def _hold(self, numbers: tuple[int, ...], future: Any) -> _Held | None:
        """The keeper that a future stands for; None if it is lost."""
        if future.status == "error":
            _refuse(future, f"the actor of partitions {numbers[0]} to {numbers[-1]}")
        try:
            with self._client.as_current():  # to which the actor belongs
                actor = future.result(timeout=_ANSWER)
        except (OSError, TimeoutError, CancelledError):
            return None
        return _Held(numbers, future, actor, actor._address)


def _packed(arguments: Any) -> bytes:
    return bytes(pickle.dumps(arguments))


def _at(address: str) -> dict[str, Any]:
    # Other workers are allowed, or tasks of one that dies meanwhile would wait for ever.
    return {"workers": [address], "allow_other_workers": True}


def _is_there(future: Any) -> bool:
    return bool(future.status == "finished")


def _refuse(future: Any, what: str) -> None:
    """Raise the error of a task, unless another try may mend it."""
    error = future.exception(timeout=_ANSWER)
    if isinstance(error, KilledWorker):
        raise ClusterError(f"workers die of {what}, perhaps for want of memory: {error}") from error
    if not isinstance(error, CommClosedError):
        raise error


def _called(held: _Held, call: Callable[[_Held], Any]) -> Any:
    try:
        return call(held)
    except RuntimeError:  # the actor knows that its worker is lost
        return None


def _is_lost(held: _Held, there: dict[str, int]) -> bool:
    return held.address not in there or held.future.status != "finished"


async def _settle(calls: list[Any], seconds: float) -> list[tuple[bool, _Answer | None]]:
    """Which calls are done within some seconds, and the answers of those that were heard."""
    tasks = [asyncio.ensure_future(_heard(call)) for call in calls]
    await asyncio.wait(tasks, timeout=seconds)
    settled = [(task.done(), task.result() if task.done() else None) for task in tasks]
    for task in tasks:
        task.cancel()
    return settled


async def _heard(call: Any) -> _Answer | None:
    try:
        return _Answer(pickle.loads(await call))
    except Exception:  # whatever it is, it is not of the work: that comes as an answer
        return None
