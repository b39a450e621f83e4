"""Worked facts of the manual and the vendor's tutorial about ALU, MAU and matrix registers (SDM 3.6.9 to 3.6.12)."""

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import Machine

from .harness import pattern, random_longs, singles

LONG = (1 << 64) - 1


def binary(text: str, x: int, y: int) -> int:
    """Long 0 of PE 0 after one operation on long patterns x ($lr0) and y ($ls0)."""
    machine = Machine("vendor")
    machine.poke(Memory.GRF0, 0, [x])
    machine.poke(Memory.GRF1, 0, [y])
    machine.run(f"{text} $lm0")
    return int(machine.lm(0)[2, 3, 4, 1, 0])


CASES = [
    ("linc $lr0", 0x42, 0, 0x43),
    ("ladd $lr0 $ls0", 0x43, 0x44, 0x87),
    ("frelu $lr0 $ls0", 0xBF800000_3F800000, 0x40A00000_40A00000, 0x80000000_40A00000),
    ("llsl $lr0 $ls0", 1, 0x0000000300000003, 8),
    ("sbsl $lr0 $ls0", 0x1234_0001_8000_00FF, 0x41F8_41F8_41F8_41F8, 0x3412_0100_0080_FF00),
    ("sbsr $lr0 $ls0", 0x1234_0001_8000_00FF, 0x0004_0004_0004_0014, 0x4123_1000_0800_F00F),
    ("llsl $lr0 $ls0", 5, 64, 0),
    ("llsl $lr0 $ls0", 5, 128, 5),
    ("llsr $lr0 $ls0", 1 << 63, 64, LONG),
    ("ullsr $lr0 $ls0", 1 << 63, 64, 0),
    ("llsr $lr0 $ls0", 1 << 63, 4, 0xF800000000000000),
    ("ullsr $lr0 $ls0", 1 << 63, 4, 0x0800000000000000),
    ("ilsr $lr0 $ls0", 0x80000000_40000000, 0x0000001F_0000001E, 0xFFFFFFFF_00000001),
    ("lnot $lr0", 0x0F, 0, LONG ^ 0x0F),
    ("llnot $lr0", 0x0F, 0, 0),
    ("llnot $lr0", 0, 0, 1),
    ("slnot $lr0", 0x0001_0000_0000_0005, 0, 0x0000_0001_0001_0000),
    ("lpackbit $lr0 $ls0", 0x21, 0, 0x42),
    ("lpackbit $lr0 $ls0", 0x21, 1 << 63, 0x43),
    ("iadd $lr0 $ls0", 0x7FFFFFFF_FFFFFFFF, 0x00000001_00000001, 0x80000000_00000000),
    ("ldec $lr0", 0, 0, LONG),
    ("hilrelud $msb1 $ls0", 0, 0x3E00_4000_BE00_0000, 0x4000_4200_C000_0000),
    ("flrelud $lr0 $ls0", 0xBF800000_3F800000, 0x40000000_40000000, 0x3F800000_40000000),
    ("flreluo $lr0 $ls0", 0xBF800000_3F800000, 0x40000000_40000000, 0x3E800000_40000000),
    ("ffloor $lr0", 0xBF000000_40700000, 0, 0xBF800000_40400000),
    ("ffloor $lr0", 0x3F000000_FF800001, 0, 0x00000000_FF800001),
    ("fftoi $lr0", 0xC0700000_4F000000, 0, 0xFFFFFFFD_7FFFFFFF),
    ("ufftoi $lr0", 0xC0700000_4F800000, 0, 0x00000003_FFFFFFFF),
    ("fmax $lr0 $ls0", 0x80000000_3F800000, 0x00000000_40000000, 0x80000000_40000000),
    ("fmin $lr0 $ls0", 0x80000000_3F800000, 0x00000000_40000000, 0x80000000_3F800000),
    ("imax $lr0 $ls0", 0xFFFFFFFF_00000001, 0x00000001_00000000, 0x00000001_00000001),
    ("uimax $lr0 $ls0", 0xFFFFFFFF_00000001, 0x00000001_00000000, 0xFFFFFFFF_00000001),
]


@pytest.mark.parametrize(("text", "x", "y", "expected"), CASES)
def test_alu(text: str, x: int, y: int, expected: int):
    """SDM 3.6.12 and its worked values."""
    assert f"{binary(text, x, y):016x}" == f"{expected:016x}"


def test_rotation_between_pes():
    """msl gives PE0 the long of PE3, msr gives PE3 that of PE0; the LSB long is the PE's own."""
    machine = Machine("strict")
    data = random_longs((8, 8, 16, 4, 8))
    machine.poke(Memory.LM0, 0, data)
    machine.run("msl $llm0v $llr0v\nmsr $llm0v $lls0v")
    left, right = machine.peek(Memory.GRF0, 0, 8), machine.peek(Memory.GRF1, 0, 8)
    for p in range(4):
        assert np.array_equal(left[:, :, :, p, ::2], data[:, :, :, (p - 1) % 4, ::2])
        assert np.array_equal(right[:, :, :, p, ::2], data[:, :, :, (p + 1) % 4, ::2])
    assert np.array_equal(left[..., 1::2], data[..., 1::2])


def place_doubles(machine: Machine, memory: Memory, address: int, rows: list[list[float]]) -> None:
    """rows[c][p] to long address + c of PE p of every MAB."""
    for c, row in enumerate(rows):
        machine.poke(memory, address + c, np.array(row, np.float64).view(np.uint64).reshape(4, 1))


def doubles(machine: Machine, memory: Memory, address: int) -> list[float]:
    """Long `address` of the four PEs of a MAB as doubles."""
    return machine.longs(memory)[6, 2, 9, :, address].copy().view(np.float64).tolist()


def test_double_products_run_in_two_halves():
    """Tutorial: u multiplies in PE 0 and 1, d in PE 2 and 3; the pair passes $mauf."""
    machine = Machine("strict")
    place_doubles(machine, Memory.LM0, 0, [[1, 2, 3, 4]])
    place_doubles(machine, Memory.LM1, 0, [[1, 3, 5, 7]])
    machine.run("dvmulu $lm0 $ln0 $lr0\ndvfmad $lm0 $ln0 $mauf $ls0")
    assert doubles(machine, Memory.GRF0, 0) == [1, 6, 0, 0]
    assert doubles(machine, Memory.GRF1, 0) == [1, 6, 15, 28]


X = [(1, 5), (2, 6), (3, 7), (4, 8)]
Y = [(1, 9), (3, 11), (5, 13), (7, 15)]


def vector_machine() -> Machine:
    """The tutorial's x in $lm0, y in $ln0, ones in $lr0."""
    machine = Machine("strict")
    for memory, rows in ((Memory.LM0, X), (Memory.LM1, Y), (Memory.GRF0, [(1, 1)] * 4)):
        machine.poke_words(memory, 0, np.array(rows, np.float32).view(np.uint32).reshape(4, 2))
    return machine


def test_single_vector_products():
    machine = vector_machine()
    machine.run("fvmul $lm0 $ln0 $ls0\nfvfma $lm0 $ln0 $lr0 $ls2\nfvfma $lm0 $ln0 -$lr0 $ls4")
    expected = np.array([[a * c, b * d] for (a, b), (c, d) in zip(X, Y, strict=True)])
    for address, offset in ((0, 0), (2, 1), (4, -1)):
        assert np.array_equal(singles(machine, Memory.GRF1, address, 2)[1, 1, 1], expected + offset)


def test_vpassa_normalises():
    """Vendor output: 0x00000042 and 0x80000000 become +0; ALU passa copies them."""
    assert binary("fvpassa $lr0", 0x00000042_80000000, 0) == 0
    assert binary("lpassa $lr0", 0x00000042_80000000, 0) == 0x00000042_80000000


def test_half_vector_operations():
    """Tutorial: halves 1, 5, 9, 13 widen to four singles; an addend without e is read as singles."""
    machine = Machine("strict")
    machine.poke(Memory.LM0, 0, [0x3E00428044404540])
    machine.poke(Memory.LM1, 0, [0x3E00444046204720])
    machine.poke(Memory.GRF0, 0, [0x3E003E003E003E00])
    machine.run(
        "hvpassa $lm0 $lls0\nhvfma $lm0 $ln0 $lr0 $lls4\nhvfma $lm0 $ln0 $lr0e $lls8\n"
        "hvaddr $lm0 $lr0e $ls12\nhvmulr $lm0 $ln0 $ls14"
    )
    assert singles(machine, Memory.GRF1, 0, 4)[0, 0, 0, 0].tolist() == [1, 5, 9, 13]
    wrong = singles(machine, Memory.GRF1, 4, 4)[0, 0, 0, 0]
    assert [f"{w:08x}" for w in wrong.view(np.uint32)] == ["3f9007c0", "4234803e", "43190000", "43a28000"]
    assert singles(machine, Memory.GRF1, 8, 4)[0, 0, 0, 0].tolist() == [2, 46, 154, 326]
    assert f"{int(machine.grf(1)[0, 0, 0, 0, 6]):016x}" == "4000430044804580"
    assert f"{int(machine.grf(1)[0, 0, 0, 0, 7]):016x}" == "3e0048d04c644e8a"


def test_narrowing_inputs():
    """r reads a 2-long of four singles and rounds it to four halves."""
    machine = Machine("strict")
    machine.poke_words(Memory.LM0, 0, np.array([1, 5, 9, 13], np.float32).view(np.uint32))
    machine.run("hpassa $llm0r $llr0\nhvpassa $llm0r $lls0\nhvaddr $llm0r $llm0 $ls4")
    assert machine.peek(Memory.GRF0, 0, 2)[0, 0, 0, 0].tolist() == [0x3E00428044404540, 0]
    assert singles(machine, Memory.GRF1, 0, 4)[0, 0, 0, 0].tolist() == [1, 5, 9, 13]
    assert f"{int(machine.grf(1)[0, 0, 0, 0, 2]):016x}" == "4000448046404740"


BANK = [[-0.0, 0, 2, -1], [0, 4, -1, -4], [-1, 1, -1, -1], [-1, -1, 1, -1]]


def test_double_matrix_vector():
    """Tutorial: u computes rows 0 and 1, the pair all four."""
    machine = Machine("strict")
    place_doubles(machine, Memory.LM0, 0, BANK)
    place_doubles(machine, Memory.LM1, 0, [[-0.0, 1, -1, -4]])
    machine.run(
        "dbfn $lm0v $lr0v\ndbfn $ln0 $ls0\nnop/2\ndmwrite $lr0v $lx0\n"
        "dmmulu $lx $ls0 $lr16\ndmfmad $lx $ls0 $mauf $lr18"
    )
    assert doubles(machine, Memory.GRF0, 8) == [2, 21, 0, 0]
    assert doubles(machine, Memory.GRF0, 9) == [2, 21, 6, 2]


def test_published_double_product():
    """4x4 double product of a published test: result row r, PE j = sum_k A[j][k] * B[r][k]."""
    b = [[-0.0, 1, -1, -4], [1, -1, 3, 1], [1, 1, 1, -3], [-1, 1, 1, -1]]
    machine = Machine("strict")
    place_doubles(machine, Memory.LM0, 0, BANK)
    place_doubles(machine, Memory.LM1, 0, b)
    machine.run(
        "dbfn $lm0v $lr0v\ndbfn $ln0v $ls0v\nnop\ndmwrite $lr0v $ly0\n"
        "dmmulu $ly $ls0v $nowrite\ndmfmad $ly $ls0v $mauf $lr16v"
    )
    expected = [[2, 21, 6, 2], [5, -11, -6, 2], [5, 15, 2, 2], [3, 7, 2, 2]]
    assert [doubles(machine, Memory.GRF0, 8 + r) for r in range(4)] == expected


def identity_machine() -> Machine:
    """Bank rows of an 8x8 identity with A[0][7] = 2 in $lm0v and $lm8v, vector (1..8) in $ln0."""
    machine = Machine("strict")
    a = np.eye(8, dtype=np.float32)
    a[0, 7] = 2
    machine.poke_words(Memory.LM0, 0, a.reshape(8, 4, 2).transpose(1, 0, 2).reshape(4, 16).view(np.uint32))
    machine.poke_words(Memory.LM1, 0, np.arange(1, 9).astype(np.float32).reshape(4, 2).view(np.uint32))
    machine.poke_words(Memory.LM1, 2, np.array([1, 0, 3, 0, 5, 0, 7, 0], np.float32).reshape(4, 2).view(np.uint32))
    return machine


def test_pseudo_single_and_single_matrix_vector():
    """g uses every column; f meets column 2 j with vector element j, so odd columns are not used (OPEN-30)."""
    machine = identity_machine()
    for precision in "gf":
        machine.run(
            f"{precision}bfn $lm0v $lr0v\n{precision}bfn $lm8v $lr8v\n{precision}bfn $ln0 $ls0\nfbfn $ln2 $ls2\nnop/2\n"
            f"{precision}mwrite $lr0v $lx0\n{precision}mwrite $lr8v $lx4"
        )
        machine.run("gmmul $lx $ls0 $lr32\ngmfma $lx $ls0 $mauf $lr34" if precision == "g" else "fmmul $lx $s2 $lr36")
    assert singles(machine, Memory.GRF0, 32, 2)[7, 1, 3].tolist() == [[17, 2], [3, 4], [5, 6], [7, 8]]
    assert singles(machine, Memory.GRF0, 34, 2)[7, 1, 3].tolist() == [[34, 4], [6, 8], [10, 12], [14, 16]]
    assert singles(machine, Memory.GRF0, 36, 2)[7, 1, 3].tolist() == [[1, 0], [3, 0], [5, 0], [7, 0]]


def test_half_matrix_vector():
    machine = Machine("strict")
    a = np.eye(16, dtype=np.float32)
    a[0, 15] = 2
    machine.poke_words(Memory.LM0, 0, a.reshape(16, 4, 4).transpose(1, 0, 2).reshape(4, 64).view(np.uint32))
    machine.poke_words(Memory.LM1, 0, np.arange(1, 17).astype(np.float32).reshape(4, 4).view(np.uint32))
    lines = [f"hbfn/9 $llm{16 * i}vr $lr{8 * i}v" for i in range(4)] + ["hbfn/9 $lln0r $ls0", "nop/2"]
    lines += [f"hmwrite $lr{8 * i}v $lx{4 * i}" for i in range(4)] + ["hmmul $lx $ls0 $llr64\nhmmulr $lx $ls0 $lr68"]
    machine.run("\n".join(lines))
    expected = [[33, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]]
    assert singles(machine, Memory.GRF0, 64, 4)[0, 0, 15].tolist() == expected
    assert int(machine.grf(0)[0, 0, 15, 1, 34]) == 0x4280430043804400


def test_transposed_read_of_pseudo_single():
    """Y[r][j] = 10 r + j: cycle 0 gives PE0 (0, 10), PE1 (20, 30), ...; cycle 1 (1, 11), (21, 31), ..."""
    machine = Machine("strict")
    r, p, w = np.indices((8, 4, 2))
    machine.poke_words(Memory.LM0, 0, (10 * r + 2 * p + w).transpose(1, 0, 2).reshape(4, 16).astype(np.uint32))
    machine.run("gmwrite $lm0v $ly0\ngmwrite $lm8v $ly4\ngmread $ly0 $lr0v\ngmread $ly6 $ls0v")
    got = machine.peek_words(Memory.GRF0, 0, 8)[3, 3, 3]
    assert got[0].tolist() == [0, 10, 1, 11, 2, 12, 3, 13]
    assert got[1, :4].tolist() == [20, 30, 21, 31]
    assert machine.peek_words(Memory.GRF1, 0, 8)[3, 3, 3, 0].tolist() == [6, 16, 7, 17, 0, 10, 1, 11]


@pytest.mark.parametrize("two_long", [False, True])
def test_matrix_write_and_read_of_halves(two_long: bool):
    """SDM 3.6.10.3, 3.6.11.3: any bit pattern is copied, rows and columns wrap."""
    machine = Machine("strict")
    data = random_longs((8, 8, 16, 4, 16))
    machine.poke(Memory.LM0, 0, data)
    if two_long:
        machine.run("hmwrite $llm0v $llx0\nhmwrite $llm16v $llx8\nhmread $llx14 $llr0v")
    else:
        machine.run(
            "\n".join(f"hmwrite $lm{8 * i}v $lx{(4 * i + 4) % 16}" for i in range(4)) + "\nhmread $llx14 $llr0v"
        )
    halves = data.astype(">u8").view(">u2").reshape(8, 8, 16, 4, 16, 4)
    rows = halves.transpose(0, 1, 2, 4, 3, 5).reshape(8, 8, 16, 16, 16)
    if not two_long:
        rows = np.roll(rows, 4, axis=3)
    got = machine.peek(Memory.GRF0, 0, 8).astype(">u8").view(">u2").reshape(8, 8, 16, 4, 4, 2, 4)
    for p, c, h, i in np.ndindex(4, 4, 2, 4):
        assert np.array_equal(got[:, :, :, p, c, h, i], rows[:, :, :, 4 * p + i, (14 + 2 * c + h) % 16])


def test_transposed_read_of_doubles_wraps():
    machine = Machine("strict")
    data = random_longs((8, 8, 16, 4, 4))
    machine.poke(Memory.LM0, 0, data)
    machine.run("dmwrite $lm0v $lx2\ndmread $lx1 $lr0v")
    rows = np.roll(data.transpose(0, 1, 2, 4, 3), 2, axis=3)
    got = machine.peek(Memory.GRF0, 0, 4)
    for p, c in np.ndindex(4, 4):
        assert np.array_equal(got[:, :, :, p, c], rows[:, :, :, p, (1 + c) % 4])


def test_parallel_write_and_product_use_the_state_before_the_step():
    """Bank x is written while y multiplies; the next step may use x."""
    machine = identity_machine()
    machine.run("gbfn $lm0v $lr0v\ngbfn $lm8v $lr8v\ngbfn $ln0 $ls0\nnop/2\ngmwrite $lr0v $ly0\ngmwrite $lr8v $ly4")
    machine.run("gmwrite $lr8v $lx4\ngmmul $ly $ls0 $lm256; gmwrite $lr0v $lx0\ngmmul $lx $ls0 $lm258")
    for address in (256, 258):
        assert singles(machine, Memory.LM0, address, 2)[7, 1, 3].tolist() == [[17, 2], [3, 4], [5, 6], [7, 8]]


@pytest.mark.parametrize("opcode", ["dbfn", "fbfn", "gbfn"])
def test_block_float_of_one_long_passes_the_lsb_long(opcode: str):
    """Summary 7.8: operations on the MSB long copy D2:D3 of their first input."""
    machine = Machine("vendor")
    longs = pattern(Memory.LM0, machine, 2)
    machine.run(f"{opcode} $llm0 $lls0")
    assert np.array_equal(machine.peek(Memory.GRF1, 1, 1), longs[..., 1:])
