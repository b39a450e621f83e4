# pyright: reportReturnType=false
"""Address mapping of every L1BM transfer against the formulas of SDM 3.6.8, written out per element."""

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import Machine

from .harness import pattern, random_longs

L1BM = Memory.L1BM


def offset(family: str, two_long: bool, m: int, p: int, c: int, h: int) -> int:
    """E(m, p, c, h): long word of L1BM, relative to its address, of long word h of PE (m, p) in cycle c."""
    if family == "p":
        return c + 4 * h
    if family == "m":
        return 8 * c + 4 * h + p if two_long else 4 * c + p
    if family == "m4":
        q = m // 4
        return 32 * c + 8 * q + 4 * h + p if two_long else 16 * c + 4 * q + p
    return 64 * c + 4 * m + p


def elements(two_long: bool):
    """(m, p, c, h) of one step."""
    return np.ndindex(16, 4, 4, 2 if two_long else 1)


DOWN = [("p", False), ("p", True), ("m", False), ("m", True), ("m4", False), ("m4", True), ("d", False)]


@pytest.mark.parametrize(("family", "two_long"), DOWN)
def test_from_l1bm_to_every_pe(family: str, two_long: bool):
    machine = Machine("strict")
    data = pattern(L1BM, machine, 512)
    ll, address = ("ll" if two_long else "l"), 256
    machine.run(f"l1bm{family} ${ll}b{address} ${ll}m16v")
    got = machine.peek(Memory.LM0, 8, 8)
    for m, p, c, h in elements(two_long):
        column = (2 * c + h) if two_long else c
        expected = data[:, :, address + offset(family, two_long, m, p, c, h)]
        assert np.array_equal(got[:, :, m, p, column], expected), (m, p, c, h)


@pytest.mark.parametrize("two_long", [False, True])
@pytest.mark.parametrize(("family", "k"), [("m", 0), ("m", 11), ("m4", 0), ("m4", 3)])
def test_selected_mabs_to_l1bm(family: str, k: int, two_long: bool):
    machine = Machine("strict")
    data = pattern(Memory.LM1, machine, 16)
    ll, address = ("ll" if two_long else "l"), 512
    machine.run(f"l1bm{family}@{k} ${ll}n0v ${ll}b{address}")
    got = machine.peek(L1BM, 0, 1024)
    for q, p, c, h in np.ndindex(4 if family == "m4" else 1, 4, 4, 2 if two_long else 1):
        m = 4 * q + k if family == "m4" else k
        column = (2 * c + h) if two_long else c
        at = address + offset(family, two_long, 4 * q, p, c, h)
        assert np.array_equal(got[:, :, at], data[:, :, m, p, column]), (q, p, c, h)


def test_distribution_to_l1bm():
    machine = Machine("strict")
    data = pattern(Memory.GRF0, machine, 8)
    machine.run("l1bmd $lr0v2 $lb64")
    got = machine.peek(L1BM, 64, 256)
    for m, p, c, _ in elements(False):
        assert np.array_equal(got[:, :, 64 * c + 4 * m + p], data[:, :, m, p, c])


@pytest.mark.parametrize("shift", [1, -1, 5, 15, 0])
def test_shift_delivers_to_the_mab_shifted_by_n(shift: int):
    """SDM 3.6.8.19 and measured: ``l1bmd+1`` gives MAB m the slot of MAB m - 1."""
    machine = Machine("strict")
    data = pattern(L1BM, machine, 256)
    local = pattern(Memory.GRF1, machine, 4, seed=5)
    machine.run(f"l1bmd{shift:+d} $lb0 $lm0v\nl1bmd{shift:+d} $ls0v $lb256")
    got, stored = machine.peek(Memory.LM0, 0, 4), machine.peek(L1BM, 256, 256)
    for m, p, c, _ in elements(False):
        assert np.array_equal(got[:, :, m, p, c], data[:, :, 64 * c + 4 * ((m - shift) % 16) + p])
        assert np.array_equal(stored[:, :, 64 * c + 4 * ((m + shift) % 16) + p], local[:, :, m, p, c])


@pytest.mark.parametrize("two_long", [False, True])
@pytest.mark.parametrize(
    ("operation", "precision"), [("iadd", "l"), ("iadd", "i"), ("iadd", "s"), ("bor", "l"), ("band", "i")]
)
@pytest.mark.parametrize("fan", ["", "4"])
def test_integer_reductions(operation: str, precision: str, fan: str, two_long: bool):
    if two_long and operation != "bor":
        pytest.skip("2-long reductions exist for single sums and for bor")
    machine = Machine("strict")
    data = pattern(Memory.LM0, machine, 8)
    ll = "ll" if two_long else "l"
    machine.run(f"l1bmr{fan}{precision}{operation} ${ll}m0v ${ll}b128")
    lane = {"l": np.uint64, "i": np.uint32, "s": np.uint16}[precision]
    family = "m4" if fan else "m"
    for q, p, c, h in np.ndindex(4 if fan else 1, 4, 4, 2 if two_long else 1):
        column = (2 * c + h) if two_long else c
        mabs = range(4 * q, 4 * q + 4) if fan else range(16)
        stacked = np.ascontiguousarray(data[:, :, list(mabs), p, column]).view(lane).reshape(8, 8, len(mabs), -1)
        ufunc = {"iadd": np.add, "bor": np.bitwise_or, "band": np.bitwise_and}[operation]
        expected = ufunc.reduce(stacked, axis=2, dtype=lane)
        at = 128 + offset(family, two_long, 4 * q, p, c, h)
        got = np.ascontiguousarray(machine.peek(L1BM, at, 1)).view(lane).reshape(8, 8, -1)
        assert np.array_equal(got, expected), (q, p, c, h)


def test_logical_reductions_give_one_or_zero():
    """SDM 3.5.7: and/or are logical per lane, unlike band/bor."""
    machine = Machine("strict")
    values = np.zeros((8, 8, 16, 4, 1), np.uint64)
    values[:, :, 3, 0] = 0x0000000500000000
    values[:, :, :, 1] = 0x8000000000000001
    machine.poke(Memory.LM0, 0, values)
    machine.run("l1bmrior $lm0 $lb0\nl1bmriand $lm0 $lb16")
    assert machine.l1bm()[0, 0, :4].tolist() == [0x0000000100000000, 0x0000000100000001, 0, 0]
    assert machine.l1bm()[0, 0, 16:20].tolist() == [0, 0x0000000100000001, 0, 0]


def test_non_stepped_operands():
    """SDM 3.6.8: up transfers read the same word four times; down transfers leave the value of cycle 3."""
    machine = Machine("strict")
    data, local = pattern(L1BM, machine, 64), pattern(Memory.LM1, machine, 1, seed=3)
    machine.run("l1bmm $lb0 $lm0\nl1bmm $lb0 $ls0/1000\nl1bmm@2 $ln0 $lb128")
    stored = machine.peek(L1BM, 128, 16)
    for p in range(4):
        assert np.array_equal(machine.lm(0)[:, :, 7, p, 0], data[:, :, 12 + p])
        assert np.array_equal(machine.grf(1)[:, :, 7, p, 0], data[:, :, p])
        for c in range(4):
            assert np.array_equal(stored[:, :, 4 * c + p], local[:, :, 2, p, 0])


WIDTHS = [
    ("l1bmm $lb0 $llm0v", lambda d, c: (d[c], 0)),
    ("l1bmm $llb0 $lm0v4", lambda d, c: (d[2 * c], None)),
    ("l1bmm $lb0 $m0v4", lambda d, c: (d[c] >> 32 << 32, None)),
]


@pytest.mark.parametrize(("text", "expected"), WIDTHS)
def test_width_mismatch_fills_and_truncates_at_the_lsb_side(text: str, expected):
    """OPEN-45."""
    machine = Machine("vendor")
    data = pattern(L1BM, machine, 64)
    machine.run(text)
    got = machine.peek(Memory.LM0, 0, 8)[1, 2, 3]
    for p, c in np.ndindex(4, 4):
        msb, lsb = expected([int(x) for x in data[1, 2, p::4]], c)
        assert int(got[p, 2 * c]) == msb
        if lsb is not None:
            assert int(got[p, 2 * c + 1]) == lsb


def test_upward_width_mismatch():
    """OPEN-45: a narrow operand fills the MSB side, the LSB long of a 2-long operand is dropped by a one-long form."""
    machine = Machine("vendor")
    data = pattern(Memory.LM0, machine, 8)
    machine.run("l1bmm@0 $lm0v $llb0\nl1bmm@0 $llm0v $lb64\nl1bmm@0 $m0v2 $lb128")
    got = machine.l1bm()
    for p, c in np.ndindex(4, 4):
        assert np.array_equal(got[:, :, 8 * c + p], data[:, :, 0, p, c])
        assert not got[:, :, 8 * c + 4 + p].any()
        assert np.array_equal(got[:, :, 64 + 4 * c + p], data[:, :, 0, p, 2 * c])
        assert np.array_equal(got[:, :, 128 + 4 * c + p], data[:, :, 0, p, c] >> np.uint64(32) << np.uint64(32))


@pytest.mark.parametrize(
    ("up", "down", "two_long"),
    [
        ("l1bmm@3", "l1bmm", False),
        ("l1bmm@3", "l1bmm", True),
        ("l1bmrliadd", "l1bmm", False),
        ("l1bmm4@1", "l1bmm4", True),
        ("l1bmr4liadd", "l1bmm4", False),
        ("l1bmd", "l1bmd", False),
        ("l1bmd+3", "l1bmd+3", False),
    ],
)
def test_turnaround_equals_the_way_through_l1bm(up: str, down: str, two_long: bool):
    """SDM 3.6.8.2: the layout is preserved and the shift is applied once."""
    ll = "ll" if two_long else "l"
    plain_down = down.partition("+")[0]
    direct, through = Machine("strict"), Machine("strict")
    for machine in (direct, through):
        pattern(Memory.LM0, machine, 8)
    direct.run(f"{up} ${ll}m0v ${ll}bi\n{down} ${ll}bi ${ll}n0v")
    through.run(f"{up} ${ll}m0v ${ll}b0\nnop/3\n{plain_down} ${ll}b0 ${ll}n0v")
    count = 8 if two_long else 4
    assert np.array_equal(direct.peek(Memory.LM1, 0, count), through.peek(Memory.LM1, 0, count))
    assert direct.l1bm().any() == np.False_


def test_turnaround_chain_reads_the_old_value_and_keeps_it():
    """SDM 3.6.8.2: one result per step; a read in the step of a write sees the old data; idle steps keep it."""
    machine = Machine("strict")
    data = pattern(Memory.LM0, machine, 8)
    machine.run(
        "l1bmm@0 $lm0v $lbi\n"
        "l1bmm@0 $lm8v $lbi; l1bmm $lbi $ls0v\n"
        "iinc $lm0v $nowrite\n"
        "l1bmm $lbi $ls8v\n"
        "l1bmm@0 $lm0v $lbi; noforward\n"
        "l1bmm $lbi $lr0v"
    )
    for p, c in np.ndindex(4, 4):
        assert np.array_equal(machine.grf(1)[:, :, 5, p, c], data[:, :, 0, p, c])
        assert np.array_equal(machine.grf(1)[:, :, 5, p, 4 + c], data[:, :, 0, p, 4 + c])
        assert np.array_equal(machine.grf(0)[:, :, 5, p, c], data[:, :, 0, p, 4 + c])


def half_patterns(count: int) -> np.ndarray:
    """Small integers as halves, four to a long word."""
    values = np.random.default_rng(4).integers(-9, 10, (8, 8, 16, 4, count, 4))
    sign, magnitude = np.where(values < 0, 0x8000, 0), np.abs(values)
    exponent = np.floor(np.log2(np.maximum(magnitude, 1))).astype(int)
    mantissa = (magnitude << 9 >> exponent) & 0x1FF
    halves = np.where(magnitude == 0, 0, sign | (exponent + 31) << 9 | mantissa).astype(np.uint64)
    return values, sum(halves[..., i] << np.uint64(48 - 16 * i) for i in range(4))


def code(value: int) -> int:
    """Half pattern of a small integer."""
    if value == 0:
        return 0
    exponent = abs(value).bit_length() - 1
    return (0x8000 if value < 0 else 0) | (exponent + 31) << 9 | (abs(value) << 9 >> exponent) & 0x1FF


@pytest.mark.parametrize("text", ["l1bmrffaddr $lr0ve $lb0", "l1bmrhfadd $lr0v $lb0"])
def test_half_sum_keeps_the_order_of_the_operand(text: str):
    """SDM 3.6.8.20: long word p holds the four results of PE p; l1bmrhfadd is an alias of e in and r out."""
    machine = Machine("strict")
    values, longs = half_patterns(4)
    machine.poke(Memory.GRF0, 0, longs)
    machine.run(text)
    total = values.sum(axis=2)
    for block, (p, c) in enumerate(np.ndindex(4, 4)):
        l2b, l1b = block % 8, block // 2
        expected = sum(code(int(total[l2b, l1b, p, c, i])) << (48 - 16 * i) for i in range(4))
        assert int(machine.l1bm()[l2b, l1b, 4 * c + p]) == expected


def test_widened_sum_layout():
    """SDM 3.6.8.20: the eight long words of a cycle hold singles (0,1)(4,5)(8,9)(12,13)(2,3)(6,7)(10,11)(14,15)."""
    machine = Machine("strict")
    values, longs = half_patterns(4)
    machine.poke(Memory.GRF0, 0, longs)
    machine.run("l1bmrffadd $lr0ve $llb0")
    total = values.sum(axis=2)[3, 4]
    order = [(0, 1), (4, 5), (8, 9), (12, 13), (2, 3), (6, 7), (10, 11), (14, 15)]
    for c in range(4):
        flat = total[:, c].reshape(-1)
        for slot, pair in enumerate(order):
            words = [int(np.float32(flat[i]).view(np.uint32)) if flat[i] else 0 for i in pair]
            assert int(machine.l1bm()[3, 4, 8 * c + slot]) == words[0] << 32 | words[1]


def test_reduction_of_doubles_attested():
    """Vendor example: -16..+15.5 in PE order, the first replaced by -0; column sums 0, -8, 0, 8."""
    machine = Machine("strict")
    values = (-16 + 0.5 * np.arange(64)).astype(np.float64)
    values[0] = -0.0
    machine.poke(Memory.LM0, 0, np.broadcast_to(values.view(np.uint64).reshape(16, 4, 1), (8, 8, 16, 4, 1)))
    machine.run("l1bmrdfadd $lm0 $lb0")
    assert machine.l1bm()[0, 0, :4].view(np.float64).tolist() == [0.0, -8.0, 0.0, 8.0]


def test_cycle_masks_of_a_down_transfer():
    """SDM 3.6.8: a silenced cycle suppresses the PE write only; several destinations have their own masks."""
    machine = Machine("vendor")
    data = pattern(L1BM, machine, 16)
    machine.poke(Memory.LM0, 0, random_longs((8,)) * np.uint64(0))
    machine.run("l1bmm $lb0 $lm0v/0110 $ls0v")
    got, whole = machine.peek(Memory.LM0, 0, 4), machine.peek(Memory.GRF1, 0, 4)
    for p, c in np.ndindex(4, 4):
        assert np.array_equal(whole[:, :, 9, p, c], data[:, :, 4 * c + p])
        assert np.array_equal(got[:, :, 9, p, c], data[:, :, 4 * c + p] if c in (1, 2) else np.zeros((8, 8)))
