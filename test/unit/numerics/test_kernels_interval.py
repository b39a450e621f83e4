"""The interval test of fvfma: every lane it calls proven must be right, and ordinary data must be proven."""

import random
from fractions import Fraction

import pytest
from numerics_cases import Triple, addend_to_midpoint, normal, triples
from numerics_harness import check, pack, run, unpack

from mnc.mncore_backend.emulator.kernels.emitter import Value
from mnc.mncore_backend.emulator.kernels.jit import Inputs, Kernel, Outputs, chunked, kernel
from mnc.mncore_backend.emulator.kernels.lanes import LONGS, nibbles
from mnc.mncore_backend.emulator.kernels.mau import mau_vector
from mnc.mncore_backend.emulator.kernels.mau_interval import interval_sum
from mnc.mncore_backend.emulator.numerics.formats import SINGLE, value
from mnc.mncore_backend.emulator.numerics.mau_vector import multiply_add, product


def _interval_kernel() -> Kernel:
    def work(inputs: Inputs) -> Outputs:
        x, y, z = (inputs[name].bitcast("i32") for name in "xyz")
        result, proven = interval_sum(x, y, z)
        marks: Value = nibbles(proven)
        return {"out": result.bitcast("i64"), "flags": marks}

    return kernel("test_interval_sum", ("out", "x", "y", "z", "flags"), chunked(LONGS, work, "flags"))


def _run(cases: list[Triple]) -> tuple[list[int], list[bool]]:
    x, y, z = (pack(column, 32) for column in zip(*cases, strict=True))
    out = run(_interval_kernel(), x=x, y=y, z=z)
    proven = [bool(nibble & mask) for nibble in out["flags"] for mask in (0b1100, 0b0011)]
    return unpack(out["out"], 32), proven


def _in_range(rng: random.Random) -> Triple:
    a, b = normal(SINGLE, rng, -50, 61), normal(SINGLE, rng, -50, 61)
    return a, b, addend_to_midpoint(product(SINGLE, a, b), SINGLE, SINGLE, rng)


def _large(rng: random.Random) -> Triple:
    """Around the upper end of the range of singles: factors, products, addends and sums."""
    high = rng.randint(40, 126)
    a, b = normal(SINGLE, rng, high - 2, high), normal(SINGLE, rng, 124 - high, 128 - high)
    if rng.randrange(3) == 0:
        return a, b, normal(SINGLE, rng, 123, 126)
    return a, b, addend_to_midpoint(product(SINGLE, a, b), SINGLE, SINGLE, rng)


def test_proven_lanes_are_right() -> None:
    rng = random.Random(4)
    cases = triples(SINGLE, count=2000, seed=3) + [_in_range(rng) for _ in range(10000)]
    cases += [_large(rng) for _ in range(10000)]
    results, proven = _run(cases)
    settled = [index for index, sure in enumerate(proven) if sure]
    assert len(settled) > len(cases) // 10
    expected = [multiply_add(SINGLE, *cases[index]) for index in settled]
    check([results[index] for index in settled], expected, *zip(*(cases[index] for index in settled), strict=True))


def _near_boundary(case: Triple) -> bool:
    """Is a*b + c within 2**-45 of its size from a point halfway between two singles?"""
    exact = product(SINGLE, case[0], case[1]) + value(SINGLE, case[2])
    magnitude = abs(exact.integer)
    shift = magnitude.bit_length() - 25
    if magnitude == 0 or shift < 0:
        return True
    odd = magnitude >> shift | 1
    nearest = min(abs(Fraction(magnitude, 1 << shift) - point) for point in (odd - 2, odd, odd + 2))
    return nearest < Fraction(1, 1 << 20)


def test_lanes_beside_a_boundary_are_not_proven() -> None:
    rng = random.Random(5)
    cases = [case for case in (_in_range(rng) for _ in range(4000)) if _near_boundary(case)]
    assert len(cases) > 1000
    assert not any(_run(cases[: len(cases) // 2 * 2])[1])


@pytest.mark.parametrize("kind", ["normal", "zeros", "integers"])
def test_ordinary_data_is_proven(kind: str) -> None:
    rng = random.Random(kind)

    def number() -> int:
        if kind == "integers":
            return {0: 0, 1: 0x3F800000, 2: 0x40000000, 3: 0x40400000}[rng.randrange(4)]
        if kind == "zeros" and rng.getrandbits(1):
            return 0
        return SINGLE.pack(rng.getrandbits(1), 127 + rng.randint(-6, 3), rng.getrandbits(23))

    cases = [(number(), number(), number()) for _ in range(2000)]
    assert sum(_run(cases)[1]) > 0.999 * len(cases)


def test_one_doubtful_lane_among_ordinary_ones() -> None:
    """The kernel redoes a chunk of 16 for a single lane, wherever it is."""

    doubtful = triples(SINGLE, count=40, seed=8)
    cases = []
    for index, case in enumerate(doubtful):
        chunk = [(0x3F800000 + k, 0x40000000 + 3 * k, 0xBF000000 - k) for k in range(15)]
        chunk.insert(index % 16, case)
        cases += chunk
    x, y, z = (pack(column, 32) for column in zip(*cases, strict=True))
    results = unpack(run(mau_vector("fma", "f"), x=x, y=y, z=z)["out"], 32)
    check(results, [multiply_add(SINGLE, *case) for case in cases], *zip(*cases, strict=True))
