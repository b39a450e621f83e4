"""DRAM -> L2BM -> L1BM -> PE for any layout."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout, place
from mnc.mncore_backend.movement.estimate import move_steps
from mnc.mncore_backend.movement.lanes import Emit, collected
from mnc.mncore_backend.movement.own_part import own_part
from mnc.mncore_backend.movement.paths import (
    Index,
    Path,
    hop_steps,
    l1bm_extent,
    l1bm_index,
    l1bm_size,
    l2bm_index,
    mv_groups,
    paths,
    slices,
    used_addresses,
)
from mnc.mncore_backend.movement.room import room
from mnc.mncore_backend.movement.staging import alternating, emit_down, emit_l2bm_down
from mnc.mncore_backend.movement.transfers import CYCLES, MV_GRANULE, MV_UNIT, PeStep, placed
from mnc.mncore_backend.program import Buffer, Builder, upper
from mnc.mncore_backend.program.dram_image import DramImage
from mnc.mncore_backend.target import CYCLES_PER_STEP, cached_per_machine, chip


def plan_load(builder: Builder, layout: Layout, destination: Buffer, *, padding: int = 0) -> DramImage:
    """Emit the transfers that bring a tensor into `destination` (PE memory) and say how it lies in DRAM.

    Replicas that the instructions can make are made on the way; the others are copies in DRAM. The path with the
    fewest DRAM long words is taken, then the one with the fewest steps. `padding` is the bit pattern of padding.
    """
    return Load(builder, prepare(builder, layout, destination), padding=padding).finish()


@dataclass(frozen=True, slots=True)
class Arrival:
    """How a tensor comes: the inner hops chosen, its slices and the coarsest MV form that serves it. `data[i]` is the
    size of slice i in L1BM, long words. `pick` makes of that, once it has come, what was asked for, and where."""

    layout: Layout
    destination: Buffer
    path: Path
    parts: list[list[PeStep]]
    data: list[int]
    spread: str
    pick: tuple[Emit, Buffer] | None = None

    def l2bm_index(self, part: int) -> Index:
        """What each word of the L2BMs holds when a slice has arrived: [L2B, long word, word]."""
        held = place(self.layout)  # as large as the chip, so not kept while all loads are planned
        return l2bm_index(self.path, l1bm_index(held, self.parts[part], self.data[part]))

    @property
    def l2bm_total(self) -> int:
        """Long words of one L2BM that the whole tensor takes."""
        return sum(self.data) * self.path.widening

    def l2bm_size(self, part: int) -> int:
        """Long words of one L2BM that a slice takes."""
        return self.data[part] * self.path.widening

    @property
    def hop_steps(self) -> int:
        """PE steps of the inner hops."""
        return sum(hop_steps(self.path, part) for part in self.parts)

    @property
    def l2bm_needed(self) -> int:
        """Those of `l2bm_total` that reach a PE, in whole MV units: the last instruction may read on beyond them."""
        offset, last = placed(self.parts[-1])[-1]
        idle = (self.data[-1] - offset - last.data) * CYCLES // self.path.unit  # cycles of the last instruction
        together = self.path.widening if self.path.sets is None else 1  # L1Bs that it brings data of their own
        per_cycle = self.path.unit // CYCLES * together
        return -(-(self.l2bm_total - idle * per_cycle) // MV_UNIT) * MV_UNIT


def prepare(builder: Builder, layout: Layout, destination: Buffer) -> Arrival:
    """Choose the path with the fewest DRAM long words, then with the fewest steps; of what is small, every PE may get
    what several share, and pick its part, where that is less work for DRAM and PEs together."""
    two_long = destination.alignment % 2 == 0
    best, price = _direct(layout, destination, two_long=two_long), 0.0
    if layout.padded_shape != layout.shape or layout.local_size > _LARGEST_PICKED:
        return best
    price = _price(best)
    for shared in collected(layout):
        if shared.local_size <= _LARGEST_PICKED and (picks := own_part(shared, layout)):
            trial = _direct(shared, destination, two_long=True)
            picking = move_steps(picks[0], shared, layout)
            assert picking is not None  # it has no limit
            cost = _price(trial) + picking
            if cost < price:
                best, price = replace(trial, pick=(picks[0], destination)), cost
    if best.pick is not None:
        held = builder.temporary(best.layout.local_size, (Memory.LM0,), "shared", alignment=2)
        return replace(best, destination=held)
    return best


def _direct(layout: Layout, destination: Buffer, *, two_long: bool) -> Arrival:
    addresses = used_addresses(place(layout))
    spread = spread_of(layout)
    candidates = []
    for path in paths(layout, upward=False):
        parts = slices(path, addresses, two_long=two_long)
        sizes = [l1bm_size(path, part) for part in parts]
        candidates.append(Arrival(layout, destination, path, parts, sizes, spread))
    return min(candidates, key=lambda arrival: (arrival.l2bm_total, arrival.hop_steps, arrival.l2bm_needed))


def _price(arrival: Arrival) -> float:
    """Steps of DRAM at full rate and of the PEs."""
    longs = arrival.l2bm_needed * dram_per_l2bm()[arrival.spread]
    return longs / (chip().dram_port_longs_per_cycle * CYCLES_PER_STEP * chip().groups) + arrival.hop_steps


def emit_from_l2bm(builder: Builder, arrival: Arrival, part: int, l2bm: Buffer, start: int, l1bm: Buffer) -> None:
    """The inner hops of one slice, which lies at offset `start` of `l2bm`; the last slice is the last to come."""
    extent = l1bm_extent(arrival.path, arrival.parts[part])
    emit_l2bm_down(builder, arrival.path, l2bm, l1bm, arrival.data[part], extent, start)
    for offset, step in placed(arrival.parts[part]):
        emit_down(builder, step, l1bm, offset, arrival.destination)
    if arrival.pick is not None and part == len(arrival.parts) - 1:
        emit, destination = arrival.pick
        emit(builder, arrival.destination, destination)


def spread_of(layout: Layout) -> str:
    """The MV form: which L2Bs may share their data."""
    free = layout.replicated_bits(Axis.L2B)
    inside = chip().l2bs_per_group - 1
    across = chip().l2bs - 1 & ~inside
    if free == inside | across:
        return "mvb"
    if across and free & across == across:
        return "mvb4"
    return "mvb2" if inside and free & inside else "mvp"


_LARGEST_PICKED = 64  # long words that a PE shares with others: more would take longer to consider than to bring


def smallest_piece() -> int:
    """Long words of one L2BM that an MV of a large tensor brings, at least."""
    return room(Memory.L2BM, 1, 32)


def largest_piece() -> int:
    """Long words of one L2BM that an MV of a large tensor brings, at most."""
    return room(Memory.L2BM, 1, 8)


def one_round() -> int:
    """Long words of one L2BM that come at a time of a tensor that is too large to be there twice as much."""
    return room(Memory.L2BM, 1, 4)


@cached_per_machine()
def dram_per_l2bm() -> dict[str, int]:
    """DRAM long words (all groups) per long word of one L2BM, by the form of the MV."""
    machine = chip()
    return {"mvb": 1, "mvb4": machine.l2bs_per_group, "mvb2": machine.groups, "mvp": machine.l2bs}


def dram_index(l2bm: Index, spread: str) -> Index:
    """[L2B, k, word] as [group, DRAM long word, word]."""
    size, groups, halves = l2bm.shape[1], chip().groups, chip().l2bs_per_group
    by_group = l2bm.reshape(groups, halves, size, 2)
    if spread == "mvp":
        return by_group.reshape(groups, halves * size, 2)
    if spread == "mvb2":
        return by_group[:, 0]
    units = by_group[0].reshape(halves, size // (groups * MV_GRANULE), groups, MV_GRANULE, 2)  # l u s j w
    if spread == "mvb":
        return units[0].transpose(1, 0, 2, 3).reshape(groups, size // groups, 2)
    return units.transpose(2, 1, 0, 3, 4).reshape(groups, halves * size // groups, 2)


class Load:
    """A tensor in MVs of its own. The last of them also brings `riders`, small tensors that nobody wants sooner, in
    front of what it brings of the tensor itself, so that their last instructions may read on (`Arrival.l2bm_needed`).

    `finish` and `rider` emit what is left to do, in any order, each once.
    """

    def __init__(
        self,
        builder: Builder,
        arrival: Arrival,
        riders: Sequence[Arrival] = (),
        *,
        padding: int = 0,
    ) -> None:
        self._builder, self._arrival, self._riders, self._padding = builder, arrival, riders, padding
        self._sizes = [arrival.l2bm_size(i) for i in range(len(arrival.parts))]
        ends = np.cumsum([0, *(rider.l2bm_needed for rider in riders)])
        self._places, self._in_front = ends[:-1].tolist(), int(ends[-1])
        total = sum(self._sizes)
        self._groups = mv_groups(self._sizes, total if total <= 2 * one_round() else one_round())
        wide = [sum(self._sizes[i] for i in group) for group in self._groups]
        wide[-1] += self._in_front
        starts = np.cumsum([0, *(size * dram_per_l2bm()[arrival.spread] // chip().groups for size in wide)]).tolist()
        self._wide, self._starts = wide, starts
        self._dram = builder.program.buffer("image", starts[-1], (Memory.DRAM,), alignment=MV_UNIT, pinned=True)
        self._image: DramImage | None = None
        self._last: Buffer | None = None

    def finish(self) -> DramImage:
        """Emit the transfers of the tensor itself; how it lies in DRAM."""
        if self._image is None:
            arrival, spread = self._arrival, self._arrival.spread
            images = [
                dram_index(np.concatenate([arrival.l2bm_index(i) for i in group], axis=1), spread)
                for group in self._groups
            ]
            last = segments(spread, self._wide[-1], self._in_front, self._wide[-1] - self._in_front)
            pieces = ((0, self._starts[-2]), *((self._starts[-2] + start, size) for start, size in last))
            index = np.concatenate(images, axis=1)
            own = pieces if self._riders else ()
            groups = tuple(range(chip().groups))
            self._image = DramImage(self._dram, arrival.layout.shape, index, groups, self._padding, own)
            self._emit()
        return self._image

    def rider(self, number: int) -> DramImage:
        """Emit the inner hops of a rider; how it lies in DRAM."""
        self.finish()
        assert self._last is not None
        arrival, start = self._riders[number], self._places[number]
        emit_arrived(self._builder, arrival, self._last, start)
        size, form = arrival.l2bm_needed, self._arrival.spread
        held = np.concatenate([arrival.l2bm_index(i) for i in range(len(arrival.parts))], axis=1)
        pieces = tuple((self._starts[-2] + at, n) for at, n in segments(form, self._wide[-1], start, size))
        index = dram_index(held[:, :size], form)
        return DramImage(self._dram, arrival.layout.shape, index, tuple(range(chip().groups)), 0, pieces)

    def _emit(self) -> None:
        builder, arrival, wide = self._builder, self._arrival, self._wide
        l2bm = alternating(builder, Memory.L2BM, wide, "down")
        l1bm = alternating(builder, Memory.L1BM, [l1bm_extent(arrival.path, part) for part in arrival.parts], "down")
        self._last = l2bm[-1]
        emit_mv(builder, arrival.spread, self._dram, 0, l2bm[0], wide[0])
        for g, group in enumerate(self._groups):
            if g + 1 < len(self._groups):  # ahead of the PE work of these slices, which it may overlap
                emit_mv(builder, arrival.spread, self._dram, self._starts[g + 1], l2bm[g + 1], wide[g + 1])
            start = self._in_front if g + 1 == len(self._groups) else 0
            for i in group:
                emit_from_l2bm(builder, arrival, i, l2bm[g], start, l1bm[i])
                start += self._sizes[i]


def emit_arrived(builder: Builder, arrival: Arrival, l2bm: Buffer, start: int) -> None:
    """The inner hops of all slices of a tensor, which lies at offset `start` of `l2bm`."""
    l1bm = alternating(builder, Memory.L1BM, [l1bm_extent(arrival.path, part) for part in arrival.parts], "down")
    for i in range(len(arrival.parts)):
        emit_from_l2bm(builder, arrival, i, l2bm, start, l1bm[i])
        start += arrival.l2bm_size(i)


def segments(form: str, total: int, start: int, size: int) -> tuple[tuple[int, int], ...]:
    """Where `size` long words from `start` on of an MV of `total` long words of each L2BM lie in its DRAM image."""
    if form == "mvp":  # the halves lie behind each other
        return tuple((half * total + start, size) for half in range(chip().l2bs_per_group))
    each = dram_per_l2bm()[form]
    return ((start * each // chip().groups, size * each // chip().groups),)


def pieces(size: int) -> list[int]:
    """Sizes of the pieces in which `size` long words come: small ones at first, so that the PEs can begin, and at the
    end, so that little is left to do when the last has come; between, none is larger than what came before it and what
    follows it, because many pieces make many gaps in the work of the PEs."""
    smallest, largest = smallest_piece(), largest_piece()
    front: list[int] = []
    back: list[int] = []
    while size > 0:
        side, other = (front, back) if len(front) <= len(back) else (back, front)
        part = min(size, largest, max(smallest, sum(side)))
        if part < smallest and other:
            other[-1] += part
        else:
            side.append(part)
        size -= part
    return [*front, *reversed(back)]


def emit_mv(builder: Builder, spread: str, dram: Buffer, start: int, l2bm: Buffer, size: int) -> None:
    """MVs of `size` long words to each L2BM, in pieces: latencies overlap (OPEN-38), and the PEs bring on what has come
    while the next piece is on its way."""
    at = 0
    for part in pieces(size):
        if spread == "mvp":  # the halves lie behind each other
            for half in range(chip().l2bs_per_group):
                builder.emit("mvp", [upper(dram, start + half * size + at)], [upper(l2bm, at, l2b=half)], size=part)
        else:
            there = start + at * dram_per_l2bm()[spread] // chip().groups
            builder.emit(spread, [upper(dram, there)], [upper(l2bm, at)], size=part)
        at += part
