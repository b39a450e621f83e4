"""Double matrix-vector products in wide scalar integers (SDM 3.6.9, 4.2)."""

from .builder import Builder
from .double import Term, field, finish, number, passed, product_magnitude, rounded_sum
from .emitter import Value
from .jit import CYCLES, Body, Step
from .lanes import PRECISIONS, Precision
from .matrix_decode import MAB_BYTES, mabs

_DOUBLE = PRECISIONS["d"]


def _block_mantissa(x: Value) -> Value:
    """Mantissa field of a block-float double as i128: no hidden bit, 0 when the exponent field is 0."""
    return field(x).compare("eq", 0).select(x.like(0), x & _DOUBLE.mantissa).zext("i128")


def _dot(row: list[Value], x: list[Value]) -> tuple[Term, Value]:
    """The exact sum of four products, and whether a factor has an overflowed block's exponent (OPEN-28)."""
    total = x[0].builder.constant("i128", 0, 0)
    exponent_a, exponent_b = field(row[0]), field(x[0])
    overflowed = field(row[0]).compare("eq", 0x7FF)
    for a, b in zip(row, x, strict=True):
        magnitude = product_magnitude(_block_mantissa(a), _block_mantissa(b))
        total = (a ^ b).compare("slt", 0).select(total - magnitude, total + magnitude)
        exponent_a, exponent_b = exponent_a.maximum(field(a)), exponent_b.maximum(field(b))
        overflowed = overflowed | field(a).compare("eq", 0x7FF) | field(b).compare("eq", 0x7FF)
    negative = total.compare("slt", 0)
    magnitude = negative.select(0 - total, total)
    exponent = exponent_a + exponent_b - 2 * (_DOUBLE.bias + _DOUBLE.mantissa_bits - 1)
    return Term(negative.zext("i64"), magnitude, exponent), overflowed


def _result(row: list[Value], x: list[Value], z: Value | None, zero: Value, target: Precision) -> Value:
    """One computed row: infinities as in the vector operation, an overflowed block gives +inf."""
    product, overflowed = _dot(row, x)
    addend = Term(zero, zero.zext("i128"), zero) if z is None else number(z)
    result = rounded_sum(product, addend, target)
    if z is not None:
        infinity = ((z >> 63) << (target.bits - 1)) | target.infinity
        result = field(z).compare("eq", 0x7FF).select(infinity, result)
    return overflowed.select(result.like(target.infinity), result)


def vector_body(op: str, half: str, reduce: bool, flags: bool) -> Body:
    """dmfma and dmmul: rows 0, 1 (`half` "u") or 2, 3 ("d") are products, the others deliver z."""
    target = PRECISIONS["f"] if reduce else _DOUBLE
    active = (0, 1) if half == "u" else (2, 3)

    def body(step: Step) -> None:
        builder: Builder = step.builder
        with builder.loop(0, CYCLES) as cycle, builder.loop(0, mabs()) as mab:
            offset = mab << 5
            x = [step.row("x", cycle).at(offset).at(8 * pe).load("i64") for pe in range(4)]
            z = [step.row("z", cycle).at(offset).at(8 * pe).load("i64") if op == "fma" else None for pe in range(4)]
            bank = step.row("decoded", 0).at(mab * MAB_BYTES)
            zero = builder.constant("i64", 0, 0)
            for row in range(4):
                if row in active:
                    elements = [bank.at(row * 32 + 8 * column).load("i64") for column in range(4)]
                    pattern = _result(elements, x, z[row], zero, target)
                else:
                    pattern = passed(z[row], zero, target)
                result, flag = finish(builder, pattern, target)
                step.row("out", cycle).at(offset).at(8 * row).store(result)
                if flags:
                    step.row("flags", cycle).at((mab << 2) + row).store(flag)

    return body
