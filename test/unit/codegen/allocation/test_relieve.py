"""One local memory overflows beside the other: what some buffers give passes a register, and means the same."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.assembly.records import Literal, Memory, Operand
from mnc.mncore_backend.codegen.allocation import CapacityError, allocate
from mnc.mncore_backend.codegen.allocation.relieve import relieve
from mnc.mncore_backend.program import LOCAL_MEMORY, REGISTER_FILE, Buffer, BufferOperand, Builder, Program, local
from mnc.mncore_backend.target import chip

ROOM = chip().memories[Memory.LM0].longs
FOUR = range(4)


def _fill(builder: Builder, buffer: Buffer, value: int) -> None:
    register = builder.temporary(4, (Memory.GRF1,), "value")
    builder.emit("imm", (), [local(register, FOUR)], literal=Literal("ui", str(value)))
    builder.emit("lpassa", [local(register, FOUR)], [local(buffer, FOUR)])


def parts_and_a_hub(sizes: list[int], *, written: bool) -> Program:
    """Parts that are all there at once, each of which meets the hub in a step: as source beside it, or as the place
    that a value of the hub is written to."""
    program = Program()
    builder = Builder(program, "node")
    hub = builder.temporary(80, LOCAL_MEMORY, "hub")  # too large for a register file
    _fill(builder, hub, 0)
    parts = [builder.temporary(size, LOCAL_MEMORY, f"part{i}") for i, size in enumerate(sizes)]
    for number, part in enumerate(parts):
        _fill(builder, part, number + 1)
    for part in parts:
        if written:
            builder.emit("lpassa", [local(hub, FOUR)], [local(part, range(4, 8))])
        else:
            sum_ = builder.temporary(4, (Memory.GRF0,), "sum")
            builder.emit("iadd", [local(part, FOUR), local(hub, FOUR)], [local(sum_, FOUR)])
            builder.emit("lpassa", [local(sum_, FOUR)], [local(hub, FOUR)])
    for part in parts:
        builder.emit("lpassa", [local(part, range(4, 8) if written else FOUR)], [local(hub, FOUR)])
    return program


def hub_size(program: Program) -> int:
    """Long words of the hub."""
    return next(buffer.size for buffer in program.buffers if buffer.name == "hub")


def meaning(program: Program) -> list[Any]:
    """What every ``lpassa`` writes to the hub, as terms over what the immediates wrote."""
    held: dict[tuple[Buffer, int], Any] = {}
    seen = []
    for op in program.operations:
        (target,) = op.destinations
        assert isinstance(target, BufferOperand)
        given_ = [
            tuple(held.get((o.buffer, at)) for at in o.offsets) for o in op.sources if isinstance(o, BufferOperand)
        ]
        value: Any = given_[0] if op.opcode == "lpassa" else (op.opcode, str(op.literal), *given_)
        for cycle, at in enumerate(target.offsets):
            held[target.buffer, at] = value[cycle] if op.opcode == "lpassa" else (value, cycle)
        if target.buffer.name == "hub":
            seen.append(value)
    return seen


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(80, 600), min_size=1, max_size=12), st.booleans())
def test_parts_of_which_one_memory_holds_too_few(sizes: list[int], written: bool) -> None:
    program = parts_and_a_hub(sizes, written=written)
    before = meaning(program), len(program.operations)
    try:
        allocate(program)
    except CapacityError:
        assert sum(sizes) > ROOM
        return
    assert meaning(program) == before[0]
    assert len(program.operations) > before[1] or sum(sizes) <= ROOM
    assert len(program.operations) == before[1] or sum(sizes) + 2 * len(sizes) + hub_size(program) > ROOM
    for op in program.operations:
        reads = {o.buffer.memory for o in op.sources if isinstance(o, BufferOperand)}
        writes = {o.buffer.memory for o in op.destinations if isinstance(o, BufferOperand)}
        assert not reads & writes & set(LOCAL_MEMORY)


@pytest.mark.parametrize("written", [False, True])
def test_both_memories_are_used_where_one_is_too_small(written: bool) -> None:
    program = parts_and_a_hub([500] * 6, written=written)
    allocate(program)
    parts = [buffer for buffer in program.buffers if buffer.name.startswith("part") and "passing" not in buffer.name]
    assert {part.memory for part in parts} == set(LOCAL_MEMORY)


def test_what_is_too_much_for_both_is_refused() -> None:
    program = parts_and_a_hub([500] * 9, written=False)
    count = len(program.operations)
    with pytest.raises(CapacityError):
        allocate(program)
    assert len(program.operations) == count


def test_copies_stay_outside_of_chains() -> None:
    """An operation between the two members of a chain that it does not belong to: a copy beside it would fill their
    latch."""
    program = Program()
    builder = Builder(program, "node")
    hub = builder.temporary(80, LOCAL_MEMORY, "hub")
    parts = [builder.temporary(1000, LOCAL_MEMORY, f"part{i}") for i in range(3)]
    for number, buffer in enumerate((hub, *parts)):
        _fill(builder, buffer, number)
    sums = [builder.temporary(4, REGISTER_FILE, f"sum{i}") for i in range(4)]
    for part, sum_ in zip(parts, sums, strict=False):
        builder.emit("lpassa", [local(sums[3], FOUR)], [local(sums[3], FOUR)])
        builder.emit("fvadd", [local(part, FOUR), local(hub, FOUR)], [local(sum_, FOUR)])
        builder.emit("lpassa", [Operand(Memory.ALUF)], [local(hub, FOUR)])
    for part in parts:
        builder.emit("lpassa", [local(part, FOUR)], [local(hub, FOUR)])
    assert relieve(program, parts, 1000)
    for before, op in zip(program.operations, program.operations[1:], strict=False):
        if op.opcode == "fvadd":
            assert before.destinations == (local(sums[3], FOUR),)  # the one that fills the latch
    assert any(buffer.name.endswith("_passing") for buffer in program.buffers)
