"""Conversion between element types: Cast, CastLike, BitCast, and what quantizing needs of them."""

from typing import Any

import ml_dtypes
import numpy as np
import onnx

from mnc.core.bindings import ir
from mnc.dialects import graph
from mnc.lowering.onnx_to_graph.element_types import NARROW_FLOATS, NARROW_INTEGERS, POWER_OF_TWO
from mnc.lowering.onnx_to_graph.node import Node, cast, constant, element_type_of
from mnc.passes.graph.nan_flow import MOVING

_Types = onnx.TensorProto
_MAY_BECOME_NAN = frozenset([_Types.FLOAT8E4M3FN, _Types.FLOAT8E4M3FNUZ, _Types.FLOAT8E5M2FNUZ])
_MAY_BECOME_INFINITE = frozenset([_Types.FLOAT8E5M2])
_HALVES = frozenset([_Types.FLOAT16, _Types.BFLOAT16])
_LARGEST_POWER = 2.0**127
_MANTISSA, _EXPONENT, _SMALLEST_POWER = 0x007FFFFF, 0x7F800000, 0x00400000  # of the bits of a single


def limits(onnx_type: int) -> tuple[float, float]:
    """Least and greatest number of an integer type of 16 bits or fewer, or of a float type of 8 or fewer."""
    dtype = onnx.helper.tensor_dtype_to_np_dtype(onnx_type)
    info = ml_dtypes.finfo(dtype) if onnx_type in NARROW_FLOATS else ml_dtypes.iinfo(dtype)
    return float(info.min), float(info.max)


def _to_narrow_integer(value: Any, onnx_type: int) -> Any:
    """The lowest bits of an integer, as one of the narrow type; others become integers first."""
    holder, bits = NARROW_INTEGERS[onnx_type]
    value = cast(value, graph.element_type(holder))
    if np.issubdtype(holder, np.unsignedinteger):
        return graph.BitwiseAnd.build(value, constant((1 << bits) - 1, like=value)).result
    distance = constant(8 * np.dtype(holder).itemsize - bits, like=value)
    return graph.ShiftRight.build(graph.ShiftLeft.build(value, distance).result, distance).result


def _to_power_of_two(value: Any, round_mode: str) -> Any:
    """A power of two beside |x|: the next one up or down, or the nearer, of two equally near ones the larger."""
    added = {"up": _MANTISSA, "nearest": (_MANTISSA + 1) // 2, "down": 0}[round_mode]
    i32 = ir.IntegerType.get_signless(32)
    size = graph.Min.build(graph.Abs.build(value).result, constant(_LARGEST_POWER, like=value)).result
    bits = graph.Bitcast.build(size, result_type=graph.tensor(list(value.type.shape), i32)).result
    bits = graph.Add.build(bits, constant(added, like=bits)).result if added else bits
    kept = graph.BitwiseAnd.build(bits, constant(_EXPONENT, like=bits)).result
    kept = graph.Max.build(kept, constant(_SMALLEST_POWER, like=bits)).result
    return graph.Bitcast.build(kept, result_type=value.type).result


def _comes_from_input(value: Any) -> bool:
    """Whether these are words of an input of the model, which alone may hold NaN."""
    while not isinstance(value.owner, ir.Block):
        kind = value.owner.name.removeprefix("graph.")
        if kind not in (*MOVING, "cast") or len(value.owner.operands) != 1:
            return False
        value = value.owner.operands[0]
    return True


def _keeping_nan(value: Any, result: Any, onnx_type: int) -> Any:
    """The result of rounding a value, and NaN where that is NaN, or what the type has in its place. The pass
    `settle-nan` takes this back where a run brings none."""
    if not _comes_from_input(value):
        return result
    of_nan = np.array(np.nan, np.float32).astype(onnx.helper.tensor_dtype_to_np_dtype(onnx_type)).astype(np.float32)
    return graph.Where.build(graph.IsNan.build(value).result, constant(of_nan, like=result), result).result


def _nan_beyond(value: Any, result: Any, onnx_type: int) -> Any:
    """The result of rounding a value, and NaN where the value is nearer to a number that the type does not have."""
    dtype = onnx.helper.tensor_dtype_to_np_dtype(onnx_type)
    last, before = (np.float32((ml_dtypes.finfo(dtype).max.view(np.uint8) - i).view(dtype)) for i in range(2))
    between = np.float32(last + (last - before) / 2)
    greatest = np.nextafter(between, np.float32(0)) if np.isnan(between.astype(dtype)) else between
    size = graph.Abs.build(value).result
    beyond = graph.Greater.build(size, constant(float(greatest), like=size)).result
    return graph.Where.build(beyond, constant(np.nan, like=result), result).result


def to_narrow_float(node: Node, value: Any, onnx_type: int, saturate: bool, round_mode: str = "up") -> Any:
    """The nearest number of a float type of 4, 6 or 8 bits, as a single. Beyond its numbers the last one, or infinity
    or NaN if it is not to `saturate`."""
    value = cast(value, ir.F32Type.get())
    if onnx_type == POWER_OF_TWO:
        return _keeping_nan(value, _checked_power_of_two(node, value, saturate, round_mode), onnx_type)
    rounded = value
    if saturate or onnx_type not in _MAY_BECOME_INFINITE:
        low, high = limits(onnx_type)
        rounded = graph.Clip.build(value, min=low, max=high).result
    rounded = graph.RoundTo.build(rounded, format=onnx.helper.tensor_dtype_to_np_dtype(onnx_type).name).result
    if not saturate and onnx_type in _MAY_BECOME_NAN:
        rounded = _nan_beyond(value, rounded, onnx_type)
    return _keeping_nan(value, rounded, onnx_type)


def _checked_power_of_two(node: Node, value: Any, saturate: bool, round_mode: str) -> Any:
    if not saturate:
        message = "numbers beyond FLOAT8E8M0 would become NaN, which the machine does not have"
        raise node.error(message, hint="set saturate to 1: they become the largest number")
    if round_mode not in ("up", "down", "nearest"):
        raise node.error(f"round_mode '{round_mode}' does not exist", hint="use 'up', 'down' or 'nearest'")
    return _to_power_of_two(value, round_mode)


def converted(node: Node, value: Any, onnx_type: int) -> Any:
    """A value of any type as one of an ONNX type."""
    if onnx_type in NARROW_INTEGERS:
        return _to_narrow_integer(value, onnx_type)
    if onnx_type in NARROW_FLOATS:
        saturate = bool(node.attribute("saturate", 1))
        return to_narrow_float(node, value, onnx_type, saturate, node.attribute("round_mode", "up"))
    result = cast(value, node.element_type(onnx_type))
    return _keeping_nan(value, result, onnx_type) if onnx_type in _HALVES and _is_float(value) else result


def _is_float(value: Any) -> bool:
    return isinstance(element_type_of(value), ir.FloatType)


def cast_to(node: Node) -> Any:
    """Cast to the type of the attribute."""
    return _cast(node, node.attribute("to"))


def cast_like(node: Node) -> Any:
    """CastLike: the type of the second input."""
    like = node.onnx_type(1)
    return _cast(node, like) if like else cast(node.operand(0), element_type_of(node.operand(1)))


def _cast(node: Node, onnx_type: int) -> Any:
    value = node.operand(0)
    return value if node.onnx_type(0) == onnx_type else converted(node, value, onnx_type)


_SAME_WORDS = ("f32", "i32", "ui32")
_INTEGERS = ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")


def bit_cast(node: Node) -> Any:
    """BitCast between types whose values lie on the machine with the bits of their type."""
    value, to = node.operand(0), node.attribute("to")
    before, after = element_type_of(value), node.element_type(to)
    names = str(before), str(after)
    if node.onnx_type(0) == to:
        return value
    if set(names) <= set(_SAME_WORDS):
        return graph.Bitcast.build(value, result_type=graph.tensor(list(value.type.shape), after)).result
    narrow = {node.onnx_type(0), to} & (NARROW_FLOATS | NARROW_INTEGERS.keys())
    if (set(names) <= set(_INTEGERS) and not narrow) or (names[0] == "i1" and names[1] in ("i8", "ui8")):
        return cast(value, after)  # integers of equal width wrap around
    types = " to ".join(_Types.DataType.Name(kind) for kind in (node.onnx_type(0), to))
    message = f"the bits of {types} do not lie in the machine's words as in the type"
    raise node.error(message, hint="between FLOAT, INT32 and UINT32, and between integers of one width, BitCast works")
