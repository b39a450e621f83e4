"""Memories: how large one copy is and how many copies there are."""

from collections.abc import Mapping
from dataclasses import dataclass

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.target.hierarchy import Hierarchy
from mnc.mncore_backend.target.instruction_set import CYCLES_PER_STEP


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """One kind of memory. `addresses` is the number of address units of one copy (an address wraps modulo it); a unit
    has `unit_bits` bits. `copies` is the number of instances on the chip."""

    memory: Memory
    name: str
    level: str
    copies: int
    addresses: int
    unit_bits: int
    source: str

    @property
    def longs(self) -> int:
        """Capacity of one copy in long words."""
        return self.addresses * self.unit_bits // 64

    @property
    def total_bytes(self) -> int:
        """Capacity of all copies in bytes."""
        return self.copies * self.addresses * self.unit_bits // 8


# Address units of one copy on MN-Core 2, and where that stands.
MN_CORE_2_SIZES: dict[Memory, int] = {
    Memory.DRAM: 1 << 29,
    Memory.PDM: 1 << 19,
    Memory.DAR: 1024,
    Memory.L2BM: 1 << 15,
    Memory.L1BM: 1 << 13,
    Memory.LM0: 1 << 12,
    Memory.LM1: 1 << 12,
    Memory.GRF0: 512,
    Memory.GRF1: 512,
}


LEAST = {Memory.LM0: 8, Memory.GRF0: 16, Memory.GRF1: 64}
"""Address units that the smallest product of matrices takes; no program fits less."""


def memories(hierarchy: Hierarchy, sizes: Mapping[Memory, int]) -> dict[Memory, MemoryFacts]:
    """All memories. `sizes` has the address units of one copy of those whose size is a choice; raises ValueError unless
    these are powers of two, as addresses wrap around, and large enough for a program."""
    for memory, size in sizes.items():
        if size < 1 or size & (size - 1):
            raise ValueError(f"{memory.name} has a power of two of addresses, not {size}")
        if size < LEAST.get(memory, 1):
            raise ValueError(f"{memory.name} has at least {LEAST[memory]} addresses, not {size}")
    groups, l2bs, l1bs, mabs, pes = (
        hierarchy.groups, hierarchy.l2bs, hierarchy.l1bs, hierarchy.mabs, hierarchy.pes
    )  # fmt: skip
    rows = (
        MemoryFacts(Memory.DRAM, "DRAM", "group", groups, sizes[Memory.DRAM], 64, "summary 2"),
        MemoryFacts(Memory.PDM, "PDM", "group", groups, sizes[Memory.PDM], 64, "summary 2"),
        MemoryFacts(Memory.DAR, "DAR", "group", groups, sizes[Memory.DAR], 32, "summary 2"),
        MemoryFacts(Memory.L2BM, "L2BM", "L2B", l2bs, sizes[Memory.L2BM], 64, "summary 2"),
        MemoryFacts(Memory.L1BM, "L1BM", "L1B", l1bs, sizes[Memory.L1BM], 64, "summary 2"),
        MemoryFacts(Memory.LM0, "LM0", "PE", pes, sizes[Memory.LM0], 32, "summary 4, SDM 3.6.1.6"),
        MemoryFacts(Memory.LM1, "LM1", "PE", pes, sizes[Memory.LM1], 32, "summary 4"),
        MemoryFacts(Memory.GRF0, "GRF0", "PE", pes, sizes[Memory.GRF0], 32, "summary 4"),
        MemoryFacts(Memory.GRF1, "GRF1", "PE", pes, sizes[Memory.GRF1], 32, "summary 4"),
        MemoryFacts(Memory.T, "T", "PE", pes, CYCLES_PER_STEP, 128, "summary 4, tutorial"),
        MemoryFacts(Memory.MASK, "mask registers", "PE", pes, 32, 16, "SDM 3.6.2"),
        MemoryFacts(Memory.MATRIX_X, "matrix register x", "MAB", mabs, 16, 256, "SDM 3.6.1.14"),
        MemoryFacts(Memory.MATRIX_Y, "matrix register y", "MAB", mabs, 16, 256, "SDM 3.6.1.14"),
    )
    return {facts.memory: facts for facts in rows}
