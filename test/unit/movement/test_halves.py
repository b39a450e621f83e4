"""A large tensor around a transfer that fills all L2BMs: what the search finds, and that it is a plan."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.machine import MV_LATENCY_STEPS
from mnc.mncore_backend.movement.halves import HALF_LATENCY, MOST, PER_STEP, Exchange, Plan, plan_around
from mnc.mncore_backend.program import BufferOperand

from .test_batch import LARGE, SMALL, check

WIDE = "((8_L2B:1, 32:1), (8_L1B:1, 16_MAB:1, 4_PE:1, 2_W:1))"
EXCHANGES = st.builds(
    Exchange,
    ready=st.integers(0, 300),
    data=st.integers(1, 200),
    uses_dram=st.booleans(),
    pdm_free=st.integers(0, 300),
    tail=st.integers(0, 500),
    behind=st.integers(0, 500),
)


def bound(total: int, exchange: Exchange) -> float:
    """Steps without which no plan does: DRAM moves all at its rate, and the last MV has its latency."""
    moved = 2 * total / PER_STEP + exchange.data * exchange.uses_dram
    return max(moved + MV_LATENCY_STEPS, exchange.ready + exchange.data + MV_LATENCY_STEPS + exchange.tail)


def is_plan(plan: Plan, total: int, exchange: Exchange) -> None:
    """Everything comes once, and no two MVs are under way to one half."""
    assert plan.exchange >= exchange.ready
    over = plan.exchange + exchange.data + MV_LATENCY_STEPS
    for half in range(2):
        own = sorted((s for s in plan.segments if s.half == half), key=lambda s: s.start)
        assert sum(s.size for s in own) == total
        assert all(a.start + a.size == b.start and a.end < b.begin for a, b in pairwise(own))
        assert all(s.end <= plan.exchange or s.begin > over for s in own)
    assert all(s.size > 0 and s.size % 64 == 0 for s in plan.segments)
    from_dram = sorted((s.begin, s.end - MV_LATENCY_STEPS) for s in plan.segments if not s.from_pdm)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(from_dram))
    for segment in (s for s in plan.segments if s.from_pdm):
        arrived = plan.staging + segment.size / PER_STEP + MV_LATENCY_STEPS
        assert exchange.pdm_free <= plan.staging and arrived < segment.begin


@given(st.integers(1, MOST // 64).map(lambda n: 64 * n), st.integers(1, 200), EXCHANGES)
def test_everything_comes_once_beside_the_exchange(total: int, work: int, exchange: Exchange) -> None:
    plan = plan_around(total, work, exchange)
    is_plan(plan, total, exchange)
    assert plan.finished >= bound(total, exchange)


SUMS = Exchange(ready=156, data=64, uses_dram=False, pdm_free=156, tail=300)
PARAMETERS = Exchange(ready=0, data=68, uses_dram=True, pdm_free=0, tail=0, behind=300)


@pytest.mark.parametrize("exchange", [SUMS, PARAMETERS])
def test_dram_hardly_waits(exchange: Exchange) -> None:
    """Without the part that passes by PDM it would wait for the latency of the exchange and of what comes before."""
    total, work = 4 * HALF_LATENCY, 70
    plan = plan_around(total, work, exchange)
    assert any(s.from_pdm for s in plan.segments)
    assert plan.finished <= bound(total, exchange) + exchange.behind + 1.4 * MV_LATENCY_STEPS


def test_what_is_little_comes_before_or_behind() -> None:
    plan = plan_around(64, 4, SUMS)
    assert all(s.end < SUMS.ready for s in plan.segments)
    late = plan_around(64, 4, PARAMETERS)
    assert not any(s.from_pdm for s in late.segments)


def test_the_tensor_behind_parameters_for_all_comes_as_a_whole() -> None:
    """L2BM has one place for all of it, so that it may be cut anew."""
    texts = [SMALL["all rows everywhere"], "((16_MAB:1, 4_PE:1, 2_W:1),)", WIDE, SMALL["a row of each L1B"]]
    program = check(texts, [0, 1, 2, 3])
    moves = [op for op in program.operations if op.opcode == "mvp"]
    targets = {o.buffer for op in moves for o in op.destinations if isinstance(o, BufferOperand)}
    assert len(targets) == 1 and len(moves) > 2
    assert [o.l2b for op in moves for o in op.destinations] == [0, 1] * (len(moves) // 2)


def test_a_tensor_that_is_first_comes_by_slices() -> None:
    program = check([LARGE], [0])
    moves = [op for op in program.operations if op.opcode == "mvp"]
    targets = {o.buffer for op in moves for o in op.destinations if isinstance(o, BufferOperand)}
    assert len(targets) == 2
    assert all(t.choices == (Memory.L2BM,) for t in targets)
