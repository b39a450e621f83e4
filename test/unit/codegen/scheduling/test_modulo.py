"""Modulo schedules: legal, equal to the sequential program in every bit, and as short as the bounds allow."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.checker import check_program
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.codegen.scheduling import sequential
from mnc.mncore_backend.codegen.scheduling.graph import Bundle
from mnc.mncore_backend.codegen.scheduling.modulo import (
    Body,
    Edge,
    exact_starts,
    find_loops,
    iterative_starts,
    loop_facts,
    modulo_schedule,
    read_body,
)
from mnc.mncore_backend.codegen.scheduling.modulo.iterative import EFFORT
from mnc.mncore_backend.codegen.scheduling.modulo.table import repeats_at
from mnc.mncore_backend.program import Builder, Program, local

from .loop_nests import NestMaker, memories_after, unrolled

NESTS = st.builds(lambda seed, depth: NestMaker(Random(seed), depth), st.integers(0, 1 << 32), st.integers(1, 4))


@settings(max_examples=12, deadline=None)
@given(NESTS)
def test_a_nest_scheduled_as_a_loop_leaves_the_same_bits(nest: NestMaker) -> None:
    read = read_body(nest.program.operations, nest.loop)
    schedule = modulo_schedule(read.body)
    assert schedule is not None
    statements = unrolled(nest.program, nest.loop, read, schedule)
    assert check_program(statements) == []
    expected = memories_after(sequential(nest.program).statements)
    for memory, values in memories_after(statements).items():
        assert (values == expected[memory]).all(), memory


@settings(max_examples=60, deadline=None)
@given(NESTS)
def test_the_interval_is_never_below_the_bounds_and_keeps_every_dependence(nest: NestMaker) -> None:
    body = read_body(nest.program.operations, nest.loop).body
    schedule = modulo_schedule(body)
    assert schedule is not None
    assert schedule.interval >= max(body.recurrence_bound(), *body.resource_bounds().values())
    for before, after, steps, distance in body.edges:
        assert schedule.starts[after] - schedule.starts[before] >= steps - schedule.interval * distance


@settings(max_examples=40, deadline=None)
@given(NESTS)
def test_tiny_bodies_reach_the_optimum(nest: NestMaker) -> None:
    """Where all placements can be tried, none has a shorter interval than the one that was found."""
    body = read_body(nest.program.operations, nest.loop).body
    schedule = modulo_schedule(body)
    assert schedule is not None and (schedule.optimal or len(body.items) > 3)
    for interval in range(1, schedule.interval):
        assert exact_starts(body, interval)[0] is None
    found = iterative_starts(body, schedule.interval, EFFORT) or exact_starts(body, schedule.interval)[0]
    assert found is not None and all(repeats_at(item, schedule.interval) for item in body.items)


def test_a_recurrence_binds() -> None:
    """Two items that wait for each other over two iterations: 3 + 4 steps for two trips."""
    operations = _products(1)
    item = read_body(operations.operations, find_loops(operations.operations)[0]).body.items[0]
    two = [item, Bundle(1, item.rows, needs=item.needs)]
    body = Body(two, [Edge(0, 1, 3, 0), Edge(1, 0, 4, 2)])
    assert body.recurrence_bound() == 4
    schedule = modulo_schedule(body)
    assert schedule is not None and schedule.interval == 4 and schedule.optimal


def test_without_dependences_the_busiest_unit_binds() -> None:
    program = _products(3)
    facts = loop_facts(program.operations)
    assert [f.loops[0].trips for f in facts] == [6]
    assert facts[0].resources[0][1] == facts[0].least == 3
    assert facts[0].schedule is not None and facts[0].schedule.interval == 3
    assert len(facts[0].kernel) == 3


def _products(width: int) -> Program:
    """Six times: `width` products, with a sum behind the last."""
    program = Program()
    builder = Builder(program)
    a, b = (program.buffer(n, 32, (m,), pinned=True) for n, m in (("a", Memory.LM0), ("b", Memory.LM1)))
    results = [builder.temporary(4, (Memory.GRF0,)) for _ in range(width)]
    total = builder.temporary(4, (Memory.GRF1,))
    for trip in range(6):
        vector = range(4 * trip, 4 * trip + 4)
        for result in results:
            builder.emit("fvmul", [local(a, vector), local(b, vector)], [local(result, range(4))])
        builder.emit("iinc", [local(results[-1], range(4))], [local(total, range(4))])
    allocate(program)
    return program


def test_loops_are_found_whatever_stands_around_them() -> None:
    inner = _products(2).operations
    for before in range(3):
        operations = [*inner[1 : 1 + before], *inner]
        loops = find_loops(operations)
        assert len(loops) == 1 and loops[0].size == 3 and loops[0].trips >= 6


@pytest.mark.parametrize("trips", [1, 3])
def test_a_few_repetitions_are_no_loop(trips: int) -> None:
    assert find_loops(_products(2).operations[: 3 * trips]) == []


def test_nothing_repeats_in_nothing() -> None:
    assert find_loops([]) == [] and loop_facts([]) == []
