"""Double products and their sums with one rounding, in wide scalar integers (SDM 4.2).

Exact for every operand, so there is no range to leave; the double unit is half-rate and rare in
the programs this emulator runs.
"""

from .builder import Builder
from .emitter import Value
from .jit import CYCLES, Body, Step, pes
from .lanes import PRECISIONS, Precision, double_to_single, normalise

_DOUBLE = PRECISIONS["d"]
_ABSENT = -(1 << 20)  # exponent of a zero term: below every other


class Term:
    """A signed integer times a power of two: (-1)**sign * magnitude * 2**exponent.

    `sign` is an i64 holding 0 or 1, `magnitude` an i128 below 2**127, `exponent` an i64.
    """

    def __init__(self, sign: Value, magnitude: Value, exponent: Value):
        self.sign, self.magnitude, self.exponent = sign, magnitude, exponent


def field(x: Value) -> Value:
    """The exponent field of a double pattern."""
    return (x >> _DOUBLE.mantissa_bits) & 0x7FF


def significand(x: Value) -> Value:
    """The mantissa with its hidden bit as i128; 0 for a zero."""
    magnitude = (x & _DOUBLE.mantissa) | (1 << _DOUBLE.mantissa_bits)
    return field(x).compare("eq", 0).select(x.like(0), magnitude).zext("i128")


def product_magnitude(a: Value, b: Value) -> Value:
    """A*B (i128) with the product of the low 16 bits replaced by 2**30 if it is not zero."""
    low = (a & 0xFFFF) * (b & 0xFFFF)
    exact = a * b - low
    return exact + low.compare("ne", 0).select(a.like(1 << 30), 0)


def number(x: Value) -> Term:
    """A finite double as a term."""
    width = _DOUBLE.mantissa_bits
    return Term(x >> 63, significand(x), field(x) - (_DOUBLE.bias + width))


def _left_aligned(term: Term) -> tuple[Value, Value]:
    """Magnitude with its leading bit at bit 127, and the exponent that goes with it."""
    zeros = term.magnitude.leading_zeros()
    shift = zeros & 127
    is_zero = term.magnitude.compare("eq", 0)
    exponent = is_zero.select(term.exponent.like(_ABSENT), term.exponent - shift.trunc("i64"))
    return term.magnitude << shift, exponent


def rounded_sum(first: Term, second: Term, precision: Precision) -> Value:
    """Pattern (i64) of first + second, rounded once to nearest even, normalised.

    The larger term is put at bit 253 of a 256-bit frame, the smaller one shifted right with its
    lost bits joined into bit 0. Bits are lost only for shifts above 126, where the sum keeps its
    leading bit at 252 or higher, so bit 0 decides nothing but "more than a tie".
    """
    m1, e1 = _left_aligned(first)
    m2, e2 = _left_aligned(second)
    swap = e1.compare("slt", e2)
    big, small = swap.select(m2, m1).zext("i256") << 126, swap.select(m1, m2).zext("i256") << 126
    exponent = swap.select(e2, e1)
    distance = (exponent - swap.select(e1, e2)).minimum(255).zext("i256")
    shifted = small >> distance
    lost = (shifted << distance).compare("ne", small).zext("i256")
    shifted = shifted | lost
    sign = swap.select(second.sign, first.sign)
    opposite = first.sign.compare("ne", second.sign)
    total = opposite.select(big - shifted, big + shifted)
    negative = total.compare("slt", 0)
    total = negative.select(0 - total, total)
    sign = sign ^ negative.zext("i64")
    return _round(sign, total, exponent - 126, precision)


def _round(sign: Value, total: Value, exponent: Value, precision: Precision) -> Value:
    """Round the i256 `total` * 2**`exponent` to `precision`; underflow is decided after (OPEN-27)."""
    width = precision.mantissa_bits
    zeros = total.leading_zeros() & 255
    aligned = total << zeros
    power = exponent + 255 - zeros.trunc("i64")
    kept = (aligned >> (255 - width)).trunc("i64")
    half = (aligned >> (254 - width)).trunc("i64") & 1
    rest = (aligned << (width + 2)).compare("ne", 0).zext("i64")
    kept = kept + (half & (rest | kept))
    # The hidden bit of `kept` adds one to the exponent field, and so does a carry out of it.
    field_below = (power + (precision.bias - 1)).maximum(-2)
    pattern = (field_below << width) + kept
    negative = sign << (precision.bits - 1)
    finite = pattern.compare("slt", 1 << width).select(pattern.like(0), pattern | negative)
    top = precision.infinity >> width
    overflow = field_below.compare("sge", top - 1) | pattern.compare("sge", precision.infinity)
    bounded = overflow.select(negative | precision.infinity, finite)
    return total.compare("eq", 0).select(bounded.like(0), bounded)


def _infinity(x: Value, y: Value, z: Value | None, precision: Precision) -> tuple[Value, Value]:
    """Where a term is infinite, and the pattern there (OPEN-25)."""
    zero = field(x).compare("eq", 0) | field(y).compare("eq", 0)  # infinity times zero is 0
    where = (field(x).compare("eq", 0x7FF) | field(y).compare("eq", 0x7FF)) & ~zero
    sign = (x ^ y) >> 63
    if z is not None:
        z_infinite = field(z).compare("eq", 0x7FF)
        z_sign = z >> 63
        sign = where.select(z_infinite.select(sign & z_sign, sign), z_sign)
        where = where | z_infinite
    return where, (sign << (precision.bits - 1)) | precision.infinity


def multiply_add(x: Value, y: Value, z: Value | None, precision: Precision) -> Value:
    """x*y + z for double patterns, as a pattern of `precision`."""
    magnitude = product_magnitude(significand(x), significand(y))
    exponent = field(x) + field(y) - 2 * (_DOUBLE.bias + _DOUBLE.mantissa_bits)
    product = Term((x ^ y) >> 63, magnitude, exponent)
    addend = number(z if z is not None else x.like(0))
    where, pattern = _infinity(x, y, z, precision)
    return where.select(pattern, rounded_sum(product, addend, precision))


def finish(builder: Builder, pattern: Value, precision: Precision) -> tuple[Value, Value]:
    """The output long of a double operation and its flag nibble: a single result goes to D0."""
    flag = (pattern >> (precision.bits - 1)).compare("eq", 0).select(builder.constant("i8", 0, 15), 0)
    return (pattern << 32 if precision.bits == 32 else pattern), flag


def passed(z: Value | None, zero: Value, precision: Precision) -> Value:
    """What an inactive PE delivers: z normalised and rounded to `precision`, or 0 without addend."""
    if z is None:
        return zero
    normal = normalise(z, _DOUBLE)
    return normal if precision.bits == 64 else double_to_single(normal).zext("i64")


def vector_body(op: str, half: str, precision: Precision, flags: bool) -> Body:
    """dvfma and dvmul: PE 0, 1 (`half` "u") or 2, 3 ("d") multiply, the others deliver z."""

    def body(step: Step) -> None:
        builder = step.builder
        zero = builder.constant("i64", 0, 0)

        def store(cycle: Value, pe: Value, pattern: Value) -> None:
            result, flag = finish(builder, pattern, precision)
            step.row("out", cycle).at(pe << 3).store(result)
            if flags:
                step.row("flags", cycle).at(pe).store(flag)

        with builder.loop(0, CYCLES) as cycle, builder.loop(0, pes() // 2) as index:
            lower = ((index & ~1) << 1) | (index & 1)  # PE 0 or 1 of its MAB
            pair = (lower, lower | 2)
            active, idle = pair if half == "u" else (pair[1], pair[0])
            x, y = (step.row(name, cycle).at(active << 3).load("i64") for name in ("x", "y"))
            z, idle_z = None, None
            if op == "fma":
                z, idle_z = (step.row("z", cycle).at(pe << 3).load("i64") for pe in (active, idle))
            store(cycle, active, multiply_add(x, y, z, precision))
            store(cycle, idle, passed(idle_z, zero, precision))

    return body
