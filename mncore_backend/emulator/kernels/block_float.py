"""Block-float conversion kernels ``bfn`` and ``bfe`` (SDM 3.6.12.12, 4.3)."""


from mnc.mncore_backend.target import cached_per_machine

from .emitter import Value
from .jit import Inputs, Kernel, Outputs, chunked, kernel
from .lanes import LONGS, PRECISIONS, exponent, is_zero

_SIGNIFICANT = {"d": 52, "f": 23, "g": 18}
# Lane distances whose exchanges join the elements of one block, in lanes of the element width: the
# 4 PEs of a MAB, for g and h also the elements inside a long.
_BLOCK = {"d": (1, 2), "f": (2, 4), "g": (1, 2, 4), "h": (1, 2, 4, 8)}


def _block_maximum(x: Value, distances: tuple[int, ...]) -> Value:
    for distance in distances:
        x = x.maximum(x.exchange(distance), signed=False)
    return x


def _round_shift(value: Value, shift: Value, limit: int) -> Value:
    """`value` / 2**`shift` rounded to nearest even; shift >= 1, clamped to `limit`."""
    shift = shift.minimum(limit)
    half = value.like(1) << (shift - 1)
    return (value + (half - 1) + ((value >> shift) & 1)) >> shift


@cached_per_machine()
def block_float(op: str, precision: str, bits: int = 9) -> Kernel:
    """The kernel of ``<precision>bfn``, or of ``hbfe`` for op "bfe": operands out, x (one long per PE).

    `bits` is the ``<n>`` of the half forms, 6..9. Raises ValueError for other combinations.
    """
    if op not in ("bfn", "bfe") or precision not in _BLOCK or (op == "bfe" and precision != "h") or not 6 <= bits <= 9:
        raise ValueError(f"no block-float conversion {precision}{op}/{bits}")

    def work(inputs: Inputs) -> Outputs:
        lane = PRECISIONS[precision]
        x = inputs["x"].bitcast(lane.element)
        return {"out": _convert(x, op, precision, bits).bitcast("i64")}

    suffix = f"_{bits}" if precision == "h" else ""
    return kernel(f"block_float_{precision}{op}{suffix}", ("out", "x"), chunked(LONGS, work))


def _convert(x: Value, op: str, precision: str, bits: int) -> Value:
    lane = PRECISIONS[precision]
    width, top = lane.mantissa_bits, lane.infinity >> lane.mantissa_bits
    significant = _SIGNIFICANT.get(precision, bits)
    spare = width - significant
    distances = _BLOCK[precision]
    field = exponent(x, lane)
    largest = _block_maximum(field, distances)
    # A mantissa of ones in its first bits would carry out of the field when rounded.
    head = ((1 << significant) - 1) << spare
    ones = (x & head).compare("eq", head)
    carries = (field.compare("eq", largest) & ones).select(x.like(1), 0)
    common = largest + _block_maximum(carries, distances) + (spare if precision == "h" else 0)
    dropped = 0 if precision == "h" else spare
    value = (x & lane.mantissa) | (1 << width)
    difference = common - field
    sign = x & lane.sign
    quotient = _round_shift(value, difference + (1 + dropped), width + 2) << dropped
    result = sign | (common << width) | quotient
    result = is_zero(x, lane).select(sign | (common << width), result)
    if op == "bfe":
        result = _extended(x, result, value, difference, 6 + spare, ones)
    result = common.compare("uge", top).select(sign | lane.infinity, result)
    return largest.compare("eq", 0).select(sign, result)


def _extended(x: Value, result: Value, value: Value, difference: Value, bound: int, ones: Value) -> Value:
    """Replace small elements by their representation with exponent field 0, meaning ec - 6 (SDM 4.3).

    An element that vanishes, or is zero, keeps its sign and has exponent field 0 (OPEN-29).
    """
    lane = PRECISIONS["h"]
    sign = x & lane.sign
    small = difference.compare("sgt", bound) | (difference.compare("eq", bound) & ~ones)
    shift = (difference - 5).maximum(1)
    quotient = small.select(_round_shift(value, shift, lane.mantissa_bits + 2), result & lane.mantissa)
    kept = small.select(quotient, result & ~lane.sign)
    kept = quotient.compare("eq", 0).select(x.like(0), kept)
    return sign | is_zero(x, lane).select(x.like(0), kept)
