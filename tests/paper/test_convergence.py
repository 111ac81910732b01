"""The open question: runs are exact, cycles are real, and the study survives a kill."""

import dataclasses
import gzip
import itertools
import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import naive
from polyceptron import OnlinePolyceptron
from polyceptron.datasets import load_cycle
from polyceptron.optim.planes import Planes
from polyceptron.paper import convergence
from polyceptron.paper.convergence import exact, runs, searches, study
from polyceptron.paper.convergence.runs import Cell, Instance, Key
from polyceptron.paper.convergence.summary import wilson
from polyceptron.paper.journal import JournalError

VARIANTS = {"smallest": {}, "no ties": {"ties": False}, "trap": {"trap": True}}
LINE = (((-1.0,), -1), ((0.0,), 1), ((1.0,), -1))
SMALL = Cell(d=2, K=3, margin=0.05, N=30, digits=6)


def rows_of(bunch):
    return [(tuple(x), y) for x, y in zip(bunch.data.tolist(), bunch.target.tolist(), strict=True)]


def weights_of(start):
    return tuple(tuple(float(value) for value in row) for row in start)


def instance_of(X, y, start, digits=1):
    X, start = np.array(X, dtype=float), np.array(start, dtype=float)
    planes = Planes.of(start[:, :-1].copy(), start[:, -1].copy())
    return Instance(X, np.array(y, np.int8), planes, None, 0, digits)


def learn(bunch, max_iter, **options):
    model = OnlinePolyceptron(
        2, init=bunch.start, n_init=1, standardize=False, pocket=False, max_iter=max_iter, **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(bunch.data, bunch.target)


@pytest.mark.parametrize("variant", VARIANTS)
class TestCycle:
    def test_is_separable(self, variant):
        bunch = load_cycle(**VARIANTS[variant])
        inside = bunch.polyhedron.contains(bunch.data)
        np.testing.assert_array_equal(inside, bunch.target == 1)
        assert bunch.polyhedron.n_faces == bunch.n_hyperplanes == len(bunch.start)

    def test_whole_numbers_come_back(self, variant):
        """Everything doubled is whole, so that Python's own integers do the replay."""
        bunch = load_cycle(**VARIANTS[variant])
        start = [[round(2 * value) for value in row] for row in bunch.start.tolist()]
        W = [list(row) for row in start]
        for _ in range(3):
            for _ in range(bunch.cycle_length):
                updates = 0
                for x, y in zip(bunch.data.ravel().tolist(), bunch.target.tolist(), strict=True):
                    scores = [w * int(x) + b for w, b in W]
                    r = scores.index(min(scores))
                    if y * scores[r] <= 0:
                        W[r] = [W[r][0] + 2 * y * int(x), W[r][1] + 2 * y]
                        updates += 1
                assert updates > 0
            assert start == W

    @pytest.mark.parametrize("rounds", [1, 2, 500])
    def test_learner_comes_back(self, variant, rounds):
        bunch = load_cycle(**VARIANTS[variant])
        model = learn(bunch, rounds * bunch.cycle_length, shuffle=False)
        W, b = model._state.planes.arrays()
        np.testing.assert_array_equal(np.column_stack([W, b]), bunch.start)
        assert not model.converged_
        assert (model.history_["updates"] > 0).all()
        # Never all rows right: at no end of a pass, in the paper's own stopping rule.
        assert (learn(bunch, 1, shuffle=False).predict(bunch.data) != bunch.target).any()

    def test_as_the_search_says(self, variant):
        bunch = load_cycle(**VARIANTS[variant])
        start, rows = weights_of(bunch.start), rows_of(bunch)
        fate = exact.follow(start, rows)
        assert (fate.reached, fate.length, fate.moving) == (0, bunch.cycle_length, 1)
        assert fate.ties == (variant == "smallest")
        assert "3 points" in bunch.DESCR

    def test_shuffled(self, variant):
        bunch = load_cycle(**VARIANTS[variant])
        converged = [
            learn(bunch, 300, shuffle=True, random_state=seed).converged_ for seed in range(40)
        ]
        chain = exact.reshuffled(weights_of(bunch.start), rows_of(bunch))
        if variant == "smallest":
            assert 0 < chain.p_never < 1
            assert 0 < sum(converged) < 40
        else:
            assert chain.p_never == (variant == "trap")
            assert set(converged) == {variant == "no ties"}

    def test_forms(self, variant):
        bunch = load_cycle(**VARIANTS[variant], as_frame=True)
        X, y = load_cycle(**VARIANTS[variant], return_X_y=True)
        np.testing.assert_array_equal(bunch.data.to_numpy(), X)
        np.testing.assert_array_equal(bunch.target, y)


class TestTrap:
    def test_no_sequence_of_rows_gets_out(self):
        bunch = load_cycle(trap=True)
        chain = exact.any_sequence(weights_of(bunch.start), rows_of(bunch))
        assert chain == exact.Chain(states=7, trapped=7, free=7, p_never=1.0)

    def test_nor_from_starts_nearby(self):
        bunch = load_cycle(trap=True)
        near = np.round(np.random.default_rng(0).uniform(-0.1, 0.1, (20, 2, 2)) * 2**10) / 2**10
        for change in near:
            start = weights_of(bunch.start + change)
            assert exact.any_sequence(start, rows_of(bunch)).free == 7

    def test_ties_alone_can_trap(self):
        """Whole starts up to 1: some are traps, and all of these have ties."""
        record = searches.work(("orders", {"K": 2, "reach": 1, "starts": "unit"}), 0)
        assert record["trap_possible"] == 17
        assert record["trap_without_ties"] == 0


class TestExact:
    @pytest.mark.parametrize("seed", range(20))
    def test_pass_is_the_naive_one(self, seed):
        rng = np.random.default_rng(seed)
        n, d, K = rng.integers(1, 7), rng.integers(1, 4), rng.integers(1, 4)
        X, y = rng.integers(-2, 3, (n, d)), rng.choice([-1, 1], n)
        W, b = rng.integers(-2, 3, (K, d)), rng.integers(-2, 3, K)
        rows = list(zip(map(tuple, X.tolist()), y.tolist(), strict=True))
        got = exact.take(tuple(map(tuple, np.column_stack([W, b]).tolist())), rows)
        W, b, _, updates = naive.online_pass(X, y, np.ones(n), range(n), W, b, 1, 1, 0)
        np.testing.assert_array_equal(got.weights, np.column_stack([W, b]))
        assert len(got.updated) == updates

    def test_ties(self):
        assert exact.take(((0, 0),), [((1,), 1)]).ties  # score 0
        assert exact.take(((0, -1), (0, -1)), [((1,), 1)]).ties  # which hyperplane?
        assert not exact.take(((0, 1), (0, 1)), [((1,), 1)]).ties  # none is updated
        assert not exact.take(((0, -1), (0, 1)), [((1,), 1)]).ties

    def test_linearly_separable_rows_converge(self):
        """Any number of hyperplanes: the sum of all weights obeys the perceptron's bound."""
        record = searches.work(
            ("cycles", {"d": 1, "N": 3, "K": 2, "reach": 1, "starts": "unit"}), 0
        )
        assert record["linear"] > 0
        assert record["linear_cycles"] == 0
        assert record["cycles"] == 140
        assert record["example"]["start"] == load_cycle().start.tolist()
        assert record["example"]["points"] == load_cycle().data.tolist()

    def test_two_rows_always_converge(self):
        record = searches.work(
            ("cycles", {"d": 1, "N": 2, "K": 2, "reach": 2, "starts": "unit"}), 0
        )
        assert record["runs"] == record["linear"] > 0
        assert record["cycles"] == 0

    @pytest.mark.parametrize(
        ("labels", "K", "separable"),
        [((-1, 1, -1), 2, True), ((-1, 1, -1), 1, False), ((1, -1, 1), 3, False),
         ((1, 1, -1), 1, True)],
    )  # fmt: skip
    def test_separability(self, labels, K, separable):
        rows = [((x,), y) for x, y in zip((-1, 0, 1), labels, strict=True)]
        assert exact.is_separable(rows, K, reach=1) == separable

    def test_probability_by_walking(self):
        """The chance of a trap from the zero start, against walks of the naive pass."""
        chain = exact.reshuffled(((0.0, 0.0), (0.0, 0.0)), LINE)
        assert chain.p_never == pytest.approx(6 / 49)
        rng, never, n = np.random.default_rng(0), 0, 400
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

    def test_too_many_states(self):
        assert exact.reshuffled(((0.0, 0.0), (0.0, 0.0)), LINE, most=10) is None


class TestRuns:
    @pytest.mark.parametrize("digits", [4, 16])
    def test_sets_keep_their_promises(self, digits):
        cell = Cell(d=3, K=4, margin=0.1, N=50, digits=digits)
        instance = runs.draw(cell, run=1, seed=2)
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
            runs.draw(SMALL, 0, 0)

    @pytest.mark.parametrize("order", convergence.ORDERS)
    @pytest.mark.parametrize("run", range(5))
    def test_run_is_the_naive_one(self, run, order):
        instance = runs.draw(SMALL, run, seed=0)
        got = runs.go(instance, order, limit=40)
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
        instance = runs.draw(Cell(d=2, K=2, margin=0.1, N=30, digits=20), 0, 0)
        runs.go(instance, "fixed", 2000)
        with pytest.raises(ValueError, match="53 bits"):
            runs.go(instance, "fixed", 10**9)

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_planted_cycle_is_found(self, variant):
        bunch = load_cycle(**VARIANTS[variant])
        got = runs.go(instance_of(bunch.data, bunch.target, bunch.start), "fixed", 100)
        assert (got.converged, got.cycle, got.reached, got.moving) == (False, 2, 0, 1)

    def test_planted_trap_is_found(self):
        bunch = load_cycle(trap=True)
        got = runs.go(instance_of(bunch.data, bunch.target, bunch.start), "shuffled", 100)
        assert (got.converged, got.cycle, got.trap, got.moving) == (False, None, 7, 1)

    def test_trap_is_one_where_no_sequence_of_rows_gets_out(self):
        for start in itertools.product((-1.5, 0.0, 1.5), repeat=4):
            weights = (start[:2], start[2:])
            chain = exact.any_sequence(weights, LINE)
            X, y = zip(*LINE, strict=True)
            instance = instance_of(X, y, weights)
            found = runs.find_trap(instance, instance.start)
            assert found == (chain.states if chain.trapped == chain.states else None)
            assert runs.find_trap(instance, instance.start, most=1) is None

    def test_random_set_with_a_trap(self):
        """A reshuffled run of the study, from the learner's own start, that never converges."""
        instance = runs.draw(Cell(d=2, K=3, margin=0.05, N=30, digits=3), run=15, seed=0)
        state = runs._Passes(instance, shuffled=True)
        while runs.find_trap(instance, state.planes, most=100) is None:
            assert state.step() > 0
        weights = tuple(map(tuple, np.column_stack(state.planes.arrays()).tolist()))
        rows = list(zip(map(tuple, instance.X.tolist()), instance.y.tolist(), strict=True))
        chain = exact.any_sequence(weights, rows)
        assert chain.trapped == chain.free == chain.states
        others = [dataclasses.replace(instance, seed=seed) for seed in range(20)]
        assert 0 < sum(runs.go(other, "shuffled", 1000).converged for other in others) < 20

    def test_every_small_run_ends_as_the_exact_one(self):
        """All whole starts up to 1 in all orders: the same verdict, pass by pass."""
        for start in itertools.product((-1.0, 0.0, 1.0), repeat=4):
            weights = (start[:2], start[2:])
            for rows in itertools.permutations(LINE):
                fate = exact.follow(weights, rows)
                X, y = zip(*rows, strict=True)
                got = runs.go(instance_of(X, y, weights), "fixed", 100)
                assert got.converged == (fate.length == 0)
                if fate.length:
                    assert (got.cycle, got.reached) == (fate.length, fate.reached)
                    assert got.moving == fate.moving
                else:
                    assert got.passes == fate.reached + 1

    def test_cycle_of_one_pass(self):
        X, y = [[-1, -1], [-1, 0], [0, 0], [0, -1]], [-1, 1, -1, 1]
        got = runs.go(instance_of(X, y, np.zeros((2, 3))), "fixed", 100)
        assert (got.cycle, got.reached, got.moving) == (1, 0, 1)

    def test_long_cycle_and_what_is_none(self):
        """A cycle is claimed where the weights come back, and only there."""
        limit, cycles = 3000, 0
        for run in range(40):
            instance = runs.draw(SMALL, run, seed=0)
            got = runs.go(instance, "fixed", limit)
            shuffled = runs.go(instance, "shuffled", limit)
            assert shuffled.cycle is None
            if got.converged:
                assert got.cycle is None
                assert got.mistakes == 0
            elif got.cycle:
                cycles += 1
                seen = self.weights_after(instance, [got.reached, got.reached + got.cycle])
                np.testing.assert_array_equal(*seen)
        assert cycles > 0

    @staticmethod
    def weights_after(instance, passes):
        W, b = instance.start.arrays()
        n, found = len(instance.y), []
        for count in range(max(passes) + 1):
            if count in passes:
                found.append(np.column_stack([W, b]))
            W, b, _, _ = naive.online_pass(
                instance.X, instance.y, np.ones(n), range(n), W, b, 1.0, 1.0, 0.0
            )
        return found


@pytest.fixture
def tiny(monkeypatch):
    """A study of one cell, and of the searches the shortest."""
    grid = [SMALL, Cell(d=2, K=2, margin=0.05, N=30, digits=6)]
    monkeypatch.setattr(study, "cells", lambda **_: grid)
    monkeypatch.setitem(study._RUNS, True, 12)
    monkeypatch.setitem(study._LIMIT, True, 200)
    keep = searches.tasks(quick=True)[:3]
    monkeypatch.setattr(searches, "tasks", lambda **_: keep)


def sorted_records(found):
    return sorted(json.dumps(r, sort_keys=True) for r in found.records + found.searches)


KILLED = """
import os, signal, sys
from pathlib import Path
from polyceptron.paper.convergence import run_study
def progress(done, total):
    if done == 9:
        os.kill(os.getpid(), signal.SIGKILL)
run_study(Path(sys.argv[1]), quick=True, progress=progress)
"""


class TestStudy:
    @pytest.mark.usefixtures("tiny")
    def test_records(self, tmp_path):
        calls = []
        found = convergence.run_study(
            tmp_path, quick=True, progress=lambda *count: calls.append(count)
        )
        assert len(found.records) == 48
        assert calls == [(n, 51) for n in range(52)]
        assert {r["order"] for r in found.records} == set(convergence.ORDERS)
        fields = {*runs.Outcome.__dataclass_fields__, *runs.Key(SMALL, 0, "fixed").fields()}
        assert all(r.keys() == fields for r in found.records)
        loaded = convergence.Study.load(tmp_path)
        assert sorted_records(loaded) == sorted_records(found)
        assert loaded.header == found.header
        assert found.header["seed"] == 0

    @pytest.mark.usefixtures("tiny")
    def test_jobs_change_nothing(self, tmp_path):
        one = convergence.run_study(tmp_path / "1", quick=True, seed=3)
        two = convergence.run_study(tmp_path / "2", quick=True, seed=3, jobs=2)
        other = convergence.run_study(tmp_path / "3", quick=True, seed=4)
        assert sorted_records(one) == sorted_records(two)
        assert convergence.summarise(one.records) == convergence.summarise(two.records)
        assert sorted_records(one) != sorted_records(other)

    @pytest.mark.usefixtures("tiny")
    def test_resume(self, tmp_path):
        whole = convergence.run_study(tmp_path / "whole", quick=True)
        part = tmp_path / "part"

        def stop(done, _total):
            if done == 20:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            convergence.run_study(part, quick=True, progress=stop)
        with (part / "convergence.jsonl").open("a") as file:
            file.write('{"d": 2, "K"')  # torn by a kill
        with pytest.raises(JournalError, match="--resume"):
            convergence.run_study(part, quick=True)
        first = []
        done = convergence.run_study(
            part, quick=True, resume=True, progress=lambda n, _: first.append(n)
        )
        assert first[0] == 20
        assert sorted_records(done) == sorted_records(whole)
        again = convergence.run_study(part, quick=True, resume=True)
        assert sorted_records(again) == sorted_records(whole)
        with pytest.raises(JournalError, match="another seed"):
            convergence.run_study(part, quick=True, resume=True, seed=1)
        anew = convergence.run_study(part, quick=True, overwrite=True, seed=1)
        assert anew.header["seed"] == 1

    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on Windows")
    def test_killed(self, tmp_path, monkeypatch):
        # The searches come first: the kill is among them, and the rest is not measured here.
        result = subprocess.run(
            [sys.executable, "-c", KILLED, str(tmp_path)], env={**os.environ}, check=False
        )
        assert result.returncode == -signal.SIGKILL
        left = convergence.Study.load(tmp_path)
        n_searches = len(searches.tasks(quick=True))
        assert len(left.searches) == n_searches
        assert len(left.records) == 9 - n_searches
        begun = []
        monkeypatch.setattr(study, "in_processes", lambda _, calls, __: begun.extend(calls) or [])
        convergence.run_study(tmp_path, quick=True, resume=True)
        todo = {arguments[0] for _, arguments in begun}
        assert len(begun) == len(todo) == left.header["runs"] * 2 * len(left.header["cells"]) - 2
        assert not todo & {Key.of(record) for record in left.records}

    def test_grid(self):
        full, quick = study.cells(quick=False), study.cells(quick=True)
        assert set(quick) <= set(full)
        assert study._RUNS[False] >= 300
        for name, values in study._LINES.items():
            assert {getattr(cell, name) for cell in full} >= set(values)


def record(cell, run, order, passes, *, converged=True, cycle=None, moving=None):
    end = {
        "passes": passes,
        "converged": converged,
        "updates": 1,
        "mistakes": 0 if converged else 1,
    }
    return {
        **Key(cell, run, order).fields(), **end, "cycle": cycle, "reached": cycle, "trap": None,
        "moving": moving,
    }  # fmt: skip


class TestSummary:
    def test_numbers(self):
        cell = Cell(2, 2, 0.1, 30, 4)
        some = [record(cell, run, "fixed", run + 1) for run in range(18)]
        some += [
            record(cell, 18, "fixed", 50, converged=False, cycle=7, moving=1),
            record(cell, 19, "fixed", 100, converged=False, moving=2),
        ]
        some += [record(cell, run, "shuffled", 3) for run in range(1, 20)]
        found = convergence.summarise(reversed(some))
        fixed, shuffled = found.cells
        assert (fixed.cell, fixed.order, fixed.runs, fixed.converged) == (cell, "fixed", 20, 18)
        assert (fixed.median, fixed.p95, fixed.p95_all) == (9.0, 18.0, None)
        assert (fixed.proved, fixed.open, fixed.lengths) == (1, 1, (7,))
        assert fixed.low < fixed.share == 0.9 < fixed.high
        assert (shuffled.share, shuffled.high, shuffled.p95_all) == (1.0, 1.0, 3.0)
        assert found.pairs == convergence.Pairs(17, 0, 2, 0)
        assert found.moving == {1: 1, 2: 1}
        assert found.overall["fixed"].lengths == (7,)
        assert found.overall["fixed"].cell is None

    def test_growth(self):
        grid = [Cell(d, 2, 0.1, 30, 4) for d in (2, 4, 8)]
        grid += [Cell(4, 2, margin, 30, 4) for margin in (0.05, 0.2)]
        rng = np.random.default_rng(0)
        some = [
            record(cell, run, "fixed", max(1, round(1000 * cell.d**0.5 / cell.margin * noise)))
            for cell in grid
            for run, noise in enumerate(np.exp(0.1 * rng.standard_normal(50)))
        ]
        found = convergence.summarise(some)
        assert found.centre == Cell(4, 2, 0.1, 30, 4)
        slopes = {g.factor: g for g in found.growth}
        assert set(slopes) == {"d", "1/margin"}
        for factor, truth in (("d", 0.5), ("1/margin", 1.0)):
            assert slopes[factor].low < truth < slopes[factor].high
            assert slopes[factor].high - slopes[factor].low < 0.2

    def test_nothing(self):
        found = convergence.summarise([])
        assert found.cells == ()
        assert found.centre is None
        assert convergence.findings(convergence.Study({}, [], [])) == []

    @pytest.mark.parametrize(("k", "n"), [(0, 10), (10, 10), (5, 10), (297, 300)])
    def test_wilson_solves_its_equation(self, k, n):
        p = k / n
        for end in wilson(k, n):
            if 0 < end < 1:
                assert abs(end - p) == pytest.approx(1.959964 * np.sqrt(end * (1 - end) / n))

    @pytest.mark.usefixtures("tiny")
    def test_findings_follow_the_records(self, tmp_path):
        found = convergence.run_study(tmp_path, quick=True)
        text = " ".join(convergence.findings(found))
        fixed = convergence.summarise(found.records).overall["fixed"]
        assert "every 2 passes" in text
        assert "no sequence of rows converges" in text
        assert f"{fixed.share:.2%} of 24 runs" in text
        cut = convergence.Study(found.header, found.records, [])
        assert "every 2 passes" not in " ".join(convergence.findings(cut))


def test_stored_results():
    """What docs/convergence.md quotes is what the stored study says."""
    folder = Path(__file__).parents[2] / "docs" / "results"
    if not (folder / "convergence.jsonl.gz").exists():
        pytest.skip("an installed package has no docs")
    lines = [
        [json.loads(line) for line in gzip.decompress((folder / name).read_bytes()).splitlines()]
        for name in ("convergence.jsonl.gz", "cycles.jsonl.gz")
    ]
    stored = convergence.Study(lines[0][0], lines[0][1:], lines[1][1:])
    page = " ".join((folder.parent / "convergence.md").read_text().split())
    for sentence in convergence.findings(stored):
        assert sentence in page
