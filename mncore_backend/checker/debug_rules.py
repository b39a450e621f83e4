"""Rules of debug statements (SDM 3.4.3, 3.4.4)."""

from mnc.mncore_backend.assembly.debug_lines import largest_count
from mnc.mncore_backend.assembly.printer import print_debug_operand
from mnc.mncore_backend.assembly.records import DebugGet, DebugOperand, DebugSet, DramPreset, Memory
from mnc.mncore_backend.checker.findings import Report
from mnc.mncore_backend.target import PES_PER_MAB, chip

_SETTABLE = (Memory.L2BM, Memory.L1BM, Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1, Memory.T)
_BANKS = (Memory.MATRIX_X, Memory.MATRIX_Y)
_WORD_ADDRESSED = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)


def payload_longs(operand: DebugOperand) -> int:
    """Long words of payload per unit of ``d set``: two for 2-long operands, else one (``$t``, ``$lt``: OPEN-03)."""
    return 2 if operand.width == 4 else 1


def debug_reports(statement: DebugGet | DebugSet | DramPreset) -> list[Report]:
    """Everything wrong with a debug statement."""
    if isinstance(statement, DramPreset):
        size = chip().memories[Memory.DRAM].addresses
        if statement.address < size:
            return []
        return [
            Report("address-range", f"DRAM address {statement.address:x} does not exist", f"it ends at {size - 1:x}")
        ]
    operand = statement.operand
    name = print_debug_operand(operand)
    found = address_reports(operand)
    if isinstance(statement, DebugGet):
        if statement.count > (limit := largest_count(operand)):
            message = f"{statement.count} elements of {name} are more than {operand.memory.name} has"
            found.append(Report("debug-count", message, f"the count is at most {limit}"))
        if operand.memory in _BANKS and not statement.dtype:
            found.append(
                Report("debug-dtype", f"{name} needs a dtype", "write d getd, getf, geth or a block-float one")
            )
        return found
    if operand.memory not in _SETTABLE:
        hint = "d set takes L2BM, L1BM, GRF, LM and T"
        return [*found, Report("debug-memory", f"d set cannot write {name}", hint)]
    wanted = statement.count * payload_longs(operand)
    if len(statement.payload) != wanted:
        message = f"payload of {len(statement.payload)} long words for a count of {statement.count} of {name}"
        found.append(Report("debug-payload", message, f"{wanted} long words are needed"))
    return found


def address_reports(operand: DebugOperand) -> list[Report]:
    """What is wrong with a place: memory that there is not, or half of an element."""
    machine, name = chip(), print_debug_operand(operand)
    counts = machine.groups, machine.l2bs_per_group, machine.l1bs_per_l2b, machine.mabs_per_l1b, PES_PER_MAB
    for letter, unit, count in zip("ncbmp", operand.scope, counts, strict=True):
        if unit is not None and unit >= count:
            return [Report("address-range", f"{name}: there is no {letter}{unit}", f"the last is {letter}{count - 1}")]
    size = chip().memories[operand.memory].addresses
    if operand.address >= size:
        return [Report("address-range", f"{name} is beyond {operand.memory.name}", f"it ends at {size - 1}")]
    if operand.memory in _WORD_ADDRESSED and operand.address % operand.width:
        return [Report("address-alignment", f"{name} is misaligned", f"use a multiple of {operand.width}")]
    return []
