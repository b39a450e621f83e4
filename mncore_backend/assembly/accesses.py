"""What an expression touches: the one place that says which words of which memory are read and written in which cycle.

`accesses(expression)` lists reads and writes of a PE expression, `transfer_accesses(transfer)` those of an MV.
Addresses are words in PE memories, long words in L1BM, L2BM, PDM and DRAM, physical rows (0..15) in matrix banks,
entries in mask registers and DAR, the cycle in T. Local memory addresses are relative to the base register, whose
value is not known here; every local memory access therefore also reads its base register.
"""

from enum import StrEnum
from typing import NamedTuple

from mnc.mncore_backend.assembly.cycles import (
    ALL_CYCLES,
    ENTRY_PER_CYCLE,
    Cycles,
    addresses,
    block,
    entry_cycles,
    everywhere,
    fixed_entry_cycles,
    l1bm_cycles,
    mask_cycles,
    operand_cycles,
    physical_rows,
)
from mnc.mncore_backend.assembly.isa import OPCODES, OpcodeInfo, Unit
from mnc.mncore_backend.assembly.modifiers import all_l1bs, l1b_selector, l1b_set
from mnc.mncore_backend.assembly.records import Expression, Mask, Memory, Operand
from mnc.mncore_backend.target import WRITABLE_MASKS, cached_per_machine, chip

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


@cached_per_machine(1 << 16)
def _source(operand: Operand, agent: Agent) -> tuple[Access, ...]:
    """Reads of one PE-side source operand."""
    memory = operand.memory
    if memory in _WIDE:
        cycles, region, exact = operand_cycles(operand)
        found = [Access(memory, False, agent, cycles, ALL_CYCLES, False, region, _ALL_INSTANCES, exact)]
        found += _implied(operand, agent)
        return tuple(found)
    if memory is Memory.T:
        return (Access(memory, False, agent, ENTRY_PER_CYCLE),)
    if memory in (Memory.MAUF, Memory.ALUF, Memory.LBF, Memory.MREADF):
        return (Access(memory, False, agent, ENTRY_PER_CYCLE),)
    return ()


def _implied(operand: Operand, agent: Agent) -> list[Access]:
    """Base register and T reads of a local memory operand."""
    found: list[Access] = []
    if operand.memory in _BASE_REGISTER:
        found.append(Access(_BASE_REGISTER[operand.memory], False, agent, ENTRY_PER_CYCLE))
    if operand.t_indirect:
        found.append(Access(Memory.T, False, agent, ENTRY_PER_CYCLE))
    return found


@cached_per_machine(1 << 12)
def _mask_read(mask: Mask | None) -> tuple[Access, ...]:
    """Read of a mask register entry; fixed patterns read nothing that can change."""
    if mask is None or mask.entry is None:
        return ()
    return (Access(Memory.MASK, False, Agent.PE, entry_cycles(mask.entry)),)


@cached_per_machine(1 << 16)
def _destination(operand: Operand, agent: Agent) -> tuple[Access, ...]:
    """Write of one PE-side destination and what its mask reads."""
    memory = operand.memory
    if memory is Memory.NOWRITE:
        return ()
    active = mask_cycles(operand.mask)
    conditional = (
        operand.mask is not None and operand.mask.pattern is None and operand.mask.entry in WRITABLE_MASKS
    )
    cycles, region, exact = ENTRY_PER_CYCLE, (), True
    implied: list[Access] = []
    if memory in _WIDE:
        cycles, region, exact = operand_cycles(operand)
        implied = _implied(operand, agent)
    elif memory is Memory.MASK:
        cycles = entry_cycles(operand.address)
    written = Access(memory, True, agent, cycles, active, conditional, region, _ALL_INSTANCES, exact)
    return (written, *implied, *_mask_read(operand.mask))


def _matrix(expression: Expression, info: OpcodeInfo) -> tuple[Access, ...]:
    """Use of a matrix bank."""
    if info.unit is Unit.MWRITE:
        bank = expression.destinations[0]
        per_cycle = 2 if bank.width == 4 else 1
        rows = [physical_rows(info.precision, bank.address + per_cycle * c, per_cycle) for c in range(4)]
        return (Access(bank.memory, True, Agent.PE, (rows[0], rows[1], rows[2], rows[3])),)
    bank = expression.sources[0]
    return (Access(bank.memory, False, Agent.PE, everywhere(bank.memory)),)


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
        found.append(Access(_LATCH_OF_UNIT[info.unit], True, Agent.PE, ENTRY_PER_CYCLE))
    return found


@cached_per_machine(1 << 14)
def _in_l1bm(write: bool, agent: Agent, family: str, address: int, two_long: bool) -> Access:
    """The L1BM side of a transfer from or to the PEs."""
    return Access(Memory.L1BM, write, agent, l1bm_cycles(family, address, two_long))


@cached_per_machine(1 << 14)
def _block_access(memory: Memory, write: bool, agent: Agent, address: int, rate: int, instances: int) -> Access:
    """One side of a transfer between L1BM and L2BM, `rate` long words a cycle."""
    return Access(memory, write, agent, block(address, rate, rate, addresses()[memory]), instances=instances)


def _l1bm(expression: Expression, info: OpcodeInfo) -> list[Access]:
    source, target = expression.sources[0], expression.destinations[0]
    if moves_down(expression):
        if source.memory is Memory.TURNAROUND:
            agent = Agent.TURNAROUND
            region: tuple[object, ...] = (info.family, source.width)
            found = [Access(Memory.TURNAROUND, False, agent, ENTRY_PER_CYCLE, ALL_CYCLES, False, region)]
        else:
            agent = Agent.L1BM_DOWN
            found = [_in_l1bm(False, agent, info.family, source.address, source.width == 4)]
        for operand in expression.destinations:
            found += _destination(operand, agent)
        found.append(Access(Memory.LBF, True, agent, ENTRY_PER_CYCLE))
        return found
    found = list(_source(source, Agent.L1BM_UP))
    found.append(
        Access(Memory.TURNAROUND, True, Agent.L1BM_UP, ENTRY_PER_CYCLE, ALL_CYCLES, False, (info.family, target.width))
    )
    if target.memory is Memory.L1BM:
        found.append(_in_l1bm(True, Agent.L1BM_UP, info.family, target.address, target.width == 4))
    return found


def _l2bm(expression: Expression, info: OpcodeInfo) -> list[Access]:
    if info.operation == "l2bmdarw":
        return [Access(Memory.DAR, True, Agent.DAR, everywhere(Memory.DAR), exact=False)]
    source, target = expression.sources[0], expression.destinations[0]
    if info.operation == "l2bmdars":
        longs = chip().dar_staged_longs_per_cycle
        cycles = block(source.address, longs, longs, addresses()[Memory.L2BM])
        named = range(source.l2b or 0, chip().l2bs, chip().l2bs_per_group)
        return [
            Access(Memory.L2BM, False, Agent.DAR, cycles, instances=sum(1 << l2b for l2b in named)),
            Access(Memory.DAR, True, Agent.DAR, everywhere(Memory.DAR), exact=False),
        ]
    facts = chip().l2bm_families[info.family]
    if info.operation == "l2bm":
        chosen = 1 << l1b_selector(expression.modifier)
    else:
        chosen = l1b_set(expression.modifier) if info.operation not in ("l2bmi", "l2bmr2") else all_l1bs()
    agent = {"d": Agent.L2BM_DOWN, "u": Agent.L2BM_UP, "i": Agent.MULTICAST}[
        info.directions if info.directions != "du" else "d" if moves_down(expression) else "u"
    ]
    found: list[Access] = []
    for operand, write in ((source, False), (target, True)):
        near = operand.memory is Memory.L1BM
        rate = facts.l1bm_rate if near else facts.l2bm_rate
        instances = chosen if near else _ALL_INSTANCES
        found.append(_block_access(operand.memory, write, agent, operand.address, rate, instances))
    return found


@cached_per_machine(1 << 13)
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


__all__ = [
    "ALL_CYCLES",
    "Access",
    "Agent",
    "Cycles",
    "accesses",
    "fixed_entry_cycles",
    "issue_group",
    "mask_cycles",
    "moves_down",
    "produced_latch",
]
