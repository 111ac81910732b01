"""Models in files: what comes back, what is refused, and what a kill leaves behind."""

import copy
import json
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from common import SETTINGS, X_SQUARE, Y_SQUARE, every_learner, every_polyhedron, fit, quick
from polyceptron import (
    OC1,
    PCSLP,
    SPLA1,
    SPLA2,
    BatchPolyceptron,
    OnlinePolyceptron,
    Polyceptron,
    Polyhedron,
    Rule,
    model_file,
    open_blocks,
)
from polyceptron.data.encoding import Column, Encoding
from polyceptron.learners.registry import name_of_learner
from polyceptron.model_file import (
    MAX_BYTES,
    ModelFileError,
    _json,
    load_model,
    read_model,
    read_rule,
    save_model,
    schema,
)

ROOT = Path(__file__).parents[2]

LABELS = {
    "int": [3, 7],
    "int8": np.array([-1, 1], np.int8),
    "uint64": np.array([2**63, 2**64 - 1], np.uint64),
    "float": [0.0, 1.0],
    "float32": np.array([-2.0, 5.0], np.float32),
    "bool": [False, True],
    "str": ["no", "yes, it is"],
    "odd str": ["", 'é"\n\ud800\U0001f600'],
    "object": np.array(["benign", "malig\0nant"], object),
    "digits": ["1", "2"],
}

RULE = ("classes", "pieces", "otherwise", "links")


def labelled(kind):
    return np.asarray(LABELS[kind])[Y_SQUARE]


def back(model, path, **arguments):
    """Through a file."""
    save_model(model, path, **arguments)
    return load_model(path)


def nested(depth):
    value = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def same(one, other):
    """Whether two values are of one type and equal to the last bit, all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        if one.dtype.kind == "U":  # its width is that of the longest label
            return one.tolist() == other.tolist()
        equal = one.shape == other.shape and one.dtype == other.dtype
        plain = one.dtype.kind != "O"
        return equal and (
            one.tobytes() == other.tobytes() if plain else one.tolist() == other.tolist()
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Rule):  # but for what it has found out about itself since
        fields = [getattr(rule, name) for name in RULE for rule in (one, other)]
        return all(map(same, fields[::2], fields[1::2]))
    if hasattr(one, "__dict__") and not isinstance(one, type):
        return same(state(one), state(other))
    if hasattr(one, "__slots__") and type(one).__module__.startswith("polyceptron"):
        return all(same(getattr(one, name), getattr(other, name)) for name in one.__slots__)
    return bool(one == other)


def state(model):
    """All that a model is, but the coordinates that only `partial_fit` reads."""
    kept = isinstance(model, OnlinePolyceptron)
    return {name: value for name, value in vars(model).items() if kept or name != "_coordinates"}


def assert_same(model, loaded, X):
    assert type(loaded) is type(model)
    assert state(loaded).keys() == state(model).keys()
    for name, value in state(model).items():
        assert same(value, vars(loaded)[name]), name
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        if hasattr(model, method):
            expected, found = getattr(model, method)(X), getattr(loaded, method)(X)
            assert same(np.asarray(expected), np.asarray(found)), method


@pytest.fixture(scope="module")
def model():
    return fit(quick(SPLA1), pd.DataFrame(X_SQUARE, columns=["age", "bmi"]), labelled("str"))


@pytest.fixture(scope="module")
def documents():
    """One of each learner, with names, an encoding and a summary; and one of three classes."""
    X = pd.DataFrame(X_SQUARE, columns=["age", "bmi"])
    encoding = Encoding([Column("age", "number"), Column("bmi", "number")])
    found = {}
    for learner in SETTINGS:
        more = {"average": True} if learner is OnlinePolyceptron else {}
        model = fit(quick(learner, **more), X, labelled("str"))
        found[name_of_learner(learner)] = model_file.encode(model, encoding, {"rows": 120})
    found["many"] = model_file.encode(fit(quick(Polyceptron), *load_iris(return_X_y=True)))
    return {name: json.loads(data) for name, data in found.items()}


# --- what comes back --------------------------------------------------------------------


class TestRoundTrip:
    @every_learner
    def test_frames_with_names_and_text_labels(self, learner, tmp_path):
        data = {"größe": X_SQUARE[:, 0], 'a "b";\n': X_SQUARE[:, 1]}
        X = (pl if learner is SPLA1 else pd).DataFrame(data)
        model = fit(quick(learner), X, labelled("str"))
        loaded = back(model, tmp_path / "a.json")
        assert_same(model, loaded, X)
        assert loaded.feature_names_in_.tolist() == list(data)
        save_model(loaded, tmp_path / "b.json")
        assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
        with pytest.raises(ValueError, match="feature names"):
            loaded.predict(X[['a "b";\n', "größe"]])
        assert loaded.get_params() == model.get_params()
        assert not hasattr(clone(loaded), "classes_")
        assert_same(model, fit(clone(loaded), X, labelled("str")), X)
        assert_same(model, pickle.loads(pickle.dumps(loaded)), X)

    @pytest.mark.parametrize("kind", LABELS)
    def test_labels_of_all_kinds(self, kind, tmp_path):
        model = fit(quick(OC1), X_SQUARE, labelled(kind))
        assert_same(model, back(model, tmp_path / "model.json"), X_SQUARE)

    @every_polyhedron
    def test_sparse_rows_and_the_other_class_inside(self, learner, tmp_path):
        X = sp.csr_matrix(np.where(np.abs(X_SQUARE) < 0.3, 0.0, X_SQUARE))
        model = fit(quick(learner, inside=0), X, Y_SQUARE)
        loaded = back(model, tmp_path / "model.json")
        assert loaded.inside_ == 0
        assert_same(model, loaded, X)

    @pytest.mark.parametrize("factor", [1e-200, 1e300])
    @every_learner
    def test_columns_at_the_ends_of_the_range(self, learner, factor, tmp_path):
        model = fit(quick(learner), X_SQUARE * factor, Y_SQUARE)
        assert_same(model, back(model, tmp_path / "model.json"), X_SQUARE * factor)

    @pytest.mark.parametrize("learner", [Polyceptron, OC1])
    def test_many_classes_and_names(self, learner, tmp_path):
        X, y = load_iris(return_X_y=True)
        y = np.array(["setosa", "versicolor", "virginica"])[y]
        for rows in (X, pd.DataFrame(X, columns=["a", "b", "c", "d"])):
            model = fit(quick(learner), rows, y)
            assert_same(model, back(model, tmp_path / "model.json"), rows)

    def test_trees(self, tmp_path):
        """One that is a single leaf, and one with a test for nearly every row, weighed."""
        rng = np.random.default_rng(0)
        for y in (np.full(120, "one"), rng.integers(0, 3, 120)):
            model = quick(OC1, prune_share=0, n_restarts=1)
            model.fit(X_SQUARE, y, sample_weight=rng.uniform(0.1, 1, 120))
            loaded = back(model, tmp_path / "model.json")
            assert_same(model, loaded, X_SQUARE)
            assert loaded.to_text() == model.to_text()
            assert same(loaded.apply(X_SQUARE), model.apply(X_SQUARE))

    def test_automatic_choices(self, tmp_path):
        learner = Polyceptron(random_state=0, n_polyhedra=1, n_init=1, max_iter=20)
        model = fit(learner, X_SQUARE, labelled("str"))
        assert len(model.selection_["inside"]) > 3
        assert_same(model, back(model, tmp_path / "model.json"), X_SQUARE)

    def test_measurements_that_are_not_finite(self, tmp_path):
        model = fit(quick(SPLA2), X_SQUARE, Y_SQUARE)
        model.validation_scores_ = np.array([-np.inf, np.nan, 1.0, np.inf])
        model.log_likelihood_ = -np.inf
        loaded = back(model, tmp_path / "model.json")
        np.testing.assert_array_equal(loaded.validation_scores_, model.validation_scores_)
        assert loaded.log_likelihood_ == -np.inf

    def test_over_many_random_faces_to_the_last_bit(self, tmp_path):
        rng = np.random.default_rng(0)
        model = fit(quick(SPLA1), X_SQUARE, Y_SQUARE)
        W = np.ldexp(rng.standard_normal((500, 2)), rng.integers(-1070, 900, (500, 2)))
        W[7], W[8], W[9, 0] = W[6], -W[6], -0.0  # a face twice, its other side, a signed zero
        b = np.ldexp(rng.standard_normal(500), -30)
        b[7], b[8] = b[6], -b[6]
        model._set_rule(Polyhedron(W, b), 1)
        loaded = back(model, tmp_path / "model.json")
        assert (loaded.coef_.tobytes(), loaded.intercept_.tobytes()) == (W.tobytes(), b.tobytes())
        assert len(json.loads((tmp_path / "model.json").read_bytes())["rule"]["W"]) == 498


class TestPrintedNumbers:
    def rounded(self):
        X, y = load_iris(return_X_y=True)
        return quick(Polyceptron).fit(X, y), X

    def test_faces_are_short_numbers_times_powers_of_two(self):
        model, X = self.rounded()
        document = json.loads(model_file.encode(model))
        exponents = document["rule"]["exponents"]
        assert any(exponents)
        assert all(float(number).is_integer() for w in document["rule"]["W"] for number in w)
        back = decode(document).estimator
        assert back.rule_ == model.rule_
        np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))

    def test_older_files_have_neither_exponents_nor_digits(self):
        model, _ = self.rounded()
        document = json.loads(model_file.encode(model.set_params(digits=None)))
        factors = np.ldexp(1.0, document["rule"].pop("exponents"))
        for name in ("W", "b"):
            values = np.array(document["rule"][name])
            document["rule"][name] = (values.T * factors).T.tolist()
        del document["learner"]["parameters"]["digits"]
        back = decode(document).estimator
        assert back.digits is None
        assert back.rule_ == model.rule_

    @pytest.mark.parametrize(
        ("exponents", "message"),
        [([1], "must be an array of"), ([5000] * 9, "must leave rule.W and rule.b finite")],
    )
    def test_exponents_that_are_wrong(self, exponents, message):
        model, _ = self.rounded()
        document = json.loads(model_file.encode(model))
        n = len(document["rule"]["b"])
        document["rule"]["exponents"] = exponents[:n] if len(exponents) > n else exponents
        with pytest.raises(ModelFileError, match=rf"rule\.exponents {message}"):
            decode(document)


class TestAsAnEstimator:
    @pytest.mark.parametrize("learner", [BatchPolyceptron, OnlinePolyceptron, SPLA1, PCSLP])
    def test_a_warm_start_goes_on_as_it_would_have(self, learner, tmp_path):
        X = X_SQUARE * 1e300
        model = fit(quick(learner, warm_start=True, max_iter=5), X, Y_SQUARE)
        loaded = back(model, tmp_path / "model.json")
        assert_same(fit(model, X, Y_SQUARE), fit(loaded, X, Y_SQUARE), X)

    @pytest.mark.parametrize("first", ["fit", "partial_fit"])
    @pytest.mark.parametrize("average", [False, True])
    @pytest.mark.parametrize(("standardize", "factor"), [(False, 1e200), (True, 1.0)])
    def test_partial_fit_goes_on(self, first, average, standardize, factor, tmp_path):
        model = quick(OnlinePolyceptron, average=average, standardize=standardize)
        X = X_SQUARE * factor
        if first == "fit":
            fit(model, X[:60], Y_SQUARE[:60])
        else:
            model.partial_fit(X[:60], Y_SQUARE[:60], classes=[0, 1])
        loaded = back(model, tmp_path / "model.json")
        for rows in (slice(60, 90), slice(90, 120)):
            model.partial_fit(X[rows], Y_SQUARE[rows])
            loaded.partial_fit(X[rows], Y_SQUARE[rows])
            assert_same(model, loaded, X)

    def test_parameters_of_all_kinds(self, tmp_path):
        start = np.random.default_rng(0).standard_normal((3, 3))
        weights = {"no": 1, "yes, it is": np.float32(2.5)}
        given = {"class_weight": weights, "inside": np.str_("no"), "n_hyperplanes": np.int64(3)}
        model = quick(BatchPolyceptron, init=start.tolist(), tol=1e-3, **given)
        loaded = back(fit(model, X_SQUARE, labelled("str")), tmp_path / "model.json")
        assert loaded.class_weight == {"no": 1, "yes, it is": 2.5}
        assert loaded.inside == "no"
        np.testing.assert_array_equal(loaded.init, start)
        for kind in ("int", "float", "bool"):
            weights = dict(zip(np.unique(labelled(kind)).tolist(), [1.0, 2.0], strict=True))
            model = fit(quick(SPLA1, class_weight=weights), X_SQUARE, labelled(kind))
            loaded = back(model, tmp_path / "model.json")
            assert same(loaded.class_weight, weights)
            assert list(map(type, loaded.class_weight)) == list(map(type, weights))

    def test_a_random_state_that_is_no_number_is_noted(self, tmp_path):
        model = fit(quick(SPLA1, random_state=np.random.RandomState(0)), X_SQUARE, Y_SQUARE)
        assert back(model, tmp_path / "model.json").random_state is None
        notes = json.loads((tmp_path / "model.json").read_bytes())["notes"]
        assert notes == ["random_state was a RandomState, which is not kept"]

    def test_pcslp_predicts_without_highs(self, tmp_path, monkeypatch):
        model = fit(quick(PCSLP), X_SQUARE, Y_SQUARE)
        save_model(model, tmp_path / "model.json")
        monkeypatch.setitem(sys.modules, "highspy", None)
        loaded = load_model(tmp_path / "model.json")
        assert same(loaded.predict(X_SQUARE), model.predict(X_SQUARE))
        with pytest.raises(ImportError, match="PCSLP needs highspy"):
            loaded.fit(X_SQUARE, Y_SQUARE)


class TestSummaryAndEncoding:
    def test_summary(self, model, tmp_path):
        summary = {
            "counts": np.array([1, 2]),
            "by class": {"a": (1, None, True), "": 0.1 + 0.2},
            "text": np.str_("</script>\u2028"),
        }
        save_model(model, tmp_path / "model.json", summary=summary)
        read = read_model(tmp_path / "model.json").summary
        assert read == {
            "counts": [1, 2],
            "by class": {"a": [1, None, True], "": 0.1 + 0.2},
            "text": "</script>\u2028",
        }

    @pytest.mark.parametrize(
        ("summary", "message"),
        [
            ([1], "summary must be a dict"),
            ({1: 2}, "summary must have names that are text; got 1"),
            ({"a": {"b": [0, object()]}}, r"summary\.a\.b\[1\] must be JSON"),
            ({"a": float("nan")}, r"summary\.a must be a finite number; got nan"),
            ({"a b": np.array([1.0, np.inf])}, r'summary\["a b"\]\[1\] must be a finite'),
            ({"a": 2**64}, r"summary\.a must be a whole number of 64 bits"),
            ({"a": b"bytes"}, r"summary\.a must be JSON"),
            (nested(33), "more than 32 levels"),
            (nested(5000), "more than 32 levels"),
        ],
    )
    def test_summaries_that_are_not_json(self, model, summary, message, tmp_path):
        with pytest.raises(ValueError, match=message):
            save_model(model, tmp_path / "model.json", summary=summary)
        assert list(tmp_path.iterdir()) == []

    def test_tables_with_text(self, tmp_path):
        age = [i % 35 for i in range(40)]
        frame = pd.DataFrame({"colour": ["red", "blue"] * 20, "age": age, "extra": "x"})
        y = np.where(frame["age"] + 10 * (frame["colour"] == "red") > 20, "old", "young")
        source = open_blocks(frame.assign(y=y), "y", drop="extra", missing="median")
        encoding = source.encoding
        X = pd.DataFrame(encoding.transform(frame), columns=encoding.feature_names)
        for rows in (X, X.to_numpy()):
            model = fit(quick(SPLA1), rows, y)
            save_model(model, tmp_path / "model.json", encoding=encoding, summary=nested(32))
            loaded = read_model(tmp_path / "model.json")
            assert loaded.encoding == encoding
            assert loaded.summary == nested(32)
            assert loaded.predict(frame[::-1]).tolist() == model.predict(rows)[::-1].tolist()
            assert same(loaded.predict_proba(frame), model.predict_proba(rows))
            assert same(loaded.decision_function(frame), model.decision_function(rows))
        save_model(model, tmp_path / "model.json")
        assert same(read_model(tmp_path / "model.json").predict(rows), model.predict(rows))

    def test_what_a_learner_does_not_have(self, tmp_path):
        save_model(fit(quick(OC1), X_SQUARE, Y_SQUARE), tmp_path / "model.json")
        loaded = read_model(tmp_path / "model.json")
        assert loaded.predict_proba(X_SQUARE).shape == (len(X_SQUARE), 2)
        with pytest.raises(AttributeError, match="OC1 has no decision_function"):
            loaded.decision_function(X_SQUARE)

    def test_an_encoding_of_other_columns_is_refused(self, model, tmp_path):
        for other in ("age", ["bmi", "age"]):
            encoding = Encoding([Column(name, "number") for name in other])
            with pytest.raises(ModelFileError, match="encoding must give the features"):
                save_model(model, tmp_path / "a.json", encoding=encoding)


class TestWhatCannotBeSaved:
    def test_not_a_fitted_learner(self, tmp_path):
        class SPLA1(OC1):
            """One that only has the name."""

        with pytest.raises(NotFittedError):
            save_model(quick(OC1), tmp_path / "model.json")
        with pytest.raises(ValueError, match="estimator must be a learner of polyceptron"):
            save_model(SPLA1().fit(X_SQUARE, Y_SQUARE), tmp_path / "model.json")
        stream = fit(make_pipeline(StandardScaler(), quick(OnlinePolyceptron)), X_SQUARE, Y_SQUARE)
        with pytest.raises(
            ValueError, match=r"OnlinePolyceptron cannot be saved.*standardize=True"
        ):
            save_model(stream, tmp_path / "model.json")

    @pytest.mark.parametrize("dtype", [np.longdouble, "M8[D]"])
    def test_labels_of_other_types(self, dtype, tmp_path):
        labels = np.array([1, 2]).astype(dtype)
        model = fit(quick(OC1), X_SQUARE, labels[Y_SQUARE])
        with pytest.raises(ValueError, match="labels of this type"):
            save_model(model, tmp_path / "model.json")

    def test_parameters_that_were_spoilt_after_the_fit(self, model, tmp_path):
        with pytest.raises(ModelFileError, match=r"learner\.parameters .* C must be"):
            save_model(copy.copy(model).set_params(C=-1), tmp_path / "model.json")
        with pytest.raises(ValueError, match="tol must be JSON"):
            save_model(copy.copy(model).set_params(tol=object()), tmp_path / "model.json")

    def test_more_than_is_read(self, model, tmp_path, monkeypatch):
        monkeypatch.setattr(_json, "MAX_BYTES", 100)
        with pytest.raises(ModelFileError, match="more than 100 bytes"):
            save_model(model, tmp_path / "model.json")


# --- what is refused --------------------------------------------------------------------


DELETE = object()


def changed(document, path, value):
    """A copy with one value set, or deleted."""
    document = copy.deepcopy(document)
    *way, last = [int(step) if step.lstrip("-").isdigit() else step for step in path.split("/")]
    place = document
    for step in way:
        place = place[step]
    if value is DELETE:
        del place[last]
    else:
        place[last] = value
    return document


WHEN = "2026-01-31T12:00:00Z"
P, F = "learner/parameters/", "learner/fitted/"
PATH = {name: [1] for name in ("inside", "max_terms", "n_terms", "n_hyperplanes", "n_polyhedra")}
PATH |= {"penalty": [1], "accuracy": [1], "error": [0], "chosen": []}
WRONG = [  # learner, place, value, and the error: where it is, what it says
    ("spla1", "version", 1, "version must be 2, got 1: .* learn the model again"),
    ("spla1", "version", 3, "version must be 2, got 3: .* newer"),
    ("spla1", "version", True, "version must be int; got true"),
    ("spla1", "version", DELETE, "version is missing"),
    ("spla1", "format", "other", "is not a model file"),
    ("spla1", "extra", 1, "extra is not a field that is known"),
    ("spla1", "summary", [], "summary must be object; got an array of 0"),
    ("spla1", "features", ["age"], r"features must be an array of 2, as rule\.W\[0\] is; got 1"),
    ("spla1", "rule/pieces/0/locked", [9], r"rule is wrong: locked has the place \(0, 9\)"),
    ("spla1", "edits", [{"what": "drop"}], r"edits\[0\].when is missing"),
    ("spla1", "edits", [{"what": "burn", "when": WHEN}], r"edits\[0\].what must"),
    ("spla1", "edits", [{"what": "drop", "when": "today"}], r"edits\[0\].when must"),
    ("spla1", "edits", [{"what": "lock", "when": "2026-13-45T99:99:99Z"}], "when must be a date"),
    ("spla1", "edits", [{"what": "lock", "when": WHEN, "face": "77"}], "face must be a face; got"),
    ("spla1", "edits", [{"what": "lock", "when": WHEN, "why": 10_001 * "x"}], "why must"),
    ("spla1", "features/1", "age", "features must differ; .age. is there twice"),
    ("spla1", "encoding/0/kind", "date", r'encoding\[0\]\.kind must be one of .*; got "date"'),
    ("spla1", "encoding/0/fill", "x", r"encoding\[0\]\.fill must be a finite number; got 'x'"),
    ("spla1", "encoding/0/more", 1, r"encoding\[0\]\.more is not a field that is known"),
    ("spla1", "encoding/1/name", "age", "encoding is wrong: .*'age' is there twice"),
    ("spla1", "encoding", {}, "encoding must be array or null; got an object"),
    ("spla1", "encoding/0/name", "dose", "encoding must give the features"),
    ("spla1", "verdict/answers", [[1]], "verdict.answers must be as many rows and columns"),
    ("spla1", "verdict/answers/0/1", -1, r"verdict\.answers\[0\]\[1\] must be .*; got -1"),
    ("spla1", "verdict/n_faces/0", 9, "verdict.rejects must be a number for each face"),
    ("spla1", "verdict/labels", DELETE, "verdict.labels is missing"),
    ("spla1", "learner", DELETE, "learner is missing"),
    ("spla1", "learner", [], "learner must be object; got an array of 0"),
    ("spla1", "learner/name", "os.system", "learner.name must be one of polyceptron, .*os.system"),
    ("spla1", "learner/name", 5, "learner.name must be str"),
    ("spla1", "learner/name", DELETE, "learner.name is missing"),
    ("spla1", "learner/name", "batch", r"learner\.parameters\.C is not a field"),
    ("spla1", "learner/a b", 1, r'learner\["a b"\] is not a field'),
    ("spla1", P + "C", 0, r"learner\.parameters .*C must be a finite"),
    ("spla1", P + "C", {"a": 1}, r"learner\.parameters\.C\.(a is not a field|items is missing)"),
    ("spla1", P + "init", [[1, 2], [3]], r"parameters\.init must have rows of one length"),
    ("spla1", P + "init", [["a"]], r"parameters\.init\[0\]\[0\] must be float; got \"a\""),
    ("spla1", P + "random_state", 1.5, r"parameters\.random_state must be int or null; got 1.5"),
    ("spla1", P + "class_weight", {"items": [["a", 1], ["a", 2]]}, "items must have different"),
    ("spla1", F + "n_iter", -1, r"learner\.fitted\.n_iter must be int >= 0; got -1"),
    ("spla1", F + "history/objective", [1], "fitted.history must have arrays of one length"),
    ("spla1", F + "history/objective/0", "inf", r"fitted\.history\.objective\[0\] must be one of"),
    ("spla1", F + "objective", None, r"learner\.fitted\.objective must be float or str; got null"),
    ("spla1", "rule/W/1/1", "1", r"rule\.W\[1\]\[1\] must be float; got \"1\""),
    ("spla1", "rule/W/1", [1.0], r"rule\.W\[1\] must be an array of 2 numbers; got 1"),
    ("spla1", "rule/W/1", [0, 0.0], r"rule\.W\[1\] must have a number that is not zero"),
    ("spla1", "rule/W", [], r"rule\.W must be array of length >= 1"),
    ("spla1", "rule/W", [[], [], []], r"rule\.W\[0\] must be an array of 1 numbers"),
    ("spla1", "rule/b", [1.0], r"rule\.b must be an array of 3 numbers; got 1"),
    ("spla1", "rule/otherwise", 2, r"rule\.otherwise must be less than 2"),
    ("spla1", "rule/otherwise", None, r"rule"),
    ("spla1", "rule/links", [], "rule is not one that SPLA1 gives"),
    ("spla1", "rule/links/1/kind", "cubic", r"rule\.links\[1\]\.kind must be one of"),
    ("spla1", "rule/links/1", {}, r"rule\.links\[1\]\.kind is missing"),
    ("spla1", "rule/pieces/0/place", 2, r"rule\.pieces\[0\]\.place must be less than 2; got 2"),
    ("spla1", "rule/pieces/0/faces/1", 0, r"pieces\[0\]\.faces must be from 1 to 3, or"),
    ("spla1", "rule/pieces/0/faces", [1, 2], r"rule\.W\[2\] is a face of no piece"),
    ("spla1", "rule/pieces/0/shares", [1], r"pieces\[0\]\.shares must be an array of 2; got 1"),
    ("spla1", "rule/classes/type", "object_", r"rule\.classes\.type must be one of"),
    ("spla1", "rule/classes/type", "int64", r"classes\.labels\[0\] must be of type int64"),
    ("spla1", "rule/classes/labels", ["a"], r"place must be less than 1"),
    ("batch", "rule/classes/labels", ["a", "b", "c"], "labels must be two for BatchP.*; got 3"),
    ("spla1", "rule/classes/labels", ["b", "a"], r"labels\[1\] must be greater than"),
    ("spla1", "rule/classes/labels", ["a", "a\0"], r"labels\[1\] must be of type str"),
    ("spla1", "rule/classes", {"type": "object", "labels": [False, ""]}, "must be of type object"),
    ("online", F + "stream", None, "fitted.stream must be object; got null"),
    ("online", F + "stream/scale/0", 0, r"stream\.scale\[0\] must be float > 0"),
    ("online", F + "stream/bias_unit", 3, r"stream\.bias_unit must be a power of two"),
    ("online", F + "stream/U", None, r"stream\.U and .*u must both be null, or neither"),
    ("online", F + "stream/W", [[1.0, 2.0]], r"stream\.W must be an array of 3 rows"),
    ("polyceptron", "rule/links/1/inside/lapse", 0.6, r"links\[1\]\.inside\.lapse must be float <"),
    ("polyceptron", "rule/links/1", None, r"rule\.links must give the class of each"),
    ("polyceptron", F + "fits/0/selection/inside/0", 2, r"inside\[0\] must be int <= 1"),
    ("polyceptron", F + "fits/0/selection/chosen", [], "selection must have arrays of one length"),
    ("polyceptron", F + "fits/0/path", PATH, "path must have arrays of one length"),
    ("polyceptron", F + "fits/0/path", PATH | {"error": [-1]}, r"error\[0\] must be .*>= 0"),
    ("polyceptron", F + "fits", [], r"fitted\.fits must be an array of 1; got 0"),
    ("many", "rule/pieces/0/place", 1, "rule.pieces must have a polyhedron for each class"),
    ("many", F + "fits/0", DELETE, r"fitted\.fits must be an array of 3; got 2"),
    ("oc1", F + "counts/0", DELETE, r"fitted\.counts must be an array of \d+ rows"),
    ("oc1", F + "counts/1", [0, 0], r"fitted\.counts\[1\] must have a finite sum above 0"),
    ("oc1", F + "counts/1", [1e308, 1e308], r"fitted\.counts\[1\] must have a finite sum"),
    ("oc1", F + "counts/1", [-1, 9], r"fitted\.counts\[1\]\[0\] must be int >= 0; got -1"),
    ("oc1", F + "counts/-1", [5, 7], r"rule is not one that OC1 gives with learner\.fitted as"),
    ("oc1", "rule/pieces/0/faces/0", -1, r"rule\.pieces must be the leaves of a tree"),
    ("oc1", "rule/pieces/0/shares", [0.5, 0.6], r"shares must add up to 1"),
]  # fmt: skip
BYTES = [
    (b"", "is not JSON"),
    (b"\0" * 100, "is not JSON"),
    (b"\xff\xfe", "not text in UTF-8"),
    (b"[]", "must be an object; got an array of 0"),
    (b"NaN", "must be an object; got NaN"),
    (b"1" * 10**6, "must be an object; got a whole number of 1,000,000 digits"),
    (b"[" * 10**6, "more than 130,000 arrays and objects"),
    (b"[" * 100_000, "nested too deeply"),
    (b"[" + b"0," * 2_300_001 + b"0]", "more than 2,300,000 values"),
    (b"[" + b'"",' * 300_001 + b'""]', "more than 300,000 texts"),
    (b'"' + b"x" * (8 * 2**20) + 'é"'.encode(), "more than 8,388,608 bytes, not all of them ASCII"),
]
REPLACED = [
    ('"n_iter": ', '"n_iter": NaN, "x": ', r"learner\.fitted\.n_iter must be int; got NaN"),
    ('"rows": ', '"rows": -Infinity, "x": ', r"summary\.rows must be JSON.*; got -Infinity"),
    ('"rows": 120', '"rows": 1e999', r"summary\.rows must be a finite number; got inf"),
    ('"otherwise": 0', '"otherwise": 1e999', r"rule\.otherwise must be int or null; got inf"),
    ('"rows": 120', f'"rows": {"9" * 5000}', r"rows must be JSON.*got a whole .* 5,000 digits"),
    ('"rows": 120', '"rows": 1, "rows": 2', r'summary must be object; .* "rows" twice'),
    ('"n_iter": ', '"n_iter": 1, "n_iter": ', r'learner\.fitted must be .* "n_iter" twice'),
    ('"version": 2', '"version": 2, "version": 2', r'must be an object; .* "version" twice'),
    ('"rows": 120', '"rows": 120,', r"is not JSON: .* \(line"),
    ('"rows": 120', f'"rows": {"[" * 40}{"]" * 40}', "nested more than 32 levels"),
    ("{", "[] {", "is not JSON: Extra data"),
    ('"library"', '"\\ud800"', "has a field whose name is no text"),
]


def turned(value):
    """With the fields of every object in the opposite order."""
    if isinstance(value, dict):
        return {name: turned(value[name]) for name in reversed(value)}
    return [turned(item) for item in value] if isinstance(value, list) else value


def decode(document):
    return model_file.decode(json.dumps(document).encode(), "model.json")


class TestWhatIsRefused:
    @pytest.mark.parametrize(("which", "path", "value", "message"), WRONG)
    def test_the_field_that_is_wrong_is_named(self, documents, which, path, value, message):
        with pytest.raises(ModelFileError, match=f"^model.json: .*{message}") as error:
            decode(changed(documents[which], path, value))
        assert error.value.file == "model.json"
        assert error.value.field in str(error.value)
        assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)

    @pytest.mark.parametrize("value", [None, DELETE])
    def test_a_file_may_have_no_verdict(self, documents, value):
        loaded = decode(changed(documents["spla1"], "verdict", value)).estimator
        assert not hasattr(loaded, "verdict_")
        assert json.loads(model_file.encode(loaded))["verdict"] is None

    @pytest.mark.parametrize(("old", "new", "message"), REPLACED)
    def test_text_that_is_not_json(self, documents, old, new, message):
        text = json.dumps(documents["spla1"])
        assert old in text
        with pytest.raises(ModelFileError, match=message):
            model_file.decode(text.replace(old, new, 1).encode())

    @pytest.mark.parametrize(("data", "message"), BYTES)
    def test_other_files(self, data, message, tmp_path):
        (tmp_path / "model.json").write_bytes(data)
        with pytest.raises(ModelFileError, match=message):
            read_model(tmp_path / "model.json")

    def test_too_large(self, tmp_path):
        with (tmp_path / "model.json").open("wb") as file:
            file.truncate(MAX_BYTES + 1)  # a hole
        path = tmp_path / "model.json"
        with pytest.raises(ModelFileError, match=f"{path}: has more than {MAX_BYTES:,} bytes"):
            load_model(path)

    @pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device here")
    def test_a_device(self):
        with pytest.raises(ModelFileError, match="/dev/zero: is not a regular file"):
            load_model("/dev/zero")

    def test_faces_that_many_pieces_share(self, documents):
        """A small file must not stand for a large model."""
        document = copy.deepcopy(documents["oc1"])
        d = 100_000
        document["features"] = document["encoding"] = None
        document["rule"]["W"] = [[1.0] * d] * len(document["rule"]["W"])
        document["rule"]["pieces"][0]["faces"] = [1] * 100
        with pytest.raises(ModelFileError, match=r"rule\.pieces have more than 7,000,000 numbers"):
            decode(document)

    def test_what_says_nothing(self, documents):
        """The order of fields, and a mark of the byte order."""
        for document in documents.values():
            d = len(document["rule"]["W"][0])
            X = np.random.default_rng(0).uniform(-2, 2, (50, d))
            X = X if document["features"] is None else pd.DataFrame(X, columns=["age", "bmi"])
            other = model_file.decode(json.dumps(turned(document)).encode("utf-8-sig")).estimator
            assert_same(decode(document).estimator, other, X)

    def test_a_pickle_is_not_run(self, tmp_path):
        class Harm:
            def __reduce__(self):
                return os.mkdir, (str(tmp_path / "harm"),)

        (tmp_path / "model.json").write_bytes(pickle.dumps(Harm()))
        with pytest.raises(ModelFileError):
            load_model(tmp_path / "model.json")
        assert not (tmp_path / "harm").exists()

    def test_no_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            load_model(tmp_path / "model.json")
        with pytest.raises(IsADirectoryError):
            load_model(tmp_path)

    def test_whatever_memory_cannot_hold(self, documents, monkeypatch):
        def full(*_):
            raise MemoryError

        monkeypatch.setattr(model_file.documents, "rule_of", full)
        with pytest.raises(ModelFileError, match="needs more memory"):
            decode(documents["spla1"])


class TestReadRule:
    def test_it_is_what_the_estimator_answers_by(self, documents, tmp_path):
        for name, document in documents.items():
            (tmp_path / name).write_text(json.dumps(document))
            whole, saved = read_model(tmp_path / name), read_rule(tmp_path / name)
            assert saved.rule == whole.estimator.rule_
            assert saved[1:3] == whole[1:]
            assert saved.learner == name_of_learner(type(whole.estimator))

    def test_a_learner_that_is_not_installed(self, documents, tmp_path):
        document = copy.deepcopy(documents["spla1"])
        document["learner"] = {"name": "theirs", "more": [1, 2]}
        (tmp_path / "m").write_text(json.dumps(document))
        assert read_rule(tmp_path / "m").learner == "theirs"
        with pytest.raises(ModelFileError, match="import or install what registers it"):
            read_model(tmp_path / "m")

    def test_what_decides_is_checked(self, documents, tmp_path):
        for field, value in (("rule", {}), ("encoding", []), ("features", ["a", "a"]), ("x", 1)):
            document = documents["spla1"] | {field: value}
            (tmp_path / "m").write_text(json.dumps(document))
            with pytest.raises(ModelFileError, match=field) as error:
                read_rule(tmp_path / "m")
            assert error.value.file == str(tmp_path / "m")

    def test_it_imports_no_learner(self, documents, tmp_path):
        (tmp_path / "m").write_text(json.dumps(documents["oc1"]))
        (tmp_path / "rows.csv").write_text("age,bmi\n1,2\n")
        code = (
            "import sys; from polyceptron.cli import main\n"
            "sys.argv[1:] = ['predict', 'm', 'rows.csv']\n"
            "try: main()\n"
            "except SystemExit: print({'sklearn', 'pandas', 'scipy.stats'} & set(sys.modules))"
        )
        run = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert run.stdout.splitlines()[-1] == "set()"


class TestSchema:
    def test_it_is_published(self):
        """`make schema` writes it."""
        assert json.loads((ROOT / "docs" / "model.schema.json").read_text()) == schema()

    def test_it_takes_what_is_written(self, documents):
        jsonschema.Draft202012Validator.check_schema(schema())
        validator = jsonschema.Draft202012Validator(schema())
        for document in documents.values():
            validator.validate(document)
        for which, path, value in (
            ("spla1", "rule/W/1/1", "1"),
            ("spla1", "learner/name", "os.system"),
            ("online", F + "stream/seed", -1),
            ("oc1", F + "extra", 1),
        ):
            assert not validator.is_valid(changed(documents[which], path, value))


# --- whole or not there -----------------------------------------------------------------

KILLED = """
import os, random, signal, sys, time
from pathlib import Path
from polyceptron.utils.atomic import write_bytes
from polyceptron.model_file import load_model, save_model
path, *others = map(Path, sys.argv[1:])
models, texts = [load_model(one) for one in others], [one.read_bytes() for one in others]
for k in range(20):
    child = os.fork()
    while child == 0:
        for model, text in zip(models, texts):
            # Most of saving is not writing, so half of the time there is nothing else.
            save_model(model, path) if k % 2 else write_bytes(path, text)
    time.sleep(random.uniform(0, 0.05))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert path.read_bytes() in texts
print("whole")
"""


def run(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.skipif(sys.platform == "win32", reason="signals and limits are those of Unix")
class TestWholeOrNotThere:
    def test_a_kill_leaves_a_whole_file(self, tmp_path):
        """20 times at random moments of a process that does nothing but save two models."""
        folder = tmp_path / "folder"
        folder.mkdir()
        for name, seed in (("a", 0), ("b", 1)):
            y = np.random.default_rng(seed).permutation(Y_SQUARE)
            save_model(fit(quick(OC1, prune_share=0), X_SQUARE, y), tmp_path / name)
        (folder / "model.json").write_bytes((tmp_path / "a").read_bytes())
        with run(KILLED, folder / "model.json", tmp_path / "a", tmp_path / "b") as process:
            assert process.stdout.read() == "whole\n"
        # Kills in the middle of writing leave a part behind, under a name of its own.
        assert {path.suffix for path in folder.iterdir()} <= {".json", ".tmp"}

    @pytest.mark.parametrize("step", ["fsync", "fdopen"])
    def test_whatever_fails_leaves_the_old_file(self, step, tmp_path, monkeypatch):
        def full(*_, **__):
            raise OSError(28, "No space left on device")

        model = fit(quick(SPLA1), X_SQUARE, Y_SQUARE)
        path = tmp_path / "model.json"
        save_model(model, path)
        old = path.read_bytes()
        monkeypatch.setattr(os, step, full)
        with pytest.raises(OSError, match="No space left"):
            save_model(model, path, summary={"rows": 1})
        monkeypatch.undo()
        assert path.read_bytes() == old
        assert list(tmp_path.iterdir()) == [path]

    def test_threads_that_save_at_once(self, tmp_path):
        models = [fit(quick(SPLA1, random_state=seed), X_SQUARE, Y_SQUARE) for seed in range(3)]
        path = tmp_path / "model.json"

        def save(model):
            for _ in range(8):
                save_model(model, path)
                load_model(path)

        threads = [threading.Thread(target=save, args=(model,)) for model in models]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert list(tmp_path.iterdir()) == [path]
        load_model(path)

    def test_links_are_followed(self, tmp_path):
        model = fit(quick(SPLA1), X_SQUARE, Y_SQUARE)
        (tmp_path / "real").mkdir()
        (tmp_path / "link.json").symlink_to(tmp_path / "real" / "model.json")
        save_model(model, tmp_path / "link.json")
        assert (tmp_path / "link.json").is_symlink()
        assert [path.name for path in (tmp_path / "real").iterdir()] == ["model.json"]

    def test_a_pipe_is_written_into(self, tmp_path):
        path = tmp_path / "pipe"
        os.mkfifo(path)
        model = fit(quick(SPLA1), X_SQUARE, Y_SQUARE)
        with ThreadPoolExecutor(1) as pool:
            read = pool.submit(path.read_bytes)
            save_model(model, path)
            written = read.result(timeout=60)
        assert path.is_fifo()
        assert list(tmp_path.iterdir()) == [path]
        (tmp_path / "model.json").write_bytes(written)
        assert_same(model, load_model(tmp_path / "model.json"), X_SQUARE)


class TestEdits:
    """Rules that were changed by hand stay models of their learners, and say what was done."""

    @every_learner
    def test_an_edited_model_is_loaded_as_what_it_was(self, learner, tmp_path):
        model = fit(quick(learner), X_SQUARE, Y_SQUARE)
        step = model.rule_.edit(X_SQUARE, Y_SQUARE)
        face = next(iter(step.addresses))
        step = step.replace(face, "3*x0 - x1 <= 0.5", why='"expert"\n\ud800').lock(face)
        if learner is not OC1:
            step = step.drop(next(reversed(step.addresses)))
        save_model(model, tmp_path / "m.json", rule=step.rule)
        loaded = load_model(tmp_path / "m.json")
        assert type(loaded) is learner
        for rule in (loaded.rule_, read_rule(tmp_path / "m.json").rule):
            assert rule == step.rule != model.rule_
            assert (rule.edits, rule.locked) == (step.rule.edits, step.rule.locked)
        np.testing.assert_array_equal(loaded.predict(X_SQUARE), step.rule.predict(X_SQUARE))
        assert not hasattr(loaded, "verdict_")
        again = model_file.decode(model_file.encode(loaded)).estimator
        assert (again.rule_.edits, again.rule_.locked) == (step.rule.edits, step.rule.locked)
        jsonschema.validate(json.loads((tmp_path / "m.json").read_text()), schema())

    def test_a_stream_does_not_go_on_without_the_edits(self, tmp_path):
        model = fit(quick(OnlinePolyceptron), X_SQUARE, Y_SQUARE)
        save_model(model, tmp_path / "m.json", rule=model.rule_.edit().drop(0).rule)
        with pytest.raises(ValueError, match="rule must be a Rule or None; got Editing"):
            save_model(model, tmp_path / "m.json", rule=model.rule_.edit())
        loaded = load_model(tmp_path / "m.json")
        with pytest.raises(ValueError, match="was edited by hand"):
            loaded.partial_fit(X_SQUARE, Y_SQUARE)
        assert not fit(loaded, X_SQUARE, Y_SQUARE).rule_.edits


def test_a_pipe_is_not_read(tmp_path):
    """Nobody may ever write into it."""
    os.mkfifo(tmp_path / "m.json")
    with pytest.raises(ModelFileError, match="is not a regular file"):
        model_file.read_model(tmp_path / "m.json")
