"""Losses of classifiers, as element-wise work and reductions: the label is compared with every class."""

import math
from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of, reshape, shape_of


def _hits(node: Node, labels: Any, shape: list[int]) -> Any:
    """i1 of the scores' shape (N, C, d...): whether the class is the label; false everywhere for ignored labels."""
    if shape_of(labels) != [shape[0], *shape[2:]]:
        raise node.error(f"labels of shape {shape_of(labels)} do not fit scores of shape {shape}")
    spread = reshape(labels, [shape[0], 1, *shape[2:]])
    classes = np.arange(shape[1]).reshape(1, shape[1], *[1] * (len(shape) - 2))
    hits = graph.Equal.build(spread, constant(classes, like=labels)).result
    ignored = node.attribute("ignore_index")
    if ignored is None or not 0 <= ignored < shape[1]:
        return hits  # labels outside the classes hit none of them
    kept = constant(classes != ignored)
    return graph.And.build(hits, kept).result


def _loss(node: Node, log_probabilities: Any) -> Any:
    """Minus the weighted log probability of the label, reduced as the node says."""
    shape = shape_of(log_probabilities)
    reduction = node.attribute("reduction", "mean")
    if reduction not in ("none", "sum", "mean"):
        raise node.error(f"reduction '{reduction}' is unknown", hint="use none, sum or mean")
    hits = _hits(node, node.operand(1), shape)
    zero = constant(0, like=log_probabilities)
    weighs = node.has(2) or node.attribute("ignore_index") is not None
    weight = reshape(node.operand(2), [1, shape[1], *[1] * (len(shape) - 2)]) if node.has(2) else None
    picked = log_probabilities if weight is None else graph.Mul.build(log_probabilities, weight).result
    picked = graph.Where.build(hits, picked, zero).result
    axes = [1] if reduction == "none" else list(range(len(shape)))
    total = graph.Reduce.build(picked, kind="sum", axes=axes, keepdims=False).result
    if reduction != "mean":
        return graph.Neg.build(total).result
    if not weighs:
        return graph.Mul.build(total, constant(-1.0 / (math.prod(shape) // shape[1]), like=total)).result
    used = cast(hits, element_type_of(zero)) if weight is None else graph.Where.build(hits, weight, zero).result
    mass = graph.Reduce.build(used, kind="sum", axes=axes, keepdims=False).result
    return graph.Neg.build(graph.Div.build(total, mass).result).result


def negative_log_likelihood(node: Node) -> Any:
    """NegativeLogLikelihoodLoss."""
    return _loss(node, node.operand(0))


def softmax_cross_entropy(node: Node) -> Any:
    """SoftmaxCrossEntropyLoss; its second output are the log probabilities."""
    log_probabilities = graph.LogSoftmax.build(node.operand(0), axis=1).result
    return [_loss(node, log_probabilities), log_probabilities]
