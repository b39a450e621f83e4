"""Sums of which every PE keeps a share: what L2BM holds at the top of the climb comes down like a load.

`plan_reduce` gives the whole sum to every PE that held a part. Where a layout follows that spreads the tensor over the
L1Bs, the way down may spread it at once: the upward steps write the image that the downward steps of the target need.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress

import numpy as np

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout, addresses_in_use, place
from mnc.mncore_backend.movement.compose import ANY, PES, NoWay, granules, long_words, origins
from mnc.mncore_backend.movement.paths import Path, l1bm_extent, l1bm_index, l1bm_size, l2bm_index, paths, slices
from mnc.mncore_backend.movement.pick import Plan
from mnc.mncore_backend.movement.reduce import KINDS, climbing_form, plan_reduce
from mnc.mncore_backend.movement.relayout import plan_relayout
from mnc.mncore_backend.movement.room import half_of_l1bm
from mnc.mncore_backend.movement.staging import emit_down, emit_l2bm_down, pe_operand, staging
from mnc.mncore_backend.movement.transfers import MV_UNIT, PeStep, pe_steps, placed
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer, Builder, upper
from mnc.mncore_backend.target import chip

Emit = Callable[[Builder, Buffer, Buffer], None]


def plan_reduce_scatter(
    builder: Builder,
    kind: str,
    layout: Layout,
    source: Buffer,
    axes: Mapping[Axis, int],
    target_layout: Layout,
    target: Buffer,
) -> Plan:
    """`plan_reduce` of parts in `layout`, then `plan_relayout` of the result to `target_layout`; in one go where all
    L1Bs hold parts of a tensor that all MABs hold alike or in parts. Raises ValueError as these do."""
    if may_go_at_once(axes):
        ways = _ways(kind, layout, axes.get(Axis.MAB, 0), target_layout, source.alignment % 2 == 0)
        if ways:
            for emit in min(ways, key=lambda way: way[0])[1]:
                emit(builder, source, target)
            return Plan()
    whole = builder.temporary(layout.local_size, LOCAL_MEMORY, "whole")
    plan_reduce(builder, kind, layout, source, axes, whole)
    return plan_relayout(builder, layout, whole, target_layout, target)


def may_go_at_once(axes: Mapping[Axis, int]) -> bool:
    """Whether a sum over these axes may come down like a load: over all L1Bs, and all MABs or none."""
    own = {axis: bits for axis, bits in axes.items() if bits}
    all_l1bs, all_mabs = chip().l1bs_per_l2b - 1, chip().mabs_per_l1b - 1
    whole = own.get(Axis.L1B) == all_l1bs and own.get(Axis.MAB, all_mabs) == all_mabs
    return whole and not own.keys() - {Axis.L1B, Axis.MAB}


def _ways(kind: str, layout: Layout, mabs: int, target: Layout, two_long: bool) -> list[tuple[int, list[Emit]]]:
    """Steps, and one emitter per slice, for each path that can be fed."""
    own = layout.replicated_bits(Axis.MAB), layout.selected_bits(Axis.L2B)
    if own != (chip().mabs_per_l1b - 1, target.selected_bits(Axis.L2B)):
        return []
    held = place(target)
    addresses = addresses_in_use(target)
    found = []
    for path in paths(target, upward=False):
        if path.sets is not None:
            continue
        parts = slices(path, addresses, two_long=two_long)
        with suppress(NoWay):
            made = [_slice(kind, layout, mabs, path, part, held) for part in parts]
            found.append((sum(steps for steps, _ in made), [emit for _, emit in made]))
    return found


def _slice(kind: str, layout: Layout, mabs: int, path: Path, part: list[PeStep], held: np.ndarray) -> tuple[int, Emit]:
    """Steps, and what emits them."""
    size = l1bm_size(path, part)
    image = l2bm_index(path, l1bm_index(held, part, size))
    image = np.concatenate([image, np.full((len(image), -image.shape[1] % MV_UNIT, 2), -1, image.dtype)], axis=1)
    origin = origins(layout, long_words(layout, image.reshape(len(image), -1)), l1b_axis=False)
    wanted = granules(origin, origin.at(Axis.ADDRESS), (0,))
    if len(wanted) * PES > half_of_l1bm():
        raise NoWay("more data than the staging memory holds")
    order = [int(a) for a in np.where(wanted == ANY, max(wanted), wanted)]
    family, opcode = climbing_form(kind, layout, mabs)
    extent = l1bm_extent(path, part)

    def emit(builder: Builder, source: Buffer, target: Buffer) -> None:
        up = staging(builder, Memory.L1BM, len(order) * PES, "reduce")
        modifier = "@0" if opcode == "l1bmm" else ""
        for offset, step in placed(pe_steps(order, family, two_long=source.alignment % 2 == 0)):
            operand = pe_operand(source, step, masked=False)
            builder.emit(opcode, [operand], [upper(up, offset, two_long=step.form.two_long)], modifier=modifier)
        l2bm = staging(builder, Memory.L2BM, len(order) * PES, "reduce")
        for block in range(0, len(order) * PES, MV_UNIT):
            builder.emit(f"l2bmr{KINDS[kind][0]}", [upper(up, block)], [upper(l2bm, block)])
        down = staging(builder, Memory.L1BM, max(extent, size), "reduced")
        emit_l2bm_down(builder, path, l2bm, down, size, extent)
        for offset, step in placed(part):
            emit_down(builder, step, down, offset, target)

    climb = pe_steps(order, family, two_long=True)
    return len(climb) + len(order) * PES // MV_UNIT + extent // path.unit + len(part), emit
