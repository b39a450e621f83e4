"""Element types on the machine: every element is one 32-bit word."""

import struct
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.dialects.graph.attributes import to_numpy

WORD_BITS = 32


def word_type(element: Any) -> Any:
    """Floats are singles, integers 32 bits; booleans keep their type (0 or 1 in a word)."""
    if isinstance(element, ir.IndexType) or (isinstance(element, ir.IntegerType) and element.width != 1):
        return ir.IntegerType.get_signless(32)
    if isinstance(element, ir.IntegerType | ir.F32Type):
        return element
    return ir.F32Type.get()


def short_mask(element: Any) -> int | None:
    """The bits of an integer type shorter than a word; None for others and for booleans, which are 0 or 1."""
    width = element.width if isinstance(element, ir.IntegerType) else WORD_BITS
    return (1 << width) - 1 if 1 < width < WORD_BITS else None


def word_attribute(value: float, element: Any) -> Any:
    """Scalar attribute of the machine type of an element; wider integers saturate."""
    type_ = word_type(element)
    if not isinstance(type_, ir.IntegerType):
        return ir.FloatAttr.get(type_, float(value))
    if type_.width == 1:
        return ir.IntegerAttr.get(type_, int(bool(value)))
    if isinstance(element, ir.IntegerType) and element.width == 32:
        return ir.IntegerAttr.get(type_, (int(value) + 2**31) % 2**32 - 2**31)
    return ir.IntegerAttr.get(type_, min(max(int(value), -(2**31)), 2**31 - 1))


def word_bits(attribute: Any) -> int:
    """The word of a scalar attribute, as a signed 32-bit integer."""
    if isinstance(attribute, ir.FloatAttr):
        return struct.unpack("<i", struct.pack("<f", attribute.value))[0]
    value = ir.IntegerAttr(attribute).value
    return (int(value) + 2**31) % 2**32 - 2**31


def _limits(element: Any) -> tuple[float, float]:
    """Least and greatest value of a type of which a word holds only a part, infinities for a type that fits."""
    if isinstance(element, ir.F64Type):
        return -float(np.finfo(np.float64).max), float(np.finfo(np.float64).max)
    if isinstance(element, ir.IntegerType) and element.width > 32:
        return -(2 ** (element.width - 1)), 2 ** (element.width - 1) - 1
    return -np.inf, np.inf


def _unfitting(attribute: Any) -> Any | None:
    """A value of a constant that its word would change beyond rounding, None if all fit.

    The limits of the type itself, alone or everywhere in the constant, mean "no limit", as in a bound of Min or as the
    start of a maximum: those saturate.
    """
    dense = isinstance(attribute, ir.DenseElementsAttr)
    element = ir.RankedTensorType(attribute.type).element_type if dense else attribute.type
    smallest, largest = _limits(element)
    if largest == np.inf:
        return None
    values = to_numpy(attribute).reshape(-1) if dense else np.array([attribute.value])
    if not len(values) or ((not dense or attribute.is_splat) and values[0] in (smallest, largest)):
        return None
    if isinstance(element, ir.F64Type):
        outside = np.isfinite(values) & (np.abs(values) > np.finfo(np.float32).max)
    else:
        outside = (values < -(2**31)) | (values > 2**31 - 1)
    return values[outside][0] if outside.any() else None


def check_words(function: Any) -> None:
    """Refuse constants that no word of the machine holds; raises CompileError naming the node."""

    found: list[tuple[Any, Any]] = []  # an exception would not pass through the walk

    def visit(op: Any) -> Any:
        value = _unfitting(op.attributes["value"]) if op.name == "arith.constant" else None
        if value is not None:
            found.append((op, value))
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    for op, value in found:
        kind = "32-bit integers" if isinstance(value, int | np.integer) else "single precision"
        hint = "the machine computes with 32-bit words: scale or shift the values to fit"
        raise error_at(op, f"the constant {value} does not fit {kind}", hint)
