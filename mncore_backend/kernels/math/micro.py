"""Machine-level single assignment form of a vector kernel: what the body becomes before registers are chosen.

A `Value` is a virtual register (one long word per iteration), a 32-bit constant, or an input access. An `Instruction`
is one MAU or ALU operation. A register may be written again under a flag (`write_flag`): a select is a copy followed
by a masked copy. A flag is a virtual mask register.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mnc.mncore_backend.kernels.math.bits import float_bits

SIGN = 0x80000000
MANTISSA_ONE = 0x3F800000
SMALLEST_NORMAL = 0x00800000
INFINITY = 0x7F800000


@dataclass(frozen=True, slots=True)
class Value:
    """kind ``register``, ``constant`` (number is the bit pattern), ``input``, or ``sign`` (the fixed value $msb1)."""

    kind: str
    number: int
    negated: bool = False  # the float is negated by the MAU input that reads it

    def __neg__(self) -> "Value":
        if self.kind == "constant":
            return Value("constant", self.number ^ SIGN)
        return Value(self.kind, self.number, not self.negated)


SIGN_BIT = Value("sign", 0)


@dataclass(slots=True)
class Instruction:
    """One operation. `chained`: it reads the result of the instruction before it through the forwarding latch, so the
    two stay together."""

    opcode: str
    sources: tuple[Value, ...]
    result: int | None = None
    flag: int | None = None
    write_flag: int | None = None
    zero_flag: int | None = None
    flag_and: bool = False  # the flag is written only where it already is 1
    chained: bool = False

    @property
    def is_mau(self) -> bool:
        return self.opcode.startswith("fv")


@dataclass(slots=True)
class MicroBuilder:
    """Appends instructions; equal pure instructions are computed once. `repeats`: there are so many iterations that the
    busiest unit decides, and constants and waiting for results do not."""

    repeats: bool = True
    instructions: list[Instruction] = field(default_factory=list)
    registers: int = 0
    flags: int = 0
    _known: dict[tuple[str, tuple[Value, ...]], Value] = field(default_factory=dict)

    def constant(self, bits: int) -> Value:
        return Value("constant", bits & 0xFFFFFFFF)

    def number(self, value: float) -> Value:
        """A constant single."""
        return Value("constant", float_bits(value))

    def _new(self) -> Value:
        self.registers += 1
        return Value("register", self.registers - 1)

    def _emit(self, opcode: str, sources: Sequence[Value], *, chained: bool = False, share: bool = True) -> Value:
        key = (opcode, tuple(sources))
        if share and not chained and key in self._known:
            return self._known[key]
        result = self._new()
        self.instructions.append(Instruction(opcode, tuple(sources), result.number, chained=chained))
        if share and not chained:
            self._known[key] = result
        return result

    # ---- MAU: one rounding per result, zero and infinity come out canonical --------------------------------------

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        """x*y + z."""
        return self._emit("fvfma", (x, y, z))

    def mul(self, x: Value, y: Value) -> Value:
        return self._emit("fvmul", (x, y))

    def add(self, x: Value, y: Value) -> Value:
        return self._emit("fvadd", (x, y))

    def sub(self, x: Value, y: Value) -> Value:
        return self._emit("fvadd", (x, -y))

    def normalise(self, x: Value) -> Value:
        """x with a canonical zero or infinity."""
        return self._emit("fvpassa", (x,))

    def normalise_positive(self, x: Value) -> Value:
        """The same where the sign bit counts for nothing. The ALU, which has less to do, takes two constants for it: of
        two zeros and of two infinities `fmax` and `fmin` give the first operand and the one without mantissa."""
        if not self.repeats:
            return self.normalise(x)
        return self.alu("fmin", self.constant(INFINITY), self.alu("fmax", self.constant(0), x))

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """Horner evaluation, constant term first; the partial result stays in the forwarding latch."""
        *rest, second, first = coefficients
        result = self.fma(self.number(first), x, self.number(second))
        for coefficient in reversed(rest):
            latest = self.instructions[-1].result == result.number
            result = self._emit("fvfma", (result, x, self.number(coefficient)), chained=latest)
        return result

    # ---- ALU: bits are copied as they are ------------------------------------------------------------------------

    def alu(self, opcode: str, *sources: Value) -> Value:
        return self._emit(opcode, tuple(self.plain(source) for source in sources))

    def plain(self, value: Value) -> Value:
        """The value with its sign flip carried out (the ALU has no negated inputs)."""
        if not value.negated:
            return value
        return self._emit("ixor", (SIGN_BIT, Value(value.kind, value.number)))

    def integer_and(self, x: Value, bits: int) -> Value:
        return self.alu("iand", x, self.constant(bits))

    def absolute(self, x: Value) -> Value:
        return self.alu("iand", Value(x.kind, x.number), self.constant(0x7FFFFFFF))

    def shift_left(self, x: Value, count: int) -> Value:
        return self.alu("ilsl", x, self.constant(count)) if count else x

    def shift_right(self, x: Value, count: int, *, signed: bool = True) -> Value:
        return self.alu("ilsr" if signed else "uilsr", x, self.constant(count)) if count else x

    def copy(self, x: Value) -> Value:
        """A register of its own that may be written under a flag."""
        return self._emit("ipassa", (self.plain(x),), share=False)

    # ---- flags ---------------------------------------------------------------------------------------------------

    def test(self, opcode: str, *sources: Value) -> int:
        """Flag that the ALU operation raises: fmax/imax x >= y, fmin/imin x <= y, ixor x == y, iand no common bit,
        ipassa x == 0."""
        sources = tuple(self.plain(source) for source in sources)
        self.flags += 1
        self.instructions.append(Instruction(opcode, sources, None, self.flags - 1))
        return self.flags - 1

    def test_also(self, flag: int, opcode: str, *sources: Value) -> None:
        """Clear `flag` where the operation does not raise its own."""
        sources = tuple(self.plain(source) for source in sources)
        self.instructions.append(Instruction(opcode, sources, None, flag, write_flag=flag, flag_and=True))

    def overwrite(self, register: Value, flag: int, value: Value) -> None:
        """register := value where flag. The register must come from `copy` or be known to have no other reader yet."""
        self.instructions.append(Instruction("ipassa", (self.plain(value),), register.number, write_flag=flag))

    def overwrite_with(self, register: Value, flag: int, opcode: str, *sources: Value) -> None:
        """register := opcode(sources) where flag."""
        self.instructions.append(Instruction(opcode, sources, register.number, write_flag=flag))

    def keep_where(self, flag: int, opcode: str, *sources: Value) -> Value:
        """opcode(sources) where flag, zero elsewhere."""
        result = self._new()
        self.instructions.append(Instruction(opcode, tuple(sources), result.number, zero_flag=flag))
        return result

    def private(self, opcode: str, *sources: Value) -> Value:
        """Like the other operations, but never shared, so that the result may be overwritten."""
        return self._emit(opcode, sources, share=False)

    def select(self, flag: int, if_set: Value, otherwise: Value) -> Value:
        """if_set where flag, else otherwise."""
        if otherwise == Value("constant", 0):
            return self.keep_where(flag, "ipassa", self.plain(if_set))
        if_set = self.plain(if_set)
        result = self.copy(otherwise)
        self.overwrite(result, flag, if_set)
        return result
