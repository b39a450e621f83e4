"""Order of kernels: the urgent ones get the matrix banks first, and what depends on something follows it."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.assembly.records import Literal, Mask, Memory, Operand
from mnc.mncore_backend.codegen.ordering.order import ordered_kernels
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer, BufferOperand, Builder, MachineOp, Program, local, upper

FOUR = range(4)
BANK = Operand(Memory.MATRIX_X, 2, 0)


def buffers(count: int) -> list[Buffer]:
    builder = Builder(Program())
    return [builder.temporary(4, LOCAL_MEMORY, f"b{i}") for i in range(count)]


def ordered(runs: Sequence[Sequence[MachineOp]]) -> list[MachineOp]:
    return ordered_kernels(Program(), runs) or [op for run in runs for op in run]


def transposition(source: Buffer, target: Buffer) -> list[MachineOp]:
    builder = Builder(Program())
    builder.emit("gmwrite", [local(source, FOUR)], [BANK])
    builder.emit("gmread", [BANK], [local(target, FOUR)])
    return builder.program.operations


def steps(source: Buffer, target: Buffer, count: int = 1) -> list[MachineOp]:
    builder = Builder(Program())
    for i in range(count):
        builder.emit("iinc", [local(source if i == 0 else target, FOUR)], [local(target, FOUR)])
    return builder.program.operations


def test_longer_path_first() -> None:
    a, b, c, d = buffers(4)
    short, long, rest = transposition(a, b), transposition(a, c), steps(c, d, 20)
    assert ordered([short, long, rest]) == [*long, *short, *rest]


def test_the_banks_are_left_to_what_comes_soon_and_is_urgent() -> None:
    a, b, c, d, e = buffers(5)
    before, urgent, rest, other = steps(a, b), transposition(b, c), steps(c, d, 20), transposition(a, e)
    assert ordered([other, before, urgent, rest])[1:3] == urgent


def test_idle_banks_are_used() -> None:
    a, b, c, d, e = buffers(5)
    before, urgent, rest, other = steps(a, b, 20), transposition(b, c), steps(c, d, 20), transposition(a, e)
    made = ordered([before, urgent, rest, other])
    assert made.index(other[0]) < made.index(urgent[0])


def test_constants_are_for_all_and_masked_writes_are_none() -> None:
    """The copy of a constant under a mask stays behind what makes the mask."""
    builder = Builder(Program())
    constant = builder.temporary(1, (Memory.GRF0,), "constant", alignment=1)
    value = builder.temporary(4, (Memory.GRF1,), "value")
    builder.emit("iinc", [Operand(Memory.PEID)], [Operand(Memory.MASK, address=1)])
    builder.emit("zero", (), [local(value, FOUR)])
    builder.emit("imm", (), [local(constant, [0])], literal=Literal("ui", "1"))
    builder.emit("lpassa", [local(constant, [0])], [local(value, FOUR, mask=Mask(entry=1))])
    builder.emit("imm", (), [Operand(Memory.T)], literal=Literal("ui", "1"))
    builder.emit("iinc", [local(constant, [0] * 4)], [local(value, FOUR)])
    run, reader = builder.program.operations[:-1], builder.program.operations[-1:]
    assert ordered([run, reader]) == [run[2], run[0], run[1], run[3], run[4], *reader]


def test_constants_of_one_kernel_stay_with_it() -> None:
    """From the beginning on they would fill the register files while they wait. One that is copied for another kernel
    goes first with its copy."""
    builder = Builder(Program())
    a, b, c = buffers(3)
    own, read, copied = (builder.temporary(1, (Memory.GRF0,), name, alignment=1) for name in ("own", "read", "copied"))
    for constant in (own, read):
        builder.emit("imm", (), [local(constant, [0])], literal=Literal("ui", "1"))
    builder.emit("lpassa", [local(read, [0])], [local(copied, [0])])
    builder.emit("iadd", [local(b, FOUR), local(own, [0] * 4)], [local(c, FOUR)])
    builder.emit("iadd", [local(c, FOUR), local(copied, [0] * 4)], [local(a, FOUR)])
    before, run, behind = steps(a, b, 20), builder.program.operations[:4], builder.program.operations[4:]
    assert ordered([before, run, behind]) == [*before, *run[1:3], run[0], run[3], *behind]


def test_nothing_comes_between_a_register_and_its_reader() -> None:
    """T is set before an MV and used behind it, and another kernel that is more urgent sets T, too."""
    builder = Builder(Program())
    memories = (Memory.DRAM, Memory.L2BM, Memory.L1BM)
    image, shared, below = (builder.program.buffer(m.name, 64, (m,), alignment=64) for m in memories)
    a, b, c, d = buffers(4)
    runs: list[list[MachineOp]] = []
    for waits, target in ((True, b), (False, c)):
        known = len(builder.program.operations)
        builder.emit("iinc", [Operand(Memory.PEID)], [Operand(Memory.T)])
        if waits:
            builder.emit("mvp", [upper(image)], [upper(shared, l2b=0)], size=64)
            builder.emit("l2bmb", [upper(shared)], [upper(below)])
        builder.emit("ipassa", [local(a, FOUR, t_indirect=True)], [local(target, FOUR)])
        runs.append(builder.program.operations[known:])
    made = ordered([*runs, steps(c, d, 200)])
    place = [made.index(op) for op in runs[0]]
    assert place == list(range(place[0], place[0] + 4))


def used(op: MachineOp) -> tuple[set[Buffer], set[Buffer]]:
    read = {o.buffer for o in op.sources if isinstance(o, BufferOperand)}
    return read, {o.buffer for o in op.destinations if isinstance(o, BufferOperand)}


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans(), st.integers(1, 9)), max_size=25))
def test_dependences_hold(kernels: list[tuple[int, int, bool, int]]) -> None:
    pool = buffers(6)
    runs = [transposition(pool[s], pool[t]) if b else steps(pool[s], pool[t], n) for s, t, b, n in kernels]
    made = ordered(runs)
    operations = [op for run in runs for op in run]
    assert sorted(map(id, made)) == sorted(map(id, operations))
    place = {id(op): i for i, op in enumerate(made)}
    for i, op in enumerate(operations):
        read, written = used(op)
        for other in operations[:i]:
            other_read, other_written = used(other)
            if written & (other_read | other_written) or read & other_written:
                assert place[id(other)] < place[id(op)]
    for run in runs:  # the banks of a kernel are its own
        assert [place[id(op)] for op in run] == list(range(place[id(run[0])], place[id(run[0])] + len(run)))


def test_too_large_to_live_side_by_side() -> None:
    builder = Builder(Program())
    a, b = (builder.temporary(6000, LOCAL_MEMORY, n) for n in "ab")
    c, d = buffers(2)
    runs = [transposition(a, b), transposition(a, c), steps(c, d, 20)]
    assert ordered(runs) == [op for run in runs for op in run]
