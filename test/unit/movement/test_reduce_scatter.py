"""Reductions whose result is spread at once: the same values as a reduction and a relayout, in fewer steps."""

import numpy as np
import pytest

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import HARDWARE_AXES, Axis, Layout, parse, place
from mnc.mncore_backend.movement import estimate, plan_reduce, plan_reduce_scatter, plan_relayout
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer, Builder, Program
from mnc.mncore_backend.target import MN_CORE_2

from .chips import ready

ROWS = "(8_L2B:1, 32:2)"
CASES = {
    "blocks of rows": (f"({ROWS}, (2:1, 4_PE:1, 2_W:1))", "((8_L2B:1, 8_L1B:1, 4:2), (2:1, 4_PE:1, 2_W:1))"),
    "rows in turn": (f"({ROWS}, (2:1, 4_PE:1, 2_W:1))", "((8_L2B:1, 4:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))"),
    "also over MABs": (f"({ROWS}, (2:1, 4_PE:1, 2_W:1))", "((8_L2B:1, 8_L1B:1, 4_MAB:4), (2_MAB:2, 4_PE:1, 2_W:1))"),
    "columns": (f"({ROWS}, (8:64, 4_PE:1, 2_W:1))", "((8_L2B:1, 32:1), (8_L1B:1, 4_PE:1, 2_W:1))"),
    "other lanes": (f"({ROWS}, (2:1, 4_PE:1, 2_W:1))", "((8_L2B:1, 8_L1B:1, 2_PE:1, 2:8), (8:1, 2_PE:2))"),
}
AXES = {"L1B": {Axis.L1B: 7}, "L1B and MAB": {Axis.L1B: 7, Axis.MAB: 15}, "L2B": {Axis.L2B: 7}}


def parts_of(layout: Layout, axes: dict[Axis, int]) -> np.ndarray:
    """Small integers: what differs along the axes adds up exactly."""
    tensor = np.random.default_rng(1).integers(-999, 999, layout.size).astype(np.float32)
    held = place(layout)
    values = np.where(held >= 0, tensor[held], 0)
    shape = [MN_CORE_2.axis_size[a] if a in axes else 1 for a in HARDWARE_AXES[:4]]
    weights = np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(*shape, 1)
    return values * weights


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("over", ["L1B", "L1B and MAB"])
@pytest.mark.parametrize("emulated", [False, True])
def test_shares_of_a_sum(case: str, over: str, emulated: bool) -> None:
    layout, target_layout = (parse(text) for text in CASES[case])
    axes = AXES[over]
    program = Program()
    source = program.buffer("source", layout.local_size, (Memory.LM0,), pinned=True)
    target = program.buffer("target", target_layout.local_size, LOCAL_MEMORY, pinned=True)
    plan = plan_reduce_scatter(Builder(program), "sum", layout, source, axes, target_layout, target)
    assert not plan.tables
    chip = ready(program, emulated)
    parts = parts_of(layout, axes)
    chip.poke(source, parts.astype(np.float32).view(np.uint32))
    chip.run(program)
    count = int(np.prod([MN_CORE_2.axis_size[a] for a in axes]))
    tensor = np.zeros(layout.size, np.float32)
    held = place(layout)
    tensor[held[held >= 0]] = np.broadcast_to(parts[:, :1, :1], held.shape)[held >= 0]
    found = chip.peek(target).view(np.float32)
    wanted = place(target_layout)
    # Part i is i times the tensor.
    assert (found == tensor[wanted] * (count * (count + 1) // 2))[wanted >= 0].all()


def test_fewer_steps_than_one_after_the_other() -> None:
    layout, target_layout = (parse(text) for text in CASES["blocks of rows"])

    def buffers(builder: Builder) -> list[Buffer]:
        return [builder.program.buffer("b", x.local_size, LOCAL_MEMORY) for x in (layout, layout, target_layout)]

    def separate(builder: Builder) -> None:
        source, whole, target = buffers(builder)
        plan_reduce(builder, "sum", layout, source, AXES["L1B and MAB"], whole)
        plan_relayout(builder, layout, whole, target_layout, target)

    def joined(builder: Builder) -> None:
        source, _, target = buffers(builder)
        plan_reduce_scatter(builder, "sum", layout, source, AXES["L1B and MAB"], target_layout, target)

    assert 2 * estimate(joined).steps < estimate(separate).steps
