"""Records of assembly statements: one frozen dataclass per kind of statement, shared by parser, printer, checker,
emulator and code generator. They hold what the text says and nothing else: no semantics, no machine state.

Address units follow the text: words (32 bit) in PE memories, long words (64 bit) in L1BM, L2BM, PDM and DRAM.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Memory(StrEnum):
    """What an operand names; the value is the letter(s) printed after ``$`` and the width prefix."""

    LM0 = "m"
    LM1 = "n"
    GRF0 = "r"
    GRF1 = "s"
    T = "t"
    BAR0 = "mb"  # base address register of LM0, write only
    BAR1 = "nb"
    MASK = "omr"  # mask register as a destination; `address` is the entry
    L1BM = "lb"
    TURNAROUND = "lbi"  # the L1BM turnaround register ($lbi / $llbi)
    L2BM = "lc"
    PDM = "p"
    DRAM = "d"
    DRAM_INDIRECT = "di"
    DAR = "dar"
    MATRIX_X = "x"
    MATRIX_Y = "y"
    MAUF = "mauf"
    ALUF = "aluf"
    LBF = "lbf"
    MREADF = "mreadf"
    NOWRITE = "nowrite"
    L2BID = "l2bid"
    L1BID = "l1bid"
    MABID = "mabid"
    PEID = "peid"
    SUBPEID = "subpeid"
    MSB1 = "msb1"

    __hash__ = str.__hash__  # that of enumerations is a Python function, and tables by operand are everywhere


PE_MEMORIES = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1, Memory.T)
LATCHES = (Memory.MAUF, Memory.ALUF, Memory.LBF, Memory.MREADF)
FIXED_VALUES = (Memory.L2BID, Memory.L1BID, Memory.MABID, Memory.PEID, Memory.SUBPEID, Memory.MSB1)


@dataclass(frozen=True, slots=True)
class Mask:
    """A write mask or zero-flush mask: ``/1000``, ``/ll0111``, ``/$imr3``, ``/$llimr3``, optional ``t``/``p``."""

    pattern: str | None = None  # four digits, cycle 0 first
    entry: int | None = None  # mask register entry, for $imr<n>
    two_long: bool = False  # mask word length "ll"
    check: str = ""  # "", "t" or "p" (OPEN-17)


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand as written.

    width   1, 2 or 4 words: no prefix, ``l``, ``ll``. Memories without a width (latches, T, fixed values, PDM...)
            keep what the text said (T) or 1.
    address first address (words or long words), entry number of MASK/DAR, row or column of a matrix bank;
            -1 for a bank without address ($lx as a matrix-vector operand).
    stride  None: no ``v``; otherwise words per cycle (``v`` alone = the width).
    flat    per-cycle addresses ``[a,b,c,d]``; then address and stride are unused.
    """

    memory: Memory
    width: int = 1
    address: int = 0
    stride: int | None = None
    flat: tuple[int, int, int, int] | None = None
    t_indirect: bool = False  # $lmt...
    pe_offset: int | None = None  # j<madpe>
    group: int | None = None  # @g of PDM/DRAM, g of L2BM @g.l
    l2b: int | None = None  # l of L2BM @g.l or @.l
    negate: bool = False  # leading "-"
    suffix: str = ""  # "", "e" (widen) or "r" (narrow)
    mask: Mask | None = None  # write mask, destinations only
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Worked out once: the same record is looked up in many tables."""
        if not self._hash:
            own = (self.memory, self.width, self.address, self.stride, self.flat, self.t_indirect, self.pe_offset)
            found = hash((*own, self.group, self.l2b, self.negate, self.suffix, self.mask))
            object.__setattr__(self, "_hash", found)
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        """Hashes of texts differ from process to process: they do not travel."""
        own = (self.memory, self.width, self.address, self.stride, self.flat, self.t_indirect, self.pe_offset)
        return Operand, (*own, self.group, self.l2b, self.negate, self.suffix, self.mask)

    def addresses(self) -> tuple[int, int, int, int]:
        """Static word addresses of cycles 0..3, before BAR, T and j."""
        if self.flat is not None:
            return self.flat
        step = self.stride or 0
        return (self.address, self.address + step, self.address + 2 * step, self.address + 3 * step)


@dataclass(frozen=True, slots=True)
class Literal:
    """Immediate of ``imm``/``immu``: kind f, h, i, s, ui or us, and the text between the quotes."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression of a PE statement.

    opcode     the mnemonic without suffixes: ``gmfma``, ``ilsl``, ``l1bmd``, ``l1bmrffadd``, ``l2bmb``, ``wait``...
    modifier   what follows the mnemonic and is not a zero-flush mask: ``@3``, ``@0/7``, ``+1``, ``/9`` (hbfn), ``r``
               (opcode suffix of MAU operations and of f reductions); "" if none.
    """

    opcode: str
    sources: tuple[Operand, ...] = ()
    destinations: tuple[Operand, ...] = ()
    modifier: str = ""
    zero_flush: Mask | None = None
    literal: Literal | None = None
    tag: int | None = None  # wait
    _hash: int = field(default=0, init=False, repr=False, compare=False)
    _form: tuple[Any, tuple[int, ...]] = field(init=False, repr=False, compare=False)  # once it is known: see `shapes`

    def __hash__(self) -> int:
        """Worked out once, as that of operands."""
        if not self._hash:
            own = (self.opcode, self.sources, self.destinations, self.modifier)
            object.__setattr__(self, "_hash", hash((*own, self.zero_flush, self.literal, self.tag)))
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        """Without the hash."""
        own = (self.opcode, self.sources, self.destinations, self.modifier)
        return Expression, (*own, self.zero_flush, self.literal, self.tag)


@dataclass(frozen=True, slots=True)
class Step:
    """A PE statement: expressions issued together. ``nop`` alone is a Step with the opcode ``nop``."""

    expressions: tuple[Expression, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class RepeatedNop:
    """``nop/<count>``: count steps."""

    count: int
    line: int = 0


@dataclass(frozen=True, slots=True)
class Transfer:
    """An MV statement. opcode is ``mvp``, ``mvb``, ``mvb2``, ``mvb4``, ``mvd``, ``mvr<op>``, ``mvr2<op>``, ``mvr4<op>``
    or ``mvnop`` (then everything else is empty). size counts long words as the form defines."""

    opcode: str
    size: int = 0
    source: Operand | None = None
    destination: Operand | None = None
    tag: int | None = None
    repeat: int | None = None  # nd<N>
    priority: int | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class MaskSetting:
    """``mask[l|ll][rstmnk] <entry>``: default write masks of the lines that follow."""

    kinds: str
    entry: int
    two_long: bool = False
    width_written: str = ""  # "", "l" or "ll", to print back what was read
    line: int = 0


@dataclass(frozen=True, slots=True)
class Quit:
    line: int = 0


@dataclass(frozen=True, slots=True)
class DebugOperand:
    """Memory operand of a debug statement with its scope n, c, b, m, p (None: all)."""

    memory: Memory
    width: int
    address: int
    scope: tuple[int | None, int | None, int | None, int | None, int | None] = (None, None, None, None, None)


@dataclass(frozen=True, slots=True)
class DebugGet:
    dtype: str  # "", d, f, h, bd, bf, bg, bh
    operand: DebugOperand
    count: int
    line: int = 0


@dataclass(frozen=True, slots=True)
class DebugSet:
    operand: DebugOperand
    count: int
    payload: tuple[int, ...]  # 64-bit long words
    line: int = 0


@dataclass(frozen=True, slots=True)
class DramPreset:
    """``r <group> <address, 9 hex digits> <count, 3 hex digits> <payload>``: presets DRAM in test cases (programs)."""

    group: int
    address: int
    payload: tuple[int, ...]  # 64-bit long words
    line: int = 0


Statement = Step | RepeatedNop | Transfer | MaskSetting | Quit | DebugGet | DebugSet | DramPreset
