"""Support vector machines of ai.onnx.ml, as the reference of ONNX computes them."""

from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.ml.features import matrix
from mnc.lowering.onnx_to_graph.ops.ml.kernels import kernel, numbers
from mnc.lowering.onnx_to_graph.ops.ml.pair_probabilities import two_class_probabilities
from mnc.lowering.onnx_to_graph.ops.ml.scores import best, class_labels, post_transform, transformed, with_opposite


def _constant_sum(node: Node, terms: Any, weights: np.ndarray, offsets: np.ndarray) -> Any:
    """``terms @ weights + offsets``: [N, S] to [N, K]."""
    if shape_of(terms)[1] != weights.shape[0]:
        message = f"has coefficients for {weights.shape[0]} numbers, and there are {shape_of(terms)[1]}"
        raise node.error(message, hint="export the model again")
    total = graph.MatMul.build(terms, constant(weights, like=terms)).result
    return graph.Add.build(total, constant(offsets, like=terms)).result


def _offsets(node: Node, count: int) -> np.ndarray:
    rho = numbers(node, "rho")
    if len(rho) < count:
        raise node.error(f"rho has {len(rho)} numbers, and {count} are needed", hint="export the model again")
    return rho[:count]


def _support_vectors(node: Node, count: int, features: int) -> np.ndarray:
    vectors = numbers(node, "support_vectors")
    if vectors.size != count * features:
        message = f"has {vectors.size} numbers for {count} support vectors of {features} features"
        raise node.error(message, hint="give it as many features as it was trained with")
    return vectors.reshape(count, features)


def svm_regressor(node: Node) -> Any:
    """SVMRegressor: [N, C] to [N, 1], float32; 1 or -1 if `one_class`."""
    name, x = post_transform(node), matrix(node)
    coefficients, count = numbers(node, "coefficients"), int(node.attribute("n_supports", 0))
    terms = kernel(node, x, _support_vectors(node, count, shape_of(x)[1])) if count > 0 else x
    score = _constant_sum(node, terms, coefficients[:, np.newaxis], _offsets(node, 1))
    if node.attribute("one_class", 0):
        inside = graph.Greater.build(score, constant(0, like=score)).result
        return graph.Where.build(inside, constant(1, like=score), constant(-1, like=score)).result
    return transformed(score, name)


def svm_classifier(node: Node) -> list[Any]:
    """SVMClassifier: [N, C] to labels [N] (int64) and scores (float32).

    Scores are [N, K (K - 1) / 2] of pairs of the K classes, or probabilities [N, K]; of two classes always [N, 2].
    """
    name, labels = post_transform(node), class_labels(node, "classlabels_ints")
    if len(labels) < 2:
        raise node.error(f"has {len(labels)} classes", hint="give the labels of all classes in classlabels_ints")
    if not node.attribute("vectors_per_class"):
        return _linear(node, name, labels)
    scores, votes = _pairs(node, len(labels))
    label = best(votes, labels)
    all_positive = numbers(node, "coefficients").min() >= 0
    if node.attribute("prob_a"):
        return [label, transformed(_probabilities(node, scores, len(labels)), name)]
    if len(labels) == 2:
        if all_positive:  # the reference takes a vote, which is 1, for a weight of at least a half
            label = constant(np.full(shape_of(label), labels[1]))
        scores = with_opposite(scores)
    return [label, transformed(scores, name)]


def _linear(node: Node, name: str, labels: np.ndarray) -> list[Any]:
    """One weighted sum of the features per class."""
    x, coefficients = matrix(node), numbers(node, "coefficients")
    if coefficients.size % len(labels):
        message = f"has {coefficients.size} coefficients for {len(labels)} classes"
        raise node.error(message, hint="it has one for each feature and class")
    weights = coefficients.reshape(len(labels), -1).T
    scores = _constant_sum(node, x, weights, np.repeat(_offsets(node, 1), len(labels)))
    is_single = numbers(node, "rho").size == 1
    if is_single and len(labels) != 2:
        hint = "export the model as LinearClassifier, or with a rho for each class"
        raise node.error(f"has one rho for {len(labels)} classes", hint=hint)
    label = best(scores, labels)
    if is_single and coefficients.min() >= 0:
        largest = graph.Reduce.build(scores, kind="max", axes=[1], keepdims=False).result
        is_large = graph.GreaterOrEqual.build(largest, constant(0.5, like=scores)).result
        label = graph.Where.build(is_large, constant(labels[1:]), label).result
    return [label, transformed(scores, name)]


def _pairs(node: Node, count: int) -> tuple[Any, Any]:
    """Scores [N, pairs] of the first class of every pair against the second, and votes [N, K] that each wins."""
    sizes = [int(size) for size in node.attribute("vectors_per_class")]
    if len(sizes) != count:
        raise node.error(f"has vectors of {len(sizes)} classes and {count} labels", hint="export the model again")
    x, total = matrix(node), sum(sizes)
    terms = kernel(node, x, _support_vectors(node, total, shape_of(x)[1]))
    coefficients = numbers(node, "coefficients")
    if coefficients.size != (count - 1) * total:
        message = f"has {coefficients.size} coefficients for {total} vectors of {count} classes"
        raise node.error(message, hint=f"it has {count - 1} for each vector")
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    scores = _constant_sum(node, terms, _pair_weights(coefficients.reshape(-1, total), sizes, pairs),
                           _offsets(node, len(pairs)))  # fmt: skip
    won = cast(graph.Greater.build(scores, constant(0, like=scores)).result, element_type_of(scores))
    change, lost = np.zeros((len(pairs), count)), np.zeros(count)
    for number, (i, j) in enumerate(pairs):
        change[number, i], change[number, j] = 1, -1
        lost[j] += 1
    return scores, _constant_sum(node, won, change, lost)


def _pair_weights(coefficients: np.ndarray, sizes: list[int], pairs: list[tuple[int, int]]) -> np.ndarray:
    """Weights [S, pairs] of the vectors of both classes; a class has coefficients against each of the others."""
    starts = np.cumsum([0, *sizes])
    weights = np.zeros((starts[-1], len(pairs)), np.float32)
    for number, (i, j) in enumerate(pairs):
        own, other = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
        weights[own, number] = coefficients[j - 1, own]
        weights[other, number] = coefficients[i, other]
    return weights


def _probabilities(node: Node, scores: Any, count: int) -> Any:
    """Probabilities [N, 2] from the scores of the only pair."""
    if count > 2:
        message = f"probabilities of {count} classes are found by an iteration whose length depends on the input"
        raise node.error(message, hint="export it with scores, as of SVC(probability=False), or use two classes")
    slope, offset = numbers(node, "prob_a"), numbers(node, "prob_b")
    if not slope.size or not offset.size:
        raise node.error("prob_a and prob_b have different lengths", hint="give one of each for each pair")
    value = graph.Mul.build(scores, constant(-slope[0], like=scores)).result
    first = graph.Sigmoid.build(graph.Sub.build(value, constant(offset[0], like=scores)).result).result
    rows = shape_of(first)[0]
    parts = two_class_probabilities(reshape(first, [rows, 1]))
    return graph.Concat.build(*parts, axis=1).result
