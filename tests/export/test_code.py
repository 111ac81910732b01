"""C, Python and JavaScript: compiled and run, they give the answers of the polyhedron."""

import ctypes
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from export_cases import CANARY, HOSTILE, UNWRITABLE, accepted, extreme_polyhedra, polyhedron, rows
from polyceptron import Polyhedron
from polyceptron.data.encoding import Column, Encoding, as_text
from polyceptron.data.guesses import as_number
from polyceptron.export import ExportError, to_c, to_javascript, to_python

COMPILER = shutil.which("gcc") or shutil.which("cc")
NODE = shutil.which("node")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
needs_node = pytest.mark.skipif(NODE is None, reason="no node on this machine")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert not (folder / CANARY).exists()
    return done.stdout


def rounded_faces():
    """Short numbers times powers of two, and rows on and around the faces."""
    W, b = np.array([[5000.0, 1.0], [3.0, -2.0], [-1.0, 0.0]]), np.array([-1440.5, 7.0, 0.25])
    exponents = np.array([-9, 3, -4])
    P = Polyhedron(np.ldexp(W, exponents[:, None]), np.ldexp(b, exponents), ["age", "dose"])
    X = np.random.default_rng(0).integers(-3000, 3000, (300, 2)) / [4096.0, 4.0]
    X[0] = 0.25, 190.5  # on two faces
    return P, X


def test_python_has_the_printed_numbers():
    P, X = rounded_faces()
    source = to_python(P)
    assert "(5000.0, 1.0)," in source
    assert "5000*age + dose >= 1440.5" in source
    module = loaded(source)
    assert [module["decision"](x) for x in X.tolist()] == P.decision(X).tolist()
    assert [module["predict"](x) == "1" for x in X.tolist()] == P.contains(X).tolist()


@needs_compiler
def test_c_has_the_printed_numbers(tmp_path):
    P, X = rounded_faces()
    source = to_c(P)
    assert "{5000.0, 1.0}," in source
    assert Compiled(tmp_path, source)("decision", X) == P.decision(X).tolist()


@needs_node
def test_javascript_has_the_printed_numbers(tmp_path):
    P, X = rounded_faces()
    source = to_javascript(P, inside=1, outside=0)
    assert "[5000.0, 1.0]," in source
    assert run_node(tmp_path, source, X.tolist()) == P.contains(X).astype(int).tolist()


# --- C ----------------------------------------------------------------------------------


class Compiled:
    """The functions of one polyhedron in a library."""

    def __init__(self, folder, source, names=("polyceptron",)):
        (folder / "model.c").write_text(source, encoding="utf-8")
        run(folder, COMPILER, *FLAGS, "model.c", "-o", "model.so", "-lm")
        self.library = ctypes.CDLL(str(folder / "model.so"))
        for name in names:
            self[name, "decision"].restype = ctypes.c_double
            self[name, "label"].restype = ctypes.c_char_p

    def __getitem__(self, key):
        return getattr(self.library, "_".join(key))

    def __call__(self, function, X, name="polyceptron"):
        X = np.ascontiguousarray(X, dtype=float)
        call, start, step = self[name, function], X.ctypes.data, X.strides[0]
        return [call(ctypes.c_void_p(start + i * step)) for i in range(len(X))]


@needs_compiler
def test_c_says_what_is_not_finite(tmp_path):
    model = Compiled(tmp_path, to_c(Polyhedron([[1.0, 0.0]], [0.0])))
    X = [[np.nan, 1], [1, np.inf], [1, -np.inf], [1, 2]]
    assert model("predict", X) == [-1, -1, -1, 1]
    assert model("label", X) == [None, None, None, b"1"]
    assert np.isnan(model("decision", X)).tolist() == [True, True, True, False]


@needs_compiler
def test_c_with_extreme_numbers(tmp_path):
    cases = list(extreme_polyhedra(30))
    names = [f"p{i}" for i in range(len(cases))]
    source = "\n".join(to_c(P, name=name) for name, (P, _) in zip(names, cases, strict=True))
    model = Compiled(tmp_path, source, names)
    for name, (P, X) in zip(names, cases, strict=True):
        np.testing.assert_array_equal(model("decision", X, name), P.decision(X))


@needs_compiler
def test_c_with_hostile_names(tmp_path):
    names, refused = accepted(HOSTILE + UNWRITABLE, to_c)
    assert refused == []  # names are in comments only, with escapes
    P = polyhedron(names)
    X = rows(len(names))
    assert (
        np.array(Compiled(tmp_path, to_c(P))("predict", X)).tolist()
        == P.contains(X).astype(int).tolist()
    )
    assert not (tmp_path / CANARY).exists()


@needs_compiler
def test_c_with_hostile_labels(tmp_path):
    P = Polyhedron([[1.0]], [0.0])
    short = [text for text in HOSTILE if len(text) < 1000]
    names = [f"p{i}" for i in range(len(short))]
    source = "\n".join(
        to_c(P, name=name, inside=text, outside="no")
        for name, text in zip(names, short, strict=True)
    )
    model = Compiled(tmp_path, source, names)
    for name, text in zip(names, short, strict=True):
        assert model("label", [[1.0], [-1.0]], name) == [text.encode(), b"no"]
    for text in [*UNWRITABLE, "x" * 10_000]:
        with pytest.raises(ExportError, match="label"):
            to_c(P, inside=text, outside="no")


@pytest.mark.parametrize("name", [*HOSTILE[:40], "", "1a", "a b", "x" * 41, None, 3])
def test_names_of_functions_are_identifiers(name):
    if not (isinstance(name, str) and name.isidentifier() and name.isascii()):
        for write in (to_c, to_javascript):
            with pytest.raises(ExportError, match="name must be a letter"):
                write(Polyhedron([[1.0]], [0.0]), name=name)


# --- Python -----------------------------------------------------------------------------

DRIVER = """
import json, sys
sys.path.insert(0, ".")
import model
rows = json.load(open("rows.json"))
assert "numpy" not in sys.modules
json.dump([model.predict(row) for row in rows], sys.stdout)
"""


def run_python(folder, source, records):
    """In a process of its own, without the packages of this one."""
    (folder / "model.py").write_text(source, encoding="utf-8")
    (folder / "rows.json").write_text(json.dumps(records), encoding="utf-8")
    return json.loads(run(folder, sys.executable, "-I", "-S", "-B", "-c", DRIVER))


def loaded(source):
    module = {}
    exec(compile(source, "model.py", "exec"), module)
    return module


def test_python_with_hostile_names_and_labels(tmp_path):
    names, refused = accepted(HOSTILE + UNWRITABLE, to_python)
    assert refused == []
    P = polyhedron([name for name in names if name not in UNWRITABLE])
    X = rows(P.n_features, 1000)
    records = [dict(zip(P.feature_names, x, strict=True)) for x in X[:300].tolist()]
    inside = P.contains(X)
    answers = run_python(tmp_path, to_python(P, inside=True, outside=False), records + X.tolist())
    assert answers == inside[:300].tolist() + inside.tolist()
    for text in HOSTILE + UNWRITABLE:
        module = loaded(to_python(Polyhedron([[1.0]], [0.0], [text]), inside=text, outside="no"))
        assert module["predict"]({text: 1.0}) == text
        assert module["predict"]([-1.0]) == "no"


@settings(max_examples=50)
@given(st.data())
def test_python_with_extreme_numbers(data):
    floats = st.floats(allow_nan=False, allow_infinity=False)
    d = data.draw(st.integers(1, 3))
    vectors = st.lists(floats, min_size=d, max_size=d)
    W = data.draw(st.lists(vectors.filter(any), min_size=1, max_size=3))
    P = Polyhedron(W, data.draw(st.lists(floats, min_size=len(W), max_size=len(W))))
    module = loaded(to_python(P))
    exponents = np.array(module["EXPONENTS"])[:, None]
    assert np.ldexp(np.array(module["W"]), exponents).tobytes() == np.array(W).tobytes()
    X = data.draw(st.lists(vectors, min_size=1, max_size=5))
    assert [module["predict"](x) == "1" for x in X] == P.contains(X).tolist()


@settings(max_examples=30)
@given(st.text(st.characters(), max_size=30), st.text(st.characters(), max_size=30))
def test_python_takes_any_text(name, label):
    source = to_python(Polyhedron([[1.0]], [0.0], [name]), inside=label, outside=label + "!")
    predict = loaded(source)["predict"]
    assert [predict({name: 1.0}), predict({name: -1.0})] == [label, label + "!"]


@needs_node
def test_javascript_takes_any_text(tmp_path):
    rng = np.random.default_rng(0)
    points = [*range(0x250), 0x2028, 0x2029, 0xFEFF, 0x1F600, 0xD800, 0x202E]
    texts = ["".join(map(chr, rng.choice(points, 20))) for _ in range(60)]
    for i, text in enumerate(texts):
        P = Polyhedron([[1.0]], [0.0], [text])
        source = to_javascript(P, inside=text, outside=text + "!")
        (tmp_path / f"m{i}.cjs").write_text(source, encoding="utf-8")
    driver = """
const texts = JSON.parse(require("fs").readFileSync("rows.json", "utf8"));
console.log(JSON.stringify(texts.map((t, i) => {
  const { predict } = require(`./m${i}.cjs`);
  return predict({ [t]: 1 }) === t && predict([-1]) === t + "!";
})));
"""
    assert all(run_node(tmp_path, "", texts, driver))


def test_python_reads_what_csv_gives():
    predict = loaded(to_python(Polyhedron([[1.0, 2.0]], [0.0], ["a", "b"])))["predict"]
    assert predict({"b": "1e0", "a": " 3 ", "c": "x"}) == "1"


@pytest.mark.parametrize(
    ("row", "match"),
    [
        ({"a": 1}, "column 'b' is missing"),
        ([1], "a row has 2 values; got 1"),
        ([1, None], "column 'b' has no value"),
        ([1, float("nan")], "column 'b' has no value"),
        ([1, float("inf")], "column 'b' must be a finite number; got inf"),
        ([1, ""], "column 'b' must be a finite number; got ''"),
        ([1, "x"], "column 'b' must be a finite number"),
        ([1, 10**400], "column 'b' must be a finite number"),
        ([1, []], "column 'b' must be a finite number"),
    ],
)
def test_python_names_the_column_that_is_wrong(row, match):
    predict = loaded(to_python(Polyhedron([[1.0, 2.0]], [0.0], ["a", "b"])))["predict"]
    with pytest.raises(ValueError, match=match):
        predict(row)


ENCODING = Encoding(
    [
        Column("age", "number", fill=0.25),
        Column("colour", "category", ("red", "</script>", "3", "True"), "red"),
        Column("dose", "number"),
        Column("kind", "category", ("a", "b")),
        Column("ill", "binary", ("false", "true"), "true"),
    ]
)


def records(n=500):
    rng = np.random.default_rng(0)
    ages = [None if v < -0.8 else float(v) for v in rng.normal(size=n)]
    colours = ["red", "</script>", "3", 3, 3.0, True, None, "new", 2.5]
    return [
        {
            "age": ages[i],
            "colour": colours[rng.integers(len(colours))],
            "dose": float(rng.normal()),
            "kind": str(rng.choice(["a", "b", "c"])),
            "ill": [True, False, "true", "FALSE", None, "new"][rng.integers(6)],
        }
        for i in range(n)
    ]


def encoded(P, found):
    table = {k: [row[k] for row in found] for k in found[0]}
    # A column of a table is of one type; a row on its own may have any.
    for name in ("colour", "ill"):
        table[name] = [None if one is None else as_text(one) for one in table[name]]
    return P.contains(ENCODING.transform(table))


def test_python_with_encoded_columns(tmp_path):
    P, found = polyhedron(ENCODING.feature_names), records()
    inside = encoded(P, found)
    assert 0.1 < inside.mean() < 0.9
    source = to_python(P, encoding=ENCODING, inside=True, outside=False)
    assert run_python(tmp_path, source, found) == inside.tolist()
    with pytest.raises(ValueError, match="column 'kind' has no value"):
        loaded(source)["predict"]({**found[0], "kind": None})


# --- JavaScript -------------------------------------------------------------------------

REQUIRE = """
const model = require("./model.cjs");
const rows = JSON.parse(require("fs").readFileSync("rows.json", "utf8"));
console.log(JSON.stringify(rows.map(model.predict)));
"""


def run_node(folder, source, found, driver=REQUIRE, file="model.cjs", main="main.cjs"):
    (folder / file).write_text(source, encoding="utf-8")
    (folder / main).write_text(driver, encoding="utf-8")
    (folder / "rows.json").write_text(json.dumps(found), encoding="utf-8")
    return json.loads(run(folder, NODE, main))


@needs_node
def test_javascript_with_hostile_names_and_labels(tmp_path):
    names, refused = accepted(HOSTILE + UNWRITABLE, to_javascript)
    assert refused == []
    P = polyhedron(names)
    X = rows(P.n_features, 1000)
    found = [dict(zip(P.feature_names, x, strict=True)) for x in X[:300].tolist()]
    inside = P.contains(X)
    source = to_javascript(P, inside=HOSTILE[6], outside=HOSTILE[-1])
    assert all(character.isascii() or character.isalnum() for character in source)
    assert "</" not in source
    assert "<!--" not in source
    answers = run_node(tmp_path, source, found + X.tolist())
    assert [one == HOSTILE[6] for one in answers] == inside[:300].tolist() + inside.tolist()


@needs_node
def test_javascript_with_extreme_numbers(tmp_path):
    cases = list(extreme_polyhedra(40))
    for i, (P, _) in enumerate(cases):
        (tmp_path / f"m{i}.cjs").write_text(to_javascript(P, inside=1, outside=0))
    driver = """
const cases = JSON.parse(require("fs").readFileSync("rows.json", "utf8"));
console.log(JSON.stringify(cases.map((rows, i) => rows.map(require(`./m${i}.cjs`).predict))));
"""
    answers = run_node(tmp_path, "", [X.tolist() for _, X in cases], driver)
    for (P, X), found in zip(cases, answers, strict=True):
        assert found == P.contains(X).astype(int).tolist()


@needs_node
def test_javascript_in_modules_and_pages(tmp_path):
    P = Polyhedron([[1.0, 2.0]], [0.0], ["a", "b"])
    rest = (
        'import { readFileSync } from "fs";\n'
        'const rows = JSON.parse(readFileSync("rows.json", "utf8"));\n'
        "console.log(JSON.stringify(rows.map(predict)));\n"
    )
    found = [{"a": 1, "b": 2}, [-1, -1]]
    for file, module in (("model.cjs", "commonjs"), ("model.mjs", "esm")):
        driver = f'import {{ predict }} from "./{file}";\n{rest}'
        source = to_javascript(P, module=module)
        assert run_node(tmp_path, source, found, driver, file, "main.mjs") == ["1", "0"]
    page = """
const vm = require("vm"), fs = require("fs");
const context = vm.createContext({});
vm.runInContext(fs.readFileSync("model.cjs", "utf8"), context);
const calls = [
  "rules.predict(new Map([['a', 1], ['b', 2]]))",
  "rules.predict(Float64Array.of(-1, 0))",
];
console.log(JSON.stringify(calls.map((call) => vm.runInContext(call, context))));
"""
    assert run_node(tmp_path, to_javascript(P, name="rules"), [], page) == ["1", "0"]


@needs_node
def test_javascript_with_encoded_columns(tmp_path):
    P, found = polyhedron(ENCODING.feature_names), records()
    source = to_javascript(P, encoding=ENCODING, inside=True, outside=False)
    assert run_node(tmp_path, source, found) == encoded(P, found).tolist()


NOT_NUMBERS = ["0x10", "1_000", "\u0661", "1e", "", "nan", "inf", "Infinity", "0b1", "1 2", "1e999"]
NUMBERS = [" 1.5 ", "-3", "+.5", "5.", "1e3", "1E-3", "007"]


@needs_node
def test_text_is_a_number_where_a_reader_takes_it_for_one(tmp_path):
    P = Polyhedron([[1.0]], [0.0], ["x"])
    assert all(as_number(text) is None for text in NOT_NUMBERS)
    (tmp_path / "model.cjs").write_text(to_javascript(P), "utf-8")
    (tmp_path / "main.cjs").write_text(
        'const model = require("./model.cjs");\n'
        f"const found = {json.dumps(NOT_NUMBERS + NUMBERS)}.map(function (text) {{\n"
        "  try { return model.decision([text]); } catch (error) { return null; }\n"
        "});\nprocess.stdout.write(JSON.stringify(found));\n"
    )
    expected = [None] * len(NOT_NUMBERS) + [float(text) for text in NUMBERS]
    assert json.loads(run(tmp_path, NODE, "main.cjs")) == expected
    module = loaded(to_python(P))
    for text, value in zip(NOT_NUMBERS + NUMBERS, expected, strict=True):
        if value is None:
            with pytest.raises(ValueError, match="column 'x'"):
                module["decision"]([text])
        else:
            assert module["decision"]([text]) == value


@needs_node
def test_javascript_names_the_column_that_is_wrong(tmp_path):
    source = to_javascript(Polyhedron([[1.0, 2.0]], [0.0], ["a", "b"]))
    driver = """
const { predict } = require("./model.cjs");
const wrong = [{ a: 1 }, [1], [1, null], [1, NaN], [1, Infinity], [1, " "], [1, "x"], [1, {}],
  { a: 1, __proto__: { b: 1 } }];
console.log(JSON.stringify(wrong.map((row) => {
  try { return predict(row); } catch (error) { return error.message; } })));
"""
    messages = run_node(tmp_path, source, [], driver)
    assert messages[:4] == [
        'column "b" is missing',
        "a row has 2 values; got 1",
        'column "b" has no value',
        'column "b" has no value',
    ]
    assert all('column "b" must be a finite number; got' in one for one in messages[4:8])
    assert messages[8] == 'column "b" is missing'


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"module": "amd"}, "module must be one of commonjs, esm"),
        ({"name": "class"}, "word of JavaScript"),
        ({"inside": 2**60, "outside": 0}, "no whole number"),
    ],
)
def test_javascript_refuses(options, match):
    with pytest.raises(ExportError, match=match):
        to_javascript(Polyhedron([[1.0]], [0.0]), **options)
