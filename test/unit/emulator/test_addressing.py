"""Which words an operand touches in each cycle (SDM 3.6.1)."""

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import Machine

from .harness import pattern, random_longs, refused, run

WORDS = 512


def filled(mode: str = "vendor") -> Machine:
    """Word a of LM0, LM1, GRF0 and GRF1 of every PE holds a."""
    machine = Machine(mode)
    for memory, count in ((Memory.LM0, 4096), (Memory.LM1, 4096), (Memory.GRF0, 512), (Memory.GRF1, 512)):
        machine.poke_words(memory, 0, np.arange(count, dtype=np.uint32))
    return machine


SEQUENCES = [
    ("$lr4", [4, 4, 4, 4], 2),
    ("$r4v", [4, 5, 6, 7], 1),
    ("$lr4v", [4, 6, 8, 10], 2),
    ("$llr4v", [4, 8, 12, 16], 4),
    ("$r1v2", [1, 3, 5, 7], 1),
    ("$lm0v16", [0, 16, 32, 48], 2),
    ("$lln4v8", [4, 12, 20, 28], 4),
    ("$lr[128,128,128,0]", [128, 128, 128, 0], 2),
    ("$s[5,3,9,1]", [5, 3, 9, 1], 1),
]


@pytest.mark.parametrize(("text", "addresses", "width"), SEQUENCES)
def test_read_sequences(text: str, addresses: list[int], width: int):
    """Narrow reads fill D0 upwards and zero the rest (OPEN-09)."""
    machine = filled()
    machine.run(f"lpassa {text} $t\nnop/2\nlpassa $t $lln1024v")
    words = machine.peek_words(Memory.LM1, 1024, 16)[2, 3, 4, 1].reshape(4, 4)
    for cycle, first in enumerate(addresses):
        assert words[cycle].tolist() == [first + i if i < width else 0 for i in range(4)]


@pytest.mark.parametrize(("text", "addresses", "width"), SEQUENCES)
def test_write_sequences(text: str, addresses: list[int], width: int):
    """Writes take D0 upwards; the last cycle stays where cycles coincide."""
    machine = Machine("vendor")
    data = pattern(Memory.LM1, machine, 8) if "$l" not in text[:2] or "n" not in text else None
    source = "$lln0v" if "n" not in text else "$llm0v"
    if data is None or source == "$llm0v":
        data = pattern(Memory.LM0, machine, 8)
    machine.run(f"lpassa {source} {text}")
    memory = {"r": Memory.GRF0, "s": Memory.GRF1, "m": Memory.LM0, "n": Memory.LM1}[text.lstrip("$l")[0]]
    result = machine.peek_words(memory, 0, 256)[1, 1, 1, 1]
    longs = data[1, 1, 1, 1]
    expected = np.zeros(256, np.uint32)
    for cycle, first in enumerate(addresses):
        d = [int(longs[2 * cycle]) >> 32, int(longs[2 * cycle]) & 0xFFFFFFFF]
        d += [int(longs[2 * cycle + 1]) >> 32, int(longs[2 * cycle + 1]) & 0xFFFFFFFF]
        expected[first : first + width] = d[:width]
    assert np.array_equal(result, expected)


def test_t_indirect_and_j():
    """Tidx is word D1 of the MSB long of the entry; j<madpe> adds one access width to PEs 0..madpe."""
    machine = filled()
    entries = np.zeros((8, 8, 16, 4, 4), np.uint64)
    k = np.arange(4096).reshape(8, 8, 16, 4) % 300
    for cycle in range(4):
        entries[..., cycle] = 2 * (k + cycle)
    machine.longs(Memory.T)[..., 0] = entries
    machine.run("lpassa $lmt0v16 $lr0v\nlpassa $lm2048v4j0 $ls0v\nlpassa $lmt[2,0,6,4] $ln0v")
    got, offset = machine.peek_words(Memory.GRF0, 0, 8), machine.peek_words(Memory.GRF1, 0, 8)
    flat = machine.peek_words(Memory.LM1, 0, 8)
    for cycle in range(4):
        assert np.array_equal(got[..., 2 * cycle], 16 * cycle + 2 * (k + cycle))
        assert np.array_equal(flat[..., 2 * cycle], [2, 0, 6, 4][cycle] + 2 * (k + cycle))
        assert (offset[:, :, :, 0, 2 * cycle] == 2050 + 4 * cycle).all()
        assert (offset[:, :, :, 1:, 2 * cycle] == 2048 + 4 * cycle).all()


@pytest.mark.parametrize("width", ["", "l", "ll"])
def test_t_indirect_write(width: str):
    machine = Machine("vendor")
    data = pattern(Memory.GRF0, machine, 8)
    index = np.random.default_rng(1).integers(0, 500, (8, 8, 16, 4, 1), dtype=np.uint64) * np.uint64(8)
    machine.longs(Memory.T)[..., 0] = index
    machine.run(f"lpassa $llr0v ${width}mt16v4")
    w = {"": 1, "l": 2, "ll": 4}[width]
    for where in ((0, 0, 0, 0), (7, 7, 15, 3), (3, 1, 4, 2)):
        for cycle in range(4):
            first = 16 + 4 * cycle + int(index[where][0])
            got = machine.peek_words(Memory.LM0, first, 4)[where]
            longs = [int(x) for x in data[where][2 * cycle : 2 * cycle + 2]]
            expected = [longs[0] >> 32, longs[0] & 0xFFFFFFFF, longs[1] >> 32, longs[1] & 0xFFFFFFFF]
            assert got[:w].tolist() == expected[:w]


def test_t_index_is_taken_before_t_changes():
    """A T-indirect access may share the step with a write of T."""
    machine = filled()
    machine.longs(Memory.T)[..., 0] = 8
    machine.run(
        'imm i"100" $lr0v\nnop\nlpassa $lmt0v $ln0v\ndvpassa $lmt0 $ln8v; lpassa $lr0v $t\nlpassa $lr0v $lmt64v'
    )
    assert machine.peek_words(Memory.LM1, 0, 1)[0, 0, 0, 0, 0] == 8


def test_base_register():
    """Measured: LM1 BAR = 4 makes $ln0 read physical word 4; reads and writes are both displaced."""
    machine = filled()
    machine.run('imm i"4" $nb\nnop/3\nlpassa $ln0v $lr0v\nlpassa $lm0v $ln100v')
    assert machine.peek_words(Memory.GRF0, 0, 8)[0, 0, 0, 0].tolist() == [4, 5, 6, 7, 8, 9, 10, 11]
    assert machine.peek_words(Memory.LM1, 104, 2)[0, 0, 0, 0].tolist() == [0, 1]


def test_base_register_per_pe_and_low_12_bits_of_d0():
    """OPEN-11: D0 feeds the register; unequal registers are followed PE by PE."""
    machine = filled()
    machine.run('imm i"8" $lr0v\nnop\nilsl $subpeid $lr0v $nowrite\nipassa $aluf $mb\nnop/3\nlpassa $lm0 $ls0v')
    machine.run("lpassa $ls0v $lm2v")
    got = machine.peek_words(Memory.GRF1, 0, 1)[5, 5, 5, :, 0]
    assert got.tolist() == [0, 256, 512, 768]
    for pe in range(4):
        assert machine.peek_words(Memory.LM0, 256 * pe + 2, 1)[0, 0, 0, pe, 0] == 256 * pe
    machine.run('imm i"0x7001004" $mb\nnop/3\nlpassa $lm0 $ls0v')
    assert machine.peek_words(Memory.GRF1, 0, 1)[0, 0, 0, 3, 0] == 4


def test_base_register_keeps_the_last_written_cycle():
    machine = filled()
    machine.run("lpassa $lr[16,32,64,128] $mb\nnop/3\nlpassa $lm0 $ls0v")
    machine.run("lpassa $lr[16,32,64,128] $mb/0100\nnop/3\nlpassa $lm0 $ls8v")
    assert machine.peek_words(Memory.GRF1, 0, 1)[0, 0, 0, 0, 0] == 128
    assert machine.peek_words(Memory.GRF1, 8, 1)[0, 0, 0, 0, 0] == 32


def test_run_time_addresses_align_down_and_wrap_in_vendor_mode():
    """SDM 3.6.1.6."""
    machine = filled()
    machine.run('imm i"4094" $mb\nnop/3\nlpassa $lm0v $lr0v\nimm i"3" $mb\nnop/3\nlpassa $lm0v $ls0v')
    assert machine.peek_words(Memory.GRF0, 0, 4)[0, 0, 0, 0].tolist() == [4094, 4095, 0, 1]
    assert machine.peek_words(Memory.GRF1, 0, 2)[0, 0, 0, 0].tolist() == [2, 3]


def test_reads_of_a_step_see_the_state_before_it():
    """Vendor example: GRF0 long 0 holds 2, linc $lr0 $lr0 leaves 3."""
    machine = Machine("strict")
    machine.poke(Memory.GRF0, 0, [2])
    machine.run("linc $lr0 $lr0")
    assert (machine.grf(0)[..., 0] == 3).all()


def test_narrow_writes_keep_the_msb_side():
    """Vendor output: hvmul of halves (1,5,9,13) and (1,9,17,25) to $ls0 leaves 1.0 and 45.0."""
    machine = Machine("strict")
    machine.poke(Memory.LM0, 0, [0x3E00428044404540])
    machine.poke(Memory.LM1, 0, [0x3E00444046204720])
    machine.run("hvmul $lm0 $ln0 $ls0")
    assert (machine.grf(1)[..., 0] == 0x3F80000042340000).all()


def test_single_words_use_element_0():
    machine = filled()
    machine.run("iadd $m3v $r5v $n9v")
    assert machine.peek_words(Memory.LM1, 9, 4)[0, 0, 0, 0].tolist() == [8, 10, 12, 14]
    assert machine.peek_words(Memory.LM1, 13, 1)[0, 0, 0, 0, 0] == 13


def test_lsb_long_of_other_operations_copies_the_first_input():
    machine = filled()
    machine.run("iadd $llr0v $lls16v $llm64v\niadd $lr0v $lls16v $llm128v")
    assert machine.peek_words(Memory.LM0, 64, 4)[0, 0, 0, 0].tolist() == [16, 18, 2, 3]
    assert machine.peek_words(Memory.LM0, 128, 4)[0, 0, 0, 0].tolist() == [16, 18, 0, 0]


@pytest.mark.parametrize(
    ("text", "values"),
    [("$subpeid", lambda l, b, m, p: p), ("$mabid", lambda l, b, m, p: m), ("$peid", lambda l, b, m, p: 4 * m + p),
     ("$l1bid", lambda l, b, m, p: b), ("$l2bid", lambda l, b, m, p: l)],
)  # fmt: skip
def test_fixed_values(text: str, values):
    machine = run(f"lpassa {text} $lm0\nipassa {text} $llr0\nhpassa {text} $ls0")
    l, b, m, p = np.indices((8, 8, 16, 4))
    expected = values(l, b, m, p)
    assert np.array_equal(machine.lm(0)[..., 0], expected.astype(np.uint64))
    assert np.array_equal(machine.peek_words(Memory.GRF0, 0, 4), np.repeat(expected[..., None], 4, axis=-1))
    halves = machine.peek_words(Memory.GRF1, 0, 1)[..., 0]
    assert np.array_equal(halves, expected * 0x10001)


def test_msb1():
    machine = run("inot $msb1 $lm0\nhpassa $msb1 $lr0\nlpassa $msb1 $ls0")
    assert (machine.lm(0)[..., 0] == 0x7FFFFFFF7FFFFFFF).all()
    assert (machine.grf(0)[..., 0] == 0x8000800080008000).all()
    assert (machine.grf(1)[..., 0] == 0x8000000000000000).all()


@pytest.mark.parametrize(
    ("text", "longs"),
    [('imm f"-1.0"', 0xBF800000BF800000), ('imm h"1.0"', 0x3E003E003E003E00), ('imm i"-1"', (1 << 64) - 1),
     ('imm ui"0xffffffff"', (1 << 64) - 1), ('imm us"0x8000"', 0x8000800080008000), ('imm s"-2"', 0xFFFEFFFEFFFEFFFE),
     ('imm f"inf"', 0x7F8000007F800000), ('imm i"0b101"', 0x500000005), ('immu i"0x40180000"', 0x4018000000000000),
     ('imm f"8388608"', 0x4B0000004B000000), ('imm h"0.333333333"', 0x3AAB3AAB3AAB3AAB),
     ('imm h"1e10"', 0x7E007E007E007E00)],
)  # fmt: skip
def test_immediates(text: str, longs: int):
    """SDM 3.2.2: imm fills the 2-long with x x x x, immu with x 0 x 0."""
    machine = run(f"{text} $llr0v")
    assert (machine.peek(Memory.GRF0, 0, 8) == longs).all()


@pytest.mark.parametrize("text", ['imm s"0x8000" $t', 'imm i"2147483648" $t', 'imm ui"-1" $t', 'imm us"65536" $t'])
def test_immediates_out_of_range(text: str):
    from mnc.core.diagnostics import CompileError

    with pytest.raises(CompileError):
        run(text)


def test_constant_operands_are_not_shared_with_results():
    """A zero-flushed immediate must not change the immediate itself."""
    machine = run('imm/1000 i"7" $lr0v\nimm i"7" $ls0v')
    assert machine.peek(Memory.GRF0, 0, 4)[0, 0, 0, 0].tolist() == [0x700000007, 0, 0, 0]
    assert (machine.peek(Memory.GRF1, 0, 4) == 0x700000007).all()


def test_hostile_t_and_base_registers_stay_inside():
    """Any T and base register contents address the own memory of the PE only."""
    machine = Machine("vendor")
    machine.longs(Memory.T)[...] = random_longs((8, 8, 16, 4, 4, 2), 9)
    machine.poke(Memory.GRF0, 0, random_longs((8, 8, 16, 4, 256), 10))
    registers = machine.peek(Memory.GRF0, 0, 256)
    machine.run("lpassa $lr0v $mb\nnop/3\nlpassa $llmt4092v $lln0v\nlpassa $lr8v $lmt4000v1000\nlpassa $lm4094j3 $ls0v")
    assert (machine.peek(Memory.GRF0, 0, 256) == registers).all()  # the neighbours of what was written
    assert not machine.peek(Memory.GRF1, 4, 252).any() and not machine.longs(Memory.L1BM).any()
    refused(machine_strict(), "lpassa $lmt0v $ln0v", "wrap-around")


def machine_strict() -> Machine:
    """A strict machine whose T holds large indices."""
    machine = Machine("strict")
    machine.poke(Memory.LM0, 0, np.zeros(2048, np.uint64))
    machine.engine.shadow.mark_host(Memory.T, 0, 0)
    machine.longs(Memory.T)[...] = 0xFFFF0
    return machine
