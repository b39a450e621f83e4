"""Values leave local memory and come back as they were, in every layout."""

from collections import Counter

import numpy as np
from hypothesis import Phase, given, settings
from layout.strategies import layouts

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Layout, pack, parse, place
from mnc.mncore_backend.movement.spill import plan_fetch, plan_spill
from mnc.mncore_backend.program import Builder, Program

from .chips import ready


def check(layout: Layout, emulated: bool = False) -> Program:
    program = Program()
    source = program.buffer("x", layout.local_size, (Memory.LM0,), pinned=True)
    target = program.buffer("y", layout.local_size, (Memory.LM1,), pinned=True)
    builder = Builder(program)
    plan_fetch(builder, plan_spill(builder, layout, source), target)
    chip = ready(program, emulated)
    data = (np.arange(layout.size, dtype=np.uint32) * np.uint32(2654435761) + 7).reshape(layout.shape)
    chip.poke(source, pack(data, layout, 0xBAD))
    chip.run(program)
    held = place(layout) >= 0
    assert (chip.peek(target)[held] == pack(data, layout)[held]).all()
    return program


@given(layouts())
@settings(max_examples=20, deadline=None)
def test_there_and_back(layout: Layout) -> None:
    check(layout)


@given(layouts())
@settings(max_examples=4, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
def test_emulated(layout: Layout) -> None:
    check(layout, emulated=True)


def test_copies_in_all_l2bs_are_stored_once() -> None:
    program = check(parse("((8_L1B:1, 4:1), (16_MAB:1, 4_PE:1, 2_W:1))", (32, 128)), emulated=True)
    moved = Counter[str]()
    for op in program.operations:
        if op.is_transfer:
            moved[op.opcode] += op.size
    assert moved == {"mvrlbor": 2048, "mvb": 2048}
