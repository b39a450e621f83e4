"""Reshapes that only join rows move behind matrix products, where another one takes the rows apart again.

Exporters write ``[batch, token, feature] . [feature, n]`` as a product of two matrices between two reshapes, and
products of all heads of all batches the same way. Rows of 4 x 65 tokens have no places in common with 260 rows, so
that everything moves twice for it, and who works on one batch after another does not find them in one dimension.
"""

from math import prod
from typing import Any

from mnc.core.rewrite import Pattern, refuse
from mnc.passes.graph.algebra.common import RootedPattern, operands_of, result_of
from mnc.passes.graph.matching import producer, rebuilt, reshaped, shape_of
from mnc.passes.graph.tensors.kinds import BINARY, ELEMENTWISE

Shape = tuple[int, ...]
SEARCHED = 32
"""Operations at most that are looked at for a reshape that takes rows apart."""


def rows_apart(value: Any, kept: int) -> Shape | None:
    """The shape in which a value has rows that a reshape joins of several dimensions, and the last `kept` dimensions as
    they are, of which the reshape may join some, too, as heads; None for other values."""
    found, after = producer(value, "reshape"), shape_of(value)
    if found is None or len(after) != kept + 1:
        return None
    before = shape_of(operands_of(found)[0])
    leading = next((before[:i] for i in range(1, len(before)) if prod(before[:i]) == after[0]), before)
    is_join = len([extent for extent in leading if extent > 1]) > 1
    return (*leading, *after[1:]) if is_join and prod(before[len(leading) :]) == prod(after[1:]) else None


def apart(value: Any, shape: Shape) -> Any:
    """A value with the shape that `rows_apart` has found."""
    return reshaped(operands_of(value.owner)[0], shape)


def are_taken_apart(value: Any, leading: Shape) -> bool:
    """Whether a reshape behind a value, or behind element-wise work, products with matrices and slices of all rows, has
    these leading dimensions again."""
    queue = [value]
    for here in queue:
        for use in here.uses if len(queue) < SEARCHED else ():
            op = use.owner.operation
            if op.name == "graph.reshape" and shape_of(op.results[0])[: len(leading)] == leading:
                return True
            is_product = op.name == "graph.matmul" and use.operand_number == 0 and len(shape_of(op.operands[1])) == 2
            has_all_rows = op.name == "graph.slice" and shape_of(op.results[0])[:-1] == shape_of(here)[:-1]
            if is_product or has_all_rows or op.name.removeprefix("graph.") in ELEMENTWISE:
                queue.append(op.results[0])
    return False


class BehindMatrix(Pattern):
    """``reshape(x) . w -> reshape(x . w)`` for a matrix w."""

    root = "graph.matmul"

    def match(self, op: Any) -> Any:
        left, right = operands_of(op)
        shape = rows_apart(left, 1) if len(shape_of(right)) == 2 else None
        if shape is None:
            return None
        if not are_taken_apart(result_of(op), shape[:-1]):
            return refuse("nothing takes the rows apart again")
        return shape

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        left, right = operands_of(op)
        value = rebuilt(op, apart(left, match), right)
        rewriter.replace_op(op, [reshaped(value, shape_of(result_of(op)))])


class BehindBatch(Pattern):
    """``reshape(x) . reshape(y) -> reshape(x . y)`` for products of batches of matrices."""

    root = "graph.matmul"

    def match(self, op: Any) -> Any:
        shapes = [rows_apart(value, 2) for value in operands_of(op)]
        if any(shape is None for shape in shapes):
            return None
        leading = {shape[:-2] for shape in shapes if shape is not None}
        if len(leading) > 1:
            return refuse("the batches were of different shapes before")
        if not are_taken_apart(result_of(op), *leading):
            return refuse("nothing takes the batches apart again")
        return shapes

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        value = rebuilt(op, *(apart(value, shape) for value, shape in zip(operands_of(op), match, strict=True)))
        rewriter.replace_op(op, [reshaped(value, shape_of(result_of(op)))])


class BehindBatchOfOne(Pattern):
    """``reshape(x) . y -> reshape(x . y')`` for products of batches of matrices, where the reshape drops leading
    dimensions of 1 and y' has them: what was done to x before meets the product."""

    root = "graph.matmul"

    def match(self, op: Any) -> Any:
        left, right = operands_of(op)
        found = producer(left, "reshape")
        if found is None or len(shape_of(left)) != len(shape_of(right)) or len(shape_of(left)) < 3:
            return None
        before, after = shape_of(operands_of(found)[0]), shape_of(left)
        dropped = before[: max(len(before) - len(after), 0)]
        return dropped if dropped and before == (*(1 for _ in dropped), *after) else None

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        left, right = operands_of(op)
        value = rebuilt(op, operands_of(left.owner)[0], reshaped(right, (*match, *shape_of(right))))
        rewriter.replace_op(op, [reshaped(value, shape_of(result_of(op)))])


class BehindRow(RootedPattern):
    """``f(reshape(x), b) -> reshape(f(x, b))`` for a row b that all rows of x meet, or the other way round."""

    def match(self, op: Any) -> Any:
        values = operands_of(op)
        for number, other in ((0, 1), (1, 0)):
            shape = rows_apart(values[number], 1)
            if shape is None or shape_of(values[number]) != shape_of(result_of(op)):
                continue
            if len(shape_of(values[other])) != 1:
                continue
            if not are_taken_apart(result_of(op), shape[:-1]):
                return refuse("nothing takes the rows apart again")
            return number, shape
        return None

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        number, shape = match
        operands = operands_of(op)
        operands[number] = apart(operands[number], shape)
        rewriter.replace_op(op, [reshaped(rebuilt(op, *operands), shape_of(result_of(op)))])


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [BehindMatrix(), BehindBatch(), BehindBatchOfOne(), *(BehindRow(kind) for kind in BINARY)]
