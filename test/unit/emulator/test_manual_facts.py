"""Worked values of the manual, the tutorial and accepted programs that belong to no single unit."""

import struct

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.checker import Severity, check_text
from mnc.mncore_backend.emulator import Machine, debug_format
from mnc.mncore_backend.emulator.debug_format import format_element
from mnc.mncore_backend.emulator.numerics import alu_float
from mnc.mncore_backend.emulator.numerics.block_float import block_normalise
from mnc.mncore_backend.emulator.numerics.formats import DOUBLE, FORMATS, HALF, SINGLE
from mnc.mncore_backend.target import chip

from .harness import singles

# ---- formats (SDM 1.3, 4.2) ----


@pytest.mark.parametrize(
    ("form", "pattern", "number"),
    [
        (HALF, 0x3E00, 1.0),
        (HALF, 0x7DFF, (2 - 2.0**-9) * 2.0**31),
        (HALF, 0x0200, 2.0**-30),
        (SINGLE, 0x3F800000, 1.0),
        (SINGLE, 0x7F7FFFFF, float(np.finfo(np.float32).max)),
        (SINGLE, 0x00800000, 2.0**-126),
        (DOUBLE, 0x3FF0000000000000, 1.0),
        (DOUBLE, 0x0010000000000000, 2.0**-1022),
    ],
)
def test_bias_largest_and_smallest_number(form, pattern: int, number: float):
    assert debug_format.number(pattern, form.letter) == number


# Values that the tutorial's dumps show: C %g with six digits; subnormals are zero with their sign.
SHOWN = [
    ("d", 0x3FF0000000000000, "1"),
    ("d", 0xC02F000000000000, "-15.5"),
    ("d", 0x3FB999999999999A, "0.1"),
    ("d", 0x0000000000000019, "0"),
    ("d", 0x8000000000000019, "-0"),
    ("d", 0x8000000000000000, "-0"),
    ("f", 0x40310000 << 32, "2.76562, 0"),
    ("h", 0x07C0 << 48, "6.98492e-09, 0, 0, 0"),
    ("d", 0x7FF0000000000000, "inf"),
    ("d", 0xFFF0000000000000, "-inf"),
]


@pytest.mark.parametrize(("dtype", "long", "text"), SHOWN)
def test_numbers_in_dumps(dtype: str, long: int, text: str):
    assert format_element(long, dtype, False).startswith(f"({text}) (0x")


def test_dump_without_dtype():
    """SDM 3.4.3: the double, the four halves and the long, upper case and not padded."""
    assert format_element(0x0042004200000042, "", False) == (
        "(f:2.00268e-307, i:{{0x42,0x42},{0x0,0x42}}, v:0x42004200000042)"
    )
    assert "0xE" in format_element(14, "", False)
    (small,) = struct.unpack(">Q", struct.pack(">d", 3.5127e-303))
    assert format_element(small, "", False).startswith("(f:3.5127e-303,")


# ---- masks over several steps ----


def test_flags_of_unreduced_halves_belong_to_a_2_long_mask():
    """Accepted pair: hvadd with omr1, then a 2-long copy under llimr1; one flag per single, sign bit 0."""
    machine = Machine("vendor")
    x = np.array([1, -5, -2, 3], np.float32)
    machine.poke_words(Memory.LM0, 0, x.view(np.uint32))
    machine.poke_words(Memory.GRF0, 0, np.arange(1, 5, dtype=np.uint32))
    machine.run("zero $nowrite\nhvadd $llm0vr $aluf $omr1\nlpassa $llr0v $lln0v/$llimr1")
    assert machine.masks()[0, 0, 0, 0, 1].tolist()[0] == 0b1001
    assert machine.peek_words(Memory.LM1, 0, 4)[0, 0, 0, 0].tolist() == [1, 0, 0, 4]


def test_a_flushed_result_feeds_a_reduction():
    """Accepted program: lpassa/$imr1 to the latch, then l1bmr of $aluf sees the zeros."""
    machine = Machine("vendor")
    machine.poke(Memory.GRF1, 1, [3])
    machine.masks()[:, :, :8, :, 1, :] = 15
    machine.run("lpassa/$imr1 $ls2 $nowrite\nl1bmrliadd $aluf $lb0")
    assert machine.l1bm()[4, 4, :4].tolist() == [24] * 4


def test_pattern_1000_is_entry_24():
    machine = Machine("vendor")
    machine.run("d get $omr24n0c0b0m0p0 1")
    assert [line.partition("Mask")[2].split(" ")[0] for line in machine.dump] == ["{15}", "{0}", "{0}", "{0}"]


# ---- halves from singles ----


def test_narrowed_inputs_of_block_float_and_matrix_write():
    """Attested: hbfn/9 $llm0vr $lr0v and hmwrite $llm0vr $ly0, one row per cycle."""
    machine = Machine("vendor")
    numbers = np.arange(1, 65, dtype=np.float32).reshape(4, 4, 4)  # [PE, cycle, element]
    machine.poke_words(Memory.LM0, 0, numbers.reshape(4, 16).view(np.uint32))
    machine.run("hbfn/9 $llm0vr $lr0v\nhmwrite $llm0vr $ly0\nhmread $lly0 $lls0v")
    for cycle in range(4):
        halves = [int(x) for x in _halves(machine.peek(Memory.GRF0, cycle, 1)[0, 0, 0, :, 0])]
        assert halves == block_normalise("h", [_half(float(n)) for n in numbers[:, cycle].reshape(-1)], 9)
    columns = _halves(machine.peek(Memory.GRF1, 0, 1)[0, 0, 0, :1, 0])
    assert columns == [_half(float(numbers[0, row, 0])) for row in range(4)]


def _half(number: float) -> int:
    single = int(np.float32(number).view(np.uint32))
    return ((single >> 14) - ((127 - 31) << 9)) & 0xFFFF


def _halves(longs: np.ndarray) -> list[int]:
    return [int(long) >> shift & 0xFFFF for long in longs for shift in (48, 32, 16, 0)]


# ---- common tricks of programs ----


def test_integers_become_singles_through_the_exponent_of_two_to_the_23():
    """bits = 0x4b000000 | n, minus 8388608.0, exact for n below 2**23."""
    numbers = np.array([0, 1, 2, 12345, 8388607, 4194305, 65536, 99], np.uint32)
    machine = Machine("vendor")
    machine.poke_words(Memory.LM0, 0, numbers)
    constants = 'imm f"8388608" $ln0v\nimm ui"0x4b000000" $lr0v\nnop/2\n'
    machine.run(constants + "ior $lm0v $lr0v $ls0v\nnop\nfvadd $ls0v -$ln0v $lr8v")
    assert singles(machine, Memory.GRF0, 8, 8)[0, 0, 0, 0].tolist() == numbers.tolist()


def test_8_newton_steps_from_the_seed_of_rsqrt():
    """y = y (1.5 - 0.5 x y y) after 0 to 4 steps from a seed that is off by -2.6 to +3.1 %."""
    x = np.exp2(np.linspace(-3, 5, 4001))
    seeds = [alu_float.floating("rsqrt", DOUBLE, int(bits), 0, False)[0] for bits in x.view(np.uint64)]
    y = np.array(seeds, np.uint64).view(np.float64)
    for bound in (3.1e-2, 1.5e-3, 3.2e-6, 1.6e-11, 4.5e-16):  # the last within two units of the comparison itself
        assert np.abs(y * np.sqrt(x) - 1).max() <= bound
        y = y * (1.5 - 0.5 * x * y * y)


@pytest.mark.parametrize(("precision", "bits", "count"), [("h", 9, 16), ("g", 18, 8), ("f", 23, 4)])
def test_integers_up_to_the_mantissa_are_exact(precision: str, bits: int, count: int):
    """Up to 2**9 - 1, 2**18 - 1 and 2**23 - 1 in magnitude within a block; one more bit is not."""
    form = FORMATS["h" if precision == "h" else "f"]
    largest = (1 << bits) - 1

    def pattern(number: int) -> int:
        power = number.bit_length() - 1
        return form.pack(0, form.bias + power, (number << form.mantissa_bits >> power) - (1 << form.mantissa_bits))

    numbers = [largest - 1 - k for k in range(count - 1)] + [1 << (bits - 1)]
    block = block_normalise(precision, [pattern(n) for n in numbers])
    scale = 2.0 ** (bits - form.mantissa_bits)
    assert [(x & ((1 << form.mantissa_bits) - 1)) * scale for x in block] == numbers
    odd = block_normalise(precision, [pattern(2 * largest - 3)] * count)
    assert (odd[0] & ((1 << form.mantissa_bits) - 1)) * scale != largest - 1.5


# ---- what may share a step ----


def test_the_largest_legal_mix_of_a_step_is_accepted():
    """L2BM, DAR write, turnaround, L1BM, product, matrix write, ALU, wait and noforward in one line."""
    lines = (
        "mvp/n64i0a $p0@0 $d0@0\nzero $nowrite; l1bmm@0 $lm0v $lbi\n"
        "l2bmd $lc0 $lb0; l2bmdarw; l1bmm $lbi $lr0v; l1bmm@1 $lm0v $lb512; gmmul $lx $ls0v $nowrite; "
        "gmwrite $ls0v $ly0; lpassa $aluf $ln0v; wait i0a; noforward"
    )
    assert [f.render("x") for f in check_text(lines) if f.severity is Severity.ERROR] == []


def test_bandwidth_per_step():
    """Long words per step: l1bmd 256 per L1B, l1bmm 2-long 32, l1bmp 2-long 8; l2bmd 256 per L2B and 32 per L1B."""
    families, upper = chip().l1bm_families, chip().l2bm_families
    assert 4 * families["d"].rate == 256
    assert (4 * (families["m"].rate_two_long or 0), 4 * (families["p"].rate_two_long or 0)) == (32, 8)
    assert (4 * upper["l2bmd"].l2bm_rate, 4 * upper["l2bmd"].l1bm_rate) == (256, 32)
    assert 4 * upper["l2bmb"].l2bm_rate == 64
    linear = next(form for form in chip().mv_forms if form.identifier == "P10")
    assert 4 * linear.source_rate == 64


# ---- accuracy of long dot products ----

ACCURACY = {"f": (1.9e-7, 1.3e-6), "g": (4.3e-6, 2e-5), "h": (2.8e-3, 1.3e-2)}  # N(0,1), K = 256: rms, largest


@pytest.mark.parametrize("precision", ACCURACY)
def test_error_of_a_dot_product_of_256(precision: str):
    """Chained products on all MABs against float64; published simulation, relative to the rms of the result."""
    rows, block = (16, 16) if precision == "h" else (8, 4 if precision == "f" else 8)
    rng = np.random.default_rng(1)
    a = rng.standard_normal((128, rows, 256)).astype(np.float32)
    b = rng.standard_normal((128, 256)).astype(np.float32)
    result = _dot_products(precision, a, b, rows, block)
    exact = np.einsum("mrk,mk->mr", a.astype(np.float64), b.astype(np.float64))
    error = (result - exact) / np.sqrt((exact**2).mean())
    rms, largest = ACCURACY[precision]
    assert 0.8 * rms < np.sqrt((error**2).mean()) < 1.25 * rms
    assert np.abs(error).max() < 1.6 * largest


def _dot_products(precision: str, a: np.ndarray, b: np.ndarray, rows: int, block: int) -> np.ndarray:
    """y = A b on 128 MABs, one block of k per instruction, the sum in $mauf."""
    machine = Machine("vendor")
    mabs = (slice(0, 1), slice(0, 8))  # L2B 0: 8 L1Bs of 16 MABs
    kernel = "mmul"
    convert = "hbfn/9" if precision == "h" else f"{precision}bfn"
    width, suffix = ("ll", "r") if precision == "h" else ("l", "")
    per_pe = 4 if precision == "h" else 2
    for first in range(0, 256, block):
        part = np.zeros((128, rows, 4, per_pe), np.float32)
        vector = np.zeros((128, 4, per_pe), np.float32)
        if precision == "f":  # column 2 j meets element j, which is the MSB word of PE j
            part[..., 0], vector[..., 0] = a[:, :, first : first + 4], b[:, first : first + 4]
        else:
            part[:] = a[:, :, first : first + block].reshape(128, rows, 4, per_pe)
            vector[:] = b[:, first : first + block].reshape(128, 4, per_pe)
        local = part.transpose(0, 2, 1, 3).reshape(1, 8, 16, 4, rows * per_pe)
        _poke(machine, Memory.LM0, mabs, local)
        _poke(machine, Memory.LM1, mabs, vector.reshape(1, 8, 16, 4, per_pe))
        lines = ["lpassa $lls0 $t" if first else "zero $t"]
        for i in range(rows // 4):
            lines += [f"{convert} ${width}m{4 * per_pe * i}v{suffix} $nowrite", f"{precision}mwrite $aluf $lx{4 * i}"]
        addend = "" if kernel == "mmul" else " $t"
        lines += [f"{convert} ${width}n0{suffix} $nowrite", f"{precision}{kernel} $lx $aluf{addend} $lls0"]
        machine.run("\n".join(lines))
        kernel = "mfma"
    words = machine.peek_words(Memory.GRF1, 0, per_pe)[0].reshape(128, 4 * per_pe)
    return words.view(np.float32)[:, :rows].astype(np.float64)


def _poke(machine: Machine, memory: Memory, mabs: tuple[slice, slice], numbers: np.ndarray) -> None:
    words = np.ascontiguousarray(numbers).view(np.uint32).astype(np.uint64)
    longs = words[..., 0::2] << np.uint64(32) | words[..., 1::2]
    machine.longs(memory)[mabs][..., : longs.shape[-1]] = longs
