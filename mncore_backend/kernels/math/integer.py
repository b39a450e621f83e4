"""Integer operations the ALU lacks: products and conversions. All are exact."""

from mnc.mncore_backend.kernels.math.exponential import MAGIC_FLOAT
from mnc.mncore_backend.kernels.math.micro import MicroBuilder, Value

_TWO_23 = 8388608.0
_TWO_23_BITS = 0x4B000000
_PIECE = 11  # bits; sums of three products of two pieces stay below 2^24


def integer_to_float(m: MicroBuilder, n: Value) -> Value:
    """Signed 32-bit integer to the nearest single (ties to even): the upper half is exact, the lower half is exact,
    their sum is rounded once."""
    high = m.alu("iadd", m.shift_right(n, 16), m.constant(0x4B400000))
    low = m.alu("ior", m.integer_and(n, 0xFFFF), m.constant(_TWO_23_BITS))
    return m.fma(m.add(high, m.number(-MAGIC_FLOAT)), m.number(65536.0), m.add(low, m.number(-_TWO_23)))


def float_to_integer(m: MicroBuilder, x: Value) -> Value:
    """Truncation towards zero, saturating (OPEN-24)."""
    return m.alu("fftoi", x)


def multiply(m: MicroBuilder, x: Value, y: Value) -> Value:
    """Low 32 bits of the product (the same for signed and unsigned)."""
    for factor, other in ((y, x), (x, y)):
        if factor.kind == "constant":
            return _multiply_by_constant(m, other, factor.number)
    return _multiply_pieces(m, _pieces(m, x), _pieces(m, y))


def _multiply_by_constant(m: MicroBuilder, x: Value, factor: int) -> Value:
    if factor == 0:
        return m.constant(0)
    signed = factor - (1 << 32) if factor >> 31 else factor
    if bin(abs(signed)).count("1") <= 4:
        return _shift_and_add(m, x, signed)
    pieces = [m.number(float((factor >> (_PIECE * i)) & ((1 << _PIECE) - 1))) for i in range(3)]
    return _multiply_pieces(m, _pieces(m, x), pieces)


def _shift_and_add(m: MicroBuilder, x: Value, factor: int) -> Value:
    total = None
    for bit in range(32):
        if abs(factor) >> bit & 1:
            term = m.shift_left(x, bit)
            total = term if total is None else m.alu("iadd", total, term)
    assert total is not None
    return total if factor > 0 else m.alu("isub", m.constant(0), total)


def _pieces(m: MicroBuilder, x: Value) -> list[Value]:
    """The integer cut into 11, 11 and 10 bits, as floats."""
    mask = (1 << _PIECE) - 1
    words = [
        m.integer_and(x, mask),
        m.integer_and(m.shift_right(x, _PIECE, signed=False), mask),
        m.shift_right(x, 2 * _PIECE, signed=False),
    ]
    return [m.add(m.alu("ior", word, m.constant(_TWO_23_BITS)), m.number(-_TWO_23)) for word in words]


def _multiply_pieces(m: MicroBuilder, a: list[Value], b: list[Value]) -> Value:
    sums = [
        m.mul(a[0], b[0]),
        m.fma(a[1], b[0], m.mul(a[0], b[1])),
        m.fma(a[2], b[0], m.fma(a[1], b[1], m.mul(a[0], b[2]))),
    ]
    words = [m.shift_left(m.alu("fftoi", total), _PIECE * index) for index, total in enumerate(sums)]
    return m.alu("iadd", m.alu("iadd", words[0], words[1]), words[2])
