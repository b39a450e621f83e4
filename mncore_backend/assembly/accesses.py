"""What an expression touches: the one place that says which words of which memory are read and written in which cycle.

`accesses(expression)` lists reads and writes of a PE expression, `transfer_accesses(transfer)` those of an MV.
Addresses are words in PE memories, long words in L1BM, L2BM, PDM and DRAM, physical rows (0..15) in matrix banks,
entries in mask registers and DAR, the cycle in T. Local memory addresses are relative to the base register, whose
value is not known here; every local memory access therefore also reads its base register.
"""

from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from mnc.mncore_backend import machine
from mnc.mncore_backend.assembly.modifiers import ALL_L1BS, l1b_selector, l1b_set
from mnc.mncore_backend.assembly.records import Expression, Mask, Memory, Operand
from mnc.mncore_backend.isa import OPCODES, OpcodeInfo, Unit

Range = tuple[int, int]  # first address, address behind the last
Cycle = tuple[Range, ...]  # what one cycle touches
Cycles = tuple[Cycle, Cycle, Cycle, Cycle]

ALL_CYCLES = 0b1111  # bit c: cycle c
_ALL_INSTANCES = -1


class Agent(StrEnum):
    """Who accesses; the hazard table distinguishes transfers by it."""

    PE = "PE"  # ALU, MAU, matrix write, transposed read, and their operands
    L1BM_DOWN = "L1BM->PE"
    TURNAROUND = "L1BM->PE via $lbi"
    L1BM_UP = "PE->L1BM"
    L2BM_DOWN = "L2BM->L1BM"
    L2BM_UP = "L1BM->L2BM"
    MULTICAST = "l2bmi"
    DAR = "DAR load"
    MV = "MV"


class Access(NamedTuple):
    """One operand's share of a memory.

    cycles     what each of the 4 cycles touches, masks ignored
    active     bit c is set if cycle c counts; a fixed mask silences cycles of a write, a run-time mask does not
    (OPEN-47) conditional  a run-time mask may suppress the write
    region     identity of the addressing: two accesses of a memory have equal regions in all cycles iff these are equal
    instances  bit mask of the instances concerned: L1Bs of an L2B for L1BM, groups for PDM and DRAM, 2 * group + L2B
    for L2BM; -1 means all
    exact      False if the addresses are known only as a superset (T-indirect, j, $di)
    """

    memory: Memory
    write: bool
    agent: Agent
    cycles: Cycles
    active: int = ALL_CYCLES
    conditional: bool = False
    region: tuple[object, ...] = ()
    instances: int = _ALL_INSTANCES
    exact: bool = True


def _everywhere(memory: Memory) -> Cycles:
    whole: Cycle = ((0, machine.MEMORIES[memory].addresses),)
    return (whole, whole, whole, whole)


_NOWHERE: Cycles = ((), (), (), ())
_ENTRY_PER_CYCLE: Cycles = (((0, 1),), ((1, 2),), ((2, 3),), ((3, 4),))
_ADDRESSES = {m: facts.addresses for m, facts in machine.MEMORIES.items()}
_BASE_REGISTER = {Memory.LM0: Memory.BAR0, Memory.LM1: Memory.BAR1}
_WIDE = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)
_LATCH_OF_UNIT = {Unit.ALU: Memory.ALUF, Unit.MAU: Memory.MAUF, Unit.MREAD: Memory.MREADF}


def issue_group(expression: Expression) -> Unit:
    """Issue group of a PE expression (summary 7.1.1)."""
    info = OPCODES[expression.opcode]
    if info.unit is Unit.L1BM and expression.sources[0].memory is Memory.TURNAROUND:
        return Unit.TURNAROUND
    return info.unit


def moves_down(expression: Expression) -> bool:
    """An L1BM or L2BM transfer towards the PEs."""
    return expression.sources[0].memory in (Memory.L1BM, Memory.TURNAROUND, Memory.L2BM) and (
        expression.destinations[0].memory is not Memory.L2BM
    )


def produced_latch(expression: Expression) -> Memory | None:
    """The forwarding latch that a PE expression fills."""
    info = OPCODES[expression.opcode]
    if info.unit is Unit.L1BM:
        return Memory.LBF if moves_down(expression) else None
    return _LATCH_OF_UNIT.get(info.unit)


def mask_cycles(mask: Mask | None) -> int:
    """Cycles in which a fixed mask lets something through, as a bit mask; all for run-time masks."""
    if mask is None:
        return ALL_CYCLES
    if mask.pattern is not None:
        return sum(1 << c for c, digit in enumerate(mask.pattern) if digit == "1")
    return fixed_entry_cycles(mask.entry or 0)


def fixed_entry_cycles(entry: int) -> int:
    """Cycles of a mask register entry that is constant (0 and 16..31), all for writable ones (SDM 3.6.2)."""
    pattern = entry - machine.CONSTANT_MASK_BASE
    if 0 <= pattern < 15:
        return sum(1 << c for c in range(4) if pattern >> (3 - c) & 1)
    return ALL_CYCLES


@lru_cache(1 << 16)
def _operand_cycles(operand: Operand) -> tuple[Cycles, tuple[object, ...], bool]:
    """Cycles, region and exactness of a PE memory operand."""
    memory, width = operand.memory, operand.width
    if memory is Memory.T:
        return _ENTRY_PER_CYCLE, (), True
    size = _ADDRESSES[memory]
    mask = size - 1
    a, b, c, d = operand.addresses()
    align = -width
    starts = (a & mask & align, b & mask & align, c & mask & align, d & mask & align)
    region = (starts, width, operand.t_indirect, operand.pe_offset)
    if operand.t_indirect:
        return _everywhere(memory), region, False
    if operand.pe_offset is not None:
        first, last = (width if operand.pe_offset >= 3 else 0), 2 * width
        cycles = tuple(_wrapped(s + first, s + last, size) for s in starts)
        return (cycles[0], cycles[1], cycles[2], cycles[3]), region, operand.pe_offset >= 3
    a, b, c, d = starts
    return (((a, a + width),), ((b, b + width),), ((c, c + width),), ((d, d + width),)), region, True


def _wrapped(first: int, last: int, size: int) -> Cycle:
    """A range modulo the memory size, in one or two parts."""
    length = last - first
    first %= size
    if first + length <= size:
        return ((first, first + length),)
    return ((0, first + length - size), (first, size))


def _block(address: int, stride: int, length: int, size: int) -> Cycles:
    """`length` addresses from `address` + stride * c in cycle c."""
    a = [_wrapped(address + stride * c, address + stride * c + length, size) for c in range(4)]
    return (a[0], a[1], a[2], a[3])


def l1bm_cycles(family: str, address: int, two_long: bool) -> Cycles:
    """Long words of L1BM that a transfer of a family touches per cycle (SDM 3.6.8.3 to 3.6.8.19)."""
    facts = machine.L1BM_FAMILIES[family]
    size = _ADDRESSES[Memory.L1BM]
    if family == "p" and two_long:
        parts = [
            (*_wrapped(address + c, address + c + 1, size), *_wrapped(address + c + 4, address + c + 5, size))
            for c in range(4)
        ]
        return (parts[0], parts[1], parts[2], parts[3])
    rate = facts.rate_two_long if two_long and facts.rate_two_long else facts.rate
    return _block(address, rate, rate, size)


@lru_cache(1 << 16)
def _source(operand: Operand, agent: Agent) -> tuple[Access, ...]:
    """Reads of one PE-side source operand."""
    memory = operand.memory
    if memory in _WIDE:
        cycles, region, exact = _operand_cycles(operand)
        found = [Access(memory, False, agent, cycles, ALL_CYCLES, False, region, _ALL_INSTANCES, exact)]
        found += _implied(operand, agent)
        return tuple(found)
    if memory is Memory.T:
        return (Access(memory, False, agent, _ENTRY_PER_CYCLE),)
    if memory in (Memory.MAUF, Memory.ALUF, Memory.LBF, Memory.MREADF):
        return (Access(memory, False, agent, _ENTRY_PER_CYCLE),)
    return ()


def _implied(operand: Operand, agent: Agent) -> list[Access]:
    """Base register and T reads of a local memory operand."""
    found: list[Access] = []
    if operand.memory in _BASE_REGISTER:
        found.append(Access(_BASE_REGISTER[operand.memory], False, agent, _ENTRY_PER_CYCLE))
    if operand.t_indirect:
        found.append(Access(Memory.T, False, agent, _ENTRY_PER_CYCLE))
    return found


def _entry(entry: int) -> Cycles:
    cycle: Cycle = ((entry, entry + 1),)
    return (cycle, cycle, cycle, cycle)


@lru_cache(1 << 12)
def _mask_read(mask: Mask | None) -> tuple[Access, ...]:
    """Read of a mask register entry; fixed patterns read nothing that can change."""
    if mask is None or mask.entry is None:
        return ()
    return (Access(Memory.MASK, False, Agent.PE, _entry(mask.entry)),)


@lru_cache(1 << 16)
def _destination(operand: Operand, agent: Agent) -> tuple[Access, ...]:
    """Write of one PE-side destination and what its mask reads."""
    memory = operand.memory
    if memory is Memory.NOWRITE:
        return ()
    active = mask_cycles(operand.mask)
    conditional = (
        operand.mask is not None and operand.mask.pattern is None and operand.mask.entry in machine.WRITABLE_MASKS
    )
    cycles, region, exact = _ENTRY_PER_CYCLE, (), True
    implied: list[Access] = []
    if memory in _WIDE:
        cycles, region, exact = _operand_cycles(operand)
        implied = _implied(operand, agent)
    elif memory is Memory.MASK:
        cycles = _entry(operand.address)
    written = Access(memory, True, agent, cycles, active, conditional, region, _ALL_INSTANCES, exact)
    return (written, *implied, *_mask_read(operand.mask))


def physical_rows(precision: str, row: int, count: int) -> Cycle:
    """Rows of a bank in units of its 16 physical rows, wrapping at the logical row count."""
    rows = machine.MATRIX_ROWS[precision]
    scale = 16 // rows
    return _wrapped(row % rows * scale, (row % rows + count) * scale, 16)


def _matrix(expression: Expression, info: OpcodeInfo) -> tuple[Access, ...]:
    """Use of a matrix bank."""
    if info.unit is Unit.MWRITE:
        bank = expression.destinations[0]
        per_cycle = 2 if bank.width == 4 else 1
        rows = [physical_rows(info.precision, bank.address + per_cycle * c, per_cycle) for c in range(4)]
        return (Access(bank.memory, True, Agent.PE, (rows[0], rows[1], rows[2], rows[3])),)
    bank = expression.sources[0]
    return (Access(bank.memory, False, Agent.PE, _everywhere(bank.memory)),)


def _calculation(expression: Expression, info: OpcodeInfo) -> list[Access]:
    found: list[Access] = []
    sources = expression.sources
    if info.unit in (Unit.MWRITE, Unit.MREAD) or info.operation in ("mfma", "mmul"):
        found += _matrix(expression, info)
        sources = sources if info.unit is Unit.MWRITE else sources[1:]
    for operand in sources:
        found += _source(operand, Agent.PE)
    if info.unit is not Unit.MWRITE:
        for operand in expression.destinations:
            found += _destination(operand, Agent.PE)
        found.append(Access(_LATCH_OF_UNIT[info.unit], True, Agent.PE, _ENTRY_PER_CYCLE))
    return found


def _l1bm(expression: Expression, info: OpcodeInfo) -> list[Access]:
    source, target = expression.sources[0], expression.destinations[0]
    if moves_down(expression):
        if source.memory is Memory.TURNAROUND:
            agent = Agent.TURNAROUND
            region: tuple[object, ...] = (info.family, source.width)
            found = [Access(Memory.TURNAROUND, False, agent, _ENTRY_PER_CYCLE, ALL_CYCLES, False, region)]
        else:
            agent = Agent.L1BM_DOWN
            found = [Access(Memory.L1BM, False, agent, l1bm_cycles(info.family, source.address, source.width == 4))]
        for operand in expression.destinations:
            found += _destination(operand, agent)
        found.append(Access(Memory.LBF, True, agent, _ENTRY_PER_CYCLE))
        return found
    found = list(_source(source, Agent.L1BM_UP))
    found.append(
        Access(Memory.TURNAROUND, True, Agent.L1BM_UP, _ENTRY_PER_CYCLE, ALL_CYCLES, False, (info.family, target.width))
    )
    if target.memory is Memory.L1BM:
        cycles = l1bm_cycles(info.family, target.address, target.width == 4)
        found.append(Access(Memory.L1BM, True, Agent.L1BM_UP, cycles))
    return found


def _l2bm(expression: Expression, info: OpcodeInfo) -> list[Access]:
    if info.operation == "l2bmdarw":
        return [Access(Memory.DAR, True, Agent.DAR, _everywhere(Memory.DAR), exact=False)]
    source, target = expression.sources[0], expression.destinations[0]
    if info.operation == "l2bmdars":
        longs = machine.DAR_STAGED_LONGS_PER_CYCLE
        cycles = _block(source.address, longs, longs, _ADDRESSES[Memory.L2BM])
        return [
            Access(
                Memory.L2BM, False, Agent.DAR, cycles, instances=sum(1 << (2 * g + (source.l2b or 0)) for g in range(4))
            ),
            Access(Memory.DAR, True, Agent.DAR, _everywhere(Memory.DAR), exact=False),
        ]
    facts = machine.L2BM_FAMILIES[info.family]
    if info.operation == "l2bm":
        chosen = 1 << l1b_selector(expression.modifier)
    else:
        chosen = l1b_set(expression.modifier) if info.operation not in ("l2bmi", "l2bmr2") else ALL_L1BS
    agent = {"d": Agent.L2BM_DOWN, "u": Agent.L2BM_UP, "i": Agent.MULTICAST}[
        info.directions if info.directions != "du" else "d" if moves_down(expression) else "u"
    ]
    found: list[Access] = []
    for operand, write in ((source, False), (target, True)):
        near = operand.memory is Memory.L1BM
        rate = facts.l1bm_rate if near else facts.l2bm_rate
        cycles = _block(operand.address, rate, rate, _ADDRESSES[operand.memory])
        found.append(Access(operand.memory, write, agent, cycles, instances=chosen if near else _ALL_INSTANCES))
    return found


@lru_cache(1 << 17)
def accesses(expression: Expression) -> tuple[Access, ...]:
    """Reads and writes of a PE expression, forwarding latches, mask registers, base registers and the turnaround
    register included. Default write masks (``mask`` statements) are not applied: they can only silence writes."""
    info = OPCODES[expression.opcode]
    if info.unit in (Unit.NOP, Unit.NOFORWARD, Unit.WAIT):
        return ()
    if info.unit is Unit.L1BM:
        found = _l1bm(expression, info)
    elif info.unit in (Unit.L2BM, Unit.L2BMDARW):
        found = _l2bm(expression, info)
    else:
        found = _calculation(expression, info)
    if expression.zero_flush is not None:
        found += _mask_read(expression.zero_flush)
    return tuple(found)
