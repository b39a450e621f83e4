"""MAU matrix-vector operations on block-float operands (SDM 3.6.9, 4.3, 4.5)."""

from collections.abc import Sequence

from .conversion import NARROWER
from .formats import DOUBLE, HALF, SINGLE, Exact, Format, value
from .infinity import sum_with_infinities
from .mau_vector import product_integer
from .rounding import round_exact, shift_right_even

FORM = {"d": DOUBLE, "f": SINGLE, "g": SINGLE, "h": HALF}
ACCUMULATOR = {"d": DOUBLE, "f": SINGLE, "g": SINGLE, "h": SINGLE}
BLOCK = {"d": 4, "f": 4, "g": 8, "h": 16}
"""Elements of a block, which are the products of one result."""

EXTENDED_SHIFT = 6
"""An extended half element has the exponent of its block minus this (OPEN-29)."""


def common_exponent(form: Format, block: Sequence[int]) -> int:
    """The nonzero exponent field of a block, 0 if all fields are 0."""
    return max(form.exponent(x) for x in block)


def _mantissa(precision: str, x: int) -> int:
    """Mantissa field without hidden bit; pseudo-single ignores its five low bits."""
    form = FORM[precision]
    if precision != "h" and form.exponent(x) == 0:
        return 0
    return form.mantissa(x) & ~0x1F if precision == "g" else form.mantissa(x)


def _product(precision: str, a: int, b: int, common_a: int, common_b: int) -> Exact:
    """One product, at the scale of the blocks' exponents for half and of its own otherwise."""
    form = FORM[precision]
    ma, mb = _mantissa(precision, a), _mantissa(precision, b)
    exponents = form.exponent(a) + form.exponent(b)
    if precision == "h":
        integer = ma * mb if common_a and common_b else 0
        extended = (form.exponent(a) == 0) + (form.exponent(b) == 0)
        integer = shift_right_even(integer, EXTENDED_SHIFT * extended)
        exponents = common_a + common_b
    elif precision == "g":
        integer = ma * mb
    else:
        integer = product_integer(form, ma, mb)
    sign = form.sign(a) ^ form.sign(b)
    return Exact(-integer if sign else integer, exponents - 2 * (form.bias + form.mantissa_bits - 1))


def exact_dot(precision: str, row: Sequence[int], x: Sequence[int]) -> Exact:
    """The exact sum of the products of two finite blocks."""
    form = FORM[precision]
    common_a, common_b = common_exponent(form, row), common_exponent(form, x)
    total = Exact(0)
    for a, b in zip(row, x, strict=True):
        total = total + _product(precision, a, b, common_a, common_b)
    return total


def dot(precision: str, row: Sequence[int], x: Sequence[int], c: int, reduce: bool = False) -> int:
    """sum(row[i] * x[i]) + c: products as the multiplier forms them, exact sum, one rounding.

    An overflowed block (exponent all ones) in either factor gives +inf whatever c is (OPEN-28).
    """
    form, accumulator = FORM[precision], ACCUMULATOR[precision]
    target = NARROWER[accumulator] if reduce else accumulator
    if any(form.is_infinite(e) for e in (*row, *x)):
        return target.infinity(0)
    if accumulator.is_infinite(c):
        return sum_with_infinities(target, [accumulator.sign(c)]) or 0
    return round_exact(target, exact_dot(precision, row, x) + value(accumulator, c))


def used_columns(precision: str, row: Sequence[int]) -> list[int]:
    """The row elements that meet the vector: every second one for single (OPEN-30)."""
    return list(row[::2]) if precision == "f" else list(row)


def matrix_vector(
    precision: str,
    bank: Sequence[Sequence[int]],
    x: Sequence[int],
    c: Sequence[int],
    half: str = "",
    reduce: bool = False,
) -> list[int]:
    """All outputs of a MAB in one cycle: y = bank * x + c, one entry per row.

    A double instruction computes rows 0, 1 (`half` "u") or 2, 3 ("d"); the others are c, normalised.
    """
    results = []
    for index, (row, addend) in enumerate(zip(bank, c, strict=True)):
        if precision == "d" and (index < 2) != (half == "u"):
            results.append(dot("d", [0] * 4, [0] * 4, addend, reduce))
        else:
            results.append(dot(precision, used_columns(precision, row), x, addend, reduce))
    return results
