"""Exhaustive searches of small integer instances: which cycle, and which no order can save."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
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


def _cycles(d: int, N: int, K: int, reach: int, starts: str = "unit") -> SearchTask:
    return "cycles", {"d": d, "N": N, "K": K, "reach": reach, "starts": starts}


def list_searches(*, quick: bool) -> list[SearchTask]:
    """The searches of a study, in order."""
    found: list[SearchTask] = [("replay", {"variant": variant}) for variant in VARIANTS]
    found += [
        _cycles(1, 2, 2, 3),
        _cycles(1, 3, 2, 1),
        ("orders", {"K": 2, "reach": 1, "starts": "unit"}),
        ("random starts", {"n": 100 if quick else 1000, "biases": False}),
    ]
    if quick:
        return found
    return [
        *found,
        ("random starts", {"n": 1000, "biases": True}),
        _cycles(1, 3, 2, 2),
        _cycles(1, 3, 3, 1),
        _cycles(1, 4, 2, 2),
        _cycles(2, 3, 2, 1, "zero"),
        _cycles(2, 4, 2, 1, "zero"),
        _cycles(2, 4, 3, 1, "zero"),
        ("orders", {"K": 2, "reach": 2, "starts": "unit"}),
        ("orders", {"K": 2, "reach": 1, "starts": "halves"}),
    ]


def run_search(search: SearchTask, seed: int) -> dict[str, Any]:
    """Do one search: its record."""
    name, arguments = search
    kinds: dict[str, Callable[..., dict[str, Any]]] = {
        "replay": _replay,
        "cycles": _count_cycles,
        "orders": _count_traps,
        "random starts": _random_starts,
    }
    extra = {"seed": seed} if name == "random starts" else {}
    return {"search": name, **arguments, **kinds[name](**arguments, **extra)}


def shipped_cycle(variant: str) -> tuple[Weights, list[LabelledPoint], int]:
    """Start, rows and length of the cycle of an example of `load_cycle`."""
    bunch = load_cycle(ties=variant == "smallest", trap=variant == "trap")
    rows = [(tuple(x), int(y)) for x, y in zip(bunch.data.tolist(), bunch.target, strict=True)]
    return tuple(map(tuple, bunch.start.tolist())), rows, bunch.cycle_length


def _replay(variant: str) -> dict[str, Any]:
    """A shipped example, followed in its order and in every other."""
    start, rows, _ = shipped_cycle(variant)
    shuffled, anyhow = exact.reshuffled(start, rows), exact.any_sequence(start, rows)
    assert shuffled is not None
    assert anyhow is not None
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
    runs = linear = cycles = linear_cycles = without_ties = longest = 0
    smallest: tuple[Any, ...] | None = None
    for rows, one in exact.separable_rows(d, N, K, reach):
        for order in itertools.permutations(rows):
            for start in _starts(starts, d, K):
                fate = exact.follow(start, order)
                runs += 1
                linear += one
                if not fate.length:
                    continue
                cycles += 1
                linear_cycles += one
                without_ties += not (fate.ties or fate.ties_before)
                longest = max(longest, fate.length)
                size = sum(abs(value) for w in start for value in w)
                found = (size, fate.reached + fate.length, start, order, fate)
                if smallest is None or found[:4] < smallest[:4]:
                    smallest = found
    return {
        "runs": runs,
        "linear": linear,
        "cycles": cycles,
        "linear_cycles": linear_cycles,
        "without_ties": without_ties,
        "longest": longest,
        "example": None if smallest is None else _example(*smallest[2:]),
    }


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
            assert chain is not None
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
        assert chain is not None
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
