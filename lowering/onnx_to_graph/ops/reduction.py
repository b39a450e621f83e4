"""Reductions and softmax."""

import math
from collections.abc import Callable
from typing import Any

from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, reshape, shape_of


def reduce(kind: str, axes_input_since: int = 18) -> Callable[[Node], Any]:
    """Handler of a Reduce operator whose axes became an input in version `axes_input_since`."""

    def handler(node: Node) -> Any:
        x = node.operand(0)
        rank = len(shape_of(x))
        if node.version >= axes_input_since:
            axes = node.constant_ints(1, "axes") if node.has(1) else []
            if not axes and node.attribute("noop_with_empty_axes", 0):
                return _reduce_nothing(kind, x)
        else:
            axes = node.attribute("axes", [])
        axes = node.axes(axes, rank) if axes else list(range(rank))
        return graph.Reduce.build(x, kind=kind, axes=axes, keepdims=bool(node.attribute("keepdims", 1))).result

    return handler


def _reduce_nothing(kind: str, x: Any) -> Any:
    """A reduction over no axis still applies its element-wise part."""
    if kind in ("sum", "max", "min", "mean", "prod", "log_sum_exp"):
        return x
    return graph.Reduce.build(x, kind=kind, axes=[], keepdims=True).result


def arg_reduce(kind: str) -> Callable[[Node], Any]:
    """Handler of ArgMax and ArgMin."""

    def handler(node: Node) -> Any:
        x = node.operand(0)
        return graph.ArgReduce.build(
            x,
            kind=kind,
            axis=node.axis(node.attribute("axis", 0), len(shape_of(x))),
            keepdims=bool(node.attribute("keepdims", 1)),
            select_last=bool(node.attribute("select_last_index", 0)),
        ).result

    return handler


def cumsum(node: Node) -> Any:
    """CumSum along a constant axis."""
    x = node.operand(0)
    axis = node.axis(node.constant_ints(1, "axis")[0], len(shape_of(x)))
    flags = {name: bool(node.attribute(name, 0)) for name in ("exclusive", "reverse")}
    return graph.CumSum.build(x, axis=axis, **flags).result


def softmax(operation: type[graph.GraphOp]) -> Callable[[Node], Any]:
    """Handler of Softmax and LogSoftmax; before version 13 all dimensions from the axis on count as one."""

    def handler(node: Node) -> Any:
        x = node.operand(0)
        shape = shape_of(x)
        if node.version >= 13:
            return operation.build(x, axis=node.axis(node.attribute("axis", -1), len(shape))).result
        # Version 1 to 11 allow the axis to equal the rank.
        axis = node.attribute("axis", 1)
        axis = axis if axis == len(shape) else node.axis(axis, len(shape))
        if axis == len(shape) - 1:
            return operation.build(x, axis=axis).result
        flat = reshape(x, [math.prod(shape[:axis]), math.prod(shape[axis:])])
        return reshape(operation.build(flat, axis=1).result, shape)

    return handler


def global_pool(kind: str) -> Callable[[Node], Any]:
    """Handler of the Global pools: reduce all spatial dimensions."""

    def handler(node: Node) -> Any:
        x = node.operand(0)
        axes = list(range(2, len(shape_of(x))))
        return graph.Reduce.build(x, kind=kind, axes=axes, keepdims=True).result

    return handler
