"""Words without an element take the value that is asked for, and no others."""

import numpy as np
from hypothesis import given, settings
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


def check(layout: Layout) -> Program:
    program = Program()
    buffer = program.buffer("x", layout.local_size, (Memory.LM0,), pinned=True)
    emit_fill_padding(Builder(program), buffer, layout, 77)
    allocate(program)
    assert buffer.memory is not None and buffer.base is not None
    data = np.arange(layout.size, dtype=np.uint32).reshape(layout.shape) + np.uint32(1000)
    machine = Machine()
    machine.poke_words(buffer.memory, 2 * buffer.base, pack(data, layout, padding=0xBAD))
    machine.run("\n".join(print_statement(s) for s in schedule(program).statements))
    held = machine.peek_words(buffer.memory, 2 * buffer.base, 2 * buffer.size).reshape(*chip().shape, -1)
    used = pack(np.zeros(layout.shape, np.uint32), layout, padding=1)
    assert (held[place(layout) >= 0] == pack(data, layout)[place(layout) >= 0]).all()
    assert (held[(place(layout) < 0) & (used == 1)] == 77).all()
    return program


@given(layouts(max_address=8))
@settings(max_examples=20, deadline=None)
def test_random(layout: Layout) -> None:
    check(layout)


def test_addresses_that_end_at_the_same_place_share_a_comparison() -> None:
    """784 = 14 * 56 features: the last two MABs hold padding only, at all addresses."""
    program = check(parse("((16_MAB:1, 56:1),)", (784,)))
    assert [op.opcode for op in program.operations].count("isub") == 1
