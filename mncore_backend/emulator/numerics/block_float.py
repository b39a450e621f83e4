"""Block-float conversion, ALU ``bfn`` and ``bfe`` (SDM 3.6.12.12, 4.3)."""

from collections.abc import Sequence

from .formats import DOUBLE, HALF, SINGLE, Format
from .rounding import shift_right_even

_FORM = {"d": DOUBLE, "f": SINGLE, "g": SINGLE, "h": HALF}
_SIGNIFICANT = {"d": 52, "f": 23, "g": 18}


def _block_exponent(form: Format, block: Sequence[int], significant: int, offset: int) -> int:
    """Largest exponent plus `offset`, plus one if rounding an element with that exponent could carry out."""
    largest = max(form.exponent(x) for x in block)
    ones = (1 << significant) - 1
    dropped = form.mantissa_bits - significant
    carries = any(form.exponent(x) == largest and form.mantissa(x) >> dropped == ones for x in block)
    return largest + offset + carries


def block_normalise(precision: str, block: Sequence[int], bits: int = 9) -> list[int]:
    """``<precision>bfn`` of one block of normal numbers; `bits` is the ``<n>`` of ``hbfn/<n>``."""
    form = _FORM[precision]
    if all(form.is_zero(x) for x in block):
        return [form.pack(form.sign(x), 0, 0) for x in block]
    half = precision == "h"
    significant = bits if half else _SIGNIFICANT[precision]
    spare = form.mantissa_bits - significant
    common = _block_exponent(form, block, significant, spare if half else 0)
    if common >= form.top:
        return [form.infinity(form.sign(x)) for x in block]
    results = []
    for x in block:
        dropped = 0 if half else spare  # half fills the field from below, the others from the top
        quotient = shift_right_even(form.significand(x), 1 + dropped + common - form.exponent(x)) << dropped
        results.append(form.pack(form.sign(x), common, 0 if form.is_zero(x) else quotient))
    return results


def half_extended(block: Sequence[int], bits: int) -> list[int]:
    """``hbfe/<bits>``: elements far below the largest get exponent field 0, meaning common - 6.

    Elements that vanish are zeros of their own sign (OPEN-29).
    """
    ordinary = block_normalise("h", block, bits)
    if all(HALF.exponent(x) in (0, HALF.top) for x in ordinary):
        return ordinary
    common = HALF.exponent(ordinary[0])
    spare = 9 - bits
    results = []
    for x, converted in zip(block, ordinary, strict=True):
        difference = common - HALF.exponent(x)
        ones = HALF.mantissa(x) >> spare == (1 << bits) - 1
        small = difference > 6 + spare or (difference == 6 + spare and not ones)
        exponent, quotient = HALF.exponent(converted), HALF.mantissa(converted)
        if small and not HALF.is_zero(x):
            exponent, quotient = 0, shift_right_even(HALF.significand(x), 1 + difference - 6)
        results.append(HALF.pack(HALF.sign(x), exponent if quotient else 0, quotient))
    return results
