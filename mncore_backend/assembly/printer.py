"""Statement records to text, in the canonical spelling: options size, tag, nd, priority; one blank between tokens."""

from functools import lru_cache

from mnc.mncore_backend.assembly.records import (
    DebugGet,
    DebugOperand,
    DebugSet,
    DramPreset,
    Expression,
    Mask,
    MaskSetting,
    Memory,
    Operand,
    Quit,
    RepeatedNop,
    Statement,
    Step,
    Transfer,
)

_PREFIX = {1: "", 2: "l", 4: "ll"}
_WIDE = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)
_OFFCHIP = (Memory.PDM, Memory.DRAM, Memory.DRAM_INDIRECT)


def print_mask(mask: Mask) -> str:
    """``/1000``, ``/ll0111``, ``/$imr3``, ``/$llimr3t``."""
    prefix = "ll" if mask.two_long else ""
    body = prefix + mask.pattern if mask.pattern is not None else f"${prefix}imr{mask.entry}"
    return f"/{body}{mask.check}"


def _tail(operand: Operand) -> str:
    if operand.flat is not None:
        return "[" + ",".join(map(str, operand.flat)) + "]"
    if operand.t_indirect and operand.stride is None and operand.address == 0:
        return ""
    if operand.stride is None:
        return str(operand.address)
    return f"{operand.address}v" + ("" if operand.stride == operand.width else str(operand.stride))


@lru_cache(1 << 16)
def print_operand(operand: Operand) -> str:
    """One operand as the parser reads it."""
    memory = operand.memory
    mask = print_mask(operand.mask) if operand.mask else ""
    sign = "-" if operand.negate else ""
    if memory in _WIDE:
        text = f"{_PREFIX[operand.width]}{memory.value}{'t' if operand.t_indirect else ''}{_tail(operand)}"
        if operand.pe_offset is not None:
            text += f"j{operand.pe_offset}"
    elif memory is Memory.T:
        text = _PREFIX[operand.width] + "t"
    elif memory in (Memory.BAR0, Memory.BAR1):
        text = _PREFIX[operand.width] + memory.value
    elif memory in (Memory.MATRIX_X, Memory.MATRIX_Y):
        text = _PREFIX[operand.width] + memory.value + (str(operand.address) if operand.address >= 0 else "")
    elif memory in (Memory.L1BM, Memory.TURNAROUND):
        text = f"{_PREFIX[operand.width]}b" + (str(operand.address) if memory is Memory.L1BM else "i")
    elif memory is Memory.L2BM:
        where = "" if operand.l2b is None else f"@{'' if operand.group is None else operand.group}.{operand.l2b}"
        text = f"lc{operand.address}{where}"
    elif memory in _OFFCHIP:
        text = f"{memory.value}{operand.address}" + ("" if operand.group is None else f"@{operand.group}")
    elif memory in (Memory.DAR, Memory.MASK):
        text = f"{memory.value}{operand.address}"
    else:
        text = memory.value
    return f"{sign}${text}{operand.suffix}{mask}"


@lru_cache(1 << 16)
def print_expression(expression: Expression) -> str:
    """One expression of a PE statement."""
    text = expression.opcode + expression.modifier
    if expression.zero_flush is not None:
        text += print_mask(expression.zero_flush)
    parts = [text]
    if expression.tag is not None:
        parts.append(f"i{expression.tag:02x}")
    if expression.literal is not None:
        parts.append(f'{expression.literal.kind}"{expression.literal.text}"')
    parts += [print_operand(o) for o in expression.sources]
    parts += [print_operand(o) for o in expression.destinations]
    return " ".join(parts)


def _transfer(transfer: Transfer) -> str:
    if transfer.source is None or transfer.destination is None:
        return transfer.opcode
    text = f"{transfer.opcode}/n{transfer.size}"
    if transfer.tag is not None:
        text += f"i{transfer.tag:02x}"
    if transfer.repeat is not None:
        text += f"nd{transfer.repeat}"
    if transfer.priority is not None:
        text += f"p{transfer.priority}"
    return f"{text} {print_operand(transfer.source)} {print_operand(transfer.destination)}"


def print_debug_operand(operand: DebugOperand) -> str:
    """Memory, address and the scope levels that are given."""
    memory = operand.memory
    if memory is Memory.L1BM:
        text = f"{_PREFIX[operand.width]}b{operand.address}"
    elif memory is Memory.T:
        text = _PREFIX[operand.width] + "t"
    elif memory in (*_WIDE, Memory.MATRIX_X, Memory.MATRIX_Y):
        text = f"{_PREFIX[operand.width]}{memory.value}{operand.address}"
    else:
        text = f"{memory.value}{operand.address}"
    levels = zip("ncbmp", operand.scope, strict=True)
    scope = "".join(f"{letter}{value}" for letter, value in levels if value is not None)
    return f"${text}{scope}"


def _payload(payload: tuple[int, ...]) -> str:
    return "".join(f"{long:016x}" for long in payload)


def print_statement(statement: Statement) -> str:
    """One line without a newline; `parse_line` gives the same record back, except for its line number."""
    match statement:
        case Step():
            return "; ".join([print_expression(e) for e in statement.expressions])
        case RepeatedNop():
            return f"nop/{statement.count}"
        case Transfer():
            return _transfer(statement)
        case MaskSetting():
            width = statement.width_written or ("ll" if statement.two_long else "")
            return f"mask{width}{statement.kinds} {statement.entry}"
        case Quit():
            return "quit"
        case DebugGet():
            return f"d get{statement.dtype} {print_debug_operand(statement.operand)} {statement.count}"
        case DebugSet():
            operand = print_debug_operand(statement.operand)
            return f"d set {operand} {statement.count} {_payload(statement.payload)}"
        case DramPreset():
            count = len(statement.payload)
            return f"r {statement.group} {statement.address:09x} {count:03x} {_payload(statement.payload)}"


def print_program(statements: list[Statement]) -> str:
    """All statements, one per line."""
    return "".join(f"{print_statement(s)}\n" for s in statements)


__all__ = ["print_expression", "print_mask", "print_operand", "print_program", "print_statement"]
