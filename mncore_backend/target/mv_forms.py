"""Forms of MV transfers, between DRAM, PDM and L2BM: which operands, how many long words on either side, how fast."""

from dataclasses import dataclass
from enum import StrEnum

from mnc.mncore_backend.target.hierarchy import Hierarchy


class Shape(StrEnum):
    """Shape of an MV operand; it selects the form. The value is how it is written."""

    PDM_ONE = "$pA@g"
    PDM_ALL = "$pA"
    DRAM_ONE = "$dA@g"
    DRAM_ALL = "$dA"
    L2BM_ONE = "$lcA@g.l"
    L2BM_EACH = "$lcA@.l"  # the named L2B of every group
    L2BM_ALL = "$lcA"


@dataclass(frozen=True, slots=True)
class MvForm:
    """One form of an MV. Of a transfer with size n one source instance holds n * source_eighths / 8 long words, one
    destination instance n * destination_eighths / 8. Rates are long words per cycle of one instance on either side; the
    slower side decides."""

    identifier: str
    opcode: str  # without the reduction: mvr, mvr2, mvr4
    source: Shape
    destination: Shape
    source_eighths: int  # long words of one source instance per 8 of n
    destination_eighths: int
    source_rate: int
    destination_rate: int
    origin: str
    between_groups_rate: int = 0  # if the groups of source and destination differ (0: same)
    unit: int = 64
    named_l2b: int | None = None  # the L2B of each group that an operand without one stands for

    def source_longs(self, size: int) -> int:
        """Long words read in each source instance."""
        return size * self.source_eighths // 8

    def destination_longs(self, size: int) -> int:
        """Long words written in each destination instance."""
        return size * self.destination_eighths // 8

    def data_cycles(self, size: int, *, same_group: bool = True) -> int:
        """Cycles of the data phase: long words of the rate-limited side over its rate, rounded up (OPEN-48)."""
        source, destination = self.source_rate, self.destination_rate
        if self.between_groups_rate and not same_group:
            source = destination = self.between_groups_rate
        return max(-(-self.source_longs(size) // source), -(-self.destination_longs(size) // destination))


_ASSUMED = "SDM 3.5.7; rate OPEN-48"


def mv_forms(hierarchy: Hierarchy) -> tuple[MvForm, ...]:
    """All forms. Where one instance faces several, it holds the long words of all of them, or they share its own, and
    the rates stand in the same relation."""
    g, p = hierarchy.groups, hierarchy.l2bs_per_group
    return (
        MvForm("P1", "mvp", Shape.PDM_ONE, Shape.DRAM_ONE, 8, 8, 16, 16, _ASSUMED, 8),
        MvForm("P2", "mvp", Shape.DRAM_ONE, Shape.PDM_ONE, 8, 8, 16, 16, _ASSUMED, 8),
        MvForm("P3", "mvp", Shape.PDM_ONE, Shape.L2BM_ONE, 8, 8, 16, 16, "SDM 3.5.8.4", 8),
        MvForm("P4", "mvp", Shape.L2BM_ONE, Shape.PDM_ONE, 8, 8, 16, 16, _ASSUMED, 8),
        MvForm("P5", "mvp", Shape.DRAM_ONE, Shape.L2BM_ONE, 8, 8, 16, 16, _ASSUMED, 8),
        MvForm("P6", "mvp", Shape.L2BM_ONE, Shape.DRAM_ONE, 8, 8, 16, 16, _ASSUMED, 8),
        MvForm("P7", "mvp", Shape.PDM_ONE, Shape.PDM_ONE, 8, 8, 16, 16, _ASSUMED, 8),
        MvForm("P8", "mvp", Shape.PDM_ALL, Shape.L2BM_EACH, 8, 8, 16, 16, "SDM 3.5.7; programs"),
        MvForm("P9", "mvp", Shape.L2BM_EACH, Shape.PDM_ALL, 8, 8, 16, 16, "SDM 3.5.7; programs"),
        MvForm("P10", "mvp", Shape.DRAM_ALL, Shape.L2BM_EACH, 8, 8, 16, 16, _ASSUMED),
        MvForm("P11", "mvp", Shape.L2BM_EACH, Shape.DRAM_ALL, 8, 8, 16, 16, _ASSUMED),
        MvForm("P12", "mvp", Shape.L2BM_ALL, Shape.DRAM_ALL, 8, 8, 16, 16, "OPEN-37; programs", named_l2b=0),
        MvForm("B1", "mvb", Shape.PDM_ONE, Shape.L2BM_ALL, 8, 8, 8, 8, _ASSUMED),
        MvForm("B2", "mvb", Shape.DRAM_ALL, Shape.L2BM_ALL, 8 // g, 8, 8, 8 * g, _ASSUMED),
        MvForm("B3", "mvb2", Shape.DRAM_ALL, Shape.L2BM_ALL, 8, 8, 16, 16, _ASSUMED),
        MvForm("B4", "mvb4", Shape.DRAM_ALL, Shape.L2BM_ALL, 8 * p // g, 8, 8, 8 * g // p, "SDM 3.5.8.16"),
        MvForm("R1", "mvr", Shape.L2BM_ALL, Shape.PDM_ONE, 8, 8, 8, 8, _ASSUMED),
        MvForm("R2", "mvr", Shape.L2BM_ALL, Shape.DRAM_ALL, 8, 8 // g, 8 * g, 8, "SDM 3.5.8.17"),
        MvForm("R3", "mvr2", Shape.L2BM_ALL, Shape.DRAM_ALL, 8, 8, 16, 16, _ASSUMED),
        MvForm("R4", "mvr4", Shape.L2BM_ALL, Shape.DRAM_ALL, 8, 8 * p // g, 8 * g // p, 8, "SDM 3.5.8.21"),
        MvForm("R5", "mvr2", Shape.L2BM_ALL, Shape.PDM_ALL, 8, 8, 16, 16, "OPEN-37, OPEN-48"),
        MvForm("D1", "mvd", Shape.PDM_ONE, Shape.L2BM_ALL, 8 * g * p, 8, 8, 8 // (g * p), "OPEN-35, OPEN-48"),
        MvForm("D2", "mvd", Shape.L2BM_ALL, Shape.PDM_ONE, 8, 8 * g * p, 8 // (g * p), 8, "programs; rate OPEN-48"),
        MvForm("D3", "mvd", Shape.PDM_ONE, Shape.DRAM_ALL, 8, 8 // g, 8, 8 // g, "OPEN-36, OPEN-48"),
        MvForm("D4", "mvd", Shape.DRAM_ALL, Shape.PDM_ONE, 8 // g, 8, 8 // g, 8, "OPEN-36, OPEN-48"),
    )
