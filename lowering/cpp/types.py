"""Element types and literals in C++."""

import math
from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.diagnostics import InternalError

_C_TYPE = {
    "f64": "double", "f32": "float", "f16": "Half", "bf16": "BFloat16", "i1": "bool", "i8": "std::int8_t",
    "i16": "std::int16_t", "i32": "std::int32_t", "i64": "std::int64_t", "index": "std::int64_t",
}  # fmt: skip

SHORT_FLOATS = {"f16": "Half", "bf16": "BFloat16"}
"""Types without arithmetic in C++17: stored in 16 bits, computed in float."""

_HOST_TYPE = {"f16": "std::uint16_t", "bf16": "std::uint16_t"}


def c_type(type_: ir.Type) -> str:
    """C++ type of a scalar; raises InternalError for a type without one."""
    if str(type_) not in _C_TYPE:
        raise InternalError(f"the C++ printer has no type for {type_}")
    return _C_TYPE[str(type_)]


def interface_type(type_: ir.Type, unsigned: bool) -> str:
    """How the header calls the element type: 16-bit floats as their bits, the sign as in the ONNX model."""
    if str(type_) in _HOST_TYPE:
        return _HOST_TYPE[str(type_)]
    text = c_type(type_)
    return text.replace("std::int", "std::uint") if unsigned else text


def unsigned_type(type_: ir.Type) -> str:
    """The unsigned type of the same width; bool stays."""
    return c_type(type_).replace("std::int", "std::uint")


def computing_type(type_: ir.Type) -> str:
    """The type that arithmetic is done in."""
    return "float" if str(type_) in SHORT_FLOATS else c_type(type_)


def float_literal(value: float, type_: str) -> str:
    """Shortest decimal literal of `type_` (float or double) that gives exactly `value`."""
    if math.isnan(value):
        return f"std::numeric_limits<{type_}>::quiet_NaN()"
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}std::numeric_limits<{type_}>::infinity()"
    text = str(np.float32(value)) if type_ == "float" else repr(float(value))
    if "." not in text and "e" not in text:
        text += ".0"
    return f"{text}f" if type_ == "float" else text


def hex_literal(value: Any) -> str:
    """A number of an array as a literal that a compiler reads back exactly."""
    if isinstance(value, np.bool_):
        return "true" if value else "false"
    if isinstance(value, np.floating):
        real = float(value)
        if not math.isfinite(real):
            return float_literal(real, "float" if value.itemsize == 4 else "double")
        mantissa, exponent = real.hex().split("p")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{'0x0' if mantissa.endswith('x') else mantissa}p{exponent}{'f' if value.itemsize == 4 else ''}"
    whole = int(value)
    if whole == -(1 << 63):
        return f"-{(1 << 63) - 1} - 1"
    return str(whole)
