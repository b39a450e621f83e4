"""Reduction network: kernels against the oracle."""

import random

import numpy as np
import pytest
from numerics_cases import nearby, normal, specials
from numerics_harness import check, run

from mnc.mncore_backend.emulator.kernels import rrn_mabs, rrn_reduce, rrn_stage
from mnc.mncore_backend.emulator.numerics import rrn as oracle
from mnc.mncore_backend.emulator.numerics.formats import FORMATS, LANE_BITS, Exact, Format, elements, join
from mnc.mncore_backend.emulator.numerics.rounding import round_exact

FLOAT_OPS = [(op, precision) for op in ("fadd", "max", "min") for precision in "dfh"]
INTEGER_OPS = [(op, precision) for op in ("iadd", "band", "bor", "and", "or") for precision in "lis"]


def _float_inputs(form: Format, rng: random.Random, count: int, target: Format) -> list[int]:
    """Terms around a leading one: ties at the third extra bit, half units, cancellation, limits."""
    style = rng.randrange(9)
    if style == 0:
        return [rng.choice(specials(form)) for _ in range(count)]
    if style == 1:
        return [rng.getrandbits(form.bits) for _ in range(count)]
    if style == 2:  # near the overflow and flush limits
        power = rng.choice([form.bias, form.bias - 1, form.bias - 2, 1 - form.bias, 2 - form.bias])
        return [normal(form, rng, power - 1, power + 1) for _ in range(count)]
    power = rng.randint(-5, 5)
    first = normal(form, rng, power, power)
    inputs = [first]
    if style == 3:  # leading terms cancel
        inputs.append(nearby(form, first ^ 1 << (form.bits - 1), rng, 3))
    unit = power - target.mantissa_bits
    while len(inputs) < count:
        if style in (4, 5):  # fractions of a unit in the last place of the result
            term = Exact(rng.choice([1, -1]) * rng.choice([1, 2, 3, 4, 5, 8]), unit - 3)
            inputs.append(nearby(form, round_exact(form, term), rng, 1))
        elif style == 6:
            inputs.append(rng.choice([0, 1 << (form.bits - 1), 1, nearby(form, first, rng, 5)]))
        else:
            inputs.append(normal(form, rng, power - target.mantissa_bits - 5, power))
    rng.shuffle(inputs)
    return inputs


def _integer_inputs(bits: int, rng: random.Random, count: int) -> list[int]:
    style = rng.randrange(4)
    if style == 0:
        return [rng.choice([0, 1, (1 << bits) - 1, 1 << (bits - 1)]) for _ in range(count)]
    if style == 1:
        return [0] * (count - 1) + [rng.choice([0, 1, 1 << (bits - 1)])]
    return [rng.getrandbits(bits) for _ in range(count)]


def _inputs(op: str, precision: str, rng: random.Random, count: int, target: str = "") -> list[int]:
    if precision in FORMATS:
        return _float_inputs(FORMATS[precision], rng, count, FORMATS[target or precision])
    return _integer_inputs(LANE_BITS[precision], rng, count)


def _long_columns(lanes: list[list[int]], bits: int) -> list[list[int]]:
    """Reductions of single elements (rows) as longs, one list per input position."""
    per_long = 64 // bits
    return [
        [join([row[k] for row in lanes[start : start + per_long]], bits) for start in range(0, len(lanes), per_long)]
        for k in range(len(lanes[0]))
    ]


@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize(("op", "precision"), FLOAT_OPS + INTEGER_OPS)
def test_one_stage(op: str, precision: str, count: int) -> None:
    rng = random.Random(f"{op}{precision}{count}")
    bits = LANE_BITS[precision]
    lanes = [_inputs(op, precision, rng, count) for _ in range(2048)]
    columns = _long_columns(lanes, bits)
    out = run(rrn_stage(op, precision, count), **{f"x{k}": column for k, column in enumerate(columns)})["out"]
    actual = [element for long in out for element in elements(long, bits)]
    expected = [oracle.stage(op, precision, row) for row in lanes]
    check(actual, expected, *zip(*lanes, strict=True))


@pytest.mark.parametrize("quads", [False, True])
@pytest.mark.parametrize(
    ("op", "precision", "reduce"),
    [(op, precision, False) for op, precision in FLOAT_OPS + INTEGER_OPS]
    + [(op, "f", True) for op in ("fadd", "max", "min")],
)
def test_over_mabs(op: str, precision: str, reduce: bool, quads: bool) -> None:
    rng = random.Random(f"{op}{precision}{reduce}{quads}")
    bits = LANE_BITS[precision]
    per_long = 64 // bits
    blocks = 4 if precision == "h" or precision == "s" else 8
    members = 4 if quads else 16
    x = np.zeros((blocks, 4, 64), dtype=np.uint64)
    expected = np.zeros((blocks, 4, 16 if quads else 4), dtype=np.uint64)
    combine = oracle.over_quad if quads else oracle.over_mabs
    for b, cycle, first in np.ndindex(blocks, 4, 16 // members):
        for p in range(4):
            lanes = [_inputs(op, precision, rng, members, "h" if reduce else "") for _ in range(per_long)]
            for k in range(members):
                x[b, cycle, 4 * (members * first + k) + p] = join([lane[k] for lane in lanes], bits)
            results = [combine(op, precision, lane, reduce) for lane in lanes]
            expected[b, cycle, 4 * first + p] = join(results, 16 if reduce else bits)
    out = np.full_like(expected, 99)
    rrn_mabs(op, precision, quads=quads, reduce=reduce)(out=out, x=x)
    check(out.reshape(-1).tolist(), expected.reshape(-1).tolist())


def test_reduce_any_length() -> None:
    stacked = np.arange(3 * 1000, dtype=np.uint64).reshape(3, 1000)
    assert np.array_equal(rrn_reduce("iadd", "l", stacked), stacked.sum(axis=0, dtype=np.uint64))


def test_combinations_that_do_not_exist() -> None:
    for op, precision in [("fadd", "i"), ("iadd", "f"), ("sub", "l"), ("max", "l")]:
        with pytest.raises(ValueError):
            rrn_stage(op, precision, 4)
    for op, precision in [("fadd", "d"), ("iadd", "i")]:
        with pytest.raises(ValueError):
            rrn_mabs(op, precision, reduce=True)
