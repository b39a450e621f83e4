"""Movements into parts of a target: those of concatenations are planned once, and write at their own place."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from layout.strategies import layouts

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout, pack, parse, place
from mnc.mncore_backend.movement.gather import plan_gather
from mnc.mncore_backend.movement.repeats import REPEATS
from mnc.mncore_backend.movement.written_part import written_part
from mnc.mncore_backend.program import Builder, Program

from .chips import ready

PIECE = parse("((2:4, 2_MAB:1, 4_PE:1, 2_W:1), (8_L2B:1, 4:1))")
OTHER = parse("((2:4, 2_MAB:8, 4_PE:1, 2_W:1), (8_L2B:1, 4:1))")
WHOLE = parse("((7:4, 2_MAB:1, 4_PE:1, 2_W:1), (8_L2B:1, 4:1))")


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_a_part_lies_where_it_does_in_the_whole(data: st.DataObject) -> None:
    layout = data.draw(layouts())
    dim = data.draw(st.integers(0, len(layout.shape) - 1))
    first = data.draw(st.integers(0, layout.shape[dim] - 1))
    count = data.draw(st.integers(1, layout.shape[dim] - first))
    index_map = np.full(layout.shape, -1)
    named = tuple(slice(first, first + count) if d == dim else slice(None) for d in range(len(layout.shape)))
    index_map[named] = np.arange(index_map[named].size).reshape(index_map[named].shape)
    part = written_part(layout, index_map.reshape(-1))
    if part is None:
        return
    assert part.layout.local_size < layout.local_size
    assert _held(part.layout, part.index_map, part.first) == _held(layout, index_map.reshape(-1), 0)


def _held(layout: Layout, index_map: np.ndarray, first: int) -> dict[int, set[tuple[int, ...]]]:
    """Where the elements are that a map names: coordinates and long word, by what it names."""
    found: dict[int, set[tuple[int, ...]]] = {}
    for element, origin in enumerate(index_map.tolist()):
        if origin >= 0:
            at = layout.coordinates([int(i) for i in np.unravel_index(element, layout.shape)])
            at[Axis.ADDRESS] += first
            found.setdefault(origin, set()).add(tuple(at.values()))
    return found


def test_pieces_of_a_concatenation_are_planned_once_and_come_to_their_places() -> None:
    for layout in (PIECE, OTHER):
        REPEATS.forget()
        program = Program()
        builder = Builder(program)
        target = program.buffer("whole", WHOLE.local_size, (Memory.LM1,), pinned=True)
        pieces = [program.buffer(f"piece{n}", layout.local_size, (Memory.LM0,), pinned=True) for n in range(3)]
        rows, tables = layout.shape[0], []
        for number, piece in enumerate(pieces):
            index_map = np.full(WHOLE.shape, -1)
            index_map[number * rows : (number + 1) * rows] = np.arange(layout.size).reshape(layout.shape)
            tables += plan_gather(builder, layout, piece, WHOLE, target, index_map, padding=None).tables
        assert len(REPEATS.keys()) == 1
        chip = ready(program, emulated=False)
        values = [np.arange(layout.size, dtype=np.uint32).reshape(layout.shape) + 1000 * n for n in range(3)]
        for piece, own in zip(pieces, values, strict=True):
            chip.poke(piece, pack(own.astype(np.uint32), layout))
        for image, words in tables:
            chip.write_dram(image.buffer, image.pack(words))
        chip.poke(target, np.zeros_like(chip.peek(target)))
        chip.run(program)
        expected = np.zeros(WHOLE.shape, np.uint32)
        expected[: 3 * rows] = np.concatenate(values)
        held = place(WHOLE) >= 0
        assert (chip.peek(target)[held] == pack(expected, WHOLE)[held]).all()
