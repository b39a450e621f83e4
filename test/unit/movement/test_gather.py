"""Static gathers and relayouts between random layouts, executed and compared."""

from math import inf

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from layout.strategies import layouts

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.scheduling.chains import memory_of
from mnc.mncore_backend.layout import Layout, pack, parse, place
from mnc.mncore_backend.movement.estimate import TooMany, UpTo, count
from mnc.mncore_backend.movement.gather import plan_gather
from mnc.mncore_backend.movement.repeats import REPEATS
from mnc.mncore_backend.program import Builder, MachineOp, Program

from .chips import ready

PADDING = 0xFF800000
UNTOUCHED = 0xDEADBEEF
"""What the target holds before: of long words in use no half is left, since whoever reads one reads both."""
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)  # whole-chip examples take too long to shrink


def check_gather(
    source_layout: Layout,
    target_layout: Layout,
    index_map: np.ndarray,
    emulated: bool = False,
    *,
    fills: bool = True,
) -> Program:
    program = Program()
    source = program.buffer("source", source_layout.local_size, (Memory.LM1, Memory.LM0), pinned=True)
    target = program.buffer("target", target_layout.local_size, (Memory.LM0, Memory.LM1), pinned=True)
    ends = source_layout, source, target_layout, target
    plan = plan_gather(Builder(program), *ends, index_map, padding=PADDING, fills=fills)
    chip = ready(program, emulated)
    data = np.arange(source_layout.size, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(1)
    chip.poke(source, pack(data, source_layout, padding=0xBAD))
    chip.poke(target, np.full((4096, 2 * target.size), UNTOUCHED, np.uint32).reshape(chip.peek(target).shape))
    for image, array in plan.tables:
        chip.write_dram(image.buffer, image.pack(array))
    chip.run(program)
    flat = index_map.reshape(-1)
    expected = np.where(flat >= 0, data[flat], np.uint32(PADDING)).astype(np.uint32)
    is_element = place(target_layout) >= 0
    used = np.repeat(is_element.reshape(4096, -1, 2).any(axis=(0, 2)), 2)
    is_right = chip.peek(target) == pack(expected, target_layout, padding=PADDING)
    assert (is_right | ~(used if fills else is_element)).all()
    assert (chip.peek(target) != UNTOUCHED)[..., used].all()
    return program


@given(st.data())
@settings(max_examples=5, deadline=None, phases=UNSHRUNK)
def test_random_maps(data: st.DataObject) -> None:
    check_random_map(data)


@given(st.data())
@settings(max_examples=2, deadline=None, phases=UNSHRUNK)
def test_random_maps_emulated(data: st.DataObject) -> None:
    check_random_map(data, emulated=True)


def check_random_map(data: st.DataObject, emulated: bool = False) -> None:
    source = data.draw(layouts(max_address=12))
    target = data.draw(layouts(max_address=8))
    seed = data.draw(st.integers(0, 99))
    rng = np.random.default_rng(seed)
    index_map = rng.integers(data.draw(st.integers(-1, 0)), source.size, target.size)
    check_gather(source, target, index_map, emulated, fills=data.draw(st.booleans()))


@given(st.data())
@settings(max_examples=4, deadline=None, phases=UNSHRUNK)
def test_pieces_come_to_one_buffer(data: st.DataObject) -> None:
    """Two sources by turns of random runs: the second movement leaves alone what the first has written."""
    target = data.draw(layouts(max_address=8))
    sources = [data.draw(layouts(max_address=8)) for _ in range(2)]
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    turn = rng.integers(0, 2, target.size).repeat(data.draw(st.sampled_from([1, 2, 16])))[: target.size]
    maps = [np.where(turn == i, rng.integers(-1, s.size, target.size), -1) for i, s in enumerate(sources)]
    program = Program()
    made = program.buffer("target", target.local_size, (Memory.LM0, Memory.LM1), pinned=True)
    buffers = [program.buffer("source", s.local_size, (Memory.LM1, Memory.LM0), pinned=True) for s in sources]
    ends = zip(sources, buffers, maps, (0, None), strict=True)
    plans = [plan_gather(Builder(program), s, b, target, made, m, padding=p) for s, b, m, p in ends]
    chip = ready(program, False)
    values = [np.arange(1, s.size + 1, dtype=np.uint32) << np.uint32(16 * i) for i, s in enumerate(sources)]
    for layout, buffer, value in zip(sources, buffers, values, strict=True):
        chip.poke(buffer, pack(value, layout, padding=0xBAD))
    for image, array in (table for plan in plans for table in plan.tables):
        chip.write_dram(image.buffer, image.pack(array))
    chip.run(program)
    parts = [np.where(m >= 0, v[m], np.uint32(0)) for m, v in zip(maps, values, strict=True)]
    used = place(target).reshape(4096, -1, 2)
    used = np.repeat((used >= 0).any(axis=(0, 2)), 2)
    is_right = chip.peek(made) == pack(parts[0] | parts[1], target, padding=0)
    assert (is_right | (place(target) < 0))[..., used].all()


@given(st.data())
@settings(max_examples=5, deadline=None, phases=UNSHRUNK)
def test_relayouts(data: st.DataObject) -> None:
    source = data.draw(layouts(max_address=12))
    target = data.draw(layouts(shape=source.shape, max_address=12))
    if target.local_size * source.local_size > 200:
        return
    check_gather(source, target, np.arange(source.size), fills=data.draw(st.booleans()))


@given(st.data())
@settings(max_examples=5, deadline=None, phases=UNSHRUNK)
def test_a_limit_ends_what_is_dearer_and_changes_nothing_else(data: st.DataObject) -> None:
    source = data.draw(layouts(max_address=4))
    target = data.draw(layouts(max_address=4))
    index_map = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-1, source.size, target.size)

    def planned(limit: float) -> list[MachineOp]:
        REPEATS.forget()
        program = Program(operations=UpTo(limit))
        ends = [program.buffer("end", layout.local_size, (Memory.LM0, Memory.LM1)) for layout in (source, target)]
        plan_gather(Builder(program), source, ends[0], target, ends[1], index_map, padding=PADDING)
        return program.operations

    free = planned(inf)
    steps = count(free).total_steps
    assert [op.opcode for op in planned(steps)] == [op.opcode for op in free]
    with pytest.raises(TooMany):
        planned(len(free) // 2)


def test_the_first_part_of_a_join_leaves_no_half_of_a_long_word() -> None:
    source = parse("((4_PE:1, 2_W:1), ())", (1, 1))
    target = parse("((4_PE:1, 2_W:1), (4:1,))", (1, 4))
    check_gather(source, target, np.array([0, -1, -1, -1]), emulated=True, fills=False)


def test_a_slice_beside_padding_is_a_copy() -> None:
    """Two of three gates of one row, whose place in the PE is one of eight: what pads the row comes with it."""
    source = parse("((3:1,), (4_PE:1, 2_W:1), (8_L1B:1, 4_MAB:1))", (3, 1, 32))
    target = parse("((2:1,), (4_PE:1, 2_W:1), (8_L1B:1, 4_MAB:1))", (2, 1, 32))
    counts = [len(check_gather(source, target, np.arange(32, 96), fills=fills).operations) for fills in (False, True)]
    assert counts[0] <= 2 < counts[1]


def test_windows_inside_a_pe_need_no_transfer() -> None:
    """3-wide windows of a row that one PE holds: only local work."""
    source = parse("((16_MAB:1, 4_PE:1), (8:1, 2_W:1))", (64, 16))
    target = parse("((16_MAB:1, 4_PE:1), (16:2), (2:1, 2_W:1))", (64, 16, 3))
    row, start, tap = np.indices((64, 16, 3))
    at = start + tap - 1
    index = np.where((at >= 0) & (at < 16), row * 16 + at, -1)
    program = check_gather(source, target, index, emulated=True)
    assert not any(op.opcode.startswith(("l1bm", "l2bm", "mv")) for op in program.operations)


def test_slice_of_a_distributed_dimension_needs_no_table() -> None:
    """Rows 4..19 of 32, distributed over MABs before and after: one trip."""
    source = parse("((2:1, 16_MAB:1), (4_PE:1, 2_W:1))")
    target = parse("((16_MAB:1), (4_PE:1, 2_W:1))")
    index = np.arange(4 * 8, 20 * 8)
    program = check_gather(source, target, index, emulated=True)
    assert len(program.operations) < 30


def test_padding_of_addresses_is_static() -> None:
    """A row of 6 becomes 8 with a border on either side; the channels over PEs stay."""
    source = parse("((6:1), (16_MAB:1, 4_PE:1, 2_W:1))")
    target = parse("((8:1), (16_MAB:1, 4_PE:1, 2_W:1))")
    row, channel = np.indices(target.shape)
    index = np.where((row >= 1) & (row < 7), (row - 1) * 128 + channel, -1)
    program = check_gather(source, target, index, emulated=True)
    assert len(program.operations) < 10


def halo(source: Layout, target: Layout, places: int, tile: int) -> np.ndarray:
    """Index map of tiles of a row of `places * tile` entries with one neighbour on either side; -1 at the ends."""
    inner = source.size // (places * tile)
    place_, offset, inside = np.indices(target.shape)
    at = place_ * tile + offset - 1
    return np.where((at >= 0) & (at < places * tile), at * inner + inside, -1)


def test_halos_across_the_chip_leave_their_tiles_where_they_are() -> None:
    """Rows in tiles of 6 over all L2Bs, L1Bs and MABs: only the outermost rows of a tile travel, most of them no
    farther than to the next MAB."""
    source = parse("((8_L2B:1, 8_L1B:1, 16_MAB:1, 6:4), (4:1, 4_PE:1, 2_W:1))")
    target = parse("((8_L2B:1, 8_L1B:1, 16_MAB:1), (8:4), (4:1, 4_PE:1, 2_W:1))")
    program = check_gather(source, target, halo(source, target, 1024, 6), emulated=True)
    assert len(program.operations) < 400  # 1,028 if all words travel as far as any does


@pytest.mark.parametrize("emulated", [False, True])
def test_what_all_l1bs_want_is_collected_from_all_at_once(emulated: bool) -> None:
    """Four L1Bs of each L2B hold parts: an l2bmd takes a part of each in one step, an l2bm that of one."""
    shape = (24, 31)
    source = parse("((3:1, 8_L2B:1), (4_L1B:2, 4_PE:1, 2_W:1))", shape)
    target = parse("((4_L2B:2, 4_PE:1, 2_W:1), (16_MAB:1, 2:1))", shape)
    program = check_gather(source, target, np.arange(24 * 31), emulated)
    up = [op.opcode for op in program.operations if memory_of(op.destinations[0]) is Memory.L2BM]
    assert "l2bmd" in up and "l2bm" not in up


def test_l1bs_take_what_they_want_of_their_l2b() -> None:
    """Tiles over L1Bs, all rows of their halos from the next L1B: each receives the rows of two others, not of all."""
    source = parse("((8_L1B:1, 4:8), (8_L2B:1, 8:1, 16_MAB:1, 4_PE:1, 2_W:1))")
    target = parse("((8_L1B:1), (6:8), (8_L2B:1, 8:1, 16_MAB:1, 4_PE:1, 2_W:1))")
    program = check_gather(source, target, halo(source, target, 8, 4), emulated=True)
    down = [op for op in program.operations if op.opcode == "l2bmb"]
    assert len(down) <= 2 * 8 * 8  # two rows of 8 long words, 64 in a unit, for each of eight L1Bs
