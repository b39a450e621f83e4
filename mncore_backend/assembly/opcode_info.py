"""What is known of one opcode; `isa` holds the table of all of them."""

from dataclasses import dataclass
from enum import StrEnum


class Unit(StrEnum):
    """Issue groups of a step (summary 7.1.1), plus MV. An L1BM->PE transfer that reads the turnaround register
    belongs to `TURNAROUND`; that is decided by its operand, see `accesses.issue_group`."""

    NOP = "nop"
    NOFORWARD = "noforward"
    WAIT = "wait"
    L2BM = "l2bm"
    L2BMDARW = "l2bmdarw"
    L1BM = "l1bm"
    TURNAROUND = "l1bm-turnaround"
    MAU = "mau-calc"
    MWRITE = "mau-mwrite"
    MREAD = "mau-mread"
    ALU = "alu"
    MV = "mv"


class Port(StrEnum):
    """Kind of a source position: what may stand there."""

    ALU_X = "first ALU input"  # PE memory, any latch, fixed value; r where halves are expected
    ALU_Y = "second ALU input"  # PE memory, mauf, aluf, lbf
    LITERAL = "immediate"
    MATRIX = "matrix bank"  # $lx or $ly without address
    VECTOR = "matrix-vector input"  # - allowed, no e, no r
    PRODUCT = "product input"  # - and e (OPEN-32) allowed, r where halves are expected
    ADDEND = "addend"  # - and e allowed
    WRITE = "matrix write source"  # - and e (OPEN-32), r where halves are expected
    ROW = "matrix bank with address"
    PE = "PE source of a transfer"
    L1BM = "L1BM address"
    L2BM = "L2BM address"
    MV = "MV operand"


class Flag(StrEnum):
    """What the flags say that an ``$omr`` destination receives (summary 5.3)."""

    NONE = ""
    SIGN_CLEAR = "sign bit of the result is 0"
    ZERO = "result element is all zero"
    NON_NEGATIVE = "result is non-negative"  # OPEN-18: top bit of the wrapped result is 0
    NO_CARRY = "no carry or borrow"
    X_BIT = "bit `flag_bit` (0 = MSB) of x is 0"
    X_SELECTED = "x was selected or equals y"
    Y_SIGN = "MSB of y is 0"


@dataclass(frozen=True, slots=True)
class OpcodeInfo:
    """One opcode.

    operation     the opcode without precision, ``u``/``d`` and reduction: passa, vfma, mmul, mwrite, l1bmr, l2bmb,
    mvp... precision     d f g h (float), l i s (integer) or "" (none); of reductions: the lane type
    element_bits  width of one element of that precision, 0 without precision
    unsigned      leading ``u``
    half          ``u`` or ``d`` of the double MAU operations that run on two of four PEs or rows
    reduction     name of the reduction after the lane type: fadd max min iadd band and bor or
    ports         what stands at each source position, in order
    widths        words consumed per cycle at each source position, without ``e``/``r`` (0: not a PE-side access)
    result_words  words produced per cycle before narrowing to the destination; halved by the opcode suffix ``r``
    flags         results per cycle that raise a flag: 1, 2 or 4, 0 if none
    narrows       the opcode suffix ``r`` exists
    family        key of machine.L1BM_FAMILIES or machine.L2BM_FAMILIES
    directions    of L1BM and L2BM transfers: d down (towards the PEs), u up, du both, i inside L1BM
    """

    mnemonic: str
    unit: Unit
    operation: str
    precision: str = ""
    unsigned: bool = False
    half: str = ""
    reduction: str = ""
    ports: tuple[Port, ...] = ()
    widths: tuple[int, ...] = ()
    result_words: int = 0
    flags: int = 0
    flag: Flag = Flag.NONE
    flag_bit: int = 0
    narrows: bool = False
    family: str = ""
    directions: str = ""

    @property
    def sources(self) -> int:
        return len(self.ports)

    @property
    def element_bits(self) -> int:
        return ELEMENT_BITS.get(self.precision, 0)

    @property
    def is_float(self) -> bool:
        return self.precision in FLOAT_PRECISIONS

    @property
    def half_inputs(self) -> bool:
        """Normal halves are expected at ALU inputs, products or the matrix write source, so ``r`` may stand there."""
        return self.precision == "h" and self.operation not in ("mfma", "mmul")


FLOAT_PRECISIONS = "dfgh"
INTEGER_PRECISIONS = "lis"
ELEMENT_BITS = {"d": 64, "l": 64, "f": 32, "g": 32, "i": 32, "h": 16, "s": 16}
