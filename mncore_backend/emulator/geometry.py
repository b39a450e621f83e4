"""Sizes of the machine in use as the emulator needs them."""

from collections.abc import Mapping
from dataclasses import dataclass

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.target import CYCLES_PER_STEP, MATRIX_ROWS, PES_PER_MAB, cached_per_machine, chip

CYCLES = CYCLES_PER_STEP
MASK_ENTRIES = 16  # the writable entries 1..15; entry 0 and 16..31 are constant
LATCH_UNITS = 4  # MAU, ALU, L1BM -> PE, transposed read


@dataclass(frozen=True, slots=True)
class Geometry:
    """Counts of units, and sizes of one copy of each memory in long words."""

    groups: int
    l2bs_per_group: int
    l2bs: int  # linear index l2bs_per_group * group + L2B of the group
    l1bs_per_l2b: int
    blocks: int  # one block per L1B
    mabs: int  # of an L1B
    pes: int  # of an L1B
    longs: Mapping[Memory, int]
    l1bm_longs: int
    l2bm_longs: int
    pdm_longs: int
    dram_longs: int
    dar_entries: int

    def l2b(self, group: int, l2b: int) -> int:
        """Linear index of an L2B of a group."""
        return self.l2bs_per_group * group + l2b

    def block(self, group: int, l2b: int, l1b: int) -> int:
        """Linear index of an L1B of an L2B of a group."""
        return self.l1bs_per_l2b * self.l2b(group, l2b) + l1b

    def place_of(self, block: int) -> tuple[int, int, int]:
        """Group, L2B of the group and L1B of the L2B of a block."""
        l2b, l1b = divmod(block, self.l1bs_per_l2b)
        return (*divmod(l2b, self.l2bs_per_group), l1b)


@cached_per_machine()
def geometry() -> Geometry:
    """Of the machine in use."""
    machine = chip()
    longs = {memory: facts.longs for memory, facts in machine.memories.items()}
    return Geometry(
        groups=machine.groups,
        l2bs_per_group=machine.l2bs_per_group,
        l2bs=machine.l2bs,
        l1bs_per_l2b=machine.l1bs_per_l2b,
        blocks=machine.l1bs,
        mabs=machine.mabs_per_l1b,
        pes=machine.mabs_per_l1b * PES_PER_MAB,
        longs=longs,
        l1bm_longs=longs[Memory.L1BM],
        l2bm_longs=longs[Memory.L2BM],
        pdm_longs=longs[Memory.PDM],
        dram_longs=longs[Memory.DRAM],
        dar_entries=machine.memories[Memory.DAR].addresses,
    )


__all__ = ["CYCLES", "LATCH_UNITS", "MASK_ENTRIES", "MATRIX_ROWS", "PES_PER_MAB", "Geometry", "geometry"]
