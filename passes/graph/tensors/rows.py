"""Reshapes that only join rows move behind matrix products, where another one takes the rows apart again.

Exporters write ``[batch, token, feature] . [feature, n]`` as a product of two matrices between two reshapes, and
products of all heads of all batches the same way. Rows of 4 x 65 tokens have no places in common with 260 rows, so
that everything moves twice for it.
"""

from typing import Any

from mnc.core.rewrite import Pattern, refuse
from mnc.passes.graph.algebra.common import RootedPattern, operands_of, result_of
from mnc.passes.graph.matching import producer, rebuilt, reshaped, shape_of
from mnc.passes.graph.tensors.kinds import BINARY, ELEMENTWISE

Shape = tuple[int, ...]
SEARCHED = 32
"""Operations at most that are looked at for a reshape that takes rows apart."""


def joined_rows(value: Any, kept: int) -> Any:
    """The operand of a reshape that joins several leading dimensions, not all powers of two, and leaves the last
    `kept` as they are; None for other values."""
    found = producer(value, "reshape")
    if found is None:
        return None
    before, after = shape_of(operands_of(found)[0]), shape_of(value)
    leading = [extent for extent in before[:-kept] if extent > 1]
    is_join = len(after) == kept + 1 and len(before) > kept + 1 and before[-kept:] == after[-kept:]
    is_uneven = any(extent & extent - 1 for extent in leading[1:])  # else rows have the same places either way
    return operands_of(found)[0] if is_join and is_uneven else None


def are_taken_apart(value: Any, leading: Shape) -> bool:
    """Whether a reshape behind a value, or behind element-wise work and products with matrices on it, has these leading
    dimensions again."""
    queue = [value]
    for here in queue:
        for use in here.uses if len(queue) < SEARCHED else ():
            op = use.owner.operation
            if op.name == "graph.reshape" and shape_of(op.results[0])[: len(leading)] == leading:
                return True
            is_product = op.name == "graph.matmul" and use.operand_number == 0 and len(shape_of(op.operands[1])) == 2
            if is_product or op.name.removeprefix("graph.") in ELEMENTWISE:
                queue.append(op.results[0])
    return False


class BehindMatrix(Pattern):
    """``reshape(x) . w -> reshape(x . w)`` for a matrix w."""

    root = "graph.matmul"

    def match(self, op: Any) -> Any:
        left, right = operands_of(op)
        source = joined_rows(left, 1) if len(shape_of(right)) == 2 else None
        if source is None:
            return None
        if not are_taken_apart(result_of(op), shape_of(source)[:-1]):
            return refuse("nothing takes the rows apart again")
        return source

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        value = rebuilt(op, match, operands_of(op)[1])
        rewriter.replace_op(op, [reshaped(value, shape_of(result_of(op)))])


class BehindBatch(Pattern):
    """``reshape(x) . reshape(y) -> reshape(x . y)`` for products of batches of matrices."""

    root = "graph.matmul"

    def match(self, op: Any) -> Any:
        sources = [joined_rows(value, 2) for value in operands_of(op)]
        if any(source is None for source in sources):
            return None
        leading = {shape_of(source)[:-2] for source in sources}
        if len(leading) > 1:
            return refuse("the batches were of different shapes before")
        if not are_taken_apart(result_of(op), *leading):
            return refuse("nothing takes the batches apart again")
        return sources

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        value = rebuilt(op, *match)
        rewriter.replace_op(op, [reshaped(value, shape_of(result_of(op)))])


class BehindRow(RootedPattern):
    """``f(reshape(x), b) -> reshape(f(x, b))`` for a row b that all rows of x meet, or the other way round."""

    def match(self, op: Any) -> Any:
        values = operands_of(op)
        for number, other in ((0, 1), (1, 0)):
            source = joined_rows(values[number], 1)
            if source is None or shape_of(values[number]) != shape_of(result_of(op)):
                continue
            if len(shape_of(values[other])) != 1:
                continue
            if not are_taken_apart(result_of(op), shape_of(source)[:-1]):
                return refuse("nothing takes the rows apart again")
            return number, source
        return None

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        number, source = match
        operands = operands_of(op)
        operands[number] = source
        rewriter.replace_op(op, [reshaped(rebuilt(op, *operands), shape_of(result_of(op)))])


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [BehindMatrix(), BehindBatch(), *(BehindRow(kind) for kind in BINARY)]
