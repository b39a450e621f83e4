"""Element-wise operators, comparisons and conversions."""

from collections.abc import Callable

import torch

from mnc.torch.call import Call


def _unary(op_type: str) -> Callable[[Call], str]:
    return lambda c: c.op(op_type, c.operand("self", c.dtype))


def _binary(op_type: str) -> Callable[[Call], str]:
    return lambda c: c.op(op_type, c.operand("self", c.dtype), c.operand("other", c.dtype))


def _scaled_other(c: Call) -> str:
    """Second operand of add and sub, times their alpha."""
    other, alpha = c.operand("other", c.dtype), c["alpha"]
    return other if alpha == 1 else c.op("Mul", other, c.value(alpha, c.dtype))


def _add(c: Call) -> str:
    if c.dtype == torch.bool:
        return _logical("Or")(c)
    return c.op("Add", c.operand("self", c.dtype), _scaled_other(c))


def _mul(c: Call) -> str:
    """Of booleans, torch's product is And, and the sum Or."""
    return (_logical("And") if c.dtype == torch.bool else _binary("Mul"))(c)


def _sub(c: Call) -> str:
    return c.op("Sub", c.operand("self", c.dtype), _scaled_other(c))


def _reversed_sub(c: Call) -> str:
    """``other - alpha * self``."""
    value, alpha = c.operand("self", c.dtype), c["alpha"]
    value = value if alpha == 1 else c.op("Mul", value, c.value(alpha, c.dtype))
    return c.op("Sub", c.operand("other", c.dtype), value)


def _remainder(c: Call) -> str:
    """With the sign of the divisor; ONNX has that for integers only."""
    value, divisor = c.operand("self", c.dtype), c.operand("other", c.dtype)
    if not c.dtype.is_floating_point:
        return c.op("Mod", value, divisor, fmod=0)
    return c.op("Sub", value, c.op("Mul", c.op("Floor", c.op("Div", value, divisor)), divisor))


def _div(c: Call) -> str:
    mode = c["rounding_mode"] if "rounding_mode" in c.names else None
    if mode is None:
        return _binary("Div")(c)
    value, divisor = c.operand("self", c.dtype), c.operand("other", c.dtype)
    if not c.dtype.is_floating_point:  # ONNX divides integers toward zero, and its Mod has the sign of the divisor
        whole = value if mode == "trunc" else c.op("Sub", value, c.op("Mod", value, divisor, fmod=0))
        return c.op("Div", whole, divisor)
    result = c.op("Div", value, divisor)
    return c.op("Floor", result) if mode == "floor" else _toward_zero(c, result)


def _toward_zero(c: Call, value: str) -> str:
    return c.op("Mul", c.op("Sign", value), c.op("Floor", c.op("Abs", value)))


def _trunc(c: Call) -> str:
    return _toward_zero(c, c.operand("self", c.dtype))


def _fmod(c: Call) -> str:
    """With the sign of the dividend."""
    return c.op("Mod", c.operand("self", c.dtype), c.operand("other", c.dtype), fmod=1)


def _comparison(op_type: str, negated: bool = False) -> Callable[[Call], str]:
    def handler(c: Call) -> str:
        dtype = c.promoted("self", "other")
        result = c.op(op_type, c.operand("self", dtype), c.operand("other", dtype))
        return c.op("Not", result) if negated else result

    return handler


def _logical(op_type: str) -> Callable[[Call], str]:
    """And, Or, Xor of whether numbers are not 0."""
    return lambda c: c.op(op_type, c.operand("self", torch.bool), c.operand("other", torch.bool))


def _bitwise(op_type: str) -> Callable[[Call], str]:
    """And, Or, Xor of booleans, or of the bits of integers."""
    return lambda c: (_logical(op_type) if c.dtype == torch.bool else _binary(f"Bitwise{op_type}"))(c)


def _not(c: Call) -> str:
    return c.op("Not", c.operand("self", torch.bool))


def _bitwise_not(c: Call) -> str:
    return _not(c) if c.dtype == torch.bool else _unary("BitwiseNot")(c)


def _where(c: Call) -> str:
    return c.op("Where", c.operand("condition", torch.bool), c.operand("self", c.dtype), c.operand("other", c.dtype))


def _pow(c: Call) -> str:
    base, exponent = c.operand("self", c.dtype), c["exponent"]
    if exponent == 2:
        return c.op("Mul", base, base)
    if exponent == 3:
        return c.op("Mul", c.op("Mul", base, base), base)
    if exponent == 0.5:
        return c.op("Sqrt", base)
    if exponent == -1:
        return c.op("Reciprocal", base)
    return c.op("Pow", base, c.value(exponent, c.dtype))


def _rsqrt(c: Call) -> str:
    return c.op("Reciprocal", c.op("Sqrt", c.operand("self", c.dtype)))


def _square_free(sign: str) -> Callable[[Call], str]:
    """exp(x) - 1 and log(1 + x), which ONNX has no operator for; exact to a rounding of the 1."""

    def handler(c: Call) -> str:
        one = c.value(1, c.dtype)
        if sign == "expm1":
            return c.op("Sub", c.op("Exp", c.operand("self", c.dtype)), one)
        return c.op("Log", c.op("Add", c.operand("self", c.dtype), one))

    return handler


def _clamp(c: Call) -> str:
    value = c.operand("self", c.dtype)
    if c["min"] is not None:
        value = c.op("Max", value, c.operand("min", c.dtype))
    if c["max"] is not None:
        value = c.op("Min", value, c.operand("max", c.dtype))
    return value


def _clamp_min(c: Call) -> str:
    return c.op("Max", c.operand("self", c.dtype), c.operand("min", c.dtype))


def _clamp_max(c: Call) -> str:
    return c.op("Min", c.operand("self", c.dtype), c.operand("max", c.dtype))


def _gelu(c: Call) -> str:
    return c.op("Gelu", c.operand("self"), approximate=c["approximate"])


def _convert(c: Call) -> str:
    source = "a" if "a" in c.names else "self"
    return c.operand(source, c.dtype)


def _same(c: Call) -> str:
    """Copies and views of the same elements disappear."""
    return c.operand("self")


OPERATORS = {
    **{name: _unary(name.capitalize()) for name in (
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "erf", "exp", "floor", "log",
        "neg", "reciprocal", "relu", "round", "sigmoid", "sign", "sin",
        "sqrt", "tanh",
    )},
    "expm1": _square_free("expm1"),
    "log1p": _square_free("log1p"),
    "add": _add,
    "sub": _sub,
    "rsub": _reversed_sub,
    "mul": _mul,
    "div": _div,
    "fmod": _fmod,
    "remainder": _remainder,
    "trunc": _trunc,
    "maximum": _binary("Max"),
    "minimum": _binary("Min"),
    "eq": _comparison("Equal"),
    "ne": _comparison("Equal", negated=True),
    "lt": _comparison("Less"),
    "le": _comparison("LessOrEqual"),
    "gt": _comparison("Greater"),
    "ge": _comparison("GreaterOrEqual"),
    **{f"logical_{name}": _logical(name.capitalize()) for name in ("and", "or", "xor")},
    **{f"bitwise_{name}": _bitwise(name.capitalize()) for name in ("and", "or", "xor")},
    "logical_not": _not,
    "bitwise_not": _bitwise_not,
    "isnan": lambda c: c.op("IsNaN", c.operand("self")),
    "where": _where,
    "pow": _pow,
    "rsqrt": _rsqrt,
    "clamp": _clamp,
    "clamp_min": _clamp_min,
    "clamp_max": _clamp_max,
    "gelu": _gelu,
    "_to_copy": _convert,
    "convert_element_type": _convert,
    **dict.fromkeys(("alias", "clone", "detach", "detach_", "lift_fresh_copy", "contiguous"), _same),
}  # fmt: skip
