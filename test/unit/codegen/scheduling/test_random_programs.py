"""Random programs: a schedule is legal, computes what the operations say, and takes the time that was predicted."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from project.work import work

from mnc.mncore_backend.assembly import parse_program, print_program, print_statement
from mnc.mncore_backend.assembly.records import Literal, Memory, Operand
from mnc.mncore_backend.checker import check_program
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.codegen.report.cost import cost_of
from mnc.mncore_backend.codegen.scheduling import (
    Schedule,
    ScheduleOptions,
    TransferOrder,
    best_schedule,
    orders,
    schedule,
    scheduler,
    sequential,
)
from mnc.mncore_backend.codegen.scheduling.bound import least_cycles
from mnc.mncore_backend.codegen.scheduling.reading import Reading
from mnc.mncore_backend.codegen.scheduling.ready import ReadyQueues
from mnc.mncore_backend.program import Builder, Program, local

from .programs import ProgramMaker
from .running import run

SLOW = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
QUICK = settings(max_examples=40, deadline=None)
ORDERS = st.sampled_from(TransferOrder)


def made(seed: int, count: int) -> ProgramMaker:
    maker = ProgramMaker(Random(seed))
    allocate(maker.make(count))
    return maker


@QUICK
@given(st.integers(0, 1 << 32), st.integers(1, 90))
def test_no_schedule_takes_less_than_the_bound(seed: int, count: int) -> None:
    program = made(seed, count).program
    assert least_cycles(program) <= best_schedule(program).cycles


@SLOW
@given(st.integers(0, 1 << 32), st.integers(1, 90), st.sampled_from([4, 40, 2000]), ORDERS)
def test_same_memory_as_sequential_emission(seed: int, count: int, window: int, order: TransferOrder) -> None:
    maker = made(seed, count)
    plan = schedule(maker.program, ScheduleOptions(window=window, order=order))
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
        assert sum(node.steps + node.idle_steps for node in cost.nodes) == pytest.approx(cost.steps)
        assert sum(node.cycles for node in cost.nodes) == pytest.approx(cost.cycles)


@QUICK
@given(st.integers(0, 1 << 32), st.integers(1, 150), st.sampled_from([4, 40, 2000]), st.lists(ORDERS, min_size=1))
def test_a_program_that_is_read_once_is_scheduled_as_if_read_each_time(
    seed: int, count: int, window: int, orders: list[TransferOrder]
) -> None:
    program = made(seed, count).program
    reading = Reading(program.operations)
    for order in orders:
        options = ScheduleOptions(window=window, order=order)
        assert schedule(program, options, reading) == schedule(program, options)


class Restless(ReadyQueues):
    """Says that the MVs that are ready have changed whenever it is asked."""

    @property
    def changes(self) -> int:
        self._asked = getattr(self, "_asked", 0) + 1
        return self._asked

    @changes.setter
    def changes(self, value: int) -> None:
        pass


@QUICK
@given(st.integers(0, 1 << 32), st.integers(1, 150), st.sampled_from([4, 40, 2000]), ORDERS)
def test_transfers_that_are_not_looked_at_again_could_not_have_been_issued(
    seed: int, count: int, window: int, order: TransferOrder
) -> None:
    program, options = made(seed, count).program, ScheduleOptions(window=window, order=order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scheduler, "ReadyQueues", Restless)
        expected = schedule(program, options)
    assert schedule(program, options) == expected


@QUICK
@given(st.integers(0, 1 << 32), st.integers(1, 150))
def test_giving_up_loses_no_better_schedule(seed: int, count: int) -> None:
    program = made(seed, count).program

    def unlimited(program: Program, options: ScheduleOptions, reading: Reading) -> Schedule:
        return schedule(program, replace(options, most=None), reading)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orders, "schedule", unlimited)
        expected = best_schedule(program)
    assert best_schedule(program) == expected


@QUICK
@given(st.integers(0, 1 << 32), st.integers(1, 150), st.sampled_from([4, 40, 2000]), ORDERS)
def test_checker_has_nothing_to_say(seed: int, count: int, window: int, order: TransferOrder) -> None:
    plan = schedule(made(seed, count).program, ScheduleOptions(window=window, order=order))
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


@SLOW
@given(st.integers(0, 1 << 32), st.integers(1, 90), st.sampled_from([4, 40, 2000]), ORDERS, st.booleans())
def test_priorities_of_an_earlier_schedule_keep_the_meaning(
    seed: int, count: int, window: int, order: TransferOrder, deep: bool
) -> None:
    maker = made(seed, count)
    first = schedule(maker.program, ScheduleOptions(window=window, order=order, deep=deep))
    assert len(first.places) <= len(maker.program.operations) and max(first.places.values()) <= first.steps
    second = schedule(maker.program, ScheduleOptions(window=window, order=order, deep=deep, earlier=first.places))
    state, _ = run(second.statements, maker)
    expected, _ = run(sequential(maker.program).statements, maker)
    assert all((state[name] == values).all() for name, values in expected.items())
    assert check_program(second.statements) == []


def test_deterministic() -> None:
    texts = {print_program(schedule(made(3, 300).program).statements) for _ in range(2)}
    assert len(texts) == 1


def test_an_operation_takes_few_calls() -> None:
    program = made(5, 2500).program
    _, calls = work(lambda: schedule(program))
    assert len(program.operations) > 4000
    assert calls < 1000 * len(program.operations)


def test_base_registers_order_what_follows() -> None:
    """Addresses are unknown once a base register is written: accesses before and after must not be exchanged."""
    program = Program()
    builder = Builder(program)
    x = program.buffer("x", 16, (Memory.LM1,), pinned=True)
    t = program.buffer("t", 16, (Memory.GRF0,), pinned=True)
    for i in range(4):
        builder.emit("zero", (), [local(x, range(4 * i, 4 * i + 4))])
    builder.emit("imm", (), [Operand(Memory.BAR1, 2)], literal=Literal("i", "8"))
    builder.emit("ipassa", [local(x, range(4))], [local(t, range(4))])
    builder.emit("iinc", [Operand(Memory.PEID)], [local(x, range(4))])
    allocate(program)
    lines = [print_statement(s) for s in schedule(program).statements]
    assert lines[3:] == ['zero $ln24v', 'imm i"8" $lnb', "nop/2", "ipassa $ln0v $lr0v", "iinc $peid $ln0v"]
