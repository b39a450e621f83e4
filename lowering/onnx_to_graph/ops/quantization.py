"""Operators between integers and the real numbers they stand for."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.element_types import NARROW_FLOATS
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.conversion import limits, to_narrow_float
from mnc.lowering.onnx_to_graph.ops.integer_products import convolution, matrix_product, per_line

_Types = onnx.TensorProto
_INTEGERS = frozenset([_Types.INT2, _Types.UINT2, _Types.INT4, _Types.UINT4, _Types.INT8, _Types.UINT8, _Types.INT16,
                       _Types.UINT16])  # fmt: skip


def _block(node: Node, extent: int, count: int) -> int:
    """Elements along the axis that share one of `count` scales."""
    return node.attribute("block_size", 0) or -(-extent // count)


def _spread(node: Node, value: Any, shape: list[int]) -> Any:
    """A scale or zero point as a tensor that broadcasts to `shape`: one number, one per slice, or one per block."""
    rank, own = len(shape), shape_of(value)
    if int(np.prod(own)) == 1:
        return reshape(value, [1] * rank)
    axis = node.axis(node.attribute("axis", 1), rank)
    if len(own) == 1 and not node.attribute("block_size", 0):
        return reshape(value, [own[0] if i == axis else 1 for i in range(rank)])
    numbers = constant((np.arange(shape[axis]) // _block(node, shape[axis], own[axis])).astype(np.int64))
    return graph.Gather.build(value, numbers, axis=axis).result


def _by_blocks(node: Node, value: Any, others: list[Any]) -> tuple[Any, list[Any]]:
    """A tensor and its scale and zero point, so that they broadcast to it. Where blocks are equal they get a dimension
    of their own, along which numbers are broadcast instead of repeated."""
    shape, own = shape_of(value), shape_of(others[0])
    if len(own) < 2 or np.prod(own) == 1 or any(shape_of(other) != own for other in others):
        return value, [_spread(node, other, shape) for other in others]
    axis = node.axis(node.attribute("axis", 1), len(shape)) if len(own) == len(shape) else 0
    block = _block(node, shape[axis], own[axis])
    if own[axis] * block != shape[axis]:
        return value, [_spread(node, other, shape) for other in others]
    cut = [*shape[:axis], own[axis], block, *shape[axis + 1 :]]
    once = [*own[: axis + 1], 1, *own[axis + 1 :]]
    return reshape(value, cut), [reshape(other, once) for other in others]


def dequantize_linear(node: Node) -> Any:
    """DequantizeLinear: (x - zero point) * scale."""
    shape, kind = shape_of(node.operand(0)), element_type_of(node.operand(1))
    result = node.attribute("output_dtype", 0)
    wide = ir.F32Type.get() if node.onnx_type(0) in NARROW_FLOATS else ir.IntegerType.get_signless(32)
    value, (scale, *zero) = _by_blocks(node, node.operand(0), node.operands(1))
    value = cast(value, wide)
    for point in zero:
        value = graph.Sub.build(value, cast(point, wide)).result
    value = reshape(graph.Mul.build(cast(value, kind), scale).result, shape)
    return cast(value, node.element_type(result)) if result else value


def _limited(node: Node, value: Any, zero: Any | None, target: int) -> Any:
    """round(value) + zero point, limited to the range of the ONNX type `target`; of floats value + zero point,
    rounded to the type."""
    if target in NARROW_FLOATS:
        value = value if zero is None else graph.Add.build(value, cast(zero, ir.F32Type.get())).result
        return to_narrow_float(node, value, target, bool(node.attribute("saturate", 1)))
    if target not in _INTEGERS:
        name = _Types.DataType.Name(target)
        hint = "use an integer type of 2, 4, 8 or 16 bits, or a float type of 4 or 8 bits"
        raise node.error(f"it quantizes to {name}, which is not supported", hint=hint)
    low, high = limits(target)
    value = graph.Round.build(value).result
    if zero is not None:
        value = graph.Add.build(value, cast(zero, ir.F32Type.get())).result
    return cast(graph.Clip.build(value, min=low, max=high).result, node.element_type(target))


def quantize_linear(node: Node) -> Any:
    """QuantizeLinear: round(x / scale) + zero point, limited to the range of the type."""
    f32 = ir.F32Type.get()
    target = node.onnx_type(2) if node.has(2) else node.attribute("output_dtype", 0) or _Types.UINT8
    x, (scale, *zero) = _by_blocks(node, node.operand(0), node.operands(1))
    value = graph.Div.build(cast(x, f32), cast(scale, f32)).result
    return reshape(_limited(node, value, zero[0] if zero else None, target), shape_of(node.operand(0)))


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
    return _limited(node, value, zero, node.onnx_type(7))


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
