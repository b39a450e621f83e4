"""Picking one's own part of what every PE holds."""

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from layout.strategies import layouts

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.layout import Layout, pack, parse, place
from mnc.mncore_backend.movement.lanes import collected
from mnc.mncore_backend.movement.load import plan_load
from mnc.mncore_backend.movement.own_part import own_part
from mnc.mncore_backend.program import Builder, Program

from .chips import ready

UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)


def check(source_layout: Layout, target_layout: Layout, emulated: bool = False) -> Program:
    program = Program()
    source = program.buffer("source", source_layout.local_size, (Memory.LM0, Memory.LM1), pinned=True)
    target = program.buffer("target", target_layout.local_size, (Memory.LM1, Memory.LM0), pinned=True)
    (emit,) = own_part(source_layout, target_layout)
    emit(Builder(program), source, target)
    chip = ready(program, emulated)
    data = np.arange(source_layout.size, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(1)
    chip.poke(source, pack(data, source_layout, padding=0xBAD))
    chip.run(program)
    held = place(target_layout) >= 0
    assert (chip.peek(target)[held] == pack(data, target_layout)[held]).all()
    return program


KNOWN = {
    "rows over MABs": ("((8_L1B:1, 32:1),)", "((8_L1B:1, 16_MAB:1, 2:1),)", ["imm", "ilsl"]),
    "as they are counted": ("((4_PE:1, 2_W:1, 2:1),)", "((4_PE:1, 2_W:1, 2_MAB:1),)", ["imm", "iand", "imm", "ilsl"]),
    "rows over quads": ("((16:1),)", "((4_MAB:4, 4:1),)", ["imm", "iand", "imm", "ilsl"]),
    "rows over PEs and L1Bs": (
        "((32:1, 2_W:1),)",
        "((4_PE:1, 8_L1B:1, 2_W:1),)",
        ["imm", "ilsl", "imm", "ilsl", "iadd"],
    ),
    "rows of five long words": (
        "((8:5, 2_W:1), (5:1,))",
        "((8_L1B:1, 2_W:1), (5:1,))",
        ["imm", "ilsl", "imm", "ilsl", "iadd"],  # 5 = 4 + 1
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known(name: str) -> None:
    """What computes the addresses, then copies of four long words each (two where both ends may share a memory)."""
    source, target, sums = KNOWN[name]
    program = check(parse(source), parse(target), emulated=True)
    assert [op.opcode for op in program.operations][: len(sums)] == sums
    assert {op.opcode for op in program.operations[len(sums) :]} == {"lpassa"}


@given(layouts(max_address=6), st.integers(0, 2))
@settings(max_examples=30, deadline=None, phases=UNSHRUNK)
def test_random(target: Layout, number: int) -> None:
    sources = collected(target)
    assume(number < len(sources) and own_part(sources[number], target))
    check(sources[number], target)


PADDED = {
    "seven rows over MABs": ((7, 2), "((7:1,), (2_W:1,))", "((8_MAB:1,), (2_W:1,))"),
    "three rows over L2Bs": ((3, 8), "((3:1,), (4_PE:1, 2_W:1))", "((4_L2B:2,), (4_PE:1, 2_W:1))"),
    "eleven rows, two in each": ((11, 2), "((11:1,), (2_W:1,))", "((8_L1B:1, 2:1), (2_W:1,))"),
}


@pytest.mark.parametrize("name", PADDED)
def test_a_pe_that_wants_nothing_reads_what_was_written(name: str) -> None:
    """Its address lies behind the last row."""
    shape, source, target = PADDED[name]
    check(parse(source, shape), parse(target, shape), emulated=True)


def test_what_no_pe_has_is_not_picked() -> None:
    assert not own_part(parse("((16_MAB:1, 2:1),)"), parse("((2:1, 16_MAB:1),)"))


def test_an_address_of_every_other_kind_is_left_to_others() -> None:
    """Rows in an order of their own: no sum of weights of bits says where a MAB finds its."""
    rows = np.random.default_rng(0).permutation(48)
    assert own_part(parse("((48:1),)"), parse("((16_MAB:1, 3:1),)"))
    assert not own_part(parse("((48:1),)"), parse("((16_MAB:1, 3:1),)"), rows)


def test_a_load_broadcasts_and_picks() -> None:
    """Distinct data of all MABs would come with four copies for the PEs of each."""
    layout = parse("((8_L1B:1, 16_MAB:1, 2:1),)")
    program = Program()
    image = plan_load(Builder(program), layout, program.buffer("x", layout.local_size, (Memory.LM1,), pinned=True))
    assert image.total == 256


def test_two_picks_of_one_source() -> None:
    """The first reads it where it is, which is in LM0 then; a copy with more rows for the second goes there, too."""
    source_layout, more = parse("((11:1,), (2_W:1,))", (11, 2)), parse("((8_L1B:1, 2:1), (2_W:1,))", (11, 2))
    some = parse("((8_MAB:1,), (2_W:1,))", (8, 2))
    program = Program()
    source = program.buffer("source", source_layout.local_size, (Memory.LM0, Memory.LM1), pinned=True)
    for layout, index_map in ((some, np.arange(16)), (more, None)):
        (emit,) = own_part(source_layout, layout, index_map)
        emit(Builder(program), source, program.buffer("target", layout.local_size, (Memory.LM1,), pinned=True))
    allocate(program)
    assert source.memory is Memory.LM0
