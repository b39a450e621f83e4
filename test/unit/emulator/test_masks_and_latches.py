"""Masks, flags, forwarding latches and issue order (SDM 3.6.1.15, 3.6.1.18, 3.6.2)."""

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import Machine

from .harness import pattern, random_longs, refused


def with_data(mode: str = "vendor", count: int = 32) -> tuple[Machine, np.ndarray, np.ndarray]:
    """A machine with random LM0 and known GRF1."""
    machine = Machine(mode)
    return machine, pattern(Memory.LM0, machine, count), pattern(Memory.GRF1, machine, count, seed=7)


@pytest.mark.parametrize("digits", ["1000", "0100", "0010", "0001", "1010", "1111", "0000"])
def test_fixed_patterns_name_cycles(digits: str):
    """SDM 3.6.2: the first digit is cycle 0; the entry number is 16 plus the pattern."""
    machine, data, before = with_data()
    machine.run(f"lpassa $lm0v $ls0v/{digits}\nlpassa $lm0v $ls8v/$imr{16 + int(digits, 2)}")
    got = machine.peek(Memory.GRF1, 0, 8)
    for cycle in range(4):
        expected = data[..., cycle] if digits[cycle] == "1" else before[..., cycle]
        assert np.array_equal(got[..., cycle], expected)
        expected = data[..., cycle] if digits[cycle] == "1" else before[..., 4 + cycle]
        assert np.array_equal(got[..., 4 + cycle], expected)


def test_a_long_mask_leaves_the_lsb_long_of_a_2_long_write_alone():
    machine, data, before = with_data()
    machine.run("lpassa $llm0v $lls0v/1000\nlpassa $llm0v $lls16v/ll1000")
    got = machine.peek(Memory.GRF1, 0, 16)
    for cycle in range(4):
        written = cycle == 0
        assert np.array_equal(got[..., 2 * cycle], (data if written else before)[..., 2 * cycle])
        assert np.array_equal(got[..., 2 * cycle + 1], data[..., 2 * cycle + 1])
        for half in range(2):
            at = 8 + 2 * cycle + half
            assert np.array_equal(got[..., at], data[..., 2 * cycle + half] if written else before[..., at])


def nibbles_of(machine: Machine, entry: int) -> np.ndarray:
    """[8, 8, 16, 4, cycle] of a mask register."""
    return machine.masks()[..., entry, :]


@pytest.mark.parametrize("two_long", [False, True])
def test_run_time_masks_bit_by_bit(two_long: bool):
    """Bit k governs half word k of the MSB long, or word Dk under a 2-long mask."""
    machine, data, before = with_data()
    masks = random_longs((8, 8, 16, 4, 4), 3).astype(np.uint8) & np.uint8(15)
    machine.masks()[..., 5, :] = masks
    ll = "ll" if two_long else ""
    machine.run(f"lpassa $llm0v $lls0v/${ll}imr5\nlpassa $lm0v $ls16v/${ll}imr5")
    got = machine.peek(Memory.GRF1, 0, 16)
    for cycle in range(4):
        bits = [(masks[..., cycle] >> (3 - k)) & 1 for k in range(4)]
        zero, ones = np.uint64(0), np.uint64((1 << 64) - 1)
        if two_long:
            msb = sum(np.where(bits[k], np.uint64(0xFFFFFFFF << (32 * (1 - k))), zero) for k in range(2))
            lsb = sum(np.where(bits[2 + k], np.uint64(0xFFFFFFFF << (32 * (1 - k))), zero) for k in range(2))
        else:
            msb = sum(np.where(bits[k], np.uint64(0xFFFF << (16 * (3 - k))), zero) for k in range(4))
            lsb = np.full_like(msb, ones)
        for half, keep in enumerate((msb, lsb)):
            at = 2 * cycle + half
            assert np.array_equal(got[..., at], (before[..., at] & ~keep) | (data[..., at] & keep))
        assert np.array_equal(got[..., 8 + cycle], (before[..., 8 + cycle] & ~msb) | (data[..., cycle] & msb))


def test_masked_single_word():
    machine = Machine("vendor")
    machine.poke_words(Memory.GRF1, 0, np.full(8, 0xAAAAAAAA, np.uint32))
    machine.poke_words(Memory.LM0, 0, np.full(8, 0x11223344, np.uint32))
    machine.masks()[..., 3, :] = np.array([0b1000, 0b0100, 0b0011, 0b1111], np.uint8)
    machine.run("ipassa $m0v $s0v/$imr3")
    words = machine.peek_words(Memory.GRF1, 0, 4)[0, 0, 0, 0]
    assert [hex(w) for w in words] == ["0x1122aaaa", "0xaaaa3344", "0xaaaaaaaa", "0x11223344"]


def test_mask_statement_and_its_suspension():
    """SDM 3.6.2.2: a suffix in the step suspends the statement for the whole step; mask 0 ends it."""
    machine, data, before = with_data()
    machine.run("maskns 24\nlpassa $lm0v $ls0v $lr0v\nlpassa $lm0v $ls8v $lr8v/0100")
    machine.run("maskns 24\nmask 0\nlpassa $lm0v $ls16v\nmaskrs 0\nlpassa $lm0v $ls24v")
    got, other = machine.peek(Memory.GRF1, 0, 16), machine.peek(Memory.GRF0, 0, 8)
    assert np.array_equal(got[..., 0], data[..., 0])
    assert np.array_equal(got[..., 1:4], before[..., 1:4])
    assert np.array_equal(other[..., :4], data[..., :4])
    assert np.array_equal(got[..., 4:8], data[..., :4])
    assert np.array_equal(other[..., 5], data[..., 1])
    assert not other[..., 4].any()
    assert np.array_equal(got[..., 8:12], data[..., :4])
    assert np.array_equal(got[..., 12:16], data[..., :4])


def test_measured_mask_of_pe0():
    """After ``lxor $subpeid $lr8 $omr13`` with $lr8 = 0, maskr 13 lets only PE0 of each MAB write."""
    machine, data, _ = with_data()
    machine.run("lxor $subpeid $lr8 $omr13\nmaskr 13\nipassa $lm0v $lr16v")
    got = machine.peek(Memory.GRF0, 8, 4)
    assert np.array_equal(got[:, :, :, 0], data[:, :, :, 0, :4])
    assert not got[:, :, :, 1:].any()


def test_flags_of_passa():
    """Vendor output: lpassa of 0, 1, 0x42, 0 gives 15, 0, 0, 15; the LSB long is ignored."""
    machine = Machine("vendor")
    machine.poke(Memory.LM0, 0, [0, 9, 1, 0, 0x42, 0, 0, 1])
    machine.run("lpassa $llm0v $omr1")
    assert nibbles_of(machine, 1)[4, 4, 4, 2].tolist() == [15, 0, 0, 15]


@pytest.mark.parametrize(
    ("text", "nibble"),
    [
        ("iadd $lr0 $ls0 $omr1", 0b1100),  # 1 + 2 and -5 + 2
        ("uiadd $lr0 $ls0 $omr1", 0b1111),
        ("uisub $lr0 $ls0 $omr1", 0b0011),
        ("isub $lr0 $ls0 $omr1", 0b0000),
        ("imax $lr0 $ls0 $omr1", 0b0000),
        ("imin $lr0 $ls0 $omr1", 0b1111),
        ("imin $lr0 $lr0 $omr1", 0b1111),
        ("ipackbit $lr0 $lr0 $omr1", 0b1100),
        ("frelu $lr0 $ls0 $omr1", 0b1100),
        ("frelu1 $lr0 $ls0 $omr1", 0b1100),
        ("ilnot $lr0 $omr1", 0b1111),
        ("fvpassa $lr0 $omr1", 0b1100),
        ("spassa $lr0 $omr1", 0b1000),
        ("hvpassa $lr0 $omr1", 0b1100),
        ("hvpassar $lr0 $omr1", 0b1100),
        ("lpassa $lr0 $omr1", 0b0000),
        ("dvpassa $lr0 $omr1", 0b1111),
    ],
)
def test_flag_rules(text: str, nibble: int):
    """SDM 3.6.2: one result gives 4 bits, two give 2 bits each, four give 1 bit each; x = (1, -5), y = (2, 2)."""
    machine = Machine("vendor")
    machine.poke(Memory.GRF0, 0, [0x00000001FFFFFFFB])
    machine.poke(Memory.GRF1, 0, [0x0000000200000002])
    machine.run(text)
    assert nibbles_of(machine, 1)[0, 0, 0, 0].tolist() == [nibble] * 4


def test_flagless_operations_store_0000():
    """OPEN-15."""
    machine = Machine("vendor")
    machine.masks()[..., 1, :] = 15
    machine.run('imm i"3" $omr1/1100')
    assert nibbles_of(machine, 1)[0, 0, 0, 0].tolist() == [0, 0, 0, 0]


def test_9_3_a_fixed_mask_on_a_mask_register_is_the_and():
    """Cycles under a 0 digit become 0, whatever the register held (re-executed published program)."""
    for text in ("lpassa $lm0v $omr2/1010", "maskk 26\nlpassa $lm0v $omr2\nmask 0"):
        machine = Machine("vendor")
        machine.masks()[..., 2, :] = 15
        machine.poke(Memory.LM0, 0, [0, 0, 1, 0])
        machine.run(text)
        assert nibbles_of(machine, 2)[3, 1, 7, 0].tolist() == [15, 0, 0, 0]


def test_9_3_a_run_time_mask_on_a_mask_register_is_the_and():
    """OPEN-14: flag bits under a 0 mask bit become 0, bit by bit; a mask is read before it changes."""
    machine = Machine("vendor")
    machine.masks()[..., 1, :] = np.array([0b1010, 15, 0, 0b0110], np.uint8)
    machine.masks()[..., 2, :] = np.array([0b0101, 0b0101, 0b0101, 0], np.uint8)
    machine.poke(Memory.LM0, 0, [0, 0, 1, 0])
    machine.run("lpassa $lm0v $omr2/$imr1\nlpassa $lm0v $omr1/$imr1")
    assert nibbles_of(machine, 2)[0, 0, 0, 0].tolist() == [0b1010, 15, 0, 0b0110]
    assert nibbles_of(machine, 1)[0, 0, 0, 0].tolist() == [0b1010, 15, 0, 0b0110]


def test_mask_register_is_usable_in_the_next_step_and_read_before_it_changes():
    """SDM 3.6.3: read and write of the mask registers in one step see the old value."""
    machine, data, before = with_data()
    machine.poke(Memory.GRF0, 0, [0, 1, 0, 1])
    machine.run("lpassa $lr0v $omr1\nlpassa $lm0v $ls0v/$imr1; dvpassa $lr0v $nowrite\nlpassa $lm0v $ls8v/$imr1")
    got = machine.peek(Memory.GRF1, 0, 8)
    for cycle in range(4):
        assert np.array_equal(got[..., cycle], (data if cycle % 2 == 0 else before)[..., cycle])


def test_zero_flush():
    """SDM 3.6.2.1: bit 0 zeroes its part; flags come from before the flush; the latch gets the flushed value."""
    machine, data, _ = with_data()
    machine.masks()[..., 4, :] = np.array([0b1000, 0b0111, 0, 15], np.uint8)
    machine.run("lpassa/$imr4 $llm0v $lls0v\nlpassa $aluf $llr0v")
    got = machine.peek(Memory.GRF1, 0, 8)
    keep = [0xFFFF << 48, (1 << 48) - 1, 0, (1 << 64) - 1]
    for cycle in range(4):
        assert np.array_equal(got[..., 2 * cycle], data[..., 2 * cycle] & np.uint64(keep[cycle]))
        assert np.array_equal(got[..., 2 * cycle + 1], data[..., 2 * cycle + 1])
    assert np.array_equal(machine.peek(Memory.GRF0, 0, 8), got)
    machine.run("hvpassa/ll0110 $lm0v $llr0v $omr2\nlpassa/ll0111 $llm0v $lls0v")
    flags = nibbles_of(machine, 2)
    assert flags.any()
    assert not machine.peek(Memory.GRF0, 0, 2).any()
    assert not machine.peek(Memory.GRF1, 0, 2).any()
    assert np.array_equal(machine.peek(Memory.GRF1, 2, 6), data[..., 2:8])


def test_write_masks_do_not_touch_the_latch():
    machine, data, _ = with_data()
    machine.run("lpassa $lm0v $ls0v/0000\nlpassa $aluf $lr0v")
    assert np.array_equal(machine.peek(Memory.GRF0, 0, 4), data[..., :4])


def test_latches_hold_the_previous_counted_step():
    """SDM 3.6.1.18: nop and noforward steps are skipped; a counted step replaces every latch."""
    machine, data, _ = with_data()
    machine.run("lpassa $llm0v $nowrite\nnop/2\nnop\ndvpassa $lm8v $lr16v; noforward\nlpassa $aluf $llr0v")
    assert np.array_equal(machine.peek(Memory.GRF0, 0, 8), data[..., :8])
    strict, _, _ = with_data("strict")
    refused(strict, "lpassa $lm0v $nowrite\nfvpassa $lm0v $lr0v\nlpassa $aluf $lr8v", "latch-idle")
    machine.run("lpassa $lm0v $nowrite\nfvpassa $lm0v $lr32v\nlpassa $aluf $lr0v")
    assert not machine.peek(Memory.GRF0, 0, 4).any()  # OPEN-19


def test_units_exchange_results_in_one_step():
    """Every latch read of a step sees the previous step, whatever the order of expressions."""
    for order in ((0, 1), (1, 0)):
        machine = Machine("vendor")
        machine.poke_words(Memory.LM0, 0, np.arange(1, 9).astype(np.float32).view(np.uint32))
        parts = ["fvpassa $aluf $nowrite", "ipassa $mauf $nowrite"]
        machine.run(
            "fvadd $lm0v $lm0v $nowrite; ipassa $lm0v $nowrite\n"
            + "; ".join(parts[i] for i in order) + "\n"
            + "; ".join(parts[i] for i in order) + "\n"
            + "fvpassa $mauf $lr0v; ipassa $aluf $ls0v"
        )  # fmt: skip
        base = np.arange(1, 9).astype(np.float32)
        assert np.array_equal(machine.peek_words(Memory.GRF0, 0, 8).view(np.float32)[0, 0, 0, 0], 2 * base)
        assert np.array_equal(machine.peek_words(Memory.GRF1, 0, 8).view(np.float32)[0, 0, 0, 0], base)


def test_latches_of_the_port_and_the_transposed_read():
    machine = Machine("vendor")
    data = pattern(Memory.L1BM, machine, 64)
    local = pattern(Memory.GRF0, machine, 8)
    machine.run(
        "l1bmm $lb0 $nowrite; gmwrite $lr0v $lx0\nlpassa $lbf $lm0v; gmwrite $lr8v $lx4\n"
        "gmread $lx0 $nowrite\nlpassa $mreadf $ls0v"
    )
    assert np.array_equal(machine.lm(0)[3, 3, 3, 2, :4], data[3, 3, [2, 6, 10, 14]])
    word = machine.peek_words(Memory.GRF1, 0, 2)
    rows = machine.peek_words(Memory.GRF0, 0, 16)
    assert word[0, 0, 0, 1, 1] == rows[0, 0, 0, 0, 2 * 3]
    assert local.shape[-1] == 8


def test_a_result_reaches_all_destinations():
    machine, data, _ = with_data()
    machine.run("lpassa $llm0v $llr0v $lls0v $t $lln0v\nnop\nlpassa $t $llr32v")
    for memory, first in ((Memory.GRF0, 0), (Memory.GRF1, 0), (Memory.LM1, 0), (Memory.GRF0, 16)):
        assert np.array_equal(machine.peek(memory, first, 8), data[..., :8])


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        ("l1bmd $lb0 $ls[0,4,2,6]", "gmwrite $ls0v $lx0"),
        ("lpassa $lr0v $ls[6,4,2,0]", "gmwrite $ls0v $lx0"),
        ("lpassa $lr0v $ls[6,4,2,0]", "l1bmd $ls0v $lb512"),
    ],
)
def test_reads_of_a_step_see_the_state_before_it(writer: str, reader: str):
    """Whatever another unit writes there in an earlier cycle."""
    seen = []
    for both in (f"{writer}; {reader}", f"{reader}; {writer}", f"{reader}\nnop/6\n{writer}"):
        machine = Machine()
        data = np.arange(8 * 8 * 16 * 4 * 8, dtype=np.uint32).reshape(8, 8, 16, 4, 8)
        machine.poke_words(Memory.GRF1, 0, data)
        machine.poke_words(Memory.GRF0, 0, data[..., ::-1])
        machine.run(f"l1bmd $lr0v $lb0\nnop/6\n{both}\nnop/6")
        rows = "gmwrite $lr0v $lx4\nnop\ngmread $lx0 $lr16v\nnop/6" if "gm" in reader else "l1bmd $lb512 $lr16v\nnop/6"
        machine.run(rows)
        seen.append(machine.peek_words(Memory.GRF0, 16, 8))
    assert np.count_nonzero(seen[0]) > 0
    assert all((one == seen[-1]).all() for one in seen)
