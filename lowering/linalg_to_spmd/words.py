"""Element types on the machine: every element is one 32-bit word."""

import struct
from typing import Any

from mnc.core.bindings import ir


def word_type(element: Any) -> Any:
    """Floats are singles, integers 32 bits; booleans keep their type (0 or 1 in a word)."""
    if isinstance(element, ir.IndexType) or (isinstance(element, ir.IntegerType) and element.width != 1):
        return ir.IntegerType.get_signless(32)
    if isinstance(element, ir.IntegerType | ir.F32Type):
        return element
    return ir.F32Type.get()


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
