"""How long a solution takes: operations wait for those whose results they read, and for nothing else."""

from typing import get_args

import pytest

from mnc.mncore_backend.placement.cost.weights import Kind
from mnc.mncore_backend.placement.problem import Problem, Reshape, Tensor
from mnc.mncore_backend.placement.solve.makespan import SHARES, busiest_share, makespan
from mnc.mncore_backend.pricing import Resources

from .test_duration import MOVEMENT, state

WORK, DEPTH = SHARES.kinds["work"].alu, SHARES.depth


def problem(*sources: int) -> Problem:
    """One operation for each source: tensor 0 is in DRAM, operation n makes tensor n + 1."""
    tensors = (Tensor((8, 8)), *(Tensor((8, 8), made_by=number) for number in range(len(sources))))
    return Problem(tensors, tuple(Reshape("", n + 1, source) for n, source in enumerate(sources)), whole=64)


def test_every_kind_of_work_counts_somewhere() -> None:
    assert set(SHARES.kinds) == set(get_args(Kind))


def test_an_operation_waits_for_the_one_whose_result_it_reads_and_moves() -> None:
    paid = state((0, "work", 100.0), (1, "moves", 1.0))
    moved = {MOVEMENT: Resources(mv=30.0, latency=128.0)}
    movement = 30 * SHARES.moved.mv + 128 * SHARES.moved.latency + SHARES.start + SHARES.exchange
    work = 100 * WORK + DEPTH
    assert makespan(problem(0, 1), paid, moved) == pytest.approx(work + movement)
    assert makespan(problem(0, 0), paid, moved) == pytest.approx(max(work, movement))


def test_what_comes_from_dram_comes_before_it_is_needed() -> None:
    paid = state((0, "work", 100.0), (1, "fetched", 20.0), (1, "work", 10.0))
    assert makespan(problem(0, 1), paid, {}) == pytest.approx(110 * WORK + 2 * DEPTH)


def test_sums_are_part_of_a_result_and_stores_are_not() -> None:
    sums = SHARES.kinds["exchanged"].latency
    paid = state((0, "work", 100.0), (0, "exchanged", 60.0), (1, "work", 10.0), (2, "stored", 40.0))
    assert makespan(problem(0, 1), paid, {}) == pytest.approx(110 * WORK + 2 * DEPTH + 60 * sums)


def test_units_of_a_movement_work_in_turn_in_part() -> None:
    plan = Resources(alu=10.0, l1bm=200.0)
    busiest, other = 200 * SHARES.moved.l1bm, 10 * SHARES.moved.alu
    steps = makespan(problem(0), state((0, "moves", 1.0)), {MOVEMENT: plan})
    assert steps == pytest.approx(busiest + SHARES.in_turn * other + SHARES.start)


def test_what_nobody_pays_for_takes_no_time() -> None:
    assert makespan(problem(0, 1, 0), state((1, "held", 100.0)), {}) == 0.0


def test_the_busiest_unit_works_all_the_time_where_nothing_waits() -> None:
    paid = state((0, "fetched", 40.0), (1, "fetched", 60.0))
    assert busiest_share(problem(0, 0), paid, {}) == pytest.approx(1.0)
    assert busiest_share(problem(0), state((0, "held", 1.0)), {}) == 0.0


def test_the_busiest_unit_works_for_part_of_the_time_where_operations_wait_for_each_other() -> None:
    paid = state((0, "work", 100.0), (1, "moves", 1.0))
    moved = {MOVEMENT: Resources(latency=1000.0)}
    assert busiest_share(problem(0, 1), paid, moved) == pytest.approx(100 * WORK / makespan(problem(0, 1), paid, moved))
