"""Operators between integers and the real numbers they stand for."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.integer_products import LIMITS, convolution, matrix_product, per_line


def _spread(node: Node, value: Any, shape: list[int]) -> Any:
    """A scale or zero point as a tensor that broadcasts to `shape`: one number, one per slice, or one per block."""
    rank, own = len(shape), shape_of(value)
    if int(np.prod(own)) == 1:
        return reshape(value, [1] * rank)
    axis = node.axis(node.attribute("axis", 1), rank)
    if len(own) == 1 and not node.attribute("block_size", 0):
        return reshape(value, [own[0] if i == axis else 1 for i in range(rank)])
    block = node.attribute("block_size", 0) or -(-shape[axis] // own[axis])
    numbers = constant((np.arange(shape[axis]) // block).astype(np.int64))
    return graph.Gather.build(value, numbers, axis=axis).result


def dequantize_linear(node: Node) -> Any:
    """DequantizeLinear: (x - zero point) * scale."""
    x, scale = node.operand(0), node.operand(1)
    shape, kind = shape_of(x), element_type_of(node.operand(1))
    result = node.attribute("output_dtype", 0)
    i32 = ir.IntegerType.get_signless(32)
    wide = cast(x, i32)
    if node.has(2):
        wide = graph.Sub.build(wide, cast(_spread(node, node.operand(2), shape), i32)).result
    value = graph.Mul.build(cast(wide, kind), _spread(node, scale, shape)).result
    return cast(value, node.element_type(result)) if result else value


def _target(node: Node) -> Any:
    if node.has(2):
        return element_type_of(node.operand(2))
    kind = node.attribute("output_dtype", 0)
    return node.element_type(kind) if kind else ir.IntegerType.get_unsigned(8)


def _limited(node: Node, value: Any, zero: Any | None, target: Any) -> Any:
    """round(value) + zero point, limited to the range of the integer type `target`."""
    if str(target) not in LIMITS:
        raise node.error(f"it quantizes to {target}, which is not supported", hint="use INT8, UINT8, INT16 or UINT16")
    low, high = LIMITS[str(target)]
    value = graph.Round.build(value).result
    if zero is not None:
        value = graph.Add.build(value, cast(zero, ir.F32Type.get())).result
    return cast(graph.Clip.build(value, min=float(low), max=float(high)).result, target)


def quantize_linear(node: Node) -> Any:
    """QuantizeLinear: round(x / scale) + zero point, limited to the range of the integer type."""
    x, scale = node.operand(0), node.operand(1)
    shape, target = shape_of(x), _target(node)
    f32 = ir.F32Type.get()
    value = graph.Div.build(cast(x, f32), cast(_spread(node, scale, shape), f32)).result
    zero = _spread(node, node.operand(2), shape) if node.has(2) else None
    return _limited(node, value, zero, target)


def matmul_integer(node: Node) -> Any:
    """MatMulInteger: the product of the differences to the zero points, in 32 bits."""
    return matrix_product(node, (0, 2), (1, 3))


def conv_integer(node: Node) -> Any:
    """ConvInteger: the convolution of the differences to the zero points, in 32 bits."""
    return convolution(node, (0, 2), (1, 3))


def _requantized(node: Node, product: Any, scales: Sequence[Any], zero: Any) -> Any:
    """An exact product of integers, scaled and quantized again; `scales` are those of the factors and of the result."""
    f32 = ir.F32Type.get()
    x, w, y = (cast(scale, f32) for scale in scales)
    scale = graph.Div.build(graph.Mul.build(x, w).result, y).result
    value = graph.Mul.build(cast(product, f32), scale).result
    return _limited(node, value, zero, element_type_of(zero))


def qlinear_matmul(node: Node) -> Any:
    """QLinearMatMul: the exact product of the integers, scaled and quantized again."""
    product = matrix_product(node, (0, 2), (3, 5))
    scales = per_line(node.operand(1), rows=True), node.operand(4), per_line(node.operand(6), rows=True)
    return _requantized(node, product, scales, per_line(node.operand(7), rows=True))


def qlinear_conv(node: Node) -> Any:
    """QLinearConv: the exact convolution of the integers and its bias, scaled and quantized again."""
    product = convolution(node, (0, 2), (3, 5))
    shape = shape_of(product)

    def per_channel(value: Any) -> Any:
        own = shape_of(value)
        return reshape(value, [own[0] if i == 1 and own else 1 for i in range(len(shape))])

    if node.has(8):
        product = graph.Add.build(product, per_channel(node.operand(8))).result
    scales = [per_channel(node.operand(i)) for i in (1, 4, 6)]
    return _requantized(node, product, scales, per_channel(node.operand(7)))
