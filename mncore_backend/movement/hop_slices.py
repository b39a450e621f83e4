"""One slice of a trip: up from the PEs to the lowest memory that the exchange needs, and down again.

A slice has several ways where L2Bs may exchange by the DRAMs or by PDM, in one order or another.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis
from mnc.mncore_backend.movement.agreement import agreed
from mnc.mncore_backend.movement.collect_l2bm import BLOCK, Granules, Hop, NoRoom, collect_l2bm
from mnc.mncore_backend.movement.compose import ANY, PES, NoWay, fill, granules, origins, slack
from mnc.mncore_backend.movement.dram_exchange import dram_exchange
from mnc.mncore_backend.movement.estimate import counted
from mnc.mncore_backend.movement.exchange_orders import merged, orders
from mnc.mncore_backend.movement.multicast import cast_of
from mnc.mncore_backend.movement.paths import l1bm_extent, l1bm_index, l1bm_size, l2bm_index
from mnc.mncore_backend.movement.room import half_of_l1bm, half_of_l2bm
from mnc.mncore_backend.movement.scope import Index
from mnc.mncore_backend.movement.staging import emit_down, emit_l2bm_down, exchange, staging
from mnc.mncore_backend.movement.transfers import MV_UNIT, distinct_unit, placed
from mnc.mncore_backend.program import Buffer, Builder, upper
from mnc.mncore_backend.target import chip

Emit = Callable[[Builder, Buffer, Buffer], None]


def ways_of(own: Hop, longs: Index) -> list[Emit]:
    """The ways of a slice: two where L2Bs may exchange in another order than is wanted. `longs`: places of the long
    words of the target. Raises NoWay."""
    size = l1bm_size(own.path, own.part)
    l1bm = l1bm_index(longs, own.part, size, words=1)
    origin = origins(own.source, l1bm[..., 0], l1b_axis=True)
    l2bs, l1bs = chip().shape[:2]
    same_l2b = not (origin.wanted & (origin.at(Axis.L2B) != np.arange(l2bs).reshape(-1, 1, 1))).any()
    same_l1b = not (origin.wanted & (origin.at(Axis.L1B) != np.arange(l1bs).reshape(1, -1, 1))).any()
    if same_l2b and same_l1b:
        # Also fails when L1Bs take different parts of a replicated source: then they part in L2BM.
        with suppress(NoWay):
            return [_within_l1b(own, granules(origin, origin.granule % own.span, (0, 1)))]
    direct: list[Emit] = []
    if same_l2b and own.path.sets is not None:
        with suppress(NoWay):
            direct = [_among_l1bs(own, granules(origin, origin.granule % (own.span * l1bs), (0,)))]
    image = l2bm_index(own.path, l1bm)[..., 0]
    padding = np.full((chip().l2bs, -image.shape[1] % MV_UNIT), -1, image.dtype)
    image = np.concatenate([image, padding], axis=1)
    origin = origins(own.source, image, l1b_axis=False)
    if same_l2b:
        with suppress(NoWay):
            return [*direct, _within_l2b(own, granules(origin, origin.granule % (own.span * l1bs), (0,)), size)]
        if direct:
            return direct
    return _across_l2b(own, granules(origin, origin.granule, ()), size)


def _within_l1b(own: Hop, wanted: Granules) -> Emit:
    extent = l1bm_extent(own.path, own.part)
    image = np.concatenate([wanted, np.full(extent // PES - len(wanted), ANY)])

    def emit(builder: Builder, source: Buffer, target: Buffer) -> None:
        l1bm = staging(builder, Memory.L1BM, slack(len(image)), "hop")
        fill(builder, source, l1bm, image, own.longs, own.source.replicated_bits(Axis.MAB))
        _emit_steps(builder, own, l1bm, target)

    return emit


def _emit_steps(builder: Builder, own: Hop, l1bm: Buffer, target: Buffer) -> None:
    if not counted(builder, len(own.part)):
        for offset, step in placed(own.part):
            emit_down(builder, step, l1bm, offset, target)


def _down(
    builder: Builder, own: Hop, l2bm: Buffer, size: int, target: Buffer, places: Sequence[int] | None = None
) -> None:
    """`places`: where in `l2bm` each of its blocks is; None: one behind the other."""
    extent = l1bm_extent(own.path, own.part)
    l1bm = staging(builder, Memory.L1BM, max(extent, size), "hop")
    emit_l2bm_down(builder, own.path, l2bm, l1bm, size, extent, places=places)
    _emit_steps(builder, own, l1bm, target)


def _among_l1bs(own: Hop, wanted: Granules) -> Emit:
    """`wanted` is [L1B, granule], with the L1B on top. Blocks of L1BM come by l2bmi, without L2BM. Raises NoWay."""
    blocks = wanted.reshape(len(wanted), -1, BLOCK)
    recipe = agreed(blocks % own.span, blocks != ANY, (0,))
    givers = agreed(blocks // own.span, blocks != ANY, (2,))
    if recipe is None or givers is None:
        raise NoWay("L1Bs do not give and take alike")
    replicas = own.source.replicated_bits(Axis.L1B)
    casts = [cast_of(column, replicas) for column in givers.T.tolist()]
    slots: dict[bytes, int] = {}
    places = [slots.setdefault(block.tobytes(), len(slots)) for block in recipe]
    moves = list(zip(places, casts, strict=True))
    image = np.concatenate([np.frombuffer(known, recipe.dtype) for known in slots])
    if slack(len(image)) > half_of_l1bm():
        raise NoRoom("more data than L1BM holds")
    extent = l1bm_extent(own.path, own.part)
    moves += moves[-1:] * (-(-extent // MV_UNIT) - len(moves))

    def emit(builder: Builder, source: Buffer, target: Buffer) -> None:
        up = staging(builder, Memory.L1BM, slack(len(image)), "hop")
        fill(builder, source, up, image, own.longs, own.source.replicated_bits(Axis.MAB))
        down = staging(builder, Memory.L1BM, len(moves) * MV_UNIT, "hop")
        if not counted(builder, len(moves) * chip().multicast_interval_steps):
            for place, (slot, cast) in enumerate(moves):
                ends = [upper(up, slot * MV_UNIT)], [upper(down, place * MV_UNIT)]
                builder.emit("l2bmi", *ends, modifier=cast.modifier)
        _emit_steps(builder, own, down, target)

    return emit


def _within_l2b(own: Hop, wanted: Granules, size: int) -> Emit:
    collect = collect_l2bm(own, wanted)

    def emit(builder: Builder, source: Buffer, target: Buffer) -> None:
        _down(builder, own, collect(builder, source), size, target)

    return emit


def _across_l2b(own: Hop, wanted: Granules, size: int) -> list[Emit]:
    """`wanted` is [L2B, granule]. Every L2B collects all blocks that anybody wants from an L2B; the DRAMs exchange them
    or PDM, in the order in which they lie, or in that in which they are wanted. Raises NoWay."""
    span = own.span * chip().l1bs_per_l2b
    blocks = wanted.reshape(chip().l2bs, -1, BLOCK)
    owners = np.where(blocks == ANY, ANY, blocks // span)
    top = owners.max(axis=2, keepdims=True)
    if not ((owners == top) | (owners == ANY)).all():
        raise NoWay("L2Bs alternate faster than a transfer can follow")
    top = top[:, :, 0]
    halves = chip().l2bs_per_group - 1
    if halves and own.source.replicated_bits(Axis.L2B) & halves == halves:
        top = top & ~halves  # both L2Bs of a group have it: one of them brings it to PDM
    distinct, slot = merged(np.where(blocks == ANY, ANY, blocks % span).reshape(-1, BLOCK))
    lefts, rank = np.unique(np.maximum(0, top), return_inverse=True)
    wanted_at_all = (blocks != ANY).any(axis=(0, 2))
    together = distinct_unit() // MV_UNIT if own.path.sets is None else 1

    def way(brought: NDArray[np.int64], places: list[int] | None, collect: Callable[[Builder, Buffer], Buffer]) -> Emit:
        def emit(builder: Builder, source: Buffer, target: Buffer) -> None:
            l2bm = collect(builder, source)
            back = staging(builder, Memory.L2BM, brought.shape[1] * MV_UNIT, "hop")
            exchange(builder, l2bm, len(distinct) * MV_UNIT, lefts.tolist(), brought, back)
            _down(builder, own, back, size, target, places)

        return emit

    ways = _by_dram(own, blocks, together, size)
    for order, choices in orders(slot.reshape(chip().l2bs, -1), rank.reshape(chip().l2bs, -1), wanted_at_all, together):
        collect = collect_l2bm(own, distinct[order].reshape(-1))
        ways += [way(*choice, collect) for choice in choices]
    return ways


def _by_dram(own: Hop, blocks: Granules, together: int, size: int) -> list[Emit]:
    """The way by the DRAMs, if there is one that pays, for `blocks` [L2B, block, granule]."""
    replicas = own.source.replicated_bits(Axis.L2B)
    way = dram_exchange(blocks, own.span * chip().l1bs_per_l2b, replicas, together)
    if way is None or way.size > half_of_l2bm():
        return []

    def by(collect: Callable[[Builder, Buffer], Buffer]) -> Emit:
        def emit(builder: Builder, source: Buffer, target: Buffer) -> None:
            l2bm = collect(builder, source)
            back = staging(builder, Memory.L2BM, way.size, "hop")
            way.emit(builder, l2bm, back)
            _down(builder, own, back, size, target, way.places)

        return emit

    for whole_rows in True, False:
        with suppress(NoWay):
            return [by(collect_l2bm(own, way.recipes.reshape(-1), by_rows=whole_rows))]
    return []
