"""Statements that the machine accepts, made from those of `strategies`: addresses brought into range and alignment,
operands and suffixes that a position does not take replaced, expressions that cannot share a step left out.

`legal` keeps as much of a statement as the rules allow, so that every opcode and every operand form survives.
"""

from dataclasses import replace

from assembly.legal_transfers import WIDE, debug_operand, debug_set, legal_transfer
from mnc.mncore_backend.assembly.isa import OPCODES, OpcodeInfo, Port, Unit
from mnc.mncore_backend.assembly.records import (
    FIXED_VALUES,
    DebugGet,
    DebugSet,
    DramPreset,
    Expression,
    Literal,
    Mask,
    MaskSetting,
    Memory,
    Operand,
    RepeatedNop,
    Statement,
    Step,
    Transfer,
)
from mnc.mncore_backend.checker import Severity, check_program
from mnc.mncore_backend.target import MATRIX_ROWS, chip

HISTORY = ("latch-idle", "turnaround-empty", "turnaround-kind", "turnaround-shift", "matrix-precision")
_SIGNED = (Port.VECTOR, Port.PRODUCT, Port.ADDEND, Port.WRITE)
_NARROWED = (Port.ALU_X, Port.ALU_Y, Port.PRODUCT, Port.WRITE)
_ONE_WRITE = (*WIDE, Memory.T, Memory.MASK, Memory.BAR0, Memory.BAR1)
_NEAR = (Memory.L1BM, Memory.TURNAROUND)


def broken(statement: Statement) -> list[str]:
    """Rules that a statement breaks whatever stands before it."""
    found = [f.rule for f in check_program([statement]) if f.severity is Severity.ERROR]
    return [rule for rule in found if rule not in HISTORY]


def legal(statement: Statement) -> Statement:
    """The nearest legal statement; ``nop`` where nothing legal is left."""
    if isinstance(statement, Step):
        return Step(_expressions(statement.expressions), statement.line)
    if isinstance(statement, Transfer):
        repaired = legal_transfer(statement)
        return repaired if not broken(repaired) else Transfer("mvnop")
    if isinstance(statement, MaskSetting):
        return replace(statement, entry=statement.entry % 32)
    if isinstance(statement, DebugGet):
        scoped = replace(statement, operand=debug_operand(statement.operand), count=min(statement.count, 4))
        return scoped if not broken(scoped) else replace(scoped, dtype="f")
    if isinstance(statement, DebugSet):
        repaired = debug_set(statement)
        return repaired if not broken(repaired) else RepeatedNop(1)
    if isinstance(statement, DramPreset):
        return replace(statement, address=statement.address % chip().memories[Memory.DRAM].addresses)
    return statement


# ---- steps ----


def _expressions(expressions: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """Repaired expressions, as many as can share a step."""
    kept: tuple[Expression, ...] = ()
    masks = [d.mask for e in expressions for d in e.destinations if d.mask is not None]
    for expression in expressions:
        candidate = _shared(_expression(expression, masks[0] if masks else None), kept)
        if not broken(Step((*kept, candidate))):
            kept = (*kept, candidate)
    return kept or (Expression("nop"),)


def _expression(expression: Expression, mask: Mask | None) -> Expression:
    info = OPCODES[expression.opcode]
    if info.unit is Unit.WAIT:
        return replace(expression, tag=(expression.tag or 0) % 63 + 1)
    if info.unit in (Unit.NOP, Unit.NOFORWARD, Unit.L2BMDARW):
        return expression
    if info.unit is Unit.L2BM:
        return _l2bm(expression, info)
    if info.unit is Unit.L1BM:
        return _l1bm(expression, info, mask)
    sources = [_source(s, port, info) for s, port in zip(expression.sources, info.ports, strict=False)]
    if info.unit is Unit.MWRITE:
        bank = _bank(expression.destinations[0], info)
        return replace(expression, sources=(_written(sources[0], bank, info),), destinations=(bank,))
    flush = expression.zero_flush if mask is None and expression.zero_flush is not None else None
    written = _destinations(expression.destinations, info, mask)
    literal = _literal(expression.literal) if expression.literal is not None else None
    return replace(
        expression,
        sources=tuple(sources),
        destinations=written,
        zero_flush=_mask(flush) if flush is not None else None,
        literal=literal,
    )


def _shared(expression: Expression, kept: tuple[Expression, ...]) -> Expression:
    """Operands that would use a read port a second time take the addressing of the first."""
    first = {s.memory: s for e in kept for s in e.sources if s.memory in WIDE}
    sources = []
    for operand in expression.sources:
        known = first.setdefault(operand.memory, operand) if operand.memory in WIDE else operand
        sources.append(replace(known, negate=operand.negate, suffix=operand.suffix))
    taken = {d.memory for e in kept for d in e.destinations}
    immediate = expression.literal is not None
    written: list[Operand] = []
    for operand in expression.destinations:
        memory = operand.memory
        if memory in taken and memory in _ONE_WRITE:
            continue
        taken.add(memory)
        if memory is Memory.LM0 and immediate:
            operand = replace(operand, memory=Memory.LM1, t_indirect=False)
        if operand.memory in (Memory.LM0, Memory.LM1) and operand.memory in first:
            operand = replace(first[operand.memory], negate=False, suffix="", mask=operand.mask)
        written.append(operand)
    if expression.destinations and not written:
        written = [Operand(Memory.NOWRITE)]
    return replace(expression, sources=tuple(sources), destinations=tuple(written))


# ---- operands ----


def _addressed(operand: Operand) -> Operand:
    """A PE memory operand inside its memory, aligned to its width."""
    size, width = chip().memories[operand.memory].addresses, operand.width
    indirect = operand.t_indirect and operand.memory is Memory.LM0
    offset = operand.pe_offset
    if operand.flat is not None:
        a, b, c, d = (address % size // width * width for address in operand.flat)
        operand = replace(operand, flat=(a, b, c, d))
    stride = operand.stride // width * width if operand.stride is not None else None
    return replace(
        operand,
        address=operand.address % size // width * width,
        stride=stride,
        t_indirect=indirect,
        pe_offset=None if offset is None or indirect else offset % 4,
    )


def _source(operand: Operand, port: Port, info: OpcodeInfo) -> Operand:
    if port is Port.MATRIX:
        return replace(operand, width=2)
    if port is Port.ROW:
        return _bank(operand, info)
    if operand.memory in FIXED_VALUES:
        return operand if port is Port.ALU_X else Operand(Memory.GRF0, 2, 8)
    if operand.memory is Memory.MREADF and port is not Port.ALU_X:
        operand = replace(operand, memory=Memory.ALUF)
    if operand.memory in WIDE:
        operand = _addressed(operand)
    suffix = operand.suffix
    if suffix == "r" and not (port in _NARROWED and info.half_inputs):
        suffix = ""
    widens = port is Port.ADDEND or (port in (Port.PRODUCT, Port.WRITE) and info.precision in ("d", "f", "g"))
    if suffix == "e" and not widens and not (port is Port.PE and info.reduction and info.precision == "f"):
        suffix = ""
    return replace(operand, negate=operand.negate and port in _SIGNED, suffix=suffix)


def _bank(operand: Operand, info: OpcodeInfo) -> Operand:
    width = operand.width if info.precision == "h" else 2
    if info.unit is Unit.MREAD and info.precision == "h":
        width = 4
    row = operand.address % MATRIX_ROWS[info.precision]
    return replace(operand, width=width, address=row // 2 * 2 if width == 4 else row)


def _written(source: Operand, bank: Operand, info: OpcodeInfo) -> Operand:
    """Source and bank of ``hmwrite`` agree in width."""
    if info.precision != "h" or source.memory not in WIDE:
        return source
    if source.suffix == "r":
        source = replace(source, suffix="r" if bank.width == 2 else "")
    return _addressed(replace(source, width=4 if source.suffix == "r" else bank.width))


def _mask(mask: Mask) -> Mask:
    return replace(mask, entry=mask.entry % 32, check="") if mask.entry is not None else replace(mask, check="")


def _destinations(operands: tuple[Operand, ...], info: OpcodeInfo, mask: Mask | None) -> tuple[Operand, ...]:
    if any(d.memory is Memory.NOWRITE for d in operands):
        return (Operand(Memory.NOWRITE),)
    found: list[Operand] = []
    for operand in operands:
        if operand.memory is Memory.MASK:
            if info.unit not in (Unit.ALU, Unit.MAU):
                continue
            operand = replace(operand, address=operand.address % 15 + 1)
        elif operand.memory in WIDE:
            operand = _addressed(operand)
        if operand.mask is not None and mask is not None:
            operand = replace(operand, mask=_mask(mask))
        if operand.memory not in {d.memory for d in found}:
            found.append(operand)
    return tuple(found) or (Operand(Memory.T),)


def _literal(literal: Literal) -> Literal:
    if literal.kind in ("f", "h"):
        return literal
    value = int(literal.text, 0) % 2 ** (15 if literal.kind in ("s", "us") else 31)
    return replace(literal, text=hex(value) if literal.text[-1] in "13579" else str(value))


# ---- transfers between PEs, L1BM and L2BM ----


def _near(operand: Operand, alignment: int, rate: int) -> Operand:
    """An L1BM or L2BM address aligned, with room for four cycles."""
    if operand.memory is Memory.TURNAROUND:
        return operand
    room = chip().memories[operand.memory].addresses - 4 * rate
    return replace(operand, address=operand.address % (room + 1) // alignment * alignment)


def _l1bm(expression: Expression, info: OpcodeInfo, mask: Mask | None) -> Expression:
    facts = chip().l1bm_families[info.family]
    down = expression.sources[0].memory in _NEAR
    port = expression.sources[0] if down else expression.destinations[0]
    narrow = info.family == "d" or (info.reduction and (info.precision != "f" and info.reduction != "bor"))
    if narrow or expression.modifier == "r":
        port = replace(port, width=2)
    two_long = port.width == 4
    rate = (facts.rate_two_long or 0) if two_long else facts.rate
    port = _near(port, facts.alignment_two_long if two_long else facts.alignment, rate)
    modifier = expression.modifier
    if modifier.startswith("@"):
        modifier = f"@{int(modifier[1:]) % (4 if info.family == 'm4' else 16)}"
    if down:
        flush = _mask(expression.zero_flush) if mask is None and expression.zero_flush is not None else None
        written = _destinations(expression.destinations, info, mask)
        return replace(expression, sources=(port,), destinations=written, zero_flush=flush)
    source = _source(expression.sources[0], Port.PE, info)
    return replace(expression, sources=(source,), destinations=(port,), modifier=modifier)


def _l2bm(expression: Expression, info: OpcodeInfo) -> Expression:
    source, target = expression.sources[0], expression.destinations[0]
    if info.operation == "l2bmdars":
        staged = chip().dar_staged_longs_per_cycle
        source = replace(_near(source, 1, staged), l2b=(source.l2b or 0) % 2)
        return replace(expression, sources=(source,), destinations=(replace(target, address=target.address % 1024),))
    facts = chip().l2bm_families[info.family]
    sides = []
    for operand in (source, target):
        near = operand.memory is Memory.L1BM
        rate = facts.l1bm_rate if near else facts.l2bm_rate
        sides.append(_near(operand, facts.l1bm_alignment if near else facts.l2bm_alignment, rate))
    modifier = expression.modifier
    if info.operation == "l2bm":
        modifier = f"@{int(modifier[1:]) % 8}"
    elif info.operation == "l2bmi" and modifier in ("@0/7", ""):
        modifier = "@2/4"
    return replace(expression, sources=(sides[0],), destinations=(sides[1],), modifier=modifier)
