"""Rules of a step: which expressions may be issued together (SDM 3.6.4, summary 7.1.1), ports and masks."""

from collections.abc import Iterable

from mnc.mncore_backend.assembly.accesses import Access, accesses, issue_group
from mnc.mncore_backend.assembly.isa import OPCODES, Unit
from mnc.mncore_backend.assembly.records import Expression, Mask, MaskSetting, Memory, Operand
from mnc.mncore_backend.checker.findings import Report

_MAU_UNITS = (Unit.MAU, Unit.MWRITE, Unit.MREAD)
_REGIONAL = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)
_LOCAL = (Memory.LM0, Memory.LM1)
_WRITE_PORTS = (*_REGIONAL, Memory.T, Memory.MASK, Memory.BAR0, Memory.BAR1)
_BANKS = (Memory.MATRIX_X, Memory.MATRIX_Y)
MASK_KINDS = {
    "r": (Memory.GRF0,),
    "s": (Memory.GRF1,),
    "t": (Memory.T,),
    "m": (Memory.LM0, Memory.BAR0),
    "n": (Memory.LM1, Memory.BAR1),
    "k": (Memory.MASK,),
}


def step_reports(expressions: tuple[Expression, ...], default_masks: MaskSetting | None) -> list[Report]:
    """Everything wrong with the company of the expressions of a step."""
    found: list[Report] = []
    if len(expressions) > 1:
        found += _groups(expressions)
        found += _mau(expressions)
    elif expressions and expressions[0].opcode == "wait":
        found.append(Report("wait-company", "wait stands alone", "write nop; wait i<tag>", 0))
    found += _ports(expressions)
    found += _masks(expressions, default_masks)
    return found


def _groups(expressions: tuple[Expression, ...]) -> list[Report]:
    found: list[Report] = []
    seen: dict[Unit, int] = {}
    for index, expression in enumerate(expressions):
        group = issue_group(expression)
        first = seen.setdefault(group, index)
        if first != index:
            message = f"{expression.opcode} and {expressions[first].opcode} both belong to the issue group {group}"
            found.append(Report("issue-group", message, "put one of them into another step", index))
    if Unit.NOP in seen and set(seen) - {Unit.NOP, Unit.WAIT}:
        found.append(Report("nop-company", "nop takes no company but wait", "leave out nop", 0))
    return found


def _mau(expressions: tuple[Expression, ...]) -> list[Report]:
    """At most two MAU units, of one precision; a matrix write shares the second input of a vector product."""
    found: list[Report] = []
    used = [(i, e, OPCODES[e.opcode]) for i, e in enumerate(expressions)]
    used = [u for u in used if u[2].unit in _MAU_UNITS]
    if len({info.unit for _, _, info in used}) > 2:
        hint = "move the matrix write or the transposed read to another step"
        message = "calculation, matrix write and transposed read in one step"
        found.append(Report("mau-units", message, hint, used[-1][0]))
    precisions = {info.precision for _, _, info in used}
    if len(precisions) > 1:
        names = ", ".join(e.opcode for _, e, _ in used)
        message = f"precisions of {names} differ"
        found.append(Report("mau-precision", message, "use one precision per step", used[-1][0]))
    products = [e for _, e, info in used if info.operation in ("vfma", "vmul")]
    for index, expression, info in used:
        if info.unit is Unit.MWRITE and products and not _same_input(products[0].sources[1], expression.sources[0]):
            message = f"the second input of {products[0].opcode} and the source of {expression.opcode} must be the same"
            found.append(Report("shared-second-input", message, "move the matrix write to another step", index))
    return found


def _same_input(first: Operand, second: Operand) -> bool:
    return first == second


class _Use:
    """First use of a memory in a step."""

    __slots__ = ("access", "expression")

    def __init__(self, access: Access, expression: int) -> None:
        self.access = access
        self.expression = expression


def _ports(expressions: tuple[Expression, ...]) -> list[Report]:
    found: list[Report] = []
    reads: dict[Memory, _Use] = {}
    writes: dict[Memory, _Use] = {}
    immediate = -1
    for index, expression in enumerate(expressions):
        if expression.literal is not None:
            immediate = index
        for access in accesses(expression):
            memory = access.memory
            if memory in _REGIONAL and not access.write:
                first = reads.setdefault(memory, _Use(access, index))
                if first.access.region != access.region:
                    found.append(_two_reads(memory, index))
            elif access.write and memory in _WRITE_PORTS:
                if memory in writes:
                    found.append(_two_writes(memory, index))
                else:
                    writes[memory] = _Use(access, index)
            elif memory in _BANKS:
                table = reads if memory not in reads else writes
                if memory in reads:
                    message = f"matrix bank {memory.value} is used twice in this step"
                    found.append(Report("matrix-bank-use", message, "use the other bank, or another step", index))
                table.setdefault(memory, _Use(access, index))
    return found + _local(reads, writes, immediate)


def _two_reads(memory: Memory, index: int) -> Report:
    message = f"instruction field conflict: {memory.name} is read at two different addresses in this step"
    hint = f"{memory.name} has one read port: copy one operand to another memory, or forward it"
    return Report("port-read", message, hint, index)


def _two_writes(memory: Memory, index: int) -> Report:
    rule = "port-write"
    return Report(rule, f"{memory.name} is written twice in this step", "write one of them in another step", index)


def _local(reads: dict[Memory, _Use], writes: dict[Memory, _Use], immediate: int) -> list[Report]:
    """Local memory has one address sequence per step; an immediate takes the place of LM0's."""
    found: list[Report] = []
    for memory in _LOCAL:
        read, write = reads.get(memory), writes.get(memory)
        if read and write and read.access.region != write.access.region:
            message = f"{memory.name} is read and written at different addresses in this step"
            hint = "use the same address in all cycles, or the other local memory"
            found.append(Report("local-memory-region", message, hint, write.expression))
    if immediate >= 0 and (Memory.LM0 in reads or Memory.LM0 in writes):
        message = "an immediate shares a step with LM0"
        found.append(Report("immediate-local-memory", message, "use LM1 or a GRF", immediate))
    return found


def _entry(mask: Mask) -> tuple[int, bool]:
    """Entry and word length; the pattern b0b1b2b3 is entry 16 + its binary value, 31 is the same as 0."""
    entry = (16 + int(mask.pattern, 2) if mask.pattern is not None else mask.entry) or 0
    return (0 if entry == 31 else entry), mask.two_long


def _masks(expressions: tuple[Expression, ...], default_masks: MaskSetting | None) -> list[Report]:
    """One zero-flush mask; all masks of a step have one entry and word length (the register file is read once)."""
    flushes = [i for i, e in enumerate(expressions) if e.zero_flush is not None]
    found: list[Report] = []
    if len(flushes) > 1:
        found.append(
            Report("zero-flush-twice", "two zero-flush masks in one step", "flush in separate steps", flushes[1])
        )
    uses = [(_entry(m), i) for i in flushes if (m := expressions[i].zero_flush) is not None]
    singles = [(_entry(d.mask), i) for i, e in enumerate(expressions) for d in e.destinations if d.mask is not None]
    related = 0
    if singles:
        uses += singles
    elif default_masks is not None and uses and _applies(expressions, default_masks):
        uses.append(((default_masks.entry, default_masks.two_long), flushes[0]))
        related = default_masks.line
    for use, index in uses[1:]:
        if use != uses[0][0]:
            message = "masks of this step differ in entry or word length"
            found.append(Report("mask-conflict", message, "use one mask per step", index, related))
            break
    return found


def masked_memories(setting: MaskSetting) -> frozenset[Memory]:
    """Destinations that a ``mask`` statement masks."""
    return frozenset(memory for kind in setting.kinds for memory in MASK_KINDS[kind])


def _applies(expressions: Iterable[Expression], setting: MaskSetting) -> bool:
    if setting.entry in (0, 31):
        return False
    memories = masked_memories(setting)
    return any(d.memory in memories for e in expressions for d in e.destinations)
