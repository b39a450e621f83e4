"""Composing the image of an upper memory from what the PEs hold.

A relayout climbs only as far as it must and comes down like a load. The image that the way down needs is known; this
module finds the upward instructions that write it. The unit is the granule: the four long words that the PEs of one MAB
hold at one address (the smallest thing that an upward transfer keeps together, SDM 3.6.8).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.layout import Axis, Layout, PlaceCode, place_codes
from mnc.mncore_backend.movement.agreement import NOBODY, agreed
from mnc.mncore_backend.movement.estimate import counted
from mnc.mncore_backend.movement.local import LONG, access
from mnc.mncore_backend.movement.transfers import CYCLES, alignment
from mnc.mncore_backend.program import Buffer, Builder, upper
from mnc.mncore_backend.target import PES_PER_MAB, chip

Index = NDArray[np.integer]
ANY = NOBODY  # a granule whose content does not matter
PES = PES_PER_MAB


class NoWay(Exception):
    """The image cannot be composed of whole granules; the message says why."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Per long word of an image: the place of the source long word it copies; meaningless where not `wanted`."""

    wanted: NDArray[np.bool_]
    code: PlaceCode
    place: Index

    def at(self, axis: Axis) -> Index:
        """Coordinates along one axis."""
        return self.code.get(self.place, axis)

    @property
    def granule(self) -> Index:
        """The place without PE and word: a number that grows with L2B, L1B, MAB and address, in this order."""
        return self.place >> self.code.shift(Axis.ADDRESS)


TORN = -2
"""What a long word that is put together from two has for its place."""


def long_words(source: Layout, held: Index) -> Index:
    """Places in the source of the long words that hold these elements [..., two words per long word]: those of the
    first replicas, with -1 where nothing is held, and TORN where there is no such long word."""
    code, places = place_codes(source)
    pairs = held.reshape(*held.shape[:-1], -1, 2)
    first, second = pairs[..., 0], pairs[..., 1]
    other = (second >= 0) & (first < 0)
    result = np.where(other, places[second], places[first])
    both = (first >= 0) & (second >= 0)
    if source.replicated_bits(Axis.W):
        torn = both & (first != second)
    else:
        word = code.field(Axis.W)
        torn = both & (result ^ places[second] != word) | (result & word != 0) != other
    result[torn] = TORN
    result[(first < 0) & (second < 0)] = -1
    return result


def origins(source: Layout, longs: Index, *, l1b_axis: bool) -> Origin:
    """Where the long words of an image [L2B, (L1B,) long word], places as of `long_words`, come from. Of replicas the
    one in the own L2B and L1B is taken. Raises NoWay when one is not one long word of the source."""
    if longs.min(initial=0) == TORN:
        raise NoWay("a long word is put together from two, or from replicated words")
    code = place_codes(source)[0]
    own = {Axis.L2B: _along(0, longs.ndim), Axis.PE: np.arange(longs.shape[-1]) % PES}
    if l1b_axis:
        own[Axis.L1B] = _along(1, longs.ndim)
    place = longs
    for axis, coordinate in own.items():
        if bits := source.replicated_bits(axis):
            place = place | (coordinate & bits).astype(longs.dtype) << code.shift(axis)
    return Origin(longs >= 0, code, place)


def _along(position: int, ndim: int) -> Index:
    return np.arange(chip().shape[position]).reshape(tuple(-1 if i == position else 1 for i in range(ndim)))


def granules(origin: Origin, codes: Index, shared: tuple[int, ...]) -> NDArray[np.int64]:
    """One code per granule of four long words; the axes in `shared` execute the same instructions and must agree.
    Raises NoWay when lanes move or they disagree."""
    lanes = np.arange(origin.wanted.shape[-1]) % PES
    if (origin.wanted & (origin.at(Axis.PE) != lanes)).any():
        raise NoWay("elements change their PE within the MAB")
    shape = (*codes.shape[:-1], codes.shape[-1] // PES, PES)
    axes = (*shared, len(shape) - 1)
    wanted = origin.wanted.reshape(shape)
    split = codes.reshape(shape)
    found = agreed(split, wanted, axes)
    if found is None:
        raise NoWay("parts that execute the same instructions need different data")
    return found


def fill(
    builder: Builder, source: Buffer, l1bm: Buffer, wanted: NDArray[np.int64], size: int, copied: int = 0
) -> None:
    """Write an L1BM image. `wanted[i]` is mab * size + address of granule i (or ANY), `size` the granule numbers of
    one MAB; MABs that differ in bits of `copied` only are alike, and the first is meant. The buffer must be as long as
    the image rounded up to blocks of `alignment` long words."""
    if _rows(wanted, size, copied):
        _fill_rows(builder, source, l1bm, wanted, size)
        return
    mab, address = np.divmod(_without_gaps(wanted), size)
    runs = _runs(mab, address, source.alignment % 2 == 0)
    if counted(builder, len(runs)):
        return
    mabs, addresses = mab.tolist(), address.tolist()
    for i, run in runs:
        two_long = run > CYCLES
        starts = addresses[i : i + run : 2 if two_long else 1]
        operand = access(source, [LONG * a for a in starts], 4 if two_long else 2)
        builder.emit("l1bmm", [operand], [upper(l1bm, PES * i, two_long=two_long)], modifier=f"@{mabs[i]}")


def slack(granule_count: int) -> int:
    """Long words of L1BM to reserve for an image: surplus cycles of the last step write beyond it."""
    return -(-granule_count * PES // alignment()) * alignment() + CYCLES * PES


def _without_gaps(wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """ANY replaced by the granule before it, so that nothing in the image stays unwritten."""
    known = np.flatnonzero(wanted != ANY)
    if not len(known):
        return np.zeros_like(wanted)
    before = known[np.maximum(np.searchsorted(known, np.arange(len(wanted)), side="right") - 1, 0)]
    return wanted[before]


def _rows(wanted: NDArray[np.int64], size: int, copied: int) -> bool:
    """Whether the image consists of whole l1bmd rows: granule i from MAB i modulo their number, one address a row."""
    if len(wanted) % chip().mabs_per_l1b:
        return False
    table = wanted.reshape(-1, chip().mabs_per_l1b)
    fits = (table == ANY) | (table // size == np.arange(chip().mabs_per_l1b) & ~copied)
    address = np.where(table == ANY, table.max(axis=1, keepdims=True) % size, table % size)
    return bool(fits.all() and (address == address[:, :1]).all())


def _fill_rows(builder: Builder, source: Buffer, l1bm: Buffer, wanted: NDArray[np.int64], size: int) -> None:
    if counted(builder, -(-len(wanted) // (chip().mabs_per_l1b * CYCLES))):
        return
    rows = np.maximum(wanted.reshape(-1, chip().mabs_per_l1b).max(axis=1), 0) % size
    for i in range(0, len(rows), CYCLES):
        operand = access(source, [LONG * int(a) for a in rows[i : i + CYCLES]], LONG)
        builder.emit("l1bmd", [operand], [upper(l1bm, chip().mabs_per_l1b * PES * i)])


def _runs(mab: NDArray[np.int64], address: NDArray[np.int64], even: bool) -> list[tuple[int, int]]:
    """First granule and number of granules of each l1bmm@k: 8, as 2-long, or 4, or the first few of 4 (what a step
    writes beyond them is overwritten by the steps that follow)."""
    at = np.arange(len(mab))
    ends = np.append(np.flatnonzero(np.diff(mab)) + 1, len(mab))
    left = ends[np.searchsorted(ends, at, side="right")] - at  # granules of the same MAB from here on
    taken = np.minimum(left, CYCLES)
    if even:
        pair = np.zeros(len(mab) + 2 * CYCLES, np.bool_)
        pair[: len(mab) - 1] = (address[:-1] % 2 == 0) & (np.diff(address) == 1)
        pairs = np.logical_and.reduce([pair[2 * i : 2 * i + len(mab)] for i in range(CYCLES)])
        taken[pairs & (at % 2 == 0) & (left >= 2 * CYCLES)] = 2 * CYCLES
    steps, runs, i = taken.tolist(), [], 0
    while i < len(steps):
        runs.append((i, steps[i]))
        i += steps[i]
    return runs
