"""Element-wise operations on one tensor: result type equals operand type."""

from collections.abc import Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.dialects.graph import attributes as attr
from mnc.dialects.graph.base import Attributes, GraphOp, Tensor, TensorResult, TensorType, is_bool, is_float, tensor


class UnaryOp(GraphOp):
    """``result[i] = f(operand[i])``. Demands floats; `integers` allows integers too, `booleans` only i1."""

    operand: Tensor
    result: TensorResult
    integers = False
    booleans = False

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        (operand,) = operands
        kind = operand.element_type
        if is_bool(kind) or cls.booleans:
            works = is_bool(kind) and cls.booleans
        else:
            works = is_float(kind) or cls.integers
        if not works:
            raise ValueError(f"does not work on element type {kind}")
        cls.check_attributes(attributes)
        return [operand]

    @classmethod
    def check_attributes(cls, attributes: Attributes) -> None:
        """Raise ValueError unless the attributes are well formed."""


class Neg(UnaryOp, name="neg"):
    """``-x``."""

    integers = True


class Abs(UnaryOp, name="abs"):
    """``|x|``."""

    integers = True


class Sign(UnaryOp, name="sign"):
    """-1, 0 or 1; NaN stays NaN."""

    integers = True


class Exp(UnaryOp, name="exp"):
    """``e**x``."""


class Log(UnaryOp, name="log"):
    """Natural logarithm."""


class Sqrt(UnaryOp, name="sqrt"):
    """Square root."""


class Reciprocal(UnaryOp, name="reciprocal"):
    """``1 / x``."""


class Floor(UnaryOp, name="floor"):
    """Largest integer not above x."""


class Ceil(UnaryOp, name="ceil"):
    """Smallest integer not below x."""


class Round(UnaryOp, name="round"):
    """Nearest integer, halves to even."""


class Erf(UnaryOp, name="erf"):
    """Gauss error function."""


class Sin(UnaryOp, name="sin"):
    """Sine of x in radians."""


class Cos(UnaryOp, name="cos"):
    """Cosine of x in radians."""


class Not(UnaryOp, name="not"):
    """Logical negation of i1."""

    booleans = True


class IsNan(UnaryOp, name="is_nan"):
    """i1: whether x is NaN."""

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        (operand,) = super().infer(operands, attributes)
        return [tensor(operand.shape, ir.IntegerType.get_signless(1, operand.element_type.context))]


class Relu(UnaryOp, name="relu"):
    """``max(x, 0)``."""

    integers = True


class Sigmoid(UnaryOp, name="sigmoid"):
    """``1 / (1 + e**-x)``."""


class Tanh(UnaryOp, name="tanh"):
    """Hyperbolic tangent."""


class Softplus(UnaryOp, name="softplus"):
    """``log(1 + e**x)``."""


class Mish(UnaryOp, name="mish"):
    """``x * tanh(softplus(x))``."""


class HardSwish(UnaryOp, name="hard_swish"):
    """``x * max(0, min(1, x / 6 + 1 / 2))``."""


class LeakyRelu(UnaryOp, name="leaky_relu"):
    """``x if x >= 0 else alpha * x``."""

    alpha: ir.FloatAttr

    @classmethod
    def check_attributes(cls, attributes: Attributes) -> None:
        attr.real(attributes, "alpha")


class Elu(UnaryOp, name="elu"):
    """``x if x >= 0 else alpha * (e**x - 1)``."""

    alpha: ir.FloatAttr

    @classmethod
    def check_attributes(cls, attributes: Attributes) -> None:
        attr.real(attributes, "alpha")


class Selu(UnaryOp, name="selu"):
    """``gamma * (x if x > 0 else alpha * (e**x - 1))``."""

    alpha: ir.FloatAttr
    gamma: ir.FloatAttr

    @classmethod
    def check_attributes(cls, attributes: Attributes) -> None:
        attr.real(attributes, "alpha")
        attr.real(attributes, "gamma")


class HardSigmoid(UnaryOp, name="hard_sigmoid"):
    """``max(0, min(1, alpha * x + beta))``."""

    alpha: ir.FloatAttr
    beta: ir.FloatAttr

    @classmethod
    def check_attributes(cls, attributes: Attributes) -> None:
        attr.real(attributes, "alpha")
        attr.real(attributes, "beta")


class Gelu(UnaryOp, name="gelu"):
    """``x / 2 * (1 + erf(x / sqrt(2)))``, or its tanh form when ``approximate = "tanh"``."""

    approximate: ir.StringAttr

    @classmethod
    def check_attributes(cls, attributes: Attributes) -> None:
        attr.string(attributes, "approximate", ("none", "tanh"))


class Clip(UnaryOp, name="clip"):
    """``min(max(x, min), max)``; each bound is an optional f32 attribute, absent means unbounded."""

    integers = True
    optional_attributes = ("min", "max")

    @classmethod
    def check_attributes(cls, attributes: Attributes) -> None:
        for bound in cls.optional_attributes:
            if bound in attributes:
                attr.real(attributes, bound)


FLOAT_FORMATS = (
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float6_e2m3fn", "float6_e3m2fn",
    "float4_e2m1fn",
)  # fmt: skip


class RoundTo(UnaryOp, name="round_to"):
    """The nearest number of a float format of 4, 6 or 8 bits, halves to even; float8_e5m2 becomes infinite beyond its
    numbers, for other formats x lies within them. The format is named as in ml_dtypes; the element type stays f32."""

    format: ir.StringAttr

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        if str(operands[0].element_type) != "f32":
            raise ValueError(f"does not work on element type {operands[0].element_type}")
        return super().infer(operands, attributes)

    @classmethod
    def check_attributes(cls, attributes: Attributes) -> None:
        attr.string(attributes, "format", FLOAT_FORMATS)


def _check_shapes(operands: Sequence[Any], results: Sequence[Any]) -> None:
    if list(operands[0].shape) != list(results[0].shape):
        raise ValueError(f"changes the shape from {operands[0]} to {results[0]}")


class Bitcast(GraphOp, name="bitcast"):
    """The same 32 bits as another type: f32, i32 or ui32."""

    operand: Tensor
    result: TensorResult

    @classmethod
    def check(cls, operands: Sequence[Any], results: Sequence[Any], attributes: Attributes) -> None:
        _check_shapes(operands, results)
        if not all(str(type_.element_type) in ("f32", "i32", "ui32") for type_ in (operands[0], results[0])):
            raise ValueError(f"needs types of 32 bits, found {operands[0]} and {results[0]}")


class Cast(GraphOp, name="cast"):
    """Convert the element type, as ONNX Cast does: float to integer truncates, to i1 tests ``x != 0``."""

    operand: Tensor
    result: TensorResult

    @classmethod
    def check(cls, operands: Sequence[Any], results: Sequence[Any], attributes: Attributes) -> None:
        _check_shapes(operands, results)
