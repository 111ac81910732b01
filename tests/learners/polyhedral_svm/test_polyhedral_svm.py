"""PolyhedralSVM: its machine against a general convex solver, the whole against plain loops."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import naive
from common import X_SQUARE, Y_SQUARE, assert_equal_models, fit, quick, snapshot, square
from polyceptron import Checkpoint, CheckpointError, PolyhedralSVM
from polyceptron.learners.polyhedral_svm.hinge import fit_hinge
from polyceptron.learners.polyhedral_svm.learner import MarginRows, face_rows
from polyceptron.learners.trace import first_start

NOISY = np.where(np.random.default_rng(1).random(120) < 0.1, 1 - Y_SQUARE, Y_SQUARE)
SIDES = np.select([X_SQUARE[:, 0] < -1, X_SQUARE[:, 1] < -1], [0, 1], -1)
CORNER = np.where(NOISY != Y_SQUARE, SIDES >= 0, SIDES < 0).astype(int)
"""Inside above and to the right of both sides, some labels turned round."""
losses = pytest.mark.parametrize("outside_loss", ["least", "product"])


# --- the definitions once more, row by row ------------------------------------------------


def row_loss(x, y, group, theta, outside_loss):
    hinges = [max(0.0, 1 - y * s) for s in naive.scores(x, theta[:, :-1].tolist(), theta[:, -1])]
    if y > 0:
        return max(hinges)
    if group >= 0:
        return hinges[group]
    if outside_loss == "least":
        return min(hinges)
    product = 1.0
    for hinge in hinges:
        product *= hinge
    return product


def objective(theta, rows, outside_loss):
    total = sum(w * w for face in theta for w in face[:-1].tolist()) / 2
    for x, y, cost, group in zip(rows.X.tolist(), rows.y, rows.cost, rows.group, strict=True):
        total += cost * row_loss(x, y, group, theta, outside_loss)
    return total


def hinge_objective(theta, X, y, margins, costs):
    return theta[:-1] @ theta[:-1] / 2 + costs @ np.maximum(
        margins - y * (X @ theta[:-1] + theta[-1]), 0
    )


def by_convex_solver(X, y, margins, costs):
    """The machine by a solver for whatever is convex."""
    w, b, u = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(len(y), nonneg=True)
    bounds = [cp.multiply(y, X @ w + b) + u >= margins]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + costs @ u), bounds)
    problem.solve(solver="HIGHS")
    assert problem.status == "optimal"
    return np.append(w.value, b.value)


def by_loops(rows, K, tol, max_iter):
    """The whole algorithm: groups are the start, the least of the losses counts outside."""
    n, theta = len(rows.y), []
    for k in range(K):
        own = [i for i in range(n) if rows.y[i] > 0 or rows.group[i] == k]
        theta.append(by_convex_solver(rows.X[own], rows.y[own], np.ones(len(own)), rows.cost[own]))
    theta = np.array(theta)
    rows = rows._replace(group=np.full(n, -1))
    values = [objective(theta, rows, "least")]
    for _ in range(max_iter):
        for k in range(K):
            own, margins = [], []
            for i in range(n):
                others = [j for j in range(K) if j != k]
                signed = [1 - rows.y[i] * (rows.X[i] @ face[:-1] + face[-1]) for face in theta]
                if rows.y[i] > 0:
                    own.append(i)
                    margins.append(1 - max(max(0.0, signed[j]) for j in others))
                elif signed[k] == min(signed) and all(signed[j] > 0 for j in others):
                    own.append(i)
                    margins.append(1.0)
            moved = theta.copy()
            moved[k] = by_convex_solver(rows.X[own], rows.y[own], np.array(margins), rows.cost[own])
            if objective(moved, rows, "least") < objective(theta, rows, "least"):
                theta = moved
        values.append(objective(theta, rows, "least"))
        if values[-2] - values[-1] <= tol * values[-2]:
            break
    return theta, values[1:]


def random_rows(n, d, K, seed):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    group = np.where((y < 0) & (rng.random(n) < 0.3), rng.integers(0, K, n), -1)
    return MarginRows(rng.normal(size=(n, d)), y, rng.exponential(size=n), group)


# --- one machine ----------------------------------------------------------------------------


class TestHinge:
    @pytest.mark.parametrize("shape", [(30, 2), (60, 4), (20, 30)])
    @pytest.mark.parametrize("spread", [0.0, 1.5])
    def test_as_low_as_a_general_solver(self, shape, spread):
        rng = np.random.default_rng(shape[1])
        X = rng.normal(size=shape)
        y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0, 1.0, -1.0)
        margins, costs = rng.normal(1, spread, len(X)), rng.exponential(10.0, len(X))
        found = hinge_objective(fit_hinge(X, y, margins, costs), X, y, margins, costs)
        best = hinge_objective(by_convex_solver(X, y, margins, costs), X, y, margins, costs)
        assert found == pytest.approx(best, rel=1e-7)

    @pytest.mark.parametrize("unit", [1e-200, 1e-9, 1e9, 1e200])
    def test_costs_of_any_size(self, unit):
        """Without cost it is w = 0 and a b between the margins; beyond all, the widest gap."""
        X, y = np.array([[-3.0, 0], [-1, 0], [1, 0], [5, 0]]), np.array([-1.0, -1, 1, 1])
        theta = fit_hinge(X, y, np.ones(4), np.full(4, unit))
        expected = [0, 0] if unit < 1 else [1, 0]
        np.testing.assert_allclose(theta[:2], expected, atol=1e-5)
        assert abs(theta[2]) <= (1 if unit < 1 else 1e-5)

    def test_rows_of_one_class(self):
        X, margins = np.ones((3, 2)), np.array([-2.0, 0.5, 0.25])
        inside = fit_hinge(X, np.ones(3), margins, np.ones(3))
        np.testing.assert_array_equal(inside, [0, 0, 0.5])
        outside = fit_hinge(X, np.array([1.0, -1, -1]), margins, np.array([0.0, 1, 1]))
        np.testing.assert_array_equal(outside, [0, 0, -0.5])
        np.testing.assert_array_equal(fit_hinge(X, np.ones(3), margins, np.zeros(3)), 0)


@losses
class TestFaceRows:
    def test_what_a_face_minimises(self, outside_loss):
        """It never changes by less than the objective does, and for a product by as much."""
        rows, rng = random_rows(40, 3, 3, 0), np.random.default_rng(5)
        theta = rng.normal(size=(3, 4))
        for k in range(3):
            margins, shares = face_rows(theta, k, rows, outside_loss)

            def gain(face, k=k, of=(rows.X, rows.y, margins, rows.cost * shares)):
                moved = theta.copy()
                moved[k] = face
                bound = hinge_objective(face, *of) - hinge_objective(theta[k], *of)
                change = objective(moved, rows, outside_loss) - objective(theta, rows, outside_loss)
                return bound, change

            for face in rng.normal(size=(20, 4)) * 3:
                bound, change = gain(face)
                assert change <= bound + 1e-9
                if outside_loss == "product":  # which is convex in each face
                    assert change == pytest.approx(bound)


# --- the learner ----------------------------------------------------------------------------


class TestObjective:
    def test_the_algorithm_in_plain_loops(self, monkeypatch):
        X, y = X_SQUARE[:40] - X_SQUARE[:40].mean(axis=0), NOISY[:40]
        model = PolyhedralSVM(2, C=2.0, tol=1e-3, random_state=0)
        _, training, state = first_start(model, X, y)
        start = np.where(state.rows.X[:, 0] > state.rows.X[:, 1], 0, 1)
        start = np.where(state.rows.y > 0, -1, start)
        module = "polyceptron.learners.polyhedral_svm.learner._shared_out"
        monkeypatch.setattr(module, lambda *_: start)
        model.set_params(n_init=1).fit(X, y)
        theta, values = by_loops(state.rows._replace(group=start), 2, 1e-3, 100)
        np.testing.assert_allclose(model.history_["objective"], values, rtol=1e-6)
        W, b, _ = training.coordinates.to_user(theta[:, :-1], theta[:, -1])
        np.testing.assert_allclose(model.coef_, W, atol=1e-4)
        np.testing.assert_allclose(model.intercept_, b, atol=1e-4)

    @losses
    @pytest.mark.parametrize("groups", [None, SIDES])
    def test_is_that_of_the_definition_and_never_rises(self, outside_loss, groups):
        weight = np.random.default_rng(1).integers(0, 3, 120).astype(float)
        settings = {"outside_loss": outside_loss, "class_weight": {1: 2.0}}
        model = PolyhedralSVM(2, C=3, random_state=0, **settings)
        model.fit(X_SQUARE, CORNER, sample_weight=weight, groups=groups)
        weight *= np.where(CORNER, 2, 1)  # for the spread of the columns as well
        mean = np.average(X_SQUARE, axis=0, weights=weight)
        scale = np.sqrt(np.average((X_SQUARE - mean) ** 2, axis=0, weights=weight))
        y, group = np.where(CORNER, 1.0, -1), np.full(120, -1) if groups is None else groups
        rows = MarginRows((X_SQUARE - mean) / scale, y, 3 * weight, group)
        W, b = model.coef_, model.intercept_
        assert (np.abs(W).max(axis=1) > 0.1).all()
        theta = np.column_stack([W * scale, b + W @ mean])
        assert model.objective_ == pytest.approx(objective(theta, rows, outside_loss), rel=1e-9)
        assert model.history_["objective"][-1] == model.objective_
        assert (np.diff(model.history_["objective"]) <= 0).all()

    def test_one_hyperplane_is_the_linear_machine(self):
        X = (X_SQUARE - X_SQUARE.mean(axis=0)) / X_SQUARE.std(axis=0)
        y = np.where(X[:, 0] > 0.3 + X_SQUARE[:, 1] ** 2 / 4, 1, 0)
        model = PolyhedralSVM(1, C=0.7, random_state=0).fit(X, y)
        expected = SVC(kernel="linear", C=0.7, tol=1e-7).fit(X, y)
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-4)
        np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-4)

    def test_separable_rows(self):
        X, y = square(200)
        model = PolyhedralSVM(4, C=1000.0, n_init=5, random_state=0).fit(X, y)
        assert model.score(X, y) == 1

    def test_fewer_outside_rows_than_hyperplanes(self):
        X = np.vstack([X_SQUARE[Y_SQUARE == 1], [[3.0, 3.0]]])
        y = np.r_[np.ones(len(X) - 1, int), 0]
        assert PolyhedralSVM(4, random_state=0).fit(X, y).score(X, y) == 1

    def test_without_information_the_majority_is_predicted(self):
        for majority in (0, 1):
            y = np.where(np.arange(100) % 10 < 3, 1 - majority, majority)
            model = PolyhedralSVM(2, random_state=0).fit(np.zeros((100, 2)), y)
            assert set(model.predict(np.ones((3, 2)))) == {majority}

    def test_out_of_rounds(self):
        with pytest.warns(ConvergenceWarning, match=r"max_iter=1 .*Raise max_iter or tol"):
            model = quick(PolyhedralSVM, max_iter=1).fit(X_SQUARE, NOISY)
        assert not model.converged_

    def test_a_start_that_is_given(self):
        """An optimum stays where it is."""
        model = quick(PolyhedralSVM, tol=0, max_iter=300, warm_start=True)
        before = fit(model, X_SQUARE, NOISY).objective_
        fit(model, X_SQUARE, NOISY)
        assert model.objective_ == pytest.approx(before, rel=1e-6)
        assert model.n_iter_ <= 3


class TestGroups:
    X = np.array([[0.0, 0], [1, 0], [0, 1], [-3, 0], [-3, 1], [0, 4], [1, 4], [-3, 4]])
    Y = np.array([1, 1, 1, 0, 0, 0, 0, 0])
    GROUPS = np.array([-1, 1, 1, 1, 1, 0, 0, 0])  # inside they say nothing

    def test_each_face_rejects_its_own(self):
        model = PolyhedralSVM(2).fit(self.X, self.Y, groups=self.GROUPS)
        scores = self.X[3:] @ model.coef_.T + model.intercept_
        assert (scores[np.arange(5), self.GROUPS[3:]] < 0).all()
        assert model.score(self.X, self.Y) == 1

    def test_unknown_ones_go_to_the_faces_without(self):
        groups = np.array([-1, -1, -1, 1, 1, -1, -1, 1])
        model = PolyhedralSVM(2, random_state=0).fit(self.X, self.Y, groups=groups)
        scores = self.X @ model.coef_.T + model.intercept_
        assert (scores[[3, 4, 7], 1] < 0).all()
        assert (scores[[5, 6], 0] < 0).all()

    def test_rows_without_weight_take_their_groups_along(self):
        X = np.vstack([self.X[:1], self.X, self.X[3:]])
        y, groups = np.r_[0, self.Y, 1, 1, 1, 1, 1], np.r_[1, self.GROUPS, np.zeros(5, int)]
        weight = np.r_[0, np.ones(8), np.zeros(5)]
        model = PolyhedralSVM(2).fit(X, y, weight, groups)
        assert_equal_models(model, PolyhedralSVM(2).fit(self.X, self.Y, groups=self.GROUPS))

    @pytest.mark.parametrize(
        ("groups", "message"),
        [
            (np.zeros(7), r"groups must have 8 items, one a row; got \(7,\)"),
            (np.zeros((8, 1)), r"groups must have 8 items, one a row; got \(8, 1\)"),
            ([0] * 7 + [2], r"from 0 to 1, or -1 .* got 2 in row 7"),
            ([-2] * 8, r"got -2 in row 0"),
            ([0.0, np.nan] * 4, r"got nan in row 1"),
            ([0.5] * 8, r"got 0.5 in row 0"),
            (["fold"] * 8, r"got 'fold' in row 0"),
        ],
    )
    def test_what_is_no_group(self, groups, message):
        model = PolyhedralSVM(2).fit(self.X, self.Y)
        before = snapshot(model)
        with pytest.raises(ValueError, match=message):
            model.fit(self.X, self.Y, groups=groups)
        assert snapshot(model) == before

    def test_a_checkpoint_of_other_groups_is_refused(self, tmp_path, monkeypatch):
        model = PolyhedralSVM(2, checkpoint=Checkpoint(tmp_path / "c", 0.0, 1))
        with monkeypatch.context() as patched:
            patched.setattr(PolyhedralSVM, "_publish", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                model.fit(self.X, self.Y, groups=self.GROUPS)
        with pytest.raises(CheckpointError, match="groups was"):
            model.fit(self.X, self.Y)
        model.fit(self.X, self.Y, groups=self.GROUPS)
        assert_equal_models(model, PolyhedralSVM(2).fit(self.X, self.Y, groups=self.GROUPS))


class TestSameModel:
    def test_order_of_rows(self):
        order = np.random.default_rng(0).permutation(120)
        settings = {"standardize": False, "n_init": 1, "random_state": 0}
        X = np.round(X_SQUARE * 8)  # whose sums have no rounding
        one = PolyhedralSVM(3, **settings).fit(X, NOISY)
        other = PolyhedralSVM(3, **settings).fit(X[order], NOISY[order])
        np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6)
        assert one.objective_ == pytest.approx(other.objective_, rel=1e-9)

    def test_sparse_rows(self):
        """The bias is free, so it does not matter that their columns are not centred."""
        model = quick(PolyhedralSVM).fit(X_SQUARE, NOISY, groups=SIDES)
        other = quick(PolyhedralSVM).fit(sp.csr_matrix(X_SQUARE), NOISY, groups=SIDES)
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-5)

    @pytest.mark.parametrize("size", [2.0**-900, 2.0**900])
    def test_the_size_of_columns_does_not_matter(self, size):
        settings = {"standardize": False}
        model = quick(PolyhedralSVM, **settings).fit(X_SQUARE, NOISY)
        other = quick(PolyhedralSVM, **settings).fit(X_SQUARE * size, NOISY)
        np.testing.assert_array_equal(other.predict(X_SQUARE * size), model.predict(X_SQUARE))
        assert other.objective_ == pytest.approx(model.objective_)
