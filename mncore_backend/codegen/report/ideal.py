"""What a model needs at least, whatever program computes it."""

from dataclasses import dataclass

from mnc.mncore_backend.target import chip


@dataclass(frozen=True, slots=True)
class Ideal:
    """Work of a model before anything is padded, copied or distributed, see `count-work`: multiply-adds, the cycles
    they take at the peak of the matrix units, and long words of inputs, weights and outputs."""

    multiply_adds: int
    compute_cycles: float
    dram_long_words: int

    @property
    def dram_cycles(self) -> float:
        """Cycles in which the DRAM ports of all groups carry the long words."""
        return self.dram_long_words / (chip().groups * chip().dram_port_longs_per_cycle)

    @property
    def cycles(self) -> float:
        """The larger of both: no program for this model is faster."""
        return max(self.compute_cycles, self.dram_cycles)

    @property
    def bound(self) -> str:
        """Which is larger: "compute" or "DRAM"."""
        return "compute" if self.compute_cycles >= self.dram_cycles else "DRAM"

    def share_of(self, cycles: int) -> float:
        """Part of the cycles that a program takes that the model needs at least."""
        return self.cycles / cycles if cycles else 0.0
