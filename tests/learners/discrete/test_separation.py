"""exact_separation against all ways to share out the outside rows, and its certificates."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from polyceptron import exact_separation
from polyceptron.datasets import make_polyhedron

highspy = pytest.importorskip("highspy")


def one_face(A, B):
    """Whether a hyperplane has all of A on one side and all of B on the other."""
    rows = np.vstack(
        [-np.column_stack([A, np.ones(len(A))]), np.column_stack([B, np.ones(len(B))])]
    )
    d = A.shape[1]
    found = linprog(np.zeros(d + 1), rows, -np.ones(len(rows)), bounds=(None, None))
    return found.status == 0


def by_hand(X, y, K):
    """Every row outside goes to every face, in all ways."""
    A, B = X[y == 1], X[y == 0]
    seen = {(): True}
    for owners in itertools.product(range(K), repeat=len(B)):
        groups = [tuple(np.flatnonzero(np.array(owners) == k)) for k in range(K)]
        for group in groups:
            if group not in seen:
                seen[group] = one_face(A, B[list(group)])
        if all(seen[group] for group in groups):
            return True
    return False


@pytest.mark.parametrize("seed", range(6))
def test_the_answer_is_that_of_all_ways(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(11, 2))
    y = (np.linalg.norm(X - X.mean(axis=0), axis=1).argsort().argsort() < 5).astype(int)
    for K in (1, 2, 3):
        found = exact_separation(X, y, K)
        assert found.separable == by_hand(X, y, K)
        if found.separable:
            assert found.polyhedron.n_faces <= K
            np.testing.assert_array_equal(found.polyhedron.contains(X), y == 1)
        else:
            check_conflicts(X, y, K, found.conflicts)


def check_conflicts(X, y, K, conflicts):
    """Each is one, and no sharing out avoids them all."""
    for outside, inside, point in conflicts:
        for side, label in ((outside, 0), (inside, 1)):
            assert (y[list(side)] == label).all()
            rows = np.column_stack([X[list(side)], np.ones(len(side))]).T
            found = linprog(np.zeros(len(side)), A_eq=rows, b_eq=[*point, 1])
            assert found.status == 0
    rows = np.flatnonzero(y == 0).tolist()
    for owners in itertools.product(range(K), repeat=len(rows)):
        owner = dict(zip(rows, owners, strict=True))
        assert any(len({owner[row] for row in one.outside}) == 1 for one in conflicts)


def test_drawn_instances_are_separable():
    for seed in range(4):
        X, y, _ = make_polyhedron(50, 3, 4, margin=0.02, random_state=seed)
        found = exact_separation(X * [1e6, 1, 1e-6] + [1e7, 0, 5], y, 4)
        assert found.separable
        assert found.n_rounds >= 1
        assert found.conflicts == ()


def test_rows_that_touch_are_not_separable():
    """A row outside on the edge between two inside, or equal to one."""
    X = [[0, 0], [2, 2], [1, 1], [5, 0]]
    for X_touching in (X, [[0, 0], [2, 2], [2, 2], [5, 0]]):
        found = exact_separation(X_touching, ["in", "in", "out", "out"], 3, inside="in")
        assert found.separable is False
        assert found.conflicts[0].outside == (2,)


def test_too_close_to_tell():
    found = exact_separation([[0.0], [1.0], [1 + 1e-12]], [1, 1, 0], 1)
    assert found.separable is None
    assert "outside rows [2] are too close" in found.reason
    with pytest.raises(TypeError, match="separable"):
        bool(found)


def test_out_of_time():
    X, y, _ = make_polyhedron(60, 3, 3, random_state=0)
    found = exact_separation(X, y, 2, time_limit=1e-9)
    assert found.separable is None
    assert found.reason == "time_limit came first"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": [1, 2, 3]}, r"X must be 2-D .*\(3,\)"),
        ({"X": [[1], [np.nan], [2]]}, "X must be finite"),
        ({"y": [0, 1, 2]}, r"two labels; got \[0, 1, 2\]"),
        ({"y": [0, 1]}, r"\(3, 1\), \(2,\)"),
        ({"inside": 7}, r"inside must be one of \[0, 1\]; got 7"),
        ({"n_hyperplanes": 0}, "n_hyperplanes"),
        ({"time_limit": 0}, "time_limit"),
    ],
)
def test_bad_arguments(given, message):
    arguments = {"X": [[1], [2], [3]], "y": [0, 1, 0], "n_hyperplanes": 2} | given
    with pytest.raises(ValueError, match=message):
        exact_separation(**arguments)
