"""Matrix banks for products: block-float elements as host floats, column-major (SDM 3.6.10, 4.3).

A raw bank is [row 16][PE 64] longs. The decoded form has the rows in the order in which their
results lie in memory, so that results need no permutation. An element of a block that overflowed is NaN,
which marks every product with it (OPEN-28).
"""

from collections.abc import Sequence

from mnc.mncore_backend.target import PES_PER_MAB, cached_per_machine

from .emitter import Value
from .jit import Kernel, Step, kernel, pes
from .lanes import PRECISIONS, exponent

MAB_BYTES = 1152
_SINGLE = PRECISIONS["f"]

# Row whose result a lane holds: words of the 4 PEs for g and f, MSB longs then LSB longs for h.
WORD_ROWS = [1, 0, 3, 2, 5, 4, 7, 6]
HALF_ROWS = [1, 0, 5, 4, 9, 8, 13, 12, 3, 2, 7, 6, 11, 10, 15, 14]

H_COLUMN, H_UNIT, H_MARK = 64, 1024, 1088
"""Bytes of a decoded half column; offsets of the rows' units and of the marks of extended elements."""


def mabs() -> int:
    """MABs of an L1B of the machine in use."""
    return pes() // PES_PER_MAB


def decoded_bytes() -> int:
    """Bytes of a decoded bank per block."""
    return mabs() * MAB_BYTES


def transpose(rows: Sequence[Value]) -> list[Value]:
    """Columns of a square matrix given by its row vectors, by halving exchanges."""
    size = len(rows)
    rows = list(rows)
    distance = size // 2
    while distance:
        low = [i if not i & distance else size + (i ^ distance) for i in range(size)]
        high = [(i | distance) if not i & distance else size + i for i in range(size)]
        for i in range(size):
            if not i & distance:
                a, b = rows[i], rows[i + distance]
                rows[i], rows[i + distance] = a.shuffle(low, b), a.shuffle(high, b)
        distance //= 2
    return rows


def halved_words(words: Value, low_bits_used: bool) -> Value:
    """Halves of block-float singles (i32 lanes) as binary64 values; an overflowed block gives NaN (OPEN-28).

    With the word's sign and exponent alone as z, (1 + f) * 2**e - 2**e = f * 2**e exactly, and the
    value is twice that. Where the exponent is that of infinities, infinity minus itself, or a NaN minus it, is NaN.
    Without `low_bits_used` the five low bits are dropped (pseudo-single).
    """
    used = words if low_bits_used else words & ~0x1F
    power = words & (_SINGLE.sign | _SINGLE.infinity)
    field = words & _SINGLE.infinity
    used, power = (field.compare("eq", 0).select(words.like(0), v) for v in (used, power))
    return used.bitcast("f32").to_float("f64") - power.bitcast("f32").to_float("f64")


def decode_words(words: Value, low_bits_used: bool) -> Value:
    """Block-float singles (i32 lanes) as binary64 values, see `halved_words`."""
    return halved_words(words, low_bits_used) * 2.0


def split_words(words: Value) -> tuple[Value, Value, Value]:
    """The values of block-float singles, their parts in the low five bits, and those parts' power of two."""
    value = decode_words(words, True)
    coarse = decode_words(words, False)
    power = (words & (_SINGLE.sign | _SINGLE.infinity)).bitcast("f32").to_float("f64").bitcast("i64")
    present = ((words & 0x1F).compare("ne", 0)) & ((words & _SINGLE.infinity).compare("ne", 0))
    return value, value - coarse, present.select(power, 0).bitcast("f64")


def decode_halves(halves: Value, common: Value) -> tuple[Value, Value, Value]:
    """Block-float halves (i32 lanes) as binary32 values, the unit of their block, and extended marks.

    `common` is the block's nonzero exponent field. An element with exponent field 0 in such a
    block is an extended one, 2**-6 smaller (OPEN-29).
    """
    half = PRECISIONS["h"]
    field, mantissa = exponent(halves, half), halves & half.mantissa
    effective = field.compare("eq", 0).select(common - 6, field)
    mantissa = common.compare("eq", 0).select(halves.like(0), mantissa)

    def power(x: Value) -> Value:
        return ((x + (127 - half.bias - 8)) << 23).bitcast("f32")

    pattern = (mantissa.to_float("f32") * power(effective)).bitcast("i32") ^ ((halves & half.sign) << 16)
    value = pattern.bitcast("f32")
    value = field.compare("eq", 63).select(value.like(float("nan")), value)
    marks = field.compare("eq", 0).select(mantissa, 0)
    return value, power(common), marks


@cached_per_machine()
def matrix_decode(precision: str) -> Kernel:
    """Decode a raw bank for products of `precision` d, f, g or h: operands decoded, bank."""

    def body(step: Step) -> None:
        source, target = step.row("bank", 0), step.row("decoded", 0)
        with step.builder.loop(0, mabs()) as mab:
            bank, decoded = source.at(mab << 5), target.at(mab * MAB_BYTES)
            if precision == "d":
                for row in range(4):
                    decoded.at(row * 32).store(bank.at(row * 8 * pes()).load("i64", 4))
            elif precision == "h":
                _decode_half_bank(bank, decoded)
            else:
                _decode_word_bank(bank, decoded, precision)

    return kernel(f"matrix_decode_{precision}", ("decoded", "bank"), body)


def _decode_half_bank(bank: Value, decoded: Value) -> None:
    rows = [bank.at(row * 8 * pes()).load("i16", 16).zext("i32") for row in HALF_ROWS]
    columns = transpose(rows)
    common = exponent(columns[0], PRECISIONS["h"])
    for column in columns[1:]:
        common = common.maximum(exponent(column, PRECISIONS["h"]))
    unit, marks = None, common.like(0)
    for lane, column in enumerate(columns):
        value, unit, mark = decode_halves(column, common)
        decoded.at(lane * H_COLUMN).store(value)
        marks = marks | mark
    if unit is not None:
        decoded.at(H_UNIT).store(unit)
    decoded.at(H_MARK).store(marks.trunc("i16"))


def _decode_word_bank(bank: Value, decoded: Value, precision: str) -> None:
    rows = [bank.at(row * 8 * pes()).load("i32", 8) for row in WORD_ROWS]
    columns = transpose(rows)
    if precision == "g":
        for lane, column in enumerate(columns):
            decoded.at(lane * 64).store(halved_words(column, False) * 4.0)  # vectors are halved
        return
    for index in range(4):  # f meets the even columns: the MSB words, lanes 1, 3, 5, 7
        for part, value in enumerate(split_words(columns[2 * index + 1])):
            decoded.at((3 * index + part) * 64).store(value)
