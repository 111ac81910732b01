"""The learners inside a scikit-learn pipeline, converted by skl2onnx."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyceptron.export._shared import need
from polyceptron.export.onnx import DOUBLE, OPSET, Graph, label_array
from polyceptron.learners.oc1.tree import LEAF, Tree


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
    is_text = label_array(model.classes_.tolist()).dtype == object
    label = types.StringTensorType() if is_text else types.Int64TensorType()
    operator.outputs.append(scope.declare_local_variable("label", label))
    operator.outputs.append(scope.declare_local_variable("score", types.DoubleTensorType()))
    return operator.outputs


def _shapes(operator: Any) -> None:
    model, rows = operator.raw_operator, operator.inputs[0].get_first_dimension()
    one_score = hasattr(model, "polyhedron_")
    operator.outputs[0].type.shape = [rows]
    operator.outputs[1].type.shape = [rows] if one_score else [rows, len(model.classes_)]


def _convert(scope: Any, operator: Any, container: Any) -> None:
    model = operator.raw_operator
    # Of the two forms that operations had since, the one that the rest of the model has.
    opset = 18 if container.target_opset >= 18 else OPSET
    graph = Graph(scope.get_unique_variable_name("polyceptron") + "_", opset)
    doubles = [graph.add("Cast", [one.full_name], to=DOUBLE) for one in operator.inputs]
    rows = graph.add("Concat", doubles, axis=1)
    if hasattr(model, "polyhedron_"):
        place, score = _two_classes(graph, rows, model)
    elif hasattr(model, "tree_"):
        place, score = _tree(graph, rows, model.tree_)
    else:
        place, score = _more_classes(graph, rows, model)
    labels = graph.constant(label_array(model.classes_.tolist()))
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


def _two_classes(graph: Graph, rows: str, model: Any) -> tuple[str, str]:
    """The place of the label, and the decision function."""
    h = graph.least_margin(rows, model.polyhedron_)
    place = graph.is_inside(h)
    if model._inside == 1:
        return place, h
    flipped = graph.add("Sub", [graph.constant(np.int64(1)), place])
    return flipped, graph.add("Neg", [h])


def _more_classes(graph: Graph, rows: str, model: Any) -> tuple[str, str]:
    """The class with the greatest log-odds by its own polyhedron."""
    one = graph.constant(1.0)
    odds = []
    for estimator in model.estimators_:
        p = _probability(graph, rows, estimator)
        against = graph.add("Log", [graph.add("Sub", [one, p])])
        odds.append(graph.add("Sub", [graph.add("Log", [p]), against]))
    score = graph.add("Concat", odds, axis=1)
    return graph.add("ArgMax", [score], axis=1, keepdims=0), score


def _probability(graph: Graph, rows: str, model: Any) -> str:
    h = graph.least_margin(rows, model.polyhedron_, keepdims=1)
    size = graph.add("Abs", [h])
    link = model.rule_.links[model.rule_.inside_place]
    half, rest = divmod(int(link.exponent), 2)
    for exponent in (half, half + rest):  # in two steps, as one may be beyond a double
        size = graph.add("Mul", [size, graph.constant(np.ldexp(1.0, exponent))])
    right = [_right(graph, size, side) for side in (link.outside, link.inside)]
    outside = graph.add("Sub", [graph.constant(1.0), right[0]])
    inside = graph.add("GreaterOrEqual", [h, graph.constant(0.0)])
    return graph.add("Where", [inside, right[1], outside])


def _right(graph: Graph, size: str, side: Any) -> str:
    """1/2 + (1/2 - lapse) tanh(slope |h| / 2), as in `calibration.Side`."""
    tanh = graph.add("Tanh", [graph.add("Mul", [size, graph.constant(0.5 * side.slope)])])
    share = graph.add("Mul", [tanh, graph.constant(0.5 - side.lapse)])
    return graph.add("Add", [share, graph.constant(0.5)])


def _tree(graph: Graph, rows: str, tree: Tree) -> tuple[str, str]:
    """The heaviest class of the leaf that a row comes to, and the shares of its classes.

    All tests are made at once. Of a leaf, count the tests on its way that a row passes as it
    should, and take off those that it should not pass: only its own leaf gets the full number.
    """
    inner, leaves = np.flatnonzero(~tree.is_leaf), np.flatnonzero(tree.is_leaf)
    W, b = (tree.W[inner], tree.b[inner]) if inner.size else (tree.W[:1], tree.b[:1])
    path = _paths(tree)[np.ix_(leaves, inner)] if inner.size else np.zeros((1, 1))
    passed = graph.add("GreaterOrEqual", [graph.margins(rows, W, b), graph.constant(0.0)])
    counts = graph.margins(
        graph.add("Cast", [passed], to=DOUBLE), path, -(path > 0).sum(axis=1).astype(float)
    )
    leaf = graph.add("ArgMax", [counts], axis=1, keepdims=0)
    shares = tree.counts[leaves] / tree.counts[leaves].sum(axis=1, keepdims=True)
    place = graph.add("Gather", [graph.constant(tree.labels[leaves]), leaf], axis=0)
    return place, graph.add("Gather", [graph.constant(shares), leaf], axis=0)


def _paths(tree: Tree) -> Any:
    """For every node, +1 at the tests above it that are to be passed, -1 at those that are not."""
    paths = np.zeros((len(tree.b), len(tree.b)))
    for node in range(len(tree.b)):
        for child, sign in ((tree.yes[node], 1.0), (tree.no[node], -1.0)):
            if child != LEAF:
                paths[child] = paths[node]
                paths[child, node] = sign
    return paths
