"""Counters of a run."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Statistics:
    """What a program did.

    steps          PE statements issued, ``nop/<N>`` counted N times
    pe_lines       PE statements as the judge counts them: lines of the PE stream, ``nop/<N>`` as N
    mv_lines       MV statements
    cycles         4 per step plus stalls, until the last MV transfer has finished (OPEN-48)
    stall_cycles   cycles lost at waits and to the MV issue interval
    units          expressions per unit: alu, mau, mwrite, mread, l1bm, l2bm, mv, nop
    longs          long words moved: per memory and direction by MV and L2BM transfers, all instances together
    """

    steps: int = 0
    mv_lines: int = 0
    cycles: int = 0
    stall_cycles: int = 0
    units: Counter[str] = field(default_factory=Counter)
    longs: Counter[str] = field(default_factory=Counter)

    @property
    def mv_transfers(self) -> int:
        """MV statements that moved data."""
        return self.units["mv"]

    @property
    def score(self) -> int:
        """PE lines plus MV lines, as the vendor's judge scores a program."""
        return self.steps + self.mv_lines

    def since(self, earlier: "Statistics") -> "Statistics":
        """What was added after `earlier`, a copy made then."""
        return Statistics(
            self.steps - earlier.steps,
            self.mv_lines - earlier.mv_lines,
            self.cycles - earlier.cycles,
            self.stall_cycles - earlier.stall_cycles,
            self.units - earlier.units,
            self.longs - earlier.longs,
        )

    def as_dict(self) -> dict[str, object]:
        """Plain values for reports."""
        return {
            "steps": self.steps,
            "mv_lines": self.mv_lines,
            "cycles": self.cycles,
            "stall_cycles": self.stall_cycles,
            "units": dict(self.units),
            "longs": dict(self.longs),
        }
