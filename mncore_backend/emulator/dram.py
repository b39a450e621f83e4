"""DRAM of the four groups: the full address space, in pages that exist once they are written."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.emulator.geometry import DRAM_LONGS

PAGE_LONGS = 1 << 14


@dataclass(slots=True)
class Page:
    """Contents and a written bit per long word."""

    longs: NDArray[np.uint64]
    written: NDArray[np.bool_]

    @classmethod
    def blank(cls) -> "Page":
        return cls(np.zeros(PAGE_LONGS, np.uint64), np.zeros(PAGE_LONGS, np.bool_))


@dataclass(slots=True)
class Dram:
    """DRAM of one group; addresses are long words and wrap at 2^29 (SDM 3.4). Unwritten long words read as zero
    (OPEN-01)."""

    pages: dict[int, Page] = field(default_factory=dict)

    @staticmethod
    def _pieces(address: int, count: int) -> list[tuple[int, int, int, int]]:
        """(page, first in page, length, offset in the run) covering a run."""
        pieces, done = [], 0
        while done < count:
            page, first = divmod((address + done) % DRAM_LONGS, PAGE_LONGS)
            length = min(count - done, PAGE_LONGS - first)
            pieces.append((page, first, length, done))
            done += length
        return pieces

    def read(self, address: int, count: int) -> NDArray[np.uint64]:
        """A copy of `count` long words."""
        out = np.zeros(count, np.uint64)
        for page, first, length, at in self._pieces(address, count):
            found = self.pages.get(page)
            if found is not None:
                out[at : at + length] = found.longs[first : first + length]
        return out

    def write(self, address: int, values: NDArray[np.uint64]) -> None:
        """Store consecutive long words."""
        for page, first, length, at in self._pieces(address, len(values)):
            found = self.pages.get(page)
            if found is None:
                found = self.pages[page] = Page.blank()
            found.longs[first : first + length] = values[at : at + length]
            found.written[first : first + length] = True

    def first_unwritten(self, address: int, count: int) -> int | None:
        """Address of the first long word of the run that was never written, or None."""
        for page, first, length, at in self._pieces(address, count):
            found = self.pages.get(page)
            if found is None:
                return (address + at) % DRAM_LONGS
            part = found.written[first : first + length]
            if not part.all():
                return (address + at + int(np.argmin(part))) % DRAM_LONGS
        return None

    def copy(self) -> "Dram":
        """A deep copy."""
        return Dram({n: Page(p.longs.copy(), p.written.copy()) for n, p in self.pages.items()})
