"""Priorities: how far from the end an operation lies when the program is scheduled backwards."""

import itertools

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.scheduling.reading import Stream
from mnc.mncore_backend.codegen.scheduling.window import Window
from mnc.mncore_backend.program import Buffer, Builder, Program, local

ALL = range(4)


def priorities(program: Program) -> list[int]:
    for number, buffer in enumerate(program.buffers):
        buffer.memory, buffer.base = buffer.choices[0], 8 * number
    window = Window(Stream(program.operations), len(program.operations), 100)
    window.extend()
    return [bundle.priority for bundle in window.bundles]


def chain(builder: Builder, buffers: list[Buffer], opcode: str = "ipassa") -> None:
    for before, after in itertools.pairwise(buffers):
        builder.emit(opcode, [local(before, ALL)], [local(after, ALL)])


def buffers(program: Program, count: int, memory: Memory) -> list[Buffer]:
    return [program.buffer("b", 4, (memory,)) for _ in range(count)]


def test_a_path_is_counted_in_steps() -> None:
    program = Program()
    chain(Builder(program), buffers(program, 4, Memory.GRF0))
    first, second, third = priorities(program)
    assert first > second > third == 0
    assert first - second == second - third


def test_operations_of_one_unit_do_not_share_a_step() -> None:
    """Eight copies that all use the result of the first: behind it lie eight steps of the ALU, not one."""
    program = Program()
    builder = Builder(program)
    source, *others = buffers(program, 9, Memory.GRF0)
    chain(builder, [others[0], source])
    for target in others:
        chain(builder, [source, target])
    first, *rest = priorities(program)
    assert sorted(rest) == list(range(8))
    assert first >= 8


def test_work_that_a_unit_has_to_do_later_counts() -> None:
    """Two chains of two operations; behind one of them lie eight more that compete for the unit."""
    program = Program()
    builder = Builder(program)
    busy, idle = buffers(program, 3, Memory.GRF0), buffers(program, 3, Memory.GRF1)
    chain(builder, idle)
    chain(builder, busy)
    for target in buffers(program, 8, Memory.GRF0):
        chain(builder, [busy[-1], target])
    found = priorities(program)
    assert found[2] > found[0] and found[2] >= 8 + 1


def test_what_is_read_later_raises_priorities() -> None:
    """A program that is read in parts ends with the priorities that it has at once."""
    program = Program()
    builder = Builder(program)
    source, *others = buffers(program, 12, Memory.GRF0)
    chain(builder, [others[0], source])
    for target in others:
        chain(builder, [source, target])
    chain(builder, [source, *buffers(program, 30, Memory.GRF1)])
    expected = priorities(program)
    window = Window(Stream(program.operations), len(program.operations), 5)
    while not window.exhausted:
        window.extend()
        window.unplaced = 0
    assert [bundle.priority for bundle in window.bundles] == expected
