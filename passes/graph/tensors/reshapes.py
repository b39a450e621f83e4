"""Reshapes move behind element-wise work, so that they meet, and so that work stays next to its producer."""

from typing import Any

from mnc.core.rewrite import Pattern, refuse
from mnc.passes.graph.algebra.common import RootedPattern, operands_of, result_of
from mnc.passes.graph.matching import constant, producer, reshaped, shape_of, splat_of
from mnc.passes.graph.tensors.kinds import BINARY, UNARY, rebuilt_elementwise


class BehindUnary(RootedPattern):
    """``f(reshape(x)) -> reshape(f(x))``."""

    def match(self, op: Any) -> Any:
        return producer(operands_of(op)[0], "reshape")

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        value = rebuilt_elementwise(op, operands_of(match)[0])
        rewriter.replace_op(op, [reshaped(value, shape_of(result_of(op)))])


class BehindBinary(RootedPattern):
    """``f(reshape(x), reshape(y)) -> reshape(f(x, y))`` for x and y of one shape; either may be a constant number."""

    def match(self, op: Any) -> Any:
        values = operands_of(op)
        found = [producer(value, "reshape") for value in values]
        if not any(found):
            return None
        sources = []
        for value, reshape in zip(values, found, strict=True):
            if reshape is not None and shape_of(value) == shape_of(result_of(op)):
                sources.append(operands_of(reshape)[0])
            elif reshape is None and splat_of(value) is not None:
                sources.append(None)
            else:
                return refuse("the other operand is neither reshaped alike nor one number")
        shapes = {shape_of(source) for source in sources if source is not None}
        return sources if len(shapes) == 1 else refuse("the operands had different shapes before")

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        operands = [
            constant_number(value) if source is None else source
            for value, source in zip(operands_of(op), match, strict=True)
        ]
        value = rebuilt_elementwise(op, *operands)
        rewriter.replace_op(op, [reshaped(value, shape_of(result_of(op)))])


def constant_number(value: Any) -> Any:
    """A constant of equal elements as a tensor without dimensions."""
    return constant(splat_of(value), like=value)


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [*(BehindUnary(kind) for kind in UNARY), *(BehindBinary(kind) for kind in BINARY)]
