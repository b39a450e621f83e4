"""Gathers between L2Bs of layouts that occur in networks: parts of L2Bs hold the same, L1Bs stay apart."""

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.scheduling.chains import memory_of
from mnc.mncore_backend.layout import canonical, parse
from mnc.mncore_backend.movement import crossing
from mnc.mncore_backend.movement.estimate import count
from mnc.mncore_backend.movement.exchange_orders import unique_rows
from mnc.mncore_backend.movement.relayout import find_chain
from mnc.mncore_backend.program import Builder, Program
from mnc.mncore_backend.target import chip

from .test_gather import check_gather
from .test_relayout import check as check_relayout

SPREAD = "((), (8_L2B:1, 8_L1B:1, 4_PE:1, 2_W:1), (8_MAB:2,), (2_MAB:1, 4:1))"
GROUPED = "((), (4_L2B:2,), (2_L2B:1, 8_L1B:1, 4_PE:1, 2_W:1), (8_MAB:2,), (2_MAB:1, 4:1))"
APART = "((), (4_L2B:2,), (9:1, 4_PE:1, 2_W:1), (8_MAB:2,), (2_MAB:1, 4_L1B:2))"
JOINED = "((), (4_L2B:2, 9:1, 4_PE:1, 2_W:1), (8_MAB:2,), (2_MAB:1, 4_L1B:2))"
ROWS = "((), (2:4, 4_PE:1, 2_W:1), (8_L2B:1, 8_L1B:1), (16_MAB:1, 4:1))"
WHOLE = (1, 272, 7, 7)
PARTS = (1, 4, 68, 7, 7)


@pytest.mark.parametrize(
    ("source", "shape", "target", "result"),
    [(SPREAD, WHOLE, GROUPED, PARTS), (APART, PARTS, JOINED, WHOLE), (JOINED, WHOLE, APART, PARTS)],
)
def test_channels_regroup(source: str, shape: tuple[int, ...], target: str, result: tuple[int, ...]) -> None:
    check_gather(parse(source, shape), parse(target, result), np.arange(int(np.prod(shape))))


def test_rows_from_neighbours() -> None:
    """Every L2B receives its own rows and one of each neighbour."""
    shape = (1, 16, 56, 56)
    rows = np.arange(int(np.prod(shape))).reshape(shape)
    layout = parse(ROWS, shape)
    program = check_gather(layout, layout, np.roll(rows, 1, axis=2))
    moved = sum(op.size for op in program.operations if op.is_transfer)
    everything = 8 * layout.size // 2  # long words, once into every L2B
    assert moved < everything


def test_all_groups_raise_at_once() -> None:
    """What L2Bs exchange reaches PDM in two transfers, one per L2BM of a group, and leaves the PDM of every group."""
    shape = (1, 16, 56, 56)
    layout = parse(ROWS, shape)
    program = check_gather(layout, layout, np.roll(np.arange(int(np.prod(shape))).reshape(shape), 1, axis=2))
    moved = [(op.sources[0], op.destinations[0]) for op in program.operations if op.is_transfer]
    raised = [(origin, target) for origin, target in moved if memory_of(target) is Memory.PDM]
    assert {(origin.l2b, target.group) for origin, target in raised} == {(0, None), (1, None)}
    assert {origin.group for origin, _ in moved if memory_of(origin) is Memory.PDM} == set(range(chip().groups))


def test_halves_of_groups_change_places() -> None:
    """Where every group keeps to itself, transfers of all groups go together."""
    shape = (1, 16, 56, 56)
    swapped = np.arange(int(np.prod(shape))).reshape(1, 16, 4, 2, 7, 56)[:, :, :, ::-1]
    layout = parse("((), (2:28, 4_PE:1, 2_W:1), (8_L2B:1, 7:4), (8_L1B:1, 8_MAB:2))", shape)
    program = check_gather(layout, layout, swapped)
    assert {op.destinations[0].group for op in program.operations if op.is_transfer} == {None}


def test_transfers_of_all_groups_bring_what_lies_together() -> None:
    """Samples of two L2Bs of a group meet in both: each transfer brings eight blocks that lie side by side."""
    shape = (32, 16, 16, 16)
    source = parse("((8_L2B:1, 4_L1B:2), (2:8, 4_PE:1, 2_W:1), (2_L1B:1, 4_MAB:4, 2:4), (4_MAB:1, 4:1))", shape)
    target = parse("((4_L2B:2, 8:1), (2:64, 4_PE:1, 2_W:1), (2_L2B:1, 4_MAB:4, 2:32), (4_MAB:1, 4:8))", shape)
    program = check_relayout(source, target, emulated=True)
    back = [op for op in program.operations if op.is_transfer and memory_of(op.sources[0]) is Memory.PDM]
    assert {op.destinations[0].group for op in back} == {None}
    assert sum(op.size for op in back) >= 512 * len(back)


@pytest.mark.parametrize("arriving", [1024, 4096])
def test_exchanges_in_parts(arriving: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What L2BM does not hold at once arrives in several exchanges, even if it is of one source address."""
    monkeypatch.setattr(crossing, "half_of_l2bm", lambda: arriving)
    source, target = parse(APART, PARTS), parse(JOINED, WHOLE)
    program = check_gather(source, target, np.arange(int(np.prod(PARTS))))
    sizes = [b.size for b in program.buffers if b.name.startswith("gathered") and b.choices == (Memory.L2BM,)]
    assert sizes and max(sizes) <= arriving


def test_nothing_comes_to_l2bs_that_want_nothing() -> None:
    """28 rows lie in four L2Bs; the rows beside the borders between these are all that moves."""
    shape = (1, 16, 28, 56)
    layout = parse(ROWS, shape)
    program = check_gather(layout, layout, np.roll(np.arange(int(np.prod(shape))).reshape(shape), 1, axis=2))
    moved = [op for op in program.operations if op.is_transfer]
    brought = [op for op in moved if memory_of(op.sources[0]) is Memory.PDM]
    assert {(op.destinations[0].group, op.destinations[0].l2b) for op in brought} == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_what_an_l2b_takes_lies_together() -> None:
    """Each L2B takes the channels of an L1B: they come one behind the other, in few transfers, where they are not
    picked from all that passes by, which takes less."""
    source = parse("((8_L1B:1, 16_MAB:1, 2:7, 4_PE:1, 2_W:1), (7:1,))", (2048, 7))
    target = parse("((8_L2B:1, 8_L1B:1, 4_MAB:4, 4_PE:1, 2_W:1), (7:1,))", (2048, 7))
    chain, program = find_chain(canonical(source), canonical(target)), Program()
    assert chain is not None
    stops = [
        program.buffer("stop", own.local_size, (Memory.LM0, Memory.LM1)) for own in (source, *(m[1] for m in chain))
    ]
    for (_, _, emit), here, there in zip(chain, stops, stops[1:], strict=False):
        emit(Builder(program), here, there)
    brought = [op for op in program.operations if op.is_transfer and memory_of(op.sources[0]) is Memory.PDM]
    assert 0 < len(brought) <= 16
    picked = check_relayout(source, target, emulated=True)
    assert count(picked.operations).total_steps < sum(move[0] for move in chain)


def test_rows_are_told_apart_and_sorted_by_numbers() -> None:
    rows = np.random.default_rng(0).integers(-1, 300, (400, 3))
    rows[200:] = rows[:200]
    found, which = unique_rows(rows)
    expected = np.unique(rows, axis=0)
    assert (found == expected).all() and (found[which] == rows).all()


COPIED = "((), (8_L1B:1, 32:49, 4_PE:1, 2_W:1), (7:7,), (7:1,))"
QUARTER = COPIED.replace("32:49", "8:49")
RAGGED = {  # what each L1B gives is no multiple of the addresses that a step takes
    "channels of 7x7": ("((), (8_L2B:1, 8_L1B:1, 4_PE:1, 2_W:1), (7:7,), (7:1,))", QUARTER, (1, 512, 7, 7), 1200),
    "rows of 28": (
        "((), (16_MAB:1, 2:14, 4_PE:1, 2_W:1), (8_L2B:1, 4_L1B:2), (2_L1B:1, 14:1))",
        "((), (8_L2B:1, 4:112, 4_PE:1, 2_W:1), (4_L1B:2, 8:14), (2_L1B:1, 14:1))",
        (1, 256, 32, 28),
        2400,
    ),
}


@pytest.mark.parametrize("name", RAGGED)
def test_whole_blocks_come_from_one_l1b(name: str) -> None:
    """Otherwise every MAB would get its copy of its own, which takes ten times as long."""
    source, target, shape, bound = RAGGED[name]
    program = check_relayout(parse(source, shape), parse(target, shape), emulated=True)
    assert count(program.operations).total_steps <= bound


WIDE = {
    "channels by MABs": (
        "((), (16_MAB:1, 4:14, 4_PE:1, 2_W:1), (8_L2B:1, 4_L1B:2), (2_L1B:1, 14:1))",
        "((), (16_MAB:1, 4:112, 4_PE:1, 2_W:1), (8_L1B:1, 4:28), (28:1,))",
        (1, 512, 32, 28),
        7600,
    ),
    "channels of all L2Bs": (
        "((), (8_L2B:1, 16_MAB:1, 2_L1B:4, 4_PE:1, 2_W:1), (7:7,), (7:1,))", COPIED, (1, 2048, 7, 7), 2200
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WIDE)
def test_what_all_l2bs_want_comes_by_way_of_the_drams(name: str) -> None:
    """They give four times as much per cycle as a PDM, and the host brings nothing there."""
    source, target, shape, bound = WIDE[name]
    program = check_relayout(parse(source, shape), parse(target, shape), emulated=True)
    raised = {memory_of(op.destinations[0]) for op in program.operations if op.is_transfer}
    assert Memory.DRAM in raised
    assert count(program.operations).total_steps <= bound


def test_little_does_not_pass_the_drams() -> None:
    shape = (8, 64)
    source = parse("((8_L2B:1,), (8_L1B:1, 4_PE:1, 2_W:1))", shape)
    target = parse("((8:1,), (8_L1B:1, 4_PE:1, 2_W:1))", shape)
    program = check_relayout(source, target)
    assert Memory.DRAM not in {memory_of(o) for op in program.operations for o in (*op.sources, *op.destinations)}
