"""Operands that are read through sliding windows: tiles with halos instead of one copy per window.

The outputs of a windowed dimension are cut into tiles, one per place of the hardware digits; every place holds the
source elements that its tile reaches, so that inside a PE a window is a matter of address strides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.layout import Axis, Digit, Layout
from mnc.mncore_backend.placement.candidates.space import Access, Digits, project, with_addresses
from mnc.mncore_backend.target import chip


@dataclass(frozen=True)
class Window:
    """How one dimension of an operand is indexed: out * stride + kernel * dilation - low, over iteration dimensions
    `out` and `kernel` (None: always 0). Indices outside the operand are padding.

    `out` is cut into tiles, `kernel` moves inside a PE. That the first moves windows and the second runs through one
    does not matter to places: contractions may have them the other way round (`oriented`).
    """

    out: int | None
    stride: int = 1
    kernel: int | None = None
    dilation: int = 1
    low: int = 0

    def coordinates(self, out: NDArray[np.int64], extent: int) -> NDArray[np.int64]:
        """Source index of a position of the padded dimension, -1 outside."""
        index = out - self.low
        return np.where((index >= 0) & (index < extent), index, -1)

    def exchanged(self) -> "Window":
        """The same indices with tiles along the kernel."""
        return Window(self.kernel, self.dilation, self.out, self.stride, self.low)


Windows = tuple[Window, ...]
"""One entry per dimension of the operand."""


@dataclass(frozen=True)
class Tiled:
    """The tensor of tiles that takes the place of an operand.

    Attributes:
        layout: of the tensor of tiles.
        index_map: flat source element of every element of it, -1 for padding.
        strides: for every iteration dimension the address stride of each of its digits larger than 1 (0: hardware).
        access: the iteration dimensions that the places of the tiles follow, one per dimension of the layout.
    """

    layout: Layout
    index_map: NDArray[np.int64]
    strides: Mapping[int, tuple[int, ...]]
    access: tuple[int | None, ...]


def kernel_dims(windows: Windows) -> set[int]:
    """Iteration dimensions that move inside a window."""
    return {w.kernel for w in windows if w.kernel is not None}


def sliding_dims(windows: Windows) -> set[int]:
    """Iteration dimensions that share a dimension of the operand: its windows overlap."""
    return {d for w in windows if w.kernel is not None for d in (w.out, w.kernel) if d is not None}


def oriented(windows: Windows, digits: Sequence[Digits]) -> Windows:
    """The windows with tiles along those dimensions that `digits` spread over the chip."""
    return tuple(w.exchanged() if w.kernel is not None and _places(digits[w.kernel])[0] else w for w in windows)


def along_kernels(windows: Windows, extents: Sequence[int]) -> Windows:
    """The windows with tiles along kernels of twice the places of the result, as those of gradients of weights are."""
    return tuple(
        w.exchanged() if w.out is not None and w.kernel is not None and extents[w.kernel] >= 2 * extents[w.out] else w
        for w in windows
    )


def is_tileable(digits: Digits) -> bool:
    """Whether a dimension is cut into contiguous tiles: hardware digits first, then at most one address digit."""
    axes = [d.axis is Axis.ADDRESS for d in digits if d.size > 1]
    return axes in ([False] * len(axes), [*[False] * (len(axes) - 1), True])


def tiled_digits(extent: int, hardware: Digits, size: int) -> Digits:
    """Tiles of `size` elements, if that many are enough for the places, else of as few as are enough."""
    fewest = with_addresses(extent, hardware)
    places = prod(d.size for d in hardware)
    return (*hardware, Digit(size)) if size > 1 and size * places >= extent else fewest


def _places(digits: Digits) -> tuple[Digits, int]:
    """Hardware digits of a tiled dimension, and the outputs of one tile."""
    hardware = tuple(d for d in digits if d.size > 1 and d.axis is not Axis.ADDRESS)
    return hardware, prod(d.size for d in digits if d.axis is Axis.ADDRESS)


def _in_strides(hardware: Digits, size: int, stride: int) -> tuple[Digits, int]:
    """Places and the size of a tile such that it is a multiple of the stride: neighbours of the innermost axis together
    where that comes out even, otherwise as they are."""
    together = stride // gcd(size, stride)
    if not hardware or hardware[-1].size % together:
        return hardware, size
    last = hardware[-1]
    fewer = (Digit(last.size // together, last.axis, last.stride * together),) if last.size > together else ()
    return (*hardware[:-1], *fewer), size * together


def reach(window: Window, outputs: int, extents: Sequence[int]) -> int:
    """Elements that the windows of neighbouring outputs cover."""
    kernel = 1 if window.kernel is None else extents[window.kernel]
    return (outputs - 1) * window.stride + (kernel - 1) * window.dilation + 1


@dataclass(frozen=True)
class _Part:
    """One dimension of the tensor of tiles: its extent, digits, and what it adds to the position in the source."""

    extent: int
    digits: Digits
    step: int
    access: int | None = None


def _parts(window: Window, extents: Sequence[int], digits: Sequence[Digits]) -> list[_Part]:
    own: Digits = () if window.out is None else digits[window.out]
    if window.kernel is None:
        return [_Part(1 if window.out is None else extents[window.out], own, window.stride, window.out)]
    hardware, outputs = _places(own)
    covered = reach(window, outputs, extents)
    places = prod(d.size for d in hardware)
    return [
        _Part(places, hardware, outputs * window.stride, window.out),
        _Part(covered, (Digit(covered),) if covered > 1 else (), 1),
    ]


def tiled_layout(windows: Windows, extents: Sequence[int], digits: Sequence[Digits]) -> Layout:
    """Layout of the tensor of tiles of an operand, given the digits of the iteration dimensions."""
    parts = [part for window in oriented(windows, digits) for part in _parts(window, extents, digits)]
    return project([p.extent for p in parts], [p.digits for p in parts], tuple(range(len(parts))))


def tiled_access(windows: Windows, extents: Sequence[int], digits: Sequence[Digits]) -> Access:
    """The iteration dimension that each dimension of the tensor of tiles follows."""
    return tuple(part.access for window in oriented(windows, digits) for part in _parts(window, extents, digits))


def _strides(
    windows: Windows, extents: Sequence[int], digits: Sequence[Digits], layout: Layout
) -> dict[int, tuple[int, ...]]:
    strides: dict[int, tuple[int, ...]] = {}
    position = 0
    for window in windows:
        count = len(_parts(window, extents, digits))
        inner = [d for d in layout.dims[position + count - 1] if d.size > 1]
        if count == 1 and window.out is not None:
            strides[window.out] = tuple(0 if d.axis is not Axis.ADDRESS else d.stride for d in inner)
        elif count == 2 and window.kernel is not None:
            step = inner[0].stride if inner else 0
            strides[window.kernel] = (step * window.dilation,)
            if window.out is not None:
                own = [d for d in digits[window.out] if d.size > 1]
                strides[window.out] = tuple(0 if d.axis is not Axis.ADDRESS else step * window.stride for d in own)
        position += count
    return strides


def tile(windows: Windows, extents: Sequence[int], digits: Sequence[Digits], source: Sequence[int]) -> Tiled:
    """The tiles of an operand of shape `source` for an iteration space spread by `digits`."""
    windows = oriented(windows, digits)
    layout = tiled_layout(windows, extents, digits)
    index = np.zeros((), np.int64)
    valid = np.ones((), bool)
    for window, extent in zip(windows, source, strict=True):
        parts = _parts(window, extents, digits)
        position = np.zeros((), np.int64)
        for part in parts:
            position = np.add.outer(position, np.arange(part.extent, dtype=np.int64) * part.step)
        coordinate = window.coordinates(position, extent)
        index = np.add.outer(index * extent, coordinate)
        valid = np.logical_and.outer(valid, coordinate >= 0)
    access = tiled_access(windows, extents, digits)
    return Tiled(layout, np.where(valid, index, -1), _strides(windows, extents, digits, layout), access)


def source_layout(windows: Windows, digits: Sequence[Digits], source: Sequence[int]) -> Layout | None:
    """The layout of the whole operand whose places agree with the tiles, halos aside; None if there is none, or if it
    takes more than half of a local memory: then tiles are fetched from where the operand is."""
    return _places_of(oriented(windows, digits), digits, source)


def copied_layout(windows: Windows, access: Access, copies: Layout, source: Sequence[int]) -> Layout | None:
    """The layout of the whole operand whose places agree with those of copies for every point of the iteration space,
    as far as that goes; None as for `source_layout`. Kernels may be spread beside the windows, and say where the
    operand is only along dimensions where these are not."""
    known = {d: own for d, own in zip(access, copies.dims, strict=True) if d is not None}
    digits = [known.get(d, ()) for d in range(1 + max(known, default=0))]
    along = tuple(w if w.out is not None and _places(digits[w.out])[0] else oriented((w,), digits)[0] for w in windows)
    return _places_of(along, digits, source)


def _places_of(windows: Windows, digits: Sequence[Digits], source: Sequence[int]) -> Layout | None:
    own: list[Digits] = []
    for window, extent in zip(windows, source, strict=True):
        held: Digits = () if window.out is None else digits[window.out]
        if window.stride == 1 and window.kernel is None and not window.low:
            own.append(held)
        elif is_tileable(held):
            hardware, outputs = _places(held)
            own.append(tiled_digits(extent, hardware, outputs * window.stride))
        else:
            return None
    layout = project(source, own, tuple(range(len(source))))
    return layout if layout.local_size <= chip().local_longs // 2 else None


def follow(windows: Windows, extents: Sequence[int], layout: Layout) -> dict[int, Digits] | None:
    """Digits of the iteration dimensions of an operand such that its tiles stay where `layout` has it; None if a
    windowed dimension is not cut into contiguous pieces."""
    digits: dict[int, Digits] = {}
    for window, own in zip(windows, layout.dims, strict=True):
        if window.kernel is not None:
            digits[window.kernel] = with_addresses(extents[window.kernel], ())
        if window.out is None:
            continue
        if window.stride == 1 and window.kernel is None and not window.low:
            digits[window.out] = own
        elif is_tileable(own):
            hardware, size = _in_strides(*_places(own), window.stride)
            whole = size % window.stride == 0
            digits[window.out] = tiled_digits(extents[window.out], hardware, size // window.stride if whole else 0)
        else:
            return None
    return digits
