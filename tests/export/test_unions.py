"""Unions, trees and classes in order: every format gives the answers of the rule."""

import ctypes
import json
import shutil
import sqlite3
import subprocess

import cvxpy
import duckdb
import highspy
import numpy as np
import onnxruntime
import pandas as pd
import pyomo.environ as pyo
import pytest

from common import fit, quick
from export_cases import polyhedron, rows, rows_on_faces
from polyceptron import OC1, Polyceptron, Polyhedron
from polyceptron.calibration import Calibration, Logistic, Side
from polyceptron.data.encoding import Column, Encoding
from polyceptron.export import (
    ExportError,
    export,
    to_c,
    to_cvxpy,
    to_javascript,
    to_latex,
    to_lp,
    to_onnx,
    to_pyomo,
    to_python,
    to_scipy,
    to_sql,
)
from polyceptron.rule import Piece, Rule

NAMES = ["a", "b c", "d", "e", "f"]


def apart(seed, K, shift):
    """A polyhedron that holds a fair share of the rows, about another middle."""
    P = polyhedron(NAMES, K=K, seed=seed)
    return Polyhedron(P.W, P.b - P.W[:, 0] * shift, NAMES)


def whole(seed, K):
    """One of whole numbers: with rows of whole numbers every format adds up without rounding."""
    rng = np.random.default_rng(seed)
    W = rng.integers(-3, 4, (K, 5)).astype(float)
    W[~W.any(axis=1), 0] = 1.0
    return Polyhedron(W, rng.integers(0, 6, K), NAMES)


@pytest.fixture(scope="module")
def cases():
    """Rules by name, each with 10,000 rows, and rows on its faces that are exact in all formats."""
    X = rows()
    y = np.select([np.abs(X[:, 0]) < 0.6, X[:, 1] + X[:, 2] > 0.5], ["mid", "high"], "low")
    frame = pd.DataFrame(X[:400], columns=NAMES)
    tree = fit(quick(OC1, n_restarts=1, prune_share=0.0), frame, y[:400])
    parts = [apart(0, 2, -0.5), apart(1, 5, 1.0), apart(2, 3, 0.0)]
    lattice = np.random.default_rng(5).integers(-3, 4, (10_000, 5)).astype(float)
    grids = [whole(seed, K) for seed, K in ((0, 2), (1, 3), (2, 4))]
    made = {
        "one": Rule.inside(["in", "out"], 0, parts[1]),
        "two": Rule.inside(["no", "yes"], 1, *parts[:2]),
        "three": Rule.inside(["inside", "outside"], 0, *parts),
        "classes": Rule(
            [3, 5, 9], [Piece(p, i) for p, i in zip(parts, (0, 2, 0), strict=True)], otherwise=1
        ),
        "nearest": Rule(["p", "q"], [Piece(p, i) for p, i in zip(parts, (0, 1, 1), strict=True)]),
        "tree": tree.rule_,
    }
    found = {name: (rule, X) for name, rule in made.items()}
    found["grid"] = Rule.inside([0, 1], 1, *grids), lattice
    for name, (rule, _) in probable(parts, frame, y[:400]).items():
        found[name] = rule, X
    found["grids"] = Rule(["u", "v", "w"], [Piece(p, i) for i, p in enumerate(grids)], 1), lattice
    return found


def probable(parts, frame, y):
    """Rules by the most probable of three and four classes; 10,000 rows in every format."""
    links = [
        Calibration(Side(2.0, 0.03), Side(5.0, 1e-5)),
        Calibration(Side(0.3, 1e-5), Side(700.0, 0.1), exponent=3),
        Calibration(Side(4.5, 0.2), Side(1.0, 1e-5), exponent=-2),
    ]
    places = (0, 2, 2, 1)
    pieces = [Piece(p, i) for p, i in zip([*parts, apart(3, 2, 0.5)], places, strict=True)]
    tiny = [Piece(Polyhedron(p.W * 2.0**-900, p.b * 2.0**-900, NAMES), i) for p, i, _ in pieces]
    learned = fit(quick(Polyceptron), frame, y)
    union = fit(Polyceptron(n_polyhedra=2, max_faces=6, random_state=0), frame, y)
    return {
        "calibrated": (Rule([3, 5, 9], pieces, links=links), None),
        "logistic": (Rule(["p", "q", "r"], pieces, links=[Logistic()] * 3), None),
        "absent": (Rule(["p", "q", "r", "s"], pieces, links=[*links, links[0]]), None),
        "units": (Rule([1, 2, 3], tiny, links=[c._replace(exponent=900) for c in links]), None),
        "learned": (learned.rule_, None),
        "unions": (union.rule_, None),
    }


EVERY_ROW = ("one", "three", "calibrated", "logistic", "learned", "unions")
"""The others go through programs of plain Python and JavaScript with some."""


def on_faces(rule):
    W, b = (np.concatenate([getattr(p.polyhedron, a) for p in rule.pieces]) for a in "Wb")
    stacked = Polyhedron(W[W[:, -1] != 0], b[W[:, -1] != 0])
    return rows_on_faces(stacked, 1500)


def test_the_cases_tell_labels_apart(cases):
    for name, (rule, X) in cases.items():
        _, counts = np.unique(rule.predict(X), return_counts=True)
        assert counts.min() > 50, name
        assert len(counts) > 1
    grid, lattice = cases["grid"]
    assert (grid.scores(lattice) == 0).any(axis=1).sum() > 1000


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_sql(cases, dialect):
    for name, (rule, X) in cases.items():
        con = duckdb.connect() if dialect == "duckdb" else sqlite3.connect(":memory:")
        con.execute("CREATE TABLE data (" + ", ".join(f'"{c}" DOUBLE' for c in NAMES) + ")")
        if dialect == "duckdb":
            con.register("frame", pd.DataFrame(X))
            con.execute("INSERT INTO data SELECT * FROM frame")
        else:
            con.executemany("INSERT INTO data VALUES (?, ?, ?, ?, ?)", X.tolist())
        rows_out = con.execute(to_sql(rule, dialect=dialect)).fetchall()
        np.testing.assert_array_equal(np.array([row[:-1] for row in rows_out]), X)
        answers = [row[-1] for row in rows_out]
        case = to_sql(rule, dialect=dialect, kind="case")
        assert [one for (one,) in con.execute(f"SELECT {case} FROM data").fetchall()] == answers
        contained = (rule.scores(X) >= 0).any(axis=1)
        contained |= rule.otherwise is not None or rule.is_most_probable
        expected = np.where(contained, rule.predict(X).astype(object), None)
        assert answers == expected.tolist(), name
        assert contained.all() or name == "nearest"
        if rule.inside_place is not None:
            where = to_sql(rule, dialect=dialect, kind="where")
            (count,) = con.execute(f"SELECT count(*) FROM data WHERE {where}").fetchone()
            assert count == (rule.scores(X) >= 0).any(axis=1).sum()
        else:
            with pytest.raises(ExportError, match="kind 'where' is for one class"):
                to_sql(rule, dialect=dialect, kind="where")


def test_sql_is_an_or_of_ands(cases):
    text = to_sql(cases["three"][0], kind="where")
    assert text.count("\n  OR (") == 2


COMPILER = shutil.which("gcc") or shutil.which("cc")


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
def test_c(cases, tmp_path):
    source = "\n".join(to_c(rule, name=name) for name, (rule, _) in cases.items())
    (tmp_path / "model.c").write_text(source, encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC", "-O2"]
    command = [COMPILER, *flags, "model.c", "-o", "model.so", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "model.so"))
    for name, (rule, usual) in cases.items():
        label, decision = (getattr(library, f"{name}_{one}") for one in ("label", "decision"))
        label.restype, decision.restype = ctypes.c_char_p, ctypes.c_double
        for X in map(np.ascontiguousarray, (usual, on_faces(rule))):
            starts = [ctypes.c_void_p(X.ctypes.data + i * X.strides[0]) for i in range(len(X))]
            found = [label(start).decode() for start in starts]
            assert found == rule.predict(X).astype(str).tolist(), name
            scored = [decision(start) for start in starts]
            if rule.is_most_probable:
                np.testing.assert_allclose(scored, rule.decide(X).score, rtol=1e-9, atol=1e-9)
            else:
                np.testing.assert_array_equal(scored, rule.scores(X).max(axis=1))


def test_python(cases):
    for name, (rule, X) in cases.items():
        module = {}
        exec(compile(to_python(rule), f"{name}.py", "exec"), module)
        for some in (X if name in EVERY_ROW else X[:300], on_faces(rule)):
            found = [module["predict"](x) for x in some.tolist()]
            assert found == rule.predict(some).tolist(), name


NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="no node on this machine")
def test_javascript(cases, tmp_path):
    asked = {}
    for name, (rule, X) in cases.items():
        (tmp_path / f"{name}.cjs").write_text(to_javascript(rule), encoding="utf-8")
        asked[name] = np.vstack([X if name in EVERY_ROW else X[:300], on_faces(rule)])
    (tmp_path / "main.cjs").write_text("""
const asked = JSON.parse(require("fs").readFileSync("rows.json", "utf8"));
const found = {};
for (const name in asked) found[name] = asked[name].map(require(`./${name}.cjs`).predict);
console.log(JSON.stringify(found));
""")
    (tmp_path / "rows.json").write_text(json.dumps({k: X.tolist() for k, X in asked.items()}))
    done = subprocess.run([NODE, "main.cjs"], cwd=tmp_path, capture_output=True, check=True)
    for name, answers in json.loads(done.stdout).items():
        assert answers == cases[name][0].predict(asked[name]).tolist(), name


def test_onnx(cases):
    for name, (rule, X) in cases.items():
        session = onnxruntime.InferenceSession(to_onnx(rule))
        label, score = session.run(["label", "score"], {"X": X})
        np.testing.assert_array_equal(label, rule.predict(X), err_msg=name)
        expected = rule.predict_proba(X) if rule.has_probabilities else rule.scores(X).max(axis=1)
        expected = rule.decision_function(X) if rule.is_most_probable else expected
        np.testing.assert_allclose(score, expected, rtol=1e-9, atol=1e-9)


def test_classes_by_the_most_probable(cases):
    rule, X = cases["calibrated"]
    with pytest.raises(ExportError, match=r"labels are those of the model"):
        to_python(rule, inside="in")
    for write in (to_scipy, to_lp):
        with pytest.raises(ExportError, match=r"one class.*polyhedra\[3\]|no system of"):
            write(rule)
    mixed = Rule([3, 5, 9], rule.pieces, links=[Logistic(), *rule.links[1:]])
    with pytest.raises(ExportError, match="links of different kinds"):
        to_sql(mixed)
    module = {}
    exec(to_python(mixed), module)
    assert [module["predict"](x) for x in X[:300].tolist()] == mixed.predict(X[:300]).tolist()
    own = Rule([3, 5, 9], rule.pieces, links=[object()] * 3)
    with pytest.raises(ExportError, match="a link of type object cannot be exported"):
        to_c(own)


def test_a_list_of_polyhedra_is_their_union():
    parts = [apart(1, 3, 1.0), apart(2, 2, -1.0)]
    rule = Rule.inside(["0", "1"], 1, *parts)
    for write in (to_sql, to_c, to_python, to_onnx, to_latex):
        assert write(parts) == write(rule)
    encoding = Encoding([Column(name, "number") for name in NAMES])
    assert export(parts, "sql", encoding=encoding) == export(rule, "sql", encoding=encoding)
    with pytest.raises(ExportError, match=r"polyhedron must be .* got \[1, 2\]"):
        to_sql([1, 2])


def test_latex(cases):
    text = to_latex(cases["three"][0])
    assert text.count(r"\left\{\begin{aligned}") == 3
    assert text.count(r"\lor\;") == 2
    assert text.count(r"&\geq") + text.count(r"&\leq") == 10
    text = to_latex(cases["classes"][0])
    assert text.count(r"\text{3:}\; &") == 2
    assert r"\lor" not in text


def test_labels_and_files(cases):
    rule, _ = cases["two"]
    assert "THEN 'in' ELSE 'out'" in export(rule, "sql", inside="in", outside="out")
    assert "THEN 'yes' ELSE 'no'" in export(rule, "sql")
    with pytest.raises(ExportError, match="labels are those of the model"):
        to_sql(cases["tree"][0], inside="in")
    with pytest.raises(ExportError, match="2 polyhedra are no system of inequalities"):
        export(rule, "scipy")


# --- constraints ------------------------------------------------------------------------


def box(low, high, names=("a", "b c")):
    eye = np.eye(len(low))
    return Polyhedron(np.vstack([eye, -eye]), np.concatenate([-np.array(low), high]), names)


ISLANDS = Rule.inside([0, 1], 1, box([0, 0], [1, 2]), box([3, 1], [4.0, 5]), box([-2, 4], [0, 6.0]))
BOUNDS = {"a": (-10, 10), "b c": (-20, 20)}


def corners(c):
    """The least of c . x over the corners of the islands."""
    spans = [((0, 1), (0, 2)), ((3, 4), (1, 5)), ((-2, 0), (4, 6))]
    return min(c[0] * x + c[1] * y for xs, ys in spans for x in xs for y in ys)


@pytest.mark.parametrize("c", np.random.default_rng(0).normal(size=(2, 2)).tolist())
def test_optimisers_find_the_best_island(tmp_path, c):
    best = corners(c)
    x = cvxpy.Variable(2)
    problem = cvxpy.Problem(cvxpy.Minimize(np.array(c) @ x), to_cvxpy(ISLANDS, x, BOUNDS))
    problem.solve(solver="HIGHS")
    assert problem.value == pytest.approx(best)
    assert ISLANDS.scores(x.value[None, :]).max() > -1e-6
    model = pyo.ConcreteModel()
    model.x = pyo.Var(["a", "b c"])
    model.region = to_pyomo(ISLANDS, model.x, BOUNDS)
    model.cost = pyo.Objective(expr=c[0] * model.x["a"] + c[1] * model.x["b c"])
    pyo.SolverFactory("appsi_highs").solve(model)
    assert pyo.value(model.cost) == pytest.approx(best)
    (tmp_path / "model.lp").write_text(to_lp(ISLANDS, objective=c, bounds=BOUNDS))
    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(tmp_path / "model.lp")) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(best)


def test_bounds_of_one_polyhedron():
    x = cvxpy.Variable(2)
    one = Polyhedron([[1.0, 1.0]], [0.0], ["a", "b c"])
    problem = cvxpy.Problem(cvxpy.Minimize(x[0]), to_cvxpy(one, x, {"b c": (None, 3)}))
    assert problem.solve(solver="HIGHS") == pytest.approx(-3)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(["a", "b c"])
    model.region = to_pyomo(one, model.x, {"b c": (None, 3)})
    model.cost = pyo.Objective(expr=model.x["a"])
    pyo.SolverFactory("appsi_highs").solve(model)
    assert pyo.value(model.cost) == pytest.approx(-3)


def test_several_polyhedra_need_bounds():
    x = cvxpy.Variable(2)
    for write in (lambda b: to_cvxpy(ISLANDS, x, b), lambda b: to_lp(ISLANDS, bounds=b)):
        for bounds, name in ((None, "'a'"), ({"a": (0, 1)}, "'b c'"), ({"a": (0, None)}, "'a'")):
            with pytest.raises(ExportError, match=f"3 polyhedra need bounds.*{name} has none"):
                write(bounds)
    with pytest.raises(ExportError, match="several have polyhedra"):
        to_lp(Rule([0, 1], [Piece(box([0], [1], ["a"]), i) for i in (0, 1)]))


def test_names_of_pieces_in_the_file():
    names = ("piece0", "pieces")
    islands = [Piece(box([i, 0], [i + 0.5, 1], names), 1) for i in range(2)]
    text = to_lp(Rule([0, 1], islands, 0), bounds=dict.fromkeys(names, (0, 9)))
    assert " piece0\n piece1\n" in text
    assert "x0_piece0" in text
    assert "x1_pieces" in text
