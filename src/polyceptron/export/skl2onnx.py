"""The learners inside a scikit-learn pipeline, converted by skl2onnx."""

from __future__ import annotations

from typing import Any

from polyceptron.export._shared import need
from polyceptron.export.onnx import DOUBLE, OPSET, Graph, label_array, score_shape
from polyceptron.rule import as_rule


def register_skl2onnx() -> None:
    """Teach skl2onnx every learner of this library; once is enough.

    ``skl2onnx.to_onnx`` and ``convert_sklearn`` then convert the learners and the pipelines that
    end in them. The outputs are ``label`` and ``score``: the `decision_function`, or the
    `predict_proba` of `OC1`, in double precision. Give the input as ``DoubleTensorType``, or
    double arrays: with single precision the steps before round, and answers near faces change.

    Examples
    --------
    >>> import numpy as np
    >>> from skl2onnx import to_onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from polyceptron import BatchPolyceptron
    >>> from polyceptron.datasets import make_dataset1
    >>> from polyceptron.export import register_skl2onnx
    >>> X, y = make_dataset1(random_state=0, return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), BatchPolyceptron(3, random_state=0)).fit(X, y)
    >>> register_skl2onnx()
    >>> model = to_onnx(pipeline, X[:1])
    >>> [output.name for output in model.graph.output]
    ['label', 'score']
    """
    skl2onnx = need("skl2onnx", "register_skl2onnx")
    from polyceptron import learners

    for name in learners.__all__:
        skl2onnx.update_registered_converter(
            getattr(learners, name), f"Polyceptron{name}", _shapes, _convert, parser=_parse
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
    rule = as_rule(operator.raw_operator)
    # Of the two forms that operations had since, the one that the rest of the model has.
    opset = 18 if container.target_opset >= 18 else OPSET
    graph = Graph(scope.get_unique_variable_name("polyceptron") + "_", opset)
    doubles = [graph.add("Cast", [one.full_name], to=DOUBLE) for one in operator.inputs]
    rows = graph.add("Concat", doubles, axis=1)
    place, score = graph.answer(rows, rule)
    if rule.inside_place == 0:  # the decision function is positive for the second class
        score = graph.add("Neg", [score])
    labels = graph.constant(label_array(rule.labels))
    outputs = [output.full_name for output in operator.outputs]
    graph.add("Gather", [labels, place], outputs=[outputs[0]], axis=0)
    graph.add("Identity", [score], outputs=[outputs[1]])
    _pour(graph, scope, container)


def _pour(graph: Graph, scope: Any, container: Any) -> None:
    types = need("onnx", "register_skl2onnx").TensorProto
    kinds = {"f": types.DOUBLE, "i": types.INT64, "O": types.STRING}
    for name, array in graph.constants.items():
        kind = kinds[array.dtype.kind]
        values = [v.encode("utf-8") if kind == types.STRING else v for v in array.ravel().tolist()]
        container.add_initializer(name, kind, list(array.shape), values)
    for node in graph.nodes:
        name = scope.get_unique_operator_name(node.op)
        container.add_node(
            node.op, node.inputs, node.outputs, op_version=graph.opset, name=name, **node.attributes
        )
