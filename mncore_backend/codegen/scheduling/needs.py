"""What an expression needs of the step it is issued in (summary 7.1): unit, ports, masks, banks.

`needs_of` looks at one expression, `merged` joins expressions that must share a step, and `fits` says whether two
such sets may share one. All rules of parallel issue are here and nowhere else in the scheduler.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.accesses import Access, Agent, Cycles, accesses, issue_group
from mnc.mncore_backend.assembly.hazards import hazard_row
from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.records import Expression, Mask, Memory, Operand
from mnc.mncore_backend.target import CONSTANT_MASK_BASE, cached_per_machine, chip

UNIT_BIT = {unit: 1 << i for i, unit in enumerate(Unit)}
_MAU_BITS = UNIT_BIT[Unit.MAU] | UNIT_BIT[Unit.MWRITE] | UNIT_BIT[Unit.MREAD]
_DOWN_BITS = UNIT_BIT[Unit.L1BM] | UNIT_BIT[Unit.TURNAROUND]
_READ_PORTS = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)
LOCAL = (Memory.LM0, Memory.LM1)
LOCAL_BIT = {memory: 1 << i for i, memory in enumerate(LOCAL)}
_WRITE_PORTS = (*_READ_PORTS, Memory.T, Memory.MASK, Memory.BAR0, Memory.BAR1)
_BANKS = (Memory.MATRIX_X, Memory.MATRIX_Y)
NOWHERE: Cycles = ((), (), (), ())
AGENT_BIT = {agent: 1 << i for i, agent in enumerate(Agent)}
Region = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Needs:
    """Requirements of one or more expressions in one step.

    reads, writes  memory -> addressing of its one port
    mask           (entry, two_long) of the one mask that a step may use
    precision      letter of the MAU part, "" without
    shared         second input of a vector product, which a matrix write of the step must share, and vice versa
    agents         bit set of the transfer paths used (`AGENT_BIT`)
    local_reads    bit set of the local memories among `reads` (`LOCAL_BIT`)
    local_writes   the same of `writes`
    """

    units: int = 0
    reads: tuple[tuple[Memory, Region], ...] = ()
    writes: tuple[tuple[Memory, Region], ...] = ()
    mask: tuple[int, bool] | None = None
    precision: str = ""
    banks: int = 0
    product: Operand | None = None
    written: Operand | None = None
    zero_flush: bool = False
    immediate: bool = False
    agents: int = 0
    local_reads: int = 0
    local_writes: int = 0

    @property
    def mau_parts(self) -> int:
        return (self.units & _MAU_BITS).bit_count()


EMPTY = Needs()


def _mask_key(mask: Mask) -> tuple[int, bool]:
    """Entry number of the mask register file, which also holds the fixed patterns (SDM 3.6.2)."""
    entry = CONSTANT_MASK_BASE + int(mask.pattern, 2) if mask.pattern is not None else mask.entry or 0
    return entry, mask.two_long


def _single_mask(masks: set[tuple[int, bool]], expression: Expression) -> tuple[int, bool]:
    if len(masks) > 1:
        raise InternalError(f"one {expression.opcode} uses two masks: {sorted(map(str, masks))}")
    return next(iter(masks))


@lru_cache
def _upper_needs(units: int, agents: int) -> Needs:
    """Those of a transfer that no PE takes part in: one record for all that are alike."""
    return Needs(units, agents=agents)


def needs_of(expression: Expression) -> Needs:
    """Requirements of one expression. Raises InternalError if it can never be issued."""
    return needs_with(expression, accesses(expression))


def needs_with(expression: Expression, touched: Iterable[Access]) -> Needs:
    """The same, given what the expression touches."""
    info = OPCODES[expression.opcode]
    reads: dict[Memory, Region] = {}
    writes: dict[Memory, Region] = {}
    banks = agents = 0
    for access in touched:
        memory = access.memory
        if access.write:
            if memory in _WRITE_PORTS:
                if memory in writes:
                    raise InternalError(f"one {expression.opcode} has two destinations in {memory.name}")
                writes[memory] = access.region
        elif memory in _READ_PORTS and reads.setdefault(memory, access.region) != access.region:
            raise InternalError(f"one {expression.opcode} reads {memory.name} at two places")
        if memory in _BANKS:
            banks |= 1 << _BANKS.index(memory)
        agents |= AGENT_BIT[access.agent]
    masks = {_mask_key(o.mask) for o in expression.destinations if o.mask is not None}
    if expression.zero_flush is not None:
        masks.add(_mask_key(expression.zero_flush))
    unit = issue_group(expression)
    if unit is Unit.L2BM and not masks:
        return _upper_needs(UNIT_BIT[unit], agents)
    result = Needs(
        UNIT_BIT[unit],
        tuple(reads.items()),
        tuple(writes.items()),
        _single_mask(masks, expression) if masks else None,
        info.precision if UNIT_BIT[unit] & _MAU_BITS else "",
        banks,
        expression.sources[1] if info.operation in ("vfma", "vmul") else None,
        expression.sources[0] if unit is Unit.MWRITE else None,
        expression.zero_flush is not None,
        info.operation in ("imm", "immu"),
        agents,
        sum(LOCAL_BIT[m] for m in LOCAL if m in reads),
        sum(LOCAL_BIT[m] for m in LOCAL if m in writes),
    )
    if not _self_consistent(result):
        raise InternalError(f"{expression.opcode} uses a local memory in a way that no step allows")
    return result


def _self_consistent(needs: Needs) -> bool:
    """Reads and writes of one LM in a step have the same addresses; no immediate with LM0 (SDM 3.6.3)."""
    both = needs.local_reads & needs.local_writes
    if both:
        writes = dict(needs.writes)
        for memory, region in needs.reads:
            if memory in LOCAL and writes.get(memory, region) != region:
                return False
    return not (needs.immediate and (needs.local_reads | needs.local_writes) & LOCAL_BIT[Memory.LM0])


def merged(a: Needs, b: Needs) -> Needs | None:
    """Requirements of both in one step, or None if they exclude one another."""
    if a.units & b.units or a.banks & b.banks or (a.zero_flush and b.zero_flush):
        return None
    if a.mask is not None and b.mask is not None and a.mask != b.mask:
        return None
    units = a.units | b.units
    if units & _DOWN_BITS == _DOWN_BITS and (a.agents | b.agents) & AGENT_BIT[Agent.L1BM_DOWN]:
        return None  # both would fill $lbf
    if a.mau_parts and b.mau_parts and (a.mau_parts + b.mau_parts > 2 or a.precision != b.precision):
        return None
    product, written = a.product or b.product, a.written or b.written
    if product is not None and written is not None and product != written:
        return None
    reads, writes = dict(a.reads), dict(a.writes)
    for memory, region in b.reads:
        if reads.setdefault(memory, region) != region:
            return None
    for memory, region in b.writes:
        if memory in writes:
            return None
        writes[memory] = region
    result = Needs(
        units,
        tuple(reads.items()),
        tuple(writes.items()),
        a.mask if a.mask is not None else b.mask,
        a.precision or b.precision,
        a.banks | b.banks,
        product,
        written,
        a.zero_flush or b.zero_flush,
        a.immediate or b.immediate,
        a.agents | b.agents,
        a.local_reads | b.local_reads,
        a.local_writes | b.local_writes,
    )
    return result if _self_consistent(result) else None


# ---- distances between steps that hold whatever the addresses --------------------------------------------------------


@cached_per_machine()
def port_distances() -> dict[tuple[Agent, Agent], int]:
    """(producer, consumer) -> least distance in steps, from the rows of the hazard table that hold for any address."""
    table: dict[tuple[Agent, Agent], int] = {}
    for memory in (Memory.L1BM, Memory.L2BM):
        for producer in Agent:
            for consumer in Agent:
                row = hazard_row(Access(memory, True, producer, NOWHERE), Access(memory, False, consumer, NOWHERE))
                steps = chip().hazards[row].emit_steps if row else None
                if steps and consumer is not Agent.MV:
                    table[producer, consumer] = max(steps, table.get((producer, consumer), 0))
    # OPEN-47: nobody says that the turnaround path is exempt from the rule about l2bmi.
    table[Agent.MULTICAST, Agent.TURNAROUND] = table[Agent.MULTICAST, Agent.L1BM_DOWN]
    return table


@cached_per_machine()
def local_distance() -> int:
    """Steps from a write of a local memory to a read of it."""
    return chip().hazards["9a"].emit_steps or 1


@cached_per_machine()
def reach() -> int:
    """No port rule reaches as far as this many steps."""
    return max(local_distance(), *port_distances().values())


@cached_per_machine(1 << 12)
def forbidden_before(agents: int, distance: int) -> int:
    """Agents that must not be active `distance` steps before a step with `agents`."""
    return sum(
        {AGENT_BIT[p] for (p, c), steps in port_distances().items() if agents & AGENT_BIT[c] and distance < steps}
    )


@cached_per_machine(1 << 12)
def forbidden_after(agents: int, distance: int) -> int:
    """Agents that must not be active `distance` steps after a step with `agents`."""
    return sum(
        {AGENT_BIT[c] for (p, c), steps in port_distances().items() if agents & AGENT_BIT[p] and distance < steps}
    )


@cached_per_machine(1 << 12)
def forbidden_around(agents: int) -> tuple[tuple[int, int], ...]:
    """Steps after (before: less than 0) a step with `agents`, and the agents that must not be active then."""
    before = [(-distance, forbidden_before(agents, distance)) for distance in range(reach())]
    after = [(distance, forbidden_after(agents, distance)) for distance in range(reach())]
    return tuple((offset, forbidden) for offset, forbidden in (*before, *after) if forbidden)


def far_enough(earlier: Needs, later: Needs, distance: int) -> bool:
    """Port rules allow `later` to be issued `distance` (>= 1) steps after `earlier`."""
    if later.agents > 1 < earlier.agents and forbidden_before(later.agents, distance) & earlier.agents:
        return False
    return distance >= local_distance() or not earlier.local_writes & later.local_reads
