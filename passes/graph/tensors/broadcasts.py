"""broadcast_to moves behind element-wise work, or vanishes where operations broadcast by themselves."""

from typing import Any

from mnc.core.rewrite import Pattern, refuse
from mnc.dialects.graph import shapes
from mnc.passes.graph.algebra.common import RootedPattern, operands_of, replace, result_of
from mnc.passes.graph.matching import producer, rebuilt, shape_of
from mnc.passes.graph.tensors.kinds import BINARY, UNARY, rebuilt_elementwise


class BehindElementwise(RootedPattern):
    """``f(broadcast(x), y) -> f(x, y)``, broadcast to the result where y does not reach it."""

    def match(self, op: Any) -> Any:
        found = [producer(value, "broadcast_to") for value in operands_of(op)]
        if not any(found):
            return None
        return [
            value if broadcast is None else operands_of(broadcast)[0]
            for value, broadcast in zip(operands_of(op), found, strict=True)
        ]

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        replace(op, rebuilt_elementwise(op, *match), rewriter)


class BatchOfMatMul(Pattern):
    """``broadcast(x) @ y -> x @ y`` where only leading dimensions are broadcast and y has them."""

    root = "graph.matmul"

    def match(self, op: Any) -> Any:
        operands = operands_of(op)
        found = [producer(value, "broadcast_to") for value in operands]
        if not any(found):
            return None
        sources = [
            value if broadcast is None else operands_of(broadcast)[0]
            for value, broadcast in zip(operands, found, strict=True)
        ]
        for value, source in zip(operands, sources, strict=True):
            rank = min(2, len(shape_of(value)))
            if len(shape_of(source)) < rank or shape_of(source)[-rank:] != shape_of(value)[-rank:]:
                return refuse("rows or columns are broadcast")
        if shapes.matmul(*(shape_of(source) for source in sources)) != shape_of(result_of(op)):
            return refuse("the other operand does not have the broadcast dimensions")
        return sources

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        rewriter.replace_op(op, [rebuilt(op, *match)])


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [*(BehindElementwise(kind) for kind in (*UNARY, *BINARY, "where")), BatchOfMatMul()]
