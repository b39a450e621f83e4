"""How much of each memory a movement takes at a time: parts of what the machine has."""

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.movement.transfers import MV_UNIT, alignment
from mnc.mncore_backend.target import chip


def room(memory: Memory, share: int, of: int) -> int:
    """Long words: `share` parts `of` so many of one copy of a memory, in whole MV units, and at least one of them."""
    return max(MV_UNIT, chip().memories[memory].longs * share // of // MV_UNIT * MV_UNIT)


def slice_of_l1bm() -> int:
    """Long words of L1BM that one slice of a large tensor takes; in L2BM it takes up to that times the L1Bs."""
    return max(alignment(), room(Memory.L1BM, 1, 16))


def half_of_l1bm() -> int:
    """Long words of L1BM of one staging buffer."""
    return room(Memory.L1BM, 1, 2)


def half_of_l2bm() -> int:
    """Long words of L2BM of one staging buffer, and what one exchange between L2Bs may bring."""
    return room(Memory.L2BM, 1, 2)


def mv_slice() -> int:
    """Long words of one L2BM that one MV of a large tensor fills: every MV costs its latency, and two such transfers
    leave a quarter of L2BM to others."""
    return room(Memory.L2BM, 3, 8)


def scratch() -> int:
    """Long words of LM0 for arriving data."""
    return room(Memory.LM0, 1, 4)
