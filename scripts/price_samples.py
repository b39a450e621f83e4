"""Movements as samples for prices: random ones as the distribution module makes them, what the planner emits for each,
and what the price list says."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from math import prod
from typing import Any

from mnc.mncore_backend import pricing
from mnc.mncore_backend.layout import Axis, Layout, LayoutError, canonical, parse, reshape
from mnc.mncore_backend.placement.candidates.boxes import Box, place_of_box
from mnc.mncore_backend.placement.candidates.policy import SPLIT_AXES
from mnc.mncore_backend.placement.candidates.reshapes import reshaped
from mnc.mncore_backend.placement.candidates.space import (
    LANE_COUNT,
    LANES,
    Digits,
    bits_of,
    merge_bits,
    ordered_digits,
    project,
    same_places,
    scattered,
    spread_bits,
    with_addresses,
)
from mnc.mncore_backend.placement.candidates.tiles import tile_digits
from mnc.mncore_backend.placement.candidates.windows import Window, Windows, source_layout, tiled_layout
from mnc.mncore_backend.pricing import Resources

EXTENTS = (
    1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 14, 16, 17, 24, 27, 28, 31, 32, 37, 48, 49, 56, 64, 96, 97, 100, 112, 128, 192, 256,
    384, 512, 768, 1000, 1024,
)  # fmt: skip
"""What extents are drawn from: ones, primes, powers of two, and what lies between."""
CHANNELS = (1, 3, 8, 13, 16, 32, 64, 96, 128, 192, 256, 512)
LARGEST = 192
"""Long words per PE of a layout whose movement is planned: planning those of larger ones takes long."""


@dataclass(frozen=True)
class Sample:
    """One movement. Of a tiling, `target` has the digits of the iteration space; `windows` say how it is read. `box`:
    what a join takes."""

    kind: str
    source: Layout
    target: Layout | None = None
    partial: tuple[tuple[Axis, int], ...] = ()
    windows: Windows = ()
    box: Box | None = None
    origin: str = "random"

    def to_json(self) -> str:
        """One line of text."""
        ends = [None if end is None else [end.shape, str(end)] for end in (self.source, self.target)]
        box = None if self.box is None else astuple(self.box)
        return json.dumps([self.kind, ends, self.partial, [astuple(w) for w in self.windows], box, self.origin])

    @classmethod
    def from_json(cls, text: str) -> "Sample":
        """The inverse."""
        kind, ends, partial, windows, box, origin = json.loads(text)
        source, target = (None if end is None else parse(end[1], tuple(end[0])) for end in ends)
        assert source is not None
        bits = tuple((Axis(axis), mask) for axis, mask in partial)
        return cls(kind, source, target, bits, tuple(Window(*w) for w in windows), _box(box), origin)

    @property
    def digits(self) -> list[Digits]:
        """Digits of the iteration dimensions of a tiling."""
        assert self.target is not None
        return list(self.target.dims)

    @property
    def tiled(self) -> tuple[Windows, tuple[int, ...], list[Digits], Layout, Layout | None, Layout]:
        """The arguments of the price of a tiling."""
        assert self.target is not None
        extents, digits = self.target.shape, self.digits
        places = source_layout(self.windows, digits, self.source.shape)
        return self.windows, extents, digits, self.source, places, tiled_layout(self.windows, extents, digits)

    def price(self) -> Resources:
        """What the price list says."""
        return _PRICES[self.kind](self)


def _box(texts: list[list[int]] | None) -> Box | None:
    return None if texts is None else Box(*map(tuple, texts))


def _joining_price(sample: Sample) -> Resources:
    assert sample.target is not None
    assert sample.box is not None
    return pricing.joining(sample.source, sample.target, sample.box)


def _reshaping_price(sample: Sample) -> Resources:
    assert sample.target is not None
    return pricing.reshaping(sample.source, sample.target)


def _relayout_price(sample: Sample) -> Resources:
    assert sample.target is not None
    return pricing.relayout(sample.source, sample.target)


_PRICES: dict[str, Callable[[Sample], Resources]] = {
    "relayout": _relayout_price,
    "joining": _joining_price,
    "reshaping": _reshaping_price,
    "tiling": lambda sample: pricing.tiling(*sample.tiled),
    "reduction": lambda sample: pricing.reduction(sample.source, dict(sample.partial)),
    "arrival": lambda sample: pricing.arrival(sample.source),
    "store": lambda sample: pricing.store(sample.source),
}
KINDS = tuple(_PRICES)


def random_shape(rng: random.Random, most: int = 300_000) -> tuple[int, ...]:
    """A shape of one to four dimensions with at most so many elements."""
    while True:
        shape = tuple(rng.choice(EXTENTS) for _ in range(rng.randint(1, 4)))
        if 16 <= prod(shape) <= most:
            return shape


def random_layout(rng: random.Random, shape: tuple[int, ...], largest: int = LARGEST) -> Layout | None:
    """A layout of a shape as iteration spaces and contractions get them; None if none is small enough."""
    for _ in range(50):
        wide = [i for i, extent in enumerate(shape) if extent > 1]
        digits = _element_wise(rng, shape, wide) if rng.random() < 0.3 else _split(rng, shape, wide)
        try:
            made = project(shape, digits, tuple(range(len(shape))))
        except LayoutError:
            continue
        made = scattered(made) if rng.random() < 0.15 else made
        if made.local_size <= largest:
            return canonical(made)
    return None


def _element_wise(rng: random.Random, shape: tuple[int, ...], wide: list[int]) -> list[Digits]:
    order = rng.sample(range(len(shape)), len(shape))
    axes = [axis for axis in SPLIT_AXES if rng.random() < 0.8]
    return ordered_digits(shape, order, rng.choice(wide), axes, cyclic=rng.random() < 0.25)


def _split(rng: random.Random, shape: tuple[int, ...], wide: list[int]) -> list[Digits]:
    """Every axis for one dimension, as a contraction has it; MABs that are left over for another."""
    lane, cyclic, in_addresses = rng.choice(wide), rng.random() < 0.25, rng.random() < 0.2
    axes = {axis: rng.choice(wide) for axis in SPLIT_AXES if rng.random() < 0.8}
    hardware: list[Digits] = []
    free = []
    for d, extent in enumerate(shape):
        bits = bits_of([axis for axis, owner in axes.items() if owner == d])
        (own,), rest = spread_bits([extent], bits, [LANE_COUNT if d == lane else 1])
        hardware.append(own)
        free += [bit for bit in rest if bit[0] is Axis.MAB]
    if free and rng.random() < 0.7:
        d = rng.choice(wide)
        places = prod(x.size for x in hardware[d]) * (LANE_COUNT if d == lane else 1)
        taken = min(len(free), max(0, (-(-shape[d] // places) - 1).bit_length()))
        hardware[d] += merge_bits(free[:taken])
    blocks = [LANE_COUNT if d == lane and in_addresses else 1 for d in range(len(shape))]
    lanes = [LANES if d == lane and not in_addresses else () for d in range(len(shape))]
    parts = zip(shape, hardware, lanes, blocks, strict=True)
    return [with_addresses(n, own, lane, block=block, cyclic=cyclic) for n, own, lane, block in parts]


def random_relayout(rng: random.Random) -> Sample:
    """Two layouts of one tensor."""
    while True:
        shape = random_shape(rng)
        source, target = random_layout(rng, shape), random_layout(rng, shape)
        if source is not None and target is not None and not same_places(source, target):
            return Sample("relayout", source, target)


def random_tiling(rng: random.Random) -> Sample:
    """The input of a convolution, and tiles of it."""
    while True:
        kernel = rng.choice((1, 2, 3, 3, 3, 5, 7))
        stride, dilation = rng.choice((1, 1, 1, 2, 3)), rng.choice((1, 1, 1, 2))
        height = rng.choice((5, 7, 8, 13, 14, 16, 17, 28, 32, 56))
        shape = rng.choice((1, 1, 2)), rng.choice(CHANNELS), height, rng.choice((height, height, 1, 9))
        kernels = kernel, min(kernel, shape[3])
        lows = [rng.choice((0, k // 2)) for k in kernels]
        pairs = zip(shape[2:], kernels, lows, strict=True)
        outs = [(n + 2 * low - (k - 1) * dilation - 1) // stride + 1 for n, k, low in pairs]
        if min(outs) < 1:
            continue
        extents = shape[0], outs[0], outs[1], shape[1], *kernels
        sliding = [
            Window(1 + i, stride, 4 + i if kernels[i] > 1 else None, dilation if kernels[i] > 1 else 1, lows[i])
            for i in range(2)
        ]
        sample = _tiles(rng, shape, extents, (Window(0), Window(3), *sliding))
        if sample is not None and max(sample.source.local_size, sample.tiled[-1].local_size) <= LARGEST:
            return sample


def _tiles(rng: random.Random, shape: tuple[int, ...], extents: tuple[int, ...], windows: Windows) -> Sample | None:
    """Tiles of images over some axes, of channels over others; the source where the tiles are, or anywhere."""
    owner = {axis: rng.choice("mmk") for axis in SPLIT_AXES if rng.random() < 0.9}
    bits = {role: bits_of([axis for axis, own in owner.items() if own == role]) for role in "mk"}
    tiles = tile_digits(windows, extents, (0, 1, 2), bits["m"])[0]
    channels = spread_bits([extents[3]], bits["k"], [LANE_COUNT])[0][0]
    inner = [with_addresses(extents[3], channels, LANES), *(with_addresses(k, ()) for k in extents[4:])]
    space = project(extents, [*(tiles[d] for d in range(3)), *inner], tuple(range(len(extents))))
    places = source_layout(windows, space.dims, shape)
    source = places if rng.random() < 0.5 else random_layout(rng, shape)
    return None if source is None else Sample("tiling", canonical(source), space, windows=windows)


def random_join(rng: random.Random) -> Sample:
    """A part of a tensor along one dimension: to its place, or taken out. It is there otherwise, or anywhere."""
    while True:
        shape = random_shape(rng)
        dim = rng.choice([d for d, extent in enumerate(shape) if extent > 1])
        extent = rng.choice([n for n in (1, shape[dim] // 2, shape[dim] // 3, shape[dim] - 1) if n])
        start = rng.choice((0, extent, shape[dim] - extent, rng.randrange(shape[dim])))
        part = *shape[:dim], min(extent, shape[dim] - start), *shape[dim + 1 :]
        if part[dim] < 1 or prod(part) == 1:
            continue
        box = Box.at([start if d == dim else 0 for d in range(len(shape))])
        whole = random_layout(rng, shape)
        near = None if whole is None or rng.random() < 0.5 else place_of_box(part, whole, box)
        own = near or random_layout(rng, part)
        if whole is None or own is None:
            continue
        if rng.random() < 0.5:
            return Sample("joining", own, canonical(whole), box=box)
        taken = Box(tuple(-n for n in box.starts), box.steps)
        return Sample("joining", canonical(whole), own, box=taken)


def random_reshape(rng: random.Random) -> Sample:
    """A dimension in two, or two in one, near to where it was as the rules of placement have it, or anywhere."""
    while True:
        shape = random_shape(rng)
        dim = rng.choice([d for d, extent in enumerate(shape) if extent > 1])
        factors = [n for n in range(2, shape[dim]) if shape[dim] % n == 0]
        if not factors:
            continue
        outer = rng.choice(factors)
        split = *shape[:dim], outer, shape[dim] // outer, *shape[dim + 1 :]
        before, after = rng.choice(((shape, split), (split, shape)))
        source = random_layout(rng, before)
        if source is None or _is_view(source, after):
            continue
        target = random_layout(rng, after) if rng.random() < 0.5 else reshaped(source, after)
        if target is not None and target.local_size <= LARGEST:
            return Sample("reshaping", source, target)


def _is_view(source: Layout, shape: tuple[int, ...]) -> bool:
    try:
        reshape(source, shape)
    except LayoutError:
        return False
    return True


def random_reduction(rng: random.Random) -> Sample:
    """A layout, and coordinate bits along which its replicas are parts."""
    while True:
        layout = random_layout(rng, random_shape(rng, 100_000))
        if layout is None:
            continue
        masks = {Axis.L2B: (7, 7, 7, 6, 4, 1), Axis.L1B: (7, 7, 6, 1), Axis.MAB: (15, 15, 3, 12, 8)}
        free = {axis: layout.replicated_bits(axis) for axis in SPLIT_AXES}
        chosen = {axis: bits & rng.choice(masks[axis]) for axis, bits in free.items() if rng.random() < 0.6}
        if any(chosen.values()):
            return Sample("reduction", layout, partial=tuple((axis, bits) for axis, bits in chosen.items() if bits))


def random_transfer(rng: random.Random, kind: str) -> Sample:
    """A tensor that arrives or is stored."""
    while True:
        layout = random_layout(rng, random_shape(rng, 2_000_000), 512)
        if layout is not None:
            return Sample(kind, layout)


def random_samples(kind: str, seed: int) -> Iterator[Sample]:
    """Samples without end."""
    rng = random.Random(seed)
    makers = {
        "relayout": random_relayout, "joining": random_join, "reshaping": random_reshape, "tiling": random_tiling,
        "reduction": random_reduction,
    }  # fmt: skip
    while True:
        yield makers[kind](rng) if kind in makers else random_transfer(rng, kind)


def from_models(kind: str, arguments: Any, origin: str) -> Sample | None:
    """A sample of what was asked when a model was compiled, see `recorded`; None of what is too large or free."""
    if kind == "relayout":
        source, target = arguments
        fits = not same_places(source, target) and max(source.local_size, target.local_size) <= 2 * LARGEST
        return Sample(kind, canonical(source), canonical(target), origin=origin) if fits else None
    if kind == "tiling":
        extents, windows, source, digits = arguments
        read = {d for w in windows for d in (w.out, w.kernel)}
        pairs = [(n, own) if d in read else (1, ()) for d, (n, own) in enumerate(zip(extents, digits, strict=True))]
        space = project([n for n, _ in pairs], [own for _, own in pairs], tuple(range(len(pairs))))
        sample = Sample(kind, canonical(source), space, windows=windows, origin=origin)
        return sample if max(source.local_size, sample.tiled[-1].local_size) <= LARGEST else None
    if kind == "reduction":
        layout, axes = arguments
        partial = tuple((axis, layout.replicated_bits(axis)) for axis in axes if layout.replicated_bits(axis))
        return Sample(kind, layout, partial=partial, origin=origin) if partial else None
    return Sample(kind, arguments, origin=origin)
