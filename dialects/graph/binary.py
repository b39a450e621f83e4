"""Element-wise operations on several tensors, with implicit numpy broadcasting."""

from collections.abc import Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.dialects.graph import attributes as attr
from mnc.dialects.graph import shapes
from mnc.dialects.graph.base import (
    Attributes,
    GraphOp,
    Tensor,
    TensorResult,
    TensorType,
    is_bool,
    same_element_type,
    tensor,
)


class ArithmeticOp(GraphOp):
    """``result[i] = f(lhs[i], rhs[i])`` on numbers. Demands equal element types, not i1, and broadcastable shapes."""

    lhs: Tensor
    rhs: Tensor
    result: TensorResult

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        kind = same_element_type(operands)
        if is_bool(kind):
            raise ValueError("does not work on element type i1")
        return [tensor(shapes.broadcast(*(type_.shape for type_ in operands)), kind)]


class Add(ArithmeticOp, name="add"):
    """``lhs + rhs``."""


class Sub(ArithmeticOp, name="sub"):
    """``lhs - rhs``."""


class Mul(ArithmeticOp, name="mul"):
    """``lhs * rhs``."""


class Div(ArithmeticOp, name="div"):
    """``lhs / rhs``; on integers the quotient is truncated toward zero."""


class Max(ArithmeticOp, name="max"):
    """The larger one; NaN if either is NaN."""


class Min(ArithmeticOp, name="min"):
    """The smaller one; NaN if either is NaN."""


class Pow(ArithmeticOp, name="pow"):
    """``lhs ** rhs``."""


class Mod(ArithmeticOp, name="mod"):
    """Remainder with the sign of the divisor, or of the dividend when ``fmod`` is true (as C's fmod)."""

    fmod: Any

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        attr.boolean(attributes, "fmod")
        return super().infer(operands, attributes)


class CompareOp(GraphOp):
    """``result[i] = lhs[i] R rhs[i]`` as i1. Demands equal element types and broadcastable shapes."""

    lhs: Tensor
    rhs: Tensor
    result: TensorResult

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        kind = same_element_type(operands)
        boolean = ir.IntegerType.get_signless(1, kind.context)
        return [tensor(shapes.broadcast(*(type_.shape for type_ in operands)), boolean)]


class Equal(CompareOp, name="equal"):
    """``lhs == rhs``; false if either is NaN."""


class Greater(CompareOp, name="greater"):
    """``lhs > rhs``; false if either is NaN."""


class Less(CompareOp, name="less"):
    """``lhs < rhs``; false if either is NaN."""


class GreaterOrEqual(CompareOp, name="greater_or_equal"):
    """``lhs >= rhs``; false if either is NaN."""


class LessOrEqual(CompareOp, name="less_or_equal"):
    """``lhs <= rhs``; false if either is NaN."""


class LogicOp(GraphOp):
    """``result[i] = f(lhs[i], rhs[i])`` on i1."""

    lhs: Tensor
    rhs: Tensor
    result: TensorResult

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        kind = same_element_type(operands)
        if not is_bool(kind):
            raise ValueError(f"works on element type i1, not on {kind}")
        return [tensor(shapes.broadcast(*(type_.shape for type_ in operands)), kind)]


class And(LogicOp, name="and"):
    """Logical and."""


class Or(LogicOp, name="or"):
    """Logical or."""


class Xor(LogicOp, name="xor"):
    """Exclusive or."""


class BitwiseOp(GraphOp):
    """``result[i] = f(lhs[i], rhs[i])`` on the bits of integers. Demands equal integer types, not i1."""

    lhs: Tensor
    rhs: Tensor
    result: TensorResult

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        kind = same_element_type(operands)
        if is_bool(kind) or not isinstance(kind, ir.IntegerType):
            raise ValueError(f"works on integers, not on {kind}")
        return [tensor(shapes.broadcast(*(type_.shape for type_ in operands)), kind)]


class BitwiseAnd(BitwiseOp, name="bitwise_and"):
    """Bits that both have."""


class BitwiseOr(BitwiseOp, name="bitwise_or"):
    """Bits that either has."""


class BitwiseXor(BitwiseOp, name="bitwise_xor"):
    """Bits that one has and the other has not."""


class ShiftLeft(BitwiseOp, name="shift_left"):
    """``lhs * 2**rhs``, cut to the width of the type."""


class ShiftRight(BitwiseOp, name="shift_right"):
    """``floor(lhs / 2**rhs)``."""


class Where(GraphOp, name="where"):
    """``lhs[i] if condition[i] else rhs[i]``, all three broadcast; the condition is i1."""

    condition: Tensor
    lhs: Tensor
    rhs: Tensor
    result: TensorResult

    @classmethod
    def infer(cls, operands: Sequence[Any], attributes: Attributes) -> list[TensorType]:
        condition, lhs, rhs = operands
        if not is_bool(condition.element_type):
            raise ValueError(f"the condition must be i1, found {condition.element_type}")
        kind = same_element_type([lhs, rhs])
        return [tensor(shapes.broadcast(condition.shape, lhs.shape, rhs.shape), kind)]
