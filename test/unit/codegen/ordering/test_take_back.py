"""Loads that went too far ahead begin later, and then all buffers have room."""

from codegen.ordering.test_prefetch import WEIGHT, Made, flat
from mnc.mncore_backend.codegen.allocation import unplaced
from mnc.mncore_backend.codegen.ordering.prefetch import Ahead, Loads, Moved
from mnc.mncore_backend.codegen.ordering.take_back import Crowded, take_back, with_loads_ahead
from mnc.mncore_backend.program import LOCAL_MEMORY, Builder, MachineOp, Origin, Program, local
from mnc.mncore_backend.target import chip


def nop(kernel: int) -> MachineOp:
    return MachineOp("nop", location=Origin("node", kernel))


RUNS = [[nop(kernel)] for kernel in range(10)]


def test_the_largest_that_is_in_the_way_begins_behind_it() -> None:
    ahead = Ahead([], [Moved(9, 1, 100), Moved(8, 2, 300), Moved(7, 6, 500), Moved(3, 0, 700)])
    bounds: dict[int, int] = {}
    assert take_back(ahead, [Crowded(200, RUNS[4][0], RUNS[5][0])], RUNS, bounds)
    assert bounds == {8: 6}  # 7 begins behind it as it is, 3 is there before


def test_as_many_as_free_enough() -> None:
    ahead = Ahead([], [Moved(9, 1, 100), Moved(8, 2, 300)])
    bounds: dict[int, int] = {}
    assert take_back(ahead, [Crowded(350, RUNS[4][0], None)], RUNS, bounds)
    assert bounds == {8: 8, 9: 9}  # what lives to the end lets none begin before its place


def test_what_is_put_off_already_frees_nothing_more() -> None:
    ahead = Ahead([], [Moved(9, 1, 100), Moved(8, 2, 300)])
    bounds: dict[int, int] = {}
    both = [Crowded(300, RUNS[4][0], RUNS[4][0]), Crowded(50, RUNS[4][0], RUNS[5][0])]
    assert take_back(ahead, both, RUNS, bounds)
    assert bounds == {8: 6, 9: 6}


def test_nothing_is_in_the_way() -> None:
    bounds = {9: 3}
    assert not take_back(Ahead([], [Moved(9, 6, 100)]), [Crowded(50, RUNS[1][0], RUNS[2][0])], RUNS, bounds)
    assert bounds == {9: 3}


def test_an_order_with_loads_ahead_packs() -> None:
    """The target has no room beside what is in its memory before, though there is enough in all local memory."""
    made = Made(WEIGHT, 20, 400)
    memory, other = LOCAL_MEMORY
    made.target.choices, made.result.choices = (memory,), (other,)
    large = made.program.buffer("large", chip().memories[memory].longs - WEIGHT.local_size // 2, (memory,))
    for op in made.runs[-1]:  # no copies, which would make one buffer of the target and the result
        op.opcode, op.sources = "land", op.sources * 2
    kept = made.program.buffer("kept", 4, (other,), pinned=True)
    builder = Builder(Program())
    builder.emit("zero", (), [local(large, range(4))])
    builder.emit("fvadd", [local(large, range(4))] * 2, [local(kept, range(4))])
    made.runs[3].append(builder.program.operations[0])  # in use from the fourth kernel to the seventeenth
    made.runs[16].append(builder.program.operations[1])
    for number, run in enumerate(made.runs):
        for op in run:
            op.location = Origin("node", number)
    ahead = Loads.of(made.runs).prefetched(made.program)
    assert ahead is not None and ahead.moved[0].place < 16
    made.program.operations = with_loads_ahead(made.program, made.runs) or flat(made.runs)
    assert unplaced(made.program) == []
    made.check(made.program.operations)
    (first,) = [i for i, op in enumerate(made.program.operations) if op is made.runs[16][-1]]
    moves = [i for i, op in enumerate(made.program.operations) if op.is_transfer]
    assert first < moves[0] and moves[-1] < made.program.operations.index(made.runs[19][0])
