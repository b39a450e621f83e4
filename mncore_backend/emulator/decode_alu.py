"""ALU expressions (SDM 3.6.12)."""

import struct
from functools import cache

from mnc.mncore_backend.assembly.records import Expression, Literal, Memory
from mnc.mncore_backend.emulator import kernels
from mnc.mncore_backend.emulator.arena import Rows
from mnc.mncore_backend.emulator.constants import repeat_element
from mnc.mncore_backend.emulator.operands import StaticError
from mnc.mncore_backend.emulator.plan import Value
from mnc.mncore_backend.emulator.step import StepDecoder

UNARY = ("passa", "inc", "dec", "not", "lnot", "rsqrt", "floor", "ftoi")
BINARY = (
    *("max", "min", "packbit", "and", "or", "xor", "add", "sub", "lsl", "lsr", "bsl", "bsr"),
    *("relu", "relu0", "relu1", "relu2", "relu3", "lrelud", "lreluo", "ilrelud"),
)
FLAGLESS = ("zero", "imm", "immu", "msl", "msr", "floor", "ftoi")


@cache
def split_mnemonic(opcode: str) -> tuple[str, str, bool]:
    """(operation, precision, unsigned) of an element-wise mnemonic such as ``uilsr``. Raises StaticError."""
    if opcode in ("msl", "msr"):
        return opcode, "", False
    unsigned = opcode.startswith("u")
    rest = opcode[1:] if unsigned else opcode
    precision, operation = rest[:1], rest[1:]
    if precision and precision in "dfhlis" and (operation in UNARY or operation in BINARY):
        return operation, precision, unsigned
    raise StaticError(f"'{opcode}' is no ALU operation")


def _half_of(single: int) -> int:
    """A single pattern rounded to the nearest even half (1-6-9, bias 31); underflow gives +0, overflow infinity."""
    sign, exponent, mantissa = single >> 31, single >> 23 & 0xFF, single & 0x7FFFFF
    rounded = (exponent << 23 | mantissa) + (1 << 13) - 1 + (mantissa >> 14 & 1)
    field = (rounded >> 14) - ((127 - 31) << 9)
    if exponent == 0 or field < 1 << 9:
        return 0
    return sign << 15 | min(field, 0x3F << 9)


def immediate_word(literal: Literal) -> int:
    """The 32-bit word of an immediate (SDM 3.2.2). Raises StaticError when it is out of range."""
    kind, text = literal.kind, literal.text.strip()
    if kind in ("f", "h"):
        try:
            single = struct.unpack(">I", struct.pack(">f", float(text)))[0]
        except OverflowError:
            single = 0x7F800000 | (0x80000000 if text.startswith("-") else 0)
        return single if kind == "f" else repeat_element(_half_of(single), 16) & 0xFFFFFFFF
    bits = 16 if kind in ("s", "us") else 32
    value = int(text, 0)
    low, high = (0, (1 << bits) - 1) if kind[0] == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    if not low <= value <= high:
        raise StaticError(f'immediate {kind}"{text}" is outside {low}..{high}')
    return repeat_element(value, bits) & 0xFFFFFFFF


def decode_alu(step: StepDecoder, expression: Expression) -> None:
    """Add an ALU expression to the step."""
    opcode = expression.opcode
    wants_flags = any(d.memory is Memory.MASK for d in expression.destinations)
    flags: Rows | None = None
    if opcode == "zero":
        value = Value(step.builder.zero, step.builder.zero)
    elif opcode in ("imm", "immu"):
        value = _immediate(step, expression)
    elif opcode in ("dbfn", "fbfn", "gbfn", "hbfn", "hbfe"):
        value = _block_float(step, expression)
    else:
        value, flags = _element_wise(step, expression, wants_flags)
    step.deliver("alu", expression, value, flags)


def _immediate(step: StepDecoder, expression: Expression) -> Value:
    if expression.literal is None:
        raise StaticError(f"{expression.opcode} needs an immediate")
    word = immediate_word(expression.literal)
    rows = step.constants.splat(word << 32 | (word if expression.opcode == "imm" else 0))
    return Value(rows, rows)


def _block_float(step: StepDecoder, expression: Expression) -> Value:
    precision, operation = expression.opcode[0], expression.opcode[1:]
    x = step.reader.source(expression.sources[0], precision)
    if precision != "h":
        copies_lsb = x.lsb != step.builder.zero
        out = step.result_rows("alu", copies_lsb)
        step.builder.call(kernels.block_float(operation, precision), out=out.msb, x=x.msb)
        if copies_lsb:
            step.builder.call(kernels.copy(), out=out.lsb, x=x.lsb)
        return out
    bits = int(expression.modifier.lstrip("/"))
    out = step.result_rows("alu", True)
    kernel = kernels.block_float(operation, precision, bits)
    step.builder.call(kernel, out=out.msb, x=x.msb)
    if x.lsb == step.builder.zero:
        return Value(out.msb, step.builder.zero)
    step.builder.call(kernel, out=out.lsb, x=x.lsb)
    return out


def _element_wise(step: StepDecoder, expression: Expression, wants_flags: bool) -> tuple[Value, Rows | None]:
    operation, precision, unsigned = split_mnemonic(expression.opcode)
    x = step.reader.source(expression.sources[0], precision)
    operands = {"x": x.msb}
    if len(expression.sources) == 2:
        operands["y"] = step.reader.source(expression.sources[1], precision).msb
    flags = step.builder.scratch() if wants_flags and operation not in FLAGLESS else None
    copies_lsb = x.lsb != step.builder.zero
    out = step.result_rows("alu", copies_lsb)
    kernel = kernels.alu(operation, precision, unsigned=unsigned, flags=flags is not None)
    if flags is not None:
        operands["flags"] = flags
    step.builder.call(kernel, out=out.msb, **operands)
    if copies_lsb:
        step.builder.call(kernels.copy(), out=out.lsb, x=x.lsb)
    return out, flags
