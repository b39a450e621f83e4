"""broadcast_to moves behind element-wise work, or vanishes where operations broadcast by themselves."""

from typing import Any

from mnc.core.bindings import ir
from mnc.core.rewrite import Pattern
from mnc.passes.graph.algebra.common import RootedPattern, operands_of, replace
from mnc.passes.graph.matching import broadcast_to, producer, rebuilt, reshaped, shape_of
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


class OfMatMul(Pattern):
    """``broadcast(x) @ y -> broadcast(x @ y)``: rows, columns and batches are multiplied once.

    Only the contracted dimension has to be there in full. Where y has the broadcast dimensions nothing is left to
    broadcast.
    """

    root = "graph.matmul"

    def match(self, op: Any) -> Any:
        values = operands_of(op)
        shapes_ = [self._needed(value, number) for number, value in enumerate(values)]
        if shapes_ == [shape_of(value) for value in values]:
            return None
        return shapes_

    @staticmethod
    def _needed(value: ir.Value, number: int) -> tuple[int, ...]:
        """The least shape of an operand: what it is broadcast from, but all of the contracted dimension."""
        shape = shape_of(value)
        broadcast = producer(value, "broadcast_to")
        if broadcast is None or len(shape) < 2:
            return shape
        source = shape_of(operands_of(broadcast)[0])
        least = [*(1,) * (2 - len(source)), *source]
        contracted = -1 if number == 0 else -2
        least[contracted] = shape[contracted]
        return tuple(least)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        operands = []
        for value, shape in zip(operands_of(op), match, strict=True):
            if shape != shape_of(value):
                source = operands_of(producer(value, "broadcast_to"))[0]
                value = broadcast_to(reshaped(source, (*(1,) * (2 - len(shape_of(source))), *shape_of(source))), shape)
            operands.append(value)
        replace(op, rebuilt(op, *operands), rewriter)


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [*(BehindElementwise(kind) for kind in (*UNARY, *BINARY, "where")), OfMatMul()]
