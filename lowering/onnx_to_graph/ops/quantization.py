"""Operators between integers and the real numbers they stand for."""

from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of, reshape, shape_of
from mnc.lowering.onnx_to_graph.ops.contraction import window_attributes

_LIMITS = {"i8": (-128, 127), "ui8": (0, 255), "i16": (-32768, 32767), "ui16": (0, 65535)}


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
    if str(target) not in _LIMITS:
        raise node.error(f"it quantizes to {target}, which is not supported", hint="use INT8, UINT8, INT16 or UINT16")
    low, high = _LIMITS[str(target)]
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


def _centred(value: Any, zero: Any | None, rows: bool) -> Any:
    """value - zero point as 32-bit integers; a vector of zero points belongs to the rows or to the columns."""
    i32 = ir.IntegerType.get_signless(32)
    value = cast(value, i32)
    if zero is None:
        return value
    return graph.Sub.build(value, cast(_per_line(zero, rows), i32)).result


def _per_line(value: Any, rows: bool) -> Any:
    own = shape_of(value)
    return reshape(value, [*own, 1]) if rows and len(own) == 1 and own != [1] else value


def matmul_integer(node: Node) -> Any:
    """MatMulInteger: the product of the differences to the zero points, in 32 bits."""
    zeros = [node.operand(i) if node.has(i) else None for i in (2, 3)]
    return graph.MatMul.build(
        _centred(node.operand(0), zeros[0], True), _centred(node.operand(1), zeros[1], False)
    ).result


def conv_integer(node: Node) -> Any:
    """ConvInteger: the convolution of the differences to the zero points, in 32 bits."""
    x = _centred(node.operand(0), node.operand(2) if node.has(2) else None, False)
    w = node.operand(1)
    zero = node.operand(3) if node.has(3) else None
    if zero is not None and int(np.prod(shape_of(zero))) > 1:  # one per result channel
        zero = reshape(zero, [shape_of(zero)[0], *[1] * (len(shape_of(w)) - 1)])
    w = _centred(w, zero, False)
    window = window_attributes(node, shape_of(x)[2:], shape_of(w)[2:])
    return graph.Conv.build(x, w, **window, group=node.attribute("group", 1)).result


def qlinear_matmul(node: Node) -> Any:
    """QLinearMatMul: the exact product of the integers, scaled and quantized again."""
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (node.operand(i) for i in range(8))
    f32 = ir.F32Type.get()
    product = cast(graph.MatMul.build(_centred(a, a_zero, True), _centred(b, b_zero, False)).result, f32)
    scale = graph.Mul.build(cast(_per_line(a_scale, True), f32), cast(b_scale, f32)).result
    scale = graph.Div.build(scale, cast(_per_line(y_scale, True), f32)).result
    value = graph.Mul.build(product, scale).result
    return _limited(node, value, _per_line(y_zero, True), element_type_of(y_zero))
