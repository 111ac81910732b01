"""What holds for the whole tree, and no linter checks."""

import ast
import traceback
from collections import defaultdict
from pathlib import Path

import polyceptron
from cli_files import done
from polyceptron import BatchPolyceptron

ROOT = Path(polyceptron.__file__).parent
TREES = {path.relative_to(ROOT): ast.parse(path.read_text("utf-8")) for path in ROOT.rglob("*.py")}


def room(path):
    """The package of a module, or the module itself at the top."""
    return path.parts[0].removesuffix(".py")


def homes(kind, private):
    """Name -> modules that define it at the top; commands are named after what they call."""
    found = defaultdict(set)
    for path, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, kind) and (private or not node.name.startswith("_")):
                is_command = any("command" in ast.dump(one) for one in node.decorator_list)
                if not is_command:
                    name = node.name.lstrip("_") if kind is ast.ClassDef else node.name
                    found[name].add(str(path))
    return found


def test_a_class_name_has_one_meaning():
    shared = {name: where for name, where in homes(ast.ClassDef, True).items() if len(where) > 1}
    assert shared == {}


def constants(tree):
    """Public names that a module assigns at the top, but for type variables."""
    for node in tree.body:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        if isinstance(node, ast.Assign | ast.AnnAssign) and "TypeVar(" not in ast.unparse(node):
            names = [one.id for target in targets for one in ast.walk(target) if named(one)]
            yield from (name for name in names if not name.startswith("_"))


def named(node):
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def test_a_constant_or_alias_has_one_meaning():
    found = homes(ast.ClassDef, False)
    for path, tree in TREES.items():
        for name in constants(tree):
            found[name].add(str(path))
    shared = {name: where for name, where in found.items() if len(where) > 1}
    assert shared.pop("VERSION") == {"data/cache.py", "model_file/documents.py"}  # of formats
    assert shared == {}


def test_a_function_name_has_one_meaning():
    shared = {n: where for n, where in homes(ast.FunctionDef, True).items() if len(where) > 1}
    assert shared == {}


def test_no_private_name_crosses_packages():
    crossing = []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("polyceptron."):
                parts = node.module.split(".")[1:]
                names = [*parts, *(alias.name for alias in node.names)]
                private = any(n.startswith("_") and not n.startswith("__") for n in names)
                if parts[0] != room(path) and private:
                    crossing.append(f"{path}:{node.lineno} {node.module}")
    assert crossing == []


FITTED = {"tree_", "estimators_", "polyhedron_", "polyhedra_", "coef_", "n_hyperplanes_", "_inside"}
FITTED |= {"rule_", "path_", "verdict_", "feature_names_in_"}
ALLOWED = {
    ("rule/_models.py", "rule_"),  # the one door to the Rule of whatever is given
    ("rule/pipelines.py", "feature_names_in_"),  # of scikit-learn's own steps
}


def test_only_learners_know_their_kinds():
    """Everything else reads a Rule."""
    looks = []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {
                "hasattr",
                "getattr",
            }:
                names = {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
                looks += [
                    f"{path}:{node.lineno} {name}"
                    for name in sorted(names & FITTED)
                    if room(path) != "learners" and (str(path), name) not in ALLOWED
                ]
    assert looks == []


def test_functions_fit_a_screen():
    long = []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                documented = len((ast.get_docstring(node, clean=False) or "").splitlines())
                n_lines = node.end_lineno - node.lineno + 1 - documented
                if n_lines > 50 and node.name != "__init__":
                    long.append(f"{path}:{node.lineno} {node.name}: {n_lines} lines")
    assert long == []


def test_the_way_to_a_step_is_that_of_the_docs(monkeypatch, tmp_path):
    """The hops of docs/design.md that wait for others to return, and nothing between them."""
    ways, plain = [], BatchPolyceptron._step

    def step(self, *given):
        stack = traceback.extract_stack()
        ways.append([one.name for one in stack if Path(one.filename).is_relative_to(ROOT)])
        return plain(self, *given)

    monkeypatch.setattr(BatchPolyceptron, "_step", step)
    BatchPolyceptron(1).fit([[0.0], [1.0], [3.0]], ["no", "no", "yes"])
    assert ways[0] == ["fit", "_learn", "run"]
    ways.clear()
    (tmp_path / "d.csv").write_text("a,y\n" + "1,0\n2,1\n" * 20)
    ask = ("fit", tmp_path / "d.csv", "-t", "y", "-l", "batch", "-k", 1, "-o", tmp_path / "m.json")
    done(*ask)
    assert ways[0] == ["invoke", "together", "fit", "fit", "_learn", "run"]  # click's two first
    ways.clear()
    done(*ask, "--force", "--out-of-core")
    assert ways[0] == ["invoke", "together", "fit", "fit_blocks", "_learn", "run"]
