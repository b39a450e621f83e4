"""Which row of the table of MV forms a transfer is: its mnemonic and the shape of its operands decide (SDM 3.5.7)."""

from dataclasses import replace

from mnc.mncore_backend.assembly.records import Memory, Operand, Transfer
from mnc.mncore_backend.target import INDIRECT_MVS, REPEATING_MVS, MvForm, Shape, cached_per_machine, chip


@cached_per_machine()
def _rows() -> dict[tuple[str, Shape, Shape], MvForm]:
    return {(form.opcode, form.source, form.destination): form for form in chip().mv_forms}


def shape_of(operand: Operand) -> Shape:
    """The shape of an MV operand: ``@g`` and ``@g.l`` name one instance, ``@.l`` one L2B of every group."""
    if operand.memory is Memory.L2BM:
        if operand.l2b is None:
            return Shape.L2BM_ALL
        return Shape.L2BM_EACH if operand.group is None else Shape.L2BM_ONE
    if operand.memory is Memory.PDM:
        return Shape.PDM_ALL if operand.group is None else Shape.PDM_ONE
    if operand.memory in (Memory.DRAM, Memory.DRAM_INDIRECT):
        return Shape.DRAM_ALL if operand.group is None else Shape.DRAM_ONE
    raise ValueError(f"${operand.memory.value} is no operand of an MV transfer")


def form_of(transfer: Transfer) -> MvForm:
    """The form of a transfer. Raises ValueError when the operands fit no form."""
    source, destination = transfer.source, transfer.destination
    if source is None or destination is None:
        raise ValueError("an MV transfer needs a source and a destination")
    opcode = transfer.opcode
    if opcode.startswith("mvr"):
        opcode = opcode[:4] if opcode[3:4] in ("2", "4") else "mvr"
    form = _rows().get((opcode, shape_of(source), shape_of(destination)))
    if form is None:
        raise ValueError(f"{transfer.opcode} has no form with these operands")
    indirect = Memory.DRAM_INDIRECT in (source.memory, destination.memory)
    if indirect and opcode not in INDIRECT_MVS:
        raise ValueError(f"{transfer.opcode} takes no indirect DRAM operand")
    if transfer.repeat is not None and not (indirect and opcode in REPEATING_MVS):
        raise ValueError("nd needs $di and exists on mvp, mvd and mvr")
    return form


def with_named_l2b(transfer: Transfer, form: MvForm) -> Transfer:
    """A source that names no L2B where its form moves one of each group: L2B 0 (OPEN-37)."""
    if form.named_l2b is None or transfer.source is None:
        return transfer
    return replace(transfer, source=replace(transfer.source, l2b=form.named_l2b))


def check_places(transfer: Transfer) -> None:
    """Raise ValueError for a group, an L2B or a tag that does not exist: arrays of all groups would take L2B 2 of one
    group for L2B 0 of the next."""
    groups, l2bs = chip().groups, chip().l2bs_per_group
    for operand in (transfer.source, transfer.destination):
        if operand is not None and (operand.group or 0) >= groups:
            name = operand.memory.name
            raise ValueError(f"there is no {name} of group {operand.group}, the groups are 0..{groups - 1}")
        if operand is not None and (operand.l2b or 0) >= l2bs:
            raise ValueError(f"there is no L2B {operand.l2b} of a group, they are 0..{l2bs - 1}")
    if transfer.tag == 0:
        raise ValueError("there is no tag 00")


def check_size(transfer: Transfer, form: MvForm) -> None:
    """Raise ValueError unless the size is a positive multiple of the unit of the form (SDM 3.5.7)."""
    if transfer.size <= 0 or transfer.size % form.unit:
        raise ValueError(f"size {transfer.size} is not a positive multiple of {form.unit}")
