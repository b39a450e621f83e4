"""Loads that wait in L2BM make room: the program fits, and every read still finds what its load brought."""

from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.allocation import allocate, load_again
from mnc.mncore_backend.program import Buffer, BufferOperand, Builder, Program, upper
from mnc.mncore_backend.target import chip

CAPACITY = chip().memories[Memory.L2BM].longs


def load(builder: Builder, size: int) -> tuple[Buffer, Buffer]:
    """A transfer from a DRAM buffer of its own; returns that and the buffer in L2BM."""
    dram = builder.program.buffer("dram", size, (Memory.DRAM,), pinned=True)
    l2bm = builder.temporary(size, (Memory.L2BM,), "l2bm", alignment=256)
    builder.emit("mvb", [upper(dram)], [upper(l2bm)], size=size)
    return dram, l2bm


def read(builder: Builder, l2bm: Buffer, l1bm: Buffer) -> None:
    builder.emit("l2bmb", [upper(l2bm)], [upper(l1bm)])


def what_is_read(program: Program) -> list[Buffer]:
    """The DRAM buffer behind every read of L2BM, in order: a stale or missing load shows."""
    held: dict[Buffer, Buffer] = {}
    found = []
    for op in program.operations:
        (source,), (target,) = op.sources, op.destinations
        assert isinstance(source, BufferOperand) and isinstance(target, BufferOperand)
        if op.is_transfer:
            held[target.buffer] = source.buffer
        else:
            found.append(held[source.buffer])
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, CAPACITY // 512), st.integers(0, 6)), min_size=2, max_size=12))
def test_what_waits_too_long_is_loaded_again(loads: list[tuple[int, int]]) -> None:
    """Any order of loads and reads: each tensor takes up to half of L2BM and is read when `delay` more have come."""
    program = Program()
    builder = Builder(program)
    l1bm = builder.temporary(64, (Memory.L1BM,), "l1bm")
    due: list[tuple[int, Buffer]] = []
    expected = []
    origin = {}
    for number, (blocks, delay) in enumerate(loads):
        dram, l2bm = load(builder, 256 * blocks)
        origin[l2bm] = dram
        due.append((number + delay, l2bm))
        if delay > 1:
            read(builder, l2bm, l1bm)
            expected.append(dram)
        for when, waiting in [*due]:
            if when == number or number == len(loads) - 1:
                read(builder, waiting, l1bm)
                expected.append(origin[waiting])
                due.remove((when, waiting))
    load_again(program)
    assert what_is_read(program) == expected
    allocate(program)  # CapacityError if it does not fit


def test_nothing_changes_where_all_fits() -> None:
    program = Program()
    builder = Builder(program)
    l1bm = builder.temporary(64, (Memory.L1BM,), "l1bm")
    buffers = [load(builder, CAPACITY // 4)[1] for _ in range(4)]
    for buffer in buffers:
        read(builder, buffer, l1bm)
    before = list(program.operations)
    load_again(program)
    assert program.operations == before


def test_a_load_that_nobody_has_read_yet_is_only_delayed() -> None:
    program = Program()
    builder = Builder(program)
    l1bm = builder.temporary(64, (Memory.L1BM,), "l1bm")
    _, early = load(builder, CAPACITY // 2)
    for _ in range(2):
        read(builder, load(builder, 3 * CAPACITY // 4)[1], l1bm)
    read(builder, early, l1bm)
    load_again(program)
    allocate(program)
    assert sum(op.is_transfer for op in program.operations) == 3
