"""Strict mode follows words that nobody wrote: what it takes for clean must not depend on what memory held before."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from mnc.mncore_backend.assembly.parser import parse_program
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.checker import Severity, check_program
from mnc.mncore_backend.emulator import EmulationError, Machine
from mnc.mncore_backend.emulator.taint import PATTERNS

from .harness import refused
from .test_random_programs import Writer, writes_apart

PE_MEMORIES = {Memory.LM0: "m", Memory.LM1: "n", Memory.GRF0: "r", Memory.GRF1: "s"}
LONGS = 64


class Transfers(Writer):
    """Random lines with transfers between the PEs, L1BM, L2BM and beyond."""

    def transfer(self) -> str:
        pick, number = self.random.choice, self.random.randrange
        near, wide = f"${pick('nrs')}", pick(["l", "ll"])
        operand = f"{near[0]}{wide}{near[1]}{4 * number(8)}v"
        lb = f"${wide}b{64 * number(4)}"
        lines = [
            f"l1bmm {lb} {operand}", f"l1bmp {lb} {operand}", f"l1bmm4 {lb} {operand}",
            f"l1bmd+{number(16)} $lb{256 * number(2)} $l{near[1]}{8 * number(4)}v",
            f"l1bmm@{number(16)} {operand} {lb}", f"l1bmm4@{number(4)} {operand} {lb}",
            f"l1bmd-{number(16)} $l{near[1]}{8 * number(4)}v $lb{256 * number(2)}",
            f"l1bmrffadd {operand} {lb}", f"l1bmr4fmax {operand} {lb}", f"l1bmrhmax $l{near[1]}8v $lb64",
            f"l1bmrdfadd $l{near[1]}8v $lb128", f"l1bmrlbor {operand} {lb}",
            f"l1bmrffaddr $ll{near[1]}8v $lb0", f"l1bmrhfadd $l{near[1]}16v $lb64", f"l1bmrsiadd $l{near[1]}16v $lb64",
            f"l2bmb{pick(['', '@1', '@0/3'])} $lc{64 * number(4)} $lb{64 * number(4)}", "l2bmd@2 $lc256 $lb64",
            f"l2bmd $lb{64 * number(4)} $lc{256 * number(2)}", f"l2bm@{number(8)} $lb64 $lc{64 * number(4)}",
            f"l2bmrffadd@{number(8)}/4 $lb0 $lc64", "l2bmr2hfadd $lb64 $lc256", "l2bmi@0/4 $lb0 $lb128",
            "l2bmriiadd $lb128 $lc0",
        ]  # fmt: skip
        return pick(lines)

    def move(self) -> str:
        pick, number = self.random.choice, self.random.randrange
        a, b, g, l = 64 * number(4), 64 * number(4), number(4), number(2)
        return pick([
            f"mvp/n128 $lc{a}@{g}.{l} $p{b}@{number(4)}", f"mvp/n64 $p{a}@{g} $lc{b}@{number(4)}.{l}",
            f"mvb/n64 $p{a}@{g} $lc{b}", f"mvrffadd/n64 $lc{a} $p{b}@{g}", f"mvd/n64 $lc{a} $p{8 * b}@{g}",
            f"mvp/n64 $lc{a}@.{l} $d{b}", f"mvb4/n64 $d{a} $lc{b}", f"mvr4hmax/n64 $lc{a} $d{b}", "mvb2/n64 $d0 $lc64",
        ])  # fmt: skip

    def lines(self, length: int) -> Iterator[str]:
        """Lines; distances and waits are kept by steps in between."""
        for _ in range(length):
            kind = self.random.random()
            if kind < 0.35:
                yield self.transfer()
            elif kind < 0.5:
                yield self.move()
            elif kind < 0.6:
                yield from self.matrix()
            elif kind < 0.8:
                yield self.alu()
            else:
                yield self.vector()


def prepared_program(seed: int, length: int = 30) -> str:
    """A program whose data are in a few places only, with everything else as it was."""
    rng, pick = np.random.default_rng(seed), random.Random(seed)
    lines = []
    for letter in "mnrs":
        for _ in range(3):
            scope = pick.choice(["", "", f"n{pick.randrange(4)}", f"c0b{pick.randrange(8)}", f"m{pick.randrange(16)}",
                                 f"p{pick.randrange(4)}"])  # fmt: skip
            first, count = 2 * pick.randrange(32), pick.randrange(1, 17)
            words = rng.integers(0x3E000000, 0x40800000, 2 * count)
            values = "".join(f"{int(w):08x}" for w in words)
            lines.append(f"d set $l{letter}{first}{scope} {count} {values}")
    lines.append("d set $lt 4 " + "".join(f"00000000{4 * pick.randrange(16):08x}" for _ in range(4)))
    lines.append("d set $lb0 64 " + "".join(f"{int(w):016x}" for w in rng.integers(0, 1 << 62, 64)))
    lines.append("d set $lc0n0 128 " + "".join(f"{int(w):016x}" for w in rng.integers(0, 1 << 62, 128)))
    kept = list(lines)
    writer = Transfers(seed)
    for line in writer.lines(length):
        if not line.startswith("mv") and not writes_apart(line):
            continue
        added = [line, "nop/12"]
        if line.startswith("mv"):
            head, _, rest = line.partition(" ")
            added = [f"{head}i01 {rest}", "nop; wait i01", "nop/4"]
        if not any(f.severity is Severity.ERROR for f in check_program(parse_program("\n".join([*kept, *added])))):
            kept += added
    return "\n".join(kept)


def clean_longs(machine: Machine, memory: Memory) -> np.ndarray:
    """Ones where a PE memory depends on no unwritten word, [block, PE, long word]."""
    shadow = machine.engine.shadow
    return np.stack([~PATTERNS[shadow.nibbles(memory, long)] for long in range(LONGS)], axis=-1)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_clean_does_not_depend_on_what_memory_held(seed: int) -> None:
    """Two machines with different random words agree wherever strict mode sees no poison, and their results are those
    of strict mode."""
    lines = prepared_program(seed).split("\n")
    while True:
        strict = Machine("strict")
        try:
            strict.run("\n".join(lines))
            break
        except EmulationError as error:
            lines[error.line - 1] = ""
    machines = [strict]
    for dirty in (seed, seed + 1000):
        machines.append(Machine("vendor", dirty=dirty))
        machines[-1].run("\n".join(lines))
    compared = poisoned = 0
    shadow = strict.engine.shadow
    for memory in PE_MEMORIES:
        clean = clean_longs(strict, memory)
        values = [m.peek(memory, 0, LONGS).reshape(64, 64, LONGS) & clean for m in machines]
        compared += int((clean != 0).sum())
        poisoned += int((clean == 0).sum())
        for other in values[1:]:
            assert np.array_equal(values[0], other), f"{memory.name}: {np.argwhere(values[0] != other)[:3].tolist()}"
    for memory, size in ((Memory.L1BM, 1024), (Memory.L2BM, 1024), (Memory.PDM, 4096)):
        clean = ~PATTERNS[shadow.sync(memory, slice(0, size))]
        values = [m.longs(memory).reshape(len(clean), -1)[:, :size] & clean for m in machines]
        for other in values[1:]:
            assert np.array_equal(values[0], other), f"{memory.name}: {np.argwhere(values[0] != other)[:3].tolist()}"
    for group in range(4):
        clean = ~PATTERNS[strict.engine.state.dram[group].poison(0, 512)]
        values = [m.read_dram(group, 0, 512) & clean for m in machines]
        assert all(np.array_equal(values[0], other) for other in values[1:])
    assert compared and poisoned


DATA = "d set $lm0n0c0b0 4 " + "3ff0000000000000" * 4 + "\n"
ALL = "d set $lm0 4 " + "3ff0000000000000" * 4 + "\n"
FINE = {
    "idle PEs": DATA + "dvpassa $lm0v $lr0v\nnop\nlpassa $lr0v $ln0v\nd get $ln0n0c0b0 4",
    "a block of 64 of which 16 were written": DATA + "l1bmm@0 $lm0v $lb0\nnop/3\nl2bm@0 $lb0 $lc0\nnop\n"
    "mvp/n64i01 $lc0@0.0 $p0@0\nnop; wait i01\nd get $p0n0 16",
    "words of a long": "d set $m0 1 3f80000000000000\nfvadd $lm0v $lm0v $lr0v\nnop\nlpassa $lr0v $ln0v\n"
    "d getf $n0n0c0b0m0p0 1",
    "what a mask leaves out": DATA + "lpassa $lm0v $ln0v\nzero $nowrite\nlpassa $lm0v $lr0v/1000\nd get $lr0n0c0b0 1",
    "a poisoned mask in idle PEs": DATA + "lxor $lm0v $lm0v $omr1\nlpassa $lm0v $ln0v/$imr1\nd get $ln0n0c0b0 4",
    "a poisoned mask everywhere, of padding": DATA + "ixor $ln8v $ln8v $omr1\nlpassa $lm0v $lr0v/$imr1\n"
    "lpassa $lm0v $ln0v\nd get $ln0n0c0b0 4",
    "a poisoned address everywhere, of padding": DATA + "lpassa $ln8v $t\nnop\nlpassa $lmt0v $lr0v\n"
    "lpassa $lm0v $ln0v\nd get $ln0n0c0b0 4",
    "addresses of idle PEs outside memory": "d set $lr0 4 " + "7fffffff7fffffff" * 4 + "\nd set $ls0n0c0b0 4 "
    + "0000000000000000" * 4 + "\n" + DATA + "land $lr0v $ls0v $t\nnop\nlpassa $lmt0v $ln0v\nd get $ln0n0c0b0 4",
    "a zero flush": "lpassa/0111 $lm0v $lr0v\nnop/2\nd get $lr0n0c0b0m0p0 1",
    "a reduction over what was written": DATA + "l1bmrdfadd $lm0v $lb0\nnop/3\nd get $lb0n0c0b0 16",
    "a latch": DATA + "dvadd $lm0v $lm0v $nowrite\nlpassa $mauf $lr0v\nd get $lr0n0c0b0m3p2 4",
    "rows of a bank": DATA + "nop/2\ndbfn $lm0v $lr0v\nnop\ndmwrite $lr0v $lx0\ndmmulu $lx $lr0v $ls0v\n"
    "d get $ls0n0c0b0m0 4",
}
POISON = {
    "another PE": ("dvpassa $lm0v $lr0v\nnop\nlpassa $lr0v $ln0v\nd get $ln0n0c0b1m0p0 1", "word 0 of $m", 2),
    "the other word of a long": ("d set $m8 1 3f80000000000000\nfvadd $lm8v $lm8v $lr0v\nd getf $lr0n0c0b0m0p0 1",
                                 "word 9 of $m", 3),
    "a sum over blocks": ("l1bmrdfadd $lm0v $lb0\nnop/3\nl2bmrdfadd $lb0 $lc0\nnop/3\nd get $lc0n0c0 1",
                          "word 0 of $m", 2),
    "a block exponent": ("gbfn $lm0v $lr0v\nd set $lm16n0c0b1m0p0 1 3f8000003f800000\ngbfn $lm16v $ls0v\n"
                         "d get $ls0n0c0b1m0p0 1", "word 16 of $m", 4),
    "DRAM": ("mvp/n64i01 $p0@0 $lc0@0.0\nnop; wait i01\nmvp/n64i02 $lc0@0.0 $d64@2\nnop; wait i02\nd get $d64n2 1",
             "long word 0 of $p", 2),
    "a mask everywhere": (ALL + "ixor $ln8v $ln8v $omr1\nlpassa $lm0v $ln0v/$imr1\nd get $ln0n0c0b0m0p0 1",
                          "word 8 of $n", 3),
    "a mask that no step wrote": ("lpassa $lm0v $ln0v/$imr1", "mask register 1", 2),
    "an address everywhere": (ALL + "lpassa $ln8v $t\nnop\nlpassa $lmt0v $lr0v\nd get $lr0n0c0b0m0p0 1",
                              "word 8 of $n", 3),
    "an address that no step wrote": ("lpassa $lmt0v $lr0v", "entry 0 of $t", 2),
    "writes to an address everywhere": (ALL + "lpassa $ln8v $t\nnop\nlpassa $ls0v $lmt0v", "word 8 of $n", 3),
    "a base register": (ALL + "lpassa $ln8v $mb\nnop/2\nlpassa $lm0v $lr0v\nd get $lr0n0c0b0m0p0 1",
                        "word 8 of $n", 3),
    "writes behind a base register": (ALL + "lpassa $ln8v $mb\nnop/2\nlpassa $ls0v $lm8v", "word 8 of $n", 3),
    "flags of a comparison": ("imax $ls8v $ls8v $omr2\nd get $omr2n0c0b0m0p0 1", "word 8 of $s", 2),
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_poison_in_lanes_that_nobody_asks_for_is_fine(name: str) -> None:
    machine = Machine("strict")
    machine.run(FINE[name])
    vendor = Machine("vendor")
    vendor.run(FINE[name])
    assert machine.dump and machine.dump == vendor.dump


@pytest.mark.parametrize("name", POISON)
def test_poison_in_a_result_names_the_line_where_it_was_read_first(name: str) -> None:
    text, word, line = POISON[name]
    error = refused(Machine("strict"), DATA + text, "uninitialised-read")
    assert word in str(error), str(error)
    assert f"first in line {line}" in str(error) or error.line == line, str(error)


def test_dirty_memories_are_for_vendor_mode() -> None:
    with pytest.raises(ValueError):
        Machine("strict", dirty=1)
    dumps = []
    for seed in (1, 1, 2):
        machine = Machine("vendor", dirty=seed)
        machine.run("d get $lm0n0c0b0m0p0 1\nd get $lc8n1c1 1\nd get $d123456n2 1\nlpassa $lm0v $ln0v\nd get $p9n3 1")
        dumps.append(machine.dump)
    assert dumps[0] == dumps[1] and all(a != b for a, b in zip(dumps[0], dumps[2], strict=True))
