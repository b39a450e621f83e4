"""Loop nests that are linear in some of their buffers: what is added to partial sums must be shared out among them."""

from collections.abc import Iterator, Set
from typing import Any

from mnc.core.bindings import arith, ir

SUMS = ("arith.addf", "arith.subf")


def innermost_operations(loop: Any) -> Iterator[Any]:
    """Operations of a nest without its loops and their yields, in order."""
    for op in loop.regions[0].blocks[0].operations:
        operation = op.operation
        if operation.name == "affine.for":
            yield from innermost_operations(operation)
        elif operation.name != "affine.yield":
            yield operation


def buffers_of(loop: Any) -> tuple[list[Any], list[Any]]:
    """(buffers read, buffers written) by the nest."""
    reads = [op.operands[0] for op in innermost_operations(loop) if op.name == "affine.load"]
    writes = [op.operands[1] for op in innermost_operations(loop) if op.name == "affine.store"]
    return reads, writes


def partial_values(loop: Any, partial: Set[Any]) -> set[Any] | None:
    """Values of the body that are sums over parts when the buffers of `partial` are: each part of the value follows
    from the same part of the buffers. None when a value depends on partial ones in another way, or when a buffer
    receives values of both kinds."""
    values: set[Any] = set()
    stored: dict[Any, bool] = {}
    for op in innermost_operations(loop):
        operands = [operand in values for operand in op.operands]
        if op.name == "affine.load":
            if op.operands[0] in partial:
                values.add(op.results[0])
        elif op.name == "affine.store":
            if stored.setdefault(op.operands[1], operands[0]) != operands[0]:
                return None
        elif any(operands):
            if not _is_linear(op.name, operands):
                return None
            values.add(op.results[0])
    return values


def _is_linear(name: str, partial: list[bool]) -> bool:
    if name in (*SUMS, "arith.negf"):
        return True
    if name == "arith.mulf":
        return not all(partial)
    return name == "arith.divf" and not partial[1]


def share_out(loop: Any, values: Set[Any], parts: int) -> None:
    """Divide what is added to partial sums by the number of parts, a power of two: the parts then add up to it
    exactly, and no part is special."""
    for op in list(innermost_operations(loop)):
        if op.name not in SUMS or not any(operand in values for operand in op.operands):
            continue
        for number, operand in enumerate(op.operands):
            if operand not in values:
                op.operands[number] = _part(op, operand, parts)


def _part(user: Any, value: Any, parts: int) -> Any:
    with ir.InsertionPoint(user), user.location:
        share = arith.ConstantOp(value.type, 1.0 / parts).result
        return arith.MulFOp(value, share).result
