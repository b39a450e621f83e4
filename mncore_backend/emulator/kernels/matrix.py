"""Matrix-vector products and transposed reads of the matrix registers (SDM 3.6.9, 3.6.11)."""


from mnc.mncore_backend.target import cached_per_machine

from . import matrix_double
from .builder import Builder
from .emitter import Value
from .jit import CYCLES, Body, Kernel, Step, kernel, pes
from .lanes import (
    PRECISIONS,
    canonical,
    double_to_half,
    double_to_single,
    exponent,
    is_zero,
    nibbles,
    normalise,
    two_sum_to_odd,
)
from .matrix_decode import (
    H_COLUMN,
    H_MARK,
    H_UNIT,
    HALF_ROWS,
    MAB_BYTES,
    decode_halves,
    halved_words,
    mabs,
    split_words,
)
from .moves import word_halves

_SINGLE = PRECISIONS["f"]

# Lanes of an h result in the order of the halves of 4 little-endian longs.
_HALF_ORDER = [HALF_ROWS.index(4 * (lane // 4) + 3 - lane % 4) for lane in range(16)]


@cached_per_machine()
def matrix_vector(op: str, precision: str, *, reduce: bool = False, half: str = "", flags: bool = False) -> Kernel:
    """The kernel of ``<precision>m<op>``; op "fma" or "mul", precision d, f, g or h.

    Operands: out[, out_lsb], decoded, x[, z[, z_lsb]][, flags]; LSB rows belong to h. `half` "u" or
    "d" selects the rows of a double product. Raises ValueError for combinations that do not exist.
    """
    if op not in ("fma", "mul") or precision not in ("d", "f", "g", "h"):
        raise ValueError(f"no MAU operation {precision}m{op}")
    if (precision == "d") != (half in ("u", "d")):
        raise ValueError(f"{precision}m{op} with half {half!r}")
    operands = ["out"] + (["out_lsb"] if precision == "h" and not reduce else []) + ["decoded", "x"]
    if op == "fma":
        operands += ["z", "z_lsb"] if precision == "h" else ["z"]
    operands += ["flags"] if flags else []
    body = matrix_double.vector_body(op, half, reduce, flags) if precision == "d" else _body(precision, reduce)
    name = f"mau_{precision}m{op}{half}{'r' if reduce else ''}{'_flags' if flags else ''}"
    return kernel(name, operands, body)


def _body(precision: str, reduce: bool) -> Body:
    prepare = {"f": _prepare_single, "g": _prepare_pseudo_single, "h": _prepare_half}[precision]

    def body(step: Step) -> None:
        scratch = step.builder.scratch(16384)
        with step.builder.loop(0, CYCLES) as cycle:
            prepare(step, cycle, scratch)
        with step.builder.loop(0, mabs()) as mab:
            decoded = step.row("decoded", 0).at(mab * MAB_BYTES)
            if precision == "h":
                for cycle, total in enumerate(_half_sums(step.builder, decoded, scratch, mab)):
                    _finish_half(step, cycle, mab, total, reduce)
            else:
                sums = _word_sums(step.builder, decoded, scratch, mab, precision)
                _finish_all_words(step, mab, sums, reduce)

    return body


# Vectors in scratch: [cycle 4][...] values per element in little-endian order of the row.
_G_CYCLE, _F_CYCLE, _H_CYCLE = 1024, 1536, 1024
_H_X_UNIT, _H_X_MARK, _H_SUMS = 4096, 8192, 12288


def _prepare_pseudo_single(step: Step, cycle: Value, scratch: Value) -> None:
    source, target = step.row("x", cycle), scratch.at(cycle * _G_CYCLE)
    for chunk in range(pes() // 8):
        words = source.at(chunk * 64).load("i32", 16)
        target.at(chunk * 128).store(halved_words(words, False))  # columns are doubled


def _prepare_single(step: Step, cycle: Value, scratch: Value) -> None:
    """The D0 words as three arrays of 64: values, low parts, scaled powers."""
    source, target = step.row("x", cycle), scratch.at(cycle * _F_CYCLE)
    for chunk in range(pes() // 8):
        words = (source.at(chunk * 64).load("i64", 8) >> 32).trunc("i32")
        value, low, power = split_words(words)
        for part, vector in enumerate((value, low, power * 2.0**-36)):
            target.at(part * 512 + chunk * 64).store(vector)


def _prepare_half(step: Step, cycle: Value, scratch: Value) -> None:
    source, target = step.row("x", cycle), scratch.at(cycle * _H_CYCLE)
    for chunk in range(pes() // 8):
        halves = source.at(chunk * 64).load("i16", 32).zext("i32")
        common = exponent(halves, PRECISIONS["h"])
        for distance in (1, 2, 4, 8):
            common = common.maximum(common.exchange(distance))
        value, unit, marks = decode_halves(halves, common)
        target.at(chunk * 128).store(value)
        target.at(_H_X_UNIT + chunk * 128).store(unit)
        target.at(_H_X_MARK + chunk * 128).store(marks)


def _word_sums(builder: Builder, decoded: Value, scratch: Value, mab: Value, precision: str) -> list[Value]:
    """Exact sums of products for the 4 cycles: integers below 2**48 at one scale, in any order."""
    sums = [builder.constant("f64", 8, 0.0)] * CYCLES
    if precision == "g":
        vectors = scratch.at(mab << 6)
        for lane in range(8):
            column = decoded.at(lane * 64).load("f64", 8)
            for cycle in range(CYCLES):
                x = vectors.at(cycle * _G_CYCLE + lane * 8).load_splat("f64", 8)
                sums[cycle] = column.multiply_add(x, sums[cycle])
        return sums
    vectors = scratch.at(mab << 5)
    for index in range(4):
        a, a_low, a_power = (decoded.at((3 * index + part) * 64).load("f64", 8) for part in range(3))
        for cycle in range(CYCLES):
            b, b_low, b_power = (
                vectors.at(cycle * _F_CYCLE + part * 512 + index * 8).load_splat("f64", 8) for part in range(3)
            )
            sums[cycle] = sums[cycle] + (a * b - (a_low * b_low - a_power * b_power))
    return sums


def _half_sums(builder: Builder, decoded: Value, scratch: Value, mab: Value) -> list[Value]:
    """Sums of products below 2**22 at one scale, exact in binary32; extended blocks are redone."""
    vectors = scratch.at(mab << 6)
    sums = [builder.constant("f32", 16, 0.0)] * CYCLES
    for lane in range(16):
        column = decoded.at(lane * H_COLUMN).load("f32", 16)
        for cycle in range(CYCLES):
            x = vectors.at(cycle * _H_CYCLE + lane * 4).load_splat("f32", 16)
            sums[cycle] = column.multiply_add(x, sums[cycle])
    marks = decoded.at(H_MARK).load("i16", 16).zext("i32")
    for cycle in range(CYCLES):
        scratch.at(_H_SUMS + cycle * 64).store(sums[cycle])
        marks = marks | vectors.at(_H_X_MARK + cycle * _H_CYCLE).load("i32", 16)
    with builder.when(marks.compare("ne", 0).any_lane()), builder.loop(0, CYCLES) as cycle:
        _extended_sum(decoded, vectors.at(cycle * _H_CYCLE), scratch.at(cycle << 6))
    return [scratch.at(_H_SUMS + cycle * 64).load("f32", 16) for cycle in range(CYCLES)]


def _extended_sum(decoded: Value, vector: Value, scratch: Value) -> None:
    """One cycle with every product rounded to the grid of ordinary products (SDM 4.5, OPEN-29).

    Adding and subtracting 1.5 * 2**23 grid units rounds to nearest even.
    """
    magic = decoded.at(H_UNIT).load("f32", 16) * vector.at(_H_X_UNIT).load("f32", 16) * (1.5 * 2.0**23)
    total = magic.like(0.0)
    for lane in range(16):
        product = decoded.at(lane * H_COLUMN).load("f32", 16) * vector.at(lane * 4).load_splat("f32", 16)
        total = total + ((product + magic) - magic)
    scratch.at(_H_SUMS).store(total)


def _store_flags(step: Step, cycle: int, mab: Value, clear: Value) -> None:
    if "flags" in step.operands:
        step.row("flags", cycle).at(mab << 2).store(nibbles(clear, 4))


def _finish_all_words(step: Step, mab: Value, sums: list[Value], reduce: bool) -> None:
    """Results of the four cycles; where the quick way may be wrong, they are computed again."""
    if "z" not in step.operands:
        for cycle, total in enumerate(sums):
            _finish_words(step, cycle, mab, total, None, reduce)
        return
    addends = [step.row("z", cycle).at(mab << 5).load("i32", 8) for cycle in range(CYCLES)]
    doubt = step.builder.constant("i1", 0, 1) if reduce else _finish_quickly(step, mab, sums, addends)
    with step.builder.when(doubt):
        for cycle, (total, z) in enumerate(zip(sums, addends, strict=True)):
            _finish_words(step, cycle, mab, total, z, reduce)


def _finish_quickly(step: Step, mab: Value, sums: list[Value], addends: list[Value]) -> Value:
    """Store the sums plus z, rounded twice; returns whether that may be wrong in one of the cycles.

    Rounding to binary64 first is harmless unless it ends halfway between two singles: rounding is monotone, and those
    points are binary64 numbers. Results at the lower end of the range, where the machine and the host differ, and those
    that are not finite are in doubt as well.
    """
    offset, doubts = mab << 5, []
    smallest = largest = None
    for cycle, (total, z) in enumerate(zip(sums, addends, strict=True)):
        addend = is_zero(z, _SINGLE).select(z.like(0), z)
        bits = (total + addend.bitcast("f32").to_float("f64")).bitcast("i64")
        doubts.append((bits & (1 << 29) - 1).compare("eq", 1 << 28))
        result = bits.bitcast("f64").to_float("f32").bitcast("i32")
        magnitude = result << 1
        result = magnitude.compare("eq", 0).select(result.like(0), result)
        step.row("out", cycle).at(offset).store(result)
        _store_flags(step, cycle, mab, (result & 1 << 31).compare("eq", 0))
        below = magnitude - 1  # zero is in no doubt
        smallest = below if smallest is None else smallest.minimum(below, signed=False)
        largest = magnitude if largest is None else largest.maximum(magnitude, signed=False)
    assert smallest is not None and largest is not None
    doubt = smallest.compare("ult", 1 << 24) | largest.compare("uge", 0xFF << 24)
    for other in doubts:
        doubt = doubt | other
    return doubt.any_lane()


def _finish_words(step: Step, cycle: int, mab: Value, total: Value, z: Value | None, reduce: bool) -> None:
    """Add z with one rounding and store 8 words, or 8 halves in the MSB words."""
    offset = mab << 5
    overflowed = total.compare("uno", total)
    bits = total.bitcast("i64")
    if z is not None:
        bits = two_sum_to_odd(total, canonical(z, _SINGLE).bitcast("f32").to_float("f64"))
    if reduce:
        result = double_to_half(bits).trunc("i32")
    else:
        result = double_to_single(bits)
    infinity = PRECISIONS["h" if reduce else "f"].infinity
    result = overflowed.select(result.like(infinity), result)
    step.row("out", cycle).at(offset).store(word_halves(result) if reduce else result)
    _store_flags(step, cycle, mab, (result & (0x8000 if reduce else 1 << 31)).compare("eq", 0))


def _finish_half(step: Step, cycle: int, mab: Value, total: Value, reduce: bool) -> None:
    """Add z with one rounding and store 16 singles in two rows, or 16 halves in one."""
    offset = mab << 5
    overflowed = total.compare("uno", total)
    addend = None
    if "z" in step.operands:
        msb, lsb = (step.row(name, cycle).at(offset).load("i32", 8) for name in ("z", "z_lsb"))
        addend = canonical(msb.shuffle(range(16), lsb), _SINGLE).bitcast("f32")
    if reduce:
        wide = total.to_float("f64")
        bits = wide.bitcast("i64") if addend is None else two_sum_to_odd(wide, addend.to_float("f64"))
        result = double_to_half(bits).trunc("i32")
    else:
        result = normalise((total if addend is None else total + addend).bitcast("i32"), _SINGLE)
    result = overflowed.select(result.like(PRECISIONS["h" if reduce else "f"].infinity), result)
    clear = (result & (0x8000 if reduce else 1 << 31)).compare("eq", 0)
    _store_flags(step, cycle, mab, clear.shuffle(_HALF_ORDER))
    if reduce:
        step.row("out", cycle).at(offset).store(result.trunc("i16").shuffle(_HALF_ORDER))
    else:
        step.row("out", cycle).at(offset).store(result.shuffle(range(8)))
        step.row("out_lsb", cycle).at(offset).store(result.shuffle(range(8, 16)))


@cached_per_machine()
def matrix_read(precision: str) -> Kernel:
    """Transposed read, any bit pattern: operands out[, out_lsb], bank, column.

    `precision` d, f (or g) or h; h delivers columns a and a + 1 in the MSB and LSB longs.
    """
    if precision not in ("d", "f", "g", "h"):
        raise ValueError(f"no transposed read {precision}mread")
    outputs = ("out", "out_lsb") if precision == "h" else ("out",)

    def body(step: Step) -> None:
        with step.builder.loop(0, CYCLES) as cycle:
            for number, name in enumerate(outputs):
                column = step.scalar("column", cycle) + number
                _read_column(step, cycle, name, column, precision)

    return kernel(f"matrix_read_{'f' if precision == 'g' else precision}", (*outputs, "bank", "column"), body)


def _read_column(step: Step, cycle: Value, name: str, column: Value, precision: str) -> None:
    """Gather element [row of each lane][column] of two MABs at a time."""
    builder = step.builder
    per_long = {"d": 1, "f": 2, "g": 2, "h": 4}[precision]
    # Byte of an element inside the row of a MAB: longs in order, elements in a long reversed.
    size = 8 // per_long
    position = (column & ~(per_long - 1)) + ((per_long - 1) - (column & (per_long - 1)))
    byte = position * size
    lanes = [
        (per_long * (long % 4) + per_long - 1 - lane) * 8 * pes() + 32 * (long // 4)
        for long in range(8)
        for lane in range(per_long)
    ]
    offsets = builder.vector("i64", lanes)
    for chunk in range(pes() // 8):
        base = step.row("bank", 0).at(byte & ~3).at(chunk * 64)
        value = base.gather(offsets, "i64" if precision == "d" else "i32")
        if precision == "h":
            shift = ((byte & 2) << 3).trunc("i32").splat(value.lanes)
            value = (value >> shift).trunc("i16")
        step.row(name, cycle).at(chunk * 64).store(value.bitcast("i64"))
