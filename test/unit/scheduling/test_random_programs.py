"""Random programs: a schedule is legal, computes what the operations say, and takes the time that was predicted."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.allocation import allocate
from mnc.mncore_backend.assembly import parse_program, print_program
from mnc.mncore_backend.checker import check_program
from mnc.mncore_backend.cost import cost_of
from mnc.mncore_backend.scheduling import ScheduleOptions, schedule, sequential

from .programs import ProgramMaker
from .running import run

SLOW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
QUICK = settings(max_examples=60, deadline=None)


def made(seed: int, count: int) -> ProgramMaker:
    maker = ProgramMaker(Random(seed))
    allocate(maker.make(count))
    return maker


@SLOW
@given(st.integers(0, 1 << 32), st.integers(1, 120), st.sampled_from([4, 40, 2000]), st.booleans())
def test_same_memory_as_sequential_emission(seed: int, count: int, window: int, share: bool) -> None:
    maker = made(seed, count)
    plan = schedule(maker.program, ScheduleOptions(window=window, share_memories=share))
    plain = sequential(maker.program)
    state, statistics = run(plan.statements, maker)
    expected, plain_statistics = run(plain.statements, maker)
    for name, values in expected.items():
        assert (state[name] == values).all(), name
    for result, measured in ((plan, statistics), (plain, plain_statistics)):
        cost = cost_of(result.statements, result.locations)
        assert result.steps == cost.steps == measured.steps
        assert result.cycles == cost.cycles == measured.cycles
        assert cost.stall_cycles == measured.stall_cycles
        assert cost.mv_transfers == measured.mv_transfers
        assert cost.dram_read == measured.longs["DRAM read by MV"]
        assert cost.dram_written == measured.longs["DRAM written by MV"]
        assert sum(node.steps for node in cost.nodes) == pytest.approx(cost.steps)


@QUICK
@given(st.integers(0, 1 << 32), st.integers(1, 150), st.sampled_from([4, 40, 2000]))
def test_checker_has_nothing_to_say(seed: int, count: int, window: int) -> None:
    plan = schedule(made(seed, count).program, ScheduleOptions(window=window))
    text = print_program(plan.statements)
    assert check_program(parse_program(text)) == []


@QUICK
@given(st.integers(0, 1 << 32), st.integers(1, 100))
def test_every_operation_is_issued_once_and_attributed(seed: int, count: int) -> None:
    maker = made(seed, count)
    plan = schedule(maker.program)
    assert len(plan.statements) == len(plan.locations)
    issued = sum(
        1 if statement.__class__.__name__ == "Transfer" else
        sum(e.opcode not in ("nop", "wait") for e in getattr(statement, "expressions", ()))
        for statement in plan.statements
    )
    assert issued == len(maker.program.operations)
    assert set().union(*plan.locations) == {op.location for op in maker.program.operations}


def test_deterministic() -> None:
    texts = {print_program(schedule(made(3, 300).program).statements) for _ in range(2)}
    assert len(texts) == 1
