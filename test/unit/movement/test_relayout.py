"""Relayouts: the chain that is found, its result, its cost."""

from contextlib import suppress
from math import inf
from unittest.mock import ANY

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from layout.strategies import layouts

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Layout, pack, parse, place
from mnc.mncore_backend.movement.compose import NoWay
from mnc.mncore_backend.movement.estimate import count, move_steps
from mnc.mncore_backend.movement.gather import single_move
from mnc.mncore_backend.movement.hop import hop
from mnc.mncore_backend.movement.relayout import find_chain, least_steps, plan_relayout
from mnc.mncore_backend.program import Builder, Program
from mnc.mncore_backend.target import CYCLES_PER_STEP

from .chips import ready

UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)


def check(source_layout: Layout, target_layout: Layout, emulated: bool = False) -> Program:
    program = Program()
    source = program.buffer("source", source_layout.local_size, (Memory.LM1, Memory.LM0), pinned=True)
    target = program.buffer("target", target_layout.local_size, (Memory.LM0, Memory.LM1), pinned=True)
    plan = plan_relayout(Builder(program), source_layout, source, target_layout, target)
    chip = ready(program, emulated)
    data = np.arange(source_layout.size, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(1)
    chip.poke(source, pack(data, source_layout, padding=0xBAD))
    for image, array in plan.tables:
        chip.write_dram(image.buffer, image.pack(array))
    chip.run(program)
    held = place(target_layout) >= 0
    assert (chip.peek(target)[held] == pack(data, target_layout)[held]).all()
    return program


ROW = "(16_MAB:1, 4_PE:1, 2_W:1)"
KNOWN = {
    "lanes to addresses": ("((32:8), (8_MAB:1, 8:1))", "((4:1, 4_PE:1, 2_W:1), (8_MAB:1, 8:4))", 140),
    "rows to columns": ("((16_MAB:1, 8:1), (4_PE:1, 2_W:1))", "((16:1, 4_PE:1, 2_W:1), (8_MAB:1))", 60),
    "MAB and address": ("((16_MAB:1, 16:1), (4_PE:1, 2_W:1))", "((16:1, 16_MAB:1), (4_PE:1, 2_W:1))", 90),
    "gather over MABs": ("((16_MAB:1, 2:1), (4_PE:1, 2_W:1))", "((32:1), (4_PE:1, 2_W:1))", 12),
    "gather over MABs, halves of rows apart": (
        "((16_MAB:1, 2:2), (2:1, 4_PE:1, 2_W:1))",
        "((8:8, 4:1), (2:4, 4_PE:1, 2_W:1))",
        20,
    ),
    "spread over MABs": ("((32:1), (4_PE:1, 2_W:1))", "((16_MAB:1, 2:1), (4_PE:1, 2_W:1))", 20),
    "L1B and address": (f"((8_L1B:1, 16:1), {ROW})", f"((16:1, 8_L1B:1), {ROW})", 400),
    "L1B and MAB": ("((8_L1B:1, 16_MAB:1), (4_PE:1, 2_W:1))", "((8_MAB:1, 8_L1B:1, 2_MAB:8), (4_PE:1, 2_W:1))", 40),
    "gather over L1Bs": (f"((8_L1B:1, 4:1), {ROW})", f"((32:1), {ROW})", 80),
    "L2B and address": (f"((8_L2B:1, 8:1), {ROW})", f"((8:1, 8_L2B:1), {ROW})", 600),
    "gather over the chip": (f"((8_L2B:1, 8_L1B:1), {ROW})", f"((64:1), {ROW})", 600),
    "word and address": ("((8:1), (16_MAB:1, 2_W:1))", "((4:1, 2_W:1), (16_MAB:1, 2:4))", 20),
    "lanes and L1B": (
        "((8_L2B:1, 4_PE:1, 2_W:1), (8_L1B:1, 4_MAB:4), (4_MAB:1, 4:4), (4:1))",
        "((8_L2B:1, 8_L1B:1), (4_MAB:4, 4_PE:1, 2_W:1), (2_MAB:2, 8:2), (2_MAB:1, 2:1))",
        300,
    ),
    "padded": ("((7:1, 16_MAB:1), (4_PE:1, 2_W:1))", "((16_MAB:1, 7:1), (4_PE:1, 2_W:1))", 120),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known(name: str) -> None:
    """No index table, and steps within the bound, data phases of MVs included, their latencies not."""
    source, target, bound = KNOWN[name]
    a, b = parse(source), parse(target)
    assert a.shape == b.shape
    program = check(a, b, emulated=True)
    assert find_chain(a, b) is not None
    cost = count(program.operations)
    assert cost.steps + cost.mv_cycles // CYCLES_PER_STEP <= bound


def test_limits_prune_what_is_dearer_and_nothing_else() -> None:
    for source, target, _ in KNOWN.values():
        a, b = parse(source), parse(target)
        found = find_chain(a, b)
        assert found is not None
        cost = sum(move[0] for move in found)
        alike = find_chain(a, b, limit=cost)
        assert alike is not None and [move[:2] for move in alike] == [move[:2] for move in found]
        assert find_chain(a, b, limit=cost - 1) is None


@given(st.data())
@settings(max_examples=15, deadline=None, phases=UNSHRUNK)
def test_moves_within_a_limit_are_the_cheapest_of_all(data: st.DataObject) -> None:
    source = data.draw(layouts(max_address=8))
    target = data.draw(layouts(shape=source.shape, max_address=8))
    known = single_move(source, target)
    if isinstance(known, tuple):
        cost = known[0]
        assert single_move(source, target, limit=cost) == (cost, ANY)
        assert single_move(source, target, limit=cost - 1.0) == cost - 1
        assert cost >= least_steps(source, target)
    else:
        assert known == inf and single_move(source, target, limit=1000.0) in (1000.0, inf)
    for least, way in hop(source, target):
        with suppress(NoWay):
            steps = move_steps(way, source, target)
            assert steps is not None and least <= steps
            assert known[0] <= steps if isinstance(known, tuple) else False


@pytest.mark.parametrize("name", KNOWN)
def test_steps_are_those_of_what_is_written(name: str) -> None:
    source, target = map(parse, KNOWN[name][:2])
    for _, way in hop(source, target):
        program = Program()
        ends = [program.buffer("end", layout.local_size, (Memory.LM0,)) for layout in (source, target)]
        with suppress(NoWay):
            way(Builder(program), *ends)
            assert move_steps(way, source, target) == count(program.operations).total_steps


def test_few_mvs_bring_uneven_rows() -> None:
    """What lies together where it comes from comes in one MV per L2B, whatever order it is wanted in, although the last
    row makes one L2B different from the others."""
    shape = (65, 4, 32)
    source = parse("((9:1, 8_L2B:1), (4_L1B:2,), (2_L1B:1, 2_MAB:8, 4_PE:1, 2_W:1))", shape)
    target = parse("((8_MAB:1, 2:8, 8:1), (4_L1B:2,), (2_L1B:1, 2_MAB:8, 4_PE:1, 2_W:1))", shape)
    program = check(source, target, emulated=True)
    assert sum(op.is_transfer for op in program.operations) <= 12


def test_copies_in_mabs_climb_in_rows() -> None:
    """Two MABs hold the same columns: four addresses of all MABs climb in one step all the same."""
    shape = (9, 64)
    source = parse("((9:1,), (8_MAB:2, 4_PE:1, 2_W:1))", shape)
    target = parse("((9:8,), (8:1, 4_PE:1, 2_W:1))", shape)
    program = check(source, target, emulated=True)
    assert sum(op.opcode == "l1bmd" for op in program.operations) == 3  # nine rows
    assert len(program.operations) <= 40


@given(st.data())
@settings(max_examples=5, deadline=None, phases=UNSHRUNK)
def test_random(data: st.DataObject) -> None:
    source = data.draw(layouts(max_address=12))
    target = data.draw(layouts(shape=source.shape, max_address=12))
    if target.local_size * source.local_size > 200:
        return
    check(source, target)
