"""One machine: all its numbers in one object.

Every number says where it stands: "SDM" is the MN-Core 2 Software Development Manual (Preferred Networks), "summary"
the public reorganised summary of it, "tutorial" the vendor's tutorial, "programs" what published programs that passed
the vendor's judge or a card rely on. What no source settles is a field with its OPEN-nn identifier; `assumptions` lists
them. Long word (long): 64 bit. Word: 32 bit. Step: one PE statement, 4 cycles.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.target.assumptions import Assumption, assumptions
from mnc.mncore_backend.target.hazards import MN_CORE_2_HAZARDS, Hazard
from mnc.mncore_backend.target.hierarchy import Hierarchy, Level
from mnc.mncore_backend.target.instruction_set import (
    CYCLES_PER_STEP,
    LONG_BYTES,
    MATVEC_MULTIPLY_ADDS,
    PRECISION_LETTERS,
    VECTOR_MULTIPLY_ADDS,
    WORD_BYTES,
    Precision,
)
from mnc.mncore_backend.target.memories import MN_CORE_2_SIZES, MemoryFacts, memories
from mnc.mncore_backend.target.mv_forms import MvForm, mv_forms
from mnc.mncore_backend.target.transfers import L1bmFamily, L2bmFamily, l1bm_families, l2bm_families


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine of the kind of MN-Core 2. Two are the same only if they are one object: it is a key of many caches.

    `name` says all of it, see `named`. Raises ValueError for counts and sizes that no such machine can have.
    """

    name: str
    hierarchy: Hierarchy
    sizes: Mapping[Memory, int] = field(default_factory=lambda: MN_CORE_2_SIZES)  # address units of one copy
    hazards: Mapping[str, Hazard] = field(default_factory=lambda: MN_CORE_2_HAZARDS)
    clock_hz: int = 750_000_000  # summary
    dram_bytes_per_second_per_group: int = 128_000_000_000  # summary 1, "about": of the DRAM chips, more than the port
    dram_port_longs_per_cycle: int = 16  # of one group: the fastest MV forms to and from DRAM, SDM 3.5.7; rate OPEN-48
    one_port: frozenset[Memory] = frozenset({Memory.DRAM})  # whose reads and writes by MVs wait for each other; OPEN-38
    dar_staged_longs_per_cycle: int = 64  # summary 7.3 (model OPEN-41)
    dar_written_entries_per_step: int = 4  # summary 7.3 (model OPEN-41)
    mv_latency_steps: int = 64  # OPEN-48: fixed part of an MV's duration, in steps, before its data phase
    mv_latency_overlaps: bool = True  # OPEN-48: MVs over one port queue with their data phases, not their latencies
    mv_issue_interval_steps: int = 4  # summary 7.1: at most one MV per 4 steps; OPEN-48: who pads the stream
    pe_steps_per_mv_slot: int = 3  # OPEN-48: packed streams have one MV slot per 3 PE statements in auto-stride mode
    nops_after_wait: int = 0  # OPEN-48: third-party code adds up to 5
    mv_largest_size: int = 32768  # OPEN-46: largest n that generated code uses

    def __post_init__(self) -> None:
        _ = self.memories  # checks the sizes

    def __repr__(self) -> str:
        return f"<Machine {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by its name: a machine stays one object."""
        from mnc.mncore_backend.target.machines import named

        return named, (self.name,)

    # Hierarchy --------------------------------------------------------------------------------------------------------

    @cached_property
    def groups(self) -> int:
        """Groups of the chip."""
        return self.hierarchy.groups

    @cached_property
    def l2bs_per_group(self) -> int:
        """L2Bs of a group."""
        return self.hierarchy.l2bs_per_group

    @cached_property
    def l2bs(self) -> int:
        """L2Bs of the chip."""
        return self.hierarchy.l2bs

    @cached_property
    def l1bs_per_l2b(self) -> int:
        """L1Bs of an L2B."""
        return self.hierarchy.l1bs_per_l2b

    @cached_property
    def l1bs(self) -> int:
        """L1Bs of the chip."""
        return self.hierarchy.l1bs

    @cached_property
    def mabs_per_l1b(self) -> int:
        """MABs of an L1B."""
        return self.hierarchy.mabs_per_l1b

    @cached_property
    def mabs(self) -> int:
        """MABs of the chip."""
        return self.hierarchy.mabs

    @cached_property
    def pes(self) -> int:
        """PEs of the chip."""
        return self.hierarchy.pes

    @cached_property
    def tiny_elements(self) -> int:
        """Elements of a tensor that gives the PEs of one L2B two long words. To split less than that over L2Bs saves a
        step or two of work, and what has to be exchanged later passes PDM."""
        return 2 * self.pes // self.l2bs * LONG_BYTES // WORD_BYTES

    @cached_property
    def shape(self) -> tuple[int, int, int, int]:
        """Coordinates of a PE: [L2B, L1B, MAB, PE], each below these numbers."""
        return self.hierarchy.shape

    @cached_property
    def axis_size(self) -> dict[str, int]:
        """Values of each coordinate of a 32-bit word, by the names that layouts use."""
        return self.hierarchy.axis_size

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """All levels from the board down to the PE."""
        return self.hierarchy.levels

    # Memories and transfers -------------------------------------------------------------------------------------------

    @cached_property
    def local_longs(self) -> int:
        """Long words of a local memory of a PE."""
        return self.memories[Memory.LM0].longs

    @cached_property
    def memories(self) -> dict[Memory, MemoryFacts]:
        """Size and copies of every memory."""
        return memories(self.hierarchy, self.sizes)

    @cached_property
    def l1bm_families(self) -> dict[str, L1bmFamily]:
        """Transfers between L1BM and PEs, by the letters behind ``l1bm``."""
        return l1bm_families(self.hierarchy)

    @cached_property
    def l2bm_families(self) -> dict[str, L2bmFamily]:
        """Transfers between L2BM and L1BM, by mnemonic."""
        return l2bm_families(self.hierarchy)

    @cached_property
    def mv_forms(self) -> tuple[MvForm, ...]:
        """Transfers between DRAM, PDM and L2BM."""
        return mv_forms(self.hierarchy)

    # Rates ------------------------------------------------------------------------------------------------------------

    @cached_property
    def longest_hazard_steps(self) -> int:
        """No row of the hazards reaches further than this many statements: at worst the last cycle writes and the first
        one reads."""
        apart = [-(-((row.emit_cycles or 0) + CYCLES_PER_STEP - 1) // CYCLES_PER_STEP) for row in self.hazards.values()]
        return max([*apart, *(row.emit_steps or 0 for row in self.hazards.values())])

    @cached_property
    def multicast_interval_steps(self) -> int:
        """Steps from an l2bmi to the next one that may follow it."""
        return self.hazards["4"].emit_steps or 1

    @cached_property
    def assumptions(self) -> tuple[Assumption, ...]:
        """Choices where no document decides."""
        return assumptions(self)

    def peak_flops(self, precision: str, *, vector: bool = False) -> int:
        """Floating-point operations per second of the whole chip, two per multiply-add."""
        per_mab = (VECTOR_MULTIPLY_ADDS if vector else MATVEC_MULTIPLY_ADDS)[precision]
        return 2 * per_mab * self.mabs * self.clock_hz

    def peak_multiply_adds(self, precision: Precision = "pseudo-single") -> int:
        """Multiply-adds per cycle of all matrix units."""
        return MATVEC_MULTIPLY_ADDS[PRECISION_LETTERS[precision]] * self.mabs
