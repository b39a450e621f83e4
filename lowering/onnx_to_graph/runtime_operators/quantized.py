"""Quantized operators of ONNX Runtime: what they compute is done with floats, between the operators that turn
integers into floats and back; products of integers stay such."""

from typing import Any

import numpy as np
import onnx

from mnc.lowering.onnx_to_graph.runtime_operators.body import Body

_FLOAT = onnx.TensorProto.FLOAT


def _floats(body: Body, first: int, **attributes: Any) -> str:
    """The numbers that three operands stand for: integers, scale and zero point."""
    names = [body.operand(first + i) for i in range(3)]
    return body.op("DequantizeLinear", *(name for name in names if name), **attributes)


def _quantized(body: Body, x: str, first: int) -> str:
    names = [body.operand(first + i) for i in range(2)]
    return body.op("QuantizeLinear", x, *(name for name in names if name))


def add(body: Body) -> None:
    """The sum of quantized tensors."""
    body.give(_quantized(body, body.op("Add", _floats(body, 0), _floats(body, 3)), 6))


def multiply(body: Body) -> None:
    """The product of quantized tensors, element by element."""
    body.give(_quantized(body, body.op("Mul", _floats(body, 0), _floats(body, 3)), 6))


def sigmoid(body: Body) -> None:
    """The sigmoid of a quantized tensor."""
    body.give(_quantized(body, body.op("Sigmoid", _floats(body, 0)), 3))


def leaky_relu(body: Body) -> None:
    """LeakyRelu of a quantized tensor."""
    body.give(_quantized(body, body.op("LeakyRelu", _floats(body, 0), alpha=body.attribute("alpha", 0.01)), 3))


def softmax(body: Body) -> None:
    """Softmax of a quantized tensor along one axis."""
    axis = body.attribute("axis", -1)
    if body.attribute("opset", 13) < 13 and axis != -1:
        raise body.refuse("softmax over several axes is not supported", "quantize a model of operator set 13 or newer")
    body.give(_quantized(body, body.op("Softmax", _floats(body, 0), axis=axis), 3))


def selected(body: Body) -> None:
    """Elements of one quantized tensor where a condition holds, of another one elsewhere."""
    body.give(_quantized(body, body.op("Where", body.operand(0), _floats(body, 1), _floats(body, 4)), 7))


def average_pool(body: Body) -> None:
    """Averages of windows of a quantized tensor."""
    if body.attribute("channels_last", 0):
        raise body.refuse("channels_last is not supported", "quantize a model whose channels are the second dimension")
    body.give(_quantized(body, body.op("AveragePool", _floats(body, 0), **body.given("channels_last")), 3))


def global_average_pool(body: Body) -> None:
    """Averages of the channels of a quantized tensor."""
    if body.attribute("channels_last", 0):
        raise body.refuse("channels_last is not supported", "quantize a model whose channels are the second dimension")
    body.give(_quantized(body, body.op("GlobalAveragePool", _floats(body, 0)), 3))


def concat(body: Body) -> None:
    """Quantized tensors one behind the other."""
    parts = [_floats(body, i) for i in range(2, len(body.operands()), 3)]
    body.give(_quantized(body, body.op("Concat", *parts, axis=body.attribute("axis", 0)), 0))


def gemm(body: Body) -> None:
    """Gemm of quantized matrices, with a bias in steps of both scales; the result is float without a scale."""
    names = {name: body.attribute(name, 0) for name in ("transA", "transB")}
    columns = {} if body.opset < _AXES else {"axis": 0 if names["transB"] else 1}
    alpha = body.attribute("alpha", 1.0)
    x = body.op("Gemm", _floats(body, 0), _floats(body, 3, **columns), alpha=alpha, **names)
    if body.has(6):
        step = body.op("Mul", body.op("Mul", body.operand(1), body.operand(4)), body.constant(alpha, np.float32))
        x = body.op("Add", x, body.op("Mul", body.op("Cast", body.operand(6), to=_FLOAT), step))
    body.give(_quantized(body, x, 7) if body.has(7) else x)


_AXES = 13
"""Operator set since which scales may belong to channels."""


def integer_product_as_float(body: Body) -> None:
    """The product of integers, less their zero points, times both scales; with an optional bias."""
    a, b, a_scale, b_scale, a_zero, b_zero, bias = (body.operand(i) for i in range(7))
    body.give(_scaled_product(body, a, b, a_zero, b_zero, body.op("Mul", a_scale, b_scale), bias))


def _scaled_product(body: Body, a: str, b: str, a_zero: str, b_zero: str, scale: str, bias: str) -> str:
    product = body.op("Cast", body.op("MatMulInteger", a, b, a_zero, b_zero), to=_FLOAT)
    scaled = body.op("Mul", product, scale)
    return body.op("Add", scaled, bias) if bias else scaled


def dynamic_product(body: Body) -> None:
    """As `integer_product_as_float`, of floats that are quantized by their range."""
    x, weights, scale, zero, bias = (body.operand(i) for i in range(5))
    integers, own, own_zero = body.several("DynamicQuantizeLinear", x, results=3)
    body.give(_scaled_product(body, integers, weights, own_zero, zero, body.op("Mul", own, scale), bias))


def blocked_product(body: Body) -> None:
    """The product with weights of 2, 4 or 8 bits, packed into bytes, with a scale for every block of a column."""
    bits, size = body.attribute("bits", 4), body.attribute("block_size", 32)
    depth, columns = body.attribute("K", 0), body.attribute("N", 0)
    blocks = -(-depth // size)
    if bits not in (2, 4, 8):
        raise body.refuse(f"weights of {bits} bits are not supported", "quantize to 2, 4 or 8 bits")
    weights = body.reshape(_unpacked(body, body.operand(1), bits), columns, blocks, size)
    zero = body.constant(2 ** (bits - 1), np.float32)
    if body.has(3) and body.kind(3) not in (onnx.TensorProto.UINT8, onnx.TensorProto.UNDEFINED):
        zero = body.reshape(body.op("Cast", body.operand(3), to=_FLOAT), columns, blocks, 1)
    elif body.has(3):
        packed = body.reshape(body.operand(3), columns, -1)
        rows = body.reshape(_unpacked(body, packed, bits), columns, -1)
        kept = body.op("Slice", rows, body.integers(0), body.integers(blocks), body.integers(1))
        zero = body.reshape(kept, columns, blocks, 1)
    scale = body.reshape(body.op("Cast", body.operand(2), to=_FLOAT), columns, blocks, 1)
    floats = _of_blocks(body, weights, zero, scale, (columns, depth, blocks * size))
    x = body.operand(0)
    product = body.op("MatMul", x, body.op("Transpose", body.like(floats, x), perm=[1, 0]))
    body.give(body.op("Add", product, body.operand(5)) if body.has(5) else product)


def _of_blocks(body: Body, weights: str, zero: str, scale: str, sizes: tuple[int, int, int]) -> str:
    """The numbers [column, depth] that integers of [column, block, size] stand for, `sizes`: columns, depth, and with
    the padding. Operand 4 says which block a row is of, where its place does not."""
    columns, depth, padded = sizes

    def cut(x: str) -> str:
        return body.op("Slice", x, body.integers(0), body.integers(depth), body.integers(1))

    if not body.has(4):
        return cut(body.reshape(body.op("Mul", body.op("Sub", weights, zero), scale), columns, padded))
    groups = body.op("Slice", body.operand(4), body.integers(0), body.integers(depth))
    scale = body.op("Gather", body.reshape(scale, columns, -1), groups, axis=1)
    if body.has(3):
        zero = body.op("Gather", body.reshape(zero, columns, -1), groups, axis=1)
    return body.op("Mul", body.op("Sub", cut(body.reshape(weights, columns, padded)), zero), scale)


def gathered(body: Body) -> None:
    """Rows of a table of integers with a scale for every block along an axis; bytes may hold two numbers or four."""
    bits, axis, size = body.attribute("bits", 4), body.attribute("quantize_axis", 1), body.attribute("block_size", 128)
    if bits not in (2, 4, 8):
        raise body.refuse(f"numbers of {bits} bits are not supported", "quantize to 2, 4 or 8 bits")
    if body.kind(0) == onnx.TensorProto.UNDEFINED:
        raise body.refuse("a table of unknown type is not supported", "make the table an initializer")
    are_bytes = body.kind(0) == onnx.TensorProto.UINT8

    def numbers(index: int) -> str:
        if are_bytes and bits < 8:
            parts = _unpacked(body, body.operand(index), bits)
            front = body.op("Slice", body.op("Shape", body.operand(index)), body.integers(0), body.integers(-1))
            return body.op("Reshape", parts, body.op("Concat", front, body.integers(-1), axis=0))
        return body.op("Cast", body.operand(index), to=_FLOAT)

    table = numbers(0)
    extent = body.op("Gather", body.op("Shape", table), body.integers(axis))
    blocks = body.op("Div", body.numbered(extent), body.integers(size))
    zero = body.constant(2 ** (bits - 1) if are_bytes else 0, np.float32)
    if body.has(3):
        zero = body.op("Gather", numbers(3), blocks, axis=axis)
    scale = body.op("Gather", body.op("Cast", body.operand(2), to=_FLOAT), blocks, axis=axis)
    floats = body.like(body.op("Mul", body.op("Sub", table, zero), scale), body.operand(2))
    body.give(body.op("Gather", floats, body.operand(1), axis=body.attribute("gather_axis", 0)))


def _unpacked(body: Body, packed: str, bits: int) -> str:
    """Floats of the numbers in bytes, the lowest bits first, along a new last dimension."""
    whole = body.op("Cast", packed, to=onnx.TensorProto.INT32)
    base = body.constant(2**bits, np.int32)
    parts = []
    for _ in range(8 // bits):
        parts.append(body.along("Unsqueeze", body.op("Cast", body.op("Mod", whole, base), to=_FLOAT), -1))
        whole = body.op("Div", whole, base)
    return body.op("Concat", *parts, axis=-1) if len(parts) > 1 else parts[0]
