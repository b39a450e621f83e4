"""Associativity: constants of a chain of sums or products are combined at compile time."""

from typing import Any

import numpy as np

from mnc.core.bindings import ir
from mnc.core.rewrite import Pattern, refuse
from mnc.passes.graph.algebra.common import (
    SIGN_OF_ZERO,
    RootedPattern,
    build,
    operands_of,
    replace,
    representable,
    result_of,
    wide,
)
from mnc.passes.graph.matching import constant, constant_of, has_one_use, is_float, producer
from mnc.passes.graph.ranges import sign_of_zero_is_seen

OTHER_USES = "the inner result has other uses, so that nothing is saved"


def combined(kind: str, first: ir.Value, second: ir.Value) -> Any:
    """`first` and `second` (constants) added, subtracted or multiplied; a refusal where that loses something."""
    a, b = constant_of(first), constant_of(second)
    return None if a is None or b is None else combined_arrays(kind, a, b, first)


def combined_arrays(kind: str, a: np.ndarray, b: np.ndarray, like: ir.Value) -> Any:
    """The same for arrays that become a constant of the element type of `like`."""
    if np.broadcast(a, b).size > max(a.size, b.size):
        return refuse("the combined constant is larger than both")
    with np.errstate(all="ignore"):
        value = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[kind](wide(a), wide(b))
    if not representable(value, like):
        return refuse("the combined constant overflows or underflows")
    return value


class ConstantChain(RootedPattern):
    """``(x + c) + d -> x + (c + d)``; the same for products."""

    def match(self, op: Any) -> Any:
        kind = self.root.removeprefix("graph.")
        lhs, rhs = operands_of(op)
        inner = producer(lhs, kind)
        if inner is None or constant_of(rhs) is None or constant_of(operands_of(inner)[1]) is None:
            return None
        if not has_one_use(lhs):
            return refuse(OTHER_USES)
        value = combined(kind, operands_of(inner)[1], rhs)
        return (operands_of(inner)[0], value) if isinstance(value, np.ndarray | np.generic) else value

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        x, value = match
        made = constant(value, like=result_of(op))
        replace(op, build(self.root.removeprefix("graph."), x, made), rewriter)


class SubtractedConstant(Pattern):
    """``x - c -> x + -c``, so that chains are sums."""

    root = "graph.sub"

    def match(self, op: Any) -> Any:
        array = constant_of(operands_of(op)[1])
        return None if array is None else (array,)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        lhs, rhs = operands_of(op)
        replace(op, build("add", lhs, constant(np.negative(match[0]), like=rhs)), rewriter)


class ConstantMinusChain(RootedPattern):
    """``(c - x) + d -> (c + d) - x`` and ``c - (x + d) -> (c - d) - x``."""

    def match(self, op: Any) -> Any:
        lhs, rhs = operands_of(op)
        outer, (inside, constant_side) = ("add", (lhs, rhs)) if self.root == "graph.add" else ("sub", (rhs, lhs))
        inner = producer(inside, "sub" if outer == "add" else "add")
        if inner is None or constant_of(constant_side) is None:
            return None
        first, second = operands_of(inner)
        x, own = (second, first) if outer == "add" else (first, second)
        if constant_of(own) is None:
            return None
        if not has_one_use(inside):
            return refuse(OTHER_USES)
        value = combined(outer, *((own, constant_side) if outer == "add" else (constant_side, own)))
        if not isinstance(value, np.ndarray | np.generic):
            return value
        if is_float(x) and sign_of_zero_is_seen(result_of(op)):
            return refuse(SIGN_OF_ZERO)
        return x, value

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        x, value = match
        replace(op, build("sub", constant(value, like=result_of(op)), x), rewriter)


class NegatedProduct(Pattern):
    """``-(x * c) -> x * -c``."""

    root = "graph.neg"

    def match(self, op: Any) -> Any:
        inner = producer(operands_of(op)[0], "mul")
        array = None if inner is None else constant_of(operands_of(inner)[1])
        if inner is None or array is None:
            return None
        return (inner, array) if has_one_use(operands_of(op)[0]) else refuse(OTHER_USES)

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        x, c = operands_of(match[0])
        replace(op, build("mul", x, constant(np.negative(match[1]), like=c)), rewriter)


class SumOfShifted(Pattern):
    """``(x + c) + (y + d) -> (x + y) + (c + d)``."""

    root = "graph.add"

    def match(self, op: Any) -> Any:
        lhs, rhs = operands_of(op)
        left, right = producer(lhs, "add"), producer(rhs, "add")
        if left is None or right is None or lhs == rhs:
            return None
        (x, c), (y, d) = operands_of(left), operands_of(right)
        if constant_of(c) is None or constant_of(d) is None:
            return None
        if not (has_one_use(lhs) and has_one_use(rhs)):
            return refuse(OTHER_USES)
        value = combined("add", c, d)
        return (x, y, value) if isinstance(value, np.ndarray | np.generic) else value

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        x, y, value = match
        replace(op, build("add", build("add", x, y), constant(value, like=result_of(op))), rewriter)


class FactorPowerOfTwo(Pattern):
    """``x + x -> x * 2`` on floats: exact, and it meets other constant factors."""

    root = "graph.add"

    def match(self, op: Any) -> Any:
        lhs, rhs = operands_of(op)
        return True if lhs == rhs and is_float(lhs) else None

    def rewrite(self, op: Any, match: Any, rewriter: Any) -> None:
        lhs = operands_of(op)[0]
        replace(op, build("mul", lhs, constant(2, like=lhs)), rewriter)


def patterns() -> list[Pattern]:
    """All patterns of this file."""
    return [
        *(ConstantChain(kind) for kind in ("add", "mul")),
        *(ConstantMinusChain(kind) for kind in ("add", "sub")),
        SubtractedConstant(),
        NegatedProduct(),
        SumOfShifted(),
        FactorPowerOfTwo(),
    ]
