"""The one table of hardware numbers of MN-Core 2: hierarchy, memories, transfer rates, hazard distances, clock and
peaks.

Every number says where it stands: "SDM" is the MN-Core 2 Software Development Manual (Preferred Networks), "summary"
the public reorganised summary of it, "tutorial" the vendor's tutorial, "programs" what published programs that passed
the vendor's judge or a card rely on. What no source settles is a named constant with its OPEN-nn identifier; the last
section lists them. Long word (long): 64 bit. Word: 32 bit. Step: one PE statement, 4 cycles.
"""

from dataclasses import dataclass
from enum import StrEnum

from mnc.mncore_backend.assembly.records import Memory

CYCLES_PER_STEP = 4  # SDM 3.6
CLOCK_HZ = 750_000_000  # summary
LONG_BYTES = 8
WORD_BYTES = 4


# ---- hierarchy -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Level:
    """One level of the hierarchy: how many sit under their parent, how many there are, its letter in debug scopes."""

    name: str
    count: int
    total: int
    letter: str
    holds: str
    source: str


LEVELS = (
    Level("board", 1, 1, "", "", "summary 1"),
    Level("group", 4, 4, "n", "PDM, DRAM, DAR", "summary 1, tutorial"),
    Level("L2B", 2, 8, "c", "L2BM", "summary 1, tutorial"),
    Level("L1B", 8, 64, "b", "L1BM, turnaround register", "summary 1, tutorial"),
    Level("MAB", 16, 1024, "m", "MAU, matrix registers x and y", "summary 1, tutorial"),
    Level("PE", 4, 4096, "p", "LM0, LM1, GRF0, GRF1, T, mask registers, ALU", "summary 1, tutorial"),
)
GROUPS = 4
L2BS_PER_GROUP = 2
L2BS = GROUPS * L2BS_PER_GROUP
L1BS_PER_L2B = 8
L1BS = L2BS * L1BS_PER_L2B
MABS_PER_L1B = 16
MABS = L1BS * MABS_PER_L1B
PES_PER_MAB = 4
PES = MABS * PES_PER_MAB


# ---- memories --------------------------------------------------------------------------------------------------------


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


MEMORIES = {
    facts.memory: facts
    for facts in (
        MemoryFacts(Memory.DRAM, "DRAM", "group", GROUPS, 1 << 29, 64, "summary 2"),
        MemoryFacts(Memory.PDM, "PDM", "group", GROUPS, 1 << 19, 64, "summary 2"),
        MemoryFacts(Memory.DAR, "DAR", "group", GROUPS, 1024, 32, "summary 2"),
        MemoryFacts(Memory.L2BM, "L2BM", "L2B", L2BS, 1 << 15, 64, "summary 2"),
        MemoryFacts(Memory.L1BM, "L1BM", "L1B", L1BS, 1 << 13, 64, "summary 2"),
        MemoryFacts(Memory.LM0, "LM0", "PE", PES, 1 << 12, 32, "summary 4, SDM 3.6.1.6"),
        MemoryFacts(Memory.LM1, "LM1", "PE", PES, 1 << 12, 32, "summary 4"),
        MemoryFacts(Memory.GRF0, "GRF0", "PE", PES, 512, 32, "summary 4"),
        MemoryFacts(Memory.GRF1, "GRF1", "PE", PES, 512, 32, "summary 4"),
        MemoryFacts(Memory.T, "T", "PE", PES, CYCLES_PER_STEP, 128, "summary 4, tutorial"),
        MemoryFacts(Memory.MASK, "mask registers", "PE", PES, 32, 16, "SDM 3.6.2"),
        MemoryFacts(Memory.MATRIX_X, "matrix register x", "MAB", MABS, 16, 256, "SDM 3.6.1.14"),
        MemoryFacts(Memory.MATRIX_Y, "matrix register y", "MAB", MABS, 16, 256, "SDM 3.6.1.14"),
    )
}
BAR_BITS = 12  # summary 4: base address registers of LM0 and LM1
WRITABLE_MASKS = range(1, 16)  # SDM 3.6.2: entry 0 and 16..31 are constant
CONSTANT_MASK_BASE = 16  # SDM 3.6.2: entry 16 + p has nibble c all ones where digit c of the pattern p is 1
MATRIX_ROWS = {"d": 4, "f": 8, "g": 8, "h": 16}  # SDM 3.6.10.3, logical rows and columns by precision
TAGS = range(1, 0x40)  # SDM 3.2.3; tag 00 is an error, larger ones run on the vendor's emulator (OPEN-51)
DAR_UNIT_LONGS = 16  # summary 2: an entry counts blocks of 16 long words
DAR_STAGED_LONGS_PER_CYCLE = 64  # summary 7.3 (model OPEN-41)
DAR_WRITTEN_ENTRIES_PER_STEP = 4  # summary 7.3 (model OPEN-41)


# ---- transfers in the PE stream --------------------------------------------------------------------------------------


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


L1BM_FAMILIES = {
    "p": L1bmFamily("p", 1, 2, 1, 1, "SDM 3.6.8.3"),
    "m": L1bmFamily("m", 4, 8, 4, 8, "SDM 3.6.8.4; alignment OPEN-43"),
    "m4": L1bmFamily("m4", 16, 32, 16, 32, "SDM 3.6.8.5; one-long alignment OPEN-43"),
    "d": L1bmFamily("d", 64, None, 64, 64, "SDM 3.6.8.19"),
}


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


L2BM_FAMILIES = {
    "l2bmb": L2bmFamily("l2bmb", 16, 16, "summary 7.3"),
    "l2bmb2": L2bmFamily("l2bmb2", 64, 16, "summary 7.3; pairing OPEN-42"),
    "l2bmd": L2bmFamily("l2bmd", 64, 8, "summary 7.3"),
    "l2bm": L2bmFamily("l2bm", 16, 16, "summary 7.3"),
    "l2bmr": L2bmFamily("l2bmr", 16, 16, "SDM 3.6.7.6"),
    "l2bmr2": L2bmFamily("l2bmr2", 64, 16, "SDM 3.6.7.7"),
    "l2bmi": L2bmFamily("l2bmi", 16, 16, "SDM 3.6.7.9"),
}


# ---- MV transfers ----------------------------------------------------------------------------------------------------


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
MV_FORMS = (
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
    MvForm("B2", "mvb", Shape.DRAM_ALL, Shape.L2BM_ALL, 2, 8, 8, 32, _ASSUMED),
    MvForm("B3", "mvb2", Shape.DRAM_ALL, Shape.L2BM_ALL, 8, 8, 16, 16, _ASSUMED),
    MvForm("B4", "mvb4", Shape.DRAM_ALL, Shape.L2BM_ALL, 4, 8, 8, 16, "SDM 3.5.8.16"),
    MvForm("R1", "mvr", Shape.L2BM_ALL, Shape.PDM_ONE, 8, 8, 8, 8, _ASSUMED),
    MvForm("R2", "mvr", Shape.L2BM_ALL, Shape.DRAM_ALL, 8, 2, 32, 8, "SDM 3.5.8.17"),
    MvForm("R3", "mvr2", Shape.L2BM_ALL, Shape.DRAM_ALL, 8, 8, 16, 16, _ASSUMED),
    MvForm("R4", "mvr4", Shape.L2BM_ALL, Shape.DRAM_ALL, 8, 4, 16, 8, "SDM 3.5.8.21"),
    MvForm("R5", "mvr2", Shape.L2BM_ALL, Shape.PDM_ALL, 8, 8, 16, 16, "OPEN-37, OPEN-48"),
    MvForm("D1", "mvd", Shape.PDM_ONE, Shape.L2BM_ALL, 64, 8, 8, 1, "OPEN-35, OPEN-48"),
    MvForm("D2", "mvd", Shape.L2BM_ALL, Shape.PDM_ONE, 8, 64, 1, 8, "programs; rate OPEN-48"),
    MvForm("D3", "mvd", Shape.PDM_ONE, Shape.DRAM_ALL, 8, 2, 8, 2, "OPEN-36, OPEN-48"),
    MvForm("D4", "mvd", Shape.DRAM_ALL, Shape.PDM_ONE, 2, 8, 2, 8, "OPEN-36, OPEN-48"),
)


# ---- hazards ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hazard:
    """One row of the hazard table. Distances are from producer to consumer: `steps` count statements (1 = the next
    one), `cycles` count t_read - t_write with t = 4 * step + cycle and hold for every shared address. `emit_*` is
    what generated code keeps; below `reject_*` a program is wrong; None means no such condition. Between the two it
    is suspicious only if `warn` is set, and worth a remark if `remark` is (OPEN-47)."""

    row: str
    producer: str
    consumer: str
    cause: str
    emit_steps: int | None
    reject_steps: int | None
    emit_cycles: int | None
    reject_cycles: int | None
    source: str
    warn: bool = False
    remark: bool = False


HAZARDS = {
    row.row: row
    for row in (
        Hazard("1", "L1BM->L2BM", "MV reading that L2BM", "step", 2, None, None, None, "OPEN-47", remark=True),
        Hazard("2", "L1BM->L2BM", "L2BM->L1BM", "port conflict", 4, None, None, None, "SDM 3.6.3; OPEN-47", True),
        Hazard("3", "L2BM->L1BM", "L1BM->L2BM or l2bmi", "unknown", 4, None, None, None, "SDM 3.6.3; OPEN-47", True),
        Hazard("4", "l2bmi", "L1BM->L2BM or l2bmi", "unknown", 4, None, None, None, "SDM 3.6.3; OPEN-47", True),
        Hazard("5", "l2bmi", "L1BM->PE", "unknown", 4, None, None, None, "SDM 3.6.3; OPEN-47", True),
        Hazard("6", "L2BM->L1BM", "L1BM->PE", "data race", None, None, 8, 7, "SDM 3.6.3; OPEN-47, programs"),
        Hazard("7", "PE->L1BM", "L1BM->L2BM or l2bmi", "data race", None, None, 11, 11, "SDM 3.6.3; OPEN-47, programs"),
        Hazard("8", "PE->L1BM", "L1BM->PE", "port conflict", 3, 3, 11, None, "SDM 3.6.8.2; cycles OPEN-47", True),
        Hazard("8t", "PE->L1BM", "L1BM->PE via $lbi", "data race", 1, 1, None, None, "SDM 3.6.8.2"),
        Hazard("9a", "LM write", "read of the same LM", "port conflict", 3, 3, None, None, "SDM 3.6.3.9, tutorial"),
        Hazard("9b", "GRF write", "read of the same word", "data race", None, None, 7, 7, "SDM 3.6.3.9"),
        Hazard("9c", "T write", "T read or T-indirect", "data race", 2, 2, None, None, "SDM 3.6.3.9"),
        Hazard("9d", "mask register write", "use as mask", "data race", 1, 1, None, None, "SDM 3.6.3.9"),
        Hazard("9e", "BAR write", "access of that LM", "unknown", 3, None, None, None, "OPEN-47", True),
        Hazard("10", "matrix write", "matvec or transposed read", "data race", 1, 1, None, None, "SDM 3.6.3; programs"),
        Hazard("11", "any result", "forwarding", "latch", 1, 1, None, None, "SDM 3.6.1.15"),
    )
}
LONGEST_HAZARD_STEPS = 4  # no row reaches further than this many statements


# ---- peaks -----------------------------------------------------------------------------------------------------------

# Multiply-adds per MAB and cycle of the matrix-vector operations (summary 7.5) and of the vector operations.
MATVEC_MULTIPLY_ADDS = {"d": 2 * 4, "f": 8 * 4, "g": 8 * 8, "h": 16 * 16}
VECTOR_MULTIPLY_ADDS = {"d": 2, "f": 2 * PES_PER_MAB, "h": 4 * PES_PER_MAB}


def peak_flops(precision: str, *, vector: bool = False) -> int:
    """Floating-point operations per second of the whole chip, two per multiply-add."""
    per_mab = (VECTOR_MULTIPLY_ADDS if vector else MATVEC_MULTIPLY_ADDS)[precision]
    return 2 * per_mab * MABS * CLOCK_HZ


def peak_multiply_adds(precision: str) -> int:
    """Multiply-adds per cycle of all matrix units."""
    return MATVEC_MULTIPLY_ADDS[precision] * MABS


DRAM_BYTES_PER_SECOND_PER_GROUP = 128_000_000_000  # summary 1, "about": of the DRAM chips, more than the port carries
DRAM_PORT_LONGS_PER_CYCLE = 16  # of one group: the fastest MV forms to and from DRAM, SDM 3.5.7; rate OPEN-48


# ---- assumptions -----------------------------------------------------------------------------------------------------

MV_LATENCY_STEPS = 64  # OPEN-48: fixed part of an MV's duration, in steps, before its data phase
MV_LATENCY_OVERLAPS = True  # OPEN-48: MVs over one port queue with their data phases only, not with their latencies
MV_ISSUE_INTERVAL_STEPS = 4  # summary 7.1: at most one MV per 4 steps; OPEN-48: who pads the stream
PE_STEPS_PER_MV_SLOT = 3  # OPEN-48: packed streams have one MV slot per 3 PE statements in auto-stride mode
NOPS_AFTER_WAIT = 0  # OPEN-48: third-party code adds up to 5
MV_LARGEST_SIZE = 32768  # OPEN-46: largest n that generated code uses
MADPE_RANGE = range(PES_PER_MAB)  # OPEN-12: values of j<madpe>
BAR_SOURCE_WORD = 0  # OPEN-11: D0 feeds the base address register


@dataclass(frozen=True, slots=True)
class Assumption:
    """A choice where no document decides: its identifier, the constant that carries it, its value and meaning."""

    identifier: str
    constant: str
    value: str
    meaning: str


ASSUMPTIONS = (
    Assumption("OPEN-48", "MV_LATENCY_STEPS", str(MV_LATENCY_STEPS), "fixed part of an MV's duration in steps"),
    Assumption("OPEN-48", "MV_LATENCY_OVERLAPS", str(MV_LATENCY_OVERLAPS), "latencies of queued MVs overlap"),
    Assumption("OPEN-48", "MV_ISSUE_INTERVAL_STEPS", str(MV_ISSUE_INTERVAL_STEPS), "steps between two MV issues"),
    Assumption("OPEN-48", "PE_STEPS_PER_MV_SLOT", str(PE_STEPS_PER_MV_SLOT), "PE statements per MV slot when packed"),
    Assumption("OPEN-48", "NOPS_AFTER_WAIT", str(NOPS_AFTER_WAIT), "statements between a wait and the first use"),
    Assumption("OPEN-48", "MV_FORMS", "rates", "rates of the MV forms whose source names OPEN-48"),
    Assumption("OPEN-47", "HAZARDS", "distances", "hazard distances whose source names OPEN-47"),
    Assumption("OPEN-46", "MV_LARGEST_SIZE", str(MV_LARGEST_SIZE), "largest size of a generated MV"),
    Assumption("OPEN-43", "L1BM_FAMILIES", "alignment", "alignments that follow the rule of sibling instructions"),
    Assumption("OPEN-41", "DAR_WRITTEN_ENTRIES_PER_STEP", str(DAR_WRITTEN_ENTRIES_PER_STEP), "DAR loading model"),
    Assumption("OPEN-36", "MV_FORMS", "D3, D4", "n of mvd between PDM and DRAM counts the PDM side"),
    Assumption("OPEN-35", "MV_FORMS", "D1", "n of mvd from PDM to L2BM counts one L2BM"),
    Assumption("OPEN-12", "MADPE_RANGE", "0..3", "values of j<madpe>"),
    Assumption("OPEN-11", "BAR_SOURCE_WORD", "D0", "word that feeds a base address register"),
)
