"""Discrete SVM: its objective by loops, its optimum against branching without M, its promises."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import naive
from polyceptron import DiscreteSVM
from polyceptron.data.blocks import ArrayBlocks
from polyceptron.datasets import make_polyhedron
from polyceptron.learners.discrete.programs import Deadline, FaceLP, SignedRows, best_face

highspy = pytest.importorskip("highspy")
X_NOISY, Y_NOISY, _ = make_polyhedron(90, 2, 3, flip=0.1, random_state=0)


def objective(X, y, W, b, penalty):
    """Shares of wrong rows and the sum of |w|, on columns of unit spread."""
    shift, scale = X.mean(axis=0), X.std(axis=0)
    W, b = W * scale, b + W @ shift
    wrong = 0
    for x, label in zip(((X - shift) / scale).tolist(), y.tolist(), strict=True):
        scores = naive.scores(x, W.tolist(), b.tolist())
        wrong += not (min(scores) >= 1 - 1e-7 if label > 0 else min(scores) <= -1 + 1e-7)
    return wrong / len(y) + penalty * np.abs(W).sum()


def signed(X, y):
    rows = np.ascontiguousarray(X, float)
    return SignedRows.of(ArrayBlocks(rows, y.astype(np.int8), np.empty(0), X.shape[1]))


def test_rows_are_merged():
    X = np.array([[1.0, 5], [3, 9], [1, 5], [1, 5]])
    rows = signed(X, np.array([1, 1, 1, -1]))
    assert rows.middle.tolist() == [2, 7]
    assert rows.X.tolist() == [[-1, -2], [1, 2], [-1, -2]]
    assert rows.sign.tolist() == [1, 1, -1]
    np.testing.assert_allclose(rows.cost, [0.5, 0.25, 0.25])


def test_the_face_of_hinges_is_that_of_a_linear_program():
    linprog = pytest.importorskip("scipy.optimize").linprog
    rows, penalty = signed(X_NOISY, Y_NOISY), 0.02
    n, d = rows.X.shape
    theta = FaceLP(rows, penalty).solve(np.ones(n, bool))
    found = rows.cost @ np.maximum(0, 1 - rows.margins(theta[None])[:, 0])
    found += penalty * np.abs(theta[:-1]).sum()
    face = np.column_stack([rows.X, -rows.X, np.ones(n)]) * rows.sign[:, None]
    A = -np.column_stack([face, np.eye(n)])
    cost = np.concatenate([np.full(2 * d, penalty), [0], rows.cost])
    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n
    assert found == pytest.approx(linprog(cost, A, -np.ones(n), bounds=bounds).fun, abs=1e-8)


def test_the_face_of_counts_is_the_best_of_all_subsets():
    X, y, _ = make_polyhedron(9, 2, 1, flip=0.25, random_state=3)
    rows, penalty = signed(X, y), 0.05
    lp, everyone = FaceLP(rows, penalty), np.arange(9)
    best = np.inf
    for code in range(2**9):
        required = (code >> everyone) % 2 == 1
        theta = lp.solve(np.zeros(9, bool), required)
        if theta is not None and (rows.margins(theta[None])[required] > 1 - 1e-6).all():
            best = min(best, rows.objective(theta[None], penalty))
    flat = np.array([0.0, 0, 1])
    found = best_face(rows, flat, everyone[:0], everyone, penalty, Deadline(None), 10**6)
    assert rows.objective(found[None], penalty) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("max_nodes", [0, 400])
def test_the_objective_is_what_the_docstring_says(max_nodes):
    model = DiscreteSVM(3, penalty=0.01, max_nodes=max_nodes, n_init=1, random_state=0)
    model.fit(X_NOISY, Y_NOISY)
    expected = objective(X_NOISY, Y_NOISY, model.coef_, model.intercept_, 0.01)
    assert model.objective_ == pytest.approx(expected, abs=1e-9)
    assert (np.diff(model.history_["objective"]) <= 0).all()
    assert (model.bound_, model.gap_, model.timed_out_) == (0, 1, False)


def test_a_small_set_has_a_proved_optimum():
    """Two rows are on the wrong side, and cost what two rows cost wherever they are."""
    X = np.array([[1.0], [2], [3], [4], [5], [6], [7], [8], [90]])
    y = np.array([0, 0, 1, 1, 0, 1, 0, 0, 1])
    model = DiscreteSVM(2, penalty=1e-3, random_state=0).fit(X, y)
    assert model.predict(X).tolist() == [0, 0, 1, 1, 1, 1, 0, 0, 0]
    assert model.gap_ <= 1e-6
    assert model.bound_ == pytest.approx(model.objective_)
    spread = X.std()
    assert model.objective_ == pytest.approx(2 / 9 + 1e-3 * 4 * spread)  # gaps of 1: |w| is 2


def test_out_of_time():
    with pytest.warns(ConvergenceWarning, match=r"ended by time_limit=1e-06 .*Raise time_limit"):
        model = DiscreteSVM(3, time_limit=1e-6, random_state=0).fit(X_NOISY, Y_NOISY)
    assert model.timed_out_
    assert not model.converged_


def test_out_of_rounds():
    model = DiscreteSVM(3, penalty=0.01, max_nodes=0, max_iter=1, tol=0, init=np.ones((3, 3)))
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 .*last hyperplanes.*Raise max_iter"):
        model.fit(X_NOISY, Y_NOISY)
    assert model.n_iter_ == 1
