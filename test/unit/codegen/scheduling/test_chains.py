"""Latches: chains stay together, several consumers share a step, and what cannot be is refused."""

from typing import Any

import pytest

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly import print_statement
from mnc.mncore_backend.assembly.records import Memory, Operand
from mnc.mncore_backend.checker import check_program
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.codegen.scheduling import ScheduleOptions, schedule
from mnc.mncore_backend.codegen.scheduling.chains import find_chains
from mnc.mncore_backend.program import Builder, Program, local, upper

NOWHERE = (Operand(Memory.NOWRITE),)
ALUF, MAUF = Operand(Memory.ALUF), Operand(Memory.MAUF)


def program() -> tuple[Program, Builder]:
    made = Program()
    return made, Builder(made)


def lines(made: Program, **options: Any) -> list[str]:
    allocate(made)
    statements = schedule(made, ScheduleOptions(**options)).statements
    assert check_program(statements) == []
    return [print_statement(s) for s in statements]


def test_members_follow_one_another() -> None:
    made, builder = program()
    result = builder.temporary(4, (Memory.GRF0,))
    builder.emit("zero", (), NOWHERE)
    builder.emit("fvpassa", [ALUF], NOWHERE)
    builder.emit("iinc", [MAUF], [local(result, range(4))])
    assert lines(made) == ["zero $nowrite", "fvpassa $aluf $nowrite", "iinc $mauf $lr0v"]


def test_two_consumers_share_a_step() -> None:
    made, builder = program()
    a, b = (builder.temporary(4, (f,)) for f in (Memory.GRF0, Memory.GRF1))
    builder.emit("zero", (), NOWHERE)
    builder.emit("fvpassa", [ALUF], [local(a, range(4))])
    builder.emit("iinc", [ALUF], [local(b, range(4))])
    assert lines(made) == ["zero $nowrite", "fvpassa $aluf $lr0v; iinc $aluf $ls0v"]


def test_two_producers_share_a_step() -> None:
    made, builder = program()
    x, y = (builder.temporary(4, (f,)) for f in (Memory.GRF0, Memory.GRF1))
    for buffer in (x, y):
        builder.emit("zero", (), [local(buffer, range(4))])
    builder.emit("iinc", [local(x, range(4))], NOWHERE)
    builder.emit("fvpassa", [local(y, range(4))], NOWHERE)
    builder.emit("iadd", [ALUF, MAUF], [local(x, range(4))])
    end = ["fvpassa $ls0v $nowrite; iinc $lr0v $nowrite", "iadd $aluf $mauf $lr0v"]
    assert lines(made, forwarding=False)[-2:] == end
    # with forwarding the chain need not wait until the zeros of `y` are in their register file
    assert lines(made)[-2:] == ["fvpassa $ls0v $nowrite; iinc $aluf $nowrite", end[1]]


def test_a_later_row_takes_a_result_from_the_latch() -> None:
    """The second operation of a chain adds what a product outside the chain has made one step before."""
    made, builder = program()
    x, y = (builder.temporary(4, (f,)) for f in (Memory.GRF0, Memory.GRF1))
    builder.emit("zero", (), [local(x, range(4))])
    builder.emit("fvpassa", [ALUF], [local(y, range(4))])
    builder.emit("iinc", [local(x, range(4))], NOWHERE)
    builder.emit("iadd", [ALUF, local(y, range(4))], [local(x, range(4))])
    assert lines(made) == ["zero $lr0v", "fvpassa $aluf $ls0v; iinc $aluf $nowrite", "iadd $aluf $mauf $lr0v"]


def test_nops_hold_the_latch_where_a_member_is_not_ready() -> None:
    """The consumer also reads what the producer wrote to a local memory: three steps, the latch kept over two nops."""
    made, builder = program()
    x = builder.temporary(4, (Memory.LM0,))
    other = builder.temporary(4, (Memory.GRF1,))
    builder.emit("zero", (), [local(x, range(4))])
    builder.emit("iadd", [local(x, range(4)), ALUF], NOWHERE)
    for i in range(8):  # nothing may slip in between
        builder.emit("fvpassa", [Operand(Memory.T, 2)], [local(other, range(4))]) if i else builder.emit(
            "zero", (), [Operand(Memory.T, 2)]
        )
    text = lines(made)
    start = next(i for i, line in enumerate(text) if "$lm0v" in line and "zero" in line)
    assert text[start + 1] == "nop/2"
    assert "iadd $lm0v $aluf $nowrite" in text[start + 2]


def test_chains_of_different_units_overlap() -> None:
    """Matrix writes from the ALU's latch run beside products with the other bank."""
    made, builder = program()
    x = made.buffer("x", 64, (Memory.LM0,), pinned=True)
    for i in range(8):
        builder.emit("gbfn", [local(x, range(4 * i, 4 * i + 4))], NOWHERE)
        builder.emit("gmwrite", [ALUF], [Operand(Memory.MATRIX_X, 2, 4 * (i % 2))])
    assert len(lines(made)) == 9


def test_unfilled_latch() -> None:
    made, builder = program()
    builder.emit("iinc", [Operand(Memory.LBF)], NOWHERE)
    with pytest.raises(InternalError, match=r"operation 0 \(iinc\) reads \$lbf before any result"):
        find_chains(made.operations)


def test_consumers_of_one_unit() -> None:
    made, builder = program()
    builder.emit("zero", (), NOWHERE)
    builder.emit("fvpassa", [ALUF], NOWHERE)
    builder.emit("fvpassa", [ALUF], NOWHERE)
    with pytest.raises(InternalError, match="must share a step because of their latches, but use one unit"):
        find_chains(made.operations)


def test_latches_of_different_steps() -> None:
    made, builder = program()
    builder.emit("zero", (), NOWHERE)
    builder.emit("fvpassa", [ALUF], NOWHERE)
    builder.emit("fvadd", [MAUF, ALUF], NOWHERE)
    with pytest.raises(InternalError, match="cannot be one step behind all its latch operands"):
        find_chains(made.operations)


def test_operation_between_members_that_depends_on_both_sides() -> None:
    made, builder = program()
    x, y = (made.buffer(n, 4, (f,), pinned=True) for n, f in (("x", Memory.GRF0), ("y", Memory.GRF1)))
    builder.emit("zero", (), [local(x, range(4))])
    builder.emit("fvpassa", [local(x, range(4))], [local(y, range(4))])
    builder.emit("iadd", [local(y, range(4)), ALUF], NOWHERE)
    allocate(made)
    with pytest.raises(InternalError, match="no order of steps exists"):
        schedule(made)


def test_operation_that_no_step_takes() -> None:
    made, builder = program()
    x, y = (made.buffer(n, 4, (Memory.GRF0,), pinned=True) for n in "xy")
    x.memory = y.memory = Memory.GRF0
    x.base, y.base = 0, 4
    builder.emit("iadd", [local(x, range(4)), local(y, range(4))], NOWHERE)
    with pytest.raises(InternalError, match="iadd reads GRF0 at two places"):
        schedule(made)


def test_a_result_is_taken_from_the_latch_when_that_is_sooner() -> None:
    made, builder = program()
    a, b = (builder.temporary(4, (f,)) for f in (Memory.GRF0, Memory.GRF1))
    builder.emit("zero", (), [local(a, range(4))])
    builder.emit("iinc", [local(a, range(4))], [local(b, range(4))])
    assert lines(made) == ["zero $lr0v", "iinc $aluf $ls0v"]
    assert lines(made, forwarding=False) == ["zero $lr0v", "nop", "iinc $lr0v $ls0v"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (local, lambda b, _: local(b, [0])),  # only the last cycle stays in memory
        (lambda b, _: local(b, [0]), local),
        (local, lambda b, o: local(b, list(reversed(o)))),
    ],
)
def test_no_latch_where_memory_holds_something_else(written, read) -> None:
    made, builder = program()
    a, b = (made.buffer(n, 8, (f,), pinned=True) for n, f in (("a", Memory.GRF0), ("b", Memory.GRF1)))
    builder.emit("zero", (), [local(a, range(4))])
    builder.emit("iinc", [Operand(Memory.PEID)], [written(a, range(4))])
    builder.emit("iinc", [read(a, list(range(4)))], [local(b, range(4))])
    assert not any("aluf" in line for line in lines(made))


def test_no_latch_for_two_longs_out_of_one() -> None:
    """passa moves the upper long too, which memory reads as zero and the latch does not."""
    made, builder = program()
    a, b = (made.buffer(n, 8, (f,), pinned=True) for n, f in (("a", Memory.GRF0), ("b", Memory.GRF1)))
    builder.emit("zero", (), [local(a, range(4))])
    builder.emit("ipassa", [local(a, range(4))], [local(b, range(0, 8, 2), two_long=True)])
    assert not any("aluf" in line for line in lines(made))


def test_a_write_keeps_clear_of_a_read_that_a_chain_has_reserved() -> None:
    """The second member reads LM0 in step 1, so nothing may write LM0 in step 0."""
    made, builder = program()
    x, y = (made.buffer(n, 4, (Memory.LM0,), pinned=True) for n in "xy")
    l1bm = made.buffer("l1bm", 64, (Memory.L1BM,), alignment=64, pinned=True)
    builder.emit("zero", (), NOWHERE)
    builder.emit("fvadd", [ALUF, local(x, range(4))], NOWHERE)
    builder.emit("l1bmp", [upper(l1bm)], [local(y, range(4))])
    assert lines(made) == ["zero $nowrite", "fvadd $aluf $lm0v $nowrite", "l1bmp $lb0 $lm8v"]


def test_a_transposed_read_is_taken_from_its_latch_by_the_alu() -> None:
    made, builder = program()
    a, b = (builder.temporary(4, (f,)) for f in (Memory.GRF0, Memory.GRF1))
    builder.emit("zero", (), [local(a, range(4))])
    builder.emit("gmwrite", [local(a, range(4))], [Operand(Memory.MATRIX_X, 2, 0)])
    builder.emit("gmread", [Operand(Memory.MATRIX_X, 2, 0)], [local(b, range(4))])
    builder.emit("gbfn", [local(b, range(4))], NOWHERE)
    assert lines(made)[-2:] == ["gmread $lx0 $ls0v", "gbfn $mreadf $nowrite"]


def test_the_latch_of_transposed_reads_feeds_nothing_else() -> None:
    made, builder = program()
    a, b = (builder.temporary(4, (f,)) for f in (Memory.GRF0, Memory.GRF1))
    builder.emit("zero", (), [local(a, range(4))])
    builder.emit("gmwrite", [local(a, range(4))], [Operand(Memory.MATRIX_X, 2, 0)])
    builder.emit("gmread", [Operand(Memory.MATRIX_X, 2, 0)], [local(b, range(4))])
    builder.emit("fvpassa", [local(b, range(4))], NOWHERE)
    builder.emit("iadd", [Operand(Memory.PEID), local(b, range(4))], NOWHERE)
    assert not any("mreadf" in line for line in lines(made))


def test_what_a_transfer_brings_is_taken_from_its_latch() -> None:
    made, builder = program()
    x = builder.temporary(4, (Memory.LM0,))
    l1bm = made.buffer("l1bm", 64, (Memory.L1BM,), alignment=64, pinned=True)
    builder.emit("l1bmd", [upper(l1bm)], [local(x, range(4))])
    builder.emit("iinc", [local(x, range(4))], NOWHERE)
    assert lines(made) == ["l1bmd $lb0 $lm0v", "iinc $lbf $nowrite"]


def test_a_transfer_down_is_not_kept_out_by_transfers_up() -> None:
    """Two steps must lie between an upward transfer and a downward one: without regard for that the five of the
    second kernel, one a step, would all go first."""
    made, builder = program()
    homes = {"x": Memory.LM0, "y": Memory.LM1, "z": Memory.GRF0}
    x, y, z = (made.buffer(name, 4, (home,), pinned=True) for name, home in homes.items())
    l1bm = made.buffer("l1bm", 640, (Memory.L1BM,), alignment=64, pinned=True)
    builder.emit("l1bmd", [local(x, range(4))], [upper(l1bm)])
    builder.emit("l1bmd", [upper(l1bm)], [local(z, range(4))])
    for _ in range(20):
        builder.emit("iinc", [local(z, range(4))], [local(z, range(4))])
    for i in range(1, 6):
        builder.emit("l1bmd", [local(y, range(4))], [upper(l1bm, 64 * i)])
    assert lines(made)[:3] == ["l1bmd $lm0v $lb0", "nop/2", "l1bmd $lb0 $lr0v"]


def test_an_upward_transfer_takes_a_result_from_the_latch() -> None:
    made, builder = program()
    x = builder.temporary(4, (Memory.GRF0,))
    builder.emit("zero", (), [local(x, range(4))])
    builder.emit("l1bmd", [local(x, range(4))], [Operand(Memory.L1BM, 2, address=0)])
    assert lines(made) == ["zero $lr0v", "l1bmd $aluf $lb0"]


def test_operations_that_pass_the_upper_long_on_take_latches_where_it_is_dropped() -> None:
    """Rotations and copies read two longs; written as one, their result is that of the first."""
    made, builder = program()
    a, b, c = (builder.temporary(4, (f,)) for f in (Memory.GRF0, Memory.GRF1, Memory.GRF0))
    builder.emit("zero", (), [local(a, range(4))])
    builder.emit("msl", [local(a, range(4))], [local(b, range(4))])
    builder.emit("msl", [local(b, range(4))], [local(a, range(4))])
    builder.emit("ipassa", [local(a, range(4))], [local(c, range(4))])
    assert lines(made) == ["zero $lr0v", "msl $aluf $ls0v", "msl $aluf $lr0v", "ipassa $aluf $lr8v"]


def test_a_later_member_of_a_chain_is_not_kept_out() -> None:
    """The second member reads LM0, which the transfers of another kernel write, one a step: if only the first member
    counted, the chain would come behind them all."""
    made, builder = program()
    homes = {"x": Memory.LM0, "y": Memory.LM0, "z": Memory.GRF0, "result": Memory.GRF1}
    x, y, z, result = (made.buffer(name, 4, (home,), pinned=True) for name, home in homes.items())
    l1bm = made.buffer("l1bm", 640, (Memory.L1BM,), alignment=64, pinned=True)
    builder.emit("zero", (), [local(z, range(4))])
    builder.emit("iinc", [local(z, range(4))], [local(z, range(4))])
    builder.emit("fvpassa", [local(z, range(4))], NOWHERE)
    builder.emit("fvadd", [MAUF, local(x, range(4))], [local(result, range(4))])
    for _ in range(40):
        builder.emit("iinc", [local(result, range(4))], [local(result, range(4))])
    for i in range(10):
        builder.emit("l1bmd", [upper(l1bm, 64 * i)], [local(y, range(4))])
    found = lines(made)
    place = next(i for i, line in enumerate(found) if "fvadd" in line)
    assert sum("l1bmd" in line for line in found[:place]) <= 3
