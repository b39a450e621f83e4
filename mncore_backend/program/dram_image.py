"""How a tensor lies in DRAM: the host arranges it so that the transfers need nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.layout.placement import as_words
from mnc.mncore_backend.program import Buffer


@dataclass(eq=False, slots=True)
class DramImage:
    """Contents of one DRAM buffer in the groups that take part.

    index    int64 [group 4, long word, word 2]: flat tensor index, -1 for padding
    groups   groups whose DRAM is read (load) or written (store)
    padding  32-bit pattern that `pack` puts where there is no element
    segments (offset in the buffer, long words) of the consecutive parts of the image; empty: all of it at offset 0
    """

    buffer: Buffer
    shape: tuple[int, ...]
    index: NDArray[np.integer]
    groups: tuple[int, ...]
    padding: int = 0
    segments: tuple[tuple[int, int], ...] = ()

    @property
    def parts(self) -> list[tuple[int, slice]]:
        """Where each part of the image lies: offset in the buffer, and the long words of the image."""
        result, start = [], 0
        for offset, size in self.segments or ((0, self.index.shape[1]),):
            result.append((offset, slice(start, start + size)))
            start += size
        return result

    @property
    def total(self) -> int:
        """Long words moved, all groups together."""
        return self.index.shape[1] * len(self.groups)

    def pack(self, array: NDArray[np.generic]) -> dict[int, NDArray[np.uint64]]:
        """Long words to write at the buffer's address in each group. Raises ValueError for a wrong size."""
        words = as_words(array)
        if words.size != int(np.prod(self.shape, dtype=np.int64)):
            raise ValueError(f"array of {words.size} elements for a tensor of shape {self.shape}")
        filled = np.append(words, np.uint32(self.padding))[self.index].astype(np.uint64)
        longs = filled[..., 0] << np.uint64(32) | filled[..., 1]
        return {g: longs[g] for g in self.groups}

    def unpack(
        self, contents: Mapping[int, NDArray[np.uint64]], dtype: np.dtype | type = np.float32
    ) -> NDArray[np.generic]:
        """The tensor from what lies at the buffer's address in each group."""
        flat = np.zeros(int(np.prod(self.shape, dtype=np.int64)), np.uint32)
        for g in self.groups:
            longs = np.asarray(contents[g], np.uint64)
            words = np.stack([longs >> np.uint64(32), longs & np.uint64(0xFFFFFFFF)], axis=-1).astype(np.uint32)
            held = self.index[g] >= 0
            flat[self.index[g][held]] = words[held]
        return flat.view(dtype).reshape(self.shape)
