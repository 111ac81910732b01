"""Small instances in exact arithmetic: passes, cycles, traps, and the searches for them."""

import itertools

import numpy as np
import pytest

import naive
from polyceptron.paper.convergence import exact
from polyceptron.paper.convergence.exact import run_search, shipped_cycle

LINE = (((-1.0,), -1), ((0.0,), 1), ((1.0,), -1))


class TestTrap:
    def test_no_sequence_of_rows_gets_out(self):
        chain = exact.explore(*shipped_cycle("trap")[:2], passes=False)
        assert chain == exact.Chain(states=7, trapped=7, free=7, p_never=1.0)

    def test_nor_from_starts_nearby(self):
        first, rows, _ = shipped_cycle("trap")
        near = np.round(np.random.default_rng(0).uniform(-0.1, 0.1, (20, 2, 2)) * 2**10) / 2**10
        for change in near:
            start = tuple(map(tuple, (first + change).tolist()))
            assert exact.explore(start, rows, passes=False).free == 7

    def test_ties_alone_can_trap(self):
        """Whole starts up to 1: some are traps, and all of these have ties."""
        starts = itertools.product(itertools.product((-1.0, 0.0, 1.0), repeat=2), repeat=2)
        chains = [exact.explore(start, LINE, passes=True) for start in starts]
        assert sum(chain.trapped > 0 for chain in chains) == 17
        assert not any(chain.free for chain in chains)


class TestExact:
    @pytest.mark.parametrize("seed", range(5))
    def test_pass_is_the_naive_one(self, seed):
        rng = np.random.default_rng(seed)
        n, d, K = rng.integers(1, 7), rng.integers(1, 4), rng.integers(1, 4)
        X, y = rng.integers(-2, 3, (n, d)), rng.choice([-1, 1], n)
        W, b = rng.integers(-2, 3, (K, d)), rng.integers(-2, 3, K)
        rows = list(zip(map(tuple, X.tolist()), y.tolist(), strict=True))
        got = exact.take_rows(tuple(map(tuple, np.column_stack([W, b]).tolist())), rows)
        W, b, _, updates = naive.online_pass(X, y, np.ones(n), range(n), W, b, 1, 1, 0)
        np.testing.assert_array_equal(got.weights, np.column_stack([W, b]))
        assert len(got.updated) == updates

    def test_ties(self):
        assert exact.take_rows(((0, 0),), [((1,), 1)]).ties  # score 0
        assert exact.take_rows(((0, -1), (0, -1)), [((1,), 1)]).ties  # which hyperplane?
        assert not exact.take_rows(((0, 1), (0, 1)), [((1,), 1)]).ties  # none is updated
        assert not exact.take_rows(((0, -1), (0, 1)), [((1,), 1)]).ties

    def test_linearly_separable_rows_converge(self):
        """Any number of hyperplanes: the sum of all weights obeys the perceptron's bound."""
        record = run_search(("cycles", {"d": 1, "N": 3, "K": 2, "reach": 1, "starts": "unit"}), 0)
        assert record["linear"] > 0
        assert record["linear_cycles"] == 0
        assert record["cycles"] == 140

    def test_two_rows_always_converge(self):
        record = run_search(("cycles", {"d": 1, "N": 2, "K": 2, "reach": 2, "starts": "unit"}), 0)
        assert record["runs"] == record["linear"] > 0
        assert record["cycles"] == 0

    @pytest.mark.parametrize(
        ("labels", "K", "separable"),
        [((-1, 1, -1), 2, True), ((-1, 1, -1), 1, False), ((1, -1, 1), 3, False),
         ((1, 1, -1), 1, True)],
    )  # fmt: skip
    def test_separability(self, labels, K, separable):
        rows = tuple(((x,), y) for x, y in zip((-1, 0, 1), labels, strict=True))
        found = dict(exact.separable_rows(1, 3, K, reach=1))
        assert (rows in found) == separable
        if separable:
            assert found[rows] == (labels != (-1, 1, -1))

    def test_probability_by_walking(self):
        """The chance of a trap from the zero start, against walks of the naive pass."""
        chain = exact.explore(((0.0, 0.0), (0.0, 0.0)), LINE, passes=True)
        assert chain.p_never == pytest.approx(6 / 49)
        rng, never, n = np.random.default_rng(0), 0, 100
        X, y = np.array([[-1.0], [0.0], [1.0]]), np.array([-1, 1, -1])
        for _ in range(n):
            W, b, updates = np.zeros((2, 1)), np.zeros(2), 1
            for _ in range(60):
                order = rng.permutation(3)
                W, b, _, updates = naive.online_pass(X, y, np.ones(3), order, W, b, 1, 1, 0)
                if updates == 0:
                    break
            never += updates > 0
        assert abs(never / n - chain.p_never) < 4 * np.sqrt(chain.p_never / n)
