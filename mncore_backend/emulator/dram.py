"""DRAM of the four groups: the full address space, in pages that exist once they are written."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.emulator.geometry import geometry

PAGE_LONGS = 1 << 14


@dataclass(slots=True)
class Page:
    """Contents, and a bit per long word: written, with a value that depends on no poison. Of the others `nibbles` has
    four bits per long word (see `taint`); without it they are poisoned as a whole."""

    longs: NDArray[np.uint64]
    written: NDArray[np.bool_]
    nibbles: NDArray[np.uint8] | None = None

    @classmethod
    def blank(cls) -> "Page":
        return cls(np.zeros(PAGE_LONGS, np.uint64), np.zeros(PAGE_LONGS, np.bool_))

    def copy(self) -> "Page":
        """A deep copy."""
        return Page(self.longs.copy(), self.written.copy(), None if self.nibbles is None else self.nibbles.copy())


@dataclass(slots=True)
class Dram:
    """DRAM of one group; addresses are long words and wrap at 2^29 (SDM 3.4). Unwritten long words read as zero
    (OPEN-01)."""

    pages: dict[int, Page] = field(default_factory=dict)
    seed: tuple[int, int] | None = None
    """Seed of random words in pages that nobody wrote, instead of zeros."""

    def _page(self, number: int) -> Page:
        """A page, made if there is none."""
        found = self.pages.get(number)
        if found is None:
            found = self.pages[number] = Page.blank()
            if self.seed is not None:
                random = np.random.default_rng((*self.seed, number))
                found.longs[:] = random.integers(0, 1 << 64, PAGE_LONGS, np.uint64)
        return found

    @staticmethod
    def _pieces(address: int, count: int) -> list[tuple[int, int, int, int]]:
        """(page, first in page, length, offset in the run) covering a run."""
        pieces, done = [], 0
        while done < count:
            page, first = divmod((address + done) % geometry().dram_longs, PAGE_LONGS)
            length = min(count - done, PAGE_LONGS - first)
            pieces.append((page, first, length, done))
            done += length
        return pieces

    def read(self, address: int, count: int) -> NDArray[np.uint64]:
        """A copy of `count` long words."""
        out = np.zeros(count, np.uint64)
        for page, first, length, at in self._pieces(address, count):
            found = self.pages.get(page) if self.seed is None else self._page(page)
            if found is not None:
                out[at : at + length] = found.longs[first : first + length]
        return out

    def write(self, address: int, values: NDArray[np.uint64]) -> None:
        """Store consecutive long words."""
        for page, first, length, at in self._pieces(address, len(values)):
            found = self._page(page)
            found.longs[first : first + length] = values[at : at + length]
            found.written[first : first + length] = True

    def poison(self, address: int, count: int) -> NDArray[np.uint8]:
        """Poison bits of `count` long words."""
        out = np.full(count, 15, np.uint8)
        for page, first, length, at in self._pieces(address, count):
            found = self.pages.get(page)
            if found is not None:
                part = slice(first, first + length)
                known = np.uint8(15) if found.nibbles is None else found.nibbles[part]
                out[at : at + length] = np.where(found.written[part], np.uint8(0), known)
        return out

    def write_poison(self, address: int, values: NDArray[np.uint8]) -> None:
        """Note the poison bits of consecutive long words that have been written."""
        for page, first, length, at in self._pieces(address, len(values)):
            found = self.pages[page]
            if found.nibbles is None:
                found.nibbles = np.full(PAGE_LONGS, 15, np.uint8)
            part = values[at : at + length]
            found.nibbles[first : first + length] = part
            found.written[first : first + length] = part == 0

    def first_unwritten(self, address: int, count: int) -> int | None:
        """Address of the first long word of the run that was never written or is poisoned, or None."""
        for page, first, length, at in self._pieces(address, count):
            found = self.pages.get(page)
            if found is None:
                return (address + at) % geometry().dram_longs
            part = found.written[first : first + length]
            if not part.all():
                return (address + at + int(np.argmin(part))) % geometry().dram_longs
        return None

    def copy(self) -> "Dram":
        """A deep copy."""
        return Dram({number: page.copy() for number, page in self.pages.items()}, self.seed)
