"""Reshapes move behind element-wise work, so that they meet, and so that work stays next to its producer."""

from typing import Any

from mnc.core.rewrite import Pattern, refuse
from mnc.passes.graph.algebra.common import RootedPattern, build, operands_of, result_of
from mnc.passes.graph.matching import constant, has_one_use, producer, reshaped, shape_of, splat_of
from mnc.passes.graph.tensors.kinds import BINARY, UNARY, rebuilt_elementwise
from mnc.passes.graph.tensors.views import ints


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


class IntoReduction(Pattern):
    """``reshape(reduce(x))`` that only adds or drops the reduced dimensions is the other form of the reduction."""

    root = "graph.reshape"

    def match(self, op: Any) -> Any:
        found = producer(operands_of(op)[0], "reduce")
        if found is None:
            return None
        keeps = bool(found.operation.attributes["keepdims"].value)
        shape, axes = shape_of(operands_of(found)[0]), ints(found, "axes")
        kept = [1 if i in axes else extent for i, extent in enumerate(shape)]
        other = [extent for i, extent in enumerate(kept) if i not in axes] if keeps else kept
        if tuple(other) != shape_of(result_of(op)):
            return None
        if not has_one_use(result_of(found)):
            return refuse("the reduction has other uses, for which it would be computed again")
        return found

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        attributes, axes = match.operation.attributes, ints(match, "axes")
        keeps = not attributes["keepdims"].value
        value = build("reduce", operands_of(match)[0], kind=attributes["kind"], axes=axes, keepdims=keeps)
        rewriter.replace_op(op, [value])


def constant_number(value: Any) -> Any:
    """A constant of equal elements as a tensor without dimensions."""
    return constant(splat_of(value), like=value)


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [IntoReduction(), *(BehindUnary(kind) for kind in UNARY), *(BehindBinary(kind) for kind in BINARY)]
