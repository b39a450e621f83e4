"""Transpositions move behind element-wise work, reductions and contractions, where they meet and cancel."""

from typing import Any

from mnc.core.bindings import ir
from mnc.core.rewrite import Pattern, refuse
from mnc.passes.graph.algebra.common import RootedPattern, build, operands_of, result_of
from mnc.passes.graph.matching import constant_of, has_one_use, is_constant, producer, rebuilt, reshaped, shape_of
from mnc.passes.graph.tensors.kinds import BINARY, UNARY, rebuilt_elementwise
from mnc.passes.graph.tensors.views import ints


def permutation_of(value: ir.Value) -> list[int] | None:
    """Permutation of the transposition that makes `value`, if one does."""
    op = producer(value, "transpose")
    return None if op is None else ints(op, "permutation")


def source_of(value: ir.Value) -> ir.Value:
    """Operand of the operation that makes `value`."""
    return operands_of(value.owner)[0]


def inverse(permutation: list[int]) -> list[int]:
    """The permutation that undoes `permutation`."""
    return [permutation.index(i) for i in range(len(permutation))]


def transposed(value: ir.Value, permutation: list[int]) -> ir.Value:
    """`value`, transposed unless that does nothing; of a transposition its source is transposed once.

    Without the latter, two patterns could hand a pair of transpositions to each other for ever.
    """
    inner = permutation_of(value)
    if inner is not None:
        return transposed(source_of(value), [inner[i] for i in permutation])
    return value if permutation == sorted(permutation) else build("transpose", value, permutation=permutation)


class BehindUnary(RootedPattern):
    """``f(x^T) -> f(x)^T``."""

    def match(self, op: Any) -> Any:
        return permutation_of(operands_of(op)[0])

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        value = rebuilt_elementwise(op, source_of(operands_of(op)[0]))
        rewriter.replace_op(op, [transposed(value, match)])


class BehindBinary(RootedPattern):
    """``f(x^T, y^T) -> f(x, y)^T`` for equal transpositions; a constant is transposed at compile time."""

    def match(self, op: Any) -> Any:
        found = [permutation_of(value) for value in operands_of(op)]
        permutation = next((p for p in found if p is not None), None)
        if permutation is None:
            return None
        shape = shape_of(result_of(op))
        for value, own in zip(operands_of(op), found, strict=True):
            if own is None and constant_of(value) is None:
                return refuse("the other operand is not transposed")
            if own is not None and (own != permutation or shape_of(value) != shape):
                return refuse("the operands are transposed differently or broadcast")
        return permutation

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        operands = [self._before(value, match) for value in operands_of(op)]
        rewriter.replace_op(op, [transposed(rebuilt_elementwise(op, *operands), match)])

    @staticmethod
    def _before(value: ir.Value, permutation: list[int]) -> ir.Value:
        if not is_constant(value):
            return source_of(value)
        if constant_of(value).size == 1:  # pyright: ignore[reportOptionalMemberAccess] - `match` has read it
            return reshaped(value, [])
        shape = shape_of(value)
        full = reshaped(value, [*[1] * (len(permutation) - len(shape)), *shape])
        return transposed(full, inverse(permutation))


class BehindReduction(Pattern):
    """``reduce(x^T) -> reduce(x)^T``: the smaller tensor is transposed, or nothing is."""

    root = "graph.reduce"

    def match(self, op: Any) -> Any:
        return permutation_of(operands_of(op)[0])

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        outer = ints(op, "axes")
        axes = sorted(match[axis] for axis in outer)
        attributes = op.operation.attributes
        x = source_of(operands_of(op)[0])
        value = build("reduce", x, kind=attributes["kind"], axes=axes, keepdims=attributes["keepdims"])
        if attributes["keepdims"].value:
            permutation = match
        else:
            kept = [match[i] for i in range(len(match)) if i not in outer]
            permutation = [sorted(kept).index(dimension) for dimension in kept]
        rewriter.replace_op(op, [transposed(value, permutation)])


class BehindConcat(Pattern):
    """``concat(x^T, y^T) -> concat(x, y)^T``."""

    root = "graph.concat"

    def match(self, op: Any) -> Any:
        left, right = (permutation_of(value) for value in operands_of(op))
        return left if left is not None and left == right else None

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        lhs, rhs = (source_of(value) for value in operands_of(op))
        value = build("concat", lhs, rhs, axis=match[op.operation.attributes["axis"].value])
        rewriter.replace_op(op, [transposed(value, match)])


def swap(rank: int) -> list[int]:
    """Permutation that exchanges the last two of `rank` dimensions."""
    return [*range(rank - 2), rank - 1, rank - 2]


def _is_swapped(value: ir.Value) -> bool:
    permutation = permutation_of(value)
    return permutation is not None and len(permutation) >= 2 and permutation == swap(len(permutation))


class ProductOfTransposed(Pattern):
    """``a^T @ b^T -> (b @ a)^T``: one transposition for two, which may cancel further on."""

    root = "graph.matmul"

    def match(self, op: Any) -> Any:
        swapped = [_is_swapped(value) for value in operands_of(op)]
        if not any(swapped):
            return None
        if all(swapped) and all(is_constant(source_of(value)) for value in operands_of(op)):
            return refuse("constants are transposed when compiling")  # `TransposedProduct` would undo it, endlessly
        return True if all(swapped) else refuse("only one operand is transposed, which costs a matrix product nothing")

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        lhs, rhs = (source_of(value) for value in operands_of(op))
        value = build("matmul", rhs, lhs)
        rewriter.replace_op(op, [transposed(value, swap(len(shape_of(value))))])


class TransposedProduct(Pattern):
    """``(a @ b)^T -> b^T @ a^T`` where that leaves fewer transpositions."""

    root = "graph.transpose"

    def match(self, op: Any) -> Any:
        product = producer(operands_of(op)[0], "matmul")
        permutation = ints(op, "permutation")
        if product is None or len(permutation) < 2 or permutation != swap(len(permutation)):
            return None
        factors = operands_of(product)
        if any(len(shape_of(value)) < 2 for value in factors):
            return None
        gained = sum(_is_swapped(value) for value in factors)
        free = sum(is_constant(value) for value in factors)
        if 2 - gained - free >= 1 + gained:
            return refuse("its factors would have to be transposed instead")
        return factors if has_one_use(operands_of(op)[0]) else refuse("the product has other uses")

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        lhs, rhs = match
        turned = [transposed(value, swap(len(shape_of(value)))) for value in (rhs, lhs)]
        rewriter.replace_op(op, [rebuilt(operands_of(op)[0].owner, *turned)])


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [
        *(BehindUnary(kind) for kind in UNARY),
        *(BehindBinary(kind) for kind in BINARY),
        BehindReduction(),
        BehindConcat(),
        ProductOfTransposed(),
        TransposedProduct(),
    ]
