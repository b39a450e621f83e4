"""A load for the next run around sums that come back to all L2Bs."""

import numpy as np
import pytest
from movement.emulated import Emulated
from movement.test_batch import data_of

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.checker import check_program
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.codegen.ordering import order
from mnc.mncore_backend.codegen.ordering.order import ordered_kernels
from mnc.mncore_backend.codegen.scheduling import best_schedule
from mnc.mncore_backend.layout import pack, parse, place
from mnc.mncore_backend.movement import plan_loads
from mnc.mncore_backend.program import Builder, MachineOp, Program, local, upper

SUMS = 2048  # long words that come back, in 64 steps
LARGE = parse("((8_L2B:1, 32:1), (8_L1B:1, 16_MAB:1, 4_PE:1, 2_W:1))")


def exchange(builder: Builder, before: int, behind: int) -> None:
    """Sums of all L2Bs that `before` operations precede and from which `behind` follow."""
    parts, back = (builder.temporary(SUMS, (Memory.L2BM,), name, 64) for name in ("parts", "back"))
    pdm, l1bm = builder.temporary(SUMS, (Memory.PDM,), "pdm", 64), builder.temporary(256, (Memory.L1BM,), "l1bm", 256)
    value = builder.temporary(4, (Memory.GRF0,))
    builder.emit("zero", (), [local(value, range(4))])
    for _ in range(before):
        builder.emit("fvadd", [local(value, range(4)), local(value, range(4))], [local(value, range(4))])
    builder.emit("l1bmd", [local(value, range(4))], [upper(l1bm)])
    for at in range(0, SUMS, 64):
        builder.emit("l2bm", [upper(l1bm)], [upper(parts, at)], modifier="@0")
    builder.emit("mvrffadd", [upper(parts)], [upper(pdm, group=0)], size=SUMS)
    builder.emit("mvb", [upper(pdm, group=0)], [upper(back)], size=SUMS)
    builder.emit("l2bmb", [upper(back)], [upper(l1bm)])
    builder.emit("l1bmp", [upper(l1bm)], [local(value, range(4))])
    for _ in range(behind):
        builder.emit("fvadd", [local(value, range(4)), local(value, range(4))], [local(value, range(4))])


def made() -> tuple[Program, list[MachineOp]]:
    """The program as selected, and its operations in order."""
    program = Program()
    target = program.buffer("x", LARGE.local_size, (Memory.LM0,), pinned=True)
    builder = Builder(program)
    image = plan_loads(builder, [(LARGE, target)])[0]()
    load = program.operations[:]
    exchange(builder, 20, 200)
    operations = ordered_kernels(program, [load, program.operations[len(load) :]])
    assert operations is not None
    program.operations[:] = operations
    allocate(program)
    chip = Emulated()
    for start, part in image.parts:
        for g, longs in image.pack(data_of(LARGE)).items():
            chip.machine.write_dram(g, (image.buffer.base or 0) + start, longs[part])
    chip.run(program)
    held = place(LARGE) >= 0
    assert (chip.peek(target)[held] == pack(data_of(LARGE), LARGE)[held]).all()
    assert np.count_nonzero(held)
    return program, operations


def test_the_load_is_cut_around_the_exchange() -> None:
    program, operations = made()
    moves = [op for op in operations if op.is_transfer]
    at = next(i for i, op in enumerate(moves) if op.opcode == "mvb")
    to_half = [i for i, op in enumerate(moves) if op.opcode == "mvp" and op.destinations[0].l2b is not None]
    assert any(i < at for i in to_half) and any(i > at for i in to_half)
    staged = [op for op in moves if op.destinations[0].group is not None and op.opcode == "mvp"]
    assert len(staged) % 4 == 0 and sum(op.size for op in staged) == 4 * 4096  # what DRAM gives in 64 steps
    assert check_program(best_schedule(program).statements) == []


def test_it_is_done_sooner_than_by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = best_schedule(made()[0]).cycles
    monkeypatch.setattr(order, "around_exchanges", lambda kernels, _: kernels)
    assert cut < best_schedule(made()[0]).cycles
