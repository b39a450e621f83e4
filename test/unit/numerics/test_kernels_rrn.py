"""Reduction network: kernels against the oracle."""

import random

import numpy as np
import pytest
from numerics_cases import reduction_inputs
from numerics_harness import check, run

from mnc.mncore_backend.emulator.kernels import rrn_mabs, rrn_reduce, rrn_stage
from mnc.mncore_backend.emulator.numerics import rrn as oracle
from mnc.mncore_backend.emulator.numerics.formats import LANE_BITS, elements, join

FLOAT_OPS = [(op, precision) for op in ("fadd", "max", "min") for precision in "dfh"]
INTEGER_OPS = [(op, precision) for op in ("iadd", "band", "bor", "and", "or") for precision in "lis"]


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
    lanes = [reduction_inputs(op, precision, rng, count) for _ in range(2048)]
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
            lanes = [reduction_inputs(op, precision, rng, members, "h" if reduce else "") for _ in range(per_long)]
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
