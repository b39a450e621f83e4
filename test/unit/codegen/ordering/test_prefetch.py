"""Large loads ahead of their use: what reaches the PEs, and where pieces may stand."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from movement.emulated import Emulated
from movement.test_batch import data_of

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.checker import check_program
from mnc.mncore_backend.codegen.allocation import allocate, unplaced
from mnc.mncore_backend.codegen.ordering.pieces import STAGING, pieces_of
from mnc.mncore_backend.codegen.ordering.prefetch import LARGE, Loads, Moved
from mnc.mncore_backend.codegen.scheduling import best_schedule
from mnc.mncore_backend.layout import Layout, pack, parse, place
from mnc.mncore_backend.movement import DramImage, plan_loads
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer, BufferOperand, Builder, MachineOp, Program, local

WEIGHT = parse("((8_L2B:1, 32:8, 8:1), (8_L1B:1, 16_MAB:1, 4_PE:1, 2_W:1))")  # 256 long words per PE
OTHERS = [
    parse("((128:1), (8_L1B:1, 16_MAB:1, 4_PE:1, 2_W:1))"),
    parse("((8_L2B:1, 8_L1B:1, 16_MAB:1), (64:1, 4_PE:1, 2_W:1))"),
    parse("((8_L2B:1, 64:1), (8:64, 2_W:1))"),
]


class Made:
    """Work of so many operations, in several kernels, and then a load and what reads it."""

    def __init__(self, layout: Layout, kernels: int, operations: int) -> None:
        self.layout, self.program = layout, Program()
        builder = Builder(self.program)
        value = builder.temporary(4, (Memory.GRF0,), "value")
        self.runs: list[list[MachineOp]] = []
        builder.emit("zero", (), [local(value, range(4))])
        for _ in range(kernels):
            for _ in range(operations):
                builder.emit("fvadd", [local(value, range(4)), local(value, range(4))], [local(value, range(4))])
            self.close()
        self.target = self.program.buffer("weight", layout.local_size, LOCAL_MEMORY)
        self.image: DramImage = plan_loads(builder, [(layout, self.target)])[0]()
        self.close()
        result = self.program.buffer("result", layout.local_size, LOCAL_MEMORY, pinned=True)
        for at in range(0, layout.local_size - 3, 4):
            four = range(at, at + 4)
            builder.emit("lpassa", [local(self.target, four)], [local(result, four)])
        self.close()
        self.result = result

    def close(self) -> None:
        """What was emitted since is a run."""
        self.runs.append(self.program.operations[sum(map(len, self.runs)) :])

    def check(self, operations: Sequence[MachineOp]) -> None:
        """These operations must bring the load to the result, without a finding of the checker."""
        self.program.operations[:] = operations
        allocate(self.program)
        chip = Emulated()
        for start, part in self.image.parts:
            for group, longs in self.image.pack(data_of(self.layout)).items():
                chip.machine.write_dram(group, (self.image.buffer.base or 0) + start, longs[part])
        chip.run(self.program)
        held = place(self.layout) >= 0
        assert held.any() and (chip.peek(self.result)[held] == pack(data_of(self.layout), self.layout)[held]).all()
        assert check_program(best_schedule(self.program).statements) == []


def flat(runs: Sequence[Sequence[MachineOp]]) -> list[MachineOp]:
    return [op for run in runs for op in run]


def staging(operations: Sequence[MachineOp]) -> set[Buffer]:
    operands = (o for op in operations for o in (*op.sources, *op.destinations) if isinstance(o, BufferOperand))
    return {o.buffer for o in operands if o.buffer.choices[0] in STAGING}


def test_a_load_that_waits_for_dram_goes_ahead_in_pieces() -> None:
    """The pieces stand among earlier kernels."""
    made = Made(WEIGHT, 20, 40)
    found = Loads.of(made.runs).prefetched(made.program, 0.7)
    assert found is not None
    ahead = found.operations
    moves = [i for i, op in enumerate(ahead) if op.is_transfer]
    assert moves[0] < ahead.index(made.runs[-3][0]) and ahead[moves[0] + 1 :].count(made.runs[-3][0]) == 1
    assert len({sum(op in made.runs[k] for op in ahead[:i] for k in range(20)) for i in moves}) > 1
    made.check(ahead)


@settings(max_examples=8, deadline=None)
@given(st.sampled_from([WEIGHT, *OTHERS]), st.integers(1, 6), st.integers(1, 120))
def test_what_arrives_is_the_same(layout: Layout, kernels: int, operations: int) -> None:
    made = Made(layout, kernels, operations)
    ahead = Loads.of(made.runs).prefetched(made.program, 0.9)
    made.check(flat(made.runs) if ahead is None else ahead.operations)


@pytest.mark.parametrize("layout", [WEIGHT, *OTHERS])
def test_pieces_hold_all_operations_and_share_no_staging(layout: Layout) -> None:
    load = Made(layout, 1, 1).runs[1]
    pieces = pieces_of(load)
    assert sorted(map(id, flat(pieces))) == sorted(map(id, load))
    made = Made(WEIGHT, 20, 40)
    found = Loads.of(made.runs).prefetched(made.program, 0.7)
    ahead = found.operations if found is not None else []
    filled: dict[Buffer, int] = {}
    for index, op in enumerate(ahead):
        for buffer in staging([op]):
            filled.setdefault(buffer, index)
    assert len(filled) > 2 * len(staging(made.runs[20]))


def test_nothing_goes_ahead_without_room_time_or_size() -> None:
    made = Made(WEIGHT, 20, 40)
    assert Loads.of(made.runs).prefetched(made.program, 0.01) is None  # no room
    busy = Made(WEIGHT, 20, 1)
    assert Loads.of(busy.runs).prefetched(busy.program, 0.7) is None  # no time in which DRAM is idle
    small = Made(parse("((8_L2B:1), (8_L1B:1, 16_MAB:1, 4_PE:1, 2_W:1))"), 20, 40)
    assert sum(op.size for op in small.runs[20]) // 64 < LARGE
    assert Loads.of(small.runs).prefetched(small.program, 0.7) is None


def test_a_load_stays_behind_what_uses_its_target() -> None:
    made = Made(WEIGHT, 20, 40)
    builder = Builder(Program())
    builder.emit("zero", (), [local(made.target, range(4))])
    made.runs.insert(19, builder.program.operations)
    found = Loads.of(made.runs).prefetched(made.program, 0.7)
    ahead = found.operations if found is not None else flat(made.runs)
    assert min(i for i, op in enumerate(ahead) if op.is_transfer) > ahead.index(made.runs[19][0])


def test_a_load_stays_behind_its_bound() -> None:
    made = Made(WEIGHT, 20, 40)
    found = Loads.of(made.runs).prefetched(made.program, 0.7)
    assert found is not None and found.moved == [Moved(20, found.moved[0].place, WEIGHT.local_size)]
    bound = found.moved[0].place + 1
    later = Loads.of(made.runs).prefetched(made.program, 0.7, {20: bound})
    assert later is not None and bound <= later.moved[0].place < 20


def test_to_ask_for_room_changes_nothing() -> None:
    made = Made(WEIGHT, 2, 2)
    before = [(b.memory, b.base, b.choices) for b in made.program.buffers]
    made.program.operations[:] = flat(made.runs)
    assert unplaced(made.program) == []
    assert [(b.memory, b.base, b.choices) for b in made.program.buffers] == before
    made.program.buffer("huge", 1 << 20, (Memory.LM0,), pinned=True)
    left = unplaced(made.program)
    assert left is not None and [life.buffer.name for life in left] == ["huge"]
