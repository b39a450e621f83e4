"""Sources and destinations of PE expressions: from operand records to rows (SDM 3.6.1)."""

from collections.abc import Sequence

from mnc.mncore_backend.assembly.records import FIXED_VALUES, Memory, Operand
from mnc.mncore_backend.emulator import kernels
from mnc.mncore_backend.emulator.arena import CYCLES, Rows, arena_layout, row_bytes
from mnc.mncore_backend.emulator.constants import Constants, KnownSource
from mnc.mncore_backend.emulator.context import LATCH_OF, Context
from mnc.mncore_backend.emulator.geometry import geometry
from mnc.mncore_backend.emulator.indirect import fetch_dynamic, is_dynamic
from mnc.mncore_backend.emulator.plan import Access, PlanBuilder, UpperAccess, Value, rows_of

WORD_MEMORIES = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)
REGION = {Memory.LM0: "m", Memory.LM1: "n", Memory.GRF0: "r", Memory.GRF1: "s"}


NO_DISPLACEMENT = [0, 0]


def following_rows(rows: Rows) -> Rows:
    """The rows one long word behind: the LSB longs of a 2-long access."""
    a, b, c, d, stride = rows
    return (a + row_bytes(), b + row_bytes(), c + row_bytes(), d + row_bytes(), stride)


class StaticError(ValueError):
    """A statement the machine cannot execute; the engine adds the line."""

    def __init__(self, message: str, rule: str = "illegal-statement") -> None:
        super().__init__(message)
        self.rule = rule


def check_static(operand: Operand, strict: bool) -> None:
    """Range and alignment of the addresses as written (OPEN-08)."""
    size, width = 2 * geometry().longs[operand.memory], operand.width
    addresses = operand.addresses()
    a, b, c, d = addresses
    if not (a | b | c | d) & (width - 1) and min(addresses) >= 0 and max(addresses) < size:
        return
    name = operand.memory.value
    for address in addresses:
        if address % width:
            raise StaticError(f"address {address} of ${name} is not a multiple of {width} words")
        if strict and not 0 <= address < size:
            message = f"address {address} of ${name} is outside 0..{size - 1} and would wrap around"
            raise StaticError(message, "wrap-around")


def static_words(operand: Operand, context: Context, strict: bool) -> tuple[int, ...]:
    """First word of the access in cycles 0..3, base registers added, aligned and wrapped; an error in strict mode."""
    memory, width = operand.memory, operand.width
    size = 2 * geometry().longs[memory]
    a, b, c, d = operand.addresses()
    if memory is Memory.LM0 or memory is Memory.LM1:
        bar = context.bars[memory is Memory.LM1]
        if bar:
            a, b, c, d = a + bar, b + bar, c + bar, d + bar
            if strict:
                _check_displaced(operand, bar, (a, b, c, d))
    keep = (size - 1) & -width
    return (a & keep, b & keep, c & keep, d & keep)


def _check_displaced(operand: Operand, bar: int, addresses: tuple[int, ...]) -> None:
    name = f"${operand.memory.value} with base register {bar}"
    if max(addresses) >= 2 * geometry().longs[operand.memory]:
        raise StaticError(f"address {max(addresses)} of {name} would wrap around", "wrap-around")
    if any(address % operand.width for address in addresses):
        raise StaticError(f"address {addresses[0]} of {name} is not a multiple of {operand.width} words", "misaligned")


def find_source(operand: Operand, context: Context, base: int, strict: bool) -> KnownSource:
    """Where a source with static addresses lies in the arena that begins at `base`."""
    a, b, c, d = words = static_words(operand, context, strict)
    rows = rows_of(base, REGION[operand.memory], (a >> 1, b >> 1, c >> 1, d >> 1))
    return KnownSource(operand, Access(operand.memory, words, operand.width, operand), rows, following_rows(rows))


class Reader:
    """Turns source operands into values; results of fetches go to scratch rows of the step."""

    __slots__ = ("builder", "constants", "context", "strict")

    def __init__(self, builder: PlanBuilder, context: Context, constants: Constants, strict: bool) -> None:
        self.builder = builder
        self.context = context
        self.constants = constants
        self.strict = strict

    def value(self, operand: Operand, precision: str) -> Value:
        """The 2-long an operand delivers, before suffixes; narrow reads fill with zero (OPEN-09)."""
        memory = operand.memory
        if memory in LATCH_OF:
            return self._latch(operand)
        if memory is Memory.T:
            self.builder.reads.append(Access(memory, (0, 4, 8, 12), 4, operand))
            return Value(self.builder.rows("t", range(4)), self.builder.rows("t", range(4, 8)))
        if memory in FIXED_VALUES:
            _require(precision, ("d", "f", "g", "h", "l", "i", "s", ""), f"${memory.value} is a first ALU input only")
            rows = self.constants.fixed(memory, precision)
            return Value(rows, rows)
        if memory not in WORD_MEMORIES:
            raise StaticError(f"${memory.value} cannot be read here")
        known = self.constants.operand_rows.get(id(operand))
        if known is not None and known.operand is operand and self.context.bars == NO_DISPLACEMENT:
            self.builder.reads.append(known.access)
            return self._value_of_rows(known.rows, known.lsb_rows, operand.width, known.access.words)
        check_static(operand, self.strict)
        if is_dynamic(operand, self.context):
            return self._dynamic(operand)
        return self._static(operand)

    def _latch(self, operand: Operand) -> Value:
        value = self.context.latches[LATCH_OF[operand.memory]]
        if value is None:
            if self.strict:
                name = operand.memory.value
                message = f"${name} is read but its unit produced nothing in the last counted step"
                raise StaticError(message, "latch-idle")
            return Value(self.builder.zero, self.builder.zero)  # OPEN-19
        return value

    def _static(self, operand: Operand) -> Value:
        found = find_source(operand, self.context, self.builder.arena.base, self.strict)
        self.builder.reads.append(found.access)
        if self.context.bars == NO_DISPLACEMENT:
            self.constants.keep_operand(found)
        return self._value_of_rows(found.rows, found.lsb_rows, operand.width, found.access.words)

    def _value_of_rows(self, rows: Rows, lsb_rows: Rows, width: int, words: tuple[int, ...]) -> Value:
        if width == 4:
            return Value(rows, lsb_rows)
        if width == 2:
            return Value(rows, self.builder.zero)
        out = self.builder.scratch()
        self.builder.call(kernels.fetch_word(), out=out, x=rows, word=tuple(word & 1 for word in words))
        return Value(out, self.builder.zero)

    def _dynamic(self, operand: Operand) -> Value:
        """Indirect addressing: the host gathers into scratch rows before the kernels of the step run."""
        if operand.t_indirect:
            self.builder.reads.append(Access(Memory.T, (0, 4, 8, 12), 4, operand))
        self.builder.reads.append(Access(operand.memory, operand.addresses(), operand.width, operand, dynamic=True))
        first = arena_layout().regions["scratch"][0] + self.builder.scratch_row()
        lsb = arena_layout().regions["scratch"][0] + self.builder.scratch_row() if operand.width == 4 else None
        self.builder.before.append(lambda engine: fetch_dynamic(engine, operand, first, lsb))
        origin = arena_layout().regions["scratch"][0]
        msb_rows = self.builder.rows("scratch", range(first - origin, first - origin + CYCLES))
        if lsb is None:
            return Value(msb_rows, self.builder.zero)
        return Value(msb_rows, self.builder.rows("scratch", range(lsb - origin, lsb - origin + CYCLES)))

    def source(self, operand: Operand, precision: str, expected: str = "") -> Value:
        """A source with its suffix and sign applied. `expected` is the precision of the element the operation wants
        here (the addend of a half operation is single); it defaults to `precision`. Raises StaticError where the
        element has no lower precision, is no half, or has no sign (summary 7.5, 7.8)."""
        expected = expected or precision
        value = self.value(operand, expected)
        if operand.suffix == "r":
            _require(expected, ("h",), "r narrows to halves, not taken here")
            value = self._narrow(value)
        elif operand.suffix == "e":
            _require(expected, ("d", "f", "g", "hf"), "e widens to singles or doubles, not taken here")
            value = self._extend(value, expected)
        if operand.negate:
            _require(expected, ("d", "f", "g", "h", "hf"), "a minus sign needs a floating-point input")
            value = self._negate(value, expected)
        return value

    def _narrow(self, value: Value) -> Value:
        out = self.builder.scratch()
        self.builder.call(kernels.narrow(), out=out, x=value.msb, x_lsb=value.lsb)
        return Value(out, self.builder.zero)

    def _extend(self, value: Value, expected: str) -> Value:
        """`expected` is the wide precision: "f", "g" (OPEN-32) from 2 halves, "d" from a single, "hf" from 4 halves to
        4 singles."""
        out = self.builder.scratch()
        if expected == "hf":
            lsb = self.builder.scratch()
            self.builder.call(kernels.extend("h"), out=out, out_lsb=lsb, x=value.msb)
            return Value(out, lsb)
        self.builder.call(kernels.extend("f" if expected == "g" else expected), out=out, x=value.msb)
        return Value(out, self.builder.zero)

    def _negate(self, value: Value, expected: str) -> Value:
        precision = "f" if expected in ("hf", "g") else expected
        msb = self.builder.scratch()
        self.builder.call(kernels.negate(precision), out=msb, x=value.msb)
        if value.lsb == self.builder.zero:
            return Value(msb, value.lsb)
        lsb = self.builder.scratch()
        self.builder.call(kernels.negate(precision), out=lsb, x=value.lsb)
        return Value(msb, lsb)

    def upper(self, firsts: Sequence[int], count: int, write: bool) -> None:
        """Note an access to the same long words of every L1BM."""
        self.builder.upper.append(UpperAccess(tuple(firsts), count, write))


def _require(expected: str, precisions: tuple[str, ...], message: str) -> None:
    if expected not in precisions:
        raise StaticError(message)


def rows_of_longs(base: int, firsts: Sequence[int], stride: int) -> Rows:
    """Rows that start at long words `firsts` of a linear memory."""
    a, b, c, d = firsts
    return (base + 8 * a, base + 8 * b, base + 8 * c, base + 8 * d, stride)
