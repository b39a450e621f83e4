"""Loads that share transfers: small tensors that ride with a large one."""

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.layout import Layout, pack, parse, place
from mnc.mncore_backend.movement import plan_loads
from mnc.mncore_backend.movement.batch import choose_forms
from mnc.mncore_backend.program import BufferOperand, Builder, Program

from .emulated import Emulated

LARGE = "((8_L2B:1, 40:1), (8_L1B:1, 16_MAB:1, 4_PE:1, 2_W:1))"
SMALL = {
    "a row of each L1B": "((8_L2B:1, 8_L1B:1, 4:1),)",
    "five rows of each L1B": "((8_L2B:1, 8_L1B:1, 5:1),)",
    "all rows everywhere": "((64:1, 2_W:1),)",
    "rows over MABs": "((8_L1B:1, 16_MAB:1, 2:1),)",
}


def data_of(layout: Layout) -> np.ndarray:
    return (np.arange(layout.size, dtype=np.uint32) * np.uint32(2654435761) + 7).reshape(layout.shape)


def check(texts: list[str], order: list[int]) -> Program:
    """Loads finished in `order` leave every tensor where its layout says."""
    program = Program()
    layouts = [parse(text) for text in texts]
    targets = [program.buffer("x", layout.local_size, (Memory.LM0,), pinned=True) for layout in layouts]
    finishes = plan_loads(Builder(program), list(zip(layouts, targets, strict=True)))
    images = {i: finishes[i]() for i in order}
    allocate(program)
    chip = Emulated()
    for i, image in images.items():
        for start, part in image.parts:
            for g, longs in image.pack(data_of(layouts[i])).items():
                chip.machine.write_dram(g, (image.buffer.base or 0) + start, longs[part])
    chip.run(program)
    for layout, target in zip(layouts, targets, strict=True):
        held = place(layout) >= 0
        assert (chip.peek(target)[held] == pack(data_of(layout), layout)[held]).all()
    return program


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
@pytest.mark.parametrize("name", SMALL)
def test_small_tensors_ride(name: str, order: list[int]) -> None:
    together = check([LARGE, SMALL[name], SMALL["a row of each L1B"]], order)
    sources = [op.sources[0] for op in together.operations if op.is_transfer]
    declined = name == "rows over MABs"  # copies for every L2B would take longer than a transfer for all of them
    assert len({o.buffer for o in sources if isinstance(o, BufferOperand)}) == 1 + declined


def test_what_is_wanted_before_does_not_ride() -> None:
    program = check([SMALL["all rows everywhere"], LARGE], [0, 1])
    first = next(op for op in program.operations if op.is_transfer)
    assert (first.opcode, first.size) == ("mvb", 64)


def test_riding_brings_no_more_than_reaches_a_pe() -> None:
    """256 labels, 32 of each L2B: 64 long words of every L2BM, where a whole l2bmd takes 256."""
    large, both = check([LARGE], [0]), check([LARGE, SMALL["a row of each L1B"]], [0, 1])
    assert [sum(op.size for op in p.operations if op.is_transfer) for p in (large, both)] == [40960, 41088]


def test_a_ride_that_takes_longer_than_a_transfer_is_declined() -> None:
    assert choose_forms([("mvb", 64)], [("mvp", 64)]) == [None]
    assert choose_forms([("mvb", 4096)], [("mvp", 4096)]) == ["mvb"]
    assert choose_forms([("mvp", 256), ("mvb", 4096)], [("mvp", 64), None]) == [None, "mvb"]
