"""What an operation touches, in units that are cheap to look up: the input of the dependence graph."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from mnc.mncore_backend.assembly.accesses import ALL_CYCLES, Access, accesses
from mnc.mncore_backend.assembly.mv_accesses import transfer_accesses
from mnc.mncore_backend.assembly.records import Expression, Memory, Transfer
from mnc.mncore_backend.codegen.scheduling.chains import TIES
from mnc.mncore_backend.codegen.scheduling.needs import Needs, needs_with
from mnc.mncore_backend.program import BufferOperand, MachineOp
from mnc.mncore_backend.target import cached_per_machine, chip

# Addresses per unit. No L1BM instruction but l1bmp touches less than 4 long words, no L2BM instruction less than 64.
# A coarser unit can only add orderings, never lose one.
UNIT = {Memory.L1BM: 4, Memory.L2BM: 64, Memory.PDM: 16, Memory.DRAM: 16}
INSTANCED = (Memory.L1BM, Memory.L2BM, Memory.PDM, Memory.DRAM)
"""Memories of which instructions name single copies."""
BASE_REGISTER = {Memory.LM0: Memory.BAR0, Memory.LM1: Memory.BAR1}


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """One access with the units (addresses divided by `UNIT`) that it concerns; `instances` is a bit set."""

    access: Access
    memory: Memory
    write: bool
    units: tuple[int, ...]
    instances: int = 1


def _units(access: Access, ranges: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    size = UNIT.get(access.memory, 1)
    if not access.exact:
        return _wide_units(size, tuple(dict.fromkeys(ranges)))
    if size == 1:
        return tuple(dict.fromkeys([u for a, b in ranges for u in range(a, b)]))
    return tuple(dict.fromkeys([u for a, b in ranges for u in range(a // size, -(-b // size))]))


@lru_cache(1 << 10)
def _wide_units(size: int, ranges: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    """Units of an access that may be anywhere in these ranges, which many operations share."""
    return tuple(dict.fromkeys([u for a, b in ranges for u in range(a // size, -(-b // size))]))


def _active(access: Access) -> Iterable[tuple[int, int]]:
    if access.active == ALL_CYCLES:
        return [r for cycle in access.cycles for r in cycle]
    return [r for c, cycle in enumerate(access.cycles) if access.active >> c & 1 for r in cycle]


_REMEMBERED = 1 << 16


@cached_per_machine()
def _touches() -> dict[int, Touch]:
    """By the identity of the access, which the touch keeps alive: operands share accesses."""
    return {}


@cached_per_machine()
def _all_instances() -> dict[Memory, int]:
    """All copies of a memory below an L2B, or on the chip, as bits."""
    machine = chip()
    counts = zip(INSTANCED, (machine.l1bs_per_l2b, machine.l2bs, machine.groups, machine.groups), strict=True)
    return {memory: (1 << count) - 1 for memory, count in counts}


def _touch(access: Access) -> Touch:
    touches = _touches()
    found = touches.get(id(access))
    if found is None:
        instances = access.instances & _all_instances().get(access.memory, 1)
        found = Touch(access, access.memory, access.write, _units(access, _active(access)), instances)
        if len(touches) >= _REMEMBERED:
            touches.clear()
        touches[id(access)] = found
    return found


@cached_per_machine(1 << 15)
def describe(expression: Expression) -> tuple[Needs, tuple[Touch, ...]]:
    """Issue requirements and touches of an expression, reads first. What ties operations together is left to the
    chains."""
    touched = accesses(expression)
    found = [_touch(a) for a in touched if a.memory not in TIES]
    return needs_with(expression, touched), _reads_first(found)


def transfer_touches(transfer: Transfer) -> tuple[Touch, ...]:
    """Touches of an MV, reads first."""
    return _reads_first([_touch(a) for a in transfer_accesses(transfer)])


def _reads_first(touches: list[Touch]) -> tuple[Touch, ...]:
    return (*[touch for touch in touches if not touch.write], *[touch for touch in touches if touch.write])


def narrowed(touches: tuple[Touch, ...], op: MachineOp) -> tuple[Touch, ...]:
    """Replace "anywhere in LM0" of T-indirect accesses by the buffers they stay in."""
    buffers = [
        o.buffer for o in (*op.sources, *op.destinations) if isinstance(o, BufferOperand) and o.t_indirect
    ]
    if not buffers:
        return touches
    result = []
    for touch in touches:
        inside = [b for b in buffers if b.memory is touch.memory and b.base is not None]
        if touch.access.exact or not inside:
            result.append(touch)
            continue
        ranges = [(2 * (b.base or 0), 2 * ((b.base or 0) + b.size)) for b in inside]
        result.append(Touch(touch.access, touch.memory, touch.write, _units(touch.access, ranges), touch.instances))
    return tuple(result)
