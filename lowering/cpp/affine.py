"""Affine maps and index arithmetic as C++ expressions."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from mnc.core.bindings import ir
from mnc.core.diagnostics import InternalError
from mnc.lowering.cpp.text import PRODUCT, UNARY, Expression, add, call, multiply, number

Use = Callable[[str], None]
"""Called with the name of every helper function that the text calls."""


def affine_expression(
    expression: Any, dims: Sequence[Expression], symbols: Sequence[Expression], use: Use
) -> Expression:
    """An affine expression over `dims` and `symbols`."""
    if isinstance(expression, ir.AffineConstantExpr):
        return number(expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return dims[expression.position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return symbols[expression.position]
    a, b = (affine_expression(part, dims, symbols, use) for part in (expression.lhs, expression.rhs))
    if isinstance(expression, ir.AffineAddExpr):
        return add(a, b)
    if isinstance(expression, ir.AffineMulExpr):
        return multiply(a, b)
    for kind, helper in (
        (ir.AffineFloorDivExpr, "floor_divide"),
        (ir.AffineModExpr, "floor_modulo"),
        (ir.AffineCeilDivExpr, "ceil_divide"),
    ):
        if isinstance(expression, kind):
            use(helper)
            return call(f"{helper}<std::int64_t>", a, b)
    raise InternalError(f"the C++ printer does not know the affine expression {expression}")


def map_results(map_: ir.AffineMap, operands: Sequence[Expression], use: Use) -> list[Expression]:
    """Every result of a map on its operands, dimensions first."""
    dims, symbols = operands[: map_.n_dims], operands[map_.n_dims :]
    return [affine_expression(result, dims, symbols, use) for result in map_.results]


_CONSTRAINT = re.compile(r"(.+) (>=|==) 0")


def constraints_of(condition: ir.Attribute) -> tuple[ir.AffineMap, list[str]]:
    """The left sides of ``affine_set<(d0) : (d0 - 2 >= 0)>`` as a map, and the signs before the zeros.

    The bindings do not give the set of the attribute, so its text is read.
    """
    match = re.fullmatch(r"affine_set<(.*) : \((.*)\)>", str(condition))
    constraints = [_CONSTRAINT.fullmatch(text) for text in match[2].split(", ")] if match else [None]
    if match is None or None in constraints:
        raise InternalError(f"the C++ printer cannot read the condition {condition}")
    sides = ", ".join(constraint[1] for constraint in constraints if constraint)
    map_ = ir.AffineMapAttr(ir.Attribute.parse(f"affine_map<{match[1]} -> ({sides})>")).value
    return map_, [constraint[2] for constraint in constraints if constraint]


def extreme(results: Sequence[Expression], function: str) -> Expression:
    """The smallest (``std::min``) or largest (``std::max``) of the results."""
    total = results[0]
    for result in results[1:]:
        total = call(f"{function}<std::int64_t>", total, result)
    return total


def delinearized(index: Expression, basis: Sequence[int], results: int) -> list[Expression]:
    """Digits of a number that is not negative; `basis` may leave out the size of the first digit."""
    sizes = list(basis)[len(basis) - results + 1 :]
    digits, stride = [], 1
    for position in range(results - 1, -1, -1):
        quotient = index if stride == 1 else _operator(index, "/", stride)
        size = sizes[position - 1] if position else None
        digits.append(quotient if size is None else _operator(quotient, "%", size))
        stride *= size or 1
    return digits[::-1]


def _operator(a: Expression, symbol: str, b: int) -> Expression:
    if a.constant is not None:
        return number(a.constant // b if symbol == "/" else a.constant % b)
    return Expression(f"{a.at_least(PRODUCT)} {symbol} {number(b).at_least(UNARY)}", PRODUCT, a.reads_memory)


def linearized(indices: Sequence[Expression], basis: Sequence[int]) -> Expression:
    """The number whose digits are `indices`."""
    total = number(0)
    for index, size in zip(indices, [1, *list(basis)[len(basis) - len(indices) + 1 :]], strict=True):
        total = add(multiply(total, number(size)), index)
    return total


def address(indices: Sequence[Expression], strides: Sequence[int], offset: int) -> Expression:
    """Position of an element in its buffer."""
    total = number(0)
    for index, stride in zip(indices, strides, strict=True):
        total = add(total, multiply(index, number(stride)))
    return add(total, number(offset))
