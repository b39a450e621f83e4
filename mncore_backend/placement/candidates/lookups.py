"""Elements that indices choose: whether PEs can read them at their addresses, and iterations in which they can.

A dimension that an index chooses from is spread over PEs as a part of consecutive elements each. Then the address in a
PE is the index less the first element that the PE holds. Where that is not so, an index has to be compared with every
element.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.placement.candidates.pointwise import roomy_iteration
from mnc.mncore_backend.placement.candidates.policy import SPLIT_AXES
from mnc.mncore_backend.placement.candidates.space import (
    LANE_COUNT,
    LANES,
    Access,
    Bits,
    Digits,
    bits_of,
    default_digits,
    merge_bits,
    orders,
    spread_bits,
    with_addresses,
)
from mnc.mncore_backend.program import LOCAL_MEMORY
from mnc.mncore_backend.target import CYCLES_PER_STEP, cached_per_machine, chip

WORTHWHILE = 8
"""Elements to choose from in a PE below which comparing with all of them takes no more steps than addresses do."""


def most() -> int:
    """Long words of the share of a table at most: it has to be in one particular memory."""
    return chip().memories[LOCAL_MEMORY[0]].longs // 2


@dataclass(frozen=True)
class Choice:
    """A dimension that an index chooses from: the parts that places hold, and how many elements make a part."""

    dim: int
    hardware: Digits
    part: int

    @property
    def places(self) -> int:
        """Number of different parts."""
        return prod(d.size for d in self.hardware)


def choices(digits: Sequence[Digits], dims: Sequence[int], table: Layout) -> list[Choice] | None:
    """The dimensions of an iteration space that indices choose from, if PEs can and should read at addresses; `digits`
    are those of the space, `table` is where what they choose from is."""
    if table.local_size > most():
        return None
    found: list[Choice] = []
    for dim in dims:
        visible = [d for d in digits[dim] if d.size > 1]
        hardware = tuple(d for d in visible if d.axis is not Axis.ADDRESS)
        inner = visible[len(hardware) :]
        if tuple(visible[: len(hardware)]) != hardware or len(inner) > 1 or any(d.axis is Axis.W for d in hardware):
            return None
        found.append(Choice(dim, hardware, prod(d.size for d in inner)))
    return found if found and prod(choice.part for choice in found) >= WORTHWHILE else None


def in_parts(
    extents: Sequence[int],
    accesses: Sequence[Access],
    dims: Collection[int],
    axes: Sequence[Axis] = SPLIT_AXES,
    *,
    cyclic: bool = False,
) -> list[Digits]:
    """Digits of an iteration space in which the elements that indices choose, along `dims`, can be read at addresses.
    `accesses`: of the table, then of the result."""
    default = default_digits(extents, axes, cyclic=cyclic)
    return roomy_iteration(default, extents, accesses, most(), dims, axes, cyclic=cyclic)


def lookups(
    extents: tuple[int, ...],
    accesses: tuple[Access, Access],
    dims: tuple[int, ...],
    table: Layout | None,
    axes: tuple[Axis, ...],
    *,
    cyclic: bool,
) -> list[list[Digits]]:
    """Iteration spaces in which elements of a table can be read at addresses: where the table is by now, if that can
    stay, then the best for small steps first. `accesses`: of the table, then of the result."""
    found = [in_parts(extents, accesses, dims, axes, cyclic=cyclic)]
    if len(dims) == 1:
        found += divided(extents, accesses, dims[0], axes, cyclic=cyclic)
    found.sort(key=lambda digits: rough_steps(digits, accesses, dims))
    stays = table and around(extents, table, accesses[0], axes, cyclic=cyclic)
    return [stays, *found] if stays else found


FOLLOWED = 4
"""Ways to divide the chip between a table and what is read from it that a search looks at."""


@cached_per_machine(256)
def divided(
    extents: tuple[int, ...], accesses: tuple[Access, ...], dim: int, axes: tuple[Axis, ...], *, cyclic: bool
) -> Sequence[list[Digits]]:
    """Iteration spaces in which the dimension `dim`, along which indices choose, has the innermost places of the chip
    for itself, as many as a power of two, and the others have the rest: each part of the table is asked for a part of
    the points only. The cheapest way for some of these powers, the cheapest of all first. `accesses`: of the table,
    then of the result."""
    bits = bits_of(axes)
    apart = tuple(1 if i == dim else extent for i, extent in enumerate(extents))
    lanes = [i for i, extent in enumerate(apart) if extent > 1][::-1]  # where ways are equal: as `default_digits`
    found: list[tuple[int, list[Digits]]] = []
    for count in range(1, min(len(bits), (extents[dim] - 1).bit_length()) + 1):
        own = merge_bits(bits[len(bits) - count :])
        rest = bits[: len(bits) - count]
        ways = [
            _beside(extents, (dim, own), order, lane, rest, cyclic=cyclic)
            for lane in lanes
            for order in orders(apart, lane, axes)
        ]
        fitting = [(rough_steps(way, accesses, (dim,)), way) for way in ways if _longs(way, accesses[0]) <= most()]
        found += [min(fitting, key=lambda pair: pair[0])] if fitting else []
    return [way for _, way in sorted(found, key=lambda pair: pair[0])[:FOLLOWED]]


def around(
    extents: Sequence[int], table: Layout, access: Access, axes: Sequence[Axis] = SPLIT_AXES, *, cyclic: bool
) -> list[Digits] | None:
    """The iteration space in which a table stays where it is, and the dimensions that it does not have take the places
    that hold copies of it; None where the lanes are not among these."""
    beside = [i for i, extent in enumerate(extents) if i not in access and extent > 1]
    if not beside or any(table.selected_bits(digit.axis) for digit in LANES):
        return None
    bits = [(axis, stride) for axis, stride in bits_of(axes) if table.replicated_bits(axis) & stride]
    units = [LANE_COUNT if i == beside[-1] else 1 for i in beside]
    taken = dict(zip(beside, spread_bits([extents[i] for i in beside], bits, units)[0], strict=True))
    held = {d: own for own, d in zip(table.dims, access, strict=True) if d is not None}
    return [
        held[i] if i in held else with_addresses(
            extent, taken.get(i, ()), LANES if beside[-1] == i else (), cyclic=cyclic
        ) for i, extent in enumerate(extents)
    ]  # fmt: skip


def _beside(
    extents: Sequence[int], own: tuple[int, Digits], order: Sequence[int], lane: int, bits: Bits, *, cyclic: bool
) -> list[Digits]:
    """The dimensions but one, which has digits of its `own`, take bits in this order."""
    dim, hardware = own
    wanted = [1 if i == dim else extents[i] for i in order]
    taken = spread_bits(wanted, bits, [LANE_COUNT if i == lane else 1 for i in order])[0]
    places = dict(zip(order, taken, strict=True)) | {dim: hardware}
    return [
        with_addresses(extent, places[i], LANES if i == lane else (), cyclic=cyclic and i != dim)
        for i, extent in enumerate(extents)
    ]


def _longs(digits: Sequence[Digits], access: Access) -> int:
    return prod(d.size for i in access if i is not None for d in digits[i] if d.axis is Axis.ADDRESS)


def rough_steps(digits: Sequence[Digits], accesses: Sequence[Access], dims: Collection[int]) -> int:
    """Roughly the steps of a lookup: of what comes, of the reads, and of the sums over the parts of the table."""
    crossed = len({d.axis for i in dims for d in digits[i] if d.axis is not Axis.ADDRESS})
    longs = [_longs(digits, access) for access in accesses]
    return longs[0] + lookup_steps(digits, dims) + longs[-1] * crossed


PER_READ = 16
"""Instructions to work out an address, to read there, and to drop what is not there."""


def lookup_steps(digits: Sequence[Digits], dims: Collection[int]) -> int:
    """Steps of the reads of one PE."""
    points = prod(d.size for i, own in enumerate(digits) if i not in dims for d in own if d.axis is Axis.ADDRESS)
    return PER_READ * -(-points // CYCLES_PER_STEP)
