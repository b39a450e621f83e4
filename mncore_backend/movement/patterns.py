"""What PEs pick from a buffer, up to where it begins: many target words are picked alike, each from further on.

A *pattern* says for every PE how far behind a common address its own word lies, and which PEs pick nothing. Windows
over an image have one pattern for each place in the window, whatever the number of channels.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.movement.scope import Index
from mnc.mncore_backend.movement.transfers import CYCLES

OFFSET = 0xFFF  # bits of a pattern that say how many words behind the common address
PADDED = 0x4000  # the PE takes the padding
ABSENT = 0x8000  # the PE picks nothing

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def patterns(
    index: Index, padded: NDArray[np.bool_]
) -> tuple[NDArray[np.uint16], NDArray[np.int64], NDArray[np.int64]]:
    """Of words to pick, `index` [L2B, L1B, MAB, PE, n], -1 for nothing, and whether they take the padding: the patterns
    [number, L2B, L1B, MAB, PE], the pattern of each word and the address where it begins, [n]."""
    count = index.shape[-1]
    flat = index.reshape(-1, count).T
    present = flat >= 0
    lowest = np.where(present, flat, np.iinfo(np.int32).max).min(axis=1)
    begins = np.where(present.any(axis=1), lowest, 0)
    codes = np.where(present, flat - begins[:, None], ABSENT).astype(np.uint16)
    codes |= np.where(padded.reshape(-1, count).T & ~present, PADDED, 0).astype(np.uint16)
    numbers: dict[bytes, int] = {}
    which = np.array([numbers.setdefault(code.tobytes(), len(numbers)) for code in codes])
    first = np.unique(which, return_index=True)[1]
    return codes[first].reshape(-1, *index.shape[:-1]), which, begins


def batched(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """What the cycles of one step do, four at a time."""
    return (items[i : i + CYCLES] for i in range(0, len(items), CYCLES))


def in_fours(keys: Sequence[K]) -> Iterator[Sequence[int]]:
    """Numbers of the items, four or fewer at a time, such that the keys of one such group are often those of the one
    before: keys that occur equally often side by side, the others one after the other."""
    by_key: dict[K, list[int]] = {}
    for number, key in enumerate(keys):
        by_key.setdefault(key, []).append(number)
    by_length: dict[int, list[list[int]]] = {}
    for items in by_key.values():
        by_length.setdefault(len(items), []).append(items)
    left: list[int] = []
    for length, lines in by_length.items():
        whole = len(lines) - len(lines) % CYCLES
        for four in batched(lines[:whole]):
            yield from map(list, zip(*four, strict=True))
        for line in lines[whole:]:
            full = length - length % CYCLES
            yield from batched(line[:full])
            left += line[full:]
    yield from batched(left)
