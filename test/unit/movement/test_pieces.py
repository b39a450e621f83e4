"""Tensors that move in several pieces: every word arrives, whatever the MVs of the path (data_movement 1.3, 5.2)."""

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, pack, parse, place
from mnc.mncore_backend.movement.load import largest_piece, pieces, plan_load, smallest_piece
from mnc.mncore_backend.movement.store import plan_store
from mnc.mncore_backend.program import Builder, Program

from .chips import ready

INSIDE = "(8_L1B:1, 16_MAB:1, 4_PE:1, 2_W:1)"
LAYOUTS = {
    "distinct everywhere": f"((8_L2B:1, 7:1), {INSIDE})",
    "copies in all L2Bs": f"((7:1,), {INSIDE})",
    "copies in two L2Bs of a group": f"((4_L2B:2, 7:1), {INSIDE})",
    "copies in all groups": f"((2_L2B:1, 7:1), {INSIDE})",
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_load_and_store(name: str) -> None:
    layout = parse(LAYOUTS[name])
    data = np.arange(layout.size, dtype=np.uint32).reshape(layout.shape) * np.uint32(2654435761)
    program = Program()
    target = program.buffer("x", layout.local_size, (Memory.LM0,), pinned=True)
    came = plan_load(Builder(program), layout, target)
    left = plan_store(Builder(program), layout, target)
    assert len([op for op in program.operations if op.is_transfer]) > 4
    chip = ready(program, emulated=False)
    chip.write_dram(came.buffer, came.pack(data))
    chip.run(program)
    held = place(layout) >= 0
    assert (chip.peek(target)[held] == pack(data, layout)[held]).all()
    assert (left.unpack(chip.read_dram(left.buffer), np.uint32) == data).all()


def test_sum_of_all_l2bs() -> None:
    layout = parse(LAYOUTS["copies in all L2Bs"])
    program = Program()
    source = program.buffer("x", layout.local_size, (Memory.LM0,), pinned=True)
    image = plan_store(Builder(program), layout, source, {Axis.L2B: 7})
    chip = ready(program, emulated=True)
    data = np.arange(layout.size, dtype=np.float32).reshape(layout.shape)
    chip.poke(source, pack(data.view(np.uint32), layout))
    chip.run(program)
    assert (image.unpack(chip.read_dram(image.buffer), np.float32) == 8 * data).all()


def test_sizes() -> None:
    smallest, largest = smallest_piece(), largest_piece()
    for size in range(64, 40_000, 64):
        found = pieces(size)
        assert sum(found) == size and all(part % 64 == 0 for part in found)
        assert max(found) < largest + smallest
        assert found[0] <= 2 * smallest and found[-1] <= 2 * smallest
