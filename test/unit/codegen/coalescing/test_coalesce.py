"""Copy coalescing: copies go where the machine allows it, and programs compute what they did before."""

from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from codegen.scheduling.programs import ProgramMaker
from codegen.scheduling.running import run
from mnc.mncore_backend.assembly.records import Mask, Memory, Operand
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.codegen.coalescing.coalesce import NEAR, coalesce_copies
from mnc.mncore_backend.codegen.scheduling import sequential
from mnc.mncore_backend.movement.local import LONG
from mnc.mncore_backend.program import (
    LOCAL_MEMORY,
    REGISTER_FILE,
    Buffer,
    BufferOperand,
    Builder,
    Program,
    local,
    upper,
)

ALUF, NOWHERE = Operand(Memory.ALUF), (Operand(Memory.NOWRITE),)
FOUR = range(4)


@pytest.fixture
def builder() -> Builder:
    return Builder(Program())


def opcodes(builder: Builder) -> list[str]:
    return [op.opcode for op in builder.program.operations]


def test_producer_writes_the_target(builder: Builder) -> None:
    x, a = (builder.temporary(4, LOCAL_MEMORY, n) for n in "xa")
    b, c = (builder.temporary(4, (f,), f.name) for f in (Memory.GRF1, Memory.GRF0))
    builder.emit("zero", (), [local(x, FOUR)])
    builder.emit("iinc", [local(x, FOUR)], [local(a, FOUR)])
    builder.emit("ipassa", [local(a, FOUR)], [local(b, FOUR)])
    builder.emit("ipassa", [local(b, FOUR)], [local(c, FOUR)])
    builder.emit("iadd", [local(x, FOUR), local(c, FOUR)], NOWHERE)
    assert coalesce_copies(builder.program) == 2
    assert opcodes(builder) == ["zero", "iinc", "iadd"]
    assert builder.program.operations[1].destinations == (local(c, FOUR),)


def test_source_that_others_read_stays(builder: Builder) -> None:
    a, b = (builder.temporary(4, (f,), f.name) for f in (Memory.GRF0, Memory.GRF1))
    builder.emit("zero", (), [local(a, FOUR)])
    builder.emit("ipassa", [local(a, FOUR)], [local(b, FOUR)])
    builder.emit("iadd", [local(a, FOUR), local(b, FOUR)], NOWHERE)
    assert coalesce_copies(builder.program) == 1
    assert builder.program.operations[0].destinations == (local(a, FOUR), local(b, FOUR))


def test_source_that_is_read_through_t_stays(builder: Builder) -> None:
    """The address may be any of the buffer, not only those that the operand names."""
    table, copied = (builder.temporary(8, LOCAL_MEMORY, n) for n in ("table", "copied"))
    for first in (0, 4):
        part = range(first, first + 4)
        builder.emit("iinc", [Operand(Memory.PEID)], [local(table, part)])
        builder.emit("ipassa", [local(table, part)], [local(copied, part)])
    read = BufferOperand(table, (0, 2, 4, 6), LONG, t_indirect=True)
    builder.emit("lpassa", [read], [local(builder.temporary(4, REGISTER_FILE, "r"), FOUR)])
    coalesce_copies(builder.program)
    producers = [op for op in builder.program.operations if op.opcode == "iinc"]
    assert all(any(getattr(d, "buffer", None) is table for d in op.destinations) for op in producers)


def arrival(builder: Builder, *, read_again: bool, busy: bool) -> Buffer:
    """What a transfer brings is copied to a buffer that stays."""
    source = builder.temporary(256, (Memory.L1BM,), "l1bm", 256)
    came = builder.temporary(4, LOCAL_MEMORY, "came")
    kept = builder.program.buffer("kept", 4, LOCAL_MEMORY, pinned=True)
    builder.emit("l1bmd", [upper(source)], [local(came, FOUR)])
    for _ in range(NEAR + 1):  # a buffer that stays has its place anyway
        builder.emit("iinc", [Operand(Memory.PEID)], NOWHERE)
    if busy:
        builder.emit("iinc", [local(kept, FOUR)], NOWHERE)
    builder.emit("lpassa", [local(came, FOUR)], [local(kept, FOUR)])
    if read_again:
        builder.emit("iinc", [local(came, FOUR)], NOWHERE)
    return kept


def test_a_transfer_writes_the_target_itself(builder: Builder) -> None:
    kept = arrival(builder, read_again=False, busy=False)
    assert coalesce_copies(builder.program) == 1
    assert builder.program.operations[0].destinations == (local(kept, FOUR),)


@pytest.mark.parametrize(("read_again", "busy"), [(True, False), (False, True)])
def test_a_transfer_has_one_destination(builder: Builder, read_again: bool, busy: bool) -> None:
    arrival(builder, read_again=read_again, busy=busy)
    assert coalesce_copies(builder.program) == 0


def test_masked_writes_follow(builder: Builder) -> None:
    """A select: a value, partly replaced under a mask, then stored."""
    a, b = builder.temporary(4, (Memory.GRF0,), "a"), builder.temporary(4, LOCAL_MEMORY, "b")
    mask = Mask(pattern="1010")
    builder.emit("zero", (), [local(a, FOUR)])
    builder.emit("iinc", [Operand(Memory.PEID)], [local(a, FOUR, mask=mask)])
    builder.emit("ipassa", [local(a, FOUR)], [local(b, FOUR)])
    builder.emit("iinc", [local(b, FOUR)], NOWHERE)
    assert coalesce_copies(builder.program) == 1
    assert builder.program.operations[1].destinations == (local(b, FOUR, mask=mask),)


def test_reader_of_the_latch_reads_memory(builder: Builder) -> None:
    a, b = (builder.temporary(4, (f,), f.name) for f in (Memory.GRF0, Memory.GRF1))
    builder.emit("zero", (), [local(a, FOUR)])
    builder.emit("ipassa", [local(a, FOUR)], [local(b, FOUR)])
    builder.emit("iinc", [ALUF], NOWHERE)
    assert coalesce_copies(builder.program) == 1
    assert builder.program.operations[1].sources == (local(b, FOUR),)


def fill(builder: Builder, words: list[int]):
    """A buffer of eight long words, four of which are written."""
    made = builder.temporary(8, (Memory.GRF0,), "made")
    builder.emit("zero", (), [local(made, words)])
    return made


@pytest.mark.parametrize("case", ["other words", "one word", "negated", "target in use", "transfer", "same port"])
def test_copies_that_stay(builder: Builder, case: str) -> None:
    target = builder.temporary(8, (Memory.GRF0 if case == "same port" else Memory.GRF1,), "target")
    if case == "target in use":
        builder.emit("zero", (), [local(target, FOUR)])
    source = fill(builder, [0] if case == "one word" else [0, 1, 2, 3])
    if case == "target in use":
        builder.emit("iinc", [local(target, FOUR)], NOWHERE)
    if case == "transfer":
        shared = builder.program.buffer("shared", 64, (Memory.L1BM,))
        builder.emit("l1bmd", [upper(shared)], [local(source, FOUR)])
    read = local(source, [4, 5, 6, 7] if case == "other words" else FOUR, negate=case == "negated")
    builder.emit("fvpassa" if case == "negated" else "ipassa", [read], [local(target, FOUR)])
    builder.emit("iadd", [local(source, FOUR), Operand(Memory.PEID)], NOWHERE)
    builder.emit("iinc", [local(target, FOUR)], NOWHERE)
    assert coalesce_copies(builder.program) == 0


def test_floats_are_brought_into_normal_form(builder: Builder) -> None:
    """The result of an integer operation may be any pattern, that of a sum is normal."""
    for opcode, gone in (("iinc", 0), ("fvpassa", 1)):
        a, b = (builder.temporary(4, (f,), f.name) for f in (Memory.GRF0, Memory.GRF1))
        builder.emit(opcode, [Operand(Memory.PEID)], [local(a, FOUR)])
        builder.emit("fvpassa", [local(a, FOUR)], [local(b, FOUR)])
        builder.emit("iinc", [local(b, FOUR)], NOWHERE)
        assert coalesce_copies(builder.program) == gone


@example(15293, 96)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 1 << 32), st.integers(1, 120))
def test_random_programs_compute_the_same(seed: int, count: int) -> None:
    states = []
    for coalesced in (False, True):
        maker = ProgramMaker(Random(seed))
        program = maker.make(count)
        if coalesced:
            coalesce_copies(program)
        allocate(program)
        states.append(run(sequential(program).statements, maker)[0])
    for group in range(4):
        assert (states[0][f"DRAM{group}"] == states[1][f"DRAM{group}"]).all()
