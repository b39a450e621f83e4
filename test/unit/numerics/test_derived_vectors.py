"""Vectors derived by hand from the manual's rules with exact arithmetic; not seen on a machine.

Each is checked on the oracle and, where a kernel exists, on the kernel.
"""

import pytest
from numerics_harness import one_mab, pack, run, unpack, words

from mnc.mncore_backend.emulator.kernels import (
    block_float,
    rrn_stage,
)
from mnc.mncore_backend.emulator.kernels import mau_vector as mau_kernel
from mnc.mncore_backend.emulator.numerics import conversion, rrn
from mnc.mncore_backend.emulator.numerics.block_float import block_normalise, half_extended
from mnc.mncore_backend.emulator.numerics.formats import DOUBLE, HALF, SINGLE, Exact, join
from mnc.mncore_backend.emulator.numerics.mau_matrix import dot
from mnc.mncore_backend.emulator.numerics.mau_matrix import matrix_vector as mab_product
from mnc.mncore_backend.emulator.numerics.mau_vector import vector
from mnc.mncore_backend.emulator.numerics.rounding import round_exact


@pytest.mark.parametrize(
    ("operation", "source", "expected"),
    [
        ("f", "3f800000 40400000 bf000000 80000000", "40200000 40600000 c0100000 c0000000"),
        ("f", "3fffffff 3f800000 00000000 00000000", "40400000 40200000 40000000 40000000"),
        ("f", "3f800001 3f800003 3f000001 33800000", "3fc00000 3fc00002 3fa00000 3f800000"),
        ("f", "7f7fffff 3f800000 bf800000 00000000", "7f800000 7f800000 ff800000 7f800000"),
        ("f", "00000000 80000000 00000000 00000000", "00000000 80000000 00000000 00000000"),
        ("f", "00000001 3f800000 00000000 00000000", "3f800000 3fc00000 3f800000 3f800000"),
        ("g", "3f800020 3f800060 3f800010 3fffff80 0 0 0 0", "3fc00000 3fc00040 3fc00000 3fffffc0" + 4 * " 3f800000"),
        ("g", "3fffffe0 3f800000 0 0 0 0 0 0", "40400000 40200000" + 6 * " 40000000"),
        ("h9", "3e00 4100 bc00 8000" + 12 * " 0", "4080 4180 c040 c000" + 12 * " 4000"),
        ("h8", "3e00 4100 bc00 8000" + 12 * " 0", "4240 42c0 c220 c200" + 12 * " 4200"),
        ("h6", "3e00 4100 bc00 8000" + 12 * " 0", "4610 4630 c608 c600" + 12 * " 4600"),
        ("h9", "3fff 3e00 3201 2c00" + 12 * " 0", "4100 4080 4002 4000" + 12 * " 4000"),
        ("h9", "3e00 3201 3001 2c00" + 12 * " 0", "3f00 3e04 3e02 3e00" + 12 * " 3e00"),
        ("e9", "3e00 3201 3001 2c00" + 12 * " 0", "3f00 0100 0080 0020" + 12 * " 0000"),
        ("e9", "3e00 33ff 3200 8000" + 12 * " 0", "3f00 3e08 0100 8000" + 12 * " 0000"),
    ],
)
def test_derived_block_float(operation: str, source: str, expected: str) -> None:
    block, result = words(source), words(expected)
    bits = int(operation[1:] or 9)
    if operation[0] == "e":
        assert half_extended(block, bits) == result
        assert unpack(run(block_float("bfe", "h", bits), x=pack(block, 16))["out"], 16) == result
        return
    precision = operation[0]
    assert block_normalise(precision, block, bits) == result
    longs = {"f": [x << 32 for x in block], "g": pack(block, 32), "h": pack(block, 16)}[precision]
    out = run(block_float("bfn", precision, bits), x=longs)["out"]
    elements = [x >> 32 for x in out] if precision == "f" else unpack(out, 32 if precision == "g" else 16)
    assert elements == result


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ("3f800000 33800000 33800000 33800000", 0x3F800002),
        ("3f800000 33800001 00000000 00000000", 0x3F800000),
        ("3f800000 33400000 33000000 00000000", 0x3F800001),
        ("3f800000 bf800000 80000000 80000000", 0x00000000),
        ("7f7fffff 7f7fffff 00000000 00000000", 0x7F800000),
        ("00800000 80800001 00000000 00000000", 0x00000000),
    ],
)
def test_derived_reduction_stage(inputs: str, expected: int) -> None:
    assert rrn.stage("fadd", "f", words(inputs)) == expected
    out = run(rrn_stage("fadd", "f", 4), **{f"x{k}": [x] for k, x in enumerate(words(inputs))})["out"]
    assert out == [expected]


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ("3f80001f 3f80001f bf80003e", 0x2C800000),
        ("7f000000 40000000 00000000", 0x7F800000),
        ("00800000 3f000000 00000000", 0x00000000),
    ],
)
def test_derived_single_multiply_add(inputs: str, expected: int) -> None:
    a, b, c = words(inputs)
    assert vector("fma", SINGLE, a, b, c) == expected
    assert run(mau_kernel("fma", "f"), x=[a], y=[b], z=[c])["out"] == [expected]


def test_derived_double_multiply_add() -> None:
    a, c = 0x3FF0000000000001, 0xBFF0000000000002
    assert vector("fma", DOUBLE, a, a, c) == 0x3B50000000000000
    assert run(mau_kernel("fma", "d", half="u"), x=[a], y=[a], z=[c])["out"] == [0x3B50000000000000]


def test_derived_single_rounding_to_half() -> None:
    """1 + 2**-10 + 2**-40 is above a tie of halves; through single it would be on it."""
    assert round_exact(HALF, Exact((1 << 40) + (1 << 30) + 1, -40)) == 0x3E01
    a, b, c = 0x3F800000, 0x2B800000, 0x3F802000
    assert vector("fma", SINGLE, a, b, c, reduce=True) == 0x3E01
    assert run(mau_kernel("fma", "f", reduce=True), x=[a << 32], y=[b << 32], z=[c << 32])["out"] == [0x3E01 << 48]


def test_derived_single_matrix_product() -> None:
    block = block_normalise("f", [0x3F800002] * 4)
    assert block == [0x3FC00001] * 4
    assert dot("f", block, block, 0xC0800000) == 0x36000100
    row = [join([x, 0], 32) for x in block]
    assert one_mab("f", [row], [x << 32 for x in block], [0xC0800000 << 32])[0] == 0x36000100 << 32


def test_derived_halves_of_integers() -> None:
    codes = words("0000 3e00 4000 4100 4200 4280 4300 4380 4400 4440 4480 44c0 4500 4540")
    assert [conversion.half_from_single(round_exact(SINGLE, Exact(n))) for n in range(14)] == codes


MATRIX_FACTS = {  # identity with A[0][last] = 2
    "g": ([1, 2, 3, 4, 5, 6, 7, 8], [17, 2, 3, 4, 5, 6, 7, 8]),
    "h": (list(range(1, 17)), [33, *range(2, 17)]),
    "f": ([1, 3, 5, 7], [1, 0, 3, 0, 5, 0, 7, 0]),
}


@pytest.mark.parametrize("precision", ["f", "g", "h"])
def test_matrix_vector_facts(precision: str) -> None:
    form = HALF if precision == "h" else SINGLE
    size = 16 if precision == "h" else 8
    identity = [
        [round_exact(form, Exact(int(i == j) + 2 * (j == size - 1 and i == 0))) for j in range(size)]
        for i in range(size)
    ]
    vector_values, expected = MATRIX_FACTS[precision]
    if precision == "f":  # columns 2j form the block
        bank = [[x for e in block_normalise("f", row[::2]) for x in (e, 0x12345678)] for row in identity]
    else:
        bank = [block_normalise(precision, row) for row in identity]
    x = block_normalise(precision, [round_exact(form, Exact(value)) for value in vector_values])
    result = [round_exact(SINGLE, Exact(value)) for value in expected]
    assert mab_product(precision, bank, x, [0] * size) == result
    bits = form.bits
    longs = [value << 32 for value in x] if precision == "f" else pack(x, bits)
    out = one_mab(precision, [pack(row, bits) for row in bank], longs, [0] * 8)
    if precision == "h":
        assert out == [join(result[4 * p + 2 * k : 4 * p + 2 * k + 2], 32) for k in (0, 1) for p in range(4)]
    else:
        assert out[:4] == pack(result, 32)
