"""Allocation: no two live buffers overlap, ports are respected, errors say what is wrong."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.scheduling.programs import ProgramMaker
from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.records import Literal, Memory, Operand
from mnc.mncore_backend.codegen.allocation import CapacityError, allocate
from mnc.mncore_backend.codegen.allocation.lifetimes import AHEAD
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
from mnc.mncore_backend.target import chip

SHAPES = st.tuples(st.integers(1, 60), st.integers(0, 30), st.sampled_from([1, 2, 4, 16]))
ANYWHERE = (*REGISTER_FILE, *LOCAL_MEMORY)


def uses(program: Program) -> dict:
    """Buffer -> indices of the operations that name it."""
    found: dict = {}
    for index, op in enumerate(program.operations):
        for operand in (*op.sources, *op.destinations):
            if isinstance(operand, BufferOperand):
                found.setdefault(operand.buffer, []).append(index)
    return found


def assert_legal(program: Program) -> None:
    """Written independently of the allocator: ranges of buffers that are live at the same time are disjoint."""
    found, end = uses(program), len(program.operations)
    used = [b for b in program.buffers if b.pinned or b in found]
    lives = {b: (-1, end) if b.pinned else (found[b][0], found[b][-1]) for b in used}
    placed: dict[Buffer, range] = {}
    for buffer in lives:
        assert buffer.memory is not None and buffer.memory in buffer.choices
        assert buffer.base is not None and buffer.base % buffer.alignment == 0
        assert buffer.base >= 0 and buffer.base + buffer.size <= chip().memories[buffer.memory].longs
        placed[buffer] = range(buffer.base, buffer.base + buffer.size)
    known = list(lives)
    for i, a in enumerate(known):
        for b in known[i + 1 :]:
            if a.memory is b.memory and lives[a][0] < lives[b][1] and lives[b][0] < lives[a][1]:
                assert placed[a].stop <= placed[b].start or placed[b].stop <= placed[a].start, (a.name, b.name)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 32), st.integers(1, 150))
def test_live_buffers_are_disjoint(seed: int, count: int) -> None:
    program = ProgramMaker(Random(seed)).make(count)
    allocate(program)
    assert_legal(program)


@settings(max_examples=100, deadline=None)
@given(st.lists(SHAPES, min_size=1, max_size=60))
def test_sizes_and_alignments(shapes: list[tuple[int, int, int]]) -> None:
    """Either an allocation is found and legal, or the register files are overfull by what the message says."""
    program = Program()
    builder = Builder(program)
    alive: list = []
    for size, life, alignment in shapes:
        made = builder.temporary(size, REGISTER_FILE, f"t{len(program.buffers)}", alignment)
        builder.emit("zero", (), [local(made, [0])])
        alive.append((len(program.operations) + life, made))
        for end, buffer in list(alive):
            if end <= len(program.operations):
                builder.emit("ipassa", [local(buffer, [0])], [Operand(Memory.NOWRITE)])
                alive.remove((end, buffer))
    try:
        allocate(program)
    except CapacityError as error:
        assert error.available == 256
        assert sum(size for _, size in error.buffers) == error.needed
        assert sum(size for size, _, _ in shapes) > 256
        return
    assert_legal(program)


def vector_operation(choices_x: tuple, choices_y: tuple, choices_z: tuple, opcode: str = "iadd") -> Program:
    program = Program()
    builder = Builder(program)
    x, y, z = (builder.temporary(4, c, n) for c, n in zip((choices_x, choices_y, choices_z), "xyz", strict=True))
    builder.emit("zero", (), [local(x, range(4))])
    builder.emit("zero", (), [local(y, range(4))])
    builder.emit(opcode, [local(x, range(4)), local(y, range(4))], [local(z, range(4))])
    return program


def test_operands_read_together_lie_apart() -> None:
    program = vector_operation(REGISTER_FILE, REGISTER_FILE, REGISTER_FILE)
    allocate(program)
    x, y, _ = program.buffers
    assert x.memory is not y.memory


def test_destination_avoids_the_local_memory_that_is_read() -> None:
    program = vector_operation(LOCAL_MEMORY, LOCAL_MEMORY[:1], (*LOCAL_MEMORY, Memory.GRF0))
    allocate(program)
    x, y, z = program.buffers
    assert (x.memory, y.memory, z.memory) == (Memory.LM1, Memory.LM0, Memory.GRF0)


def test_the_search_goes_back() -> None:
    """Greedy choice by fullness would leave nothing for the last buffer."""
    program = vector_operation(ANYWHERE, (Memory.GRF0,), REGISTER_FILE)
    x, y, z = program.buffers
    builder = Builder(program)
    w = builder.temporary(4, (Memory.GRF1, Memory.LM0), "w")
    builder.emit("zero", (), [local(w, range(4))])
    builder.emit("fvfma", [local(x, range(4)), local(w, range(4)), local(z, range(4))], [Operand(Memory.NOWRITE)])
    allocate(program)
    assert len({x.memory, w.memory, z.memory}) == 3 and x.memory is not y.memory


def test_impossible_operands_are_our_mistake() -> None:
    with pytest.raises(InternalError, match="no memory of GRF0 is left for buffer y"):
        allocate(vector_operation((Memory.GRF0,), (Memory.GRF0,), REGISTER_FILE))
    program = vector_operation(REGISTER_FILE, REGISTER_FILE, REGISTER_FILE)
    x = program.buffers[0]
    Builder(program).emit("iadd", [local(x, range(4)), local(x, [0])], [Operand(Memory.NOWRITE)])
    with pytest.raises(InternalError, match="reads buffer x at two places"):
        allocate(program)


def test_rows_of_a_chain_count_as_one_operation() -> None:
    """Both consumers of a latch are issued in the same step and read one buffer each."""
    program = Program()
    builder = Builder(program)
    x, y = (builder.temporary(4, REGISTER_FILE, n) for n in "xy")
    for buffer in (x, y):
        builder.emit("zero", (), [local(buffer, range(4))])
    builder.emit("fvpassa", [local(x, range(4))], [Operand(Memory.NOWRITE)])
    builder.emit("iadd", [local(x, range(4)), Operand(Memory.MAUF)], [Operand(Memory.T, 2)])
    builder.emit("fvadd", [local(y, range(4)), Operand(Memory.MAUF)], [Operand(Memory.NOWRITE)])
    allocate(program)
    assert x.memory is not y.memory


def test_immediates_stay_out_of_lm0() -> None:
    program = Program()
    builder = Builder(program)
    x = program.buffer("x", 1, LOCAL_MEMORY, pinned=True)
    builder.emit("imm", (), [local(x, [0])], literal=Literal("i", "1"))
    allocate(program)
    assert x.memory is Memory.LM1


def test_indirect_access_needs_lm0() -> None:
    program = Program()
    builder = Builder(program)
    x = builder.temporary(4, (Memory.LM1, Memory.LM0), "x")
    builder.emit("zero", (), [local(x, range(4))])
    builder.emit("ipassa", [local(x, range(4), t_indirect=True)], [Operand(Memory.NOWRITE)])
    allocate(program)
    assert x.memory is Memory.LM0


def test_lifetimes_end_and_temporaries_rotate() -> None:
    """A hundred short-lived buffers of 16 long words fit, and neighbours do not reuse the same place."""
    program = Program()
    builder = Builder(program)
    for i in range(100):
        t = builder.temporary(16, (Memory.GRF0,), f"t{i}")
        builder.emit("zero", (), [local(t, range(4))])
        builder.emit("ipassa", [local(t, range(4))], [Operand(Memory.NOWRITE)])
    allocate(program)
    bases = [b.base for b in program.buffers]
    assert all(len(set(bases[i : i + 16])) == 16 for i in range(84))


def test_too_large_names_memory_sizes_and_buffers() -> None:
    program = Program()
    builder = Builder(program)
    for name in ("weights", "image"):
        program.buffer(name, 5000, (Memory.L1BM,), pinned=True)
    builder.emit("l1bmp", [upper(program.buffers[0])], [Operand(Memory.T, 2)])
    with pytest.raises(CapacityError) as caught:
        allocate(program)
    error = caught.value
    assert (error.memories, error.needed, error.available) == ((Memory.L1BM,), 10000, 8192)
    assert error.buffers == [("image", 5000), ("weights", 5000)]
    assert "L1BM" in str(error) and "10000" in str(error) and "weights (5000)" in str(error)
    assert error.exit_code == 2


def test_too_large_names_nodes() -> None:
    """People know nodes, not our buffers: each goes by the node that fills it, or that reads what nobody fills."""
    program = Program()
    for number, node in enumerate(("dense", "softmax")):
        builder = Builder(program, node)
        source = program.buffer(f"b{number}", 3000 + number, (Memory.L1BM,), pinned=True)
        builder.emit("l1bmp", [upper(source)], [Operand(Memory.T, 2)])
    program.buffer("b2", 3000, (Memory.L1BM,), pinned=True)
    with pytest.raises(CapacityError) as caught:
        allocate(program)
    assert caught.value.node in ("dense", "softmax")
    assert "by 'softmax' (3001), 'dense' (3000), b2 (3000)" in str(caught.value)


@pytest.mark.parametrize(
    ("needed", "buffers", "hint"),
    [
        (4000, [("'a'", 3000), ("'b'", 1000)], "there is room, but not in one piece"),
        (4608, [("'a'", 3072), ("'b'", 1536)], "1.2 times smaller, or split 'a' into several nodes"),
        (500_000, [("'a'", 500_000)], "'a' alone takes 122.1 times what there is"),
    ],
)
def test_hints_follow_from_the_numbers(needed: int, buffers: list[tuple[str, int]], hint: str) -> None:
    assert hint in (CapacityError(LOCAL_MEMORY, needed, 4096, buffers).hint or "")


def test_given_places_are_kept() -> None:
    program = Program()
    builder = Builder(program)
    fixed = program.buffer("fixed", 8, LOCAL_MEMORY, pinned=True)
    fixed.memory, fixed.base = Memory.LM0, 0
    other = builder.temporary(8, (Memory.LM0,), "other")
    builder.emit("zero", (), [local(other, range(4))])
    builder.emit("ipassa", [local(other, range(4))], [Operand(Memory.NOWRITE)])
    allocate(program)
    assert (fixed.memory, fixed.base) == (Memory.LM0, 0)
    assert other.base is not None and other.base >= 8


def test_unused_buffers_get_nothing() -> None:
    program = Program()
    unused = program.buffer("unused", 4, REGISTER_FILE)
    allocate(program)
    assert unused.memory is None


def test_both_local_memories_are_filled() -> None:
    """Three tensors of half a memory each cannot sit in one."""
    program = Program()
    builder = Builder(program)
    for i in range(4):
        program.buffer(f"tensor{i}", 1000, LOCAL_MEMORY, pinned=True)
    builder.emit("zero", (), [Operand(Memory.NOWRITE)])
    allocate(program)
    assert sorted(b.memory.name for b in program.buffers if b.memory) == ["LM0", "LM0", "LM1", "LM1"]
    assert_legal(program)


def test_what_arrives_lies_apart_from_what_is_read_meanwhile() -> None:
    """A local memory that a transfer writes cannot be read: tensors that pass in turn take both in turn."""
    program = Program()
    builder = Builder(program)
    above = program.buffer("above", 64, (Memory.L1BM,), pinned=True)
    parts = [program.buffer(f"part{i}", 64, LOCAL_MEMORY) for i in range(4)]
    for part in parts:
        builder.emit("l1bmd", [upper(above)], [local(part, range(4))])
        for _ in range(AHEAD):
            builder.emit("gbfn", [local(part, range(4))], [Operand(Memory.NOWRITE)])
    allocate(program)
    assert all(one.memory is not other.memory for one, other in pairwise(parts))
    assert_legal(program)


def test_small_buffers_go_to_register_files_where_ports_allow_it() -> None:
    program = Program()
    builder = Builder(program)
    small, large = builder.temporary(4, LOCAL_MEMORY, "small"), builder.temporary(200, LOCAL_MEMORY, "large")
    files = [program.buffer(m.name, 4, (m,), pinned=True) for m in REGISTER_FILE]
    builder.emit("zero", (), [local(small, range(4))])
    builder.emit("zero", (), [local(large, range(4))])
    builder.emit("iadd", [local(small, range(4)), local(large, range(4))], [Operand(Memory.NOWRITE)])
    allocate(program)
    assert small.memory in REGISTER_FILE and large.memory in LOCAL_MEMORY
    builder.emit("fvfma", [local(b, range(4)) for b in (*files, small)], [Operand(Memory.NOWRITE)])
    for buffer in program.buffers:
        buffer.memory = buffer.base = None
    small.choices = LOCAL_MEMORY
    allocate(program)
    assert small.memory in LOCAL_MEMORY


def test_small_buffers_stay_where_the_register_files_are_full() -> None:
    program = Program()
    builder = Builder(program)
    longs = chip().memories[Memory.GRF0].longs
    full = [program.buffer(m.name, longs, (m,), pinned=True) for m in REGISTER_FILE]
    small = builder.temporary(4, LOCAL_MEMORY, "small")
    builder.emit("zero", (), [local(small, range(4))])
    builder.emit("ipassa", [local(small, range(4))], [local(full[0], range(4))])
    allocate(program)
    assert small.memory in LOCAL_MEMORY


def test_a_register_file_holds_as_many_constants_as_it_has_long_words() -> None:
    """Alignment is for accesses to two long words at once, of which a single one has none."""
    made = Program()
    builder = Builder(made)
    count = chip().memories[Memory.GRF1].longs
    constants = [builder.temporary(1, (Memory.GRF1,), f"constant{i}") for i in range(count)]
    result = builder.temporary(1, (Memory.GRF0,), "result")
    for constant in constants:
        builder.emit("imm", (), [local(constant, [0])], literal=Literal("ui", "1"))
    for constant in constants:
        builder.emit("lpassa", [local(constant, [0])], [local(result, [0])])
    allocate(made)
    assert sorted(constant.base or 0 for constant in constants) == list(range(count))
