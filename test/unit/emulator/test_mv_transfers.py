"""Address mapping of every MV form against the formulas of SDM 3.5.7, written out per element."""

import re

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import EmulationError, Machine

from .harness import random_longs

A, B, N = 192, 320, 256


class Setup:
    """A machine whose DRAM, PDM and L2BM hold known values."""

    def __init__(self) -> None:
        self.machine = Machine("strict")
        self.dram = random_longs((4, 4096), 1)
        self.pdm = random_longs((4, 4096), 2)
        self.l2bm = random_longs((8, 4096), 3)
        for group in range(4):
            self.machine.write_dram(group, 0, self.dram[group])
            self.machine.write_pdm(group, 0, self.pdm[group])
        self.machine.poke(Memory.L2BM, 0, self.l2bm)

    def run(self, text: str):
        """(DRAM, PDM, L2BM) after the transfer."""
        self.machine.run(text)
        dram = np.stack([self.machine.read_dram(g, 0, 4096) for g in range(4)])
        pdm = np.stack([self.machine.read_pdm(g, 0, 4096) for g in range(4)])
        return dram, pdm, self.machine.l2bm()[:, :4096].copy()


@pytest.fixture
def setup() -> Setup:
    return Setup()


SINGLES = [(s, d, g, h) for s, d in ("pd", "dp", "pc", "cp", "dc", "cd", "pp") for g, h in ((0, 0), (1, 3))]


@pytest.mark.parametrize(("s", "d", "g", "h"), SINGLES)
def test_p1_to_p7(setup: Setup, s: str, d: str, g: int, h: int):
    names = {"p": "$p{}@{}", "d": "$d{}@{}", "c": "$lc{}@{}.1"}
    before = {"p": setup.pdm, "d": setup.dram, "c": setup.l2bm[1::2]}[s]
    source, destination = names[s].format(A, g), names[d].format(B, h)
    dram, pdm, l2bm = setup.run(f"mvp/n{N} {source} {destination}")
    after = {"p": pdm, "d": dram, "c": l2bm[1::2]}[d]
    untouched = {"p": setup.pdm, "d": setup.dram, "c": setup.l2bm[1::2]}[d]
    for group in range(4):
        expected = untouched[group].copy()
        if group == h:
            expected[B : B + N] = before[g, A : A + N]
        assert np.array_equal(after[group], expected)


@pytest.mark.parametrize("l2b", [0, 1])
def test_p8_to_p11(l2b: int):
    for upper in "pd":
        setup = Setup()
        dram, pdm, l2bm = setup.run(
            f"mvp/n{N} ${upper}{A} $lc{B}@.{l2b}\nmvp/n{N}i01 $lc{A}@.{1 - l2b} ${upper}{1024}\nnop; wait i01"
        )
        source = setup.pdm if upper == "p" else setup.dram
        after = pdm if upper == "p" else dram
        for g in range(4):
            assert np.array_equal(l2bm[2 * g + l2b, B : B + N], source[g, A : A + N])
            assert np.array_equal(after[g, 1024 : 1024 + N], setup.l2bm[2 * g + 1 - l2b, A : A + N])


def test_b1_and_b3(setup: Setup):
    _, _, l2bm = setup.run(f"mvb/n{N} $p{A}@2 $lc{B}\nmvb2/n{N} $d{A} $lc2048")
    for L in range(8):
        assert np.array_equal(l2bm[L, B : B + N], setup.pdm[2, A : A + N])
        assert np.array_equal(l2bm[L, 2048 : 2048 + N], setup.dram[L // 2, A : A + N])


def test_b2_and_b4(setup: Setup):
    _, _, l2bm = setup.run(f"mvb/n{N} $d{A} $lc{B}\nmvb4/n{N} $d{A} $lc2048")
    for L, u, s, j in np.ndindex(8, N // 64, 4, 16):
        at = 64 * u + 16 * s + j
        assert l2bm[L, B + at] == setup.dram[s, A + 16 * u + j]
        assert l2bm[L, 2048 + at] == setup.dram[s, A + 32 * u + 16 * (L % 2) + j]


def test_r1_to_r4(setup: Setup):
    dram, pdm, _ = setup.run(
        f"mvrliadd/n{N} $lc{A} $p{B}@3\nmvrlbor/n{N} $lc{A} $d{B}\n"
        f"mvr2lband/n{N} $lc{A} $d1024\nmvr4liadd/n{N} $lc{A} $d2048"
    )
    c = setup.l2bm
    assert np.array_equal(pdm[3, B : B + N], c[:, A : A + N].sum(axis=0, dtype=np.uint64))
    for u, s, j in np.ndindex(N // 64, 4, 16):
        at = A + 64 * u + 16 * s + j
        assert dram[s, B + 16 * u + j] == np.bitwise_or.reduce(c[:, at])
        for low in range(2):
            assert dram[s, 2048 + 32 * u + 16 * low + j] == c[low::2, at].sum(dtype=np.uint64)
    for g in range(4):
        assert np.array_equal(dram[g, 1024 : 1024 + N], c[2 * g, A : A + N] & c[2 * g + 1, A : A + N])


def test_d1_and_d2(setup: Setup):
    _, pdm, l2bm = setup.run(f"mvd/n{N} $p{A}@1 $lc{B}\nmvd/n{N} $lc1024 $p{B}@2")
    for q, L, r in np.ndindex(N // 16, 8, 16):
        assert l2bm[L, B + 16 * q + r] == setup.pdm[1, A + 128 * q + 16 * L + r]
        assert pdm[2, B + 128 * q + 16 * L + r] == setup.l2bm[L, 1024 + 16 * q + r]


def test_d3_and_d4(setup: Setup):
    """OPEN-36: n counts the PDM side."""
    dram, pdm, _ = setup.run(f"mvd/n{N} $p{A}@1 $d{B}\nmvd/n{N} $d1024 $p{B}@2")
    for q, s, r in np.ndindex(N // 64, 4, 16):
        assert dram[s, B + 16 * q + r] == setup.pdm[1, A + 64 * q + 16 * s + r]
        assert pdm[2, B + 64 * q + 16 * s + r] == setup.dram[s, 1024 + 16 * q + r]
    assert np.array_equal(dram[0, B + N // 4 :], setup.dram[0, B + N // 4 :])


def test_equal_vectors_reduce_to_8_2_and_4_times():
    """Measured: R1, R3 and R4 of eight equal vectors."""
    machine = Machine("strict")
    values = np.arange(1, 65).astype(np.float64)
    machine.poke(Memory.L2BM, 0, values.view(np.uint64))
    machine.run("mvrdfadd/n64 $lc0 $p0@0\nmvr2dfadd/n64 $lc0 $d0\nmvr4dfadd/n64 $lc0 $d1024")
    assert np.array_equal(machine.read_pdm(0, 0, 64).view(np.float64), 8 * values)
    assert np.array_equal(machine.read_dram(3, 0, 64).view(np.float64), 2 * values)
    assert np.array_equal(machine.read_dram(1, 1024, 16).view(np.float64), 4 * values[16:32])


def test_count_up_arrangement():
    """mvd, l2bmd and l1bmd spread 16384 long words over all PEs: the bit fields of SDM 3.5.8 and 3.6.7, composed."""
    machine = Machine("strict")
    machine.write_pdm(0, 0, np.arange(16384))
    lines = ["mvd/n2048i01 $p0@0 $lc0", "nop; wait i01"]
    lines += [f"l2bmd $lc{256 * k} $lb{32 * k}" for k in range(8)]
    machine.run("\n".join([*lines, "nop/3", "l1bmd $lb0 $lm0v"]))
    rows = {0: (0, 0, 0, 0, 0), 1: (0, 0, 0, 0, 1), 8: (0, 1, 0, 0, 0), 15: (0, 1, 0, 1, 3), 16: (1, 0, 0, 0, 0)}
    rows |= {112: (7, 0, 0, 0, 0), 128: (0, 2, 0, 0, 0), 512: (0, 0, 0, 2, 0), 2048: (0, 0, 0, 8, 0)}
    rows |= {4096: (0, 0, 1, 0, 0), 16383: (7, 7, 3, 15, 3)}
    for i, (L, b, c, m, p) in rows.items():
        assert int(machine.lm(0)[L, b, m, p, c]) == i
    L, b, m, p, c = np.indices((8, 8, 16, 4, 4))
    y = 64 * c + 4 * m + p
    x = 256 * (y >> 5) + 64 * ((y >> 3) & 3) + 8 * b + (y & 7)
    assert np.array_equal(machine.peek(Memory.LM0, 0, 4), (128 * (x >> 4) + 16 * L + (x & 15)).astype(np.uint64))


def test_matrix_of_256_by_16_in_the_default_layout():
    """Published layout: element (r, col) after two parallel mvp, l2bmd and a 2-long l1bmm."""
    machine = Machine("strict")
    r, col = np.indices((256, 16))
    for group in range(4):
        words = (1000 * r + col)[64 * group : 64 * group + 64].astype(np.uint32).reshape(-1, 2)
        machine.write_dram(group, 0, words[:, 0].astype(np.uint64) << np.uint64(32) | words[:, 1])
    machine.run(
        "mvp/n256i01 $d0 $lc0@.0\nmvp/n256i02 $d256 $lc0@.1\nnop; wait i01\nnop; wait i02\n"
        "l2bmd $lc0 $lb0\nnop\nl1bmm $llb0 $llm0v"
    )
    words = machine.peek_words(Memory.LM0, 0, 16)
    for row in range(0, 256, 7):
        for column in range(16):
            at = 4 * ((row >> 3) & 3) + 2 * (column >> 3) + (column & 1)
            assert (words[row >> 5, row & 7, :, (column >> 1) & 3, at] == 1000 * row + column).all()


@pytest.mark.parametrize(
    "text",
    [
        "mvp/n64 $d0@0 $d64@1",
        "mvp/n64 $lc0@0.0 $lc64@1.0",
        "mvb2/n64 $p0@0 $lc0",
        "mvb4/n64 $p0 $lc0",
        "mvr4dfadd/n64 $lc0 $p0@0",
        "mvp/n32 $p0@0 $d0@0",
        "mvp/n0 $p0@0 $d0@0",
        "mvb/n64 $di0 $lc0",
        "mvp/n64nd2 $d0@0 $p0@0",
    ],
)
def test_forms_that_do_not_exist_are_refused(setup: Setup, text: str):
    """SDM 3.5.7, OPEN-37."""
    with pytest.raises(EmulationError):
        setup.machine.run(text)


def test_dram_is_sparse_over_its_whole_address_space():
    machine = Machine("strict")
    for group in range(4):
        machine.write_dram(group, (1 << 29) - 64, np.full(64, group + 7))
        machine.write_dram(group, 123456789, [group])
    assert machine.read_dram(3, (1 << 29) - 64, 64).tolist() == [10] * 64
    assert machine.read_dram(2, 123456789, 2).tolist() == [2, 0]
    machine.run(f"mvp/n64 $d{(1 << 29) - 64} $lc0@.0")
    assert machine.l2bm()[6, 0] == 10


@pytest.mark.parametrize("mode", ["strict", "vendor"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mvp/n64 $p0@4 $lc0@0.0", "PDM of group 4, the groups are 0..3"),
        ("mvp/n64 $p0@0 $d0@4", "DRAM of group 4"),
        ("mvp/n64 $di0@4 $lc0@0.0", "DRAM_INDIRECT of group 4"),
        ("mvp/n64 $p0@0 $lc0@4.0", "L2BM of group 4"),
        ("mvp/n64 $p0@0 $lc0@2.2", "L2B 2 of a group, they are 0..1"),
        ("mvp/n64 $p0 $lc0@.2", "L2B 2 of a group"),
        ("mvriiadd/n64 $lc0 $p0@4", "PDM of group 4"),
        ("mvp/n64i00 $p0@0 $lc0@0.0", "tag 00"),
    ],
)
def test_places_that_do_not_exist_are_refused(mode: str, text: str, words: str) -> None:
    """Vendor mode has no checker in front: L2B 2 of group 2 was L2B 0 of group 3, and group 4 an internal error."""
    machine = Machine(mode)
    with pytest.raises(EmulationError):
        machine.run(text)
    if mode == "vendor":
        with pytest.raises(EmulationError, match=re.escape(words)):
            machine.run(text)
    assert not machine.l2bm().any()
