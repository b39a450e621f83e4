"""What the reference says of one operation, as Markdown."""

from mnc.mncore_backend.assembly.isa import OPCODES, OpcodeInfo, Unit
from mnc.mncore_backend.assembly.opcode_reference.meanings import MEANINGS, REDUCTION_MEANINGS
from mnc.mncore_backend.assembly.opcode_reference.syntax import flags, hazard_rows, latency, operands, syntax
from mnc.mncore_backend.target import Hazard, chip


def opcodes_of(operation: str) -> list[OpcodeInfo]:
    """All opcodes of an operation, in the order of the table."""
    return [info for info in OPCODES.values() if info.operation == operation]


def representative(infos: list[OpcodeInfo]) -> OpcodeInfo:
    """The opcode to show of an operation; singles are the common case."""
    return next((info for precision in "fgi" for info in infos if info.precision == precision), infos[0])


def _distance(hazard: Hazard) -> str:
    parts = [] if hazard.emit_steps is None else [f"{hazard.emit_steps} statement{'s' * (hazard.emit_steps > 1)} later"]
    parts += [] if hazard.emit_cycles is None else [f"{hazard.emit_cycles} cycles later for shared addresses"]
    return " and ".join(parts)


def distances(info: OpcodeInfo) -> list[str]:
    """When a result can be used, for every row of the hazard table; 1 statement later is the next one."""
    rows = [chip().hazards[row] for row in hazard_rows(info)]
    return [f"{row.consumer} after {row.producer}: {_distance(row)}" for row in rows]


def markdown(info: OpcodeInfo) -> str:
    """Meaning, syntax, operands, unit, latency, distances and flags of an opcode."""
    meaning = MEANINGS[info.operation]
    if info.reduction:
        meaning += f" `{info.mnemonic}`: {REDUCTION_MEANINGS[info.reduction]}, of {info.element_bits}-bit elements."
    lines = [meaning, "", "```", *syntax(info), "```", ""]
    lines += [f"- {text}" for text in operands(info)]
    lines += [f"- unit: {_unit(info)}", f"- latency: {latency(info)}"]
    if found := distances(info):
        lines.append(f"- distances: {'; '.join(found)}")
    if info.unit in (Unit.ALU, Unit.MAU):
        lines.append(f"- flags: {flags(info)}")
    return "\n".join(lines) + "\n"


def _unit(info: OpcodeInfo) -> str:
    names = {
        Unit.L1BM: "`l1bm`; with `$lbi` as the source `l1bm-turnaround`",
        Unit.MAU: "`mau-calc`",
        Unit.MWRITE: "`mau-mwrite`",
        Unit.MREAD: "`mau-mread`",
        Unit.MV: "`mv`, alone on its line",
    }
    return names.get(info.unit, f"`{info.unit}`") if not (info.reduction and info.unit is Unit.L1BM) else "`l1bm`"
