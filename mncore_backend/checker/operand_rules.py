"""Rules of single operands: what its position takes, signs and suffixes, address range and alignment, masks."""

from mnc.mncore_backend.assembly.isa import Flag, OpcodeInfo, Port, Unit
from mnc.mncore_backend.assembly.printer import print_operand
from mnc.mncore_backend.assembly.records import FIXED_VALUES, Mask, Memory, Operand
from mnc.mncore_backend.checker.findings import Report
from mnc.mncore_backend.target import MADPE_RANGE, WRITABLE_MASKS, cached_per_machine, chip

_WIDE = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)
_ADDRESSED = (*_WIDE, Memory.L1BM, Memory.L2BM, Memory.PDM, Memory.DRAM, Memory.DAR)


@cached_per_machine()
def _addresses() -> dict[Memory, int]:
    """Address units of what operands address."""
    found = {memory: chip().memories[memory].addresses for memory in _ADDRESSED}
    return found | {Memory.DRAM_INDIRECT: found[Memory.DAR]}


def source_reports(operand: Operand, port: Port, info: OpcodeInfo) -> list[Report]:
    """Everything wrong with one PE-side source of an operation."""
    found = address_reports(operand)
    found += _kind(operand, port, info)
    found += _suffix(operand, port, info)
    if operand.negate and port in (Port.ALU_X, Port.ALU_Y, Port.PE):
        found.append(
            Report("operand-sign", f"{port} {print_operand(operand)} takes no minus sign", "use sub, or a MAU input")
        )
    if operand.negate and port is Port.WRITE:
        found.append(_unattested(operand, port))
    return found


def _unattested(operand: Operand, port: Port) -> Report:
    return Report(
        "widen-unattested", f"{print_operand(operand)} as {port} is not attested", "convert before the operation"
    )


def _kind(operand: Operand, port: Port, info: OpcodeInfo) -> list[Report]:
    text = print_operand(operand)
    if operand.memory in FIXED_VALUES:
        if port is not Port.ALU_X:
            return [
                Report(
                    "operand-kind",
                    f"fixed value {text} as {port} of {info.mnemonic}",
                    "fixed values are first ALU inputs",
                )
            ]
        if info.is_float:
            return [Report("fixed-value-float", f"{text} read by {info.mnemonic}", "read it with an integer operation")]
    if operand.memory is Memory.MREADF and port is not Port.ALU_X:
        return [Report("operand-kind", f"$mreadf as {port} of {info.mnemonic}", "$mreadf is a first ALU input only")]
    return []


def _suffix(operand: Operand, port: Port, info: OpcodeInfo) -> list[Report]:
    text = print_operand(operand)
    if operand.suffix == "r":
        positions = (Port.ALU_X, Port.ALU_Y, Port.PRODUCT, Port.WRITE)
        if port not in positions or not info.half_inputs:
            return [
                Report("suffix-narrow", f"r on {text}, which is no normal half input of {info.mnemonic}", "leave out r")
            ]
    if operand.suffix != "e":
        return []
    if port is Port.PE:
        if info.reduction and info.precision == "f":
            return []
        return [Report("reduction-suffix", f"e on {text}: only single-precision reductions widen", "leave out e")]
    if port is Port.ADDEND:
        return []
    if port in (Port.PRODUCT, Port.WRITE) and info.precision in ("d", "f", "g"):
        return [_unattested(operand, port)]
    return [Report("suffix-widen", f"e on {text}, {port} of {info.mnemonic}", "e widens addends; leave it out here")]


def destination_reports(operand: Operand, info: OpcodeInfo) -> list[Report]:
    """Everything wrong with one PE-side destination."""
    found = address_reports(operand)
    if operand.memory is Memory.MASK:
        found += _mask_register(operand, info)
    if operand.mask is not None:
        found += mask_reports(operand.mask)
        found += _mask_width(operand, operand.mask)
    return found


def _mask_width(operand: Operand, mask: Mask) -> list[Report]:
    """With t or p the assembler compares widths: a mask of word length ``ll`` has a bit per word of a 2-long, the other
    a bit per half of the MSB long (SDM 3.6.2). T is always a 2-long."""
    if not mask.check or operand.memory not in (*_WIDE, Memory.T):
        return []
    two_long = operand.width == 4 or operand.memory is Memory.T
    if two_long == mask.two_long:
        return []
    wanted, hint = ("2-long", "write ll behind the slash") if two_long else ("long", "leave out ll")
    message = f"{print_operand(operand)}: a {wanted} mask belongs to this access"
    return [Report("mask-width", message, hint)]


def _mask_register(operand: Operand, info: OpcodeInfo) -> list[Report]:
    name = print_operand(operand)
    found: list[Report] = []
    if operand.address not in WRITABLE_MASKS:
        found.append(Report("mask-entry", f"{name} cannot be written", "entries 1 to 15 are writable"))
    if info.unit not in (Unit.ALU, Unit.MAU):
        found.append(Report("operand-kind", f"{info.mnemonic} cannot write {name}", "only ALU and MAU results can"))
    elif info.flag is Flag.NONE:
        found.append(
            Report("flagless-mask-write", f"{info.mnemonic} has no flags for {name}", "use an operation with flags")
        )
    mask = operand.mask
    if mask is not None and (mask.entry is not None and mask.entry != operand.address):
        message = f"{name}: that the flags and another entry are ANDed is not attested"
        found.append(Report("masked-mask-write", message, "use the same entry on both sides"))
    return found


def mask_reports(mask: Mask) -> list[Report]:
    """Range of a mask entry and the check suffix."""
    found: list[Report] = []
    if mask.entry is not None and mask.entry >= chip().memories[Memory.MASK].addresses:
        found.append(Report("mask-entry", f"mask register entry {mask.entry} does not exist", "entries are 0 to 31"))
    if mask.check:
        found.append(Report("mask-check-suffix", f"suffix {mask.check} behind a mask", "leave it out"))
    return found


def address_reports(operand: Operand) -> list[Report]:
    """Range and alignment of a static address; T-indirect and j."""
    memory, size = operand.memory, _addresses().get(operand.memory)
    if size is None:
        return []
    found: list[Report] = []
    given = operand.flat if operand.flat is not None else (operand.address,)
    if max(given) >= size:
        message = f"address {max(given)} of {print_operand(operand)} is beyond {memory.name}, which ends at {size - 1}"
        found.append(Report("address-range", message, "keep static addresses inside the memory"))
    if memory not in _WIDE:
        return found
    width = operand.width
    parts = (*given, operand.stride or 0)
    if width > 1 and any(part % width for part in parts):
        message = f"{print_operand(operand)}: addresses and strides must be multiples of {width} words"
        found.append(Report("address-alignment", message, f"use a multiple of {width}, or a narrower access"))
    if operand.t_indirect and memory is Memory.LM1:
        found.append(
            Report("t-indirect", f"{print_operand(operand)}: T-indirect exists on LM0 only", "move the table to LM0")
        )
    if operand.t_indirect and operand.pe_offset is not None:
        found.append(Report("t-indirect", f"{print_operand(operand)}: T-indirect excludes j", "add the offset to T"))
    if operand.pe_offset is not None and operand.pe_offset not in MADPE_RANGE:
        found.append(Report("pe-offset", f"{print_operand(operand)}: j is 0 to 3", "a MAB has PEs 0 to 3"))
    return found
