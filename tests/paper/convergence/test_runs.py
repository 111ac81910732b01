"""Runs of the study are exact: the naive passes, and cycles and traps only where there are some."""

import dataclasses
import itertools

import numpy as np
import pytest

import naive
from polyceptron.datasets import load_cycle
from polyceptron.optim.planes import Planes
from polyceptron.paper.convergence import exact, runs
from polyceptron.paper.convergence.runs import (
    ROW_ORDERS,
    Cell,
    Instance,
    draw_instance,
    exact_passes,
    find_trap,
    follow_run,
)

LINE = (((-1.0,), -1), ((0.0,), 1), ((1.0,), -1))
SMALL = Cell(d=2, K=3, margin=0.05, N=30, digits=6)
FIXED, SHUFFLED = ((SMALL, 0, order) for order in ROW_ORDERS)


def instance_of(X, y, start, digits=1):
    X, start = np.array(X, dtype=float), np.array(start, dtype=float)
    planes = Planes.of(start[:, :-1].copy(), start[:, -1].copy())
    return Instance(X, np.array(y, np.int8), planes, None, 0, digits)


class TestRuns:
    @pytest.mark.parametrize("digits", [4, 16])
    def test_sets_keep_their_promises(self, digits):
        cell = Cell(d=3, K=4, margin=0.1, N=50, digits=digits)
        instance = draw_instance(cell, run=1, seed=2)
        assert instance.X.shape == (50, 3)
        assert (instance.y * instance.truth.decision(instance.X) >= 0.1).all()
        assert instance.truth.n_faces == 4
        np.testing.assert_allclose(np.linalg.norm(instance.truth.W, axis=1), 1)
        for numbers in (instance.X, *instance.start.arrays()):
            grid = numbers * 2.0**digits
            np.testing.assert_array_equal(grid, np.round(grid))

    def test_a_grid_too_coarse(self, monkeypatch):
        monkeypatch.setattr(runs, "_on_grid", lambda values, _digits: np.zeros_like(values))
        with pytest.raises(ValueError, match="keep their margin"):
            draw_instance(SMALL, 0, 0)

    @pytest.mark.parametrize("order", ROW_ORDERS)
    def test_run_is_the_naive_one(self, order):
        instance = draw_instance(SMALL, 1, seed=0)
        got = follow_run(instance, (SMALL, 1, order), limit=40)
        n = len(instance.y)
        W, b = instance.start.arrays()
        total = passes = 0
        updates = 1
        while updates and passes < got.passes:
            rows = range(n)
            if order == "shuffled":
                rows = naive.shuffle(n, (instance.seed << 32) + passes)
            W, b, _, updates = naive.online_pass(
                instance.X, instance.y, np.ones(n), rows, W, b, 1.0, 1.0, 0.0
            )
            passes, total = passes + 1, total + updates
        assert (got.passes, got.updates, got.converged) == (passes, total, updates == 0)
        wrong = (naive.decide(instance.X, W, b) >= 0) != (instance.y > 0)
        assert got.mistakes == wrong.sum()

    def test_too_long_for_exact_arithmetic(self):
        instance = draw_instance(Cell(d=2, K=2, margin=0.1, N=30, digits=20), 0, 0)
        follow_run(instance, FIXED, 2000)
        with pytest.raises(ValueError, match="53 bits"):
            follow_run(instance, FIXED, 10**9)

    def test_planted_trap_is_found(self):
        bunch = load_cycle(trap=True)
        got = follow_run(instance_of(bunch.data, bunch.target, bunch.start), SHUFFLED, 100)
        assert (got.converged, got.cycle, got.trap, got.moving) == (False, None, 7, 1)

    def test_trap_is_one_where_no_sequence_of_rows_gets_out(self):
        for start in itertools.product((-1.5, 0.0, 1.5), repeat=4):
            weights = (start[:2], start[2:])
            chain = exact.explore(weights, LINE, passes=False)
            X, y = zip(*LINE, strict=True)
            instance = instance_of(X, y, weights)
            found = find_trap(instance, instance.start)
            assert found == (chain.states if chain.trapped == chain.states else None)
            assert find_trap(instance, instance.start, most=1) is None

    def test_random_set_with_a_trap(self):
        """A reshuffled run of the study, from the learner's own start, that never converges."""
        instance = draw_instance(Cell(d=2, K=3, margin=0.05, N=30, digits=3), run=15, seed=0)
        for planes, updates in exact_passes(instance, "shuffled"):
            assert updates > 0
            if find_trap(instance, planes, most=100) is not None:
                break
        weights = tuple(map(tuple, planes.rows().tolist()))
        rows = list(zip(map(tuple, instance.X.tolist()), instance.y.tolist(), strict=True))
        chain = exact.explore(weights, rows, passes=False)
        assert chain.trapped == chain.free == chain.states
        others = [dataclasses.replace(instance, seed=seed) for seed in range(20)]
        assert 0 < sum(follow_run(other, SHUFFLED, 1000).converged for other in others) < 20

    def test_every_small_run_ends_as_the_exact_one(self):
        """All whole starts up to 1 in all orders: the same verdict."""
        for start in itertools.product((-1.0, 0.0, 1.0), repeat=4):
            weights = (start[:2], start[2:])
            for rows in itertools.permutations(LINE):
                length, _ = exact.follow(weights, rows)
                X, y = zip(*rows, strict=True)
                got = follow_run(instance_of(X, y, weights), FIXED, 100)
                assert got.converged == (length == 0)
                assert (got.cycle or 0) == length

    def test_cycle_of_one_pass(self):
        X, y = [[-1, -1], [-1, 0], [0, 0], [0, -1]], [-1, 1, -1, 1]
        got = follow_run(instance_of(X, y, np.zeros((2, 3))), FIXED, 100)
        assert (got.cycle, got.moving) == (1, 1)

    def test_cycles_are_claimed_where_the_weights_come_back(self):
        cycles = 0
        for run in range(25):
            instance = draw_instance(SMALL, run, seed=0)
            got = follow_run(instance, FIXED, 3000)
            assert (got.mistakes == 0) >= got.converged
            if got.cycle:
                cycles += 1
                passes = itertools.islice(exact_passes(instance, "fixed"), got.passes)
                seen = [planes.rows() for planes, _ in passes]
                np.testing.assert_array_equal(seen[-1], seen[-1 - got.cycle])
        assert cycles > 0
