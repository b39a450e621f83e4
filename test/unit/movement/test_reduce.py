"""Reductions over hardware coordinate bits, executed and compared with numpy."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from layout.strategies import layouts

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import HARDWARE_AXES, Axis, Layout, parse, place
from mnc.mncore_backend.movement import plan_reduce
from mnc.mncore_backend.program import LOCAL_MEMORY, Builder, Program

from .chips import ready

UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
BITS = {Axis.L2B: 3, Axis.L1B: 3, Axis.MAB: 4, Axis.PE: 2, Axis.W: 1}
FUNCTIONS = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def expected(kind: str, values: np.ndarray, axes: dict[Axis, int]) -> np.ndarray:
    """Reduce float32 [8, 8, 16, 4, words] over coordinate bits and repeat the result. Integers below 2^24: exact."""
    shape = tuple(n for a in HARDWARE_AXES[:4] for n in (2,) * BITS[a])
    split = values.reshape(*shape, -1, 2)
    position, chosen = 0, []
    for axis in HARDWARE_AXES[:4]:
        for bit in reversed(range(BITS[axis])):
            if axes.get(axis, 0) >> bit & 1:
                chosen.append(position)
            position += 1
    if axes.get(Axis.W, 0):
        chosen.append(split.ndim - 1)
    reduced = FUNCTIONS[kind].reduce(split, axis=tuple(chosen), keepdims=True) if chosen else split
    return np.broadcast_to(reduced, split.shape).reshape(values.shape)


def check(kind: str, layout: Layout, axes: dict[Axis, int], in_place: bool = False, emulated: bool = False) -> Program:
    program = Program()
    source = program.buffer("source", layout.local_size, (Memory.LM0,), pinned=True)
    target = source if in_place else program.buffer("target", layout.local_size, LOCAL_MEMORY, pinned=True)
    plan_reduce(Builder(program), kind, layout, source, axes, target)
    chip = ready(program, emulated)
    rng = np.random.default_rng(layout.size)
    shape = (8, 8, 16, 4, 2 * layout.local_size)
    values = rng.integers(-999, 999, shape).astype(np.float32)
    for position, axis in enumerate(HARDWARE_AXES[:4]):  # true replicas hold equal values
        for bit in range(BITS[axis]):
            if layout.replicated_bits(axis) & ~axes.get(axis, 0) & 1 << bit:
                values = np.take(values, np.arange(values.shape[position]) & ~(1 << bit), axis=position)
    if layout.replicated_bits(Axis.W) & ~axes.get(Axis.W, 0):
        values[..., 1::2] = values[..., ::2]
    chip.poke(source, values.view(np.uint32))
    chip.run(program)
    used = np.repeat((place(layout) >= 0).reshape(4096, -1, 2).any(axis=(0, 2)), 2)
    assert (chip.peek(target).view(np.float32) == expected(kind, values, axes))[..., used].all()
    return program


@given(st.data())
@settings(max_examples=15, deadline=None, phases=UNSHRUNK)
def test_any_bits(data: st.DataObject) -> None:
    check_any_bits(data)


@given(st.data())
@settings(max_examples=4, deadline=None, phases=UNSHRUNK)
def test_any_bits_emulated(data: st.DataObject) -> None:
    check_any_bits(data, emulated=True)


def check_any_bits(data: st.DataObject, emulated: bool = False) -> None:
    layout = data.draw(layouts(max_address=12))
    axes = {}
    for axis in HARDWARE_AXES:
        free = layout.replicated_bits(axis)
        axes[axis] = free if data.draw(st.booleans()) else free & data.draw(st.integers(0, 15))
    check(data.draw(st.sampled_from(sorted(FUNCTIONS))), layout, axes, data.draw(st.booleans()), emulated)


@pytest.mark.parametrize("bits", range(1, 16))
def test_every_subset_of_mabs(bits: int) -> None:
    check("sum", parse("((5:1, 2_W:1),)"), {Axis.MAB: bits}, emulated=True)


@pytest.mark.parametrize("axis", HARDWARE_AXES)
def test_whole_axes(axis: Axis) -> None:
    check("max", parse("((9:1),)"), {axis: parse("((9:1),)").replicated_bits(axis)}, emulated=True)


def test_large_partial_sum_is_sliced() -> None:
    layout = parse("((16_MAB:1, 4_PE:1, 70:1, 2_W:1),)")
    program = check("sum", layout, {Axis.L1B: 7, Axis.L2B: 7}, emulated=True)
    assert max(b.size for b in program.buffers if b.choices == (Memory.L1BM,)) <= 1024


@pytest.mark.parametrize(("places", "by_dram"), [("", False), ("8_L1B:1, 16_MAB:1, ", True)])
def test_large_sums_over_l2bs_pass_dram(places: str, by_dram: bool) -> None:
    """Four times as much per cycle as by PDM."""
    layout = parse(f"(({places}4_PE:1, 4:1, 2_W:1),)")
    program = check("sum", layout, {Axis.L2B: 7}, emulated=True)
    assert any(b.choices == (Memory.DRAM,) for b in program.buffers) is by_dram
    assert any(b.choices == (Memory.PDM,) for b in program.buffers) is not by_dram


def test_refuses_axes_that_hold_data() -> None:
    with pytest.raises(ValueError, match="nothing to reduce"):
        check("sum", parse("((16_MAB:1, 2_W:1),)"), {Axis.MAB: 15})


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_cycles_without_work_need_no_copies(count: int) -> None:
    program = check("sum", parse(f"(({count}:1),)"), {Axis.PE: 3}, emulated=True)
    assert not {"ipassa", "lpassa"} & {op.opcode for op in program.operations}
