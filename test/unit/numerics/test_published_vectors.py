"""Published outputs: the vendor's emulator tutorial, accepted contest programs, SDK examples.

Each is checked on the oracle and, where a kernel exists, on the kernel (SDM 4.2, 4.3).
"""

import struct

import numpy as np
import pytest
from numerics_harness import one_mab, pack, run, unpack, words
from published_half_product import A, B, C

from mnc.mncore_backend.emulator.kernels import (
    alu,
    rrn_mabs,
    rrn_stage,
)
from mnc.mncore_backend.emulator.kernels import mau_vector as mau_kernel
from mnc.mncore_backend.emulator.numerics import alu_float, alu_integer, rrn
from mnc.mncore_backend.emulator.numerics.block_float import block_normalise
from mnc.mncore_backend.emulator.numerics.formats import DOUBLE, HALF, SINGLE, Exact, join
from mnc.mncore_backend.emulator.numerics.mau_matrix import matrix_vector as mab_product
from mnc.mncore_backend.emulator.numerics.mau_vector import double_vector, vector
from mnc.mncore_backend.emulator.numerics.rounding import round_exact


def double(value: float) -> int:
    """Pattern of a Python float, which is a double."""
    return struct.unpack(">Q", struct.pack(">d", value))[0]


FVMUL_X = words("3f800000 40a00000 40000000 40c00000 40400000 40e00000 40800000 41000000")
FVMUL_Y = words("3f800000 41100000 40400000 41300000 40a00000 41500000 40e00000 41700000")


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ("3ff0000000000000", "3ff0000000000000", "3ff0000000000000"),
        ("4000000000000000", "4008000000000000", "4018000000000000"),
        ("4008000000000000", "4014000000000000", "402e000000000000"),
        ("4010000000000000", "401c000000000000", "403c000000000000"),
    ],
)
def test_a1_double_product_of_two_instructions(x: str, y: str, expected: str) -> None:
    a, b, result = int(x, 16), int(y, 16), int(expected, 16)
    upper = [double_vector("mul", "u", pe, a, b) for pe in range(4)]
    assert upper == [result, result, 0, 0]
    assert [double_vector("fma", "d", pe, a, b, upper[pe]) for pe in range(4)] == [result] * 4
    first = run(mau_kernel("mul", "d", half="u"), x=[a] * 4, y=[b] * 4)["out"]
    assert first == upper
    assert run(mau_kernel("fma", "d", half="d"), x=[a] * 4, y=[b] * 4, z=first)["out"] == [result] * 4


def test_a2_single_product() -> None:
    expected = words("3f800000 42340000 40c00000 42840000 41700000 42b60000 41e00000 42f00000")
    assert [vector("mul", SINGLE, a, b) for a, b in zip(FVMUL_X, FVMUL_Y, strict=True)] == expected
    out = run(mau_kernel("mul", "f"), x=pack(FVMUL_X, 32), y=pack(FVMUL_Y, 32))["out"]
    assert unpack(out, 32) == expected


def test_a3_single_multiply_add() -> None:
    expected = words("40000000 42380000 40e00000 42860000 41800000 42b80000 41e80000 42f20000")
    assert [vector("fma", SINGLE, a, b, 0x3F800000) for a, b in zip(FVMUL_X, FVMUL_Y, strict=True)] == expected
    z = pack([0x3F800000] * 8, 32)
    out = run(mau_kernel("fma", "f"), x=pack(FVMUL_X, 32), y=pack(FVMUL_Y, 32), z=z)["out"]
    assert unpack(out, 32) == expected


HALF_PRODUCTS = [  # A4-A8: x, y, x*y, x*y + 1 (results as halves)
    ("3e00 4280 4440 4540", "3e00 4440 4620 4720", "3e00 48d0 4c64 4e8a", "4000 48e0 4c68 4e8c"),
    ("4000 4300 4480 4580", "4100 44c0 4660 4760", "4300 4a10 4cf8 4ef4", "4380 4a18 4cfc 4ef6"),
    ("4100 4380 44c0 45c0", "4280 4540 46a0 47a0", "45c0 4ad8 4d9c 4f66", "4600 4ae0 4da0 4f68"),
    ("4200 4400 4500 4600", "4380 45c0 46e0 47e0", "4780 4bc0 4e28 4fe0", "47a0 4bc8 4e2a 4fe2"),
]


@pytest.mark.parametrize(("x", "y", "product", "plus_one"), HALF_PRODUCTS)
def test_a4_to_a8_half_products_with_half_output(x: str, y: str, product: str, plus_one: str) -> None:
    a, b = words(x), words(y)
    assert [vector("mul", HALF, *pair, reduce=True) for pair in zip(a, b, strict=True)] == words(product)
    out = run(mau_kernel("mul", "h", reduce=True), x=pack(a, 16), y=pack(b, 16))["out"]
    assert unpack(out, 16) == words(product)
    one = join([0x3F800000] * 2, 32)
    out = run(mau_kernel("fma", "h", reduce=True), x=pack(a, 16), y=pack(b, 16), z=[one], z_lsb=[one])["out"]
    assert unpack(out, 16) == words(plus_one)
    assert [vector("fma", HALF, *pair, 0x3F800000, reduce=True) for pair in zip(a, b, strict=True)] == words(plus_one)


def test_a9_half_product_with_single_output() -> None:
    out = run(mau_kernel("mul", "h"), x=[0x3E004280_00000000], y=[0x3E004440_00000000])
    assert out["out"] == [0x3F800000_42340000]
    assert [vector("mul", HALF, a, b) for a, b in ((0x3E00, 0x3E00), (0x4280, 0x4440))] == [0x3F800000, 0x42340000]


def test_a10_half_addend_misread_as_single() -> None:
    products = [(1, 1), (5, 9), (2, 3), (6, 11), (3, 5), (7, 13), (4, 7), (8, 15)]
    a, b = ([round_exact(HALF, Exact(pair[i])) for pair in products] for i in (0, 1))
    expected = words("3f9007c0 4234803e 40c401f0 4284401f 417200f8 42b6401f 41e1007c 42f0401f")
    assert [vector("fma", HALF, *pair, 0x3E003E00) for pair in zip(a, b, strict=True)] == expected
    z = [0x3E003E00_3E003E00] * 2
    out = run(mau_kernel("fma", "h"), x=pack(a, 16), y=pack(b, 16), z=z, z_lsb=z)
    assert unpack([out["out"][0], out["out_lsb"][0], out["out"][1], out["out_lsb"][1]], 32) == expected


def test_a11_to_a13_passa() -> None:
    assert run(mau_kernel("passa", "f"), x=[0x00000042_80000000])["out"] == [0]
    assert [vector("passa", SINGLE, x) for x in (0x42, 0x80000000)] == [0, 0]
    doubles = [double(x) for x in (1.0, 2.0, 3.0, 4.0)]
    singles = words("3f800000 40000000 40400000 40800000")
    assert [vector("passa", DOUBLE, x, reduce=True) for x in doubles] == singles
    assert run(mau_kernel("passa", "d", reduce=True), x=doubles)["out"] == [single << 32 for single in singles]
    out = run(mau_kernel("passa", "h"), x=[0x3E00428044404540])
    assert [out["out"], out["out_lsb"]] == [[0x3F80000040A00000], [0x4110000041500000]]


def test_a14_double_column_sums() -> None:
    rows = [[double(-16 + p / 2 + 2 * m) for p in range(4)] for m in range(16)]
    rows[0][0] = 0x8000000000000000
    expected = words("0000000000000000 c020000000000000 0000000000000000 4020000000000000")
    assert [rrn.over_mabs("fadd", "d", [row[p] for row in rows]) for p in range(4)] == expected
    x = np.zeros((1, 4, 64), dtype=np.uint64)
    x[0, 0] = [element for row in rows for element in row]
    out = np.zeros((1, 4, 4), dtype=np.uint64)
    rrn_mabs("fadd", "d")(out=out, x=x)
    assert out[0, 0].tolist() == expected


def test_a15_omitted_partial_product() -> None:
    assert vector("fma", SINGLE, 0x49800008, 0x49800008, 0xD3800000) == 0x4A000010
    out = run(mau_kernel("fma", "f"), x=[0x49800008 << 32], y=[0x49800008 << 32], z=[0xD3800000 << 32])["out"]
    assert out == [0x4A000010 << 32]


def test_a16_relu_of_negative_is_negative_zero() -> None:
    assert alu_float.floating("relu", SINGLE, 0xBF800000, 0xBF800000) == (0x80000000, 0)
    out = run(alu("relu", "f", flags=True), x=[0xBF800000_40A00000], y=[0x40A00000_40A00000])
    assert out == {"out": [0x80000000_40A00000], "flags": [0b0011]}


def test_a18_sum_over_the_chip() -> None:
    one = double(1.0)
    l1b = rrn.over_mabs("fadd", "d", [one] * 16)
    l2b = rrn.stage("fadd", "d", [l1b] * 8)
    chip = rrn.stage("fadd", "d", [rrn.stage("fadd", "d", [l2b] * 2)] * 4)
    assert chip == 0x4090000000000000
    assert run(rrn_stage("fadd", "d", 8), **{f"x{k}": [l1b] for k in range(8)})["out"] == [l2b]


A19_A = [[-0.0, 0, 2, -1], [0, 4, -1, -4], [-1, 1, -1, -1], [-1, -1, 1, -1]]
A19_B = [[-0.0, 1, -1, -4], [1, -1, 3, 1], [1, 1, 1, -3], [-1, 1, 1, -1]]
A19_RESULT = [[2, 21, 6, 2], [5, -11, -6, 2], [5, 15, 2, 2], [3, 7, 2, 2]]


def test_a19_double_matrix_product() -> None:
    a, b = ([block_normalise("d", [double(x) for x in row]) for row in rows] for rows in (A19_A, A19_B))
    for x, result in zip(b, A19_RESULT, strict=True):
        expected = [double(value) for value in result]
        upper = mab_product("d", a, x, [0] * 4, "u")
        assert upper[2:] == [0, 0]
        assert mab_product("d", a, x, upper, "d") == expected
        first = one_mab("d", a, x, [0] * 4, "u")[:4]
        assert first == upper
        assert one_mab("d", a, x, first, "d")[:4] == expected


def test_a20_half_matrix_product() -> None:
    """C = A*B: the bank holds the columns of B, every cycle multiplies a row of A."""
    half = [[round_exact(HALF, Exact(x)) for x in row] for row in A]
    columns = [[round_exact(HALF, Exact(row[j])) for row in B] for j in range(16)]
    bank = [block_normalise("h", column) for column in columns]
    for row, result in zip(half, C, strict=True):
        x = block_normalise("h", row)
        expected = [round_exact(SINGLE, Exact(value)) for value in result]
        assert mab_product("h", bank, x, [0] * 16) == expected
        longs = one_mab("h", [pack(r, 16) for r in bank], pack(x, 16), [0] * 8)
        assert longs == [join(expected[4 * p + 2 * k : 4 * p + 2 * k + 2], 32) for k in (0, 1) for p in range(4)]


def test_attested_integer_facts() -> None:
    assert alu_integer.integer("inc", 64, 0x42)[0] == 0x43
    assert alu_integer.integer("add", 64, 0x43, 0x44)[0] == 0x87
    assert alu_integer.integer("lsl", 64, 1, 0x0000000300000003)[0] == 8
    assert alu_integer.integer("bsl", 16, 0x1234, 0x41F8)[0] == 0x3412
    assert run(alu("lsl", "l"), x=[1], y=[0x0000000300000003])["out"] == [8]
    assert run(alu("bsl", "s"), x=[0x1234], y=[0x41F8])["out"] == [0x3412]
    assert run(alu("passa", "l", flags=True), x=[0, 1, 0x42, 0])["flags"] == [15, 0, 0, 15]


def test_a17_pseudo_single_integers_are_exact() -> None:
    """Products of integers up to 511 in pseudo-single, as in the 256 x 16 published case."""
    rng = np.random.default_rng(17)
    bank = rng.integers(-511, 512, (8, 8)).tolist()
    x = rng.integers(-511, 512, 8).tolist()

    def block(values: list[int]) -> list[int]:
        return block_normalise("g", [round_exact(SINGLE, Exact(value)) for value in values])

    expected = [round_exact(SINGLE, Exact(sum(a * b for a, b in zip(row, x, strict=True)))) for row in bank]
    longs = [pack(block(row), 32) for row in bank]
    assert one_mab("g", longs, pack(block(x), 32), [0] * 8)[:4] == pack(expected, 32)
