"""The linear programs of PC-SLP with warm starts against ``linprog`` called afresh."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from benchmarks.registry import Bar, Measurement, Sizes, benchmark
from benchmarks.timing import in_turns
from polyceptron.data.source import ArraySource
from polyceptron.data.training import TrainingData
from polyceptron.datasets import load_breast_cancer, load_ionosphere, make_dataset1, make_dataset2
from polyceptron.learners.pcslp.learner import PCSLP
from polyceptron.learners.pcslp.programs import MergedRows, SeparationLP

Programs = list[NDArray]
"""The responsible hyperplanes of one program after the other."""
SEEDS = range(3)


def _sequences(X, y, K: int) -> tuple[MergedRows, list[Programs]]:
    """The programs that fits with the defaults solve, and the rows they are about."""
    fits: list[Programs] = []
    solve = SeparationLP.solve

    def recorded(self, responsible, which):
        fits[-1].append(responsible.copy())
        return solve(self, responsible, which)

    with mock.patch.object(SeparationLP, "solve", recorded):
        for seed in SEEDS:
            fits.append([])
            model = PCSLP(K, random_state=seed).fit(X, y)
    source = ArraySource(X, y)
    training = TrainingData.of(source, **model._training_options(source))
    return model._classes(training), fits


def _warm(rows: MergedRows, K: int, fits: list[Programs]) -> Callable[[], list]:
    """One model for all programs of a fit, its making included."""

    def run():
        found = []
        for programs in fits:
            lp = SeparationLP(rows, K)
            found += [lp.solve(responsible, "") for responsible in programs]
        return found

    return run


def _one_model_each(rows: MergedRows, K: int, programs: Programs) -> Callable[[], list]:
    return lambda: [SeparationLP(rows, K).solve(responsible, "") for responsible in programs]


def _afresh(rows: MergedRows, K: int, programs: Programs) -> Callable[[], list]:
    """The program as the paper writes it; the rows of the inside class are stacked only once."""
    A, B = (
        sparse.hstack([X, np.ones((X.shape[0], 1))], format="csr")
        for X in (rows.inside, rows.outside)
    )
    (a, m), b = A.shape, B.shape[0]
    top = sparse.hstack(
        [
            -sparse.block_diag([A] * K),
            sparse.vstack([-sparse.eye(a)] * K),
            sparse.csr_matrix((K * a, b)),
        ]
    ).tocsr()
    cost = np.concatenate([np.zeros(K * m), rows.inside_cost, rows.outside_cost])
    bounds = [(None, None)] * (K * m) + [(0, None)] * (a + b)

    def solve(responsible):
        shifted = sparse.csr_matrix(
            (B.data, B.indices + np.repeat(responsible * m, np.diff(B.indptr)), B.indptr),
            (b, K * m),
        )
        bottom = sparse.hstack([shifted, sparse.csr_matrix((b, a)), -sparse.eye(b)])
        A_ub = sparse.vstack([top, bottom]).tocsr()
        found = linprog(cost, A_ub, -np.ones(K * a + b), bounds=bounds, method="highs")
        return found.fun

    return lambda: [solve(responsible) for responsible in programs]


def _check_same_optima(rows: MergedRows, programs: Programs, ours: list, values: list) -> None:
    """Every program of both sides has the same least error."""
    for responsible, (W, b), value in zip(programs, ours, values, strict=True):
        u = np.maximum(1 - (rows.inside @ W.T + b).min(axis=1), 0)
        own = (rows.outside @ W.T + b)[np.arange(len(responsible)), responsible]
        found = rows.inside_cost @ u + rows.outside_cost @ np.maximum(1 + own, 0)
        np.testing.assert_allclose(found, value, atol=1e-6)


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.0f} ms"


@benchmark
def pcslp(sizes: Sizes) -> Iterator[Measurement]:
    """The same linear programs in the same order, solved in three ways."""
    sets = {
        "Dataset 1": (*make_dataset1(random_state=0, return_X_y=True), 3),
        "Dataset 2": (*make_dataset2(random_state=0, return_X_y=True), 4),
        "Ionosphere": (*load_ionosphere(return_X_y=True), 2),
        "Breast-Cancer": (*load_breast_cancer(return_X_y=True), 2),
    }
    for name, (X, y, K) in sets.items():
        if sizes.quick and name == "Dataset 2":
            continue
        rows, fits = _sequences(X, y, K)
        programs = [responsible for of_fit in fits for responsible in of_fit]
        warm, afresh = _warm(rows, K, fits), _afresh(rows, K, programs)
        _check_same_optima(rows, programs, warm(), afresh())
        sides = {
            "warm": warm,
            "linprog": afresh,
            "one model each": _one_model_each(rows, K, programs),
        }
        # Seconds long: by the clock of the process.
        t = in_turns(sides, sizes.rounds(2), time.process_time)
        yield Measurement(
            f"PC-SLP's linear programs on {name}: linprog afresh ÷ warm starts",
            t["linprog"] / t["warm"],
            Bar(">=", 3.0),
            {side: t[side] for side in ("linprog", "warm")},
            f"{len(programs)} programs of {len(fits)} fits, {_ms(t['linprog'])} and "
            f"{_ms(t['warm'])}; our model made anew for each {_ms(t['one model each'])}",
        )
