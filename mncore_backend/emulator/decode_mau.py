"""MAU expressions: vector, matrix-vector, matrix write and transposed read (SDM 3.6.9 to 3.6.11)."""

from functools import cache

from mnc.mncore_backend.assembly.records import Expression, Memory, Operand
from mnc.mncore_backend.emulator import kernels
from mnc.mncore_backend.emulator.arena import CYCLES, Rows
from mnc.mncore_backend.emulator.operands import WORD_MEMORIES, StaticError
from mnc.mncore_backend.emulator.plan import Value
from mnc.mncore_backend.emulator.step import StepDecoder

ROWS_OF = {"d": 4, "f": 8, "g": 8, "h": 16}
BANK = {Memory.MATRIX_X: "x", Memory.MATRIX_Y: "y"}
VECTOR = ("vfma", "vmul", "vadd", "vpassa")
MATRIX = ("mfma", "mmul")


@cache
def split_mau(opcode: str) -> tuple[str, str, str]:
    """(precision, operation, half) of a MAU mnemonic; half is "u" or "d" for double products, else empty."""
    precision, rest = opcode[0], opcode[1:]
    half = ""
    if precision == "d" and rest[-1:] in ("u", "d") and rest[:-1] in ("vfma", "vmul", "mfma", "mmul"):
        rest, half = rest[:-1], rest[-1]
    return precision, rest, half


def bank_of(operand: Operand) -> str:
    """Letter of a matrix bank operand. Raises StaticError for anything else."""
    if operand.memory not in BANK:
        raise StaticError(f"${operand.memory.value} is no matrix register")
    return BANK[operand.memory]


def _addend(step: StepDecoder, operand: Operand, precision: str) -> Value:
    """The addend has the precision of the accumulator: single for f, g and h, double for d."""
    return step.reader.source(operand, {"d": "d", "f": "f", "g": "f", "h": "hf"}[precision])


def _finish(step: StepDecoder, expression: Expression, kernel: kernels.Kernel, operands: dict[str, Rows]) -> None:
    """Call a kernel with the operands it names, results and flags included, and deliver the result."""
    out = step.result_rows("mau", "out_lsb" in kernel.operands)
    operands |= {"out": out.msb, "out_lsb": out.lsb}
    flags = None
    if "flags" in kernel.operands:
        flags = operands["flags"] = step.builder.scratch()
    step.builder.call(kernel, **operands)
    step.deliver("mau", expression, out, flags)


def _wants_flags(expression: Expression) -> bool:
    return any(destination.memory is Memory.MASK for destination in expression.destinations)


def decode_vector(step: StepDecoder, expression: Expression) -> None:
    """``vfma``, ``vmul``, ``vadd`` and ``vpassa``."""
    precision, operation, half = split_mau(expression.opcode)
    name = operation[1:]
    sources = list(expression.sources)
    operands = {"x": step.reader.source(sources[0], precision).msb}
    if name in ("fma", "mul"):
        operands["y"] = step.reader.source(sources[1], precision).msb
    if name in ("fma", "add"):
        z = _addend(step, sources[-1], precision)
        operands |= {"z": z.msb, "z_lsb": z.lsb}
    kernel = kernels.mau_vector(
        name, precision, reduce="r" in expression.modifier, half=half, flags=_wants_flags(expression)
    )
    _finish(step, expression, kernel, operands)


def decode_matrix(step: StepDecoder, expression: Expression) -> None:
    """``mfma`` and ``mmul``: the bank is the first source."""
    precision, operation, half = split_mau(expression.opcode)
    bank = bank_of(expression.sources[0])
    rows = {"u": (0, 1), "d": (2, 3)}.get(half) or tuple(range(ROWS_OF[precision]))
    step.builder.bank_reads.append((bank, precision, rows, True))
    x = step.reader.source(expression.sources[1], precision)
    step.check_block_float(precision, x.msb)
    operands = {"decoded": step.builder.rows(f"decoded_{bank}", range(CYCLES)), "x": x.msb}
    if operation == "mfma":
        z = _addend(step, expression.sources[2], precision)
        operands |= {"z": z.msb, "z_lsb": z.lsb}
    kernel = kernels.matrix_vector(
        operation[1:], precision, reduce="r" in expression.modifier, half=half, flags=_wants_flags(expression)
    )
    _finish(step, expression, kernel, operands)


def decode_matrix_write(step: StepDecoder, expression: Expression) -> None:
    """``mwrite``: row (address + cycle) modulo the row count receives the source longs of the MAB unchanged."""
    precision = expression.opcode[0]
    target = expression.destinations[0]
    bank, count = bank_of(target), ROWS_OF[precision]
    x = step.reader.source(expression.sources[0], precision)
    two_long = target.width == 4
    if two_long and (precision != "h" or target.address % 2):
        raise StaticError("a 2-long matrix write exists for halves and even rows only")
    source = expression.sources[0]
    if precision == "h" and source.memory in WORD_MEMORIES and source.suffix != "r" and source.width != target.width:
        raise StaticError("source and matrix register of hmwrite must have the same width")
    pace = 2 if two_long else 1
    rows = [(target.address + pace * cycle) % count for cycle in range(CYCLES)]
    step.builder.carry(kernels.copy(), out=step.builder.rows(bank, rows), x=x.msb)
    if two_long:
        step.builder.carry(kernels.copy(), out=step.builder.rows(bank, [row + 1 for row in rows]), x=x.lsb)
        rows += [row + 1 for row in rows]
    step.builder.bank_writes.append((bank, precision, tuple(rows)))


def decode_matrix_read(step: StepDecoder, expression: Expression) -> None:
    """``mread``: columns (address + cycle) modulo the row count, transposed onto the PEs."""
    precision = expression.opcode[0]
    source = expression.sources[0]
    bank, count = bank_of(source), ROWS_OF[precision]
    if (precision == "h") != (source.width == 4) or (precision == "h" and source.address % 2):
        raise StaticError("hmread takes a 2-long bank operand and an even column, the other matrix reads a long one")
    pace = 2 if precision == "h" else 1
    columns = tuple((source.address + pace * cycle) % count for cycle in range(CYCLES))
    step.builder.bank_reads.append((bank, precision, tuple(range(count)), False))
    kernel = kernels.matrix_read(precision)
    out = step.result_rows("mread", "out_lsb" in kernel.operands)
    operands = {"out": out.msb, "out_lsb": out.lsb, "column": columns}
    operands["bank"] = step.builder.rows(bank, range(CYCLES))
    step.builder.call(kernel, **operands)
    step.deliver("mread", expression, out, None)
