"""What strict mode refuses, each with its rule, line and place; vendor mode runs the same programs."""

import re

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.checker import CheckOptions, check_text
from mnc.mncore_backend.emulator import EmulationError, Machine
from mnc.mncore_backend.target import chip

from .harness import random_longs, refused

UNINITIALISED = [
    ("lpassa $lm0v $lr0v", "word 0 of $m"),
    ("nop\nfvadd $lr8v $lr8v $ls0v", "word 8 of $r"),
    ("zero $lr0v\nnop/2\nlpassa $llr0v $ls0v", "word 8 of $r"),
    ("zero $r0v\nnop/2\nlpassa $lr0v $ls0v", "word 4 of $r"),
    ("zero $lr0v/1101\nnop/2\nlpassa $lr0v $ls0v", "word 4 of $r"),
    ("lpassa $t $lr0v", "entry 0 of $t"),
    ("zero $lr0v\nlpassa/$imr3 $aluf $ls0v", "mask register 3"),
    ("zero $lr0v\nlpassa $aluf $ls0v/$imr3", "mask register 3"),
    ("l1bmm $lb0 $lr0v", "long word 0 of $lb"),
    ("l2bmd $lc0 $lb0", "long word 0 of $lc"),
    ("l2bmd $lb0 $lc0", "long word 0 of $lb"),
    ("mvp/n64 $p0@1 $lc0@0.0", "long word 0 of $p"),
    ("mvp/n64 $d128 $lc0@.0", "long word 128 of DRAM 0"),
    ("mvb2/n64 $d0 $lc0", "long word 0 of DRAM 0"),
    ("zero $lr0v\nnop\ngmmul $lx $lr0v $ls0v", "row 0 of $lx"),
    ("zero $lr0v\nnop\ngmwrite $lr0v $lx0\ngmmul $lx $lr0v $ls0v", "row 4 of $lx"),
    ("gmread $ly0 $lr0v", "row 0 of $ly"),
    ("zero $t\nnop\nlpassa $lmt4v $lr0v", "word 4 of $m"),
    ("lpassa $lm0j0 $lr0v", "of $m"),
]


def shown(text: str) -> str:
    """The `d get` that shows what the last destination of a program got."""
    operand = re.sub(r"v\d*$", "", text.split()[-1].partition("/")[0].partition("@")[0])
    scope = {"b": "n0c0b0", "c": "n0c0", "p": "n0", "d": "n0"}.get(operand.lstrip("$l")[:1], "n0c0b0m0")
    return f"nop/3; wait i3e\nd get {operand}{scope} 4".replace("nop/3; wait i3e", "nop; wait i3e\nnop/3")


@pytest.mark.parametrize(("text", "named"), UNINITIALISED)
def test_memory_never_written_is_poison(text: str, named: str):
    """Reading it is fine; what depends on it must not be shown, and no mask that nobody wrote decides."""
    machine = Machine("strict")
    if "$imr3" not in text:
        machine.run(text)
        text = f"{text}\n{shown(text)}"
    error = refused(Machine("strict"), text, "uninitialised-read")
    assert named in str(error)
    assert error.line == text.count("\n") + 1
    Machine("vendor").run(text)


def test_partly_written_words_name_the_pe():
    machine = Machine("strict")
    machine.poke(Memory.GRF0, 0, [0])
    machine.run("ixor $subpeid $lr0 $omr1\nlpassa $lr0 $ls0/$imr1")
    error = refused(machine, "nop/2\nlpassa $ls0 $lm0\nd get $lm0n0c0b0m0 1", "uninitialised-read")
    assert error.where == "n0c0b0m0p1"
    assert "word 0 of $s" in str(error) and "first in line 2" in str(error)


def test_two_partial_writes_make_a_whole_one():
    machine = Machine("strict")
    machine.poke(Memory.GRF0, 0, [0])
    machine.run(
        "ixor $subpeid $lr0 $omr1\nlpassa $lr0 $ls0/$imr1\nilnot $subpeid $nowrite\nixor $aluf $lr0 $omr2\n"
        "lpassa $lr0 $ls0/$imr2\nnop/2\nlpassa $ls0 $lm0"
    )


def test_debug_set_counts_as_a_write_of_its_scope():
    machine = Machine("strict")
    machine.run("d set $lm0n0 2 00000000000000010000000000000002")
    error = refused(machine, "lpassa $lm0 $lr0\nd get $lr0 1", "uninitialised-read")
    assert error.where.startswith("n1")
    machine.run("d set $lm0 2 00000000000000010000000000000002\nlpassa $lm0 $lr0\nlpassa $lm2 $lr2")


def test_scattered_writes_are_followed():
    machine = Machine("strict")
    machine.poke(Memory.GRF0, 0, [0, 8])
    machine.run("ipassa $lr2 $t\nnop\nlpassa $lr0 $lmt0\nnop/2\nlpassa $lm8 $ls0")
    refused(machine, "nop/2\nlpassa $lm0 $ls0\nd get $ls0n0c0b0m0p0 1", "uninitialised-read")


TRANSFERS = [
    ("mvp/n64i01 $p0@0 $lc0@0.0\nl2bmd $lc0 $lb0", "unwaited-transfer"),
    ("mvp/n64 $p0@0 $lc0@0.0\nnop; wait i01\nl2bmd $lc0 $lb0", "unwaited-transfer"),
    ("mvp/n64i01 $p0@0 $lc0@0.0\nmvp/n64i02 $lc0@0.0 $d0@0", "unwaited-transfer"),
    ("mvp/n64i01 $p0@0 $lc0@0.0\nmvp/n64i02 $p64@0 $lc0@0.0", "unwaited-transfer"),
    ("mvp/n64i01 $p0@0 $lc0@0.0\nmvp/n64i02 $lc64@0.0 $p0@0", "unwaited-transfer"),
    ("mvp/n64 $p0@0 $lc0@0.0\nmvp/n64i02 $d0@0 $lc64@0.0\nnop; wait i02\nl2bmd $lc0 $lb0", "unwaited-transfer"),
    ("mvp/n64 $p0@0 $lc0@0.0\nmvp/n64i02 $p0@1 $lc0@1.0\nnop; wait i02\nl2bmd $lc0 $lb0", "unwaited-transfer"),
    ("mvp/n64i01 $lc0@0.0 $p0@0\nl2bmd $lb0 $lc0", "unwaited-transfer"),
    ("mvp/n64i01 $p0@0 $lc0@0.0\nmvp/n64i01 $p0@0 $lc64@0.0", "tag-reused"),
    ("mvp/n64i01 $p524256@0 $lc0@0.0", "wrap-around"),
]


@pytest.mark.parametrize(("text", "rule"), TRANSFERS)
def test_transfers_in_flight(text: str, rule: str):
    """SDM 3.5.7, OPEN-38; the reuse of a tag is an error in vendor mode, too."""
    machines = Machine("strict"), Machine("vendor")
    for machine in machines:
        machine.write_pdm(0, 0, np.arange(128))
        machine.write_pdm(1, 0, np.arange(64))
        machine.write_dram(0, 0, np.arange(64))
        machine.poke(Memory.L2BM, 0, random_longs((1024,)))
        machine.poke(Memory.L1BM, 0, random_longs((1024,)))
    refused(machines[0], text, rule)
    if rule != "tag-reused":
        machines[1].run(text)


def test_a_wait_settles_earlier_transfers_of_the_same_path_data_movement_1_1():
    machine = Machine("strict")
    machine.write_pdm(0, 0, np.arange(1024))
    machine.run("mvp/n512 $p0@0 $lc0@0.0\nmvp/n512i01 $p512@0 $lc512@0.0\nnop; wait i01\nmvp/n64 $lc0@0.0 $d0@0")
    assert machine.read_dram(0, 5, 1).tolist() == [5]


@pytest.mark.parametrize("mode", ["strict", "vendor"])
def test_a_tag_that_nobody_waited_for_is_taken_data_movement_1_1(mode: str):
    """Also where the transfer itself has finished, since a later one of its path was waited for."""
    machine = Machine(mode)
    machine.write_pdm(0, 0, np.arange(256))
    machine.run("mvp/n64i02 $p0@0 $lc0@0.0\nmvp/n64i01 $p64@0 $lc64@0.0\nnop; wait i01")
    refused(machine, "mvp/n64i02 $p128@0 $lc128@0.0", "tag-reused")
    machine.run("nop; wait i02\nmvp/n64i02 $p128@0 $lc128@0.0")
    assert machine.statistics.stall_cycles == 4 * (chip().mv_latency_steps + chip().mv_issue_interval_steps + 1)


def test_a_path_reaches_over_transfers_between_data_movement_1_1():
    """The first two share their source, the last two their destination: all three finish in program order."""
    machine = Machine("strict")
    machine.write_pdm(0, 0, np.arange(64))
    machine.write_pdm(1, 0, np.arange(64))
    machine.run("mvp/n64 $p0@0 $lc0@0.0\nmvp/n64 $p0@0 $lc0@1.0\nmvp/n64i01 $p0@1 $lc64@1.0\nnop; wait i01")
    machine.run("mvp/n64 $lc0@0.0 $d0@0")
    assert machine.read_dram(0, 5, 1).tolist() == [5]


SIDE_BY_SIDE = [
    "".join(f"mvp/n64i0{i + 1} $p{64 * i}@0 $lc0@{i // 2}.{i % 2}\n" for i in range(8)),
    "".join(f"mvp/n64i0{i + 1} $lc0@{i // 2}.{i % 2} $p{64 * i}@0\n" for i in range(8)),
    "mvp/n64i01 $lc0@.0 $d0\nmvp/n64i02 $lc0@.1 $d64\n",
    "mvp/n64i01 $p0@1 $p0@0\nmvp/n64i02 $p0@2 $p64@0\nmvp/n64i03 $p0@3 $p128@0\n",
    "mvp/n64i01 $p0@0 $lc0@0.0\nmvp/n64i02 $d0@0 $lc64@0.0\nmvp/n64i03 $lc128@0.0 $p64@0\n",
]


@pytest.mark.parametrize("text", SIDE_BY_SIDE)
def test_transfers_in_flight_share_memories_data_movement_1_1(text: str):
    """OPEN-38: only long words that overlap conflict. Latencies overlap, data phases of one port add up."""
    machine = Machine("strict")
    for group in range(4):
        machine.write_pdm(group, 0, np.arange(512))
        machine.write_dram(group, 0, np.arange(512))
    machine.poke(Memory.L2BM, 0, random_longs((1024,)))
    assert not check_text(text, options=CheckOptions(allow=frozenset({"OPEN-52"})))
    count = text.count("mv")
    machine.run(text + "".join(f"nop; wait i0{i + 1}\n" for i in range(count)))
    data = -(-64 // 8 // 4)  # steps of a transfer between groups, the longest
    each = max(data, chip().mv_issue_interval_steps)
    assert machine.statistics.cycles <= 4 * (chip().mv_latency_steps + count * each)


STATIC = [
    ("lpassa $lm0v $ls0v; lpassa $lm0v $lr0v", "issue-group"),
    ("zero $ln0v\nnop\nlpassa $ln0v $lr0v", "hazard-9a"),
    ("zero $lr0v\nlpassa $lr0v $ls0v", "hazard-9b"),
    ("zero $t\nlpassa $t $ls0v", "hazard-9c"),
    ("l1bmd $lm0v $lb0\nnop\nl1bmd $lb256 $ls0v", "hazard-8"),
    ("iadd $lr0v $lr4v $ls0v", "port-read"),
    ("lpassa $lm5000 $ls0v", "address-range"),
]


@pytest.mark.parametrize(("text", "rule"), STATIC)
def test_static_rules_are_checked_when_a_program_is_loaded(text: str, rule: str):
    machine = Machine("strict")
    for memory in (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.L1BM):
        machine.poke(memory, 0, random_longs((256,)))
    refused(machine, text, rule)
    assert machine.statistics.steps == 0


RUN_TIME = [
    ("lpassa $lm0v $lr0v\nlpassa $mauf $ls0v", "latch-idle"),
    ("lpassa $aluf $ls0v", "latch-idle"),
    ("l1bmm $lbi $ls0v", "turnaround-empty"),
    ("l1bmm@0 $lm0v $lbi\nl1bmm $llbi $lls0v", "turnaround-kind"),
    ('imm i"4094" $mb\nnop/3\nlpassa $lm0v $ls0v', "wrap-around"),
    ('imm i"3" $mb\nnop/3\nlpassa $lm0v $ls0v', "misaligned"),
    ("l1bmd $lb8128 $ls0v", "wrap-around"),
    ("dmwrite $lm0v $lx0\ngmread $lx0 $lr0v", "matrix-precision"),
    ("gmwrite $lm0v $lx0\ngmwrite $lm8v $lx4\nhmmul $lx $lm0v $llr0v", "matrix-precision"),
    (
        "gbfn $lm0v $lr0v\ngbfn $lm8v $lr8v\nnop\ndmwrite $lr0v $lx0\ngmwrite $lr8v $lx4\ngmmul $lx $lr0v $ls0v",
        "matrix-precision",
    ),
]


@pytest.mark.parametrize(("text", "rule"), RUN_TIME)
def test_run_time_rules(text: str, rule: str):
    machine = Machine("strict")
    machine.poke(Memory.LM0, 0, random_longs((2048,)))
    machine.poke(Memory.L1BM, 0, random_longs((8192,)))
    refused(machine, text, rule)


@pytest.mark.parametrize(("precision", "good", "bad"), [
    ("d", 0x3FF0000000000001, 0x4000000000000001), ("g", 0x3F8000013F800002, 0x3F8000013F000002),
    ("h", 0x3E003E013E023E03, 0x3E003E013E024003),
])  # fmt: skip
def test_block_float_exponents(precision: str, good: int, bad: int):
    """SDM 4.5: the elements of a block share one exponent; the message names line, MAB and cycle."""
    machine = Machine("strict")
    machine.poke(Memory.LM0, 0, np.full((8, 8, 16, 4, 16), good, np.uint64))
    fill = {"d": ["dmwrite $lm0v $lx0"], "g": ["gmwrite $lm0v $lx0", "gmwrite $lm8v $lx4"],
            "h": [f"hmwrite $lm{8 * i}v $lx{4 * i}" for i in range(4)]}[precision]  # fmt: skip
    product = {"d": "dmmulu $lx $lm0v $lr0v", "g": "gmmul $lx $lm0v $lr0v", "h": "hmmul $lx $lm0v $llr0v"}[precision]
    machine.run("\n".join([*fill, product]))
    longs = machine.peek(Memory.LM0, 0, 16)
    longs[3, 4, 10, 2, 3] = bad
    machine.poke(Memory.LM0, 0, longs)
    error = refused(machine, f"nop\n{product}", "block-float-exponents")
    assert error.line == 2
    assert error.where.startswith("n1c1b4m10")
    assert "cycle 3" in str(error)


def test_single_blocks_are_the_msb_words():
    """f products consume the MSB words only, so the LSB words may have exponents of their own."""
    machine = Machine("strict")
    machine.poke(Memory.LM0, 0, np.full((8, 8, 16, 4, 8), 0x3F8000013F800002, np.uint64))
    machine.run("fmwrite $lm0v $lx0\nfmwrite $lm8v $lx4")
    longs = np.full((8, 8, 16, 4, 8), 0x3F8000013F800002, np.uint64)
    longs[..., 1, :] = 0x3F80000142000002
    machine.poke(Memory.LM0, 0, longs)
    machine.run("fmmul $lx $lm0v $lr0v")
    longs[..., 1, :] = 0x420000013F800002
    machine.poke(Memory.LM0, 0, longs)
    refused(machine, "fmmul $lx $lm0v $lr0v", "block-float-exponents")


def test_extended_half_blocks_are_accepted():
    """OPEN-29: exponent field 0 belongs to an extended block."""
    machine = Machine("strict")
    machine.poke(Memory.LM0, 0, np.full((8, 8, 16, 4, 16), 0x3E00010100800000, np.uint64))
    machine.run("\n".join([f"hmwrite $lm{8 * i}v $lx{4 * i}" for i in range(4)]) + "\nhmmul $lx $lm0v $llr0v")


def test_the_state_before_a_failing_statement_is_kept():
    machine = Machine("strict")
    with pytest.raises(EmulationError):
        machine.run('imm i"1" $lr0v\nimm i"2" $lr8v\nlpassa $mauf $lr0v')
    assert machine.grf(0)[0, 0, 0, 0, 4] == 0x200000002
    assert machine.statistics.steps == 2


def test_modes_agree_on_a_clean_program():
    """A program without hazards leaves the same state in both modes."""
    text = (
        "gbfn $lm0v $lr0v\ngbfn $lm8v $lr8v\nnop\ngmwrite $lr0v $lx0\ngmwrite $lr8v $lx4\n"
        "gmmul $lx $lr0v $ls0v; iadd $lm0v $lr0v $ln0v\nl1bmrffadd $mauf $lb0\nnop/2\nl1bmm $lb0 $ln8v\n"
        "l2bmrffadd $lb0 $lc0\nnop\nmvrffadd/n64i01 $lc0 $p0@0\nnop; wait i01\nfvfma $lm0v $lr0v $lm0v $ls16v $omr1\n"
        "maskr 1\nlpassa $lm0v $lr32v\nmask 0\nfrsqrt $lm0v $ls24v"
    )
    states = []
    for mode in ("strict", "vendor"):
        machine = Machine(mode)
        machine.poke(Memory.LM0, 0, random_longs((8, 8, 16, 4, 16), 5))
        machine.poke(Memory.GRF0, 16, np.zeros(4, np.uint64))
        machine.poke(Memory.L1BM, 0, np.zeros(64, np.uint64))
        machine.run(text)
        states.append(machine)
    assert states[0].compare(states[1].snapshot()) == []


@pytest.mark.parametrize("mode", ["strict", "vendor"])
def test_23_1_tags_above_3f_run(mode: str) -> None:
    """OPEN-51: published tests that the vendor runs use 9f."""
    machine = Machine(mode)
    machine.write_dram(0, 0, np.arange(64, dtype=np.uint64))
    machine.run("mvp/n64i9f $d0@0 $lc0@0.0\nnop; wait i9f")
    assert np.array_equal(machine.l2bm()[0, :64], np.arange(64))


def test_23_1_mvp_to_dram_without_a_named_l2b() -> None:
    """OPEN-37: L2B 0 of each group to the DRAM of that group."""
    machine = Machine("strict")
    for l2b in range(8):
        machine.l2bm()[l2b, :64] = 100 * l2b + np.arange(64)
    machine.engine.shadow.mark_everything()
    machine.run("mvp/n64 $lc0 $d64")
    for group in range(4):
        assert np.array_equal(machine.read_dram(group, 64, 64), 200 * group + np.arange(64, dtype=np.uint64))


def test_a_copy_that_was_clean_meets_a_transfer_when_it_is_repeated() -> None:
    machine = Machine("strict")
    machine.poke(Memory.L2BM, 0, np.zeros((8, 64), np.uint64))
    machine.write_dram(0, 0, np.zeros(64, np.uint64))
    machine.run("l2bmb $lc0 $lb0\nnop/4\nl2bmb $lc0 $lb0\nnop/4\nl2bmb $lc0 $lb64")
    program = "l2bmb $lc0 $lb0\nnop/4\nmvp/n64i01 $d0@0 $lc0@0.0\nl2bmb $lc0 $lb0"
    assert refused(machine, program, "unwaited-transfer").line == 4
    machine.run("nop; wait i01\nl2bmb $lc0 $lb0")


def test_a_copy_that_was_clean_carries_poison_when_it_is_repeated() -> None:
    machine = Machine("strict")
    machine.poke(Memory.L2BM, 0, np.zeros((8, 64), np.uint64))
    machine.run("l2bmb $lc0 $lb0\nnop/4\nl2bmb $lc0 $lb0\nnop/4\nl2bmb $lc0 $lb64")
    program = "mvp/n64i02 $d4096@0 $lc0@0.0\nnop; wait i02\nl2bmb $lc0 $lb0\nnop/4\nl1bmm $lb0 $lr0v\nnop/2"
    refused(machine, f"{program}\nd get $lr0n0c0b0m0p0 1", "uninitialised-read")
