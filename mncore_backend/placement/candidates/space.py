"""Digits of iteration dimensions, and the layouts of operands that follow from them."""

from collections.abc import Collection, Iterator, Sequence
from math import prod

from mnc.mncore_backend.layout import Axis, Digit, Layout, place_of
from mnc.mncore_backend.placement.candidates.policy import SPLIT_AXES
from mnc.mncore_backend.target import LONG_BYTES, PES_PER_MAB, WORD_BYTES, cached_per_machine, chip

Digits = tuple[Digit, ...]
Access = tuple[int | None, ...]
"""For each dimension of an operand the iteration dimension that indexes it; None: always element 0."""

LANES: Digits = (Digit(PES_PER_MAB, Axis.PE), Digit(LONG_BYTES // WORD_BYTES, Axis.W))
"""Eight neighbouring elements over (PE, W): one vector of the matrix unit, or one long word in each PE of a MAB."""
LANE_COUNT = prod(d.size for d in LANES)


Bits = list[tuple[Axis, int]]


def bits_of(axes: Sequence[Axis]) -> Bits:
    """Coordinate bits of hardware axes, most significant first."""
    return [(axis, 1 << bit) for axis in axes for bit in reversed(range(chip().axis_size[axis].bit_length() - 1))]


def merge_bits(bits: Sequence[tuple[Axis, int]]) -> Digits:
    """Digits that select the given coordinate bits."""
    digits: list[Digit] = []
    for axis, stride in bits:
        if digits and digits[-1].axis is axis and digits[-1].stride == 2 * stride:
            digits[-1] = Digit(2 * digits[-1].size, axis, stride)
        else:
            digits.append(Digit(2, axis, stride))
    return tuple(digits)


def spread(extents: Sequence[int], axes: Sequence[Axis], units: Sequence[int] | None = None) -> list[Digits]:
    """Hand out the bits of `axes` to dimensions, see `spread_bits`; what nobody takes holds replicas."""
    return spread_bits(extents, bits_of(axes), units)[0]


def spread_bits(extents: Sequence[int], bits: Bits, units: Sequence[int] | None = None) -> tuple[list[Digits], Bits]:
    """Hand out coordinate bits to dimensions, outermost dimension and first bit first; also the bits left over.

    `units[i]` elements of dimension i stay together (8 for a dimension whose lanes are spread already). A dimension
    takes bits while it has more units than places.
    """
    result: list[Digits] = []
    for i, extent in enumerate(extents):
        blocks = -(-extent // (units[i] if units else 1))
        taken = 0
        while taken < len(bits) and (1 << taken) < blocks:
            taken += 1
        result.append(merge_bits(bits[:taken]))
        bits = bits[taken:]
    return result, bits


def with_addresses(
    extent: int, hardware: Digits, lanes: Digits = (), *, block: int = 1, cyclic: bool = False
) -> Digits:
    """Hardware digits outermost, then as many addresses as the extent needs, then the lanes. Address strides are not
    meant yet; `project` numbers them. Every place gets whole blocks of `block`, unless that leaves most of them free.

    With `cyclic` elements are dealt out in turn where the number of addresses is no power of two: addresses come
    outermost. All other digits then stand for powers of two, wherever the extent is spread, and one placement becomes
    another by moving digits, not single elements.
    """
    rest = -(-extent // (prod(d.size for d in hardware) * prod(d.size for d in lanes)))
    if hardware and 2 * rest > block:
        rest = -(-rest // block) * block
    address = (Digit(rest),) if rest > 1 else ()
    if not cyclic or is_power_of_two(rest):
        return (*hardware, *address, *lanes)
    return (*address, *hardware, *lanes)


def is_power_of_two(count: int) -> bool:
    """Whether a positive number is one."""
    return count & (count - 1) == 0


def project(shape: Sequence[int], digits: Sequence[Digits], access: Access, inner: int | None = None) -> Layout:
    """Layout of an operand of `shape` whose dimensions are indexed by `access`; addresses row-major and dense, but for
    those of the iteration dimension `inner`, whose neighbours are neighbours in memory."""
    first = access.index(inner) if inner in access else None
    return _dense(tuple(shape), tuple([() if d is None else tuple(digits[d]) for d in access]), first)


@cached_per_machine(4096)
def _dense(shape: tuple[int, ...], digits: tuple[Digits, ...], first: int | None) -> Layout:
    """The layout with these digits per dimension, addresses numbered; plans ask for few layouts many times."""
    dims = [[x for x in own if x.size > 1] for own in digits]
    stride = 1
    order = sorted(range(len(dims)), key=lambda i: (i != first, -i))
    for dim in (dims[i] for i in order):
        for i in reversed(range(len(dim))):
            if dim[i].axis is Axis.ADDRESS:
                dim[i] = Digit(dim[i].size, Axis.ADDRESS, stride)
                stride *= dim[i].size
    return Layout(shape, tuple(tuple(dim) for dim in dims))


def matches(layout: Layout, digits: Sequence[Digits], access: Access) -> bool:
    """Whether an operand in `layout` can be read where it is by loops over `digits`."""
    pairs = zip(layout.places, access, strict=True)
    return all(have == _places(() if d is None else digits[d]) for have, d in pairs)


def _places(digits: Digits) -> tuple[tuple[int, Axis, int], ...]:
    return tuple(place_of(d) for d in digits if d.size > 1)


def same_places(a: Layout, b: Layout) -> bool:
    """Whether two layouts of one tensor differ at most in the order of addresses inside a PE."""
    return a.shape == b.shape and a.places == b.places


def iteration_digits(rank: int, operands: Sequence[tuple[Layout, Access]]) -> list[Digits]:
    """Digits of every iteration dimension, read off the operands that are indexed by it.

    Raises ValueError where two operands disagree.
    """
    result: list[Digits | None] = [None] * rank
    for layout, access in operands:
        for digits, d in zip(layout.dims, access, strict=True):
            if d is None:
                continue
            known = result[d]
            if known is None:
                result[d] = digits
            elif _places(known) != _places(digits):
                raise ValueError(f"operands place iteration dimension {d} differently: {layout}")
    return [digits or () for digits in result]


def default_digits(
    extents: Sequence[int],
    axes: Sequence[Axis] = SPLIT_AXES,
    *,
    cyclic: bool = False,
    last: Collection[int] = (),
) -> list[Digits]:
    """A placement for an iteration space about which nothing is known: the last dimension over (PE, W), the others over
    `axes` from the outermost on, but those of `last` behind all others; the rest to addresses."""
    if not extents:
        return []
    lane_dim = max((i for i, extent in enumerate(extents) if extent > 1), default=len(extents) - 1)
    order = sorted(range(len(extents)), key=lambda i: i in last)
    return ordered_digits(extents, order, lane_dim, axes, cyclic=cyclic)


def orders(extents: Sequence[int], lane_dim: int, axes: Sequence[Axis] = SPLIT_AXES) -> Iterator[tuple[int, ...]]:
    """Orders of dimensions with which `ordered_digits` gives bits to others. When none are left, or nobody wants any,
    the dimensions that are not in order yet keep theirs: of many dimensions only the first few matter."""
    wants = [(-(-extent // (LANE_COUNT if i == lane_dim else 1)) - 1).bit_length() for i, extent in enumerate(extents)]

    def extended(order: tuple[int, ...], left: int) -> Iterator[tuple[int, ...]]:
        takers = [i for i, bits in enumerate(wants) if bits and i not in order] if left else []
        if not takers:
            yield *order, *(i for i in range(len(extents)) if i not in order)
        for i in takers:
            yield from extended((*order, i), left - min(left, wants[i]))

    return extended((), len(bits_of(axes)))


def ordered_digits(
    extents: Sequence[int],
    order: Sequence[int],
    lane_dim: int,
    axes: Sequence[Axis] = SPLIT_AXES,
    *,
    cyclic: bool = False,
) -> list[Digits]:
    """`lane_dim` over (PE, W); the dimensions take the bits of `axes` in the given order."""
    units = [LANE_COUNT if i == lane_dim else 1 for i in order]
    taken = spread([extents[i] for i in order], axes, units)
    hardware = [taken[list(order).index(i)] for i in range(len(extents))]
    return [
        with_addresses(extent, hw, LANES if i == lane_dim else (), cyclic=cyclic)
        for i, (extent, hw) in enumerate(zip(extents, hardware, strict=True))
    ]


def reduce_inside(
    extents: Sequence[int], parallel: Sequence[bool], axes: Sequence[Axis] = SPLIT_AXES, *, cyclic: bool = False
) -> list[Digits]:
    """A placement that keeps the dimensions that are not `parallel` inside the PEs: reduced ones where no network does
    the combination, and those of which slices are taken later."""
    kept = [i for i, is_parallel in enumerate(parallel) if is_parallel]
    placed = dict(zip(kept, default_digits([extents[i] for i in kept], axes, cyclic=cyclic), strict=True))
    return [placed[i] if i in placed else with_addresses(extent, ()) for i, extent in enumerate(extents)]


def resized(layout: Layout, shape: Sequence[int]) -> list[Digits]:
    """Digits of a tensor of another shape of the same rank: hardware digits stay, addresses grow or shrink.

    A dimension whose extent stays keeps its digits. Where it takes no more addresses, the outermost digit alone changes
    and no element changes its place: neither when equal parts are joined nor when one of them is taken out again.
    """
    result: list[Digits] = []
    for digits, extent, before in zip(layout.dims, shape, layout.shape, strict=True):
        if extent == before:
            result.append(digits)
            continue
        hardware = [d for d in digits if d.axis is not Axis.ADDRESS]
        rest = -(-extent // prod(d.size for d in hardware))
        inner = digits[1:] if digits and digits[0].axis is Axis.ADDRESS else digits
        outer = -(-extent // prod(d.size for d in inner))
        if outer * prod(d.size for d in inner if d.axis is Axis.ADDRESS) == rest:
            result.append((*([Digit(outer)] if outer > 1 else []), *inner))
            continue
        places = [i for i, d in enumerate(digits) if d.axis is Axis.ADDRESS and d.size > 1]
        first = places[0] if places else 0
        made = [d for i, d in enumerate(digits) if i not in places]
        if rest > 1:
            made.insert(first, Digit(rest))
        result.append(tuple(made))
    return result


ENOUGH = 8  # long words per PE: two steps' worth; spreading further saves nothing


@cached_per_machine(1 << 14)
def scattered(layout: Layout) -> Layout:
    """The same tensor with replicas over L1B and MAB given up: its dimensions, outermost first, take the free bits.

    What follows then works on fewer long words per PE. Bits are taken while a PE holds more than `ENOUGH`.
    """
    free = [
        (axis, stride)
        for axis in (Axis.L1B, Axis.MAB)
        for axis_, stride in bits_of([axis])
        if layout.replicated_bits(axis_) & stride
    ]
    dims = [list(own) for own in layout.dims]
    for own in dims:
        place = next((i for i, d in enumerate(own) if d.axis is Axis.ADDRESS and d.size > 1), None)
        if place is None:
            continue
        size, taken = own[place].size, 0
        # Only even sizes: rounding up would move elements between the coordinates that are outside.
        apart = place == 0 and not is_power_of_two(size) and any(d.axis in SPLIT_AXES for d in own)
        while taken < len(free) and size % 2 == 0 and _long_words(dims) * size // own[place].size > ENOUGH:
            size, taken = size // 2, taken + 1
        hardware, free = merge_bits(free[:taken]), free[taken:]
        own[place : place + 1] = [Digit(size), *hardware] if apart else [*hardware, Digit(size)]
    return project(layout.shape, [tuple(own) for own in dims], tuple(range(len(dims))))


def _long_words(dims: Sequence[Sequence[Digit]]) -> int:
    return prod(d.size for own in dims for d in own if d.axis is Axis.ADDRESS)
