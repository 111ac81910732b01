"""ONNX: a model in double precision that onnxruntime and others run."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyceptron.export._shared import (
    ExportError,
    brief,
    check_labels,
    check_polyhedron,
    features,
    made_by,
    need,
    refuse_unwritable,
)
from polyceptron.polyhedron import Polyhedron

OPSET = 13
"""Of January 2021: old enough for most runtimes."""
_IR_VERSION = 8
_AXES_ARE_INPUT = 18
"""From this version on, what to reduce over is an input rather than an attribute."""


def to_onnx(
    polyhedron: Polyhedron,
    *,
    inside: Any = "1",
    outside: Any = "0",
    name: str = "polyceptron",
) -> bytes:
    """Return an ONNX model of the polyhedron, serialised.

    Its input ``X`` are rows of doubles, one a feature; the names and their order are in the
    model's metadata as JSON, under "feature_names". Its outputs are ``label``, of text or 64-bit
    integers as the labels are, and ``score``, the least margin of each row.

    Parameters
    ----------
    polyhedron : Polyhedron
    inside, outside : bool, int, float or str
        The labels to answer with. Only text, whole numbers and bools have a type for labels.
    name : str
        The name of the graph.

    Returns
    -------
    bytes

    Notes
    -----
    Runtimes multiply matrices in an order of their own: a row that is nearer to a face than
    rounding, some 1e-16 of its terms, may come out on the other side. Rows with NaN are outside.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> from polyceptron.export import to_onnx
    >>> model = to_onnx(Polyhedron([[1, -2]], [0.5]), inside="in", outside="out")
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(model)
    >>> label, score = session.run(None, {"X": [[3.0, 1.0], [1.5, 2.0]]})
    >>> label.tolist(), score.tolist()
    (['in', 'out'], [1.5, -2.0])
    """
    polyhedron = check_polyhedron(polyhedron)
    one, other = check_labels(inside, outside)
    refuse_unwritable(name, "name")
    onnx = need("onnx", "to_onnx", "onnx")
    labels = label_array([other, one])
    graph = Graph()
    score = graph.least_margin("X", polyhedron)
    graph.add("Identity", [score], outputs=["score"])
    graph.add("Gather", [graph.constant(labels), graph.is_inside(score)], outputs=["label"], axis=0)
    return _model(onnx, graph, labels, polyhedron, name)


def _model(
    onnx: Any, graph: Graph, labels: NDArray[Any], polyhedron: Polyhedron, name: str
) -> bytes:
    helper, types = onnx.helper, onnx.TensorProto
    label_type = types.STRING if labels.dtype == object else types.INT64
    made = helper.make_graph(
        [helper.make_node(n.op, n.inputs, n.outputs, **n.attributes) for n in graph.nodes],
        name,
        [helper.make_tensor_value_info("X", types.DOUBLE, ["rows", polyhedron.n_features])],
        [
            helper.make_tensor_value_info("label", label_type, ["rows"]),
            helper.make_tensor_value_info("score", types.DOUBLE, ["rows"]),
        ],
        [onnx.numpy_helper.from_array(array, key) for key, array in graph.constants.items()],
    )
    model = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=_IR_VERSION,
        producer_name="polyceptron",
        doc_string=made_by(),
    )
    helper.set_model_props(model, {"feature_names": json.dumps(features(polyhedron))})
    onnx.checker.check_model(model, full_check=True)
    serialised: bytes = model.SerializeToString()
    return serialised


def label_array(labels: list[Any]) -> NDArray[Any]:
    """Return labels as ONNX has them: 64-bit integers, or text as objects."""
    if all(isinstance(label, str) for label in labels):
        for label in labels:
            refuse_unwritable(label, "label")
        return np.array(labels, dtype=object)
    whole = [int(label) for label in labels if label == int(label)]
    if len(whole) < len(labels) or max(map(abs, whole)) >= 2**63:
        raise ExportError(
            f"labels must be text or whole numbers of 64 bits in ONNX; got {brief(labels)}"
        )
    return np.array(whole, dtype=np.int64)


class Node(NamedTuple):
    """One operation of a graph."""

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]


class Graph:
    """Operations and constants by name, for a model of ours or as a part of another's.

    Parameters
    ----------
    prefix : str
        What the names begin with: a graph may be several times in a model.
    opset : int
        The version of the operations.
    """

    def __init__(self, prefix: str = "", opset: int = OPSET) -> None:
        self.prefix = prefix
        self.opset = opset
        self.nodes: list[Node] = []
        self.constants: dict[str, NDArray[Any]] = {}

    def constant(self, value: Any) -> str:
        """Add an array and return its name."""
        name = f"{self.prefix}constant{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def add(self, op: str, inputs: list[str], outputs: list[str] | None = None, **kw: Any) -> str:
        """Add an operation and return the name of its first output."""
        outputs = outputs or [f"{self.prefix}{op}{len(self.nodes)}"]
        self.nodes.append(Node(op, inputs, outputs, kw))
        return outputs[0]

    def margins(self, rows: str, W: Any, b: Any) -> str:
        """``X @ W.T + b``."""
        product = self.add("MatMul", [rows, self.constant(np.ascontiguousarray(np.asarray(W).T))])
        return self.add("Add", [product, self.constant(b)])

    def least_margin(self, rows: str, polyhedron: Polyhedron, keepdims: int = 0) -> str:
        """h(x) of every row."""
        margins = self.margins(rows, polyhedron.W, polyhedron.b)
        if self.opset < _AXES_ARE_INPUT:
            return self.add("ReduceMin", [margins], axes=[1], keepdims=keepdims)
        return self.add("ReduceMin", [margins, self.constant(np.array([1]))], keepdims=keepdims)

    def is_inside(self, score: str) -> str:
        """1 where a score is not below zero, else 0, as 64-bit integers."""
        inside = self.add("GreaterOrEqual", [score, self.constant(0.0)])
        return self.add("Cast", [inside], to=INT64)


INT64 = 7
DOUBLE = 11
"""Of onnx.TensorProto, which is not loaded here."""
