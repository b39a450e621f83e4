"""Tree ensembles of ai.onnx.ml: all trees at once, without branches; see `forest`."""

import math
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.ml.features import matrix
from mnc.lowering.onnx_to_graph.ops.ml.forest import (
    COMPARISONS,
    LARGEST,
    Forest,
    ForestArrays,
    each_weight,
    sizes,
    to_arrays,
)
from mnc.lowering.onnx_to_graph.ops.ml.scores import best, class_labels, post_transform, transformed
from mnc.lowering.onnx_to_graph.ops.ml.tree_attributes import by_position, by_tree_and_node, numbers
from mnc.lowering.onnx_to_graph.size_limits import LARGEST_CONSTANT

_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_KEPT_BITS = 8
"""Bits of the coarse part of a weight: fewer than the factors of products have in every precision."""
_COMPARE = dict(zip(COMPARISONS, (graph.LessOrEqual, graph.Less, graph.Equal), strict=True))


def _arrays(node: Node, forest: Forest) -> ForestArrays:
    trees, conditions, leaves = sizes(forest)
    if trees * conditions * leaves > LARGEST_CONSTANT:
        message = f"{trees} trees of {conditions} conditions and {leaves} leaves are too large to be evaluated at once"
        raise node.error(message, hint=f"at most {LARGEST_CONSTANT} conditions times leaves: train smaller trees")
    return to_arrays(forest)


def _table(node: Node, x: Any, with_low: bool) -> Any:
    """Features [N, C] with the largest number instead of NaN, and if asked for, beside them [N, 2 C] the least one."""
    if not isinstance(element_type_of(node.operand(0)), ir.FloatType):
        return graph.Concat.build(x, x, axis=1).result if with_low else x
    is_missing = graph.IsNan.build(x).result
    fillers = [LARGEST, -LARGEST] if with_low else [LARGEST]
    parts = [graph.Where.build(is_missing, constant(filler, like=x), x).result for filler in fillers]
    return graph.Concat.build(*parts, axis=1).result if with_low else parts[0]


def _holding(node: Node, x: Any, arrays: ForestArrays) -> Any:
    """Which conditions hold for each row: [N, T * conditions], i1."""
    conditions = [condition for tree in arrays.conditions for condition in tree]
    features = shape_of(x)[1]
    if not all(0 <= condition.feature < features for condition in conditions):
        raise node.error(f"a node asks for a feature beyond the {features} of the input", hint="give it all features")
    columns = [c.feature + (features if c.low else 0) for c in conditions]
    table = _table(node, x, any(c.low for c in conditions))
    values = graph.Gather.build(table, constant(np.array(columns, np.int64)), axis=1).result
    thresholds = constant(np.array([c.threshold for c in conditions]), like=x)
    result = None
    for name in COMPARISONS:
        own = np.array([c.comparison == name for c in conditions])
        if not own.any():
            continue
        holds = _COMPARE[name].build(values, thresholds).result
        result = holds if result is None else graph.Where.build(constant(own), holds, result).result
    return result


def _reached(node: Node, x: Any, arrays: ForestArrays) -> Any:
    """Which leaves each row of x [N, C] reaches: [T, N, leaves], i1."""
    trees, conditions, _ = arrays.paths.shape
    holding = cast(_holding(node, x, arrays), ir.F32Type.get())
    apart = reshape(holding, [shape_of(x)[0], trees, conditions])
    by_tree = graph.Transpose.build(apart, permutation=[1, 0, 2]).result
    count = graph.MatMul.build(by_tree, constant(arrays.paths)).result
    return graph.Equal.build(count, constant(arrays.needed[:, np.newaxis])).result


def _sum(reached: Any, weights: np.ndarray) -> Any:
    """Sums [N, targets] of the weights [T, leaves, targets] of leaves that are reached.

    Factors of products are rounded, sums of products are not. So a weight is given in two parts: a multiple of a
    number that all of them have in common, which keeps its few bits, and the rest, whose rounding is far below the
    last bit of the largest weight.
    """
    trees, rows, leaves = shape_of(reached)
    targets = weights.shape[-1]
    largest = np.abs(weights).max()
    unit = 2.0 ** (math.ceil(math.log2(largest)) - _KEPT_BITS) if largest > 0 else 1.0
    coarse = np.round(weights / unit) * unit
    parts = np.concatenate([coarse, weights - coarse], axis=-1).reshape(trees * leaves, 2 * targets)
    by_row = graph.Transpose.build(cast(reached, ir.F32Type.get()), permutation=[1, 0, 2]).result
    both = graph.MatMul.build(reshape(by_row, [rows, trees * leaves]), constant(parts.astype(np.float32))).result
    halves = [
        graph.Slice.build(both, starts=[0, start], limits=[rows, start + targets], steps=[1, 1]).result
        for start in (0, targets)
    ]
    return graph.Add.build(*halves).result


def _extreme(reached: Any, weights: np.ndarray, kind: str) -> Any:
    """Least or largest of the weights [T, leaves, targets] of leaves that are reached, [N, targets]."""
    filler = LARGEST if kind == "min" else -LARGEST
    wide = reshape(reached, [*shape_of(reached), 1])
    own = constant(weights[:, np.newaxis].astype(np.float32))
    kept = graph.Where.build(wide, own, constant(filler, like=own)).result
    return graph.Reduce.build(kept, kind=kind, axes=[0, 2], keepdims=False).result


def _aggregated(node: Node, x: Any, forest: Forest, targets: int, aggregate: str) -> Any:
    """Scores [N, targets] of rows [N, C], without base values."""
    arrays = _arrays(node, forest)
    reached = _reached(node, x, arrays)
    entries = list(each_weight(forest, arrays))
    if not all(0 <= target < targets for _, _, target, _ in entries):
        raise node.error(f"a leaf has a target beyond the {targets} that there are", hint="export the model again")
    shape = (*arrays.needed.shape, targets)
    if aggregate in ("MIN", "MAX"):
        weights = np.full(shape, LARGEST if aggregate == "MIN" else -LARGEST)
        pick = min if aggregate == "MIN" else max
        for tree, leaf, target, weight in entries:
            weights[tree, leaf, target] = pick(weights[tree, leaf, target], weight)
        return _extreme(reached, weights, aggregate.lower())
    weights = np.zeros(shape)
    for tree, leaf, target, weight in entries:
        weights[tree, leaf, target] += weight
    total = _sum(reached, weights)
    return total if aggregate == "SUM" else graph.Div.build(total, constant(len(forest.roots), like=total)).result


def _with_base(node: Node, scores: Any) -> Any:
    base, targets = numbers(node, "base_values"), shape_of(scores)[1]
    if not base:
        return scores
    if len(base) not in (1, targets):
        raise node.error(f"has {len(base)} base values for {targets} targets", hint="give one for each")
    return graph.Add.build(scores, constant(np.array(base), like=scores)).result


def _aggregate(node: Node) -> str:
    given = node.attribute("aggregate_function", "SUM")
    name = _AGGREGATES[given] if isinstance(given, int) and 0 <= given < len(_AGGREGATES) else given
    if name not in _AGGREGATES:
        raise node.error(f"aggregate_function is '{name}'", hint=f"it may be {', '.join(_AGGREGATES)}")
    return name


def tree_ensemble_regressor(node: Node) -> Any:
    """TreeEnsembleRegressor: [N, C] to [N, n_targets], float32."""
    name = post_transform(node)
    forest, targets = by_tree_and_node(node, "target"), int(node.attribute("n_targets", 1))
    return transformed(_with_base(node, _aggregated(node, matrix(node), forest, targets, _aggregate(node))), name)


def tree_ensemble(node: Node) -> Any:
    """TreeEnsemble: [N, C] to [N, n_targets] of the type of the input."""
    name = post_transform(node)
    scores = _aggregated(node, matrix(node), by_position(node), int(node.attribute("n_targets", 1)), _aggregate(node))
    return cast(transformed(scores, name), element_type_of(node.operand(0)))


def tree_ensemble_classifier(node: Node) -> list[Any]:
    """TreeEnsembleClassifier: [N, C] to labels [N] (int64) and scores [N, classes] (float32).

    Weights of one class only are the score of the second of two classes.
    """
    name, labels = post_transform(node), class_labels(node, "classlabels_int64s")
    if len(labels) < 2:
        raise node.error(f"has {len(labels)} classes", hint="give the labels of all classes in classlabels_int64s")
    forest = by_tree_and_node(node, "class")
    scores = _with_base(node, _aggregated(node, matrix(node), forest, len(labels), "SUM"))
    is_binary = len({target for leaf in forest.leaves for target, _ in leaf}) == 1
    if is_binary:
        scores = _of_two_classes(scores, name)
    result = transformed(scores, name)
    ordered = result if name == "SOFTMAX_ZERO" else scores
    return [best(ordered, labels), result]


def _of_two_classes(scores: Any, transform: str) -> Any:
    """Scores [N, 2] from the first column, the score of the second class, as the reference of ONNX completes them."""
    rows = shape_of(scores)[0]
    second = graph.Slice.build(scores, starts=[0, 0], limits=[rows, 1], steps=[1, 1]).result
    if transform == "NONE":
        first = graph.Sub.build(constant(1, like=second), second).result
    else:
        first = graph.Neg.build(second).result
    return graph.Concat.build(first, second, axis=1).result
