"""Forms of MV transfers and what they touch (SDM 3.5.7, 3.5.8)."""

from dataclasses import replace

from mnc.mncore_backend.assembly.accesses import Access, Agent, Cycles
from mnc.mncore_backend.assembly.isa import OPCODES
from mnc.mncore_backend.assembly.records import Memory, Operand, Transfer
from mnc.mncore_backend.target import DAR_UNIT_LONGS, MvForm, Shape, cached_per_machine, chip


@cached_per_machine()
def _by_shapes() -> dict[tuple[str, Shape, Shape], MvForm]:
    return {(form.opcode, form.source, form.destination): form for form in chip().mv_forms}


def shape_of(operand: Operand) -> Shape | None:
    """Shape of an MV operand, None for a combination that no form has."""
    if operand.memory is Memory.PDM:
        return Shape.PDM_ALL if operand.group is None else Shape.PDM_ONE
    if operand.memory in (Memory.DRAM, Memory.DRAM_INDIRECT):
        return Shape.DRAM_ALL if operand.group is None else Shape.DRAM_ONE
    if operand.memory is Memory.L2BM:
        if operand.l2b is None:
            return Shape.L2BM_ALL
        return Shape.L2BM_EACH if operand.group is None else Shape.L2BM_ONE
    return None


@cached_per_machine(1 << 12)
def mv_form(transfer: Transfer) -> MvForm | None:
    """The form that opcode and operand shapes select; None if there is no such form (``mvnop`` included)."""
    if transfer.source is None or transfer.destination is None:
        return None
    source, destination = shape_of(transfer.source), shape_of(transfer.destination)
    if source is None or destination is None:
        return None
    return _by_shapes().get((OPCODES[transfer.opcode].operation, source, destination))


def named_source(form: MvForm, source: Operand) -> Operand:
    """The source with the L2B that the form takes where none is written (OPEN-37)."""
    return source if form.named_l2b is None else replace(source, l2b=form.named_l2b)


def _instances(operand: Operand) -> int:
    """Groups (PDM, DRAM) or linear L2Bs (L2BM) that an operand names, as a bit mask."""
    groups = range(chip().groups) if operand.group is None else (operand.group,)
    if operand.memory is not Memory.L2BM:
        return sum(1 << g for g in groups)
    l2bs = range(chip().l2bs_per_group) if operand.l2b is None else (operand.l2b,)
    return sum(1 << (chip().l2bs_per_group * g + l) for g in groups for l in l2bs)


def _access(operand: Operand, length: int, write: bool) -> Access:
    memory = Memory.DRAM if operand.memory is Memory.DRAM_INDIRECT else operand.memory
    size = chip().memories[memory].addresses
    exact = operand.memory is not Memory.DRAM_INDIRECT
    first, length = (operand.address % size, min(length, size)) if exact else (0, size)
    last = first + length
    ranges = ((first, last),) if last <= size else ((0, last - size), (first, size))
    cycles: Cycles = (ranges, (), (), ())
    return Access(memory, write, Agent.MV, cycles, 1, False, (), _instances(operand), exact)


def _dar_read(operand: Operand, longs: int, repeat: int | None) -> tuple[Access, ...]:
    """DAR entries that an indirect operand walks."""
    if operand.memory is not Memory.DRAM_INDIRECT:
        return ()
    blocks = longs // DAR_UNIT_LONGS
    entries = -(-blocks // (repeat or 1))
    size = chip().memories[Memory.DAR].addresses
    first = operand.address % size
    exact = first + entries <= size
    ranges = ((first, first + entries),) if exact else ((0, size),)
    return (Access(Memory.DAR, False, Agent.MV, (ranges, (), (), ()), 1, False, (), _instances(operand), exact),)


def transfer_accesses(transfer: Transfer) -> tuple[Access, ...]:
    """Reads and writes of an MV; all of them count as cycle 0. Empty for ``mvnop`` and for unknown forms."""
    form = mv_form(transfer)
    source, destination = transfer.source, transfer.destination
    if form is None or source is None or destination is None:
        return ()
    read, written = form.source_longs(transfer.size), form.destination_longs(transfer.size)
    source = named_source(form, source)
    return (
        _access(source, read, False),
        _access(destination, written, True),
        *_dar_read(source, read, transfer.repeat),
        *_dar_read(destination, written, transfer.repeat),
    )
