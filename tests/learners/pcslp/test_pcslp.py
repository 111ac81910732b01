"""PC-SLP: its error function and programs against plain loops and linprog, and its promises."""

import itertools
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import naive
from common import assert_equal_models, snapshot
from polyceptron.datasets import make_dataset1
from polyceptron.learners.pcslp.learner import PCSLP
from polyceptron.learners.pcslp.programs import LPError, MergedRows, SeparationLP
from polyceptron.learners.trace import first_start

highspy = pytest.importorskip("highspy")


# --- data, and the definitions once more ------------------------------------------------


def box(n=120, d=2, seed=0, noise=0.0):
    """Inside a box about the middle of d columns, with a gap, and outside of it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (6 * n, d))
    size = np.abs(X).max(axis=1)
    X = X[(size < 1) | (size > 1.2)][:n]
    y = (np.abs(X).max(axis=1) < 1).astype(int)
    return X, np.where(rng.random(n) < noise, 1 - y, y)


X_BOX, Y_BOX = box()
X_NOISY, Y_NOISY = box(noise=0.1)


def quick(**parameters):
    return PCSLP(**({"n_hyperplanes": 3, "n_init": 1, "random_state": 0} | parameters))


def error(X, y, W, b, weight=None, factors=(1.0, 1.0)):
    """The error function of the paper, by loops; y is 1 inside and 0 outside."""
    weight = np.ones(len(y)) if weight is None else weight
    sums, totals = [0.0, 0.0], [0.0, 0.0]
    for x, label, w in zip(X.tolist(), y.tolist(), np.asarray(weight).tolist(), strict=True):
        scores = naive.scores(x, W.tolist(), b.tolist())
        if label == 1:
            loss = max(max(0.0, 1.0 - score) for score in scores)
        else:
            loss = max(0.0, min(scores) + 1.0)
        sums[label] += w * loss
        totals[label] += w
    return factors[0] * sums[0] / totals[0] + factors[1] * sums[1] / totals[1]


def least_error(A, B, c_A, c_B, K, responsible):
    """The optimum of one program as the paper writes it, by linprog on dense arrays."""
    (a, d), b = A.shape, len(B)
    n_w = K * (d + 1)
    rows = []
    for i, k in itertools.product(range(a), range(K)):
        row = np.zeros(n_w + a + b)
        row[k * (d + 1) : (k + 1) * (d + 1)] = -np.append(A[i], 1)
        row[n_w + i] = -1
        rows.append(row)
    for j, k in enumerate(responsible):
        row = np.zeros(n_w + a + b)
        row[k * (d + 1) : (k + 1) * (d + 1)] = np.append(B[j], 1)
        row[n_w + a + j] = -1
        rows.append(row)
    cost = np.concatenate([np.zeros(n_w), c_A, c_B])
    bounds = [(None, None)] * n_w + [(0, None)] * (a + b)
    found = linprog(cost, np.array(rows), -np.ones(len(rows)), bounds=bounds, method="highs")
    assert found.status == 0
    return found.fun


def held_error(A, B, c_A, c_B, W, b, responsible):
    """What these hyperplanes cost while others than the least may be responsible."""
    u = np.maximum(0, 1 - (A @ W.T + b)).max(axis=1)
    v = np.maximum(0, 1 + (B @ W.T + b)[np.arange(len(B)), responsible])
    return c_A @ u + c_B @ v


# --- one linear program after the other ---------------------------------------------------


def program(A, B, c_A, c_B, K):
    return SeparationLP(MergedRows(sp.csr_matrix(A), sp.csr_matrix(B), c_A, c_B), K)


def box_program(K):
    sides = [X_BOX[label == Y_BOX] for label in (1, 0)]
    return program(*sides, *(np.ones(len(side)) for side in sides), K)


class TestSeparationLP:
    @pytest.mark.parametrize("K", [1, 2, 3, 4])
    def test_each_optimum_is_that_of_linprog(self, K):
        """One model for a walk of choices, near and far, with weights."""
        rng = np.random.default_rng(K)
        A, B = rng.normal(size=(25, 3)), rng.normal(size=(20, 3)) * 1.5
        c_A, c_B = rng.uniform(0.1, 2, 25), rng.uniform(0.1, 2, 20)
        lp = program(A, B, c_A, c_B, K)
        responsible = rng.integers(0, K, 20)
        for step in range(8):
            W, b = lp.solve(responsible, "a test")
            expected = least_error(A, B, c_A, c_B, K, responsible)
            found = held_error(A, B, c_A, c_B, W, b, responsible)
            assert found == pytest.approx(expected, abs=1e-6)
            n_moved = [1, 3, 20][step % 3]
            responsible = responsible.copy()
            responsible[rng.choice(20, n_moved, replace=False)] = rng.integers(0, K, n_moved)
        assert K == 1 or lp._bounded.any()  # rows that several hyperplanes cut off were met

    def test_the_model_is_changed_in_place(self):
        """Nothing but the bounds of the rows that changed hands."""
        lp = box_program(2)
        model, n_outside = lp._highs, (Y_BOX == 0).sum()
        responsible = (X_BOX[Y_BOX == 0, 0] > 0).astype(int)
        lp.solve(responsible, "a test")
        upper = np.array(lp._highs.getLp().col_upper_)
        responsible = responsible.copy()
        responsible[4] = 1 - responsible[4]
        lp.solve(responsible, "a test")
        assert lp._highs is model
        changed = np.flatnonzero(upper != np.array(lp._highs.getLp().col_upper_))
        assert (changed - 2 * (Y_BOX == 1).sum()).tolist() == [4, n_outside + 4]

    def test_the_same_choice_again_costs_no_pivot(self):
        lp = box_program(1)
        nobody_else = np.zeros((Y_BOX == 0).sum(), int)
        first = lp.solve(nobody_else, "a test")
        assert lp._highs.getInfo().simplex_iteration_count > 0
        second = lp.solve(nobody_else, "a test")
        assert lp._highs.getInfo().simplex_iteration_count == 0
        np.testing.assert_array_equal(np.c_[first], np.c_[second])

    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
    def test_columns_that_depend_on_each_other(self, kind):
        """Constants above all: as multiples of the bias they once kept HiGHS busy for ever."""
        rng = np.random.default_rng(0)
        extra = [np.full((120, 2), 0.3), X_NOISY * 3.3 + 1.7, X_NOISY @ rng.normal(size=(2, 2))]
        expected = quick(n_hyperplanes=1).fit(X_NOISY, Y_NOISY).objective_
        for columns in extra:
            X = kind(np.hstack([X_NOISY, columns]))
            assert quick(n_hyperplanes=1).fit(X, Y_NOISY).objective_ == pytest.approx(expected)

    def test_second_try_without_the_basis(self, monkeypatch):
        """A program that HiGHS cannot solve from where it stands is begun anew."""
        statuses = highspy.HighsModelStatus
        answers = iter([statuses.kUnknown, statuses.kOptimal])
        monkeypatch.setattr(highspy.Highs, "getModelStatus", lambda _: next(answers))
        A, B = X_NOISY[Y_NOISY == 1], X_NOISY[Y_NOISY == 0]
        c_A, c_B = np.ones(len(A)), np.ones(len(B))
        lp = program(A, B, c_A, c_B, 1)
        responsible = np.zeros(len(B), int)
        W, b = lp.solve(responsible, "a test")
        assert held_error(A, B, c_A, c_B, W, b, responsible) == pytest.approx(
            least_error(A, B, c_A, c_B, 1, responsible)
        )
        assert lp._highs.getOptionValue("presolve")[1] == "off"


# --- the error function and the loop --------------------------------------------------------


class TestObjective:
    @pytest.mark.parametrize("standardize", [True, False])
    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
    def test_is_that_of_the_paper(self, kind, standardize):
        X = X_NOISY * [100, 0.01] + [3, 7]
        model = quick(standardize=standardize).fit(kind(X), Y_NOISY)
        expected = error(X, Y_NOISY, model.coef_, model.intercept_)
        assert model.objective_ == pytest.approx(expected, rel=1e-9)
        assert model.history_["objective"][-1] == model.objective_

    def test_weights(self):
        """Means by weight; class_weight multiplies them."""
        weight = np.random.default_rng(1).integers(1, 4, 120).astype(float)
        model = quick(class_weight={0: 2.0, 1: 0.5}).fit(X_NOISY, Y_NOISY, sample_weight=weight)
        expected = error(
            X_NOISY, Y_NOISY, model.coef_, model.intercept_, weight, factors=(2.0, 0.5)
        )
        assert model.objective_ == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize(("K", "noise"), [(1, 0.4), (2, 0.1), (5, 0.0), (5, 0.4)])
    def test_never_rises(self, K, noise):
        X, y = box(150, 3, seed=K, noise=noise)
        model = PCSLP(K, n_init=2, random_state=1).fit(X, y)
        objective = model.history_["objective"]
        assert len(objective) == model.n_iter_
        assert (np.diff(objective) <= 0).all()
        assert objective[-1] == model.objective_ <= 2 + 1e-9  # that of w = 0

    def test_one_hyperplane_is_one_program(self):
        model = quick(n_hyperplanes=1).fit(X_NOISY, Y_NOISY)
        A, B = X_NOISY[Y_NOISY == 1], X_NOISY[Y_NOISY == 0]
        c_A, c_B = np.full(len(A), 1 / len(A)), np.full(len(B), 1 / len(B))
        expected = least_error(A, B, c_A, c_B, 1, np.zeros(len(B), int))
        assert model.objective_ == pytest.approx(expected, abs=1e-7)
        assert model.n_lps_ == 1

    def test_the_answer_is_an_optimum_of_its_own_program(self):
        model = PCSLP(3, random_state=0).fit(X_NOISY, Y_NOISY)
        A, B = X_NOISY[Y_NOISY == 1], X_NOISY[Y_NOISY == 0]
        c_A, c_B = np.full(len(A), 1 / len(A)), np.full(len(B), 1 / len(B))
        responsible = (B @ model.coef_.T + model.intercept_).argmin(axis=1)
        best = least_error(A, B, c_A, c_B, 3, responsible)
        assert best == pytest.approx(model.objective_, abs=model.tol + 1e-6)

    def test_separable_rows_reach_zero(self):
        model = PCSLP(4, n_init=5, random_state=0).fit(X_BOX, Y_BOX)
        assert model.objective_ <= model.tol
        assert model.score(X_BOX, Y_BOX) == 1

    def test_no_column_that_tells_anything(self):
        """The answer w = 0 has the error 2, and becomes a face that says the same."""
        X = np.tile(X_BOX[:1], (120, 1))
        model = quick().fit(X, Y_BOX)
        assert model.objective_ == pytest.approx(2)
        assert len(set(model.predict(X))) == 1

    @pytest.mark.parametrize(
        ("majority", "inside", "standardize"),
        [(0, 0, True), (0, 1, False), (1, 0, False), (1, 1, True)],
    )
    def test_without_information_the_majority_is_predicted(self, majority, inside, standardize):
        y = np.where(np.arange(100) % 10 < 3, 1 - majority, majority)
        for X in (np.zeros((100, 2)), np.full((100, 1), 7.5), sp.csr_matrix((100, 3))):
            model = PCSLP(2, inside=inside, standardize=standardize, random_state=0).fit(X, y)
            assert set(model.predict(X)) == {majority}
            assert model.history_["mistakes"][-1] == 30
            assert (np.diff(model.history_["objective"]) <= 0).all()
            assert model.objective_ == pytest.approx(2)

    def test_class_weight_decides_where_the_rows_do_not(self):
        y = np.arange(100) % 10 < 3
        model = quick(class_weight={True: 1.5}).fit(np.zeros((100, 2)), y)
        assert set(model.predict(np.zeros((1, 2)))) == {True}
        assert model.objective_ == pytest.approx(2)


class TestStarts:
    GOOD = np.array([[1.0, 0, 1.1], [-1, 0, 1.1], [0, 1, 1.1], [0, -1, 1.1]]) * 20

    @pytest.mark.parametrize("standardize", [True, False])
    def test_a_start_without_error_stays(self, standardize):
        model = quick(n_hyperplanes=4, init=self.GOOD, standardize=standardize, n_init=7)
        model.fit(X_BOX, Y_BOX)
        np.testing.assert_allclose(model.coef_, self.GOOD[:, :-1], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(model.intercept_, self.GOOD[:, -1], rtol=1e-9)
        assert (model.n_lps_, model.n_iter_) == (0, 1)
        assert model.converged_

    def test_warm_start_has_nothing_left_to_do(self):
        model = quick(warm_start=True).fit(X_NOISY, Y_NOISY)
        before = model.objective_
        model.fit(X_NOISY, Y_NOISY)
        assert model.objective_ <= before + 1e-9
        assert model.n_iter_ <= 2

    def test_n_lps_counts_all_starts(self):
        one, three = (
            PCSLP(3, n_init=n_init, random_state=0).fit(X_NOISY, Y_NOISY) for n_init in (1, 3)
        )
        assert one.n_lps_ == one.history_["lps"].sum()
        assert three.n_lps_ > one.n_lps_

    def test_fewer_outside_rows_than_hyperplanes(self):
        X = np.vstack([X_BOX[Y_BOX == 1], [[3.0, 3.0]]])
        y = np.r_[np.ones(len(X) - 1, int), 0]
        model = PCSLP(4, random_state=0).fit(X, y)
        assert model.score(X, y) == 1

    def test_out_of_rounds(self):
        with pytest.warns(ConvergenceWarning, match=r"max_iter=1 .*last hyperplanes.*Raise"):
            model = quick(max_iter=1).fit(X_NOISY, Y_NOISY)
        assert not model.converged_
        expected = error(X_NOISY, Y_NOISY, model.coef_, model.intercept_)
        assert model.history_["objective"] == pytest.approx([expected])


class TestTies:
    """Two equal hyperplanes tie at every row; four outside rows, one at each side of the inside."""

    X = np.array([[0.0, 0.0], [2, 0], [-2, 0], [0, 2], [0, -2]])
    Y = np.array([1, 0, 0, 0, 0])
    EQUAL = np.zeros((2, 3))

    def choices(self, max_ties, init=EQUAL):
        model = quick(n_hyperplanes=2, init=init, max_ties=max_ties)
        state = first_start(model, self.X, self.Y)[2]
        return [choice.tolist() for choice in model._choices(state)]

    def test_all_choices_the_least_numbers_first(self):
        expected = [list(choice) for choice in itertools.product([0, 1], repeat=4)]
        assert self.choices(16) == expected

    @pytest.mark.parametrize("max_ties", [1, 2, 15])
    def test_not_more_than_the_limit(self, max_ties):
        found = self.choices(max_ties)
        assert len(found) == len(set(map(tuple, found))) == max_ties
        assert found[0] == [0, 0, 0, 0]
        assert found == self.choices(max_ties)

    def test_rows_that_do_not_count_are_not_tried(self):
        """h = -2 outside, whichever hyperplane is responsible."""
        assert self.choices(16, np.array([[0.0, 0, -2]] * 2)) == [[0, 0, 0, 0]]

    def test_hyperplanes_that_do_not_tie(self):
        """The outside rows are sorted: by columns that are not zero, then by values."""
        found = self.choices(16, np.array([[1.0, 0.25, 0], [-1, 0, 0]]))
        assert found == [[0, 1, 0, 1]]

    def test_only_another_choice_goes_on(self):
        """One hyperplane for all four is w = 0, no descent; two sides each is better."""
        settings = {"n_hyperplanes": 2, "init": self.EQUAL}
        stuck = quick(max_ties=1, **settings).fit(self.X, self.Y)
        assert stuck.objective_ == pytest.approx(2)
        free = quick(max_ties=16, **settings).fit(self.X, self.Y)
        assert free.objective_ < 1.1
        assert free.history_["lps"][0] > 1

    def test_ties_of_the_zero_start_do_not_need_the_seed(self):
        settings = {"n_hyperplanes": 2, "init": self.EQUAL}
        one, other = (
            quick(random_state=seed, **settings).fit(self.X, self.Y).coef_ for seed in (0, 1)
        )
        np.testing.assert_array_equal(one, other)


# --- failures -----------------------------------------------------------------------------


class TestFailures:
    def test_time_limit(self):
        X, y = make_dataset1(random_state=0, return_X_y=True)
        model = quick(time_limit=1e-9)
        with pytest.raises(
            LPError,
            match=r"start 1, iteration 1, tie choice 1 .*Time limit reached.*time_limit=1e-09",
        ):
            model.fit(X, y)
        assert vars(model).keys() == model.get_params().keys()

    def test_time_limit_is_for_one_program(self):
        """HiGHS's own clock runs on from program to program."""
        X, y = make_dataset1(random_state=0, return_X_y=True)
        seen = []
        model = quick(time_limit=50.0)
        _, training, state = first_start(model, X, y)
        set_ = state.lp._set
        state.lp._set = lambda options: seen.append(options) or set_(options)
        for _ in range(2):
            state = model._step(training.data, state).following
        limits = [options["time_limit"] for options in seen]
        assert 50.0 <= limits[0] < limits[1]

    @pytest.mark.parametrize(
        ("status", "says", "failing"),
        [("kInfeasible", "Infeasible", 1), ("kIterationLimit", "Iteration limit reached", 2)],
    )
    def test_any_other_status(self, monkeypatch, status, says, failing):
        model = quick().fit(X_NOISY, Y_NOISY)
        before = snapshot(model)
        solved = SeparationLP.solve
        bad = getattr(highspy.HighsModelStatus, status)

        def solve(self, responsible, which):
            if which.startswith(f"start 1, iteration {failing},"):
                monkeypatch.setattr(highspy.Highs, "getModelStatus", lambda _: bad)
            return solved(self, responsible, which)

        monkeypatch.setattr(SeparationLP, "solve", solve)
        with pytest.raises(LPError, match=rf"start 1, iteration {failing}, .*HiGHS says '{says}'"):
            model.fit(X_NOISY, Y_NOISY)
        assert snapshot(model) == before

    def test_which_start(self, monkeypatch):
        solved = SeparationLP.solve

        def solve(self, responsible, which):
            if which.startswith("start 2, "):
                raise LPError(which)
            return solved(self, responsible, which)

        monkeypatch.setattr(SeparationLP, "solve", solve)
        with pytest.raises(LPError, match="start 2, iteration 1"):
            quick(n_init=2).fit(X_NOISY, Y_NOISY)

    def test_highspy_is_missing(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "highspy", None)
        model = quick()
        with pytest.raises(ImportError, match=r"pip install -e '.*\[lp\]'"):
            model.fit(X_BOX, Y_BOX)
        assert vars(model).keys() == model.get_params().keys()

    def test_refused_option(self):
        lp = program(*[np.eye(2)] * 2, *np.ones((2, 2)), 1)
        with pytest.raises(LPError, match=r"refused setOptionValue\(presolve, perhaps\)"):
            lp._set({"presolve": "perhaps"})


# --- same data, same seed, same model -------------------------------------------------------


class TestSameModel:
    def test_fitting_again(self):
        model = PCSLP(3, random_state=0).fit(X_NOISY, Y_NOISY)
        other = clone(model).fit(X_BOX, Y_BOX).fit(X_NOISY, Y_NOISY)
        assert_equal_models(model, other)

    def test_order_of_rows(self):
        order = np.random.default_rng(0).permutation(120)
        settings = {"standardize": False, "random_state": 0}
        one = PCSLP(3, **settings).fit(X_NOISY, Y_NOISY)
        assert_equal_models(one, PCSLP(3, **settings).fit(X_NOISY[order], Y_NOISY[order]))

    def test_a_weight_is_a_number_of_rows(self):
        """On rows of whole numbers, whose columns are scaled alike."""
        rng = np.random.default_rng(0)
        weight = rng.integers(0, 3, 120)
        X = np.round(X_NOISY * 4)
        weighted = PCSLP(3, random_state=0, standardize=False)
        weighted.fit(X, Y_NOISY, sample_weight=weight)
        repeated = PCSLP(3, random_state=0, standardize=False)
        repeated.fit(X.repeat(weight, axis=0), Y_NOISY.repeat(weight))
        np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-9)
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6)

    def test_class_weight(self):
        plain = quick().fit(X_NOISY, Y_NOISY)
        alike = quick(class_weight={0: 1, 1: 1}).fit(X_NOISY, Y_NOISY)
        alike.verdict_ = plain.verdict_  # which leaves out the advice that was followed
        assert_equal_models(plain, alike)
        balanced = quick(class_weight="balanced").fit(X_NOISY, Y_NOISY)
        assert balanced.objective_ == pytest.approx(plain.objective_, rel=1e-6)
        heavy = quick(class_weight={1: 50}).fit(X_NOISY, Y_NOISY)
        inside = Y_NOISY == 1
        assert heavy.score(X_NOISY[inside], Y_NOISY[inside]) == 1
