"""Models in files: what comes back, what is refused, and what a kill leaves behind."""

import copy
import json
import os
import pickle
import re
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
from sklearn.utils.estimator_checks import parametrize_with_checks

from common import SETTINGS, X_SQUARE, Y_SQUARE, every_learner, every_polyhedron, fit, quick
from polyceptron import (
    OC1,
    PCSLP,
    SPLA1,
    SPLA2,
    BatchPolyceptron,
    OnlinePolyceptron,
    Polyceptron,
    model_file,
)
from polyceptron.data.encoding import Column, Encoding
from polyceptron.model_file import (
    MAX_BYTES,
    ModelFileError,
    load_model,
    read_model,
    save_model,
    schema,
)
from polyceptron.utils import atomic

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
EVEN, ODD = X_SQUARE[::2], X_SQUARE[1::2]


def labelled(kind):
    return np.asarray(LABELS[kind])[Y_SQUARE]


def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


def many(**parameters):
    return fit(quick(Polyceptron, **parameters), *iris())


def back(model, path, **arguments):
    """Through a file."""
    save_model(model, path, **arguments)
    return load_model(path)


def document(model, path, **arguments):
    save_model(model, path, **arguments)
    return json.loads(path.read_bytes())


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


# --- what comes back --------------------------------------------------------------------


class TestRoundTrip:
    @pytest.mark.parametrize("kind", LABELS)
    @every_learner
    def test_labels_of_all_kinds(self, learner, kind, tmp_path):
        model = fit(quick(learner), X_SQUARE, labelled(kind))
        loaded = back(model, tmp_path / "model.json")
        assert_same(model, loaded, X_SQUARE)
        assert loaded.classes_.dtype.kind == model.classes_.dtype.kind
        assert set(loaded.predict(X_SQUARE)) <= set(labelled(kind))

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    @every_learner
    def test_frames(self, learner, frame, tmp_path):
        X = frame({"größe": X_SQUARE[:, 0], 'a "b";\n': X_SQUARE[:, 1]})
        model = fit(quick(learner), X, labelled("str"))
        loaded = back(model, tmp_path / "model.json")
        assert_same(model, loaded, X)
        assert loaded.feature_names_in_.tolist() == ["größe", 'a "b";\n']
        with pytest.raises(ValueError, match="feature names"):
            loaded.predict(X[['a "b";\n', "größe"]])
        with pytest.warns(UserWarning, match="valid feature names"):
            loaded.predict(X_SQUARE)

    @every_polyhedron
    def test_sparse(self, learner, tmp_path):
        X = sp.csr_matrix(np.where(np.abs(X_SQUARE) < 0.3, 0.0, X_SQUARE))
        model = fit(quick(learner), X, Y_SQUARE)
        loaded = back(model, tmp_path / "model.json")
        assert_same(model, loaded, X)
        assert same(model.predict(X.toarray()), loaded.predict(X))

    @pytest.mark.parametrize("inside", [0, 1])
    @every_polyhedron
    def test_either_class_inside(self, learner, inside, tmp_path):
        model = fit(quick(learner, inside=inside), X_SQUARE, Y_SQUARE)
        loaded = back(model, tmp_path / "model.json")
        assert loaded.inside_ == inside
        assert_same(model, loaded, X_SQUARE)

    @pytest.mark.parametrize("factor", [1e-200, 1e150, 1e300])
    @every_learner
    def test_columns_at_the_ends_of_the_range(self, learner, factor, tmp_path):
        model = fit(quick(learner), X_SQUARE * factor, Y_SQUARE)
        assert_same(model, back(model, tmp_path / "model.json"), X_SQUARE * factor)

    def test_many_classes(self, tmp_path):
        X, y = iris()
        frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
        for rows in (X, frame):
            model = fit(quick(Polyceptron), rows, y)
            loaded = back(model, tmp_path / "model.json")
            assert_same(model, loaded, rows)
            assert list(loaded.polyhedra_) == model.classes_.tolist()

    def test_a_tree_of_many_classes_and_one_of_a_single(self, tmp_path):
        X, y = iris()
        for labels in (y, np.full(len(y), "one")):
            model = fit(quick(OC1, prune_share=0), X, labels)
            loaded = back(model, tmp_path / "model.json")
            assert_same(model, loaded, X)
            assert loaded.to_text() == model.to_text()
            assert same(loaded.decision_path(X).toarray(), model.decision_path(X).toarray())

    def test_automatic_choices(self, tmp_path):
        model = fit(Polyceptron(random_state=0, n_init=3, max_iter=50), X_SQUARE, labelled("str"))
        assert len(model.selection_["inside"]) > 3
        assert_same(model, back(model, tmp_path / "model.json"), X_SQUARE)

    def test_measurements_that_are_not_finite(self, tmp_path):
        model = fit(quick(SPLA2), X_SQUARE, Y_SQUARE)
        model.validation_scores_ = np.array([-np.inf, np.nan, 1.0, np.inf])
        model.log_likelihood_ = -np.inf
        loaded = back(model, tmp_path / "model.json")
        np.testing.assert_array_equal(loaded.validation_scores_, model.validation_scores_)
        assert loaded.log_likelihood_ == -np.inf

    @every_learner
    def test_a_second_time_it_is_the_same_file(self, learner, tmp_path):
        model = fit(quick(learner), X_SQUARE, labelled("str"))
        save_model(back(model, tmp_path / "a.json"), tmp_path / "b.json")
        assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()

    def test_over_many_random_faces_to_the_last_bit(self, tmp_path):
        rng = np.random.default_rng(0)
        model = fit(quick(SPLA1), X_SQUARE, Y_SQUARE)
        from polyceptron import Polyhedron

        W = np.ldexp(rng.standard_normal((500, 2)), rng.integers(-1070, 900, (500, 2)))
        model.polyhedron_ = Polyhedron(W, np.ldexp(rng.standard_normal(500), -30))
        model.coef_, model.intercept_ = model.polyhedron_.W, model.polyhedron_.b
        loaded = back(model, tmp_path / "model.json")
        assert loaded.coef_.tobytes() == W.tobytes()


class TestAsAnEstimator:
    @every_learner
    def test_clone_and_refit(self, learner, tmp_path):
        model = fit(quick(learner), X_SQUARE, labelled("str"))
        loaded = back(model, tmp_path / "model.json")
        assert loaded.get_params() == model.get_params()
        assert not hasattr(clone(loaded), "classes_")
        again = fit(clone(loaded), X_SQUARE, labelled("str"))
        assert_same(model, again, X_SQUARE)
        fit(loaded, X_SQUARE, labelled("int"))
        assert loaded.classes_.tolist() == [3, 7]
        assert_same(model, pickle.loads(pickle.dumps(back(model, tmp_path / "b.json"))), X_SQUARE)

    @pytest.mark.parametrize("learner", [BatchPolyceptron, OnlinePolyceptron, SPLA1, PCSLP])
    @pytest.mark.parametrize("factor", [1.0, 1e300])
    def test_a_warm_start_goes_on_as_it_would_have(self, learner, factor, tmp_path):
        X = X_SQUARE * factor
        model = fit(quick(learner, warm_start=True, max_iter=5), X, Y_SQUARE)
        loaded = back(model, tmp_path / "model.json")
        assert_same(fit(model, X, Y_SQUARE), fit(loaded, X, Y_SQUARE), X)

    @pytest.mark.parametrize("average", [False, True])
    @pytest.mark.parametrize("standardize", [False, True])
    @pytest.mark.parametrize("factor", [1.0, 1e200])
    def test_partial_fit_goes_on_as_it_would_have(self, average, standardize, factor, tmp_path):
        model = quick(OnlinePolyceptron, average=average, standardize=standardize)
        X = X_SQUARE * factor
        for start in range(0, 60, 20):
            rows = slice(start, start + 20)
            model.partial_fit(X[rows], Y_SQUARE[rows], classes=[0, 1])
        loaded = back(model, tmp_path / "model.json")
        for start in range(60, 120, 20):
            rows = slice(start, start + 20)
            model.partial_fit(X[rows], Y_SQUARE[rows])
            loaded.partial_fit(X[rows], Y_SQUARE[rows])
            assert_same(model, loaded, X)

    def test_partial_fit_goes_on_after_fit(self, tmp_path):
        model = fit(quick(OnlinePolyceptron, average=True), EVEN, Y_SQUARE[::2])
        loaded = back(model, tmp_path / "model.json")
        model.partial_fit(ODD, Y_SQUARE[1::2])
        loaded.partial_fit(ODD, Y_SQUARE[1::2])
        assert_same(model, loaded, X_SQUARE)

    def test_parameters_of_all_kinds(self, tmp_path):
        start = np.random.default_rng(0).standard_normal((3, 3))
        for init in (start, start.tolist()):
            model = quick(
                BatchPolyceptron,
                init=init,
                class_weight={"no": 1, "yes, it is": np.float32(2.5)},
                inside=np.str_("no"),
                n_hyperplanes=np.int64(3),
                tol=1e-3,
            )
            loaded = back(fit(model, X_SQUARE, labelled("str")), tmp_path / "model.json")
            assert_same(fit(clone(model), X_SQUARE, labelled("str")),
                        fit(clone(loaded), X_SQUARE, labelled("str")).set_params(
                            **model.get_params()), X_SQUARE)  # fmt: skip
            assert loaded.class_weight == {"no": 1, "yes, it is": 2.5}
            assert loaded.inside == "no"
            np.testing.assert_array_equal(loaded.init, start)

    @pytest.mark.parametrize("labels", ["int", "float", "bool"])
    def test_class_weights_keep_the_type_of_their_labels(self, labels, tmp_path):
        weights = dict(zip(np.unique(labelled(labels)).tolist(), [1.0, 2.0], strict=True))
        model = fit(quick(SPLA1, class_weight=weights), X_SQUARE, labelled(labels))
        loaded = back(model, tmp_path / "model.json")
        assert loaded.class_weight == weights
        assert list(map(type, loaded.class_weight)) == list(map(type, weights))

    def test_a_random_state_that_is_no_number_is_noted(self, tmp_path):
        model = fit(quick(SPLA1, random_state=np.random.RandomState(0)), X_SQUARE, Y_SQUARE)
        found = document(model, tmp_path / "model.json")
        assert found["learner"]["parameters"]["random_state"] is None
        assert found["notes"] == ["random_state was a RandomState, which is not kept"]
        assert load_model(tmp_path / "model.json").random_state is None

    def test_pcslp_predicts_without_highs(self, tmp_path, monkeypatch):
        model = fit(quick(PCSLP), X_SQUARE, Y_SQUARE)
        save_model(model, tmp_path / "model.json")
        monkeypatch.setitem(sys.modules, "highspy", None)
        loaded = load_model(tmp_path / "model.json")
        assert same(loaded.predict(X_SQUARE), model.predict(X_SQUARE))
        with pytest.raises(ImportError, match="HiGHS"):
            loaded.fit(X_SQUARE, Y_SQUARE)


class TestSummaryAndEncoding:
    def test_summary(self, tmp_path):
        model = fit(quick(SPLA1), X_SQUARE, Y_SQUARE)
        summary = {
            "rows": np.int64(120),
            "counts": np.array([1, 2]),
            "by class": {"a": (1, None, True), "": 0.1 + 0.2},
            "text": np.str_("</script>\u2028"),
        }
        save_model(model, tmp_path / "model.json", summary=summary)
        assert read_model(tmp_path / "model.json").summary == {
            "rows": 120,
            "counts": [1, 2],
            "by class": {"a": [1, None, True], "": 0.1 + 0.2},
            "text": "</script>\u2028",
        }
        save_model(model, tmp_path / "model.json")
        assert read_model(tmp_path / "model.json").summary == {}

    @pytest.mark.parametrize(
        ("summary", "message"),
        [
            ([1], "summary must be a dict"),
            ({1: 2}, "summary must have keys that are strings"),
            ({"a": {"b": [0, object()]}}, r"summary\['a'\]\['b'\]\[1\] must be JSON"),
            ({"a": float("nan")}, r"summary\['a'\] must be finite"),
            ({"a": np.array([1.0, np.inf])}, r"summary\['a'\]\[1\] must be finite"),
            ({"a": 2**64}, "summary.a must be a whole number"),
            ({"a": b"bytes"}, r"summary\['a'\] must be JSON"),
        ],
    )
    def test_summaries_that_are_not_json(self, summary, message, tmp_path):
        model = fit(quick(SPLA1), X_SQUARE, Y_SQUARE)
        with pytest.raises(ValueError, match=message):
            save_model(model, tmp_path / "model.json", summary=summary)
        assert list(tmp_path.iterdir()) == []

    def test_depth(self, tmp_path):
        model = fit(quick(SPLA1), X_SQUARE, Y_SQUARE)
        deep = {}
        for _ in range(31):
            deep = {"a": deep}
        save_model(model, tmp_path / "model.json", summary=deep)
        assert read_model(tmp_path / "model.json").summary == deep
        circle = {}
        circle["a"] = circle
        for too_deep in ({"a": deep}, circle):
            with pytest.raises(ValueError, match="more than 32 levels"):
                save_model(model, tmp_path / "b.json", summary=too_deep)

    def test_encoding(self, tmp_path):
        colour = Column("colour", "category", ("blue", "red"), "red")
        encoding = Encoding([Column("age", "number", fill=30.5), colour])
        table = {"age": X_SQUARE[:, 0], "colour": np.array(["red", "blue"])[Y_SQUARE]}
        X = encoding.transform(table)
        frame = pd.DataFrame(X, columns=encoding.feature_names)
        for rows in (X, frame):
            model = fit(quick(SPLA1), rows, Y_SQUARE)
            save_model(model, tmp_path / "model.json", encoding=encoding)
            assert read_model(tmp_path / "model.json").encoding == encoding
        save_model(model, tmp_path / "model.json")
        assert read_model(tmp_path / "model.json").encoding is None

    def test_an_encoding_of_other_columns_is_refused(self, tmp_path):
        model = fit(quick(SPLA1), X_SQUARE, Y_SQUARE)
        with pytest.raises(ModelFileError, match="encoding must give the features"):
            save_model(model, tmp_path / "a.json", encoding=Encoding([Column("age", "number")]))
        named = fit(quick(SPLA1), pd.DataFrame(X_SQUARE, columns=["a", "b"]), Y_SQUARE)
        other = Encoding([Column("b", "number"), Column("a", "number")])
        with pytest.raises(ModelFileError, match="encoding must give the features"):
            save_model(named, tmp_path / "a.json", encoding=other)


class TestWhatCannotBeSaved:
    def test_not_fitted(self, tmp_path):
        with pytest.raises(NotFittedError):
            save_model(SPLA1(), tmp_path / "model.json")

    def test_other_estimators(self, tmp_path):
        class SPLA1(type(quick(OC1))):
            """One that only has the name."""

        pipeline = make_pipeline(StandardScaler(), quick(OC1)).fit(X_SQUARE, Y_SQUARE)
        for other in (pipeline, SPLA1().fit(X_SQUARE, Y_SQUARE)):
            with pytest.raises(ValueError, match="estimator must be a learner of polyceptron"):
                save_model(other, tmp_path / "model.json")

    @pytest.mark.parametrize("labels", [["2020-01-01", "2020-01-02"], [1.0, 2.0]])
    def test_labels_of_other_types(self, labels, tmp_path):
        dtype = np.longdouble if labels == [1.0, 2.0] else "M8[D]"
        model = fit(quick(OC1), X_SQUARE, np.array(labels, dtype)[Y_SQUARE])
        with pytest.raises(ValueError, match="labels of this type"):
            save_model(model, tmp_path / "model.json")

    def test_parameters_that_were_spoilt_after_the_fit(self, tmp_path):
        model = fit(quick(SPLA1), X_SQUARE, Y_SQUARE).set_params(C=-1)
        with pytest.raises(ModelFileError, match=r"learner\.parameters .* C must be"):
            save_model(model, tmp_path / "model.json")
        with pytest.raises(ValueError, match="tol must be JSON"):
            save_model(model.set_params(tol=object()), tmp_path / "model.json")

    def test_more_than_is_read(self, tmp_path, monkeypatch):
        model = fit(quick(SPLA1), X_SQUARE, Y_SQUARE)
        monkeypatch.setattr(model_file._json, "MAX_BYTES", 100)
        with pytest.raises(ModelFileError, match="larger than 100 bytes"):
            save_model(model, tmp_path / "model.json")


# --- what is refused --------------------------------------------------------------------


def write(path, document):
    path.write_text(json.dumps(document))
    return path


def changed(document, path, value):
    """A copy with one value set; None as a key of the last step deletes."""
    document = copy.deepcopy(document)
    *way, last = path
    place = document
    for step in way:
        place = place[step]
    if value is DELETE:
        del place[last]
    else:
        place[last] = value
    return document


DELETE = object()


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """One of each learner, with names, an encoding and a summary."""
    folder = tmp_path_factory.mktemp("documents")
    X = pd.DataFrame(X_SQUARE, columns=["age", "bmi"])
    encoding = Encoding([Column("age", "number"), Column("bmi", "number")])
    found = {}
    for learner in SETTINGS:
        more = {"average": True} if learner is OnlinePolyceptron else {}
        model = fit(quick(learner, **more), X, labelled("str"))
        arguments = {"encoding": encoding, "summary": {"rows": 120}}
        found[learner.__name__] = document(model, folder / "model.json", **arguments)
    found["many"] = document(many(), folder / "model.json")
    return found


WRONG = [
    ("SPLA1", ["version"], 2, r"version must be 1, .*; got 2"),
    ("SPLA1", ["version"], "1", r"version must be a whole number .*; got \"1\""),
    ("SPLA1", ["version"], True, "version must be a whole number .*; got true"),
    ("SPLA1", ["version"], DELETE, "version is missing"),
    ("SPLA1", ["format"], "other", "is not a model file"),
    ("SPLA1", ["format"], DELETE, "is not a model file"),
    ("SPLA1", ["extra"], 1, "extra is not a field that is known"),
    ("SPLA1", ["learner"], DELETE, "learner is missing"),
    ("SPLA1", ["learner"], [], "learner must be an object; got an array of 0"),
    ("SPLA1", ["library"], 1, "library must be text"),
    ("SPLA1", ["notes"], [1], r"notes\[0\] must be text"),
    ("SPLA1", ["summary"], [], "summary must be an object"),
    ("SPLA1", ["learner", "name"], "os.system", "learner.name must be one of BatchPolyceptron, "),
    ("SPLA1", ["learner", "name"], "SPLA2", "learner.validation_scores is missing"),
    ("SPLA1", ["learner", "name"], "OC1", "learner.tree is missing"),
    ("SPLA1", ["learner", "a b"], 1, r'learner\["a b"\] is not a field'),
    ("SPLA1", ["learner", "W", 1, 1], "1", r"learner\.W\[1\]\[1\] must be a finite number"),
    ("SPLA1", ["learner", "W", 1, 1], True, r"learner\.W\[1\]\[1\] must be a finite .* got true"),
    ("SPLA1", ["learner", "W", 1, 1], None, r"learner\.W\[1\]\[1\] must be a finite .* got null"),
    ("SPLA1", ["learner", "W", 1], [1.0], r"learner\.W\[1\] must be an array of 2 numbers"),
    ("SPLA1", ["learner", "W", 1], [0, 0.0], r"learner\.W\[1\] must have a number that is not"),
    ("SPLA1", ["learner", "W"], [], r"learner\.W must have at least one row"),
    ("SPLA1", ["learner", "W"], {}, r"learner\.W must be an array; got an object"),
    ("SPLA1", ["learner", "b"], [1.0], r"learner\.b must be an array of 3 numbers; got an array"),
    ("SPLA1", ["learner", "inside"], "maybe", r"learner\.inside must be one of classes\.labels"),
    ("SPLA1", ["learner", "inside"], 1, r"learner\.inside must be text"),
    ("SPLA1", ["learner", "exponent"], 10**6, r"learner\.exponent must be a whole number"),
    ("SPLA1", ["learner", "exponent"], 0.0, r"learner\.exponent must be a whole number"),
    ("SPLA1", ["learner", "converged"], 1, r"learner\.converged must be true or false; got 1"),
    ("SPLA1", ["learner", "n_iter"], -1, r"learner\.n_iter must be a whole number from 0"),
    ("SPLA1", ["learner", "history", "objective"], [1], "history must have arrays of one length"),
    ("SPLA1", ["learner", "history", "objective", 0], "inf", r"history\.objective\[0\] must be"),
    ("SPLA1", ["learner", "objective"], None, r"learner\.objective must be a finite number or"),
    ("SPLA1", ["learner", "parameters", "C"], 0, r"learner\.parameters .*C must be a finite"),
    ("SPLA1", ["learner", "parameters", "C"], [1], r"learner\.parameters\.C must be text"),
    ("SPLA1", ["learner", "parameters", "n_jobs"], "all", r"parameters .*n_jobs must be None"),
    ("SPLA1", ["learner", "parameters", "extra"], 0, r"parameters\.extra is not a field"),
    ("SPLA1", ["learner", "parameters", "C"], DELETE, r"learner\.parameters\.C is missing"),
    ("SPLA1", ["learner", "parameters", "init"], "zeros", r'parameters\.init must be "random"'),
    ("SPLA1", ["learner", "parameters", "init"], {"array": [1]}, r"init\.array\[0\] must be an"),
    ("SPLA1", ["learner", "parameters", "random_state"], 1.5, r"random_state must be a whole"),
    ("SPLA1", ["learner", "parameters", "class_weight"], "x", r"class_weight must be null, "),
    (
        "SPLA1",
        ["learner", "parameters", "class_weight"],
        {"pairs": [["no", 1], ["no", 2]]},
        r"class_weight\.pairs\[1\]\[0\] must be a label that is not there before",
    ),
    ("SPLA1", ["classes", "type"], "object_", r"classes\.type must be one of bool"),
    ("SPLA1", ["classes", "type"], "int64", r"classes\.labels\[0\] must be a whole number"),
    ("SPLA1", ["classes", "labels"], ["yes"], r"classes\.labels must be two for SPLA1; got 1"),
    ("SPLA1", ["classes", "labels"], [], r"classes\.labels must have at least one"),
    ("SPLA1", ["classes", "labels"], ["b", "a"], r"classes\.labels\[1\] must be greater than"),
    ("SPLA1", ["classes", "labels"], ["a", "a"], r"classes\.labels\[1\] must be greater than"),
    ("SPLA1", ["classes", "labels"], ["a", "a\0"], r"labels\[1\] must not end in a zero"),
    ("SPLA1", ["features", "count"], 3, r"features\.names must be an array of 3; got an array"),
    ("SPLA1", ["features", "count"], 10**12, r"features\.count must be a whole number from 1"),
    ("SPLA1", ["features", "names", 1], "age", r"names\[1\] must differ from features\.names\[0\]"),
    ("SPLA1", ["features", "names", 1], 5, r"features\.names\[1\] must be text"),
    ("SPLA1", ["encoding", 0, "kind"], "date", r"encoding is wrong: columns\[0\]\.kind must be"),
    ("SPLA1", ["encoding"], {}, "encoding is wrong: columns must be a list"),
    ("SPLA1", ["encoding", 0, "name"], "dose", "encoding must give the features"),
    ("SPLA2", ["learner", "validation_scores"], 1, "validation_scores must be an array"),
    ("PCSLP", ["learner", "n_lps"], 1.5, "n_lps must be a whole number"),
    ("OnlinePolyceptron", ["learner", "stream"], None, "stream must be an object; got null"),
    ("OnlinePolyceptron", ["learner", "stream", "scale", 0], 0, r"scale\[0\] must be a finite"),
    ("OnlinePolyceptron", ["learner", "stream", "bias_unit"], 3, "bias_unit must be a power of"),
    ("OnlinePolyceptron", ["learner", "stream", "bias_unit"], -1, "bias_unit must be a finite"),
    ("OnlinePolyceptron", ["learner", "stream", "U"], None, r"stream\.U must be an array"),
    ("OnlinePolyceptron", ["learner", "stream", "W"], [[1.0, 2.0]], r"stream\.W must be an array"),
    ("OnlinePolyceptron", ["learner", "stream", "seed"], -1, r"stream\.seed must be a whole"),
    ("Polyceptron", ["learner", "calibration", "inside", "lapse"], 0.6, "lapse must be a finite"),
    ("Polyceptron", ["learner", "calibration", "inside", "slope"], 0, "slope must be a finite"),
    ("Polyceptron", ["learner", "score_exponent"], 10**5, "score_exponent must be a whole"),
    ("Polyceptron", ["learner", "selection", "inside", 0], "x", r"inside\[0\] must be one of"),
    ("Polyceptron", ["learner", "selection", "chosen"], [], r"inside must be an array of 0"),
    ("Polyceptron", ["classes", "labels"], ["a", "no", "z"], r"learner\.estimators is missing"),
    ("many", ["learner", "estimators", 1, "W", 0, 2], None, r"estimators\[1\]\.W\[0\]\[2\] must"),
    (
        "many",
        ["learner", "estimators", 2, "inside"],
        False,
        r"estimators\[2\]\.inside must be true",
    ),
    ("many", ["learner", "estimators", 0], DELETE, r"learner\.estimators must be an array of 3"),
    ("many", ["classes", "labels", 0], DELETE, r"learner\.W is missing"),
    ("OC1", ["learner", "tree"], [], r"learner\.tree must be followed by the nodes"),
    ("OC1", ["learner", "tree"], {}, r"learner\.tree must be an array"),
    ("OC1", ["learner", "tree", 0, "yes"], 0, r"tree\[0\]\.yes must be a whole number from 1"),
    ("OC1", ["learner", "tree", 0, "yes"], 2, r"tree\[0\]\.yes must be 1: nodes are in preorder"),
    ("OC1", ["learner", "tree", 0, "no"], 1, r"tree\[0\]\.no must be 2: nodes are in preorder"),
    ("OC1", ["learner", "tree", 0, "w"], [0, 0], r"tree\[0\]\.w must have a number that is not"),
    ("OC1", ["learner", "tree", 0, "w"], DELETE, r"tree\[0\]\.b is not a field"),
    ("OC1", ["learner", "tree", 0, "b"], DELETE, r"tree\[0\]\.b is missing"),
    ("OC1", ["learner", "tree", -1], DELETE, r"tree\[\d\]\.no must be .*"),
    ("OC1", ["learner", "tree", 1, "counts"], [0, 0], r"tree\[1\]\.counts must be weights"),
    ("OC1", ["learner", "tree", 1, "counts"], [-1, 9], r"tree\[1\]\.counts must be weights"),
    ("OC1", ["learner", "tree", 1, "counts"], [1e308, 1e308], r"counts must be weights"),
    ("OC1", ["learner", "tree", 1, "counts"], [1], r"counts must be an array of 2 numbers"),
    ("OC1", ["learner", "tree", 0, "counts"], DELETE, r"tree\[0\]\.counts is missing"),
]


def turned(value):
    """With the fields of every object in the opposite order."""
    if isinstance(value, dict):
        return {name: turned(value[name]) for name in reversed(value)}
    return [turned(item) for item in value] if isinstance(value, list) else value


def test_the_order_of_fields_says_nothing(documents, tmp_path):
    for document in documents.values():
        X = np.random.default_rng(0).uniform(-2, 2, (50, document["features"]["count"]))
        names = document["features"]["names"]
        X = X if names is None else pd.DataFrame(X, columns=names)
        one = load_model(write(tmp_path / "model.json", document))
        assert_same(one, load_model(write(tmp_path / "model.json", turned(document))), X)


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("which", "path", "value", "message"), WRONG, ids=[f"{i}" for i in range(len(WRONG))]
    )
    def test_the_field_that_is_wrong_is_named(
        self, documents, which, path, value, message, tmp_path
    ):
        wrong = changed(documents[which], path, value)
        with pytest.raises(ModelFileError, match=message) as error:
            read_model(write(tmp_path / "model.json", wrong))
        assert str(error.value).startswith(f"{tmp_path / 'model.json'}: ")
        assert error.value.file == str(tmp_path / "model.json")
        assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)

    def test_a_node_too_many(self, documents, tmp_path):
        wrong = copy.deepcopy(documents["OC1"])
        wrong["learner"]["tree"].append({"counts": [1, 2]})
        n = len(wrong["learner"]["tree"])
        with pytest.raises(ModelFileError, match=rf"tree\[{n - 1}\] belongs to no node before"):
            read_model(write(tmp_path / "model.json", wrong))

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ('"exponent": 0', '"exponent": NaN', r"learner\.exponent must be .* got NaN"),
            ('"rows": ', '"rows": -Infinity, "x": ', r"summary\.rows must be JSON; got -Infinity"),
            ('"rows": 120', '"rows": 1e999', r"summary\.rows must be a finite number; got inf"),
            ('"rows": 120', f'"rows": {"9" * 5000}', r"rows must be JSON; got a whole .* 5,000 di"),
            ('"rows": 120', '"rows": 1, "rows": 2', r'summary must be an object; .* "rows" twice'),
            ('"n_iter": ', '"n_iter": 1, "n_iter": ', r'learner must be .* the field "n_iter" twi'),
            ('"version": 1', '"version": 1, "version": 1', r'must be .* the field "version" twice'),
            ('"rows": 120', '"rows": 120,', r"is not JSON: .* \(line"),
            ('"rows": 120', f'"rows": {"[" * 200_000}', "nested too deeply"),
            ('"rows": 120', f'"rows": {"[" * 40}{"]" * 40}', "nested more than 32 levels"),
            ("{", "", "is not JSON"),
            ("{", "[] {", "is not JSON: Extra data"),
        ],
    )
    def test_text_that_is_not_json(self, documents, old, new, message, tmp_path):
        text = json.dumps(documents["SPLA1"])
        assert old in text
        (tmp_path / "model.json").write_text(text.replace(old, new, 1))
        with pytest.raises(ModelFileError, match=message):
            read_model(tmp_path / "model.json")

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"", "is not JSON"),
            (b"\0" * 100, "is not JSON"),
            (b"\xff\xfe", "not text in UTF-8"),
            (b"null", "must be an object; got null"),
            (b"[]", "must be an object; got an array of 0"),
            (b"NaN", "must be an object; got NaN"),
            (b"1" * 10**6, "must be an object; got a whole number of 1,000,000 digits"),
            (b'"\\ud800"', r"must be an object; got .\\ud800"),
            (b"[" * 10**7, "has more than 5,000,000 arrays"),
            (b"[" + b"0," * (2 * 10**7 + 1) + b"0]", "has more than 20,000,000 values"),
        ],
    )
    def test_other_files(self, data, message, tmp_path):
        (tmp_path / "model.json").write_bytes(data)
        with pytest.raises(ModelFileError, match=message):
            read_model(tmp_path / "model.json")

    def test_a_mark_of_the_byte_order_is_no_harm(self, documents, tmp_path):
        text = json.dumps(documents["SPLA1"])
        (tmp_path / "model.json").write_text(text, encoding="utf-8-sig")
        assert read_model(tmp_path / "model.json").summary == {"rows": 120}

    def test_a_pickle_is_not_run(self, tmp_path):
        class Harm:
            def __reduce__(self):
                return os.mkdir, (str(tmp_path / "harm"),)

        (tmp_path / "model.json").write_bytes(pickle.dumps(Harm()))
        with pytest.raises(ModelFileError):
            load_model(tmp_path / "model.json")
        assert not (tmp_path / "harm").exists()

    @pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no endless file")
    def test_endless_files(self, monkeypatch):
        monkeypatch.setattr(model_file, "MAX_BYTES", 10**6)
        monkeypatch.setattr(model_file._json, "MAX_BYTES", 10**6)
        with pytest.raises(ModelFileError, match="/dev/zero: is larger than 1,000,000 bytes"):
            load_model("/dev/zero")

    def test_too_large(self, tmp_path):
        with (tmp_path / "model.json").open("wb") as file:
            file.truncate(MAX_BYTES + 1)  # a hole
        with pytest.raises(ModelFileError, match="is larger than 268,435,456 bytes"):
            load_model(tmp_path / "model.json")

    def test_no_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            load_model(tmp_path / "model.json")
        with pytest.raises(IsADirectoryError):
            load_model(tmp_path)

    def test_whatever_memory_cannot_hold(self, documents, tmp_path, monkeypatch):
        def full(*_):
            raise MemoryError

        monkeypatch.setattr(model_file, "read_learner", full)
        with pytest.raises(ModelFileError, match="needs more memory"):
            load_model(write(tmp_path / "model.json", documents["SPLA1"]))


# --- the schema -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def validator():
    jsonschema.Draft202012Validator.check_schema(schema())
    return jsonschema.Draft202012Validator(schema())


class TestSchema:
    def test_it_describes_what_is_written(self, documents, validator):
        for document in documents.values():
            validator.validate(document)

    @pytest.mark.parametrize("kind", LABELS)
    def test_labels_of_all_kinds(self, kind, validator, tmp_path):
        model = fit(quick(SPLA1, class_weight="balanced"), X_SQUARE, labelled(kind))
        validator.validate(document(model, tmp_path / "model.json"))

    def test_parameters_of_all_kinds(self, validator, tmp_path):
        model = quick(OnlinePolyceptron, init=np.ones((3, 3)), class_weight={1: 2, 0: 0.5})
        validator.validate(document(fit(model, X_SQUARE, Y_SQUARE), tmp_path / "model.json"))

    def test_the_parameters_are_those_of_the_learners(self):
        defined = schema()["$defs"]
        for learner in SETTINGS:
            listed = defined[learner.__name__]["properties"]["parameters"]
            if "$ref" in listed:
                listed = defined[listed["$ref"].rpartition("/")[2]]
            # Where a fit wrote its checkpoints is nobody's business.
            assert set(listed["required"]) == set(learner().get_params()) - {"checkpoint"}
            assert set(listed["properties"]) == set(listed["required"])

    @pytest.mark.parametrize(
        ("which", "path", "value"),
        [
            (which, path, value)
            for which, path, value, message in WRONG
            # What a schema cannot say: that one field fits another.
            if not any(
                words in message
                for words in (
                    "array of", "one of classes", "one length", "as the first", "greater than",
                    "inside must be text", "not there before", "zero", "must be a power",
                    "must give", "features", "preorder", "no must be", "counts must be weights",
                    "date", "labels must be two", r"stream\.U", r"stream\.W", r"inside\[0\]",
                    r"exponent must be a whole",
                )
            )
        ],
    )  # fmt: skip
    def test_it_refuses_what_reading_refuses(self, documents, which, path, value, validator):
        assert not validator.is_valid(changed(documents[which], path, value))


# --- whole or not there -----------------------------------------------------------------

KILLED = """
import os, random, signal, sys, time
from pathlib import Path
from polyceptron.utils.atomic import write_bytes
from polyceptron.model_file import load_model, save_model
path, *others = map(Path, sys.argv[1:])
models, texts = [load_model(one) for one in others], [one.read_bytes() for one in others]
for k in range(100):
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
FULL = """
import resource, signal, sys
from pathlib import Path
from polyceptron.utils.atomic import write_bytes, write_text
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for write, data in ((write_bytes, b"x" * 100_001), (write_text, "x" * 100_001)):
    try:
        write(Path(sys.argv[1]), data)
    except OSError as error:
        print(error.errno)
"""


def run(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.skipif(sys.platform == "win32", reason="signals and limits are those of Unix")
class TestWholeOrNotThere:
    def test_a_kill_leaves_a_whole_file(self, tmp_path):
        """100 times at random moments of a process that does nothing but save two models."""
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

    def test_a_full_disk_leaves_the_old_file(self, tmp_path):
        path = tmp_path / "model.json"
        path.write_bytes(b"old")
        with run(FULL, path) as process:
            assert process.stdout.read().split() == ["27", "27"]  # EFBIG
        assert path.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [path]

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

    def test_a_folder_that_cannot_be_synced_is_no_error(self, tmp_path, monkeypatch):
        sync = os.fsync
        calls = []

        def only_files(handle):
            calls.append(os.fstat(handle).st_mode)
            if os.path.isdir(f"/proc/self/fd/{handle}"):  # noqa: PTH112
                raise OSError(22, "Invalid argument")
            sync(handle)

        monkeypatch.setattr(os, "fsync", only_files)
        atomic.write_bytes(tmp_path / "a", b"new")
        assert (tmp_path / "a").read_bytes() == b"new"
        assert len(calls) == 2  # the file and the folder

    def test_threads_that_save_at_once(self, tmp_path):
        models = [fit(quick(SPLA1, random_state=seed), X_SQUARE, Y_SQUARE) for seed in range(3)]
        path = tmp_path / "model.json"

        def save(model):
            for _ in range(20):
                save_model(model, path)
                load_model(path)

        threads = [threading.Thread(target=save, args=(model,)) for model in models]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert list(tmp_path.iterdir()) == [path]
        load_model(path)

    def test_permissions_stay_as_they_are(self, tmp_path):
        path = tmp_path / "model.json"
        before = os.umask(0o027)
        try:
            atomic.write_bytes(path, b"new")
            assert path.stat().st_mode & 0o777 == 0o640
            path.chmod(0o600)
            atomic.write_bytes(path, b"newer")
            assert path.stat().st_mode & 0o777 == 0o600
            atomic.write_text(path, "text")
            assert path.stat().st_mode & 0o777 == 0o644
        finally:
            os.umask(before)

    def test_links_are_followed(self, tmp_path):
        model = fit(quick(SPLA1), X_SQUARE, Y_SQUARE)
        (tmp_path / "real").mkdir()
        (tmp_path / "link.json").symlink_to(tmp_path / "real" / "model.json")
        save_model(model, tmp_path / "link.json")
        assert (tmp_path / "link.json").is_symlink()
        assert [path.name for path in (tmp_path / "real").iterdir()] == ["model.json"]

    def test_the_longest_name_that_there_can_be(self, tmp_path):
        atomic.write_bytes(tmp_path / ("n" * 255), b"new")
        assert (tmp_path / ("n" * 255)).read_bytes() == b"new"

    @pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
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

    def test_errors_name_the_file_that_was_asked_for(self, tmp_path):
        for path in (tmp_path / "no" / "model.json", tmp_path):
            with pytest.raises(OSError, match=re.escape(repr(str(path)))) as error:
                atomic.write_bytes(path, b"new")
            assert (error.value.filename, error.value.filename2) == (str(path), None)
        assert not list(tmp_path.iterdir())


# --- scikit-learn's checks --------------------------------------------------------------


def through_a_file(learner):
    """The learner, except that what it learns goes through a file."""

    class Loaded(learner):
        def fit(self, X, y, sample_weight=None):
            return self._learn("fit", X, y, sample_weight=sample_weight)

        def _learn(self, how, *arguments, **options):
            plain = learner()
            plain.__dict__.update(vars(self))
            try:
                getattr(plain, how)(*arguments, **options)
            finally:
                self.__dict__.update(vars(plain))
            loaded = back(plain, os.environ["POLYCEPTRON_TEST_MODEL"])
            own = {*self.get_params(deep=False), "_parent_callback_ctx"}
            for name in set(vars(self)) - own:
                delattr(self, name)
            self.__dict__.update({k: v for k, v in vars(loaded).items() if k not in own})
            return self

    class LoadedStream(Loaded):
        def partial_fit(self, X, y, classes=None, sample_weight=None):
            return self._learn("partial_fit", X, y, classes, sample_weight=sample_weight)

    found = LoadedStream if hasattr(learner, "partial_fit") else Loaded
    found.__name__ = found.__qualname__ = f"Loaded{learner.__name__}"
    return found


LOADED = {learner: through_a_file(learner) for learner in SETTINGS}
globals().update({one.__name__: one for one in LOADED.values()})  # where pickle finds them
QUICK = {
    Polyceptron: {"n_hyperplanes": 2, "margin": 20, "penalty": None, "n_init": 2, "max_iter": 20}
}
ROWS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
EXPECTED = {
    OC1: ["check_class_weight_classifiers"],
    OnlinePolyceptron: ROWS,
    Polyceptron: ROWS,
}


def expected_failures(estimator):
    expected = {name for one in type(estimator).__mro__ for name in EXPECTED.get(one, ())}
    return dict.fromkeys(expected, "as without a file; the learner's own test says why")


@pytest.fixture
def _model_path(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYCEPTRON_TEST_MODEL", str(tmp_path / "model.json"))
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@pytest.mark.usefixtures("_model_path")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [loaded(**QUICK.get(learner, {})) for learner, loaded in LOADED.items()],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks_of_loaded_models(estimator, check):
    check(estimator)


def test_a_table_with_text_is_answered(tmp_path):
    frame = pd.DataFrame({"colour": ["red", "blue"] * 20, "age": range(40), "extra": "x"})
    y = np.where(frame["age"] + 10 * (frame["colour"] == "red") > 20, "old", "young")
    encoding = Encoding.learn(frame[["colour", "age"]])
    X = pd.DataFrame(encoding.transform(frame), columns=encoding.feature_names)
    model = fit(quick(SPLA1), X, y)
    save_model(model, tmp_path / "model.json", encoding=encoding)
    loaded = read_model(tmp_path / "model.json")
    assert loaded.predict(frame[::-1]).tolist() == model.predict(X)[::-1].tolist()
    save_model(model, tmp_path / "model.json")
    assert read_model(tmp_path / "model.json").predict(X).tolist() == model.predict(X).tolist()
