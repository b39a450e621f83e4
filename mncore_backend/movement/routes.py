"""Where the wanted words of one chunk of source addresses pass on their way into the PEs."""

from collections.abc import Iterator
from copy import copy as copy_of
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.layout import Axis
from mnc.mncore_backend.movement.compose import ANY
from mnc.mncore_backend.movement.crossing import Crossing
from mnc.mncore_backend.movement.multicast import Cast, cover, pairs_of
from mnc.mncore_backend.movement.scope import LEVELS, Index, Need
from mnc.mncore_backend.movement.transfers import CYCLES, MV_UNIT, SHARE_UNIT, distinct_unit
from mnc.mncore_backend.target import PES_PER_MAB, chip

IN_L1BM = 2  # steps for a unit of L1BM on its way into the PEs, beside the one that brings it there
ABSENT = -1  # no source address, or none of those looked at


@dataclass(frozen=True, slots=True)
class Wanted:
    """The target words that come from one chunk of source addresses.

    words   their numbers in the flat [L2B, L1B, MAB, PE, words] of the target
    number  of their source address in the chunk
    """

    need: Need
    words: Index
    number: Index

    @classmethod
    def of(cls, need: Need, places: "Readers", chunk: list[int]) -> "Wanted":
        """The words that come from the source addresses of a chunk."""
        found = [places.of(address) for address in chunk]
        words = np.concatenate(found)
        numbers = np.repeat(np.arange(len(chunk), dtype=np.int32), [len(own) for own in found])
        order = np.argsort(words, kind="stable")  # which is fast where parts are in order
        return cls(need, words[order], numbers[order])

    def at(self, axis: Axis) -> Index:
        """Coordinates of the source words."""
        return self.need.code.get(self.need.place.reshape(-1)[self.words], axis)

    def own(self, axis: Axis) -> Index:
        """Coordinates of the target words."""
        shape, position = self.need.wanted.shape, LEVELS.index(axis)
        return self.words // int(np.prod(shape[position + 1 :])) % shape[position]

    def only(self, chosen: NDArray[np.bool_]) -> "Wanted":
        """Some of them."""
        return Wanted(self.need, self.words[chosen], self.number[chosen])


class Readers:
    """The target words that want a source address, for every address: found once, asked for chunk by chunk."""

    def __init__(self, addresses: Index) -> None:
        """`addresses` [..., words of a PE]: source address of every target word, `ABSENT` where none is wanted."""
        flat = addresses.reshape(-1)
        wanted = np.flatnonzero(flat >= 0)
        most = int(flat.max(initial=ABSENT)) + 1
        keys = flat[wanted].astype(np.uint16 if most < 1 << 16 else np.int64)  # short ones are sorted by digits
        self._words = wanted[np.argsort(keys, kind="stable")]
        self._starts = np.append(0, np.bincount(keys, minlength=most).cumsum())
        self._in_a_pe = addresses.shape[-1]

    def in_order_of_use(self, row: int) -> Index:
        """Source addresses that some PE wants, by the first target word that wants them: what different PEs want for
        the same word arrives together, and is picked together. With `row` addresses per MAB those of each MAB."""
        used = np.flatnonzero(np.diff(self._starts))
        if not used.size:
            return used
        first = np.minimum.reduceat(self._words % self._in_a_pe, self._starts[used])
        return used[np.lexsort([first, used // row if row else np.zeros_like(used)])]

    def of(self, address: int) -> Index:
        """Numbers of the words, ascending."""
        return self._words[self._starts[address] : self._starts[address + 1]]


class Route:
    """Where the words of one chunk of source addresses pass.

    Between L2Bs a word travels in units of 64 long words of L2BM, and an L2B receives only the units that some PE of it
    wants. To PDM go the `brought` runs of units, of which some L2B wants any, in this order. `units[L2B]` are the
    numbers in PDM of those that an L2B wants, where the chunk lies by L2B, and ANY where an L2B wants fewer than
    others. Within an L2B every L1B receives all of L2BM, or `shares[L1B]`, the units that it wants in some L2B, or what
    `casts` bring without L2BM: (unit of L1BM, l2bmi), one for each unit that arrives. `position` is the place in L1BM
    where each wanted word arrives.
    """

    def __init__(self, way: Crossing, wanted: Wanted, count: int) -> None:
        self.way, self.wanted = way, wanted
        self.size = way.l1bm_per_chunk(count)
        place = self._within_l2b()
        self.units: list[list[int]] = []
        self.brought: list[int] = []
        self.shares: list[list[int]] = []
        self.casts: list[tuple[int, Cast]] = []
        if not way.lefts:
            self.position, self.arriving = place, self.size * way.givers
            if way.direct:
                self._cast()
            elif way.blocks:
                self._share()
            return
        unit = way.unit
        number, own, left = place // unit, wanted.own(Axis.L2B), _rank(way.lefts, wanted.at(Axis.L2B))
        taken = np.zeros((wanted.need.wanted.shape[0], len(way.lefts), self.size * way.givers // unit), np.bool_)
        taken[own, left, number] = True
        self.brought = in_demand(taken, self.grain // way.mv_units)
        held, new = renumbered(taken, self.brought, self.grain // way.mv_units)
        key = left * (held.shape[1] // len(way.lefts)) + new[number]
        most = max(1, int(held.sum(axis=1).max()))
        at_once = distinct_unit() // MV_UNIT if way.l1bs_differ else 1  # an l2bmd moves as many
        whole = max(1, at_once // way.mv_units)
        most = -(-most // whole) * whole
        rank = held.cumsum(axis=1) - 1
        self.position, self.arriving = rank[own, key] * unit + place % unit, most * unit
        chosen = (np.flatnonzero(row).tolist() for row in held)
        each = way.mv_units
        found = [[u * each + i for u in own for i in range(each)] for own in chosen]
        self.units = _of_all([[*own, *[ANY] * (most * each - len(own))] for own in found], Axis.L2B)

    @property
    def grain(self) -> int:
        """MV units of L2BM that are brought there together: those of a step, or of what is chosen together."""
        at_once = self.way.l1bs_differ or self.way.in_turn
        return max(distinct_unit() // MV_UNIT if at_once else 1, self.way.mv_units)

    def _cast(self) -> None:
        """Let l2bmi bring the units that some L1B wants."""
        givers = tuple(self.way.blocks)
        rank, row = np.divmod(self.position // MV_UNIT, self.size // MV_UNIT)
        own = self.wanted.own(Axis.L1B)
        held = np.zeros((self.size // MV_UNIT, self.wanted.need.wanted.shape[1], len(givers)), np.bool_)
        held[row, own, rank] = True
        place = np.zeros((self.size // MV_UNIT, chip().l1bs_per_l2b, len(givers)), np.int64)
        for number in np.flatnonzero(held.any(axis=(1, 2))).tolist():
            chosen = cover(held[number], list(givers))
            for cast in reversed(chosen):  # of two that bring the same the first counts
                for pair in pairs_of(cast, givers):
                    place[number, *pair] = len(self.casts) + chosen.index(cast)
            self.casts += [(number, cast) for cast in chosen]
        self.position = place[row, own, rank] * MV_UNIT + self.position % MV_UNIT
        self.arriving = max(1, len(self.casts)) * MV_UNIT

    def _share(self) -> None:
        """Let every L1B receive the units that some PE of it wants, where that is less than all."""
        own = self.wanted.own(Axis.L1B)
        key = self.position // MV_UNIT
        held = np.zeros((self.wanted.need.wanted.shape[1], self.arriving // MV_UNIT), np.bool_)
        held[own, key] = True
        most = int(held.sum(axis=1).max())
        if int(held.sum()) * chip().l1bs_per_l2b // len(held) + most * IN_L1BM >= held.shape[1] * (1 + IN_L1BM):
            return
        rank = held.cumsum(axis=1) - 1
        self.position = rank[own, key] * MV_UNIT + self.position % MV_UNIT
        self.arriving = most * MV_UNIT
        self.shares = _of_all([np.flatnonzero(row).tolist() for row in held], Axis.L1B)

    def parts(self, room: int) -> Iterator["Route"]:
        """The same exchange in several, none of which brings more than `room` long words into an L1BM."""
        unit, mv_units = self.way.unit, self.way.mv_units
        choices = max(CYCLES, room // unit // CYCLES * CYCLES)
        if self.arriving <= room or not self.units:
            yield self
            return
        for start in range(0, self.arriving // unit, choices):
            part = copy_of(self)
            part.units = [own[start * mv_units : (start + choices) * mv_units] for own in self.units]
            part.position = self.position - start * unit
            part.arriving = len(part.units[0]) // mv_units * unit
            yield part

    def _within_l2b(self) -> Index:
        """Offset of the wanted long word in L1BM, or in L2BM if L1Bs exchange."""
        native = self.wanted.number.astype(np.int64) * self.way.native + self.wanted.at(Axis.PE)
        if not self.way.mabs_alike:
            native = native + PES_PER_MAB * self.wanted.at(Axis.MAB)
        if not self.way.blocks:
            return native
        rank = _rank(self.way.blocks, self.wanted.at(Axis.L1B))
        if not self.way.in_turn:
            return native + self.size * rank
        step, place = np.divmod(native, SHARE_UNIT)
        cycle, place = np.divmod(place, SHARE_UNIT // CYCLES)
        l1b = np.array(self.way.blocks)[rank]
        return (step * CYCLES + cycle) * (distinct_unit() // CYCLES) + l1b * (SHARE_UNIT // CYCLES) + place


def in_demand(taken: NDArray[np.bool_], run: int) -> list[int]:
    """The runs of so many units that some L2B takes any of: `taken` [L2B, L2B that holds them, unit]. What the same
    ones take lies side by side, so that one transfer brings it."""
    by_run: NDArray[np.bool_] = np.any(taken.reshape(*taken.shape[:2], -1, run), axis=-1)
    places: dict[bytes, list[int]] = {}
    for number in np.flatnonzero(np.any(by_run, axis=(0, 1))).tolist():
        places.setdefault(by_run[:, :, number].tobytes(), []).append(number)
    return [number for alike in places.values() for number in alike]


def renumbered(
    taken: NDArray[np.bool_], brought: list[int], run: int
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """[L2B, number] of the units that are brought, those of one L2B behind those of another, and the new number of
    each unit."""
    units = np.array([number * run + i for number in brought for i in range(run)], np.int64)
    new = np.zeros(taken.shape[2], np.int64)
    new[units] = np.arange(len(units))
    return taken[:, :, units].reshape(len(taken), -1), new


def _of_all(units: list[list[int]], axis: Axis) -> list[list[int]]:
    """What is known of each coordinate of an axis, or of the one that stands for all."""
    return units * (chip().axis_size[axis] // len(units))


def _rank(representatives: list[int], coordinates: Index) -> Index:
    """Number of the representative that holds the same data as each coordinate."""
    mask = 0
    for r in representatives:
        mask |= r
    rank = np.zeros(mask + 1, np.int64)
    rank[representatives] = np.arange(len(representatives))
    return rank[coordinates & mask]
