"""Loads and stores of random layouts, executed and compared word by word."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from layout.strategies import layouts

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.layout import HARDWARE_AXES, Axis, Layout, pack, parse, place
from mnc.mncore_backend.movement.load import plan_load
from mnc.mncore_backend.movement.store import plan_store, plan_stores
from mnc.mncore_backend.program import Buffer, Builder, Program
from mnc.mncore_backend.target import MN_CORE_2, SMALL, use

from .chips import ready, writes_inside

UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)


def data_of(layout: Layout) -> np.ndarray:
    return (np.arange(layout.size, dtype=np.uint32) * np.uint32(2654435761) + 7).reshape(layout.shape)


def check_load(layout: Layout, alignment: int = 2, emulated: bool = False) -> Program:
    program = Program()
    target = program.buffer("x", layout.local_size, (Memory.LM0,), alignment=alignment, pinned=True)
    guard = program.buffer("guard", 8, (Memory.LM0,), alignment=1, pinned=True)
    image = plan_load(Builder(program), layout, target, padding=0x1234)
    chip = ready(program, emulated)
    before = chip.peek(guard).copy()
    data = data_of(layout)
    chip.write_dram(image.buffer, image.pack(data))
    chip.run(program)
    expected, held = pack(data, layout, 0x1234), place(layout) >= 0
    assert (chip.peek(target)[held] == expected[held]).all()
    assert (chip.peek(guard) == before).all()
    assert (image.unpack(image.pack(data), np.uint32) == data).all()
    return program


@given(layouts(), st.sampled_from([1, 2]))
@settings(max_examples=30, deadline=None)
def test_load(layout: Layout, alignment: int) -> None:
    check_load(layout, alignment)


def check_store(layout: Layout, emulated: bool = False) -> None:
    program = Program()
    source = program.buffer("x", layout.local_size, (Memory.LM0,), pinned=True)
    image = plan_store(Builder(program), layout, source)
    chip = ready(program, emulated)
    data = data_of(layout)
    chip.poke(source, pack(data, layout))
    chip.run(program)
    assert (image.unpack(chip.read_dram(image.buffer), np.uint32) == data).all()


@given(layouts())
@settings(max_examples=30, deadline=None)
def test_store(layout: Layout) -> None:
    check_store(layout)


@given(layouts())
@settings(max_examples=5, deadline=None, phases=UNSHRUNK)
def test_load_emulated(layout: Layout) -> None:
    check_load(layout, emulated=True)


@given(layouts())
@settings(max_examples=5, deadline=None, phases=UNSHRUNK)
def test_store_emulated(layout: Layout) -> None:
    check_store(layout, emulated=True)


@given(layouts(axes=tuple(axis for axis in HARDWARE_AXES if axis is not Axis.L2B)))
@settings(max_examples=5, deadline=None, phases=UNSHRUNK)
def test_store_of_parts_emulated(layout: Layout) -> None:
    """What the eight L2Bs hold is added up on the way; small integers, so that every order gives the same sum."""
    program = Program()
    source = program.buffer("x", layout.local_size, (Memory.LM0,), pinned=True)
    image = plan_store(Builder(program), layout, source, {Axis.L2B: 7})
    chip = ready(program, emulated=True)
    data = np.arange(layout.size, dtype=np.float32).reshape(layout.shape)
    words = pack(data.view(np.uint32), layout).view(np.float32)
    parts = np.arange(1, 9, dtype=np.float32).reshape(8, 1, 1, 1, 1)
    chip.poke(source, (words * parts).view(np.uint32))
    chip.run(program)
    assert (image.unpack(chip.read_dram(image.buffer), np.float32) == 36 * data).all()


SUMS = [{Axis.L1B: 7}, {Axis.L1B: 6}, {Axis.MAB: 15}, {Axis.L1B: 7, Axis.MAB: 15}, {Axis.L2B: 7, Axis.L1B: 5}]


@pytest.mark.parametrize("sums", SUMS, ids=str)
def test_sums_at_every_level(sums: dict[Axis, int]) -> None:
    """Parts that differ along L1Bs and MABs are added on the way, too."""
    layout = parse("((2:2, 2:1, 4_PE:1, 2_W:1),)")
    program = Program()
    source = program.buffer("x", layout.local_size, (Memory.LM0,), pinned=True)
    image = plan_store(Builder(program), layout, source, sums)
    chip = ready(program, emulated=True)
    data = np.arange(layout.size, dtype=np.float32)
    index = np.meshgrid(*(np.arange(MN_CORE_2.axis_size[axis]) for axis in HARDWARE_AXES[:4]), indexing="ij")
    factor = np.ones_like(index[0])
    for axis, own in zip(HARDWARE_AXES, index, strict=False):
        factor *= 1 + (own & sums.get(axis, 0))
    parts = pack(data.view(np.uint32), layout).view(np.float32) * factor[..., None]
    chip.poke(source, parts.astype(np.float32).view(np.uint32))
    chip.run(program)
    count = 1
    for axis, bits in sums.items():
        count *= sum(1 + own for own in {i & bits for i in range(MN_CORE_2.axis_size[axis])})
    assert (image.unpack(chip.read_dram(image.buffer), np.float32) == data * count).all()


@given(st.lists(st.tuples(layouts(max_address=8), st.booleans()), min_size=2, max_size=3))
@settings(max_examples=5, deadline=None, phases=UNSHRUNK)
def test_stores_together_emulated(wanted: list[tuple[Layout, bool]]) -> None:
    """Each tensor leaves as if it were alone, whether it is stored whole or as the sum of parts."""
    program = Program()
    requests: list[tuple[Layout, Buffer, dict[Axis, int]]] = []
    for layout, partial in wanted:
        buffer = program.buffer("x", layout.local_size, (Memory.LM0,), pinned=True)
        requests.append((layout, buffer, {Axis.L2B: 7} if partial and layout.replicated_bits(Axis.L2B) == 7 else {}))
    images = plan_stores(Builder(program), requests)
    chip = ready(program, emulated=True)
    tensors = [np.arange(layout.size, dtype=np.float32).reshape(layout.shape) for layout, _ in wanted]
    for (layout, buffer, _), data in zip(requests, tensors, strict=True):
        chip.poke(buffer, pack(data.view(np.uint32), layout))
    chip.run(program)
    for (_, _, sums), image, data in zip(requests, images, tensors, strict=True):
        places = np.concatenate([np.arange(o, o + part.stop - part.start) for o, part in image.parts])
        held = {g: chip.read_dram(image.buffer)[g][places] for g in image.groups}
        assert (image.unpack(held, np.float32) == data * (8 if sums else 1)).all()


def test_small_stores_share_a_transfer() -> None:
    """Two vectors, of which every L2B holds a part: one MV."""
    program = Program()
    layout = parse("((2_MAB:2, 4_PE:1, 2_W:1),)")
    buffers = [program.buffer("x", layout.local_size, (Memory.LM0,), pinned=True) for _ in range(2)]
    plan_stores(Builder(program), [(layout, buffer, {Axis.L2B: 7}) for buffer in buffers])
    assert [op.opcode for op in program.operations if op.is_transfer] == ["mvrffadd"]


def test_large_tensor_is_sliced() -> None:
    layout = parse("((8_L2B:1, 200:1), (8_L1B:1, 16_MAB:1, 4_PE:1, 2_W:1))")
    program = check_load(layout, emulated=True)
    staged = [b for b in program.buffers if b.choices == (Memory.L2BM,)]
    assert len(staged) == 2 and sum(b.size for b in staged) <= 32768
    assert sum(b.size for b in program.buffers if b.choices == (Memory.L1BM,)) <= 8192


def test_counts_of_public_chain() -> None:
    """1024x16: four l2bmd and four l1bmm, as the education compiler's chain, and no copy in DRAM."""
    program = check_load(parse("((8_L2B:1, 16:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))"))
    opcodes = [op.opcode for op in program.operations]
    assert opcodes.count("l2bmd") == 4 and opcodes.count("l1bmm") == 4
    assert [op.size for op in program.operations if op.opcode == "mvp"] == [1024, 1024]


def test_vector_in_every_pe_is_read_once() -> None:
    program = check_load(parse("((64:1, 2_W:1),)"))
    assert [op.size for op in program.operations if op.is_transfer] == [64]


@pytest.mark.parametrize("longs", range(1, 20))
def test_a_store_of_the_small_machine_stays_in_its_buffers(longs: int) -> None:
    """There the steps that fill what an L2BM instruction reads beyond the tensor are longer than that."""
    with use(SMALL):
        layout = parse(f"((4_MAB:1, {longs}:1, 4_PE:1, 2_W:1),)")
        program = Program()
        plan_store(Builder(program), layout, program.buffer("x", layout.local_size, (Memory.LM0,), pinned=True))
        allocate(program)
        for op in program.operations:
            writes_inside(op)
