"""Estimates are counts of what is emitted, and agree with what the emulator counts."""

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory, Operand
from mnc.mncore_backend.codegen.allocation import allocate
from mnc.mncore_backend.codegen.scheduling import schedule
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.layout import parse
from mnc.mncore_backend.movement import estimate, plan_load, plan_store
from mnc.mncore_backend.program import Builder, Program, local, upper
from mnc.mncore_backend.target import CYCLES_PER_STEP, chip

LAYOUT = parse("((8_L2B:1, 16:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))")


def test_load_and_store_cost_what_they_emit() -> None:
    program = Program()
    buffer = program.buffer("x", LAYOUT.local_size, (Memory.LM0,), pinned=True)
    image = plan_load(Builder(program), LAYOUT, buffer)
    cost = estimate(lambda builder: plan_load(builder, LAYOUT, buffer))
    assert cost.dram_longs == image.total == 1024 * 16 // 2
    assert cost.steps == 8  # 4 l2bmd, 4 l1bmm
    assert cost.mvs == 2
    stored = plan_store(Builder(program), LAYOUT, buffer)
    both = estimate(
        lambda builder: (plan_load(builder, LAYOUT, buffer), plan_store(builder, LAYOUT, buffer))
    )
    assert both.dram_longs == image.total + stored.total
    allocate(program)
    machine = Machine()
    for g, longs in image.pack(np.zeros(LAYOUT.shape, np.float32)).items():
        assert image.buffer.base is not None
        machine.write_dram(g, image.buffer.base, longs)
    machine.run(schedule(program).statements)
    counted = machine.statistics
    assert counted.units["l1bm"] + counted.units["l2bm"] == both.steps
    assert counted.mv_transfers == both.mvs
    assert sum(n for name, n in counted.longs.items() if "DRAM" in name.upper()) == both.dram_longs


def test_data_phases_of_one_memory_add_up_data_movement_5_2() -> None:
    """Two MVs out of two memories into the two L2BMs of the groups overlap, two into the same one follow each other;
    the latency counts once. What one brings and the other takes on costs two latencies."""

    def moved(builder: Builder, halves: tuple[int, int]) -> None:
        images = [builder.program.buffer(m.value, 4096, (m,), alignment=64) for m in (Memory.DRAM, Memory.PDM)]
        for image, half in zip(images, halves, strict=True):
            shared = builder.program.buffer("shared", 4096, (Memory.L2BM,))
            builder.emit("mvp", [upper(image)], [upper(shared, l2b=half)], size=4096)

    def in_turn(builder: Builder) -> None:
        buffers = [builder.program.buffer(m.value, 64, (m,), alignment=64) for m in (Memory.DRAM, Memory.L2BM)]
        builder.emit("mvp", [upper(buffers[0])], [upper(buffers[1], l2b=0)], size=64)
        builder.emit("mvp", [upper(buffers[1], l2b=0)], [upper(buffers[0])], size=64)

    apart, together = (estimate(lambda builder, h=halves: moved(builder, h)) for halves in ((0, 1), (0, 0)))
    assert apart.total_steps == chip().mv_latency_steps + apart.mv_cycles // CYCLES_PER_STEP // 2
    assert together.total_steps == chip().mv_latency_steps + together.mv_cycles // CYCLES_PER_STEP
    assert estimate(in_turn).total_steps == 2 * chip().mv_latency_steps + 2 * chip().mv_issue_interval_steps


def test_transfers_of_different_groups_overlap() -> None:
    """The L2BMs of different groups are different memories, and so are their PDMs; from one PDM data phases queue."""

    def moved(builder: Builder, source: int) -> None:
        parts = builder.program.buffer("parts", 4096, (Memory.PDM,), alignment=64)
        for group in range(chip().groups):
            shared = builder.program.buffer("shared", 4096, (Memory.L2BM,))
            origin = upper(parts, group=group if source < 0 else source)
            builder.emit("mvp", [origin], [upper(shared, group=group, l2b=0)], size=4096)

    apart, queued = (estimate(lambda builder, g=g: moved(builder, g)) for g in (-1, 0))
    assert apart.total_steps == chip().mv_latency_steps + apart.mv_cycles // CYCLES_PER_STEP // chip().groups
    assert queued.total_steps == chip().mv_latency_steps + queued.mv_cycles // CYCLES_PER_STEP


@pytest.mark.parametrize("bank", [Memory.MATRIX_X, Memory.MATRIX_Y])
def test_values_wait_for_transfers_through_matrix_banks(bank: Memory) -> None:
    """What an MV brought and the matrix unit has turned round waits for it, and so does the MV that takes it away."""

    def there_and_back(builder: Builder) -> None:
        ends = Memory.PDM, Memory.L2BM, Memory.L1BM, Memory.LM0
        pdm, l2bm, l1bm, before = (builder.program.buffer(m.value, 256, (m,), alignment=256) for m in ends)
        others = Memory.LM1, Memory.L1BM, Memory.L2BM
        after, up, out = (builder.program.buffer(m.value, 256, (m,), alignment=256) for m in others)
        builder.emit("mvp", [upper(pdm)], [upper(l2bm, l2b=0)], size=64)
        builder.emit("l2bmb", [upper(l2bm)], [upper(l1bm)])
        builder.emit("l1bmm", [upper(l1bm)], [local(before, [0])])
        builder.emit("gmwrite", [local(before, [0])], [Operand(bank)])
        builder.emit("gmread", [Operand(bank)], [local(after, [0])])
        builder.emit("l1bmd", [local(after, [0])], [upper(up)])
        builder.emit("l2bmd", [upper(up)], [upper(out)])
        builder.emit("mvp", [upper(out, l2b=0)], [upper(pdm)], size=64)

    assert estimate(there_and_back).in_turn == 2
