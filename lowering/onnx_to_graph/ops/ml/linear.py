"""LinearRegressor and LinearClassifier of ai.onnx.ml: ``x @ coefficients.T + intercepts``."""

from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, constant, shape_of
from mnc.lowering.onnx_to_graph.ops.ml.features import matrix
from mnc.lowering.onnx_to_graph.ops.ml.scores import (
    above,
    best,
    class_labels,
    post_transform,
    transformed,
    with_opposite,
)


def affine(node: Node, x: Any, targets: int) -> Any:
    """Scores [N, targets] of rows [N, C]; the attribute has the coefficients of one target after those of another."""
    coefficients = np.array(node.attribute("coefficients", []))
    features = shape_of(x)[1]
    if targets < 1 or coefficients.size != targets * features:
        message = f"has {coefficients.size} coefficients for {features} features and {targets} targets"
        raise node.error(message, hint="it has one for each feature and target")
    weights = constant(coefficients.reshape(targets, features).T, like=x)
    scores = graph.MatMul.build(x, weights).result
    intercepts = np.array(node.attribute("intercepts", []))
    if not intercepts.size:
        return scores
    if intercepts.size not in (1, targets):
        raise node.error(f"has {intercepts.size} intercepts for {targets} targets", hint="give one for each")
    return graph.Add.build(scores, constant(intercepts, like=x)).result


def linear_regressor(node: Node) -> Any:
    """LinearRegressor: [N, C] to [N, targets], float32."""
    name = post_transform(node)
    return transformed(affine(node, matrix(node), int(node.attribute("targets", 1))), name)


def linear_classifier(node: Node) -> list[Any]:
    """LinearClassifier: [N, C] to labels [N] (int64) and scores [N, classes] (float32)."""
    name, labels = post_transform(node), class_labels(node, "classlabels_ints")
    x = matrix(node)
    scores = affine(node, x, len(node.attribute("coefficients", [])) // max(shape_of(x)[1], 1))
    count = shape_of(scores)[1]
    if count == 1 and len(labels) == 2:
        scores, count = with_opposite(scores), 2
    result = transformed(scores, name)
    if count == 1:
        # One score and at most one label: the class is there, or it is not.
        return [above(result, 0.0 if name == "NONE" else 0.5, int(labels[0]) if labels.size else 1, 0), result]
    if len(labels) not in (0, count):
        raise node.error(f"has {len(labels)} labels for {count} scores", hint="give one for each")
    # The other transforms keep the order of scores, and may round them to equal ones.
    ordered = result if name == "SOFTMAX_ZERO" else scores
    return [best(ordered, labels if labels.size else np.arange(count)), result]
