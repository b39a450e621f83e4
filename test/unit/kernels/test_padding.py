"""Words without an element take the value that is asked for, and no others."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from layout.strategies import layouts

from mnc.mncore_backend.assembly import print_statement
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.codegen.scheduling import schedule
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.kernels.padding import emit_fill_padding
from mnc.mncore_backend.layout import Layout, pack, parse, place
from mnc.mncore_backend.program import Builder, Program
from mnc.mncore_backend.target import chip


def check(layout: Layout, dims: Sequence[int] | None = None) -> Program:
    program = Program()
    buffer = program.buffer("x", layout.local_size, (Memory.LM0,), pinned=True)
    emit_fill_padding(Builder(program), buffer, layout, 77, dims)
    allocate(program)
    assert buffer.memory is not None and buffer.base is not None
    data = np.arange(layout.size, dtype=np.uint32).reshape(layout.shape) + np.uint32(1000)
    machine = Machine()
    machine.poke_words(buffer.memory, 2 * buffer.base, pack(data, layout, padding=0xBAD))
    machine.run("\n".join(print_statement(s) for s in schedule(program).statements))
    held = machine.peek_words(buffer.memory, 2 * buffer.base, 2 * buffer.size).reshape(*chip().shape, -1)
    used = pack(np.zeros(layout.shape, np.uint32), layout, padding=1)
    assert (held[place(layout) >= 0] == pack(data, layout)[place(layout) >= 0]).all()
    outside = (place(layout) < 0) & (used == 1)
    if dims is None:
        assert (held[outside] == 77).all()
    else:
        beyond = (place(_as_if_full(layout, dims)) >= 0) & outside  # in the padding of other dimensions only
        assert (held[outside & ~beyond] == 77).all() and (held[beyond] == 0xBAD).all()
    return program


def _as_if_full(layout: Layout, dims: Sequence[int]) -> Layout:
    """The layout of a tensor that reaches into all padding but that of some dimensions."""
    pairs = enumerate(zip(layout.shape, layout.padded_shape, strict=True))
    return replace(layout, shape=tuple(extent if d in dims else padded for d, (extent, padded) in pairs))


@given(layouts(max_address=8))
@settings(max_examples=20, deadline=None)
def test_random(layout: Layout) -> None:
    check(layout)


@given(layouts(max_address=8), st.data())
@settings(max_examples=20, deadline=None)
def test_only_what_is_beyond_some_dimensions(layout: Layout, data: st.DataObject) -> None:
    check(layout, data.draw(st.lists(st.sampled_from(range(len(layout.shape))), unique=True)))


def test_what_coordinates_contribute_is_computed_once() -> None:
    """5 of 8 lanes hold elements, in both tensors: the second fill compares, and no more."""
    layout = parse("((4_PE:1, 2_W:1),)", (5,))
    program, known = Program(), {}
    for name in "ab":
        before = len(program.operations)
        buffer = program.buffer(name, layout.local_size, (Memory.LM0,), pinned=True)
        emit_fill_padding(Builder(program), buffer, layout, 0, known=known)
    assert [op.opcode for op in program.operations[before:]] == ["imm", "imm", "isub", "ipassa"]


def test_addresses_that_end_at_the_same_place_share_a_comparison() -> None:
    """784 = 14 * 56 features: the last two MABs hold padding only, at all addresses."""
    program = check(parse("((16_MAB:1, 56:1),)", (784,)))
    assert [op.opcode for op in program.operations].count("isub") == 1
