"""Matrix registers: decoding, products and transposed reads, kernels against the oracle."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from numerics_cases import addend_to_midpoint, normal, specials
from numerics_harness import check, flag_nibbles

from mnc.mncore_backend.emulator.kernels import decoded_bytes, matrix_decode, matrix_read, matrix_vector
from mnc.mncore_backend.emulator.numerics import mau_matrix as oracle
from mnc.mncore_backend.emulator.numerics.block_float import block_normalise, half_extended
from mnc.mncore_backend.emulator.numerics.conversion import NARROWER
from mnc.mncore_backend.emulator.numerics.formats import FORMATS, LANE_BITS, Format, elements, join
from mnc.mncore_backend.emulator.numerics.mau_vector import flag

ROWS = {"d": 4, "f": 8, "g": 8, "h": 16}
MABS = 16


def block(precision: str, rng: random.Random, length: int, extended: bool) -> list[int]:
    """A legal block: converted numbers, or any mantissas under one exponent, or a zero or overflowed block."""
    form = FORMATS[precision]
    style = rng.randrange(12)
    if style == 0:
        return [form.pack(rng.getrandbits(1), form.top, 0) for _ in range(length)]
    if style == 1:
        return [form.pack(rng.getrandbits(1), 0, 0) for _ in range(length)]
    if style < 6:
        spread = rng.choice([0, 3, form.mantissa_bits + 3])
        centre = rng.choice([0, 0, 0, -form.bias // 2, form.bias // 2])
        numbers = [normal(form, rng, centre - spread, centre) for _ in range(length)]
        numbers = [rng.choice(specials(form)[:12]) if rng.randrange(8) == 0 else x for x in numbers]
        bits = rng.randint(6, 9)
        return half_extended(numbers, bits) if extended else block_normalise(precision, numbers, bits)
    exponent = form.bias + rng.randint(-6, 6) if style < 11 else rng.choice([1, 2, form.top - 2, form.top - 1])
    mantissas = [rng.getrandbits(form.mantissa_bits) >> rng.choice([0, 0, 1, 5]) for _ in range(length)]
    return [form.pack(rng.getrandbits(1), exponent, mantissa) for mantissa in mantissas]


def raw_row(precision: str, row: Sequence[int]) -> list[int]:
    """The 4 longs of a MAB that hold a bank row or a vector of all elements."""
    bits = LANE_BITS[precision]
    per_long = 64 // bits
    return [join(row[start : start + per_long], bits) for start in range(0, len(row), per_long)]


class Products:
    """One block: 16 MABs with a bank each, and 4 cycles of vectors and addends."""

    def __init__(self, precision: str, seed: str, reduce: bool, extended: bool = False):
        rng = random.Random(f"{precision}{seed}{reduce}{extended}")
        self.precision, self.reduce = precision, reduce
        self.rows = ROWS[precision]
        self.length = 4 if precision == "f" else self.rows
        self.banks = [[self._bank_row(rng, extended) for _ in range(self.rows)] for _ in range(MABS)]
        self.vectors = [[block(precision, rng, self.length, extended) for _ in range(MABS)] for _ in range(4)]
        self.addends = [
            [[self._addend(rng, m, c, row) for row in range(self.rows)] for m in range(MABS)] for c in range(4)
        ]

    def _bank_row(self, rng: random.Random, extended: bool) -> list[int]:
        row = block(self.precision, rng, self.length, extended)
        if self.precision != "f":
            return row
        # Single products ignore the odd columns, whatever they hold.
        return [x for used in row for x in (used, rng.getrandbits(32))]

    def _addend(self, rng: random.Random, mab: int, cycle: int, row: int) -> int:
        accumulator = oracle.ACCUMULATOR[self.precision]
        target = NARROWER[accumulator] if self.reduce else accumulator
        if rng.randrange(8) == 0:
            return rng.choice(specials(accumulator))
        used = oracle.used_columns(self.precision, self.banks[mab][row])
        exact = oracle.exact_dot(self.precision, used, self.vectors[cycle][mab])
        if exact.integer and rng.randrange(4) == 0:
            return addend_to_midpoint(exact, accumulator, accumulator, rng)
        return addend_to_midpoint(exact, target, accumulator, rng)

    def arrays(self) -> dict[str, np.ndarray]:
        """The raw bank, x, z and z_lsb as the kernels take them (one block)."""
        bank = np.zeros((1, 16, 64), dtype=np.uint64)
        x, z, z_lsb = (np.zeros((1, 4, 64), dtype=np.uint64) for _ in range(3))
        for m in range(MABS):
            columns = slice(4 * m, 4 * m + 4)
            for row in range(self.rows):
                bank[0, row, columns] = raw_row(self.precision, self.banks[m][row])
            for cycle in range(4):
                x[0, cycle, columns] = self._vector_longs(self.vectors[cycle][m])
                z[0, cycle, columns], z_lsb[0, cycle, columns] = self._accumulator_longs(self.addends[cycle][m])
        return {"bank": bank, "x": x, "z": z, "z_lsb": z_lsb}

    def _vector_longs(self, vector: Sequence[int]) -> list[int]:
        if self.precision == "f":
            return [join([value, 0xDEADBEEF], 32) for value in vector]
        return raw_row(self.precision, vector)

    def _accumulator_longs(self, values: Sequence[int]) -> tuple[list[int], list[int]]:
        if self.precision == "h":
            pairs = [(values[4 * p : 4 * p + 2], values[4 * p + 2 : 4 * p + 4]) for p in range(4)]
            return [join(msb, 32) for msb, _ in pairs], [join(lsb, 32) for _, lsb in pairs]
        return raw_row(self.precision, values), [0] * 4

    def expected(self, op: str, half: str) -> list[list[list[int]]]:
        """Results [cycle][mab][row]."""
        zeros = [0] * self.rows
        return [
            [
                oracle.matrix_vector(
                    self.precision,
                    self.banks[m],
                    self.vectors[cycle][m],
                    self.addends[cycle][m] if op == "fma" else zeros,
                    half,
                    self.reduce,
                )
                for m in range(MABS)
            ]
            for cycle in range(4)
        ]


def results(precision: str, reduce: bool, out: np.ndarray, out_lsb: np.ndarray, cycle: int, mab: int) -> list[int]:
    """Rows of a MAB read back from the output longs."""
    values = []
    for pe in range(4 * mab, 4 * mab + 4):
        long = int(out[0, cycle, pe])
        if precision == "d":
            values.append(long >> 32 if reduce else long)
        elif precision == "h":
            values += elements(long, 16) if reduce else elements(long, 32) + elements(int(out_lsb[0, cycle, pe]), 32)
        else:
            values += elements(long, 16)[:2] if reduce else elements(long, 32)
    return values


def run_products(products: Products, op: str, half: str) -> None:
    """Decode the bank, run the product, compare all results and flags."""
    precision, reduce = products.precision, products.reduce
    arrays = products.arrays()
    decoded = np.full((1, decoded_bytes()), 0xFF, dtype=np.uint8)
    shared = {"decoded": ([decoded.ctypes.data] * 4, 0)}
    decode = matrix_decode(precision)
    decode.call(decode.record(bank=arrays["bank"], **shared), 0, 1)
    kernel = matrix_vector(op, precision, reduce=reduce, half=half, flags=True)
    out, out_lsb = np.full((1, 4, 64), 99, dtype=np.uint64), np.full((1, 4, 64), 99, dtype=np.uint64)
    flags = np.full((1, 4, 64), 99, dtype=np.uint8)
    available = {**arrays, **shared, "out": out, "out_lsb": out_lsb, "flags": flags}
    kernel.call(kernel.record(**{name: available[name] for name in kernel.operands}), 0, 1)
    accumulator = oracle.ACCUMULATOR[precision]
    target: Format = NARROWER[accumulator] if reduce else accumulator
    per_pe = {"d": 1, "f": 2, "g": 2, "h": 4}[precision]
    for cycle, mabs in enumerate(products.expected(op, half)):
        for mab, expected in enumerate(mabs):
            actual = results(precision, reduce, out, out_lsb, cycle, mab)
            check(actual, expected, products.addends[cycle][mab])
            nibbles = flag_nibbles([flag(target, result) for result in expected], per_pe)
            check(flags[0, cycle, 4 * mab : 4 * mab + 4].tolist(), nibbles)


@pytest.mark.parametrize("reduce", [False, True])
@pytest.mark.parametrize("op", ["fma", "mul"])
@pytest.mark.parametrize("precision", ["f", "g", "h"])
def test_products(precision: str, op: str, reduce: bool) -> None:
    for seed in range(4 if precision != "h" else 2):
        run_products(Products(precision, str(seed), reduce), op, "")


@pytest.mark.parametrize("reduce", [False, True])
@pytest.mark.parametrize("half", ["u", "d"])
@pytest.mark.parametrize("op", ["fma", "mul"])
def test_double_products(op: str, half: str, reduce: bool) -> None:
    for seed in range(4):
        run_products(Products("d", str(seed), reduce), op, half)


@pytest.mark.parametrize("reduce", [False, True])
def test_extended_half_products(reduce: bool) -> None:
    for seed in range(3):
        run_products(Products("h", str(seed), reduce, extended=True), "fma", "")


@pytest.mark.parametrize("precision", ["d", "f", "h"])
def test_transposed_read(precision: str) -> None:
    rng = random.Random(precision)
    bits, size = LANE_BITS[precision], ROWS[precision]
    bank = np.array([[rng.getrandbits(64) for _ in range(64)] for _ in range(32)], dtype=np.uint64).reshape(2, 16, 64)
    kernel = matrix_read(precision)
    step = 2 if precision == "h" else 1
    for first in range(0, size, step):
        columns = [(first + step * cycle) % size for cycle in range(4)]
        outputs = {name: np.zeros((2, 4, 64), dtype=np.uint64) for name in kernel.operands if name.startswith("out")}
        kernel(bank=bank, column=columns, **outputs)
        for number, name in enumerate(sorted(outputs)):
            for b, cycle, mab in np.ndindex(2, 4, MABS):
                rows = [
                    [e for long in bank[b, row, 4 * mab : 4 * mab + 4] for e in elements(int(long), bits)]
                    for row in range(size)
                ]
                expected = raw_row(precision, [row[columns[cycle] + number] for row in rows])
                assert outputs[name][b, cycle, 4 * mab : 4 * mab + 4].tolist() == expected


def test_combinations_that_do_not_exist() -> None:
    for op, precision, half in [("add", "g", ""), ("fma", "i", ""), ("fma", "d", ""), ("mul", "g", "u")]:
        with pytest.raises(ValueError):
            matrix_vector(op, precision, half=half)
    with pytest.raises(ValueError):
        matrix_read("i")
