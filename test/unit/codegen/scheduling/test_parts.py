"""Programs in two parts: the same work, legal across the seam, and the same text wherever the parts are scheduled."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnc.core import both as module
from mnc.core.both import both
from mnc.mncore_backend.assembly import parse_program, print_program
from mnc.mncore_backend.assembly.records import Memory, Operand
from mnc.mncore_backend.checker import check_program
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.codegen.report.cost import cost_of
from mnc.mncore_backend.codegen.scheduling import TooLongError, best_schedule, schedule, sequential
from mnc.mncore_backend.codegen.scheduling.orders import IMPROVABLE
from mnc.mncore_backend.codegen.scheduling.parts import cut, joined, scheduled_lines
from mnc.mncore_backend.program import Builder, Program, local

from .programs import ProgramMaker
from .running import run

SLOW = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def made(seed: int, count: int) -> ProgramMaker:
    maker = ProgramMaker(Random(seed))
    allocate(maker.make(count))
    return maker


@SLOW
@given(st.integers(0, 1 << 32), st.integers(2, 90))
def test_same_memory_as_sequential_emission(seed: int, count: int) -> None:
    maker = made(seed, count)
    parts = cut(maker.program)
    if parts is None:
        return
    assert parts[0].operations + parts[1].operations == maker.program.operations
    plan = joined(*map(best_schedule, parts))
    state, statistics = run(plan.statements, maker)
    expected, _ = run(sequential(maker.program).statements, maker)
    for name, values in expected.items():
        assert (state[name] == values).all(), name
    cost = cost_of(plan.statements, plan.locations)
    assert plan.steps == cost.steps == statistics.steps
    assert plan.cycles == cost.cycles == statistics.cycles
    assert check_program(parse_program(print_program(plan.statements))) == []


def test_most_programs_can_be_cut() -> None:
    assert sum(cut(made(seed, 60).program) is not None for seed in range(20)) >= 10


def test_text_does_not_depend_on_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "has_processor", lambda: True)
    program = next(p for p in (made(seed, 200).program for seed in range(9)) if cut(p) is not None)
    parts = cut(program)
    assert parts is not None
    lines = scheduled_lines(program, both, parted=100)
    assert lines == scheduled_lines(program, parted=100)
    plan = joined(*map(best_schedule, parts))
    assert "".join(f"{text}\n" for text in lines.texts) == print_program(plan.statements)
    assert len(lines.nodes) == len(lines.texts)


@pytest.mark.parametrize("parted", [100, 10_000])
def test_what_takes_too_long_is_given_up(parted: int) -> None:
    program = next(p for p in (made(seed, 200).program for seed in range(9)) if cut(p) is not None)
    cycles = schedule(program).cycles
    assert scheduled_lines(program, most=cycles, parted=parted) == scheduled_lines(program, parted=parted)
    with pytest.raises(TooLongError, match=f"more than {int(IMPROVABLE * (cycles // 4))} cycles"):
        scheduled_lines(program, most=cycles // 4, parted=parted)


def test_short_programs_stay_whole() -> None:
    program = made(1, 50).program
    assert "\n".join(scheduled_lines(program).texts) + "\n" == print_program(best_schedule(program).statements)


def test_latches_and_the_turnaround_register_stay_with_their_readers() -> None:
    """The middle of each pair of operations would part what the second reads from what the first leaves."""
    builder = Builder(Program())
    a, b = (builder.temporary(4) for _ in range(2))
    builder.emit("ipassa", [local(a, range(4))], [local(b, range(4))])
    builder.emit("lpassa", [Operand(Memory.ALUF)], [local(a, range(4))])
    assert cut(builder.program) is None
    builder.emit("ipassa", [local(a, range(4))], [local(b, range(4))])
    builder.emit("ipassa", [local(b, range(4))], [local(a, range(4))])
    parts = cut(builder.program)
    assert parts is not None and len(parts[0].operations) == 2
    builder.program.operations.clear()
    builder.emit("l1bmd", [local(a, range(4))], [Operand(Memory.TURNAROUND)])
    builder.emit("l1bmd", [Operand(Memory.TURNAROUND)], [local(b, range(4))])
    assert cut(builder.program) is None
