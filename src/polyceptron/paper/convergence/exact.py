"""Small instances of online Polyceptron settled exactly, and searches through all of them.

Algorithm 2 with step 1 and the rows [x, 1]. Weights never leave a bounded region (each
hyperplane is corrected only by rows that it has on the wrong side: the perceptron cycling
theorem), so on integer rows they take finitely many values: in a fixed order a run converges or
comes back to weights it had, and in a random order it is a finite Markov chain. Numbers are
small halves and integers, which Python's floats hold exactly.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron.datasets import load_cycle
from polyceptron.utils.types import Floats

Weights = tuple[tuple[float, ...], ...]
"""One tuple (w_k, b_k) for each hyperplane."""
LabelledPoint = tuple[tuple[float, ...], int]
"""A point and its label, -1 or +1."""
SearchTask = tuple[str, dict[str, Any]]
"""What is done, and its arguments: the beginning of its record."""

# Features, rows, hyperplanes and reach of the points, and the starts; a quick study has two.
_CYCLES = (
    (1, 2, 2, 3, "unit"), (1, 3, 2, 1, "unit"), (1, 3, 2, 2, "unit"), (1, 3, 3, 1, "unit"),
    (1, 4, 2, 2, "unit"), (2, 3, 2, 1, "zero"), (2, 4, 2, 1, "zero"), (2, 4, 3, 1, "zero"),
)  # fmt: skip


class Pass(NamedTuple):
    """Weights after some rows, the hyperplanes updated on the way, and whether there were ties.

    A tie is a row that scored exactly 0, or an update that had a choice of hyperplanes.
    """

    weights: Weights
    updated: list[int]
    ties: bool


def take_rows(weights: Weights, rows: Iterable[LabelledPoint]) -> Pass:
    """Take these rows in this order."""
    W = [list(w) for w in weights]
    updated, ties = [], False
    for x, y in rows:
        scores = [sum(a * b for a, b in zip(w, x, strict=False)) + w[-1] for w in W]
        h = min(scores)
        wrong = y * h <= 0
        ties |= h == 0 or (wrong and scores.count(h) > 1)
        if wrong:
            r = scores.index(h)
            for j, x_j in enumerate(x):
                W[r][j] += y * x_j
            W[r][-1] += y
            updated.append(r)
    return Pass(tuple(map(tuple, W)), updated, ties)


def follow(weights: Weights, rows: Sequence[LabelledPoint]) -> tuple[int, bool]:
    """Passes in this order: those of the cycle that they come to, 0 if they converge, and ties."""
    seen: dict[Weights, int] = {}
    ties = False
    while weights not in seen:
        seen[weights] = len(seen)
        step = take_rows(weights, rows)
        if not step.updated:
            return 0, ties
        weights, ties = step.weights, ties or step.ties
    return len(seen) - seen[weights], ties


class Chain(NamedTuple):
    """What can become of a run whose order is drawn anew.

    ``states`` weights can be reached, ``trapped`` of them have no way to convergence any more,
    and ``free`` of these are safe from ties for ever. The run never converges with probability
    ``p_never``.
    """

    states: int
    trapped: int
    free: int
    p_never: float


def explore(start: Weights, rows: Sequence[LabelledPoint], *, passes: bool) -> Chain:
    """The chain of ``passes`` in random order, or of single rows drawn at random.

    A trap among single rows is one for every sequence of rows.
    """
    moves = list(itertools.permutations(rows)) if passes else [(row,) for row in rows]
    found, place = [start], {start: 0}
    after: list[list[int]] = []
    tied, ended = [], []
    for weights in found:  # grows
        steps = [take_rows(weights, rows) for rows in moves]
        for step in steps:
            if step.weights not in place:
                place[step.weights] = len(found)
                found.append(step.weights)
        after.append([place[step.weights] for step in steps])
        tied.append(any(step.ties for step in steps))
        ended.append(not any(step.updated for step in steps))  # all rows are right
    n, ends = len(found), np.array(ended)
    P = np.zeros((n, n))
    np.add.at(P, (np.repeat(np.arange(n), len(moves)), np.ravel(after)), 1 / len(moves))
    trapped = ~_leading_to(ends, P)
    free = trapped & ~_leading_to(trapped & tied, P)
    between = ~ends & ~trapped
    never = trapped.astype(float)
    Q, into = P[np.ix_(between, between)], P[np.ix_(between, trapped)].sum(axis=1)
    never[between] = np.linalg.solve(np.eye(len(Q)) - Q, into)
    return Chain(n, int(trapped.sum()), int(free.sum()), float(never[0]))


def _leading_to(goal: NDArray[np.bool_], P: Floats) -> NDArray[np.bool_]:
    """From which states of a chain the goal can be reached."""
    found = goal
    while (more := found | (P @ found > 0)).sum() > found.sum():
        found = more
    return found


def separable_rows(
    d: int, n: int, K: int, reach: int
) -> Iterator[tuple[tuple[LabelledPoint, ...], bool]]:
    """Sets of n integer points of [-reach, reach]^d with every labelling that K hyperplanes part.

    Points are different, both classes are there, and each set comes once, with whether one
    hyperplane would do.
    """
    cube = list(itertools.product(range(-reach, reach + 1), repeat=d))
    for points in itertools.combinations(cube, n):
        cuts = _cuts(points, d, reach)
        for labels in itertools.product((-1, 1), repeat=n):
            if abs(sum(labels)) < n and _separate(cuts, labels, K):
                yield tuple(zip(points, labels, strict=True)), _separate(cuts, labels, 1)


def _cuts(points: Sequence[tuple[int, ...]], d: int, reach: int) -> set[tuple[bool, ...]]:
    """Which points one hyperplane can have on its positive side.

    Weights up to 3 give all of them on a line, and in the plane for reach 1: there lies one
    between any two directions that are perpendicular to a difference of points.
    """
    found = set()
    for w in itertools.product(range(-3, 4), repeat=d):
        at = [sum(a * b for a, b in zip(w, x, strict=True)) for x in points]
        for twice in range(-6 * d * reach - 1, 6 * d * reach + 2, 2):
            found.add(tuple(2 * value > twice for value in at))
    return found


def _separate(cuts: set[tuple[bool, ...]], labels: Sequence[int], K: int) -> bool:
    """Do K cuts leave no negative row, and every positive one?"""
    useful = {
        frozenset(i for i, side in enumerate(cut) if not side)
        for cut in cuts
        if all(side for side, y in zip(cut, labels, strict=True) if y > 0)
    }
    negative = {i for i, y in enumerate(labels) if y < 0}
    return any(
        frozenset().union(*some) == negative
        for some in itertools.combinations_with_replacement(useful, K)
    )


def list_searches(*, quick: bool) -> list[SearchTask]:
    """The searches of a study, in order."""
    names = ("d", "N", "K", "reach", "starts")
    counted = _CYCLES[:2] if quick else _CYCLES
    found: list[SearchTask] = [("replay", {"variant": v}) for v in ("smallest", "no ties", "trap")]
    found += [("cycles", dict(zip(names, one, strict=True))) for one in counted]
    n, kinds = (100, [False]) if quick else (1000, [False, True])
    return found + [("random starts", {"n": n, "biases": biases}) for biases in kinds]


def run_search(search: SearchTask, seed: int) -> dict[str, Any]:
    """Do one search: its record."""
    name, arguments = search
    kinds: dict[str, Callable[..., dict[str, Any]]] = {
        "replay": _replay,
        "cycles": _count_cycles,
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
    length, ties = follow(start, rows)
    shuffled, anyhow = (explore(start, rows, passes=passes) for passes in (True, False))
    return {
        "points": [list(x) for x, _ in rows],
        "labels": [y for _, y in rows],
        "start": [list(w) for w in start],
        "length": length,
        "ties": ties,
        "states": shuffled.states,
        "trapped": shuffled.trapped,
        "trapped_without_ties": shuffled.free,
        "p_never": round(shuffled.p_never, 6),
        "converges_in_no_sequence": anyhow.trapped == anyhow.states,
    }


def _count_cycles(d: int, N: int, K: int, reach: int, starts: str) -> dict[str, Any]:
    """Every separable set in every order from every start: how many never converge."""
    values = {"zero": (0.0,), "unit": (-1.0, 0.0, 1.0)}[starts]
    vectors = list(itertools.product(values, repeat=d + 1))
    found, longest = Counter[str](), 0
    for rows, linear in separable_rows(d, N, K, reach):
        orders, firsts = itertools.permutations(rows), itertools.product(vectors, repeat=K)
        for order, start in itertools.product(orders, firsts):
            length, ties = follow(start, order)
            cycles = length > 0
            found["runs"] += 1
            found["linear"] += linear
            found["cycles"] += cycles
            found["linear_cycles"] += cycles and linear
            found["without_ties"] += cycles and not ties
            longest = max(longest, length)
    return {**found, "longest": longest}


def _random_starts(n: int, biases: bool, seed: int) -> dict[str, Any]:
    """The three points from Gaussian starts, as the learner's own, in every order."""
    rng = np.random.default_rng([seed, n, int(biases)])
    rows = [((-1.0,), -1), ((0.0,), 1), ((1.0,), -1)]
    cycles, chains = 0, []
    for _ in range(n):
        W = np.round(rng.standard_normal((2, 2)) * 2.0**16) / 2.0**16
        if not biases:
            W[:, 1] = 0.0
        start: Weights = tuple(map(tuple, W.tolist()))
        cycles += sum(follow(start, order)[0] > 0 for order in itertools.permutations(rows))
        chains.append(explore(start, rows, passes=True))
    return {
        "runs": 6 * n,
        "cycles": cycles,
        "chains": n,
        "trap_possible": sum(chain.trapped > 0 for chain in chains),
        "never": sum(chain.p_never == 1 for chain in chains),
        "p_never": round(sum(chain.p_never for chain in chains) / n, 6),
    }
