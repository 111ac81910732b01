"""Exhaustive searches of small integer instances: which cycle, and which no order can save."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from polyceptron.datasets import load_cycle
from polyceptron.paper.convergence import exact
from polyceptron.paper.convergence.exact import Fate, LabelledPoint, Weights

SearchTask = tuple[str, dict[str, Any]]
"""What is done, and its arguments: the beginning of its record."""

VARIANTS = ("smallest", "no ties", "trap")
_DIGITS = 16
# What every weight of a start may be.
_VALUES = {
    "zero": (0.0,),
    "unit": (-1.0, 0.0, 1.0),
    "halves": tuple(value / 2 for value in range(-4, 5)),
}
# By `quick`: features, rows, hyperplanes and reach of the points, and the starts.
_CYCLES = {
    True: [(1, 2, 2, 3, "unit"), (1, 3, 2, 1, "unit")],
    False: [
        (1, 3, 2, 2, "unit"), (1, 3, 3, 1, "unit"), (1, 4, 2, 2, "unit"), (2, 3, 2, 1, "zero"),
        (2, 4, 2, 1, "zero"), (2, 4, 3, 1, "zero"),
    ],
}  # fmt: skip


def list_searches(*, quick: bool) -> list[SearchTask]:
    """The searches of a study, in order."""

    def cycles(quick: bool) -> list[SearchTask]:
        names = ("d", "N", "K", "reach", "starts")
        return [("cycles", dict(zip(names, one, strict=True))) for one in _CYCLES[quick]]

    def orders(reach: int, starts: str) -> SearchTask:
        return "orders", {"K": 2, "reach": reach, "starts": starts}

    found: list[SearchTask] = [("replay", {"variant": variant}) for variant in VARIANTS]
    found += [*cycles(True), orders(1, "unit")]
    found += [("random starts", {"n": 100 if quick else 1000, "biases": False})]
    if quick:
        return found
    found += [("random starts", {"n": 1000, "biases": True}), *cycles(False)]
    return [*found, orders(2, "unit"), orders(1, "halves")]


def run_search(search: SearchTask, seed: int) -> dict[str, Any]:
    """Do one search: its record."""
    name, arguments = search
    kinds: dict[str, Callable[..., dict[str, Any]]] = {
        "replay": _replay,
        "cycles": _count_cycles,
        "orders": _count_traps,
        "random starts": partial(_random_starts, seed=seed),
    }
    return {"search": name, **arguments, **kinds[name](**arguments)}


def shipped_cycle(variant: str) -> tuple[Weights, list[LabelledPoint], int]:
    """Start, rows and length of the cycle of an example of `load_cycle`."""
    bunch = load_cycle(ties=variant == "smallest", trap=variant == "trap")
    rows = [(tuple(x), int(y)) for x, y in zip(bunch.data.tolist(), bunch.target, strict=True)]
    return tuple(map(tuple, bunch.start.tolist())), rows, bunch.cycle_length


def _replay(variant: str) -> dict[str, Any]:
    """A shipped example, followed in its order and in every other."""
    start, rows, _ = shipped_cycle(variant)
    shuffled, anyhow = exact.reshuffled(start, rows), exact.any_sequence(start, rows)
    return {
        **_example(start, rows, exact.follow(start, rows)),
        "states": shuffled.states,
        "trapped": shuffled.trapped,
        "trapped_without_ties": shuffled.free,
        "p_never": round(shuffled.p_never, 6),
        "converges_in_no_sequence": anyhow.trapped == anyhow.states,
    }


def _count_cycles(d: int, N: int, K: int, reach: int, starts: str) -> dict[str, Any]:
    """Every separable set in every order from every start: how many never converge."""
    names = ("runs", "linear", "cycles", "linear_cycles", "without_ties", "longest")
    found: dict[str, Any] = dict.fromkeys(names, 0)
    smallest: tuple[Any, ...] | None = None
    for rows, one in exact.separable_rows(d, N, K, reach):
        for order, start in itertools.product(itertools.permutations(rows), _starts(starts, d, K)):
            fate = exact.follow(start, order)
            found["runs"] += 1
            found["linear"] += one
            if not fate.length:
                continue
            found["cycles"] += 1
            found["linear_cycles"] += one
            found["without_ties"] += not (fate.ties or fate.ties_before)
            found["longest"] = max(found["longest"], fate.length)
            size = sum(abs(value) for w in start for value in w)
            this = (size, fate.reached + fate.length, start, order, fate)
            if smallest is None or this[:4] < smallest[:4]:
                smallest = this
    return {**found, "example": None if smallest is None else _example(*smallest[2:])}


def _example(start: Weights, rows: Sequence[LabelledPoint], fate: Fate) -> dict[str, Any]:
    return {
        "points": [list(x) for x, _ in rows],
        "labels": [y for _, y in rows],
        "start": [list(w) for w in start],
        "reached": fate.reached,
        "length": fate.length,
        "ties": fate.ties or fate.ties_before,
        "moving": fate.moving,
    }


def _count_traps(K: int, reach: int, starts: str) -> dict[str, Any]:
    """Every set - + - of a line in random order: from which starts may it never converge?"""
    chains = sure = never = without_ties = 0
    for points in itertools.combinations(range(-reach, reach + 1), 3):
        rows = [((float(x),), y) for x, y in zip(points, (-1, 1, -1), strict=True)]
        for start in _starts(starts, 1, K):
            chain = exact.reshuffled(start, rows)
            chains += 1
            sure += chain.trapped == 0
            never += chain.p_never == 1
            without_ties += chain.free > 0
    return {
        "chains": chains,
        "sure": sure,
        "never": never,
        "trap_possible": chains - sure,
        "trap_without_ties": without_ties,
    }


def _random_starts(n: int, biases: bool, seed: int) -> dict[str, Any]:
    """The three points from Gaussian starts, as the learner's own, in every order."""
    rng = np.random.default_rng([seed, n, int(biases)])
    rows = [((-1.0,), -1), ((0.0,), 1), ((1.0,), -1)]
    cycles = traps = never = 0
    p_never = 0.0
    for _ in range(n):
        W = np.round(rng.standard_normal((2, 2)) * 2**_DIGITS) / 2**_DIGITS
        if not biases:
            W[:, 1] = 0.0
        start: Weights = tuple(map(tuple, W.tolist()))
        fates = [exact.follow(start, order) for order in itertools.permutations(rows)]
        chain = exact.reshuffled(start, rows)
        cycles += sum(fate.length > 0 for fate in fates)
        traps += chain.trapped > 0
        never += chain.p_never == 1
        p_never += chain.p_never
    return {
        "runs": 6 * n,
        "cycles": cycles,
        "chains": n,
        "trap_possible": traps,
        "never": never,
        "p_never": round(p_never / n, 6),
    }


def _starts(kind: str, d: int, K: int) -> Iterator[Weights]:
    vectors = list(itertools.product(_VALUES[kind], repeat=d + 1))
    yield from itertools.product(vectors, repeat=K)
