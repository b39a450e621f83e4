"""Programs that are run several times in a row, each time on other parts of tensors in DRAM or in local memory.

The machine has no loops, so text is repeated. All that differs between trips are addresses: `Trips` finds room in DRAM
for the parts of all trips, and writes the statements of each with the addresses of its own. Of a tensor that stays in
local memory each trip has a row, a step of a sequence: a window that moves (`Window`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.assembly.operands import WIDTHS
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.movement.transfers import MV_UNIT
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer
from mnc.mncore_backend.program.dram_image import DramImage
from mnc.mncore_backend.target import CYCLES_PER_STEP, chip


def gap() -> int:
    """Steps between trips: as many as any two statements have to be apart. Transfers have been waited for by then."""
    return 1 + max(max(h.emit_steps or 0, -(-(h.emit_cycles or 0) // CYCLES_PER_STEP)) for h in chip().hazards.values())


_DRAM = re.compile(r"\$d(\d+)")
_PLACE = re.compile(r"\$(?:(d)|((?:ll|l|)[mn]t?))(\d+|\[[\d,]+\])")
"""Addresses in DRAM, in long words, and in local memory, in words: one, or one for each cycle."""


@dataclass(frozen=True)
class Slice:
    """Which part of a tensor of shape `whole` each trip takes: where it starts, in every dimension."""

    whole: tuple[int, ...]
    starts: tuple[tuple[int, ...], ...]

    def key(self, trip: int) -> object:
        """Trips with equal keys take the same."""
        return self.starts[trip]

    def row_dim(self, shape: Sequence[int]) -> int:
        """The dimension of which parts of this shape have one index, if they are rows."""
        return next((dim for dim, (own, whole) in enumerate(zip(shape, self.whole, strict=True)) if own != whole), 0)

    def elements(self, trip: int, shape: Sequence[int]) -> NDArray[np.integer]:
        """Flat indices in the whole tensor of the elements of a part of this shape, in order."""
        kind = np.int32 if np.prod(self.whole, dtype=np.int64) < 1 << 31 else np.int64
        flat = np.zeros(1, kind)
        for start, size, extent in zip(self.starts[trip], shape, self.whole, strict=True):
            flat = (flat[:, None] * extent + np.arange(start, start + size, dtype=kind)).reshape(-1)
        return flat


@dataclass(frozen=True)
class Each:
    """Every trip has a tensor of its own."""

    def key(self, trip: int) -> object:
        """Trips with equal keys take the same."""
        return trip


Part = Slice | Each


@dataclass(frozen=True)
class Window:
    """A buffer in local memory that holds rows of a tensor, of which each trip has others: the first of them is written
    as the first of all. `longs`: long words from one row to the next; `rows`: the number of the first of every trip."""

    buffer: Buffer
    longs: int
    rows: tuple[int, ...]


@dataclass(frozen=True)
class _Moved:
    """Addresses of which every trip has its own: where they were, and where those of each trip are."""

    base: int
    size: int
    places: tuple[int, ...]


class _Shifts:
    """Addresses of one memory that differ between trips."""

    def __init__(self, moved: Iterable[_Moved]) -> None:
        self._moved = sorted(moved, key=lambda own: own.base)
        self._bases = [own.base for own in self._moved]

    def address(self, address: int, trip: int) -> int:
        """Where a trip has what is written with an address."""
        number = bisect_right(self._bases, address) - 1
        if number < 0 or address >= self._moved[number].base + self._moved[number].size:
            return address
        return address + self._moved[number].places[trip] - self._moved[number].base


class Trips:
    """The trips of a program, with the buffers that differ between them in places of their own.

    Args:
        count: number of trips.
        buffers: all buffers of the program; those in DRAM have addresses.
        images: tensors of host and chip, and which part each trip takes; None: all of it, every time.
        windows: buffers in local memory of which each trip takes another part.

    Raises:
        CompileError: DRAM is too small for all parts.
    """

    def __init__(
        self,
        count: int,
        buffers: Sequence[Buffer],
        images: Sequence[tuple[DramImage, Part | None]],
        windows: Sequence[Window] = (),
    ) -> None:
        self.count = count
        self._images = list(images)
        self._slots: dict[Buffer, list[int]] = {}
        self._made: dict[Buffer, Buffer] = {}
        self._moved: list[_Moved] = []
        placed = [b for b in buffers if b.memory is Memory.DRAM and b.base is not None]
        self.end = max((_end(buffer) for buffer in placed), default=0)
        """Long words of DRAM that are taken."""
        for buffer in dict.fromkeys(image.buffer for image, part in images if part is not None):
            self._place(buffer)
        self._shifts = {"d": _Shifts(self._moved)}
        for memory in LOCAL_MEMORY:
            self._shifts[memory.value] = _Shifts(_rows(own) for own in windows if own.buffer.memory is memory)

    def _place(self, buffer: Buffer) -> None:
        """A place for the buffer of every trip; trips that take the same parts share it."""
        parts = [part for image, part in self._images if image.buffer is buffer and part is not None]
        keys = [tuple(part.key(trip) for part in parts) for trip in range(self.count)]
        number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        self._slots[buffer] = [number[key] for key in keys]
        stride = _end(replace(buffer, base=0))
        base, self.end = self.end, self.end + stride * len(number)
        check_dram(self.end)
        size = stride * len(number)
        made = Buffer(buffer.name, size, (Memory.DRAM,), buffer.alignment, Memory.DRAM, base, pinned=True)
        self._made[buffer] = made
        assert buffer.base is not None
        places = tuple(base + stride * slot for slot in self._slots[buffer])
        self._moved.append(_Moved(buffer.base, stride, places))

    def image(self, image: DramImage, part: Slice | None) -> DramImage:
        """How the parts of all trips lie in DRAM: the image of the whole tensor."""
        if image.buffer not in self._made:
            return image
        made, slots = self._made[image.buffer], self._slots[image.buffer]
        trips = [slots.index(slot) for slot in range(max(slots) + 1)]
        stride = made.size // len(trips)
        own = image.segments or ((0, image.index.shape[1]),)
        segments = tuple((i * stride + offset, size) for i in range(len(trips)) for offset, size in own)
        indices = [image.index if part is None else _within(image, part, trip) for trip in trips]
        shape = image.shape if part is None else part.whole
        return replace(image, buffer=made, shape=shape, index=np.concatenate(indices, axis=1), segments=segments)

    def image_of(self, image: DramImage, trip: int) -> DramImage:
        """How the tensor lies in DRAM that one trip has for itself, see `Each`."""
        made, slots = self._made[image.buffer], self._slots[image.buffer]
        stride = made.size // (max(slots) + 1)
        assert made.base is not None
        return replace(image, buffer=replace(made, size=stride, base=made.base + stride * slots[trip]))

    def lines(self, texts: Sequence[str], most: int | None = None) -> Iterator[str]:
        """The statements of all trips, or of the first `most`, with gaps between them."""
        split = [_PLACE.split(text) for text in texts]
        for trip in range(self.count if most is None else min(self.count, most)):
            if trip:
                yield f"nop/{gap()}"
            for text, parts in zip(texts, split, strict=True):
                yield text if len(parts) == 1 else self._relocated(parts, trip)

    def _relocated(self, parts: list[str], trip: int) -> str:
        """A statement in pieces: text, then "d" or None, the name of a local memory or None, an address, and so on."""
        made = parts[:1]
        for place in range(1, len(parts), 4):
            dram, local, written, text = parts[place : place + 4]
            made += ["$", dram or local, self._written(dram or local, written, trip), text]
        return "".join(made)

    def _written(self, memory: str, written: str, trip: int) -> str:
        """An address, or one for each cycle in brackets, as a trip has it."""
        if memory == "d":
            return str(self._shifts["d"].address(int(written), trip))
        shifts = self._shifts[memory.strip("lt")]
        pairs = [divmod(int(word), WIDTHS["l"]) for word in written.strip("[]").split(",")]
        moved = [WIDTHS["l"] * shifts.address(longs, trip) + word for longs, word in pairs]
        return str(moved[0]) if len(moved) == 1 else f"[{','.join(map(str, moved))}]"


def _rows(window: Window) -> _Moved:
    base = window.buffer.base
    assert base is not None  # allocated
    return _Moved(base, window.buffer.size, tuple(base + window.longs * row for row in window.rows))


def check_dram(size: int) -> None:
    """Raise CompileError if there are not as many long words in the DRAM of a group."""
    if size > chip().memories[Memory.DRAM].longs:
        taken = f"{size} long words of {chip().memories[Memory.DRAM].longs} in the DRAM of a group"
        raise CompileError(f"the tensors of all parts take {taken}", hint="take a smaller batch or sequence")


def shifted(text: str, longs: int) -> str:
    """Statements with all their addresses in DRAM so many long words higher."""
    return _DRAM.sub(lambda found: f"$d{int(found[1]) + longs}", text)


def _end(buffer: Buffer) -> int:
    assert buffer.base is not None
    return -(-(buffer.base + buffer.size) // MV_UNIT) * MV_UNIT


def _within(image: DramImage, part: Slice, trip: int) -> NDArray[np.integer]:
    """Where each element of the image of a part is in the whole tensor; -1 where there is none."""
    elements = part.elements(trip, image.shape)
    return np.append(elements, elements.dtype.type(-1))[image.index]
