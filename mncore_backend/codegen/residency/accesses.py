"""Which operations of a distributed function read and write which buffers of local memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mnc.dialects.mncore import reduced_axes, summed_axes
from mnc.dialects.mncore.attributes import placement_of
from mnc.mncore_backend.layout import HARDWARE_AXES, Axis

_WRITTEN = {
    "mncore.dl": (1,), "mncore.relayout": (1,), "mncore.gather": (1,), "mncore.reduce": (1,), "mncore.fetch": (1,),
    "mncore.fill_padding": (0,), "mncore.lookup": (2,), "mncore.matmul": (2,), "affine.store": (1,),
    "memref.store": (1,),
}  # fmt: skip
"""Operands that an operation writes; all others are read."""
_COMPUTES = ("affine.for", "mncore.matmul", "mncore.lookup")
"""Operations that a PE does on what it has."""
_PASSES_ON = ("affine.for", "mncore.relayout", "mncore.gather", "mncore.fill_padding", "mncore.reduce")
"""Operations whose result holds parts of a sum where their operands do."""


@dataclass
class Accesses:
    """Buffers by their roots, the allocations.

    uses     root -> (place in the function, whether it is written there), in order; unused ones are left out
    root_of  every buffer and view -> its root
    aliases  root -> all names of it
    """

    uses: dict[Any, list[tuple[int, bool]]] = field(default_factory=dict)
    root_of: dict[Any, Any] = field(default_factory=dict)
    aliases: dict[Any, list[Any]] = field(default_factory=dict)


def operand_accesses(operation: Any) -> Iterator[tuple[Any, bool]]:
    """(operand, whether it is written) of an operation and of all inside it."""
    written = _WRITTEN.get(operation.name, ())
    for number, operand in enumerate(operation.operands):
        yield operand, number in written
    for region in operation.regions:
        for block in region.blocks:
            for op in block.operations:
                yield from operand_accesses(op.operation)


def read_accesses(operations: list[Any]) -> Accesses:
    """The accesses of a function's operations, in order."""
    found = Accesses()
    for place, operation in enumerate(operations):
        if operation.name in ("memref.alloc", "mncore.resident"):
            root = operation.results[0]
            found.root_of[root], found.aliases[root], found.uses[root] = root, [root], []
        elif operation.name == "memref.memory_space_cast":
            root = found.root_of.get(operation.operands[0])
            if root is not None:
                found.root_of[operation.results[0]] = root
                found.aliases[root].append(operation.results[0])
        else:
            writes: dict[Any, bool] = {}
            for operand, is_written in operand_accesses(operation):
                root = found.root_of.get(operand)
                if root is not None:
                    writes[root] = writes.get(root, False) or is_written
            for root, is_written in writes.items():
                found.uses[root].append((place, is_written))
    found.uses = {root: uses for root, uses in found.uses.items() if uses}
    return found


def _bits(root: Any) -> dict[Axis, int]:
    """Coordinate bits over which a buffer is distributed."""
    layout = placement_of(root.type).layout
    return {axis: layout.selected_bits(axis) for axis in HARDWARE_AXES}


def differing(operations: list[Any], accesses: Accesses) -> set[Any]:
    """Roots of buffers whose replicas may differ, because what they were computed from is distributed where they are
    not. Matrix products add up what the PEs of a MAB hold."""
    found: dict[Any, dict[Axis, int]] = {}
    for operation in operations:
        if operation.name not in (*_COMPUTES, *_PASSES_ON):
            continue
        roots = [(accesses.root_of[o], w) for o, w in operand_accesses(operation) if o in accesses.root_of]
        inner = (Axis.PE, Axis.W) if operation.name == "mncore.matmul" else ()
        summed = reduced_axes(operation) if operation.name == "mncore.reduce" else {}
        for target in {root for root, is_written in roots if is_written}:
            own, bits = _bits(target), dict(found.get(target, {}))
            for source in {root for root, is_written in roots if not is_written}:
                for axis, held in _bits(source).items():
                    new = held & ~own[axis] if operation.name in _COMPUTES and axis not in inner else 0
                    bits[axis] = bits.get(axis, 0) | new | found.get(source, {}).get(axis, 0) & ~summed.get(axis, 0)
            if any(bits.values()):
                found[target] = bits
    return set(found)


def partial_sums(operations: list[Any], accesses: Accesses) -> set[Any]:
    """Roots of buffers whose replicas differ: they hold parts of a sum that is made later, by a ``mncore.reduce`` or by
    a store."""
    candidates = differing(operations, accesses)
    partial: set[Any] = set()
    for operation in reversed(operations):
        roots = [(accesses.root_of[o], written) for o, written in operand_accesses(operation) if o in accesses.root_of]
        if operation.name == "mncore.reduce" or (operation.name == "mncore.ul" and summed_axes(operation)):
            partial.update(_root(operation.operands[0], accesses))
        elif any(written and root in partial for root, written in roots):
            if operation.name in _PASSES_ON:
                partial.update(root for root, _ in roots if root in candidates)
            elif operation.name == "mncore.matmul" and len(operation.operands) > 3:
                partial.update(_root(operation.operands[3], accesses))
    return partial


def _root(value: Any, accesses: Accesses) -> list[Any]:
    """The root of a buffer; none of an argument, which is not the function's to move."""
    return [accesses.root_of[value]] if value in accesses.root_of else []
