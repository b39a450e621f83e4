"""The oracle against IEEE arithmetic of the host where both must agree, and against the manual's exceptions."""

import math
import random
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.emulator.numerics import alu_float, conversion, mau_vector, rrn
from mnc.mncore_backend.emulator.numerics.formats import (
    DOUBLE,
    FORMATS,
    HALF,
    SINGLE,
    Exact,
    Format,
    elements,
    join,
    value,
)
from mnc.mncore_backend.emulator.numerics.rounding import normalise, round_exact, shift_right_even

patterns = {"h": st.integers(0, 2**16 - 1), "f": st.integers(0, 2**32 - 1), "d": st.integers(0, 2**64 - 1)}


def as_float(x: int) -> float:
    """Host value of a single pattern."""
    return struct.unpack(">f", struct.pack(">I", x))[0]


def as_single(x: float) -> int:
    """Single pattern of a host value after one rounding."""
    with np.errstate(over="ignore"):
        return int(np.float32(x).view(np.uint32))


@given(st.integers(0, 2**70), st.integers(0, 80))
def test_shift_right_even_is_round_to_nearest_even(integer: int, shift: int) -> None:
    assert shift_right_even(integer, shift) == round(Fraction(integer, 1 << shift))


@given(st.fractions(max_denominator=2**30), st.integers(-200, 160))
def test_rounding_to_single_agrees_with_the_host(fraction: Fraction, scale: int) -> None:
    number = Exact(round(fraction * 2**20), scale)
    result = round_exact(SINGLE, number)
    try:
        host = as_single(math.ldexp(number.integer, number.scale))
    except OverflowError:
        return
    if abs(number.integer).bit_length() > 53:
        return
    if host & 0x7F800000 == 0:  # subnormal or zero on the host
        assert result in (0, host & 0x80000000 | 0x00800000)
    else:
        assert result == host


@pytest.mark.parametrize("letter", "hfd")
@given(st.data())
def test_patterns_survive_their_value(letter: str, data: st.DataObject) -> None:
    form = FORMATS[letter]
    x = data.draw(patterns[letter])
    expected = normalise(form, x)
    if not form.is_infinite(x):
        assert round_exact(form, value(form, x)) == expected
    assert normalise(form, expected) == expected


@given(patterns["h"])
def test_widening_half_is_exact(x: int) -> None:
    wide = conversion.widen(HALF, SINGLE, x)
    if HALF.is_infinite(x):
        assert wide == SINGLE.infinity(HALF.sign(x))
    elif HALF.is_zero(x):
        assert wide == HALF.sign(x) << 31
    else:
        assert Fraction(as_float(wide)) == Fraction(value(HALF, x).integer) * Fraction(2) ** value(HALF, x).scale
    assert conversion.narrow(SINGLE, HALF, wide) == normalise(HALF, x)


@given(patterns["f"], patterns["f"])
def test_single_addition_is_ieee_apart_from_its_exceptions(x: int, z: int) -> None:
    result = mau_vector.vector("add", SINGLE, x, z=z)
    if 0 in (SINGLE.exponent(x), SINGLE.exponent(z)) or 255 in (SINGLE.exponent(x), SINGLE.exponent(z)):
        return
    with np.errstate(over="ignore"):
        host = np.float32(as_float(x)) + np.float32(as_float(z))
    assert result == normalise(SINGLE, int(np.float32(host).view(np.uint32)))


def test_infinite_terms() -> None:
    inf, minus, one = 0x7F800000, 0xFF800000, 0x3F800000
    assert mau_vector.multiply_add(SINGLE, inf, one, minus) == inf
    assert mau_vector.multiply_add(SINGLE, minus, one, minus) == minus
    assert mau_vector.multiply_add(SINGLE, minus | 5, one, 0xFF7FFFFF) == minus
    assert rrn.stage("fadd", "f", [minus, one, 0x7F7FFFFF, 0]) == minus
    assert rrn.stage("fadd", "f", [minus, inf, 0, 0]) == inf


def test_2_4_infinity_times_zero_is_zero() -> None:
    inf, minus, one = 0x7F800000, 0xFF800000, 0x3F800000
    assert mau_vector.multiply_add(SINGLE, minus, 0, 0) == 0
    assert mau_vector.multiply_add(SINGLE, 0x80000042, inf, one) == one
    assert mau_vector.multiply_add(SINGLE, minus, 0x80000042, minus) == minus
    assert mau_vector.multiply_add(DOUBLE, 0x7FF << 52, 0, 0x3FF << 52) == 0x3FF << 52
    assert mau_vector.multiply_add(HALF, 0x7E00, 0x8000, one) == one


def test_reduction_alone_may_be_infinite_or_vanish() -> None:
    assert rrn.stage("fadd", "h", [0x7DFF, 0x7DFF]) == 0x7E00
    assert rrn.stage("fadd", "h", [0x0200, 0x8201]) == 0
    assert rrn.stage("max", "f", [0x80000000, 0]) == 0
    assert rrn.stage("min", "f", [0x80000000, 0]) == 0x80000000
    assert rrn.round_extremum(0x80000000) == 0x8000


@pytest.mark.parametrize("form", [HALF, SINGLE, DOUBLE])
def test_floor_is_the_mathematical_floor(form: Format) -> None:
    rng = random.Random(form.letter)
    for _ in range(2000):
        x = form.pack(rng.getrandbits(1), form.bias + rng.randint(-2, 30), rng.getrandbits(form.mantissa_bits))
        if form.is_infinite(x) or form.is_zero(x):
            continue
        exact = value(form, x)
        floor = math.floor(Fraction(exact.integer) * Fraction(2) ** exact.scale)
        result = alu_float.floor(form, x)
        assert result == (round_exact(form, Exact(floor)) if floor else form.sign(x) << (form.bits - 1))


def test_floor_and_conversion_of_small_numbers() -> None:
    assert alu_float.floor(SINGLE, 0xBE000000) == 0xBF800000  # -0.125 -> -1
    assert alu_float.floor(SINGLE, 0x3F000000) == 0
    assert alu_float.floor(SINGLE, 0x80000042) == 0x80000042
    assert alu_float.ftoi(SINGLE, 0xC0200000, unsigned=False) == 2**32 - 2  # -2.5 -> -2
    assert alu_float.ftoi(SINGLE, 0xC0200000, unsigned=True) == 2
    assert alu_float.ftoi(SINGLE, 0xFF800000, unsigned=False) == 0x80000000
    assert alu_float.ftoi(SINGLE, 0x7F800000, unsigned=False) == 0x7FFFFFFF
    assert alu_float.ftoi(HALF, 0xFE00, unsigned=True) == 0xFFFF


@given(patterns["f"])
def test_8_rsqrt(x: int) -> None:
    result = alu_float.rsqrt(SINGLE, x)
    if SINGLE.is_zero(x) or SINGLE.is_infinite(x):
        assert result == (0x7F800000 if SINGLE.is_zero(x) else 0)
        return
    size = abs(as_float(x))
    k = math.floor(math.log2(size)) // 2
    cut = math.ldexp(math.floor(math.ldexp(math.frexp(size)[0], 5)), math.frexp(size)[1] - 5)
    assert as_float(result) == math.floor(64 / math.sqrt(cut / 4.0**k)) / 64 * 2.0**-k
    assert -0.026 <= as_float(result) * math.sqrt(size) - 1 <= 0.031
    assert result & 0x3FFFF == 0


@pytest.mark.parametrize("form", [HALF, SINGLE, DOUBLE])
def test_8_rsqrt_of_both_ends_of_every_interval(form: Format) -> None:
    """All 32 results, at the first and the last value that gives them: nothing in between counts."""
    found = set()
    for odd in (0, 1):
        for top in range(16):
            first = form.pack(1, form.bias + odd, top << (form.mantissa_bits - 4))
            last = first | ((1 << (form.mantissa_bits - 4)) - 1)
            steps = math.isqrt(65536 // ((16 + top) << odd))
            wanted = form.pack(0, form.bias - 1, (steps - 32) << (form.mantissa_bits - 5)) if steps < 64 else None
            results = {alu_float.rsqrt(form, x) for x in (first, last)}
            assert results == {wanted or form.pack(0, form.bias, 0)}
            found |= results
    assert len(found) > 20


@given(st.lists(st.integers(0, 2**16 - 1), min_size=4, max_size=4))
def test_elements_and_join(parts: list[int]) -> None:
    assert elements(join(parts, 16), 16) == parts
    assert elements(join(parts, 16), 64) == [int("".join(f"{part:04x}" for part in parts), 16)]
