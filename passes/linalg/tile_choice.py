"""Tile sizes from shapes and a memory capacity. Plain Python, no MLIR."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_MOST_TILES = 4096  # tiles to look at one by one; about 50 ms

Index = tuple[tuple[int, int], ...]
"""One tensor dimension: (loop, coefficient) pairs whose weighted sum is the index."""


@dataclass(frozen=True)
class TiledOperand:
    """A tensor that a loop nest touches.

    Attributes:
        indices: one `Index` per dimension.
        element_bytes: size of one element.
    """

    indices: tuple[Index, ...]
    element_bytes: int

    def loops(self) -> set[int]:
        """Loops that the indices depend on."""
        return {loop for index in self.indices for loop, _ in index}

    def footprint(self, tile: Sequence[int]) -> int:
        """Bytes that one tile touches: the box around all its indices."""
        box = (1 + sum(abs(c) * (tile[loop] - 1) for loop, c in index) for index in self.indices)
        return math.prod(box) * self.element_bytes


@dataclass(frozen=True)
class Nest:
    """A perfect loop nest: extents and operands, the result among them."""

    extents: tuple[int, ...]
    operands: tuple[TiledOperand, ...]

    def footprint(self, tile: Sequence[int]) -> int:
        """Bytes of all operands of one tile."""
        return sum(operand.footprint(tile) for operand in self.operands)

    def traffic(self, tile: Sequence[int]) -> int:
        """Bytes moved over all tiles, when a tile stays for the innermost tile loops that do not move it."""
        trips = [math.ceil(extent / size) for extent, size in zip(self.extents, tile, strict=True)]
        total = 0
        for operand in self.operands:
            moving = [loop for loop in operand.loops() if trips[loop] > 1]
            outer = math.prod(trips[: max(moving) + 1]) if moving else 1
            total += outer * operand.footprint(tile)
        return total


class DoesNotFit(ValueError):
    """Even the smallest tile is larger than the memory; `needed` bytes would do."""

    def __init__(self, needed: int) -> None:
        super().__init__(f"the smallest tile needs {needed} bytes")
        self.needed = needed


def choose_tile(nest: Nest, capacity: int, buffers: int = 1, multiples: Sequence[int] | None = None) -> tuple[int, ...]:
    """Tile sizes whose footprint times `buffers` fits into `capacity` bytes, with little traffic.

    Starts from the whole nest and halves the loop that adds the least traffic per byte saved; then
    grows what still fits, and trades the size of one loop for that of another while that lowers
    the traffic. Nests of few loops are searched through a grid of sizes as well. Tiles are
    multiples of `multiples` (one per loop, default 1) or the whole extent.

    Raises:
        DoesNotFit: no tile is small enough.
    """
    steps = [min(m, extent) for m, extent in zip(multiples or [1] * len(nest.extents), nest.extents, strict=True)]
    room = capacity // buffers
    tile = tuple(nest.extents)
    while nest.footprint(tile) > room:
        smaller = list(_halved(tile, steps))
        if not smaller:
            raise DoesNotFit(nest.footprint(tile) * buffers)
        tile = min(smaller, key=lambda candidate: _price(nest, tile, candidate))
    found = _traded(nest, _grown(nest, tile, steps, room), steps, room)
    return min([found, *_enumerated(nest, steps, room)], key=nest.traffic)


def _price(nest: Nest, tile: Sequence[int], candidate: Sequence[int]) -> tuple[float, int]:
    saved = nest.footprint(tile) - nest.footprint(candidate)
    added = nest.traffic(candidate) - nest.traffic(tile)
    return (added / saved if saved else math.inf, nest.footprint(candidate))


def _rounded(size: int, step: int) -> int:
    return max(step, size // step * step)


def _halved(tile: Sequence[int], steps: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for loop, (size, step) in enumerate(zip(tile, steps, strict=True)):
        half = _rounded((size + 1) // 2, step)
        if half < size:
            yield (*tile[:loop], half, *tile[loop + 1 :])


def _grown(nest: Nest, tile: tuple[int, ...], steps: Sequence[int], room: int) -> tuple[int, ...]:
    """Enlarge single loops while that fits and lowers the traffic."""
    while True:
        options = [
            (*tile[:loop], size, *tile[loop + 1 :])
            for loop, extent in enumerate(nest.extents)
            for size in _larger(tile[loop], extent, steps[loop])
        ]
        fitting = [option for option in options if nest.footprint(option) <= room]
        best = min(fitting, key=nest.traffic, default=tile)
        if nest.traffic(best) >= nest.traffic(tile):
            return tile
        tile = best


def _traded(nest: Nest, tile: tuple[int, ...], steps: Sequence[int], room: int) -> tuple[int, ...]:
    """Halve one loop, grow the others into the room, keep the best; until nothing is better."""
    while True:
        candidates = [_grown(nest, smaller, steps, room) for smaller in _halved(tile, steps)]
        best = min(candidates, key=nest.traffic, default=tile)
        if nest.traffic(best) >= nest.traffic(tile):
            return tile
        tile = best


def _enumerated(nest: Nest, steps: Sequence[int], room: int) -> Iterator[tuple[int, ...]]:
    """Every tile of few sizes per loop that fits; nothing when there are too many to look at."""
    sizes = []
    for extent, step in zip(nest.extents, steps, strict=True):
        powers = {min(extent, step << shift) for shift in range(extent.bit_length())}
        balanced = {min(extent, math.ceil(math.ceil(extent / count) / step) * step) for count in (1, 2, 3, 5, 6, 7)}
        sizes.append(sorted(powers | balanced))
    if math.prod(map(len, sizes)) > _MOST_TILES:
        return
    yield from (tile for tile in itertools.product(*sizes) if nest.footprint(tile) <= room)


def _larger(size: int, extent: int, step: int) -> Iterator[int]:
    """Sizes above `size` that change the number of tiles, up to the extent."""
    trips = math.ceil(extent / size)
    halvings = ((trips - 1) >> shift for shift in range(trips.bit_length()))
    counts = dict.fromkeys([*range(min(trips - 1, 16), 0, -1), *halvings])
    for count in counts:
        if 0 < count < trips:
            balanced = math.ceil(math.ceil(extent / count) / step) * step
            yield min(balanced, extent)
