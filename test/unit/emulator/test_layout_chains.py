"""Published chains of transfers (education compiler, contest answers): where each element of a float tensor ends.

A tensor of the host lies in the DRAMs in pairs of words; the place of an element in local memory is written out as the
published layout says: factors per axis, the right-most fastest, over L2B, L1B, MAB, PE, address and word.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import Machine

Place = tuple[slice | int, slice | int, slice | int, slice | int, int]  # L2B, L1B, MAB, PE, word
ALL = slice(None)


def store_matrix(machine: Machine, rows: int, columns: int) -> np.ndarray:
    """Element (r, c) = its number, as ((4_L2B:2, r/4:c/2), (c/2:1, 2_W:1)): a quarter of the rows in each DRAM, which
    also holds zeros behind, since an MV moves at least 64 long words."""
    values = np.arange(rows * columns, dtype=np.uint32)
    pairs = values.reshape(4, -1, 2).astype(np.uint64)
    for group in range(4):
        machine.write_dram(group, 0, np.zeros(64, np.uint64))
        machine.write_dram(group, 0, pairs[group, :, 0] << np.uint64(32) | pairs[group, :, 1])
    return values.reshape(rows, columns)


def apart(lines: list[str]) -> str:
    """Lines with time between them; MVs take a tag that the next step waits for."""
    found = []
    for line in lines:
        found.append(line.replace("/n", "/i01n") if line.startswith("mv") else line)
        found.append("nop; wait i01" if line.startswith("mv") else "nop/4")
    return "\n".join(found)


def both_l2bs(longs: int) -> list[str]:
    """The first half of every group to L2B 0, the second to L2B 1."""
    return [f"mvp/n{longs} $d0 $lc0@.0", f"mvp/n{longs} $d{longs} $lc0@.1"]


def gather(longs: int) -> list[str]:
    """All groups into PDM 0 one after another, then to every L2B."""
    single = [f"mvp/n{longs} $d0@{g} $p{longs * g}@0" for g in range(4)]
    return [*single, f"mvb/n{4 * longs} $p0@0 $lc0"]


CHAINS: dict[str, tuple[int, int, list[str], Callable[[int, int], Place]]] = {
    "16x16": (
        16, 16,
        [*gather(64), *[f"l2bmb $lc{64 * i} $lb{32 * i}" for i in range(4)],
         *[f"l1bmm $llb{32 * i} $llm{16 * i}v" for i in range(4)]],
        lambda r, c: (ALL, ALL, ALL, c // 2 % 4, 4 * r + 2 * (c // 8) + c % 2),
    ),
    "16x1024": (
        16, 1024,
        [*gather(2048), *[f"l2bmd $lc{256 * i} $lb{32 * i}" for i in range(32)],
         *[f"l1bmd $lb{256 * i} $lm{8 * i}v" for i in range(4)]],
        lambda r, c: (ALL, c // 16 % 8, c // 128 * 2 + c // 8 % 2, c // 2 % 4, 2 * r + c % 2),
    ),
    "256x16 default": (
        256, 16,
        [*both_l2bs(256), "l2bmd $lc0 $lb0", "l1bmm $llb0 $llm0v"],
        lambda r, c: (r // 32, r % 8, ALL, c // 2 % 4, 4 * (r // 8 % 4) + 2 * (c // 8) + c % 2),
    ),
    "1024x16": (
        1024, 16,
        [*both_l2bs(1024), *[f"l2bmd $lc{256 * i} $lb{32 * i}" for i in range(4)],
         *[f"l1bmm $llb{32 * i} $llm{16 * i}v" for i in range(4)]],
        lambda r, c: (r // 128, r % 8, ALL, c // 2 % 4, 4 * (r // 8 % 16) + 2 * (c // 8) + c % 2),
    ),
    "256x16 over L2Bs": (
        256, 16,
        [*both_l2bs(256), *[f"l2bmb $lc{64 * i} $lb{64 * i}" for i in range(4)],
         *[f"l1bmm $llb{32 * i} $llm{16 * i}v" for i in range(8)]],
        lambda r, c: (r // 32, ALL, ALL, c // 2 % 4, 4 * (r % 32) + 2 * (c // 8) + c % 2),
    ),
    "256x16 over groups": (
        256, 16,
        ["mvb2/n512 $d0 $lc0", *[f"l2bmb $lc{64 * i} $lb{64 * i}" for i in range(8)],
         *[f"l1bmm $llb{32 * i} $llm{16 * i}v" for i in range(16)]],
        lambda r, c: (slice(r // 64 * 2, r // 64 * 2 + 2), ALL, ALL, c // 2 % 4, 4 * (r % 64) + 2 * (c // 8) + c % 2),
    ),
    "256x1024": (
        256, 1024,
        [*both_l2bs(16384), *[f"l2bmd $lc{256 * i} $lb{32 * i}" for i in range(64)],
         *[f"l1bmd $lb{256 * i} $lm{8 * i}v" for i in range(8)]],
        lambda r, c: (r // 32, c // 16 % 8, c // 128 * 2 + c // 8 % 2, c // 2 % 4, 2 * (r % 32) + c % 2),
    ),
}  # fmt: skip


def elements(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    """Some hundred elements: corners, and a step that meets every residue."""
    for number in {*range(0, rows * columns, max(1, rows * columns // 701)), 0, columns - 1, rows * columns - 1}:
        yield divmod(number, columns)


@pytest.mark.parametrize("name", CHAINS)
def test_down(name: str) -> None:
    rows, columns, lines, place = CHAINS[name]
    machine = Machine("strict")
    values = store_matrix(machine, rows, columns)
    machine.run(apart(lines))
    words = machine.peek_words(Memory.LM0, 0, 256)
    for r, c in elements(rows, columns):
        l2b, l1b, mab, pe, word = place(r, c)
        assert (words[l2b, l1b, mab, pe, word] == values[r, c]).all(), (r, c)


@pytest.mark.parametrize(("name", "lines", "back"), [
    ("256x16 default",
     ["l1bmm@0 $llm0v $llb512", "l2bmd $lb512 $lc16384"],
     ["mvp/n256 $lc16384@.0 $d4096", "mvp/n256 $lc16384@.1 $d4352"]),
    ("256x1024",
     [*[f"l1bmd $lm{8 * i}v $lb{4096 + 256 * i}" for i in range(8)],
      *[f"l2bmd $lb{4096 + 32 * i} $lc{16384 + 256 * i}" for i in range(64)]],
     ["mvp/n16384 $lc16384@.0 $d32768", "mvp/n16384 $lc16384@.1 $d49152"]),
])  # fmt: skip
def test_up_is_the_inverse(name: str, lines: list[str], back: list[str]) -> None:
    rows, columns, down, _ = CHAINS[name]
    machine = Machine("strict")
    store_matrix(machine, rows, columns)
    machine.run(apart([*down, *lines, *back]))
    first, longs = int(back[0].split("$d")[1]), rows * columns // 8
    for group in range(4):
        assert np.array_equal(machine.read_dram(group, first, longs), machine.read_dram(group, 0, longs))


def test_vector_of_16_and_of_256() -> None:
    """16 values in group 0; 256 as ((4_L2B:2, 32:1, 2_W:1)), equal in the two L2Bs of a group."""
    machine = Machine("strict")
    pairs = np.arange(256, dtype=np.uint64).reshape(4, 32, 2)
    for group in range(4):
        machine.write_dram(group, 0, np.resize(pairs[group, :, 0] << np.uint64(32) | pairs[group, :, 1], 64))
    machine.run(apart(["mvp/n64 $d0@0 $p0@0", "mvb/n64 $p0@0 $lc0", "l2bmb $lc0 $lb0", "l1bmm $lb0 $lm0v"]))
    words = machine.peek_words(Memory.LM0, 0, 4)
    for i in range(16):
        assert (words[..., i // 2 % 4, 2 * (i // 8) + i % 2] == i).all()
    down = ["mvb2/n64 $d0 $lc512", "l2bmb $lc512 $lb512", *[f"l1bmp $lb{512 + 4 * i} $ln{8 * i}v" for i in range(8)]]
    machine.run(apart(down))
    words = machine.peek_words(Memory.LM1, 0, 64)
    for i in range(256):
        assert (words[i // 64 * 2 : i // 64 * 2 + 2, :, :, :, i % 64] == i).all()


def test_flat_order_of_the_host() -> None:
    """Element i belongs to PE i = 512 L + 64 b + 4 m + p: one long word each, cycle 0 of l1bmd only."""
    machine = Machine("strict")
    machine.write_pdm(0, 0, np.arange(4096, dtype=np.uint64))
    down = [f"mvp/n512 $p{512 * n}@0 $lc0@{n // 2}.{n % 2}" for n in range(8)]
    down += ["l2bmd $lc0 $lb512"] + [f"l2bmb@{b} $lc{64 * b} $lb0" for b in range(8)] + ["l1bmd $lb0 $lm0/1000"]
    machine.engine.shadow.mark_everything()
    machine.run(apart(down))
    assert machine.lm(0)[..., 0].reshape(-1).tolist() == list(range(4096))
    up = ["l1bmd $lm0 $lb256", *[f"l2bm@{b} $lb256 $lc{1024 + 64 * b}" for b in range(8)]]
    up += [f"mvp/n512 $lc1024@{n // 2}.{n % 2} $p{8192 + 512 * n}@0" for n in range(8)]
    machine.run(apart(up))
    assert machine.read_pdm(0, 8192, 4096).tolist() == list(range(4096))


PLACES_OF_64 = [  # PDM long words, linear L2B, L1B, first MAB
    (range(8), 0, 0), (range(8, 16), 0, 1), (range(16, 24), 1, 0), (range(24, 32), 1, 1),
    (range(128, 136), 0, 2), (range(136, 144), 0, 3), (range(496, 504), 7, 6), (range(504, 512), 7, 7),
]  # fmt: skip


def test_64_long_words_per_l2b_fill_two_mabs() -> None:
    """mvd of 64 long words per L2B: only cycle 0 of l2bmd and l1bmd carries payload."""
    machine = Machine("strict")
    machine.engine.shadow.mark_everything()
    machine.write_pdm(0, 0, np.arange(512, dtype=np.uint64) + np.uint64(1000))
    machine.run(apart(["mvd/n64 $p0@0 $lc0", "l2bmd $lc0 $lb0", "l1bmd $lb0 $lm0/1000"]))
    local = machine.lm(0)[..., 0]
    for longs, l2b, l1b in PLACES_OF_64:
        assert local[l2b, l1b, :2].reshape(-1).tolist() == [1000 + i for i in longs]
        assert not local[l2b, l1b, 2:].any()


def test_all_reduce_of_one_long_word_per_pe() -> None:
    """16 MABs, 8 L1Bs, 8 L2Bs, and back: every PE p holds the sum of column p."""
    machine = Machine("strict")
    machine.engine.shadow.mark_everything()
    data = np.random.default_rng(0).integers(0, 1 << 40, (8, 8, 16, 4, 1), dtype=np.uint64)
    machine.poke(Memory.LM0, 0, data)
    machine.run(apart(["l1bmrliadd $lm0 $lb0", "l2bmrliadd $lb0 $lc0", "mvrliadd/n64 $lc0 $p0@0", "mvb/n64 $p0@0 $lc64",
                       "l2bmb $lc64 $lb64", "l1bmm $lb64 $ln0/1000"]))  # fmt: skip
    expected = data.sum(axis=(0, 1, 2), dtype=np.uint64)
    assert (machine.peek(Memory.LM1, 0, 1) == expected).all()


def test_column_sum_ends_in_group_0() -> None:
    """256x16 default: a sum over 4 rows in each PE, l1bmm@0, l2bmr, mvr to DRAM; 16 sums in 8 long words of group 0."""
    rows, columns, down, _ = CHAINS["256x16 default"]
    machine = Machine("strict")
    machine.engine.shadow.mark_everything()
    values = store_matrix(machine, rows, columns)
    local = [f"iadd $lm{4 * i + 2 * h} $ln{2 * h} $ln{2 * h}" for i in range(4) for h in range(2)]
    back = ["l1bmm@0 $lln0 $llb64", "l2bmriiadd $lb64 $lc64", "mvriiadd/n64 $lc64 $d4096"]
    machine.run(apart(["zero $lln0", *down, *local, *back]))
    longs = machine.read_dram(0, 4096, 8)
    found = np.stack([longs >> np.uint64(32), longs & np.uint64(0xFFFFFFFF)], axis=-1).reshape(-1)
    assert found.tolist() == values.sum(axis=0).tolist()


def test_distribution_of_4096_long_words_over_the_drams() -> None:
    """Measured: after mvd/n4096 $p0@0 $d0 DRAM 0 holds 0..15, 64..79, ... 4032..4047 in its first 1024 long words."""
    machine = Machine("strict")
    machine.write_pdm(0, 0, np.arange(4096, dtype=np.uint64))
    machine.run("mvd/n4096 $p0@0 $d0")
    for group in range(4):
        expected = [64 * q + 16 * group + r for q in range(64) for r in range(16)]
        assert machine.read_dram(group, 0, 1024).tolist() == expected


def test_a_reduction_of_64_spreads_over_the_groups_in_sixteens() -> None:
    machine = Machine("strict")
    machine.poke(Memory.L2BM, 0, np.arange(64, dtype=np.uint64)[None, :])
    machine.run("mvrlor/n64 $lc0 $d0\nmvrlbor/n64 $lc0 $d64")
    for group in range(4):
        assert machine.read_dram(group, 64, 16).tolist() == list(range(16 * group, 16 * group + 16))
        assert machine.read_dram(group, 0, 16).tolist() == [int(i > 0) for i in range(16 * group, 16 * group + 16)]
