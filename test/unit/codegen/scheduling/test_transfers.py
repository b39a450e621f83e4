"""MV transfers: issued early, waited for late, told apart by tags, hidden behind work; the turnaround register."""

from typing import Any

import pytest

from mnc.mncore_backend.assembly import print_statement
from mnc.mncore_backend.assembly.records import Memory, Operand, Statement, Step, Transfer
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
)
from mnc.mncore_backend.codegen.scheduling.bound import least_cycles
from mnc.mncore_backend.codegen.scheduling.reading import Reading
from mnc.mncore_backend.program import Buffer, Builder, Program, local, upper
from mnc.mncore_backend.target import chip

SIZE = 256


def with_work(loads: int, work: int, size: int = SIZE) -> Program:
    """`loads` independent loads into L2BM, each used by one instruction, and `work` unrelated operations."""
    made = Program()
    builder = Builder(made)
    image = made.buffer("image", size * loads, (Memory.DRAM,), alignment=64, pinned=True)
    result = builder.temporary(4, (Memory.GRF0,))
    for i in range(loads):
        stage = builder.temporary(size, (Memory.L2BM,), f"stage{i}", 64)
        l1bm = builder.temporary(64, (Memory.L1BM,), f"l1bm{i}", 64)
        builder.emit("mvb2", [upper(image, size * i)], [upper(stage)], size=size)
        builder.emit("l2bmb", [upper(stage)], [upper(l1bm)])
    for _ in range(work):
        builder.emit("zero", (), [local(result, range(4))])
    allocate(made)
    return made


def statements(made: Program, **options: Any) -> list[Statement]:
    result = schedule(made, ScheduleOptions(**options)).statements
    assert check_program(result) == []
    return result


def positions(found: list[Statement], text: str) -> list[int]:
    return [i for i, s in enumerate(found) if text in print_statement(s)]


def test_work_hides_a_transfer() -> None:
    found = statements(with_work(1, 100))
    assert isinstance(found[0], Transfer)
    cost = cost_of(found)
    assert cost.stall_cycles == 0 and cost.steps == 100  # the use of what was loaded shares a step
    assert positions(found, "wait")[0] > 65
    assert "l2bmb" in print_statement(found[positions(found, "wait")[0]])


def test_the_busiest_side_of_a_memory_is_a_bound() -> None:
    """Data of loads into the same L2BMs come one after the other: 4 steps of 64 long words each."""
    assert least_cycles(with_work(16, 0)) == 4 * 16 * 4
    assert least_cycles(with_work(1, 100)) == 4 * 100


def test_without_work_issue_stalls_and_no_nops_are_added() -> None:
    cost = cost_of(statements(with_work(1, 0)))
    assert cost.steps == 1
    assert cost.stall_cycles == 4 * (chip().mv_latency_steps + SIZE // 64)


def test_short_work_goes_before_the_stall() -> None:
    found = statements(with_work(1, 20))
    assert positions(found, "wait")[0] == 21
    assert cost_of(found).cycles == 4 * (chip().mv_latency_steps + SIZE // 64 + 1)


def test_more_transfers_than_tags() -> None:
    found = statements(with_work(150, 0, 64))
    tags = [s.tag for s in found if isinstance(s, Transfer)]
    assert len(tags) == 150 and None not in tags and all(1 <= t <= 63 for t in tags if t)


def test_issue_interval_is_kept_while_there_is_work() -> None:
    found = statements(with_work(6, 300))
    issued = [i - k for k, i in enumerate(i for i, s in enumerate(found) if isinstance(s, Transfer))]
    assert issued[1:] == [issued[0] + 4 * k for k in range(1, 6)]
    assert cost_of(found).stall_cycles == 0


def test_same_memory_in_flight_data_movement_5_2() -> None:
    """Data phases of MVs into the same L2BM follow each other, latencies overlap (OPEN-38)."""
    data = 4 * SIZE // 64
    once = chip().mv_latency_steps + data + chip().mv_issue_interval_steps
    assert cost_of(statements(with_work(4, 0))).cycles <= 4 * once


def test_the_program_ends_when_its_transfers_have_finished() -> None:
    made = Program()
    builder = Builder(made)
    image, copy = (made.buffer(n, 64, (Memory.DRAM,), alignment=64, pinned=True) for n in ("image", "copy"))
    stage = builder.temporary(64, (Memory.L2BM,), "stage", 64)
    builder.emit("mvb2", [upper(image)], [upper(stage)], size=64)
    builder.emit("mvp", [upper(stage, l2b=0)], [upper(copy)], size=64)
    allocate(made)
    text = [print_statement(s) for s in statements(made)]
    assert text == ["mvb2/n64i01 $d0 $lc0", "nop; wait i01", "mvp/n64i02 $lc0@.0 $d64", "nop; wait i02"]
    assert isinstance(schedule(made, ScheduleOptions(wait_at_end=False)).statements[-1], Transfer)


def test_one_step_between_upward_transfer_and_mv() -> None:
    made = Program()
    builder = Builder(made)
    copy = made.buffer("copy", 64, (Memory.DRAM,), alignment=64, pinned=True)
    l1bm, stage = builder.temporary(64, (Memory.L1BM,), "l1bm", 64), builder.temporary(64, (Memory.L2BM,), "stage", 64)
    builder.emit("zero", (), [Operand(Memory.T, 2)])
    for block in range(4):
        builder.emit("l1bmm", [Operand(Memory.T, 2)], [upper(l1bm, 16 * block)], modifier="@0")
    builder.emit("l2bm", [upper(l1bm)], [upper(stage)], modifier="@0")
    builder.emit("mvp", [upper(stage, l2b=0)], [upper(copy)], size=64)
    allocate(made)
    text = [print_statement(s) for s in statements(made)]
    up = next(i for i, line in enumerate(text) if line.startswith("l2bm@0"))
    assert text[up + 1] == "nop" and text[up + 2].startswith("mvp")


def test_an_urgent_mv_gets_a_gap_in_a_stream_of_upward_transfers() -> None:
    """Row 1 of the hazard table asks for a step without one of them before an MV that reads L2BM."""
    made = Program()
    builder = Builder(made)
    copy = made.buffer("copy", 64, (Memory.DRAM,), alignment=64, pinned=True)
    l1bm = builder.temporary(64, (Memory.L1BM,), "l1bm", 64)
    stage = builder.temporary(4096, (Memory.L2BM,), "stage", 64)
    builder.emit("zero", (), [Operand(Memory.T, 2)])
    for block in range(4):
        builder.emit("l1bmm", [Operand(Memory.T, 2)], [upper(l1bm, 16 * block)], modifier="@0")
    for block in range(64):
        builder.emit("l2bm", [upper(l1bm)], [upper(stage, 64 * block)], modifier="@0")
    builder.emit("mvp", [upper(stage, l2b=0)], [upper(copy)], size=64)
    allocate(made)
    found = statements(made)
    first = next(i for i, s in enumerate(found) if isinstance(s, Transfer))
    assert first < len(found) - 50
    assert cost_of(found).stall_cycles < 4 * chip().mv_latency_steps - 200


def turnaround(builder: Builder, value: Buffer) -> Buffer:
    builder.emit("l1bmriiadd", [local(value, range(4))], [Operand(Memory.TURNAROUND, 2)])
    made = builder.temporary(4, (Memory.GRF1,), "sum")
    builder.emit("l1bmm", [Operand(Memory.TURNAROUND, 2)], [local(made, range(4))])
    return made


def test_turnarounds_run_one_a_step() -> None:
    """Reduce, reduce and read, ..., read: no gaps (SDM 3.6.8.2)."""
    made = Program()
    builder = Builder(made)
    value = made.buffer("value", 4, (Memory.GRF0,), pinned=True)
    for _ in range(10):
        turnaround(builder, value)
    allocate(made)
    found = statements(made)
    assert len(found) == 11 and all(isinstance(s, Step) and len(s.expressions) == 2 for s in found[1:-1])


def test_no_upward_transfer_between_turnaround_write_and_read() -> None:
    made = Program()
    builder = Builder(made)
    value = made.buffer("value", 4, (Memory.GRF0,), pinned=True)
    l1bm = made.buffer("l1bm", 512, (Memory.L1BM,), alignment=256, pinned=True)
    for i in range(6):
        turnaround(builder, value)
        builder.emit("l1bmd", [local(value, range(4))], [upper(l1bm, 256 * (i % 2))])
    allocate(made)
    last = ""
    for statement in statements(made):
        text = print_statement(statement)
        if "$lbi $" in text:
            assert "l1bmriiadd" in last
        last = text if "l1bmd" in text or "l1bmriiadd" in text else last


def test_a_stream_into_the_halves_does_not_keep_out_what_fills_all() -> None:
    """The broadcast is ready while both halves of every group are being written, which never end at the same time."""
    made = Program()
    builder = Builder(made)
    image = made.buffer("image", 64 + 16 * 1024, (Memory.DRAM,), alignment=64, pinned=True)
    sums = made.buffer("sums", 64, (Memory.PDM,), alignment=64, pinned=True)
    everywhere = made.buffer("everywhere", 64, (Memory.L2BM,), alignment=64, pinned=True)
    builder.emit("mvp", [upper(image, group=0)], [upper(sums, group=0)], size=64)
    builder.emit("mvb", [upper(sums, group=0)], [upper(everywhere)], size=64)
    for i in range(16):
        stage = made.buffer(f"stage{i}", 1024, (Memory.L2BM,), alignment=64, pinned=True)
        builder.emit("mvp", [upper(image, 64 + 1024 * i)], [upper(stage, l2b=i % 2)], size=1024 if i else 512)
    allocate(made)
    issued = [print_statement(s) for s in statements(made) if isinstance(s, Transfer)]
    passed = chip().mv_latency_steps // (1024 // 64)  # pieces whose data phases begin before the sums are there
    assert 0 < next(i for i, text in enumerate(issued) if text.startswith("mvb")) <= passed + 3


def exchange_beside_prefetch(halves: int, work: int, before: int = 1) -> Program:
    """A stream of half transfers that nothing waits for stands before a sum over L2Bs, which `before` steps of work
    precede, and from which long work follows."""
    made = Program()
    builder = Builder(made)
    image = made.buffer("image", 4096 * halves, (Memory.DRAM,), alignment=64, pinned=True)
    for half in range(halves):
        stage = builder.temporary(4096, (Memory.L2BM,), "ahead", 64)
        builder.emit("mvp", [upper(image, 4096 * half)], [upper(stage, l2b=half % 2)], size=4096)
    parts, back = (builder.temporary(64, (Memory.L2BM,), name, 64) for name in ("parts", "back"))
    pdm, l1bm = builder.temporary(64, (Memory.PDM,), "pdm", 64), builder.temporary(64, (Memory.L1BM,), "l1bm", 64)
    value, own = (builder.temporary(4, (memory,)) for memory in (Memory.GRF0, Memory.GRF1))
    for _ in range(before):
        builder.emit("fvadd", [local(own, range(4)), local(own, range(4))], [local(own, range(4))])
    builder.emit("l1bmm", [local(own, range(4))], [upper(l1bm)], modifier="@0")
    builder.emit("l2bm", [upper(l1bm)], [upper(parts)], modifier="@0")
    builder.emit("mvrffadd", [upper(parts)], [upper(pdm, group=0)], size=64)
    builder.emit("mvb", [upper(pdm, group=0)], [upper(back)], size=64)
    builder.emit("l2bmb", [upper(back)], [upper(l1bm)])
    builder.emit("l1bmp", [upper(l1bm)], [local(value, range(4))])
    for _ in range(work):
        builder.emit("fvadd", [local(value, range(4)), local(value, range(4))], [local(value, range(4))])
    allocate(made)
    return made


def test_a_transfer_that_much_depends_on_goes_before_a_prefetch() -> None:
    made = exchange_beside_prefetch(6, 150)
    in_order, urgent = (schedule(made, ScheduleOptions(order=o)) for o in (TransferOrder.READY, TransferOrder.URGENT))
    assert check_program(urgent.statements) == []
    assert urgent.cycles < in_order.cycles - 4 * chip().mv_latency_steps
    assert best_schedule(made).cycles <= urgent.cycles


def test_transfers_keep_their_order_where_that_is_better() -> None:
    """All of them are waited for, and a broadcast among halves would let both run dry."""
    made = exchange_beside_prefetch(6, 0)
    found = [schedule(made, ScheduleOptions(order=order)).cycles for order in TransferOrder]
    assert best_schedule(made).cycles <= min(found)


def test_transfers_that_never_meet_need_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[TransferOrder, bool]] = []

    def noted(program: Program, options: ScheduleOptions, reading: Reading) -> Schedule:
        if options.earlier is None:
            tried.append((options.order, options.deep))
        return schedule(program, options, reading)

    monkeypatch.setattr(orders, "schedule", noted)
    made = exchange_beside_prefetch(0, 3)
    best_schedule(made)
    assert tried == [(TransferOrder.READY, deep) for deep in (True, False)]  # out of L2BM, into L2BM
    tried.clear()
    best_schedule(exchange_beside_prefetch(2, 3))
    assert tried == [(order, deep) for order in TransferOrder for deep in (True, False)]
