"""What prices need to know of a layout: long words of a PE, how many coordinates of each axis differ, and which bit of
an index each bit of a coordinate holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from mnc.mncore_backend.layout import Axis, Digit, Layout
from mnc.mncore_backend.target import cached_per_machine, chip

REMEMBERED = 1 << 17
"""Layouts whose facts are remembered, and pairs whose price is: a search asks for the same ones again and again."""

LEVELS = (Axis.L2B, Axis.L1B, Axis.MAB, Axis.PE, Axis.W)
"""Hardware axes, the dearest to cross first."""
IN_ADDRESS = len(LEVELS)
_NUMBER = {**{axis: number for number, axis in enumerate(LEVELS)}, Axis.ADDRESS: IN_ADDRESS}
REPLICAS = -1
_DIMENSION = 1 << 32  # more than an extent


@dataclass(frozen=True, slots=True)
class Facts:
    """Of one layout.

    Attributes:
        longs: long words of a PE that hold an element.
        l2bs, l1bs, mabs, pes: coordinates that hold different data.
        free_l2b, free_l1b, free_mab, free_pe: bits of the coordinates along which there are replicas.
        holds: for every coordinate bit (`axis_of`) the bit of an index that it holds, or `REPLICAS`.
        where: bits of indices that a coordinate or an address holds, and the number of the axis.
        is_padded: whether there are places without an element.
    """

    longs: int
    l2bs: int
    l1bs: int
    mabs: int
    pes: int
    free_l2b: int
    free_l1b: int
    free_mab: int
    free_pe: int
    holds: tuple[int, ...]
    where: dict[int, int]
    is_padded: bool


@cached_per_machine()
def _widths() -> tuple[int, ...]:
    """Bits of the coordinate of each axis."""
    return tuple(chip().axis_size[axis].bit_length() - 1 for axis in LEVELS)


@cached_per_machine()
def _first() -> tuple[int, ...]:
    """The number of the first coordinate bit of each axis."""
    return tuple(sum(_widths()[:number]) for number in range(len(LEVELS)))


@cached_per_machine()
def axis_of() -> tuple[int, ...]:
    """The number of the axis of every coordinate bit."""
    return tuple(number for number, width in enumerate(_widths()) for _ in range(width))


@cached_per_machine(REMEMBERED)
def facts(layout: Layout, *, flat: bool = False) -> Facts:
    """Facts of a layout, remembered. `flat`: bits of indices that are bits of the number of an element in row-major
    order, too, are taken for these, which are the same in every shape."""
    first = _first()
    holds = [REPLICAS] * len(axis_of())
    where: dict[int, int] = {}
    taken = [0] * (len(LEVELS) + 1)
    longs, padded = 1, False
    for dim, (extent, digits) in enumerate(zip(layout.shape, layout.dims, strict=True)):
        weight = 1
        for digit in reversed(digits):
            axis, size, stride = _NUMBER[digit.axis], digit.size, digit.stride
            own = weight
            while size > 1 and not size & 1:
                bit = _flat_bit(layout.shape, dim, own) if flat else dim * _DIMENSION + own
                where[bit] = axis
                if axis != IN_ADDRESS:
                    holds[first[axis] + stride.bit_length() - 1] = bit
                    taken[axis] |= stride
                size, own, stride = size >> 1, own << 1, stride << 1
            weight *= digit.size
        longs *= used_addresses(extent, digits, weight)
        padded |= weight != extent
    free = [chip().axis_size[axis] - 1 & ~bits for axis, bits in zip(LEVELS[:4], taken, strict=False)]
    counts = [1 << bits.bit_count() for bits in taken[:4]]
    return Facts(longs, *counts, *free, tuple(holds), where, padded)  # pyright: ignore[reportCallIssue]


def _flat_bit(shape: Sequence[int], dim: int, weight: int) -> int:
    """A bit of the index of a dimension as one of the number of an element, if it is one: further out everything counts
    in multiples of what it counts to. Otherwise it is a bit of what remains of the number in a division."""
    inner = prod(shape[dim + 1 :])
    modulus = inner * shape[dim]
    is_one = prod(shape[:dim]) == 1 or modulus % (2 * weight * inner) == 0
    return weight * inner + (0 if is_one else modulus * _DIMENSION)


def used_addresses(extent: int, digits: Sequence[Digit], span: int) -> int:
    """Values of the address digits of a dimension with which some place is still inside the extent; `span` is the
    product of all sizes."""
    own = []
    weight = span
    inner = 1
    for digit in digits:
        weight //= digit.size
        if digit.axis is Axis.ADDRESS and digit.size > 1:
            own.append((weight, digit.size))
            inner *= digit.size
    if span == extent:
        return inner
    used, last = 0, extent - 1
    for weight, size in own:
        inner //= size
        value = last // weight
        if value >= size:
            return used + size * inner
        used, last = used + value * inner, last - value * weight
    return used + 1
