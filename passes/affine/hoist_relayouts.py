"""The pass `hoist-relayouts`: what is loaded goes at once wherever it will be needed."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mnc.core.bindings import ir
from mnc.core.pass_base import Pass
from mnc.dialects.mncore.attributes import placement_of
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.machine import MEMORIES
from mnc.passes.affine.linear_nest import buffers_of

LOADS = ("mncore.dl", "mncore.resident")


@dataclass(frozen=True)
class HoistRelayouts(Pass):
    """Move relayouts of loaded tensors towards the loads.

    before: ``dl(%in, %x); matmul(%x, ...); ...; relayout(%x, %y); matmul(%y, ...)``;
    after: ``dl(%in, %x); matmul(%x, ...); relayout(%x, %y); ...; matmul(%y, ...)``

    Transfers leave the PEs idle while they last, and the matrix registers are used in program order: movements that
    stand early in the program run in that time. The copies live longer, so nothing is done where the buffers of the
    function, taken together, exceed the local memories.
    """

    name: ClassVar[str] = "hoist-relayouts"

    def run(self, module: ir.Module) -> None:
        """Rewrite every function whose buffers fit side by side."""
        for function in module.body.operations:
            if function.operation.name == "func.func":
                operations = [op.operation for op in function.regions[0].blocks[0].operations]
                if _size(operations) <= MEMORIES[Memory.LM0].longs + MEMORIES[Memory.LM1].longs:
                    _hoist(operations)


def _size(operations: list[Any]) -> int:
    """Long words per PE of all buffers."""
    values = [op.results[0] for op in operations if op.name == "memref.alloc"]
    return sum(placement_of(value.type).layout.local_size for value in values)


def _hoist(operations: list[Any]) -> None:
    """Behind the load, and behind the first that works on what was loaded: that is not to wait."""
    latest: dict[Any, Any] = {}
    used: set[Any] = set()
    for op in operations:
        if op.name in LOADS:
            latest[op.operands[1] if op.name == "mncore.dl" else op.results[0]] = op
        elif op.name == "mncore.relayout" and op.operands[0] in latest and op.operands[1].owner.name == "memref.alloc":
            source, allocation = op.operands[0], op.operands[1].owner
            allocation.move_after(latest[source])
            op.move_after(allocation)
            latest[source] = op
        else:
            _follow(op, latest, used)


def _follow(op: Any, latest: dict[Any, Any], used: set[Any]) -> None:
    """Note the first use of what was loaded; what is written again stays where it is."""
    reads, writes = buffers_of(op) if op.name == "affine.for" else (list(op.operands)[:-1], list(op.operands)[-1:])
    for value in reads:
        if value in latest and value not in used:
            used.add(value)
            latest[value] = op
    for value in writes:
        latest.pop(value, None)
