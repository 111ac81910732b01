"""A learner is registered once; the command line, model files, docs and tests find it."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import polyceptron
from common import SETTINGS, X_SQUARE, Y_SQUARE, fit
from polyceptron import OC1, BatchPolyceptron, Polyhedron, Rule, learners, load_model, save_model
from polyceptron.cli import app
from polyceptron.learners import registry
from polyceptron.learners.base import Document, Documented, register
from polyceptron.model_file import ModelFileError
from polyceptron.rule import Piece

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def load_toy():
    """The class of the toy learner, of which nothing else in the project knows."""
    if "toy" not in registry.learner_names():
        spec = importlib.util.spec_from_file_location("toy_learner", HERE / "toy_learner.py")
        sys.modules["toy_learner"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["toy_learner"])
    return registry.find_learner("toy")


Toy = load_toy()
registry.unregister("toy")  # other tests in this process count the learners


@pytest.fixture(autouse=True)
def _registered():
    register("toy")(Toy)
    yield
    registry.unregister("toy")


@pytest.fixture
def rows(tmp_path):
    np.savetxt(tmp_path / "x.csv", X_SQUARE, delimiter=",", header="a,b", comments="")
    text = (tmp_path / "x.csv").read_text().split()
    labels = ["class", *np.array(["out", "in"])[Y_SQUARE]]
    (tmp_path / "rows.csv").write_text(
        "\n".join(map(",".join, zip(text, labels, strict=True))) + "\n"
    )
    return tmp_path / "rows.csv"


def run(*arguments):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


class TestALearnerOfOneFile:
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_from_the_command_line_to_sql(self, rows, tmp_path):
        model = tmp_path / "model.json"
        run("fit", rows, "-t", "class", "-l", "toy", "-k", 4, "--inside", "in", "-o", model)
        loaded = load_model(model)
        assert type(loaded) is Toy
        assert loaded.n_hyperplanes == 4
        assert loaded.inside_ == "in"
        assert set(loaded.history_) == {"criterion", "mistakes"}
        run("predict", model, rows, "-o", tmp_path / "answers.csv")
        answers = [line.split(",")[0] for line in (tmp_path / "answers.csv").read_text().split()]
        expected = loaded.rule_.predict(X_SQUARE).tolist()
        assert answers == ["prediction", *expected]
        assert np.mean(np.array(expected) == np.where(Y_SQUARE == 1, "in", "out")) > 0.8
        assert "CASE" in run("export", model, "--to", "sql", "--table", "rows")
        assert "toy" in run("compare", rows, "-t", "class", "--cv", 2, "--learners", "toy")
        assert "|toy]" in run("fit", "--help")

    def test_in_python(self, tmp_path):
        model = fit(Toy(3, random_state=0), X_SQUARE, Y_SQUARE)
        save_model(model, tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
        assert loaded.rule_ == model.rule_
        assert loaded.history_.keys() == model.history_.keys()
        registry.unregister("toy")
        with pytest.raises(ModelFileError, match=r'learner\.name must be one of .*got "toy": imp'):
            load_model(tmp_path / "model.json")
        register("toy")(Toy)

    def test_what_it_lacks_is_said(self, rows, tmp_path):
        ask = [str(one) for one in ("fit", rows, "-t", "class", "-l", "toy", "-o", tmp_path / "m")]
        result = CliRunner().invoke(app, [*ask, "--resume"])
        assert "--learner toy writes no checkpoint" in result.stderr
        result = CliRunner().invoke(app, [*ask, "--out-of-core"])
        assert "--learner toy needs the rows in memory" in result.stderr
        result = CliRunner().invoke(app, [*ask[:5], "nobody", *ask[6:]])
        assert "'nobody' is not one of 'polyceptron', " in result.stderr

    def test_an_entry_point_finds_it(self, rows, tmp_path):
        """As an installed package names it: in a process that imports nothing of it itself."""
        folder = tmp_path / "site" / "toy-1.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
        entry = "[polyceptron.learners]\ntoy = toy_learner:ToyPolyceptron\n"
        (folder / "entry_points.txt").write_text(entry)
        path = [tmp_path / "site", HERE, Path(polyceptron.__file__).parents[1]]
        command = [sys.executable, "-W", "ignore", "-m", "polyceptron", "fit", rows, "-t", "class"]
        command += ["-l", "toy", "-o", tmp_path / "model.json"]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
        subprocess.run(list(map(str, command)), env=environment, check=True, capture_output=True)
        assert type(load_model(tmp_path / "model.json")) is Toy


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@parametrize_with_checks([Toy(2, max_iter=50, n_init=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class UnionFitted(Document):
    """What the next learner keeps."""

    n_rows: int


class Union(Documented, ClassifierMixin, BaseEstimator):
    """A learner whose answer is a union of polyhedra, here always the same one."""

    _Fitted = UnionFitted

    def fit(self, X, y):
        self.classes_, self.n_features_in_, self.n_rows_ = np.unique(y), 2, len(X)
        low, high = Polyhedron([[-1, 0]], [-1]), Polyhedron([[1, 0], [0, 1]], [-1, 0.5])
        self.rule_ = Rule(self.classes_, (Piece(low, 1), Piece(high, 1)), otherwise=0)
        return self

    def predict(self, X):
        return self.rule_.predict(X)


def test_a_union_in_a_model_file(tmp_path):
    register("union")(Union)
    try:
        model = Union().fit(X_SQUARE, Y_SQUARE)
        save_model(model, tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
    finally:
        registry.unregister("union")
    assert loaded.rule_ == model.rule_
    assert loaded.n_rows_ == len(X_SQUARE)
    assert 0 < loaded.predict(X_SQUARE).sum() < len(X_SQUARE)


class TestTheTable:
    def test_those_built_in(self):
        classes = [registry.find_learner(name) for name in registry.BUILT_IN]
        assert set(classes) == set(SETTINGS)
        readme = (ROOT / "README.md").read_text()
        for name, one in zip(registry.BUILT_IN, classes, strict=True):
            assert registry.name_of_learner(one) == name
            assert getattr(polyceptron, one.__name__) is getattr(learners, one.__name__) is one
            assert {one.__name__} <= {*polyceptron.__all__} & {*learners.__all__}
            assert f"`{one.__name__}`" in readme

    def test_what_a_class_says_of_itself(self):
        found = {
            name: (
                registry.number_parameter(one),
                registry.learns_many_classes(one),
                hasattr(one, "fit_blocks"),
            )
            for name in registry.BUILT_IN
            for one in [registry.find_learner(name)]
        }
        assert found == {
            "polyceptron": ("n_hyperplanes", True, True),
            "batch": ("n_hyperplanes", False, True),
            "online": ("n_hyperplanes", False, True),
            "spla1": ("n_hyperplanes", False, True),
            "spla2": ("max_hyperplanes", False, False),
            "pcslp": ("n_hyperplanes", False, False),
            "polyhedral-svm": ("n_hyperplanes", False, False),
            "discrete-svm": ("n_hyperplanes", False, False),
            "oc1": (None, True, False),
        }

    def test_names_that_are_refused(self):
        with pytest.raises(ValueError, match="name must be lower case"):
            register("No Name")
        for name in ("oc1", "toy"):
            with pytest.raises(ValueError, match=f"'{name}' is the name of another learner"):
                register(name)(BatchPolyceptron)
        with pytest.raises(TypeError, match="has no fit: inherit from"):
            register("nothing")(object)
        with pytest.raises(KeyError):
            registry.find_learner("nobody")
        assert registry.name_of_learner(type("OC1", (OC1,), {})) is None

    def test_help_imports_no_learner(self):
        code = (
            "import sys, polyceptron, polyceptron.cli, polyceptron.cli._fit\n"
            "print({'numpy', 'numba', 'sklearn', 'importlib.metadata'} & set(sys.modules))"
        )
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        assert done.stdout.strip() == b"set()"
