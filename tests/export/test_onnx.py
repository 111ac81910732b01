"""ONNX: onnxruntime gives the answers of the polyhedron, alone and inside pipelines."""

import itertools
import json

import numpy as np
import onnx
import onnxruntime
import pytest
import skl2onnx
from hypothesis import given, settings
from hypothesis import strategies as st
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from common import SETTINGS, fit, quick, square
from export_cases import HOSTILE, UNWRITABLE, accepted, polyhedron, rows
from polyceptron import OC1, OnlinePolyceptron, Polyceptron, Polyhedron
from polyceptron.export import ExportError, register_skl2onnx, to_onnx
from polyceptron.learners.registry import register, unregister


def run(model, X):
    data = model if isinstance(model, bytes) else model.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return session.run(["label", "score"], {session.get_inputs()[0].name: X})


@pytest.mark.parametrize("labels", [("in", "out"), (1, 0), (True, False), (-5.0, 2**40)])
def test_answers_of_ten_thousand_rows(labels):
    P, X = polyhedron(), rows()
    label, score = run(to_onnx(P, inside=labels[0], outside=labels[1]), X)
    np.testing.assert_allclose(score, P.decision(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(label, np.where(P.contains(X), *labels))
    assert score.dtype == np.float64


def test_rows_that_are_not_finite_are_outside():
    X = np.array(list(itertools.product([0.5, np.inf, -np.inf, np.nan], repeat=3)))
    wrong = ~np.isfinite(X).all(axis=1)
    for faces in (np.eye(3), -np.eye(3), [[1.0, -2.0, 0.5]], [[0.0, 1.0, 0.0]]):
        P = Polyhedron(faces, np.full(len(faces), 9.0))
        label, _ = run(to_onnx(P, inside="in", outside="out"), X)
        assert (label == "in").tolist() == (~wrong).tolist()


def test_no_row_and_one_face():
    label, score = run(to_onnx(Polyhedron([[1.0, 2.0]], [0.0])), np.empty((0, 2)))
    assert (label.shape, score.shape) == ((0,), (0,))


def test_hostile_names_and_labels():
    names, refused = accepted(HOSTILE, to_onnx)
    assert refused == []
    P, X = polyhedron(names), rows(len(names))
    model = to_onnx(P, inside=HOSTILE[0], outside=HOSTILE[-1], name=HOSTILE[1])
    label, _ = run(model, X)
    np.testing.assert_array_equal(label == HOSTILE[0], P.contains(X))
    (entry,) = onnx.load_from_string(model).metadata_props
    assert entry.key == "feature_names"
    assert json.loads(entry.value) == names
    for text in HOSTILE:
        label, _ = run(to_onnx(Polyhedron([[1.0]], [0.0]), inside=text, outside="no"), [[1.0]])
        assert label.tolist() == [text]
    for text in UNWRITABLE:
        with pytest.raises(ExportError):
            to_onnx(Polyhedron([[1.0]], [0.0]), inside=text, outside="no")


@pytest.mark.parametrize("labels", [(0.5, 0), (2**70, 0)])
def test_labels_without_a_type_are_refused(labels):
    with pytest.raises(ExportError, match="labels must be text or whole numbers"):
        to_onnx(Polyhedron([[1.0]], [0.0]), inside=labels[0], outside=labels[1])


@settings(max_examples=20)
@given(st.data())
def test_numbers_come_back_to_the_last_bit(data):
    floats = st.floats(allow_nan=False, allow_infinity=False)
    d = data.draw(st.integers(1, 3))
    vectors = st.lists(floats, min_size=d, max_size=d).filter(any)
    W = np.array(data.draw(st.lists(vectors, min_size=1, max_size=3)))
    b = np.array(data.draw(st.lists(floats, min_size=len(W), max_size=len(W))))
    model = onnx.load_from_string(to_onnx(Polyhedron(W, b)))
    constants = [node.attribute[0].t for node in model.graph.node if node.op_type == "Constant"]
    _, stored_W, stored_b, *_ = map(onnx.numpy_helper.to_array, constants)
    assert stored_W.T.tobytes() == np.ascontiguousarray(W).tobytes()
    assert stored_b.tobytes() == b.tobytes()


# --- inside pipelines -------------------------------------------------------------------


def check(model, X, opset=None):
    """The label of 10,000 rows through skl2onnx is that of scikit-learn."""
    register_skl2onnx()
    kinds = [("X", DoubleTensorType([None, 2]))]
    made = skl2onnx.convert_sklearn(model, initial_types=kinds, target_opset=opset)
    label, score = run(made, X)
    np.testing.assert_array_equal(label, model.predict(X))
    expected = (
        model.decision_function(X)
        if hasattr(model, "decision_function")
        else model.predict_proba(X)
    )
    np.testing.assert_allclose(score, expected, rtol=1e-6, atol=1e-9)


X_NEW = np.random.default_rng(5).uniform(-2, 2, (10_000, 2))


@pytest.mark.parametrize("learner", SETTINGS)
def test_every_learner_in_a_pipeline(learner):
    X, y = square(200)
    model = make_pipeline(StandardScaler(), quick(learner))
    check(fit(model, X, np.array(["out", "in"])[y]), X_NEW)


def test_labels_of_other_kinds_and_either_class_inside():
    X, y = square(200)
    check(fit(quick(OC1), X, y == 0), X_NEW)
    for inside in (0, 1):
        check(fit(quick(OnlinePolyceptron, inside=inside), X, y), X_NEW)


@pytest.mark.parametrize("opset", [13, 18, None])
def test_three_classes(opset):
    X, y = square(300)
    y = np.array(["a", "b", "c"])[np.where(X[:, 0] > 1.2, 2, y)]
    model = make_pipeline(MinMaxScaler(), StandardScaler(), quick(Polyceptron))
    check(fit(model, X, y), X_NEW, opset)
    check(fit(quick(OC1), X, y), X_NEW, opset)


def test_a_tree_without_a_test():
    X, y = square(60)
    tree = OC1(max_depth=1, min_samples_split=1000, random_state=0)
    check(fit(tree, X, y), X_NEW)


def test_learners_of_others_are_registered():
    @register("eager")
    class Eager(OnlinePolyceptron):
        """Like its parent."""

    X, y = square(200)
    try:
        check(Eager(1, random_state=0).fit(X, y), X_NEW)
    finally:
        unregister("eager")


def test_rows_in_single_precision_are_taken():
    X, y = square(200)
    model = fit(quick(OnlinePolyceptron), X, y)
    register_skl2onnx()
    made = skl2onnx.convert_sklearn(model, initial_types=[("X", FloatTensorType([None, 2]))])
    label, _ = run(made, X_NEW.astype(np.float32))
    np.testing.assert_array_equal(label, model.predict(X_NEW.astype(np.float32)))
