"""ALU kernels against the oracle, with flags."""

import itertools
import random

import pytest
from numerics_cases import normal, pairs_of_specials
from numerics_harness import check, flag_nibbles, pack, run, unpack

from mnc.mncore_backend.emulator.kernels import alu
from mnc.mncore_backend.emulator.numerics import alu_float, alu_integer
from mnc.mncore_backend.emulator.numerics.formats import FORMATS, LANE_BITS, Format

UNARY = {"passa", "inc", "dec", "not", "lnot", "rsqrt", "floor", "ftoi"}
INTEGER_CASES = [(op, precision, False) for op in alu_integer.OPERATIONS for precision in "lis"] + [
    (op, precision, True) for op in ("inc", "dec", "add", "sub", "max", "min", "lsr") for precision in "lis"
]
FLOAT_CASES = [(op, precision, False) for op in alu_float.OPERATIONS for precision in "dfh"] + [
    ("ftoi", precision, True) for precision in "dfh"
]
SHIFTS = ("lsl", "lsr", "bsl", "bsr")


def _check(op: str, precision: str, unsigned: bool, cases: list[tuple[int, int]], expected: list) -> None:
    bits = LANE_BITS[precision]
    cases = cases[: len(cases) // 4 * 4]
    expected = expected[: len(cases)]
    x, y = (list(column) for column in zip(*cases, strict=True))
    inputs = {"x": pack(x, bits)} | ({} if op in UNARY else {"y": pack(y, bits)})
    out = run(alu(op, precision, unsigned=unsigned, flags=True), **inputs)
    check(unpack(out["out"], bits)[: len(cases)], [result for result, _ in expected], x, y)
    flags = [flag or 0 for _, flag in expected]
    check(out["flags"], flag_nibbles(flags, 64 // bits), inputs["x"])
    plain = run(alu(op, precision, unsigned=unsigned), **inputs)
    assert plain["out"] == out["out"]


def _integer_operands(op: str, bits: int, rng: random.Random) -> list[tuple[int, int]]:
    corners = [0, 1, 2, (1 << bits) - 1, (1 << bits) - 2, 1 << (bits - 1), (1 << (bits - 1)) - 1, (1 << (bits - 1)) + 1]
    cases = list(itertools.product(corners, corners))
    if op in SHIFTS:
        amounts = [*range(2 * bits + 2), 3 * bits, (1 << bits) - 1]
        cases += [(rng.getrandbits(bits), amount) for amount in amounts for _ in range(2)]
        cases += [(1 << (bits - 1) | 1, rng.getrandbits(bits) & -2 * bits | amount) for amount in amounts[: 2 * bits]]
    for _ in range(600):
        x = rng.getrandbits(bits)
        cases.append((x, rng.choice([rng.getrandbits(bits), x, -x % (1 << bits), (x + 1) % (1 << bits)])))
    return cases


@pytest.mark.parametrize(("op", "precision", "unsigned"), INTEGER_CASES)
def test_integer(op: str, precision: str, unsigned: bool) -> None:
    bits = LANE_BITS[precision]
    cases = _integer_operands(op, bits, random.Random(f"{op}{precision}{unsigned}"))
    _check(op, precision, unsigned, cases, [alu_integer.integer(op, bits, x, y, unsigned) for x, y in cases])


@pytest.mark.parametrize("op", ["passa", "packbit"])
@pytest.mark.parametrize("precision", ["d", "f", "h"])
def test_bit_operations_of_float_precision(op: str, precision: str) -> None:
    bits = LANE_BITS[precision]
    cases = _integer_operands(op, bits, random.Random(op))
    _check(op, precision, False, cases, [alu_integer.integer(op, bits, x, y) for x, y in cases])


def _float_operands(form: Format, rng: random.Random) -> list[tuple[int, int]]:
    cases = list(pairs_of_specials(form))
    for power in range(-3, form.bits + 2):  # around every integer width, and both sides of integers
        for sign in (0, 1):
            exponent = min(power + form.bias, form.top - 1)
            for mantissa in (0, 1, (1 << form.mantissa_bits) - 1, rng.getrandbits(form.mantissa_bits)):
                x = form.pack(sign, exponent, mantissa)
                cases += [(x, x), (x, x ^ 1 << (form.bits - 1)), (x, rng.getrandbits(form.bits))]
    for exponent in range(1, 6):  # scaling at both ends of the exponent range
        for field in (exponent, form.top - exponent):
            y = form.pack(rng.getrandbits(1), field, rng.getrandbits(form.mantissa_bits))
            cases += [(1 << (form.bits - 1), y), (0, y)]
    for _ in range(500):
        cases.append((normal(form, rng, -12, 12), normal(form, rng, -12, 12)))
        cases.append((rng.getrandbits(form.bits), rng.getrandbits(form.bits)))
    return cases


@pytest.mark.parametrize(("op", "precision", "unsigned"), FLOAT_CASES)
def test_float(op: str, precision: str, unsigned: bool) -> None:
    form = FORMATS[precision]
    cases = _float_operands(form, random.Random(f"{op}{precision}"))
    if op == "rsqrt":
        cases += _rsqrt_boundaries(form)
    _check(op, precision, unsigned, cases, [alu_float.floating(op, form, x, y, unsigned) for x, y in cases])


def _rsqrt_boundaries(form: Format) -> list[tuple[int, int]]:
    """Patterns on both sides of every boundary of the top 4 mantissa bits, in even and odd exponents."""
    step, ones = 1 << (form.mantissa_bits - 4), (1 << form.mantissa_bits) - 1
    return [
        (form.pack(n & 1, form.bias + power, (n * step + neighbour) & ones), 0)
        for n in range(16)
        for power in range(-3, 4)
        for neighbour in (-1, 0, 1)
    ]


@pytest.mark.parametrize("op", ["msl", "msr"])
def test_shifts_between_pes(op: str) -> None:
    rng = random.Random(op)
    longs = [rng.getrandbits(64) for _ in range(512)]
    mabs = [longs[start : start + 4] for start in range(0, len(longs), 4)]
    expected = [long for mab in mabs for long in alu_integer.mab_shift(op, mab)]
    out = run(alu(op, flags=True), x=longs)
    check(out["out"], expected)
    assert not any(out["flags"])


def test_shift_direction() -> None:
    """msl: PE 0 gets PE 3's long; msr: PE 3 gets PE 0's."""
    assert run(alu("msl"), x=[0, 1, 2, 3])["out"] == [3, 0, 1, 2]
    assert run(alu("msr"), x=[0, 1, 2, 3])["out"] == [1, 2, 3, 0]


def test_unknown_operation() -> None:
    with pytest.raises(KeyError):
        alu("mul", "f")
