"""The opcode table: what a mnemonic is, which unit runs it, what it reads and what it produces.

`lookup("gmfma")`, `lookup("uilsr")`, `lookup("l1bmrffadd")`, `lookup("mvr4dfadd")` give an `OpcodeInfo`. Mnemonics
are taken as records hold them, without suffixes (the ``r`` of an opcode, ``@k``, ``+n``, ``/n`` are
`Expression.modifier`); `split_mnemonic` takes a mnemonic as written in the text, with its ``r``.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from mnc.mncore_backend import machine


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

    @property
    def is_calculation(self) -> bool:
        """Produces a result for a forwarding latch and destinations in the PE (ALU, MAU, mread)."""
        return self.unit in (Unit.ALU, Unit.MAU, Unit.MREAD)


FLOAT_PRECISIONS = "dfgh"
INTEGER_PRECISIONS = "lis"
ELEMENT_BITS = {"d": 64, "l": 64, "f": 32, "g": 32, "i": 32, "h": 16, "s": 16}
_FLOAT = "dfh"
_ALL = "dfhlis"

# operation -> (precisions, precisions with u, inputs, flag); SDM 3.6.12, summary 7.8
_ALU: dict[str, tuple[str, str, int, Flag]] = {
    "passa": (_ALL, "", 1, Flag.ZERO),
    "inc": ("lis", "lis", 1, Flag.NON_NEGATIVE),
    "dec": ("lis", "lis", 1, Flag.NON_NEGATIVE),
    "not": ("lis", "", 1, Flag.ZERO),
    "lnot": ("lis", "", 1, Flag.ZERO),
    "rsqrt": (_FLOAT, "", 1, Flag.X_BIT),
    "floor": (_FLOAT, "", 1, Flag.NONE),
    "ftoi": (_FLOAT, _FLOAT, 1, Flag.NONE),
    "max": (_ALL, "lis", 2, Flag.X_SELECTED),
    "min": (_ALL, "lis", 2, Flag.X_SELECTED),
    "packbit": (_ALL, "", 2, Flag.Y_SIGN),
    "and": ("lis", "", 2, Flag.ZERO),
    "or": ("lis", "", 2, Flag.ZERO),
    "xor": ("lis", "", 2, Flag.ZERO),
    "add": ("lis", "lis", 2, Flag.NON_NEGATIVE),
    "sub": ("lis", "lis", 2, Flag.NON_NEGATIVE),
    "lsl": ("lis", "", 2, Flag.ZERO),
    "lsr": ("lis", "lis", 2, Flag.ZERO),
    "bsl": ("lis", "", 2, Flag.ZERO),
    "bsr": ("lis", "", 2, Flag.ZERO),
    "relu": (_FLOAT, "", 2, Flag.X_BIT),
    "relu0": (_FLOAT, "", 2, Flag.X_BIT),
    "relu1": (_FLOAT, "", 2, Flag.X_BIT),
    "relu2": (_FLOAT, "", 2, Flag.X_BIT),
    "relu3": (_FLOAT, "", 2, Flag.X_BIT),
    "lrelud": (_FLOAT, "", 2, Flag.X_BIT),
    "lreluo": (_FLOAT, "", 2, Flag.X_BIT),
    "ilrelud": (_FLOAT, "", 2, Flag.X_BIT),
}
_CARRY_OPERATIONS = ("inc", "dec", "add", "sub")
# Words of D0.. that the operation uses: all four for the 2-long operations, the MSB long for the others (SDM 3.6.12).
TWO_LONG_ALU = ("zero", "imm", "immu", "passa", "hbfn", "hbfe")

REDUCTIONS = {
    **{p + r: (p, r) for p in _FLOAT for r in ("fadd", "max", "min")},
    **{p + r: (p, r) for p in INTEGER_PRECISIONS for r in ("iadd", "band", "and", "bor", "or")},
}


def _alu() -> dict[str, OpcodeInfo]:
    table = {"zero": OpcodeInfo("zero", Unit.ALU, "zero", result_words=4)}
    for name in ("imm", "immu"):
        table[name] = OpcodeInfo(name, Unit.ALU, name, ports=(Port.LITERAL,), widths=(0,), result_words=4)
    for name in ("msl", "msr"):
        table[name] = OpcodeInfo(name, Unit.ALU, name, ports=(Port.ALU_X,), widths=(4,), result_words=4)
    for p, operation in (("d", "bfn"), ("f", "bfn"), ("g", "bfn"), ("h", "bfn"), ("h", "bfe")):
        width = 4 if p == "h" else 2
        info = OpcodeInfo(p + operation, Unit.ALU, operation, p, ports=(Port.ALU_X,), widths=(width,), result_words=4)
        table[info.mnemonic] = info
    for operation, (plain, unsigned, inputs, flag) in _ALU.items():
        width = 4 if operation == "passa" else 2
        for u, p in [*(("", p) for p in plain), *(("u", p) for p in unsigned)]:
            carry = u == "u" and operation in _CARRY_OPERATIONS
            table[u + p + operation] = OpcodeInfo(
                u + p + operation,
                Unit.ALU,
                operation,
                p,
                unsigned=u == "u",
                ports=(Port.ALU_X, Port.ALU_Y)[:inputs],
                widths=(width, width)[:inputs],
                result_words=4,
                flags=64 // ELEMENT_BITS[p] if flag is not Flag.NONE else 0,
                flag=Flag.NO_CARRY if carry else flag,
                flag_bit=int(operation[-1]) if operation[-1] in "123" else 0,
            )
    return table


def _mau() -> dict[str, OpcodeInfo]:
    """SDM 3.6.9: inputs and widths of matrix-vector and vector operations."""
    table: dict[str, OpcodeInfo] = {}
    shapes = {
        "fma": (Port.PRODUCT, Port.PRODUCT, Port.ADDEND),
        "mul": (Port.PRODUCT, Port.PRODUCT),
        "add": (Port.PRODUCT, Port.ADDEND),
        "passa": (Port.PRODUCT,),
    }
    for p in "dfgh":
        for kind in "mv":
            for suffix, vector_ports in shapes.items():
                if (kind == "m" and suffix not in ("fma", "mul")) or (kind == "v" and p == "g"):
                    continue
                ports = vector_ports
                if kind == "m":
                    ports = (Port.MATRIX, Port.VECTOR, Port.ADDEND)[: 3 if suffix == "fma" else 2]
                out = 4 if p == "h" else 2
                width_of = {Port.MATRIX: 0, Port.VECTOR: 1 if p == "f" else 2, Port.PRODUCT: 2, Port.ADDEND: out}
                info = OpcodeInfo(
                    p + kind + suffix,
                    Unit.MAU,
                    kind + suffix,
                    p,
                    ports=ports,
                    widths=tuple(width_of[port] for port in ports),
                    result_words=out,
                    flags={"d": 1, "f": 2, "g": 2, "h": 4}[p],
                    flag=Flag.SIGN_CLEAR,
                    narrows=True,
                )
                halves = "ud" if p == "d" and suffix in ("fma", "mul") else ("",)
                for half in halves:
                    table[info.mnemonic + half] = replace(info, mnemonic=info.mnemonic + half, half=half)
    for p in "dfgh":
        words = 4 if p == "h" else 2
        table[p + "mwrite"] = OpcodeInfo(p + "mwrite", Unit.MWRITE, "mwrite", p, ports=(Port.WRITE,), widths=(2,))
        table[p + "mread"] = OpcodeInfo(
            p + "mread", Unit.MREAD, "mread", p, ports=(Port.ROW,), widths=(0,), result_words=words
        )
    return table


def _transfers() -> dict[str, OpcodeInfo]:
    """SDM 3.6.7, 3.6.8, 3.5.8."""
    table: dict[str, OpcodeInfo] = {}
    for family in machine.L1BM_FAMILIES:
        directions = "d" if family == "p" else "du"
        info = OpcodeInfo("l1bm" + family, Unit.L1BM, "l1bm" + family, family=family, directions=directions)
        table[info.mnemonic] = replace(info, ports=(Port.L1BM,) if family == "p" else (Port.PE,), widths=(0,))
    for operation, directions, port in (
        ("l2bmb", "d", Port.L2BM),
        ("l2bmb2", "d", Port.L2BM),
        ("l2bmd", "du", Port.L2BM),
        ("l2bm", "u", Port.L1BM),
        ("l2bmi", "i", Port.L1BM),
        ("l2bmdars", "", Port.L2BM),
    ):
        family = operation if operation in machine.L2BM_FAMILIES else ""
        table[operation] = OpcodeInfo(
            operation, Unit.L2BM, operation, ports=(port,), widths=(0,), family=family, directions=directions
        )
    table["l2bmdarw"] = OpcodeInfo("l2bmdarw", Unit.L2BMDARW, "l2bmdarw")
    for name in ("mvp", "mvd", "mvb", "mvb2", "mvb4"):
        table[name] = OpcodeInfo(name, Unit.MV, name, ports=(Port.MV,), widths=(0,))
    table["mvnop"] = OpcodeInfo("mvnop", Unit.MV, "mvnop")
    reducing = {
        "l1bmr": OpcodeInfo("", Unit.L1BM, "l1bmr", ports=(Port.PE,), widths=(0,), family="m", directions="u"),
        "l1bmr4": OpcodeInfo("", Unit.L1BM, "l1bmr4", ports=(Port.PE,), widths=(0,), family="m4", directions="u"),
        "l2bmr": OpcodeInfo("", Unit.L2BM, "l2bmr", ports=(Port.L1BM,), widths=(0,), family="l2bmr", directions="u"),
        "l2bmr2": OpcodeInfo("", Unit.L2BM, "l2bmr2", ports=(Port.L1BM,), widths=(0,), family="l2bmr2", directions="u"),
        **{n: OpcodeInfo("", Unit.MV, n, ports=(Port.MV,), widths=(0,)) for n in ("mvr", "mvr2", "mvr4")},
    }
    for prefix, info in reducing.items():
        for name, (lane, reduction) in REDUCTIONS.items():
            narrows = prefix.startswith("l1bm") and lane == "f"
            table[prefix + name] = replace(
                info, mnemonic=prefix + name, precision=lane, reduction=reduction, narrows=narrows
            )
    return table


def _control() -> dict[str, OpcodeInfo]:
    return {
        name: OpcodeInfo(name, unit, name)
        for name, unit in (("nop", Unit.NOP), ("noforward", Unit.NOFORWARD), ("wait", Unit.WAIT))
    }


OPCODES: dict[str, OpcodeInfo] = {**_control(), **_alu(), **_mau(), **_transfers()}


class UnknownOpcode(KeyError):
    """No opcode has this mnemonic."""


def lookup(mnemonic: str) -> OpcodeInfo:
    """The opcode of a mnemonic without suffixes; raises `UnknownOpcode`."""
    try:
        return OPCODES[mnemonic]
    except KeyError:
        raise UnknownOpcode(mnemonic) from None


@cache
def split_mnemonic(text: str) -> tuple[OpcodeInfo, str]:
    """The opcode and ``r`` or "" of a mnemonic as written, such as ``hvmulr``, ``dvmulur`` (OPEN-06), ``l1bmrffaddr``.
    ``l1bmrlor`` is the reduction ``lor``, not a suffix. Raises `UnknownOpcode`."""
    info = OPCODES.get(text)
    if info is not None:
        return info, ""
    if text.endswith("r"):
        info = OPCODES.get(text[:-1])
        if info is not None and info.narrows:
            return info, "r"
    raise UnknownOpcode(text)
