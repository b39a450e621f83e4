"""MAU vector operations: one a*b + c per element (SDM 3.6.9, 4.2)."""

from .conversion import NARROWER
from .formats import DOUBLE, HALF, SINGLE, Exact, Format, value
from .infinity import product_sign, sum_with_infinities
from .rounding import round_exact

# Width of the omitted low-by-low partial product and the exponent of the constant that replaces it.
_OMITTED = {HALF: (0, 0), SINGLE: (5, 8), DOUBLE: (16, 30)}

ACCUMULATOR = {HALF: SINGLE, SINGLE: SINGLE, DOUBLE: DOUBLE}
"""Format of the addend and the unreduced output, by product format."""

ONE = {HALF: 0x3E00, SINGLE: 0x3F800000, DOUBLE: 0x3FF0000000000000}


def product_integer(form: Format, a: int, b: int) -> int:
    """The multiplier's product of two significands (or block-float mantissas).

    The product of the low bits of both is left out; if it is not zero, its most significant
    partial product's weight is added instead.
    """
    width, constant = _OMITTED[form]
    low = (a % (1 << width)) * (b % (1 << width))
    return a * b - low + ((1 << constant) if low else 0)


def product(form: Format, a: int, b: int) -> Exact:
    """The multiplier's product of two finite patterns."""
    integer = product_integer(form, form.significand(a), form.significand(b))
    sign = form.sign(a) ^ form.sign(b)
    scale = form.exponent(a) + form.exponent(b) - 2 * (form.bias + form.mantissa_bits)
    return Exact(-integer if sign else integer, scale)


def multiply_add(form: Format, a: int, b: int, c: int, reduce: bool = False) -> int:
    """a*b + c with one rounding; a, b in `form`, c in its accumulator format.

    The output has the accumulator format, with `reduce` (opcode suffix ``r``) the next lower one.
    """
    accumulator = ACCUMULATOR[form]
    target = NARROWER[accumulator] if reduce else accumulator
    signs = [] if (sign := product_sign(form, a, b)) is None else [sign]
    if accumulator.is_infinite(c):
        signs.append(accumulator.sign(c))
    infinite = sum_with_infinities(target, signs)
    if infinite is not None:
        return infinite
    return round_exact(target, product(form, a, b) + value(accumulator, c))


def vector(op: str, form: Format, x: int, y: int = 0, z: int = 0, reduce: bool = False) -> int:
    """One element of vfma, vmul, vadd (x + z) or vpassa (x)."""
    second = y if op in ("fma", "mul") else ONE[form]
    addend = z if op in ("fma", "add") else 0
    return multiply_add(form, x, second, addend, reduce)


def is_active(half: str, pe: int) -> bool:
    """Does PE `pe` of a MAB multiply in a double instruction ("u": PE 0, 1; "d": PE 2, 3)?"""
    return (pe < 2) == (half == "u")


def double_vector(op: str, half: str, pe: int, x: int, y: int, z: int = 0, reduce: bool = False) -> int:
    """dvfma and dvmul: inactive PEs deliver the addend, normalised."""
    addend = z if op == "fma" else 0
    if is_active(half, pe):
        return multiply_add(DOUBLE, x, y, addend, reduce)
    return multiply_add(DOUBLE, 0, 0, addend, reduce)


def flag(form: Format, result: int) -> int:
    """Mask flag of every MAU result: 1 if its sign bit is 0 (SDM 3.6.2)."""
    return 1 - form.sign(result)
