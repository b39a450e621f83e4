"""Reduction network: one stage over K inputs, and the two stages of an L1B (SDM 4.1)."""

from collections.abc import Callable, Sequence
from functools import reduce as fold

from .conversion import widen
from .formats import FORMATS, HALF, LANE_BITS, SINGLE, Exact, Format
from .infinity import sum_with_infinities
from .rounding import round_exact, shift_right_even

EXTRA_BITS = 3
"""Zero bits appended to a significand before alignment."""


def float_add(form: Format, inputs: Sequence[int], target: Format | None = None) -> int:
    """One fadd stage: align with a first rounding, add exactly, round once to `target` (default `form`)."""
    target = target or form
    infinite = sum_with_infinities(target, (form.sign(x) for x in inputs if form.is_infinite(x)))
    if infinite is not None:
        return infinite
    largest = max(form.exponent(x) for x in inputs)
    total = 0
    for x in inputs:
        significand = form.significand(x) << EXTRA_BITS
        aligned = shift_right_even(significand, largest - form.exponent(x))
        total += -aligned if form.sign(x) else aligned
    return round_exact(target, Exact(total, largest - form.bias - form.mantissa_bits - EXTRA_BITS))


def _sign_magnitude(form: Format, x: int) -> tuple[int, int]:
    """Sort key of a whole lane as a sign-magnitude integer, -0 below +0."""
    magnitude = x & ((1 << (form.bits - 1)) - 1)
    return (-magnitude, 0) if form.sign(x) else (magnitude, 1)


def extremum(form: Format, largest: bool, inputs: Sequence[int]) -> int:
    """max or min: the winner's bits unchanged."""
    choose = max if largest else min
    return choose(inputs, key=lambda x: _sign_magnitude(form, x))


def round_extremum(x: int) -> int:
    """The single winner of a max or min rounded to half; the sign stays, of a zero too (OPEN-34)."""
    sign = SINGLE.sign(x)
    if SINGLE.is_infinite(x):
        return HALF.infinity(sign)
    exponent = SINGLE.exponent(x) - SINGLE.bias - SINGLE.mantissa_bits
    return HALF.pack(sign, 0, 0) | round_exact(HALF, Exact(SINGLE.significand(x), exponent))


_INTEGER: dict[str, Callable[[int, int], int]] = {
    "iadd": lambda a, b: a + b,
    "band": lambda a, b: a & b,
    "bor": lambda a, b: a | b,
}


def stage(op: str, precision: str, inputs: Sequence[int], to_half: bool = False) -> int:
    """One stage of any reduction on elements of `precision`; `to_half` is the ``r`` of a last single stage."""
    if op == "fadd":
        return float_add(FORMATS[precision], inputs, HALF if to_half else None)
    if op in ("max", "min"):
        winner = extremum(FORMATS[precision], op == "max", inputs)
        return round_extremum(winner) if to_half else winner
    if op in _INTEGER:  # sums wrap (OPEN-21)
        return fold(_INTEGER[op], inputs) % (1 << LANE_BITS[precision])
    return int(all(inputs)) if op == "and" else int(any(inputs))


def over_mabs(op: str, precision: str, inputs: Sequence[int], to_half: bool = False) -> int:
    """l1bmr*: 16 MABs, first the quads m >> 2, then their results (OPEN-33).

    Half sums are single sums of the exactly extended inputs, rounded to half in the last stage.
    """
    if op == "fadd" and precision == "h":
        extended = [widen(HALF, SINGLE, x) for x in inputs]
        return over_mabs(op, "f", extended, to_half=True)
    quads = [stage(op, precision, inputs[start : start + 4]) for start in range(0, 16, 4)]
    return stage(op, precision, quads, to_half)


def over_quad(op: str, precision: str, inputs: Sequence[int], to_half: bool = False) -> int:
    """l1bmr4*: the 4 MABs of a quad in one stage."""
    if op == "fadd" and precision == "h":
        return float_add(SINGLE, [widen(HALF, SINGLE, x) for x in inputs], HALF)
    return stage(op, precision, inputs, to_half)
