"""How the outputs of windows are cut into tiles over the chip, and what their halos cost."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import prod

from mnc.mncore_backend.layout import Axis, Digit, Layout
from mnc.mncore_backend.placement.candidates.policy import SPLIT_AXES
from mnc.mncore_backend.placement.candidates.problem import half_memory
from mnc.mncore_backend.placement.candidates.space import (
    LANE_COUNT,
    LANES,
    Access,
    Bits,
    Digits,
    bits_of,
    merge_bits,
    project,
    spread,
    spread_bits,
    with_addresses,
)
from mnc.mncore_backend.placement.candidates.windows import Window, Windows, follow, is_tileable, reach, tiled_layout
from mnc.mncore_backend.pricing import arrival, store
from mnc.mncore_backend.target import CYCLES_PER_STEP


def _splits(extents: Sequence[int], count: int) -> Iterator[tuple[int, ...]]:
    """Numbers of coordinate bits that dimensions may take, at most `count` together."""
    if not extents:
        yield ()
        return
    for taken in range(count + 1):
        if taken and 1 << (taken - 1) >= extents[0]:
            break
        for rest in _splits(extents[1:], count - taken):
            yield (taken, *rest)


def tile_digits(
    windows: Windows, extents: Sequence[int], dims: Sequence[int], bits: Bits, lane: int | None = None
) -> tuple[dict[int, Digits], Bits]:
    """Digits of the output dimensions of windows such that a PE holds the smallest tiles with their halos; also the
    coordinate bits that nobody takes. Outer dimensions take the first bits. `lane` has lanes, and no windows."""
    by_out = {w.out: w for w in windows if w.out is not None and w.kernel is not None}
    blocks = [-(-extents[d] // LANE_COUNT) if d == lane else extents[d] for d in dims]

    def held(split: tuple[int, ...]) -> tuple[int, ...]:
        sizes = []
        for d, count, taken in zip(dims, blocks, split, strict=True):
            outputs = -(-count // (1 << taken))
            sizes.append(reach(by_out.get(d, Window(d)), outputs, extents))
        return prod(sizes), sum(split), tuple(-taken for taken in split)  # pyright: ignore[reportReturnType]

    best = min(_splits(blocks, len(bits)), key=held)
    digits: dict[int, Digits] = {}
    for d, taken in zip(dims, best, strict=True):
        digits[d] = with_addresses(extents[d], merge_bits(bits[:taken]), LANES if d == lane else ())
        bits = bits[taken:]
    return digits, bits


NO_ROOM = 1e9
"""Steps, more than anything takes."""
DEFAULTS = 6
"""Ways to spread loops over windows that are told apart, where no operand says how."""
MOST_SPARE = 4 / 3
"""How much larger than needed tiles may be in one dimension for the sake of windows that follow."""


def aligned_digits(digits: dict[int, Digits], strides: Mapping[int, int]) -> dict[int, Digits]:
    """The same tiles with sizes that are multiples of `strides`, or of as large a power of two in them as costs little,
    so that what windows with these strides read lies in the tile. Some places may remain empty."""
    result = dict(digits)
    for d, stride in strides.items():
        size = prod(x.size for x in digits.get(d, ()) if x.axis is Axis.ADDRESS)
        hardware = tuple(x for x in digits.get(d, ()) if x.axis is not Axis.ADDRESS)
        while stride > 1 and -(-size // stride) * stride > MOST_SPARE * size:
            stride //= 2
        if hardware and stride > 1 and size % stride and is_tileable(digits[d]):
            result[d] = (*hardware, Digit(-(-size // stride) * stride))
    return result


_EXCHANGE = {Axis.MAB: (60, 3), Axis.L1B: (160, 14), Axis.L2B: (3000, 24)}
"""Steps of exchanging a tensor across an axis: fixed, and per long word of a PE."""


def straddling_steps(layout: Layout, dims: Mapping[int, int]) -> float:
    """A rough price of windows that straddle tiles: the whole tensor moves along the axes of dimensions whose tiles are
    no multiple of the stride. `dims`: dimension of the layout -> stride."""
    steps = 0.0
    for dim, stride in dims.items():
        size = prod(x.size for x in layout.dims[dim] if x.axis is Axis.ADDRESS)
        if size % stride:
            axes = {x.axis for x in layout.dims[dim] if x.size > 1 and x.axis in _EXCHANGE}
            steps += sum(_EXCHANGE[axis][0] + _EXCHANGE[axis][1] * layout.local_size for axis in axes)
    return steps


def follow_operand(
    access: Access, windows: Windows | None, extents: Sequence[int], layout: Layout | None
) -> dict[int, Digits] | None:
    """Digits of the dimensions of an operand that leave it where it is, None if that is impossible or unknown."""
    if layout is None:
        return None
    if windows is None:
        windows = tuple(Window(d) for d in access)
    return follow(windows, extents, layout)


def choose_tiles(
    extents: Sequence[int],
    parallel: Sequence[bool],
    operands: Sequence[tuple[Windows, Layout | None]],
    axes: Sequence[Axis] = SPLIT_AXES,
) -> list[Digits]:
    """Digits of an iteration space whose operands are read through windows. Dimensions that are not parallel stay
    inside the PEs; the others follow the largest operand that can stay where it is.

    Args:
        operands: how each is read, and where it is (None: not on the chip yet).
        axes: over which tiles are spread where no operand says how.
    """
    return possible_tiles(extents, parallel, operands, axes)[0]


def possible_tiles(
    extents: Sequence[int],
    parallel: Sequence[bool],
    operands: Sequence[tuple[Windows, Layout | None]],
    axes: Sequence[Axis] = SPLIT_AXES,
) -> list[list[Digits]]:
    """Ways to spread loops that read operands through windows: those that leave an operand where it is, the largest
    first. Where all that windows read is still free, it can come to where that is cheapest, whatever else is placed."""
    found: list[tuple[int, dict[int, Digits]]] = []
    for windows, layout in operands:
        digits = None if layout is None else follow(windows, extents, layout)
        if digits is None or any(_is_spread(own) and not parallel[d] for d, own in digits.items()):
            continue
        assert layout is not None
        found.append((layout.size, digits))
    found.sort(key=lambda one: -one[0])
    ways = [digits for _, digits in found]
    is_placed = [layout is not None for windows, layout in operands if _covered(windows)]
    if not ways or (is_placed and not any(is_placed)):
        ways = [*_default_tiles(extents, parallel, operands, axes), *ways]
    return [[known.get(d, with_addresses(extent, ())) for d, extent in enumerate(extents)] for known in ways]


def _is_spread(digits: Digits) -> bool:
    return any(d.size > 1 and d.axis is not Axis.ADDRESS for d in digits)


def _default_tiles(
    extents: Sequence[int],
    parallel: Sequence[bool],
    operands: Sequence[tuple[Windows, Layout | None]],
    axes: Sequence[Axis],
) -> list[dict[int, Digits]]:
    """Ways to spread loops whose operands come from DRAM, the cheapest first: lanes along the largest dimension that no
    window covers, tiles of the others over all coordinate bits or some. The smaller a tile, the more of it is halo;
    what is not spread over all bits is computed several times."""
    dims = [d for d, is_parallel in enumerate(parallel) if is_parallel]
    by_windows = max((windows for windows, _ in operands), key=_covered, default=())
    covered = [d for d in dims if any(d == w.out and w.kernel is not None for w in by_windows)]
    plain = [d for d in dims if d not in covered]
    lane = max(plain, key=lambda d: min(extents[d], LANE_COUNT), default=None)
    units = [LANE_COUNT if d == lane else 1 for d in plain]
    bits = bits_of(axes)
    found: dict[tuple[Digits, ...], tuple[float, dict[int, Digits]]] = {}
    for first, last in combinations(range(len(bits) + 1), 2):
        hardware, rest = spread_bits([extents[d] for d in plain], bits[first:last], units)
        ways, _ = tile_digits(by_windows, extents, covered, rest)
        lanes = {d: LANES if d == lane else () for d in plain}
        ways |= {d: with_addresses(extents[d], own, lanes[d]) for d, own in zip(plain, hardware, strict=True)}
        digits = tuple(ways.get(d, with_addresses(extent, ())) for d, extent in enumerate(extents))
        if digits not in found:
            found[digits] = _steps_from_dram(extents, dims, digits, operands), ways
    alike = spread([extents[d] for d in dims], axes, [LANE_COUNT if d == lane else 1 for d in dims])
    ways = {d: with_addresses(extents[d], own, LANES if d == lane else ()) for d, own in zip(dims, alike, strict=True)}
    digits = tuple(ways.get(d, with_addresses(extent, ())) for d, extent in enumerate(extents))
    found.setdefault(digits, (_steps_from_dram(extents, dims, digits, operands), ways))
    return [ways for _, ways in sorted(found.values(), key=lambda one: one[0])[:DEFAULTS]]


def _covered(windows: Windows) -> int:
    return sum(w.kernel is not None for w in windows)


def _steps_from_dram(
    extents: Sequence[int],
    dims: Sequence[int],
    digits: Sequence[Digits],
    operands: Sequence[tuple[Windows, Layout | None]],
) -> float:
    """What loops over windows take whose operands come from DRAM and whose result goes there. Where a tile would
    hardly leave room for anything else, the smallest is the cheapest."""
    tiled = [tiled_layout(windows, extents, digits) for windows, layout in operands if layout is None]
    largest = max((layout.local_size for layout in tiled), default=0)
    if largest > half_memory():
        return NO_ROOM + largest
    come = sum(arrival(layout).total for layout in tiled)
    result = project([extents[d] for d in dims], [digits[d] for d in dims], tuple(range(len(dims))))
    each = prod(extent for d, extent in enumerate(extents) if d not in dims)
    return come + store(result).total + each * -(-result.local_size // CYCLES_PER_STEP)
