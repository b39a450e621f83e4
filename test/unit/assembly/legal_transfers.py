"""MV transfers and debug statements brought into range; see `legal`."""

from dataclasses import replace

from mnc.mncore_backend.assembly.isa import OPCODES
from mnc.mncore_backend.assembly.mv_accesses import mv_form
from mnc.mncore_backend.assembly.records import DebugOperand, DebugSet, Memory, Operand, Transfer
from mnc.mncore_backend.target import Shape, chip

WIDE = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)


def legal_transfer(transfer: Transfer) -> Transfer:
    """The same mnemonic in a form, size and place that exist."""
    if transfer.source is None or transfer.destination is None:
        return transfer
    name = OPCODES[transfer.opcode].operation
    forms = [form for form in chip().mv_forms if form.opcode == name]
    form = mv_form(transfer) or forms[transfer.size % len(forms)]
    size = (transfer.size % 16 + 1) * form.unit
    sides = []
    for shape, operand, longs in (
        (form.source, transfer.source, form.source_longs(size)),
        (form.destination, transfer.destination, form.destination_longs(size)),
    ):
        sides.append(_mv_operand(shape, operand, longs, name in ("mvp", "mvd", "mvr")))
    indirect = any(side.memory is Memory.DRAM_INDIRECT for side in sides)
    tag = None if transfer.tag is None else transfer.tag % 63 + 1
    repeat = transfer.repeat if indirect else None
    return replace(transfer, size=size, source=sides[0], destination=sides[1], tag=tag, repeat=repeat)


def _mv_operand(shape: Shape, operand: Operand, longs: int, takes_indirect: bool) -> Operand:
    memory = {"p": Memory.PDM, "d": Memory.DRAM, "l": Memory.L2BM}[shape.value[1]]
    if memory is Memory.DRAM and operand.memory is Memory.DRAM_INDIRECT and takes_indirect:
        memory = Memory.DRAM_INDIRECT
    one = shape in (Shape.PDM_ONE, Shape.DRAM_ONE, Shape.L2BM_ONE)
    each = shape in (Shape.L2BM_ONE, Shape.L2BM_EACH)
    if memory is Memory.DRAM_INDIRECT:
        address = operand.address % 1024
    else:
        address = operand.address % (chip().memories[memory].addresses - longs + 1)
    group, l2b = (operand.group or 0) % 4, (operand.l2b or 0) % 2
    return Operand(memory, 1, address, group=group if one else None, l2b=l2b if each else None)


def debug_operand(operand: DebugOperand) -> DebugOperand:
    """Inside the memory, and one instance of it."""
    size = chip().memories[operand.memory].addresses - 8
    if operand.memory in (Memory.MATRIX_X, Memory.MATRIX_Y, Memory.MASK):
        size = 8
    unit = operand.width if operand.memory in WIDE else 1
    levels = {Memory.PDM: 1, Memory.DRAM: 1, Memory.L2BM: 2, Memory.L1BM: 3, Memory.MATRIX_X: 4, Memory.MATRIX_Y: 4}
    n, c, b, m, p = (
        (value or 0) if level < levels.get(operand.memory, 5) else None for level, value in enumerate(operand.scope)
    )
    address = 0 if operand.memory is Memory.T else operand.address % size // unit * unit
    return replace(operand, address=address, scope=(n, c, b, m, p))


def debug_set(statement: DebugSet) -> DebugSet:
    """A payload as long as the count says."""
    operand = debug_operand(statement.operand)
    payload = statement.payload
    if operand.width == 4 and len(payload) % 2:
        payload = (*payload, payload[0])
    count = len(payload) // 2 if operand.width == 4 else len(payload)
    return replace(statement, operand=operand, payload=payload, count=count)
