"""How many of each unit there are, and what follows from it."""

from dataclasses import dataclass
from functools import cached_property

from mnc.mncore_backend.target.instruction_set import LONG_BYTES, MABS_PER_QUAD, PES_PER_MAB, WORD_BYTES

MOST_UNITS = {"groups": 4, "l2bs_per_group": 2, "l1bs_per_l2b": 8, "mabs_per_l1b": 16}
"""What operands, sets of L1Bs and MAB shifts have bits for."""
LEAST_UNITS = {"l1bs_per_l2b": 2, "mabs_per_l1b": MABS_PER_QUAD}
"""A block of l2bmd is no smaller than one of l2bmb, and MABs come in quads."""


@dataclass(frozen=True, slots=True)
class Level:
    """One level of the hierarchy: how many sit under their parent, how many there are, its letter in debug scopes."""

    name: str
    count: int
    total: int
    letter: str
    holds: str
    source: str


@dataclass(frozen=True)
class Hierarchy:
    """Units of each level under one of the level above; a MAB always has `PES_PER_MAB` PEs. All are powers of two, as
    coordinates are bit fields, no more than instructions can name; raises ValueError otherwise."""

    groups: int
    l2bs_per_group: int
    l1bs_per_l2b: int
    mabs_per_l1b: int

    def __post_init__(self) -> None:
        for name, most in MOST_UNITS.items():
            count, least = getattr(self, name), LEAST_UNITS.get(name, 1)
            if not least <= count <= most or count & (count - 1):
                raise ValueError(f"{name} is a power of two from {least} to {most}, not {count}")

    @cached_property
    def l2bs(self) -> int:
        """L2Bs of the chip; their linear index is group * l2bs_per_group + L2B of the group."""
        return self.groups * self.l2bs_per_group

    @cached_property
    def l1bs(self) -> int:
        """L1Bs of the chip."""
        return self.l2bs * self.l1bs_per_l2b

    @cached_property
    def mabs(self) -> int:
        """MABs of the chip."""
        return self.l1bs * self.mabs_per_l1b

    @cached_property
    def pes(self) -> int:
        """PEs of the chip."""
        return self.mabs * PES_PER_MAB

    @cached_property
    def shape(self) -> tuple[int, int, int, int]:
        """Coordinates of a PE: [L2B, L1B, MAB, PE], each below these numbers."""
        return self.l2bs, self.l1bs_per_l2b, self.mabs_per_l1b, PES_PER_MAB

    @cached_property
    def axis_size(self) -> dict[str, int]:
        """Values of each coordinate of a 32-bit word, by the names that layouts use."""
        return dict(zip(("L2B", "L1B", "MAB", "PE", "W"), (*self.shape, LONG_BYTES // WORD_BYTES), strict=True))

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """All levels from the board down to the PE."""
        inside = "LM0, LM1, GRF0, GRF1, T, mask registers, ALU"
        source = "summary 1, tutorial"
        return (
            Level("board", 1, 1, "", "", "summary 1"),
            Level("group", self.groups, self.groups, "n", "PDM, DRAM, DAR", source),
            Level("L2B", self.l2bs_per_group, self.l2bs, "c", "L2BM", source),
            Level("L1B", self.l1bs_per_l2b, self.l1bs, "b", "L1BM, turnaround register", source),
            Level("MAB", self.mabs_per_l1b, self.mabs, "m", "MAU, matrix registers x and y", source),
            Level("PE", PES_PER_MAB, self.pes, "p", inside, source),
        )
