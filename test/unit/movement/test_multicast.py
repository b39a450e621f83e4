"""L1Bs that exchange without L2BM: what an l2bmi brings, and which ones are chosen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mnc.mncore_backend.emulator.l1b_sets import parse_set, pattern_set
from mnc.mncore_backend.layout import parse
from mnc.mncore_backend.movement.compose import ANY, NoWay
from mnc.mncore_backend.movement.multicast import Cast, cast_of, casts, cover, pairs_of
from mnc.mncore_backend.program import MachineOp, Program

from .test_gather import check_gather
from .test_relayout import check as check_relayout

ALL = list(range(8))


def multicasts(program: Program) -> list[MachineOp]:
    return [op for op in program.operations if op.opcode == "l2bmi"]


@pytest.mark.parametrize("cast", casts())
def test_a_cast_says_what_the_emulator_does(cast: Cast) -> None:
    """Every L1B has one giver, which is the one whose group it is in."""
    members, free = parse_set(cast.modifier)
    assert cast.free == free
    for giver in members:
        for l1b in pattern_set(giver, 7 & ~free):
            assert cast.giver(l1b) == giver


@given(arrays.arrays(np.bool_, st.tuples(st.sampled_from([1, 8]), st.just(8))))
def test_what_is_wanted_is_brought(wanted: np.ndarray) -> None:
    chosen = cover(wanted, ALL)
    brought = {pair for cast in chosen for pair in pairs_of(cast, tuple(ALL))}
    every = np.broadcast_to(wanted, (8, 8))
    assert {(int(l1b), int(giver)) for l1b, giver in zip(*every.nonzero(), strict=True)} <= brought
    assert len(chosen) <= len(set(every.nonzero()[1].tolist()))  # not more than if each gave to all


def test_neighbours_take_three_casts() -> None:
    """One between pairs, one between those of fours, one in the middle."""
    wanted = np.eye(8, k=1, dtype=bool)
    assert cover(wanted, ALL) == [Cast(1, 6), Cast(2, 4), Cast(4, 0)]


def test_replicas_give_as_well() -> None:
    """L1B 4 has what L1B 0 has."""
    wanted = np.zeros((8, 4), bool)
    wanted[[0, 1, 2, 3], [1, 0, 3, 2]] = wanted[[4, 5, 6, 7], [1, 0, 3, 2]] = True
    assert len(cover(wanted, [0, 1, 2, 3])) == 2


def test_one_cast_for_a_block() -> None:
    assert cast_of([1, 1, 3, 3, 5, 5, 7, 7], 0) == Cast(1, 6)
    assert cast_of([ANY, ANY, 3, ANY, ANY, ANY, 7, ANY], 0).giver(6) == 7
    assert cast_of([1, 1, 1, 1, 5, 5, 5, 5], 0) == Cast(1, 4)
    assert cast_of([1, 1, 1, 1, 5, 5, 5, 5], 4) == Cast(1, 0)
    with pytest.raises(NoWay):
        cast_of([1, 2, 3, 4, 5, 6, 7, 0], 0)


@pytest.mark.parametrize("by", [1, -1])
def test_rows_from_neighbours_pass_no_l2bm(by: int) -> None:
    """Rows of other L1Bs of an L2B come by l2bmi."""
    shape = (1, 64, 16, 64)
    layout = parse("((), (8:2, 4_PE:1, 2_W:1), (8_L1B:1, 2:1), (16_MAB:1, 4_L2B:2))", shape)
    rows = np.roll(np.arange(int(np.prod(shape))).reshape(shape), by, axis=2)
    rows[:, :, 0 if by > 0 else -1] = -1
    program = check_gather(layout, layout, rows)
    assert multicasts(program)
    assert "l2bm" not in {op.opcode for op in program.operations}


@pytest.mark.parametrize(
    ("source", "target"),
    [("2_L1B:4, 4_L1B:1, 8:1", "2_L1B:4, 32:1"), ("4_L1B:2, 2_L1B:1, 8:1", "4_L1B:2, 16:1")],
)
def test_l1bs_collect_what_some_of_them_have(source: str, target: str) -> None:
    """Four or two L1Bs put together what each has."""
    before, after = (parse(f"(({rows}), (16_MAB:1, 4_PE:1, 2_W:1))", (64, 128)) for rows in (source, target))
    assert multicasts(check_relayout(before, after))
