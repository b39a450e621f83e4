"""Loop nests that are linear in some of their buffers: what is added to partial sums must be shared out among them."""

from collections.abc import Callable, Iterator, Set
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


def partial_values(loop: Any, is_partial: Callable[[Any], bool]) -> set[Any] | None:
    """Values of the nest that are sums over parts when the buffers that `is_partial` names are: each part of the value
    follows from the same part of the buffers. None when a value depends on partial ones in another way, or when
    anything but such values and zeros is stored.

    What a loop carries is such a value if anything that it starts from or goes on with is: the rest is shared out. It
    has to start from a constant, of which there is a part for everybody.
    """
    operations, loops = list(innermost_operations(loop)), list(_loops(loop))
    if any(len(op.regions) > 0 for op in operations):
        return None
    values: set[Any] = set()
    known = -1
    while known < len(values):
        known = len(values)
        for op in operations:
            if _is_partial(op, values, is_partial):
                if op.name != "affine.load" and not _is_linear(op.name, [o in values for o in op.operands]):
                    return None
                values.update(op.results)
        for carried in (group for each in loops for group in _carried(each)):
            if any(value in values for value in carried):
                values.update(carried[1:3])
    stored = [op.operands[0] for op in operations if op.name == "affine.store"]
    alike = all(value in values or constant_of(value) == 0 for value in stored)
    groups = [group for each in loops for group in _carried(each) if group[1] in values]
    starts = all(start in values or constant_of(start) is not None for start, *_ in groups)
    return values if alike and starts else None


def _is_partial(op: Any, values: Set[Any], is_partial: Callable[[Any], bool]) -> bool:
    if op.name == "affine.load":
        return is_partial(op.operands[0])
    return op.name != "affine.store" and any(operand in values for operand in op.operands)


def _loops(loop: Any) -> Iterator[Any]:
    yield loop
    for op in loop.regions[0].blocks[0].operations:
        if op.operation.name == "affine.for":
            yield from _loops(op.operation)


def _carried(loop: Any) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Of each value that a loop carries: what it starts from, the argument of the body, the result, what follows."""
    block = loop.regions[0].blocks[0]
    following = list(list(block.operations)[-1].operation.operands)
    arguments = list(block.arguments)[1:]
    starts = list(loop.operands)[len(loop.operands) - len(arguments) :]
    return zip(starts, arguments, loop.results, following, strict=True)


def constant_of(value: Any) -> float | int | None:
    """The number of a constant, None for other values."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    return owner.attributes["value"].value


def _is_linear(name: str, partial: list[bool]) -> bool:
    if name in (*SUMS, "arith.negf"):
        return True
    if name == "arith.mulf":
        return not all(partial)
    return name == "arith.divf" and not partial[1]


def share_out(loop: Any, values: Set[Any], parts: int) -> None:
    """Divide what is added to partial sums by the number of parts, a power of two: the parts then add up to it
    exactly, and no part is special. Nor is what a loop carries: its start is divided once, whatever its body adds."""
    for op in list(innermost_operations(loop)):
        if op.name in SUMS and any(operand in values for operand in op.operands):
            _share_operands(op, values, parts)
    for each in _loops(loop):
        if any(argument in values for _, argument, _, _ in _carried(each)):
            _share_operands(each, values, parts)
            _share_operands(list(each.regions[0].blocks[0].operations)[-1].operation, values, parts, each)


def _share_operands(op: Any, values: Set[Any], parts: int, loop: Any = None) -> None:
    """Divide operands that are no partial sums: of a loop and of its end those alone that stand for carried values
    which are."""
    arguments: list[Any] = []
    if loop is not None or op.name == "affine.for":
        arguments = list((loop or op).regions[0].blocks[0].arguments)[1:]
    first = len(op.operands) - len(arguments) if arguments else 0
    for number, operand in enumerate(op.operands):
        wanted = not arguments or (number >= first and arguments[number - first] in values)
        if wanted and operand not in values:
            op.operands[number] = _part(op, operand, parts)


def _part(user: Any, value: Any, parts: int) -> Any:
    with ir.InsertionPoint(user), user.location:
        number = constant_of(value)
        if number is not None:
            return value if number == 0 else arith.ConstantOp(value.type, number / parts).result
        share = arith.ConstantOp(value.type, 1.0 / parts).result
        return arith.MulFOp(value, share).result
