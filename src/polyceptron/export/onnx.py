"""ONNX: models in double precision for onnxruntime and others, and a part of those of skl2onnx."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyceptron.calibration import Calibration, Side
from polyceptron.export._shared import ExportError, labelled, made_by, refuse_unwritable
from polyceptron.polyhedron import Polyhedron
from polyceptron.rule import Rule, as_rule
from polyceptron.utils.lazy import need

OPSET = 13
"""Of January 2021: old enough for most runtimes."""
_AXES_ARE_INPUT = 18
"""From this version on, what to reduce over is an input rather than an attribute."""


def to_onnx(
    polyhedron: Any, *, inside: Any = None, outside: Any = None, name: str = "polyceptron"
) -> bytes:
    """Return an ONNX model of a polyhedron or a rule, serialised.

    Its input ``X`` are rows of doubles, one a feature; the names and their order are in the
    model's metadata as JSON, under "feature_names". Its outputs are ``label``, of text or 64-bit
    integers as the labels are, and ``score``: the least margin of each row in the best of the
    polyhedra, the shares of the classes in its leaf of a tree, or, where the most probable of
    several classes is the answer, their log-odds.

    Parameters
    ----------
    polyhedron, inside, outside : as for `export`
        Only text, whole numbers and bools have a type for labels.
    name : str
        The name of the graph.

    Notes
    -----
    A row that is nearer to a face than rounding, some 1e-15 of its terms, may come out on the other
    side: runtimes multiply in an order of their own. Rows with NaN or infinity are outside.

    Examples
    --------
    >>> from polyceptron import Polyhedron
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(to_onnx(Polyhedron([[1, -2]], [0.5])))
    >>> session.run(None, {"X": [[3.0, 1.0], [1.5, 2.0]]})
    [array(['1', '0'], dtype=object), array([ 1.5, -2. ])]
    """
    found = labelled(polyhedron, inside, outside)
    refuse_unwritable(name, "name")
    onnx = need("onnx", "to_onnx", "onnx")
    graph, labels = Graph(), label_array(found.labels)
    place, score = graph.answer("X", found.rule)
    graph.add("Identity", [score], outputs=["score"])
    graph.add("Gather", [graph.constant(labels), place], outputs=["label"], axis=0)
    helper, types = onnx.helper, onnx.TensorProto
    label_type = types.STRING if labels.dtype == object else types.INT64
    made = helper.make_graph(
        [helper.make_node(*node, **attributes) for *node, attributes in graph.nodes],
        name,
        [helper.make_tensor_value_info("X", types.DOUBLE, ["rows", found.rule.n_features])],
        [
            helper.make_tensor_value_info("label", label_type, ["rows"]),
            helper.make_tensor_value_info("score", types.DOUBLE, score_shape("rows", found.rule)),
        ],
    )
    model = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=8,
        producer_name="polyceptron",
        doc_string=made_by(),
    )
    helper.set_model_props(model, {"feature_names": json.dumps(found.rule.names)})
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())


def score_shape(rows: Any, rule: Rule) -> list[Any]:
    """The shape of the scores that `Graph.answer` gives: a number a row, or one a class."""
    by_class = rule.is_most_probable or bool(rule.pieces[0].shares)
    return [rows, len(rule.classes)] if by_class else [rows]


def label_array(labels: Sequence[Any]) -> NDArray[Any]:
    """Return labels as ONNX has them: 64-bit integers, or text as objects."""
    if all(isinstance(label, str) for label in labels):
        for label in labels:
            refuse_unwritable(label, "label")
        return np.array(labels, dtype=object)
    whole = [int(label) for label in labels if label == int(label)]
    if len(whole) < len(labels) or max(map(abs, whole)) >= 2**63:
        raise ExportError(
            f"labels must be text or whole numbers of 64 bits in ONNX; got {labels!r:.60}"
        )
    return np.array(whole, dtype=np.int64)


class Graph:
    """Operations, whose names have a prefix: a model may have several graphs."""

    def __init__(self, prefix: str = "", opset: int = OPSET) -> None:
        self.prefix, self.opset = prefix, opset
        # Operations: name, inputs, outputs, attributes.
        self.nodes: list[tuple[str, list[str], list[str], dict[str, Any]]] = []
        self._as_tensor = need("onnx.numpy_helper", "to_onnx", "onnx").from_array

    def constant(self, value: Any) -> str:
        """Add an array and return its name."""
        return self.add("Constant", [], value=self._as_tensor(np.asarray(value)))

    def add(self, op: str, inputs: list[str], outputs: list[str] | None = None, **kw: Any) -> str:
        """Add an operation and return the name of its first output."""
        outputs = outputs or [f"{self.prefix}{op}{len(self.nodes)}"]
        self.nodes.append((op, inputs, outputs, kw))
        return outputs[0]

    def reduced(self, op: str, values: str, keepdims: int = 0) -> str:
        """The least or the greatest of every row."""
        if self.opset < _AXES_ARE_INPUT:
            return self.add(op, [values], axes=[1], keepdims=keepdims)
        return self.add(op, [values, self.constant(np.array([1]))], keepdims=keepdims)

    def union(self, rows: str, polyhedra: Iterable[Polyhedron], keepdims: int = 0) -> str:
        """The greatest h(x) over some polyhedra; minus infinity without any."""
        scores = []
        for one in polyhedra:
            product = self.add("MatMul", [rows, self.constant(np.ascontiguousarray(one.W.T))])
            margins = self.add("Add", [product, self.constant(one.b)])
            scores.append(self.reduced("ReduceMin", margins, keepdims))
        if not scores:
            zero = self.add("Mul", [rows, self.constant(0.0)])
            nowhere = self.reduced("ReduceMin", zero, keepdims)
            return self.add("Add", [nowhere, self.constant(-np.inf)])
        return scores[0] if len(scores) == 1 else self.add("Max", scores)

    def inside(self, score: str) -> str:
        """Whether a score is not below zero."""
        return self.add("GreaterOrEqual", [score, self.constant(0.0)])

    def answer(self, rows: str, rule: Rule) -> tuple[str, str]:
        """The place of the label of every row, and what `to_onnx` says the score is."""
        # Infinity times zero is NaN: rows that are not finite are inside of nothing.
        rows = self.add("Add", [rows, self.add("Mul", [rows, self.constant(0.0)])])
        if rule.is_most_probable:
            return self._most_probable(rows, rule)
        parts = [piece.polyhedron for piece in rule.pieces]
        places = [np.int64(piece.place) for piece in rule.pieces]
        if rule.inside_place is not None:
            score = self.union(rows, parts)
            return self._or_otherwise(score, self.constant(places[0]), rule), score
        scores = self.add("Concat", [self.union(rows, [one], 1) for one in parts], axis=1)
        # The first piece that contains the row, or else the nearest.
        ranks = self.add("Where", [self.inside(scores), self.constant(np.inf), scores])
        piece = self.add("ArgMax", [ranks], axis=1, keepdims=0)
        place = self.add("Gather", [self.constant(np.array(places)), piece], axis=0)
        best = self.reduced("ReduceMax", scores)
        if rule.otherwise is not None:
            place = self._or_otherwise(best, place, rule)
        shares = np.array([one.shares for one in rule.pieces])
        if not shares.size:
            return place, best
        return place, self.add("Gather", [self.constant(shares), piece], axis=0)

    def _or_otherwise(self, score: str, place: str, rule: Rule) -> str:
        other = self.constant(np.array(rule.otherwise, dtype=np.int64))
        return self.add("Where", [self.inside(score), place, other])

    def _most_probable(self, rows: str, rule: Rule) -> tuple[str, str]:
        """The class with the greatest log-odds by its own polyhedra."""
        odds = []
        for label, link in zip(rule.labels, rule.links, strict=True):
            h = self.union(rows, rule.polyhedra.get(label, ()), keepdims=1)
            odds.append(self._log_odds(h, link) if isinstance(link, Calibration) else h)
        score = self.add("Concat", odds, axis=1)
        return self.add("ArgMax", [score], axis=1, keepdims=0), score

    def _log_odds(self, h: str, link: Calibration) -> str:
        size, one = self.add("Abs", [h]), self.constant(1.0)
        half, rest = divmod(int(link.exponent), 2)
        for exponent in (half, half + rest):  # in two steps, as one may be beyond a double
            size = self.add("Mul", [size, self.constant(np.ldexp(1.0, exponent))])
        outside, inside = (self._right(size, side) for side in (link.outside, link.inside))
        p = self.add("Where", [self.inside(h), inside, self.add("Sub", [one, outside])])
        against = self.add("Log", [self.add("Sub", [one, p])])
        return self.add("Sub", [self.add("Log", [p]), against])

    def _right(self, size: str, side: Side) -> str:
        """1/2 + (1/2 - lapse) tanh(slope |h| / 2), as in `Side.right`."""
        tanh = self.add("Tanh", [self.add("Mul", [size, self.constant(0.5 * side.slope)])])
        share = self.add("Mul", [tanh, self.constant(0.5 - side.lapse)])
        return self.add("Add", [share, self.constant(0.5)])


def register_skl2onnx() -> None:
    """Teach skl2onnx every learner of this library, and pipelines that end in them; once is enough.

    The outputs are ``label`` and ``score``: the `decision_function`, or the `predict_proba` of
    `OC1`, in double precision. Give the input as ``DoubleTensorType``, or double arrays: with
    single precision the steps before round, and answers near faces change.

    Examples
    --------
    >>> import skl2onnx
    >>> from polyceptron import BatchPolyceptron
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = BatchPolyceptron(1, random_state=0).fit(X, [0, 0, 1, 1])
    >>> register_skl2onnx()
    >>> [output.name for output in skl2onnx.to_onnx(model, X[:1]).graph.output]
    ['label', 'score']
    """
    skl2onnx = need("skl2onnx", "register_skl2onnx")
    from polyceptron.learners import registry

    for learner in map(registry.find_learner, registry.learner_names()):
        skl2onnx.update_registered_converter(
            learner, f"Polyceptron{learner.__name__}", _shapes, _convert, parser=_parse
        )


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:  # noqa: ARG001
    types = need("skl2onnx.common.data_types", "register_skl2onnx")
    operator = scope.declare_local_operator(f"Polyceptron{type(model).__name__}", model)
    operator.inputs = inputs
    is_text = label_array(as_rule(model).labels).dtype == object
    label = types.StringTensorType() if is_text else types.Int64TensorType()
    operator.outputs.append(scope.declare_local_variable("label", label))
    operator.outputs.append(scope.declare_local_variable("score", types.DoubleTensorType()))
    return operator.outputs


def _shapes(operator: Any) -> None:
    rows = operator.inputs[0].get_first_dimension()
    operator.outputs[0].type.shape = [rows]
    operator.outputs[1].type.shape = score_shape(rows, as_rule(operator.raw_operator))


def _convert(scope: Any, operator: Any, container: Any) -> None:
    types = need("onnx", "register_skl2onnx").TensorProto
    rule = as_rule(operator.raw_operator)
    # Of the two forms that operations had since, the one that the rest of the model has.
    opset = _AXES_ARE_INPUT if container.target_opset >= _AXES_ARE_INPUT else OPSET
    graph = Graph(scope.get_unique_variable_name("polyceptron") + "_", opset)
    doubles = [graph.add("Cast", [one.full_name], to=types.DOUBLE) for one in operator.inputs]
    place, score = graph.answer(graph.add("Concat", doubles, axis=1), rule)
    if rule.inside_place == 0:  # the decision function is positive for the second class
        score = graph.add("Neg", [score])
    labels = graph.constant(label_array(rule.labels))
    outputs = [output.full_name for output in operator.outputs]
    graph.add("Gather", [labels, place], outputs=[outputs[0]], axis=0)
    graph.add("Identity", [score], outputs=[outputs[1]])
    for op, inputs, outputs, attributes in graph.nodes:
        name = scope.get_unique_operator_name(op)
        container.add_node(op, inputs, outputs, op_version=opset, name=name, **attributes)
