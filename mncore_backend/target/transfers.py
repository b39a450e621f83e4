"""Transfers of the PE stream: between L1BM and PEs, and between L2BM and L1BM. Widths follow from the hierarchy."""

from dataclasses import dataclass

from mnc.mncore_backend.target.hierarchy import Hierarchy
from mnc.mncore_backend.target.instruction_set import MABS_PER_QUAD, PES_PER_MAB

L2BM_PORT_LONGS = 16  # summary 7.3: long words per cycle of one L1BM at its L2BM port
L2BM_SHARE_LONGS = 8  # summary 7.3: long words per cycle of one L1BM where each gets its own


@dataclass(frozen=True, slots=True)
class L1bmFamily:
    """Rates of an L1BM <-> PE transfer in long words per cycle and alignment of the L1BM address, for the one-long
    and the 2-long form (None: the form does not exist)."""

    name: str
    rate: int
    rate_two_long: int | None
    alignment: int
    alignment_two_long: int
    source: str


def l1bm_families(hierarchy: Hierarchy) -> dict[str, L1bmFamily]:
    """By the letters behind ``l1bm``. A cycle takes a long word per PE of what differs: nothing (p), the PEs of a MAB
    (m), also the quads of an L1B (m4), all MABs (d)."""
    m = PES_PER_MAB
    m4 = hierarchy.mabs_per_l1b // MABS_PER_QUAD * m
    d = hierarchy.mabs_per_l1b * m
    rows = (
        L1bmFamily("p", 1, 2, 1, 1, "SDM 3.6.8.3"),
        L1bmFamily("m", m, 2 * m, m, 2 * m, "SDM 3.6.8.4; alignment OPEN-43"),
        L1bmFamily("m4", m4, 2 * m4, m4, 2 * m4, "SDM 3.6.8.5; one-long alignment OPEN-43"),
        L1bmFamily("d", d, None, d, d, "SDM 3.6.8.19"),
    )
    return {family.name: family for family in rows}


@dataclass(frozen=True, slots=True)
class L2bmFamily:
    """An L2BM <-> L1BM transfer: long words per cycle and alignment on either side."""

    name: str
    l2bm_rate: int
    l1bm_rate: int
    source: str

    @property
    def l2bm_alignment(self) -> int:
        """Long words touched per cycle (OPEN-43 where the manual does not state it)."""
        return self.l2bm_rate

    @property
    def l1bm_alignment(self) -> int:
        """Long words touched per cycle (OPEN-43 where the manual does not state it)."""
        return self.l1bm_rate


def l2bm_families(hierarchy: Hierarchy) -> dict[str, L2bmFamily]:
    """By mnemonic. Where L1Bs, or pairs of them, differ, L2BM gives or takes what all of them take or give."""
    each, share, l1bs = L2BM_PORT_LONGS, L2BM_SHARE_LONGS, hierarchy.l1bs_per_l2b
    pairs = max(1, l1bs // 2)
    rows = (
        L2bmFamily("l2bmb", each, each, "summary 7.3"),
        L2bmFamily("l2bmb2", each * pairs, each, "summary 7.3; pairing OPEN-42"),
        L2bmFamily("l2bmd", share * l1bs, share, "summary 7.3"),
        L2bmFamily("l2bm", each, each, "summary 7.3"),
        L2bmFamily("l2bmr", each, each, "SDM 3.6.7.6"),
        L2bmFamily("l2bmr2", each * pairs, each, "SDM 3.6.7.7"),
        L2bmFamily("l2bmi", each, each, "SDM 3.6.7.9"),
    )
    return {family.name: family for family in rows}
