"""Address mapping of every L2BM transfer against the formulas of SDM 3.6.7, written out per element."""

import random

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import EmulationError, Machine
from mnc.mncore_backend.emulator.l1b_sets import parse_set, pattern_set

from .harness import pattern

L1BM, L2BM = Memory.L1BM, Memory.L2BM
SETS = {"": range(8), "@5": (5,), "@0/1": (0, 1), "@2/5": (2, 3, 6, 7), "@1,3": (1, 3), "@0/7": range(8)}


@pytest.fixture
def machine() -> Machine:
    return Machine("strict")


@pytest.mark.parametrize("text", SETS)
def test_broadcast(machine: Machine, text: str):
    data, before = pattern(L2BM, machine, 256), pattern(L1BM, machine, 256, seed=1)
    machine.run(f"l2bmb{text} $lc128 $lb64")
    got = machine.peek(L1BM, 64, 64)
    for b, c, j in np.ndindex(8, 4, 16):
        expected = data[:, 128 + 16 * c + j] if b in SETS[text] else before[:, b, 64 + 16 * c + j]
        assert np.array_equal(got[:, b, 16 * c + j], expected)


@pytest.mark.parametrize("text", ["", "@6/1"])
def test_distribute_and_pairwise_broadcast(machine: Machine, text: str):
    members = range(8) if not text else (6, 7)
    data = pattern(L2BM, machine, 512)
    machine.run(f"l2bmd{text} $lc256 $lb8\nl2bmb2{text} $lc256 $lb128")
    got = machine.peek(L1BM, 0, 256)
    for b, c, j in np.ndindex(8, 4, 16):
        if b not in members:
            assert not got[:, b].any()
            continue
        assert np.array_equal(got[:, b, 128 + 16 * c + j], data[:, 256 + 64 * c + 16 * (b >> 1) + j])  # OPEN-42
        if j < 8:
            assert np.array_equal(got[:, b, 8 + 8 * c + j], data[:, 256 + 64 * c + 8 * b + j])


def test_collect(machine: Machine):
    data = pattern(L1BM, machine, 64)
    machine.run("l2bmd $lb16 $lc0\nl2bm@6 $lb0 $lc512")
    got = machine.l2bm()
    for c, b, j in np.ndindex(4, 8, 16):
        assert np.array_equal(got[:, 512 + 16 * c + j], data[:, 6, 16 * c + j])
        if j < 8:
            assert np.array_equal(got[:, 64 * c + 8 * b + j], data[:, b, 16 + 8 * c + j])


@pytest.mark.parametrize("text", SETS)
def test_integer_reduction_over_a_set(machine: Machine, text: str):
    data = pattern(L1BM, machine, 64)
    machine.run(f"l2bmrliadd{text} $lb0 $lc0\nl2bmrlbor{text} $lb0 $lc64\nl2bmrlband{text} $lb0 $lc128")
    chosen = data[:, list(SETS[text])]
    got = machine.l2bm()
    assert np.array_equal(got[:, :64], chosen.sum(axis=1, dtype=np.uint64))
    assert np.array_equal(got[:, 64:128], np.bitwise_or.reduce(chosen, axis=1))
    assert np.array_equal(got[:, 128:192], np.bitwise_and.reduce(chosen, axis=1))


def test_single_member_sets_return_the_member(machine: Machine):
    """SDM 3.5.7: the unit elements leave a set of one alone."""
    data = pattern(L1BM, machine, 64)
    machine.run("l2bmrfmax@3 $lb0 $lc0\nl2bmrhmin@3 $lb0 $lc64\nl2bmrdmin@3 $lb0 $lc128")
    for first in (0, 64, 128):
        assert np.array_equal(machine.l2bm()[:, first : first + 64], data[:, 3])


def test_float_sums(machine: Machine):
    values = np.random.default_rng(0).integers(-100, 100, (8, 8, 64, 2)).astype(np.float32)
    words = values[..., ::-1].copy().view(np.uint64)[..., 0]
    machine.poke(L1BM, 0, words)
    machine.run("l2bmrffadd $lb0 $lc0\nl2bmr2ffadd $lb0 $lc256")
    total = machine.l2bm()[:, :64].copy().view(np.float32).reshape(8, 64, 2)[..., ::-1]
    assert np.array_equal(total, values.sum(axis=1))
    pairs = machine.l2bm()[:, 256:512].copy().view(np.float32).reshape(8, 256, 2)[..., ::-1]
    for t, c, j in np.ndindex(4, 4, 16):
        expected = values[:, 2 * t, 16 * c + j] + values[:, 2 * t + 1, 16 * c + j]
        assert np.array_equal(pairs[:, 64 * c + 16 * t + j], expected)


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("@0/4", {0: (0, 1, 2, 3), 4: (4, 5, 6, 7)}),
        ("@1/0", {1: tuple(range(8))}),
        ("@0/6", {0: (0, 1), 2: (2, 3), 4: (4, 5), 6: (6, 7)}),
    ],
)
def test_multicast_examples_of_the_manual(machine: Machine, text: str, moves: dict[int, tuple[int, ...]]):
    """SDM 3.6.7.9."""
    data = pattern(L1BM, machine, 64)
    machine.run(f"l2bmi{text} $lb0 $lb128")
    got = machine.peek(L1BM, 128, 64)
    for source, targets in moves.items():
        for target in targets:
            assert np.array_equal(got[:, target], data[:, source])


def test_multicast_of_all_is_refused(machine: Machine):
    with pytest.raises(EmulationError):
        machine.run("l2bmi@0/7 $lb0 $lb128")


def test_list_of_legal_sets():
    """SDM 3.6.7.1: singletons, the listed pairs and quadruples, and all eight."""
    pairs = "01 02 04 13 15 23 26 37 45 46 57 67"
    quads = "0123 0145 0246 1357 2367 4567"
    legal = {tuple(int(d) for d in t) for t in (pairs + " " + quads + " 0 1 2 3 4 5 6 7 01234567").split()}
    assert {pattern_set(first, free) for first in range(8) for free in range(8)} == legal
    for members in legal:
        assert parse_set("@" + ",".join(map(str, members)))[0] == members
        assert parse_set("@[" + ",".join(map(str, members)) + "]")[0] == members
    with pytest.raises(ValueError, match="legal set"):
        parse_set("@0,3")


@pytest.mark.parametrize("text", ["l2bmb $lc8 $lb0", "l2bmd $lc32 $lb0", "l2bmd $lb4 $lc0", "l2bmr2dfadd $lb0 $lc32"])
def test_misaligned_addresses_are_refused(machine: Machine, text: str):
    """OPEN-43."""
    with pytest.raises(EmulationError, match="multiple"):
        machine.run(text)


def test_dar_loading_model(machine: Machine):
    """OPEN-41: 512 staged words, MSB word first, four entries per drain, from the remembered entry on."""
    words = np.arange(512, dtype=np.uint64)
    longs = words[0::2] << np.uint64(32) | words[1::2]
    machine.poke(L2BM, 0, np.broadcast_to(longs, (8, 256)))
    machine.run("l2bmdars $lc0@.1 $dar1022\nl2bmdarw\nl2bmdarw")
    dar = machine.engine.state.dar
    assert [int(dar[2, e % 1024]) for e in range(1022, 1030)] == list(range(8))
    machine.write_dram(2, 0, np.arange(256))
    machine.run("mvp/n64i01 $di0@2 $lc1024@2.1\nnop; wait i01")
    got = machine.l2bm()[5, 1024:1088]
    assert got.tolist() == list(range(32, 96))  # entries 0..3 hold 2, 3, 4, 5
    assert not machine.l2bm()[4, 1024:1088].any()


@pytest.mark.parametrize(("repeat", "blocks"), [("", [10, 20, 30, 40]), ("nd1", [10, 20, 30, 40]),
                                                ("nd2", [10, 11, 20, 21]), ("nd4", [10, 11, 12, 13])])  # fmt: skip
def test_indirect_dram_counts_blocks_of_16_and_repeats_entries(repeat: str, blocks: list[int]):
    """Summary 7.9: an entry counts 16 long words; OPEN-40: blocks that share an entry are consecutive."""
    machine = Machine("vendor")
    machine.engine.state.dar[:, 1022:] = [10, 20]
    machine.engine.state.dar[:, :2] = [30, 40]  # entries wrap at 1024
    for group in range(4):
        machine.write_dram(group, 0, np.arange(1024, dtype=np.uint64) + np.uint64(10_000 * group))
    machine.run(f"mvp/n64{repeat} $di1022 $lc0@.1\nmvp/n64{repeat} $di1022@3 $p64@1")
    expected = [16 * block + r for block in blocks for r in range(16)]
    for group in range(4):
        assert machine.l2bm()[2 * group + 1, :64].tolist() == [10_000 * group + x for x in expected]
    assert machine.read_pdm(1, 64, 64).tolist() == [30_000 + x for x in expected]


def test_indirect_destination_and_reduction():
    """mvp and mvr write through the table, too."""
    machine = Machine("vendor")
    machine.engine.state.dar[:] = np.arange(1024, dtype=np.uint32)[::-1]
    machine.poke(L2BM, 0, np.arange(64, dtype=np.uint64)[None, :])
    machine.run("mvp/n64 $lc0@2.0 $di1000@2\nmvrlor/n64 $lc0 $di0")
    for block in range(4):
        assert machine.read_dram(2, 16 * (23 - block), 16).tolist() == list(range(16 * block, 16 * block + 16))
    for group in range(4):
        assert machine.read_dram(group, 16 * 1023, 16).tolist() == [int(16 * group + r > 0) for r in range(16)]


@pytest.mark.parametrize("text", ["mvr2lor/n64nd1 $lc0 $di0", "mvp/n64nd1 $d0 $lc0@.0"])
@pytest.mark.parametrize("mode", ["strict", "vendor"])
def test_nd_is_for_three_mvs_with_an_indirect_operand(text: str, mode: str):
    with pytest.raises(EmulationError, match="nd"):
        Machine(mode).run(text)


def _transfers(seed: int) -> str:
    """Random transfers at few addresses, so that they often meet, and steps of PEs in between."""
    rng = random.Random(seed)

    def line() -> str:
        near, other = (64 * rng.randrange(4) for _ in range(2))
        far, wide = 64 * rng.randrange(8), 256 * rng.randrange(2)
        group = rng.choice(list(SETS))
        return rng.choice(
            [
                f"l2bmb{group} $lc{far} $lb{near}",
                f"l2bmd{group} $lc{wide} $lb{near}",
                f"l2bmb2 $lc{wide} $lb{near}",
                f"l2bmd $lb{near} $lc{wide}",
                f"l2bm@{rng.randrange(8)} $lb{near} $lc{far}",
                f"l2bmrliadd{group} $lb{near} $lc{far}",
                f"l2bmi@0/3 $lb{near} $lb{other}",
                f"l1bmd $lb0 $ln{8 * rng.randrange(8)}v; l2bmb $lc{far} $lb{near}",
                f"l1bmm@3 $ln{8 * rng.randrange(8)}v $lb{near}; l2bm@5 $lb{other} $lc{far}",
                f"ladd $ln{8 * rng.randrange(8)}v $lr0v $ls0v",
                f"mvp/n64 $p{64 * rng.randrange(4)}@{rng.randrange(4)} $lc{far}@1.0",
                f"mvb/n64 $p{64 * rng.randrange(4)}@0 $lc{far}",
                f"mvp/n64 $lc{far}@2.1 $p{64 * rng.randrange(4)}@1",
            ]
        )

    return "\n".join(line() for _ in range(300))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_long_segments_keep_the_order_of_transfers(threads: int):
    """What runs block by block in long segments ends as what is finished step by step."""
    for seed in range(6):
        machines = [Machine("vendor", threads=threads), Machine("vendor", threads=1)]
        for machine in machines:
            for number, memory in enumerate((L1BM, L2BM, Memory.PDM, Memory.LM1, Memory.GRF0)):
                pattern(memory, machine, 512 if memory is not Memory.GRF0 else 64, seed=number)
            machine.load_text(_transfers(100 * threads + seed))
        machines[0].run()
        while machines[1].step() is not None:
            pass
        assert machines[0].compare(machines[1].snapshot()) == []


def test_transfers_by_kernels_do_not_wait_for_each_other():
    """Reads of L2BM are put off together; transfers beside them run at once, those that change it wait."""
    machine = Machine("vendor")
    flushed: list[int] = []
    flush = machine.engine.flush
    machine.engine.flush = lambda: (flushed.append(machine.engine.line), flush())[1]
    machine.run("l2bmb $lc0 $lb0\nl2bmd $lc256 $lb64\nmvp/n64 $p0@0 $lc512@0.0\nmvp/n64 $p0@0 $lc256@0.0")
    assert flushed[:1] == [4]


@pytest.mark.parametrize("operand", ["$lc0@.2", "$lc0", "$lc0@1.0"])
@pytest.mark.parametrize("mode", ["strict", "vendor"])
def test_staging_names_one_l2b_of_every_group(mode: str, operand: str) -> None:
    with pytest.raises(EmulationError, match="reads one L2B of every group"):
        Machine(mode).run(f"l2bmdars {operand} $dar0")
