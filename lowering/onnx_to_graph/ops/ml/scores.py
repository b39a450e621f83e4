"""What operators of ai.onnx.ml do with scores: post-transforms and labels."""

from typing import Any

import numpy as np

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, constant, reshape, shape_of

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_ZERO = 1e-7
"""Scores of this size and less count as zero for SOFTMAX_ZERO, as in the reference of ONNX."""


def post_transform(node: Node) -> str:
    """Name of the node's post-transform, which is text or, in TreeEnsemble, a number."""
    given = node.attribute("post_transform", "NONE")
    name = TRANSFORMS[given] if isinstance(given, int) and 0 <= given < len(TRANSFORMS) else given
    if name == "PROBIT":
        hint = "export the model with another post_transform, and compute the quantiles on the host"
        raise node.error("post_transform PROBIT is not supported", hint=hint)
    if name not in TRANSFORMS:
        raise node.error(f"post_transform is '{name}'", hint=f"it may be {', '.join(TRANSFORMS[:-1])}")
    return name


def transformed(scores: Any, name: str) -> Any:
    """Scores [N, C] after a post-transform."""
    if name == "SOFTMAX":
        return graph.Softmax.build(scores, axis=1).result
    if name == "LOGISTIC":
        return graph.Sigmoid.build(scores).result
    return _softmax_zero(scores) if name == "SOFTMAX_ZERO" else scores


def _softmax_zero(scores: Any) -> Any:
    """Softmax in which a score of zero stays zero; a row without any other becomes a half."""
    largest = graph.Reduce.build(scores, kind="max", axes=[1], keepdims=True).result
    is_zero = graph.LessOrEqual.build(graph.Abs.build(scores).result, constant(_ZERO, like=scores)).result
    below = graph.Exp.build(graph.Sub.build(scores, largest).result).result
    values = graph.Where.build(is_zero, constant(0, like=scores), below).result
    total = graph.Reduce.build(values, kind="sum", axes=[1], keepdims=True).result
    is_empty = graph.Equal.build(total, constant(0, like=total)).result
    divisor = graph.Where.build(is_empty, constant(1, like=total), total).result
    return graph.Where.build(is_empty, constant(0.5, like=scores), graph.Div.build(values, divisor).result).result


def class_labels(node: Node, attribute: str) -> np.ndarray:
    """The integer labels of the classes; raises CompileError for strings."""
    if node.attribute("classlabels_strings"):
        message = "the labels of its classes are strings, which the machine does not have"
        raise node.error(message, hint="train the classifier with classes that are numbers: 0, 1, ...")
    return np.array(node.attribute(attribute, []), np.int64)


def labelled(places: Any, labels: np.ndarray) -> Any:
    """Labels [N] (int64) of the classes with these numbers."""
    if np.array_equal(labels, np.arange(len(labels))):
        return places
    return graph.Gather.build(constant(labels), places, axis=0).result


def best(scores: Any, labels: np.ndarray) -> Any:
    """Labels [N] of the largest scores [N, C]; of equal ones, the first."""
    return labelled(graph.ArgReduce.build(scores, kind="max", axis=1, keepdims=False, select_last=False).result, labels)


def with_opposite(score: Any) -> Any:
    """Scores [N, 2] of two classes from that of the second [N, 1], which is that of the first with the other sign."""
    return graph.Concat.build(graph.Neg.build(score).result, score, axis=1).result


def above(score: Any, limit: float, label: int, other: int) -> Any:
    """Labels [N] from one score [N, 1] each: `label` from `limit` on, else `other`."""
    flat = reshape(score, shape_of(score)[:1])
    is_above = graph.GreaterOrEqual.build(flat, constant(limit, like=flat)).result
    chosen = (constant(np.array(value, np.int64)) for value in (label, other))
    return graph.Where.build(is_above, *chosen).result
