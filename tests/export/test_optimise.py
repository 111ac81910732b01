"""Constraints: scipy, HiGHS, cvxpy and Pyomo find the same optima in the polyhedron."""

import re

import cvxpy
import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from export_cases import CANARY, HOSTILE, UNWRITABLE, polyhedron, rows
from polyceptron import Polyhedron
from polyceptron.export import ExportError, lp_names, to_cvxpy, to_lp, to_pyomo, to_scipy


def bounded(d=4, K=12, seed=0, names=None):
    """A polyhedron about the origin, in a box: every objective has an optimum."""
    rng = np.random.default_rng(seed)
    W = np.vstack([rng.normal(size=(K, d)), np.eye(d), -np.eye(d)])
    b = np.concatenate([rng.uniform(0.5, 2, K), np.full(2 * d, 5.0)])
    return Polyhedron(W, b, names)


def objectives(d, n=3, seed=1):
    return np.random.default_rng(seed).normal(size=(n, d))


def optimum(P, c):
    found = linprog(c, *to_scipy(P), bounds=(None, None))
    assert found.status == 0
    return found.fun


def read(folder, text):
    """HiGHS with the problem of a file."""
    (folder / "model.lp").write_text(text, encoding="utf-8")
    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(folder / "model.lp")) == highspy.HighsStatus.kOk
    return highs


def solved(highs):
    assert highs.run() == highspy.HighsStatus.kOk
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return highs.getInfo().objective_function_value


def test_inequalities_hold_for_the_rows_inside():
    P, X = polyhedron(), rows()
    A_ub, b_ub = to_scipy(P)
    np.testing.assert_array_equal((b_ub >= X @ A_ub.T).all(axis=1), P.contains(X))
    assert A_ub.shape == P.W.shape


def test_usual_numbers_stay_as_they_are():
    P = bounded()
    A_ub, b_ub = to_scipy(P)
    np.testing.assert_array_equal(A_ub, -P.W)
    np.testing.assert_array_equal(b_ub, P.b)
    assert not np.signbit(A_ub[A_ub == 0]).any()


@pytest.mark.parametrize("unit", [1e-200, 1e-12, 1e12, 1e200])
def test_numbers_that_solvers_drop_are_scaled(unit):
    P = bounded()
    for c in objectives(4, 3):
        there = optimum(Polyhedron(P.W * unit, P.b * unit), c)
        assert there == pytest.approx(optimum(P, c), rel=1e-9)


@settings(max_examples=50)
@given(st.data())
def test_scaling_changes_no_answer(data):
    floats = st.floats(-1e100, 1e100).filter(lambda v: v == 0 or abs(v) > 1e-100)
    d = data.draw(st.integers(1, 3))
    vectors = st.lists(floats, min_size=d, max_size=d)
    W = np.array([data.draw(vectors.filter(any))])
    P = Polyhedron(W, [data.draw(floats)])
    A_ub, b_ub = to_scipy(P)
    exponents = np.unique(np.frexp(W[W != 0])[1] - np.frexp(A_ub[W != 0])[1])
    assert len(exponents) == 1
    assert np.array_equal(np.ldexp(-A_ub, exponents[0]), W)
    assert np.array_equal(np.ldexp(b_ub, exponents[0]), P.b)


def test_faces_that_no_float_can_hold_are_refused():
    with pytest.raises(ExportError, match="face 0 is further from the origin"):
        to_scipy(Polyhedron([[5e-324]], [1e308]))


def test_faces_that_say_always_and_never():
    """A learner gives such faces to hyperplanes that ended without a normal."""
    tiny = np.finfo(float).tiny
    box = np.vstack([np.eye(2), -np.eye(2)])
    for offset, status in ((1.0, 0), (-1.0, 2)):
        P = Polyhedron(np.vstack([box, [[tiny, 0]]]), [1, 1, 1, 1, offset])
        assert linprog([1, 1], *to_scipy(P), bounds=(None, None)).status == status


@pytest.mark.parametrize("names", [None, ["age", "a b", "free", "x1_a_b"]])
def test_highs_reads_the_file(tmp_path, names):
    P = bounded(names=names)
    for c in objectives(4):
        assert solved(read(tmp_path, to_lp(P, objective=c))) == pytest.approx(optimum(P, c))
        most = solved(read(tmp_path, to_lp(P, objective=c, maximise=True)))
        assert most == pytest.approx(-optimum(P, -c))
        by_name = dict(zip(P.feature_names or ["x0", "x1", "x2", "x3"], c, strict=True))
        assert to_lp(P, objective=by_name) == to_lp(P, objective=c)


def test_highs_reads_the_numbers_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    W = rng.normal(size=(300, 3)) * 10.0 ** rng.integers(-2, 3, (300, 3))
    P = Polyhedron(W, rng.normal(size=300) * 1e5)
    lp = read(tmp_path, to_lp(P)).getLp()
    matrix = np.zeros((300, 3))
    starts = lp.a_matrix_.start_
    assert lp.a_matrix_.format_ == highspy.MatrixFormat.kColwise
    for j in range(3):
        part = slice(starts[j], starts[j + 1])
        matrix[np.array(lp.a_matrix_.index_)[part], j] = np.array(lp.a_matrix_.value_)[part]
    A_ub, b_ub = to_scipy(P)
    np.testing.assert_array_equal(matrix, -A_ub)
    np.testing.assert_array_equal(lp.row_lower_, -b_ub)
    assert np.isneginf(lp.col_lower_).all()


def test_bounds_and_whole_numbers(tmp_path):
    P = Polyhedron([[-2.0, -1.0]], [3.5], ["a b", "c"])
    text = to_lp(
        P,
        objective=[1, 1],
        maximise=True,
        bounds={"a b": (0, None), "c": (None, 2.5)},
        integers=["c", "a b"],
    )
    assert solved(read(tmp_path, text)) == pytest.approx(2)  # c = 2, a b = 0
    relaxed = to_lp(P, objective=[1, 1], maximise=True, bounds={"a b": (0, None), "c": (0, 2.5)})
    assert solved(read(tmp_path, relaxed)) == pytest.approx(3)


def test_no_objective(tmp_path):
    assert solved(read(tmp_path, to_lp(bounded()))) == 0


def test_hostile_names_in_the_file(tmp_path):
    names = HOSTILE + UNWRITABLE
    P = bounded(len(names), 3, names=names)
    variables = lp_names(P)
    assert len(set(variables)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,60}", one) for one in variables)
    c = objectives(len(names), 1)[0]
    highs = read(tmp_path, to_lp(P, objective=c))
    assert highs.getNumCol() == len(names)
    assert highs.getNumRow() == P.n_faces
    assert list(highs.getLp().col_names_) == list(variables)
    assert solved(highs) == pytest.approx(optimum(P, c))
    assert not (tmp_path / CANARY).exists()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(), max_size=30), min_size=2, max_size=4, unique=True))
def test_any_names(tmp_path, names):
    P = Polyhedron(-np.eye(len(names)), np.arange(len(names)) + 1.0, names)
    highs = read(tmp_path, to_lp(P, objective=np.ones(len(names)), maximise=True))
    assert list(highs.getLp().col_names_) == list(lp_names(P))
    assert solved(highs) == pytest.approx(P.b.sum())


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"objective": {"c": 1}}, "objective names 'c', which is no feature; features are"),
        ({"objective": [1.0, np.nan]}, "objective must be finite"),
        ({"bounds": {"c": (0, 1)}}, "bounds names 'c'"),
        ({"integers": ["c"]}, "integers names 'c'"),
        ({"name": "a\nEnd"}, "name must be a letter"),
    ],
)
def test_the_file_refuses(options, match):
    with pytest.raises(ValueError, match=match):
        to_lp(Polyhedron([[1.0, 2.0]], [0.0], ["a", "b"]), **options)


# --- cvxpy and Pyomo --------------------------------------------------------------------


def test_cvxpy_finds_the_optima():
    P = bounded(names=HOSTILE[:4])
    assert "HIGHS" in cvxpy.installed_solvers()
    for c in objectives(4):
        x = cvxpy.Variable(4)
        problem = cvxpy.Problem(cvxpy.Minimize(c @ x), to_cvxpy(P, x))
        problem.solve(solver="HIGHS")
        assert problem.value == pytest.approx(optimum(P, c))
        assert P.decision(x.value[None, :])[0] > -1e-6
        parts = {name: cvxpy.Variable() for name in reversed(P.feature_names)}
        cost = sum(c[j] * parts[name] for j, name in enumerate(P.feature_names))
        named = cvxpy.Problem(cvxpy.Minimize(cost), to_cvxpy(P, parts))
        named.solve(solver="HIGHS")
        assert named.value == pytest.approx(problem.value)


def test_pyomo_finds_the_optima():
    P = bounded(names=HOSTILE[:4])
    solver = pyo.SolverFactory("appsi_highs")
    for i, c in enumerate(objectives(4)):
        model = pyo.ConcreteModel()
        model.x = pyo.Var(range(4) if i % 2 else list(P.feature_names))
        x = list(model.x.values())
        model.region = to_pyomo(P, x if i == 0 else model.x)
        model.cost = pyo.Objective(expr=sum(float(c[j]) * x[j] for j in range(4)))
        solver.solve(model)
        assert pyo.value(model.cost) == pytest.approx(optimum(P, c))
        assert len(model.region) == P.n_faces


@pytest.mark.parametrize("write", [to_cvxpy, to_pyomo])
@pytest.mark.parametrize("variables", [{"a": 1}, [1, 2, 3], {0: 1}])
def test_what_does_not_fit_is_refused(write, variables):
    with pytest.raises(ExportError, match="variable"):
        write(Polyhedron([[1.0, 2.0]], [0.0], ["a", "b"]), variables)
