"""Exchange between the L1Bs of an L2B without L2BM: which l2bmi bring what L1Bs want of each other.

An l2bmi reads one address of the L1BMs and writes one address of all of them (SDM 3.6.7.9). Bits of the L1B number
that are free are those of the reader itself, the others are given: with bit 0 given as 1 and the others free, L1B 6 and
L1B 7 both get what L1B 7 has. So one l2bmi does for all L1Bs what several l2bm up and l2bmb down would do.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnc.mncore_backend.movement.compose import ANY, NoWay
from mnc.mncore_backend.target import cached_per_machine, chip


class Cast(NamedTuple):
    """An l2bmi: an L1B gets what the L1B has whose number has its own `free` bits and the others of `given`."""

    given: int
    free: int

    def giver(self, l1b: int) -> int:
        """The L1B that gives to this one."""
        return l1b & self.free | self.given

    @property
    def modifier(self) -> str:
        """The ``@b0/i`` suffix of the instruction."""
        return f"@{self.given}/{self.free}" if self.free else f"@{self.given}"


@cached_per_machine()
def casts() -> tuple[Cast, ...]:
    """All that there are; with all bits free nothing would move, and the instruction does not exist."""
    last = chip().l1bs_per_l2b - 1
    return tuple(Cast(given, free) for free in range(last) for given in range(last + 1) if not given & free)


def cover(wanted: NDArray[np.bool_], givers: list[int]) -> list[Cast]:
    """Few casts that bring every L1B all it wants: `wanted` [L1B, number of the giver], where an L1B that is not among
    `givers` has what the one has that differs from it only in bits that no giver has. With an extent of 1 all L1Bs want
    the same."""
    every = np.broadcast_to(wanted, (chip().l1bs_per_l2b, len(givers)))
    return list(_cover(np.packbits(every).tobytes(), tuple(givers)))


@cached_per_machine(1 << 12)
def _cover(wanted: bytes, givers: tuple[int, ...]) -> tuple[Cast, ...]:
    """The same of packed bits: the cast that brings most of what is missing, until nothing is; or every giver to all,
    where that takes fewer."""
    l1bs = chip().l1bs_per_l2b
    bits = np.unpackbits(np.frombuffer(wanted, np.uint8), count=l1bs * len(givers)).reshape(l1bs, -1)
    missing = {(int(l1b), int(rank)) for l1b, rank in zip(*np.nonzero(bits), strict=True)}
    brings = {cast: pairs_of(cast, givers) for cast in casts()}
    found: list[Cast] = []
    while missing:
        best = max(brings, key=lambda cast: len(missing & brings[cast]))
        found.append(best)
        missing -= brings[best]
    to_all = tuple(Cast(givers[rank], 0) for rank in np.flatnonzero(bits.any(axis=0)).tolist())
    return to_all if len(to_all) < len(found) else tuple(found)


@cached_per_machine(1 << 12)
def pairs_of(cast: Cast, givers: tuple[int, ...]) -> frozenset[tuple[int, int]]:
    """What a cast brings: L1B, number of the giver."""
    rank = {giver: number for number, giver in enumerate(givers)}
    differ = 0
    for giver in givers:
        differ |= giver
    found = ((l1b, rank.get(cast.giver(l1b) & differ)) for l1b in range(chip().l1bs_per_l2b))
    return frozenset((l1b, number) for l1b, number in found if number is not None)


def cast_of(givers: Sequence[int], replicas: int) -> Cast:
    """The cast that brings every L1B what the one has that is named for it, ANY where it takes whatever comes; L1Bs
    that differ only in bits of `replicas` have the same. Raises NoWay."""
    for cast in casts():
        if all(giver == ANY or (cast.giver(own) ^ giver) & ~replicas == 0 for own, giver in enumerate(givers)):
            return cast
    raise NoWay("no transfer brings every L1B what it wants")
