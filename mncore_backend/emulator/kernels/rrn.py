"""Kernels of the reduction network: l1bmr*, and single stages for l2bmr* and mvr* (SDM 4.1)."""

from collections.abc import Callable, Sequence
from functools import reduce as fold

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.target import MABS_PER_QUAD, PES_PER_MAB, cached_per_machine

from .emitter import Value, element_bits
from .jit import CYCLES, Inputs, Kernel, Outputs, Step, chunked, kernel, pes
from .lanes import LONGS, PRECISIONS, Precision, double_to_half, exponent, half_to_single, is_infinite
from .moves import word_halves

Stage = Callable[[Sequence[Value], bool], Value]
"""Combines integer lanes of K inputs; the flag asks for half patterns (last stage, single only)."""

_FLOAT_PRECISIONS = ("d", "f", "h")


def _aligned_sum(inputs: Sequence[Value], precision: Precision) -> tuple[Value, Value]:
    """Sum of the significands with three extra bits, and the largest exponent field.

    Shifting out bits below the three rounds to nearest even: the first of two roundings. Shifts
    are clamped where the result is zero anyway.
    """
    bits = element_bits(inputs[0].element)
    fields = [exponent(x, precision) for x in inputs]
    largest = fold(lambda a, b: a.maximum(b), fields)
    total = largest.like(0)
    for x, field in zip(inputs, fields, strict=True):
        significand = ((x & precision.mantissa) | (1 << precision.mantissa_bits)) << 3
        significand = field.compare("eq", 0).select(x.like(0), significand)
        distance = (largest - field).minimum(bits - 1)
        shift = distance.maximum(1)
        rounded = significand + ((x.like(1) << (shift - 1)) - 1) + ((significand >> shift) & 1)
        significand = distance.compare("eq", 0).select(significand, rounded >> shift)
        negative = (x & precision.sign).compare("ne", 0)
        total = total + negative.select(0 - significand, significand)
    return total, largest


def _infinite_sign(inputs: Sequence[Value], precision: Precision) -> tuple[Value, Value]:
    """Where an input is infinite, and the sign there: + unless all infinite inputs are negative (OPEN-26)."""
    infinite = [is_infinite(x, precision) for x in inputs]
    where = fold(lambda a, b: a | b, infinite)
    sign = fold(
        lambda a, b: a & b,
        (i.select(x & precision.sign, x.like(precision.sign)) for i, x in zip(infinite, inputs, strict=True)),
    )
    return where, sign


def _float_add(precision: Precision) -> Stage:
    """One fadd stage. Converting the integer sum to a float is the second rounding."""
    element = "f64" if precision.bits == 64 else "f32"
    wide = PRECISIONS["d"] if precision.bits == 64 else PRECISIONS["f"]

    def stage(inputs: Sequence[Value], to_half: bool) -> Value:
        total, largest = _aligned_sum(inputs, precision)
        where, sign = _infinite_sign(inputs, precision)
        scale = largest - (precision.bias + precision.mantissa_bits + 3)
        if to_half or precision.letter == "h":
            target = PRECISIONS["h"]
            value = total.to_float("f64").bitcast("i64") + (scale.sext("i64") << 52)
            half = double_to_half(value).trunc(total.element)
            result = total.compare("eq", 0).select(total.like(0), half)
            return where.select((sign >> (precision.bits - 16)) | target.infinity, result)
        pattern = total.to_float(element).bitcast(total.element)
        field = exponent(pattern, wide) + scale
        result = pattern + (scale << wide.mantissa_bits)
        overflow = field.compare("sge", wide.infinity >> wide.mantissa_bits)
        result = overflow.select((pattern & wide.sign) | wide.infinity, result)
        vanishes = field.compare("sle", 0) | total.compare("eq", 0)
        result = vanishes.select(total.like(0), result)
        return where.select(sign | wide.infinity, result)

    return stage


def _extremum(precision: Precision, largest: bool) -> Stage:
    """Order of sign-magnitude integers over the whole lane; the winner's bits are unchanged (OPEN-34)."""

    def key(x: Value) -> Value:
        # Flipping the magnitude of negative numbers maps the order to signed integers, -0 below +0.
        return x ^ (x.sar(precision.bits - 1) & (precision.sign - 1))

    def stage(inputs: Sequence[Value], to_half: bool) -> Value:
        keys = [key(x) for x in inputs]
        winner = key(fold(lambda a, b: a.maximum(b) if largest else a.minimum(b), keys))
        if not to_half:
            return winner
        # Rounding keeps the sign, of a zero too (OPEN-34).
        magnitude = winner & (precision.sign - 1)
        zero = exponent(winner, precision).compare("eq", 0)
        infinite = is_infinite(winner, precision)
        magnitude = (zero | infinite).select(magnitude & precision.infinity, magnitude)
        half = double_to_half(magnitude.bitcast("f32").to_float("f64").bitcast("i64")).trunc("i32")
        return half | ((winner & precision.sign) >> 16)

    return stage


def _integer(combine: Callable[[Value, Value], Value]) -> Stage:
    return lambda inputs, _: fold(combine, inputs)


def _logical(combine: Callable[[Value, Value], Value]) -> Stage:
    """Lanes count as true when not zero; the result is 1 or 0."""

    def stage(inputs: Sequence[Value], _: bool) -> Value:
        truths = [x.compare("ne", 0) for x in inputs]
        return fold(combine, truths).select(inputs[0].like(1), 0)

    return stage


def _stage(op: str, precision: str) -> Stage:
    """The stage function on integer lanes of `precision` (half fadd: i32 lanes holding halves)."""
    lane = PRECISIONS[precision]
    if precision in _FLOAT_PRECISIONS:
        if op == "fadd":
            return _float_add(lane)
        if op in ("max", "min"):
            return _extremum(lane, op == "max")
    elif op in ("iadd", "band", "bor"):
        return _integer({"iadd": Value.__add__, "band": Value.__and__, "bor": Value.__or__}[op])
    elif op in ("and", "or"):
        return _logical({"and": Value.__and__, "or": Value.__or__}[op])
    raise ValueError(f"no reduction {precision}{op}")


@cached_per_machine()
def rrn_stage(op: str, precision: str, inputs: int) -> Kernel:
    """One stage over `inputs` rows of 64 longs: operands out, x0, x1, ...

    Raises ValueError for an unknown operation or precision.
    """
    stage = _stage(op, precision)
    lane = PRECISIONS[precision]
    widened = op == "fadd" and precision == "h"
    names = [f"x{index}" for index in range(inputs)]

    def work(rows: Inputs) -> Outputs:
        values = [rows[name].bitcast(lane.element) for name in names]
        if widened:
            return {"out": stage([x.zext("i32") for x in values], False).trunc("i16").bitcast("i64")}
        return {"out": stage(values, False).bitcast("i64")}

    return kernel(f"rrn_{precision}{op}_{inputs}", ["out", *names], chunked(LONGS, work))


def rrn_reduce(op: str, precision: str, stacked: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One stage over the first axis of `stacked` (uint64 longs, [K, n] -> [n], any n)."""
    count, size = stacked.shape
    row = CYCLES * pes()
    padded = np.zeros((count, -(-size // row) * row), dtype=np.uint64)
    padded[:, :size] = stacked
    blocks = padded.reshape(count, -1, CYCLES, pes())
    out = np.empty_like(blocks[0])
    rrn_stage(op, precision, count)(out=out, **{f"x{index}": blocks[index] for index in range(count)})
    return out.reshape(-1)[:size]


def _concatenate(parts: Sequence[Value]) -> Value:
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [low.shuffle(range(2 * low.lanes), high) for low, high in pairs]
    return parts[0]


@cached_per_machine()
def rrn_mabs(op: str, precision: str, *, quads: bool = False, reduce: bool = False) -> Kernel:
    """Reduction over the MABs of a block, one long per PE column: operands out, x.

    With `quads` (l1bmr4*) each quad m >> 2 gives 4 longs, ``out`` rows have 16; otherwise (l1bmr*)
    the quads' results meet in a second stage (OPEN-33), ``out`` rows have 4. `reduce` (single only) rounds
    the last stage's exact sum to half: the two halves of a long go to D0. Half sums run on
    the single circuit. Raises ValueError for combinations that do not exist.
    """
    if reduce and (precision != "f" or op not in ("fadd", "max", "min")):
        raise ValueError(f"no rounding after {precision}{op}")
    half_sum = op == "fadd" and precision == "h"
    stage = _stage(op, "f" if half_sum else precision)
    element = PRECISIONS[precision].element

    def combine(longs: Sequence[Value], last: bool) -> Value:
        return stage(longs, last and (reduce or half_sum))

    def body(step: Step) -> None:
        count = pes() // (MABS_PER_QUAD * PES_PER_MAB)
        with step.builder.loop(0, CYCLES) as cycle:
            source = step.row("x", cycle)
            quarters = [
                [source.at((4 * quad + member) * 32).load("i64", 4) for quad in range(count)] for member in range(4)
            ]
            groups = [_concatenate(own).bitcast(element) for own in quarters]
            if half_sum:
                groups = [half_to_single(x.zext("i32")) for x in groups]
            result = combine(groups, quads or count == 1)
            if not quads and count > 1:
                width = result.lanes // count
                parts = [result.shuffle(range(width * quad, width * (quad + 1))) for quad in range(count)]
                result = combine(parts, True)
            if half_sum:
                result = result.trunc("i16")
            step.row("out", cycle).store(word_halves(result) if reduce else result.bitcast("i64"))

    name = f"rrn_mabs_{precision}{op}{'_quads' if quads else ''}{'_r' if reduce else ''}"
    return kernel(name, ("out", "x"), body)
