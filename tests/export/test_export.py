"""The front door of the exports, LaTeX, and the worked example."""

import io
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export_cases import HOSTILE, UNWRITABLE, extreme_polyhedra, polyhedron, rows
from polyceptron import Polyhedron
from polyceptron import export as package
from polyceptron.data.encoding import Column, Encoding
from polyceptron.export import FORMATS, ExportError, export, to_latex

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "feasible_region.py"
EXPORTS = Path(__file__).parents[2] / "docs" / "export.md"


# --- the front door ---------------------------------------------------------------------


@pytest.mark.parametrize("to", FORMATS)
def test_every_format(to):
    columns = [Column("age", "number"), Column("colour", "category", ("red", "blue"))]
    named = export(polyhedron(d=3), to, encoding=Encoding(columns))
    assert isinstance(named, bytes) or ("age" in named and "red" in named)
    P = polyhedron(["a", "b", "c=x", "c=y"])
    content = export(P, to, inside="yes", outside="no", name="rules")
    assert isinstance(content, bytes if to in ("onnx", "scipy") else str)
    assert FORMATS[to].suffix.startswith(".")
    named = content if isinstance(content, bytes) else content.encode()
    assert to in ("latex", "lp", "scipy") or b"yes" in named
    assert to in ("latex", "python", "scipy") or b"rules" in named


def test_scipy_file():
    P = polyhedron(["a", "b \U0001f600", "c"])
    with np.load(io.BytesIO(export(P, "scipy")), allow_pickle=False) as file:
        np.testing.assert_array_equal(file["A_ub"], -P.W)
        np.testing.assert_array_equal(file["b_ub"], P.b)
        assert file["feature_names"].tolist() == list(P.feature_names)


def test_options_reach_the_format():
    P = polyhedron(["a", "b"])
    assert "`a`" in export(P, "sql", dialect="mysql")
    assert "export default" in export(P, "javascript", module="esm")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"to": "cobol"}, "to must be one of c, javascript, .*; got 'cobol'"),
        ({"to": "c", "dialect": "x"}, "the format c has no option 'dialect'; it has inside,"),
        ({"to": "scipy", "digits": 3}, "the format scipy has no option 'digits'; it has none"),
        ({"to": "lp", "inside": "0"}, "must be different"),
        (
            {"to": "c", "polyhedron": np.eye(2)},
            "polyhedron must be a fitted learner .* or a Polyhedron; got array",
        ),
        ({"to": "sql", "encoding": Encoding([Column("z", "number")])}, "encoding"),
    ],
)
def test_what_is_refused(arguments, match):
    with pytest.raises(ExportError, match=match):
        export(**({"polyhedron": polyhedron()} | arguments))


def test_formats_are_listed_without_loading_anything():
    code = (
        "import sys, polyceptron.export as e; e.FORMATS; dir(e);"
        "print([m for m in ('numpy', 'sqlglot', 'onnx', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_names_of_the_package():
    assert all(hasattr(package, name) for name in package.__all__)
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="nothing"):
        _ = package.nothing


# --- LaTeX ------------------------------------------------------------------------------

# All that may stand in a formula: a name can add nothing to it.
COMMAND = re.compile(
    r"\\(?:text(?=\{)|textbackslash\{\}|textasciicircum\{\}|textasciitilde\{\}|textless\{\}|"
    r"textgreater\{\}|textbar\{\}|textquotedblright\{\}|textquoteleft\{\}|textquoteright\{\}|"
    r"geq |times |[{}#$%&_,\\])"
)
UNDO = {
    r"\textbackslash{}": "\\",
    r"\textasciicircum{}": "^",
    r"\textasciitilde{}": "~",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\textquotedblright{}": '"',
    r"\textquoteleft{}": "`",
    r"\textquoteright{}": "'",
}


def body(latex):
    comment, begin, *lines, end, last = latex.split("\n")
    assert comment.startswith("% Made by polyceptron")
    assert (begin, end, last) == (r"\begin{align*}", r"\end{align*}", "")
    return lines


def check_harmless(line):
    """Every backslash begins a known command, and what is left has no special character."""
    bare = COMMAND.sub("", re.sub(r" &\\[gl]eq ", " ", line)).replace("{}", "")
    assert "\\" not in bare
    depth = 0
    for character in bare:
        depth += (character == "{") - (character == "}")
        assert depth in (0, 1)
    assert depth == 0
    assert not re.search(r"[#$%&~\0\n\r]|\^(?!\{-?\d+\})|_(?!\{\d+\})", bare)


def unescaped(text):
    """The name that a reader sees."""
    for command, sign in UNDO.items():
        text = text.replace(command, f"\0{ord(sign)}\0")
    text = re.sub(r"\\([{}#$%&_])", lambda m: f"\0{ord(m[1])}\0", text).replace("{}", "")
    return re.sub("\0(\\d+)\0", lambda m: chr(int(m[1])), text)


@pytest.mark.parametrize("name", HOSTILE + UNWRITABLE)
def test_latex_with_hostile_names(name):
    (line,) = body(to_latex(Polyhedron([[2.1]], [-1.0], [name])))
    check_harmless(line)
    text = re.fullmatch(r"  2\.1\\,\\text\{(.*)\} &\\geq 1", line)[1]
    shown = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name
    )
    assert unescaped(text) == shown


@given(st.text(st.characters(), max_size=30))
def test_latex_takes_any_text(name):
    (line,) = body(to_latex(Polyhedron([[2.1]], [-1.0], [name])))
    check_harmless(line)


def numbers(line, names):
    """W and b of a line, as a reader of the formula has them."""
    left, way, right = re.split(r" &\\([gl])eq ", line.strip().removesuffix(r" \\"))
    value = r"([\d.]+)?(?: \\times 10\^\{(-?\d+)\})?"
    w = np.zeros(len(names))
    for sign, size, exponent, name in re.findall(
        rf"(-?|[+-] ?){value}(?:\\,)?\\text{{(\w+)}}", left
    ):
        number = float(f"{size or 1}e{exponent or 0}")
        w[names.index(name)] = -number if "-" in sign else number
    size, exponent = re.fullmatch(rf"{value}", right.removeprefix("-")).groups()
    b = -float(f"{size}e{exponent or 0}")
    b = -b if right.startswith("-") else b
    return (w, b) if way == "g" else (-w, -b)


def test_latex_can_be_read_back():
    P = polyhedron(["a", "b", "c", "d", "e"])
    X = rows()
    read = [numbers(line, list(P.feature_names)) for line in body(to_latex(P, digits=None))]
    back = Polyhedron([w for w, _ in read], [b for _, b in read], P.feature_names)
    assert back == P.printed
    np.testing.assert_array_equal(back.contains(X), P.contains(X))


def test_latex_of_extreme_numbers_can_be_read_back():
    for bare, _ in extreme_polyhedra(100):
        names = [f"n{j}" for j in range(bare.n_features)]
        P = Polyhedron(bare.W, bare.b, names)
        read = [numbers(line, names) for line in body(to_latex(P, digits=None))]
        assert Polyhedron([w for w, _ in read], [b for _, b in read], names) == P.printed


def test_latex_is_drawn_by_matplotlib():
    from matplotlib.mathtext import MathTextParser

    P = Polyhedron([[1.5e-9, -1.0], [0.0, 2.0]], [3.0, -4.0], ["age", "dose"])
    for line in body(to_latex(P)) + body(to_latex(Polyhedron(P.W, P.b))):
        drawn = line.strip().removesuffix(r" \\").replace("&", "")
        assert MathTextParser("path").parse(f"${drawn}$").width > 10


def test_latex_options():
    P = Polyhedron([[1 / 3]], [2 / 3])
    assert r"0.33\,x_{0} &\geq -0.67" in to_latex(P, digits=2)
    assert r"\begin{aligned}" in to_latex(P, environment="aligned")
    with pytest.raises(ExportError, match="environment must be"):
        to_latex(P, environment=r"x}\input{y")
    with pytest.raises(ValueError, match="digits must be"):
        to_latex(P, digits=0)


# --- the documentation ------------------------------------------------------------------


@pytest.mark.skipif(not EXAMPLE.exists(), reason="not in a source tree")
def test_worked_example(capsys):
    example = runpy.run_path(str(EXAMPLE))
    best, region = example["main"]()
    assert example["simulate"](best[None, :]).all()
    rng = np.random.default_rng(0)
    designs = rng.uniform(example["LOW"], example["HIGH"], (1000, 3))
    cheapest = (designs[example["simulate"](designs)] @ example["COST"]).min()
    assert best @ example["COST"] < cheapest
    assert region.feature_names == tuple(example["NAMES"])
    assert "a design that is good" in capsys.readouterr().out


@pytest.mark.skipif(not EXPORTS.exists(), reason="not in a source tree")
def test_documented_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", EXPORTS.read_text("utf-8"), re.DOTALL)
    assert blocks
    namespace = {}
    for block in blocks:
        exec(compile(block, str(EXPORTS), "exec"), namespace)


@pytest.mark.skipif(not EXPORTS.exists(), reason="not in a source tree")
def test_every_format_is_documented():
    text = EXPORTS.read_text("utf-8")
    for name in FORMATS:
        assert f"`{name}`" in text
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert "://" in target or (EXPORTS.parent / target).exists(), target
