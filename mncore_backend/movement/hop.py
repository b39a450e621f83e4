"""One trip from the PEs to the lowest memory that the exchange needs, and down again as a load comes down."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.movement.agreement import agreed
from mnc.mncore_backend.movement.collect_l2bm import BLOCK, Granules, Hop, NoRoom, collect_l2bm
from mnc.mncore_backend.movement.collecting import by_owners, by_rows, taking_turns
from mnc.mncore_backend.movement.compose import ANY, PES, NoWay, fill, granules, long_words, origins, slack
from mnc.mncore_backend.movement.dram_exchange import dram_exchange
from mnc.mncore_backend.movement.estimate import TooMany, check_share, counted
from mnc.mncore_backend.movement.exchange_orders import merged, orders
from mnc.mncore_backend.movement.feasible import may_stay
from mnc.mncore_backend.movement.multicast import cast_of
from mnc.mncore_backend.movement.paths import (
    Path,
    hop_steps,
    l1bm_extent,
    l1bm_index,
    l1bm_size,
    l2bm_index,
    paths,
    slices,
)
from mnc.mncore_backend.movement.room import half_of_l1bm, half_of_l2bm
from mnc.mncore_backend.movement.scope import LEVELS, Index, filled_addresses, mapped
from mnc.mncore_backend.movement.staging import emit_down, emit_l2bm_down, exchange, staging
from mnc.mncore_backend.movement.transfers import CYCLES, MV_UNIT, PeStep, distinct_unit, placed
from mnc.mncore_backend.program import Buffer, Builder, upper
from mnc.mncore_backend.target import chip

ORDERS = 3  # in which L2Bs may exchange, at most: by way of the DRAMs, and of PDM

WIDER, WIDE = 4, 2
"""Slices so many times as long are tried where L2Bs exchange, if there are at least so many: the DRAMs take what many
transfers bring, and their issue takes as long for little as for much."""

MVS = 2
"""Transfers of what L2Bs exchange: to a memory that all of them can read, and back."""

Emit = Callable[[Builder, Buffer, Buffer], None]


@dataclass(slots=True)
class _Trip:
    """All slices, which are worked out when they are wanted: who finds the first ones too dear does not pay for the
    rest."""

    source: Layout
    path: Path
    longs: Index | None
    parts: list[list[PeStep]]
    found: list[list[Emit]] = field(default_factory=list)
    obstacle: str = ""
    dear: int = 0  # slices after which the order before was given up

    def slice(self, number: int) -> list[Emit]:
        """The ways of a slice; it becomes two where more has to be collected than there is room for. Raises NoWay."""
        while len(self.found) == number:
            self._find(self.parts[number])
        return self.found[number]

    def _find(self, part: list[PeStep]) -> None:
        """The ways of the next slice. Raises NoWay, then and from then on."""
        if self.longs is None:
            raise NoWay(self.obstacle)
        try:
            self.found.append(_slice(Hop(self.source, self.path, part), self.longs))
        except NoWay as error:
            number = len(self.found)
            if isinstance(error, NoRoom) and len(part) > 1:
                self.parts[number : number + 1] = [part[: len(part) // 2], part[len(part) // 2 :]]
                return
            self.obstacle = str(error)
            self.longs = None
            raise
        if len(self.found) == len(self.parts):
            self.longs = None  # it is large, and ways are remembered

    def may_have(self, order: int) -> bool:
        """Whether some slice has a way of this number, as far as is known."""
        return len(self.found) < len(self.parts) or any(order < len(ways) for ways in self.found)

    def least(self, *, by_l2bm: bool, by_mv: bool) -> int:
        """Steps from L1BM down to the PEs; `by_l2bm`: and from L2BM down to L1BM, or from another L1BM; `by_mv`: and of
        an MV up and one down for every slice."""
        mvs = MVS * (chip().mv_latency_steps + chip().mv_issue_interval_steps * len(self.parts)) if by_mv else 0
        if not by_l2bm:
            return mvs + sum(map(len, self.parts))
        each = [(hop_steps(self.path, part), l1bm_extent(self.path, part) // MV_UNIT) for part in self.parts]
        return mvs + sum(
            min(steps, len(part) + chip().multicast_interval_steps * blocks)
            for part, (steps, blocks) in zip(self.parts, each, strict=True)
        )

    def way(self, order: int) -> Emit:
        """Every slice in this one of its ways, or in the last; raises NoWay when it is emitted, also where it is the
        same as that of the order before, or as far as that was followed before it became too dear."""

        def run(builder: Builder, a: Buffer, b: Buffer) -> None:
            if self.obstacle or not self.may_have(order):
                raise NoWay(self.obstacle or "there is no other order")
            if self.dear and all(len(ways) <= order for ways in self.found[: self.dear]):
                raise NoWay("it begins like the order before, which takes too many steps")
            self._emit(order, builder, a, b)

        return run

    def _emit(self, order: int, builder: Builder, a: Buffer, b: Buffer) -> None:
        other = order == 0
        number = done = 0
        total = sum(len(part) for part in self.parts)
        try:
            while number < len(self.parts):  # there may come to be more of them
                ways = self.slice(number)
                done += len(self.parts[number])
                number += 1
                ways[min(order, len(ways) - 1)](builder, a, b)
                other |= order < len(ways)
                check_share(builder, done / total)
        except TooMany:
            self.dear = number
            raise
        self.dear = 0
        if not other:
            raise NoWay("there is no other order")


def hop(source: Layout, target: Layout, index_map: Index | None = None) -> list[tuple[int, Emit]]:
    """Ways to turn `source` into `target` by one trip, each with the steps that it takes at least; lanes do not move.
    What a way emits it emits slice by slice; words that pad the target or that the map sends nowhere get copies of
    something. A way may raise NoWay."""
    held = mapped(target, index_map)
    addresses = filled_addresses(target, index_map, held >= 0)
    choices = [(path, addresses) for path in paths(target, upward=False)]
    turns = taking_turns(source, held, addresses)
    rows = by_rows(source, held, addresses)
    choices += [(path, turns) for path, _ in choices if path.sets == (0,) and turns is not None]
    choices += [(path, rows) for path in paths(target, upward=False) if rows is not None]
    choices += _by_owners(source, target, held, addresses)
    longs = _long_words(source, target, held)
    choices = [choice for number, choice in enumerate(choices) if choice not in choices[:number]]
    trips = [_Trip(source, path, longs, slices(path, order, two_long=True)) for path, order in choices]
    if index_map is None and not may_stay(source, target, Axis.L2B):
        parts = [(path, slices(path, order, two_long=True, times=WIDER)) for path, order in choices]
        trips += [_Trip(source, path, longs, own) for path, own in parts if len(own) >= WIDE]
    by_l2bm = index_map is None and not may_stay(source, target, Axis.L1B)
    by_mv = index_map is None and not may_stay(source, target, Axis.L2B)
    return [
        (trip.least(by_l2bm=by_l2bm, by_mv=by_mv), trip.way(order)) for trip in trips for order in range(ORDERS)
    ]


def _by_owners(source: Layout, target: Layout, held: Index, addresses: list[int]) -> list[tuple[Path, list[int]]]:
    """Paths on which a step takes several addresses from one MAB, with addresses such that a block of L2BM comes from
    one L1B: 49 of each of eight L1Bs do not make whole blocks otherwise."""
    found: list[tuple[Path, list[int]]] = []
    for path in paths(target, upward=False):
        longs = path.family.short.block // CYCLES  # of one address
        if path.sets is not None and PES <= longs < MV_UNIT:
            order = by_owners(source, held, addresses, MV_UNIT // longs)
            if order is not None:
                found.append((path, order))
    return found


def _long_words(source: Layout, target: Layout, held: Index) -> Index:
    """`long_words` of what the target holds; coordinates that hold replicas are looked at once."""
    alike = [target.replicated_bits(axis) == chip().axis_size[axis] - 1 for axis in LEVELS]
    once = held[tuple(slice(1) if same else slice(None) for same in alike)]
    longs = long_words(source, once)
    return np.broadcast_to(longs, (*held.shape[:-1], longs.shape[-1]))


def _slice(own: Hop, longs: Index) -> list[Emit]:
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
