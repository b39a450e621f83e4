"""The opcode table: what a mnemonic is, which unit runs it, what it reads and what it produces.

`lookup("gmfma")`, `lookup("uilsr")`, `lookup("l1bmrffadd")`, `lookup("mvr4dfadd")` give an `OpcodeInfo`. Mnemonics
are taken as records hold them, without suffixes (the ``r`` of an opcode, ``@k``, ``+n``, ``/n`` are
`Expression.modifier`); `split_mnemonic` takes a mnemonic as written in the text, with its ``r``.
"""

from dataclasses import replace
from functools import cache

from mnc.mncore_backend.assembly.opcode_info import (
    ELEMENT_BITS,
    FLOAT_PRECISIONS,
    INTEGER_PRECISIONS,
    Flag,
    OpcodeInfo,
    Port,
    Unit,
)
from mnc.mncore_backend.target import chip

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


# operation -> (precisions, inputs); SDM 3.6.9
_MAU: dict[str, tuple[str, tuple[Port, ...]]] = {
    "mfma": ("dfgh", (Port.MATRIX, Port.VECTOR, Port.ADDEND)),
    "mmul": ("dfgh", (Port.MATRIX, Port.VECTOR)),
    "vfma": ("dfh", (Port.PRODUCT, Port.PRODUCT, Port.ADDEND)),
    "vmul": ("dfh", (Port.PRODUCT, Port.PRODUCT)),
    "vadd": ("dfh", (Port.PRODUCT, Port.ADDEND)),
    "vpassa": ("dfh", (Port.PRODUCT,)),
}
_MAU_RESULTS = {"d": 1, "f": 2, "g": 2, "h": 4}  # elements per cycle, each with its flag


def _mau() -> dict[str, OpcodeInfo]:
    """Matrix-vector and vector operations; those of doubles that multiply come in halves ``u`` and ``d``."""
    table: dict[str, OpcodeInfo] = {}
    rows = [(o, p, ports) for o, (precisions, ports) in _MAU.items() for p in precisions]
    for operation, p, ports in rows:
        out = 4 if p == "h" else 2
        width_of = {Port.MATRIX: 0, Port.VECTOR: 1 if p == "f" else 2, Port.PRODUCT: 2, Port.ADDEND: out}
        for half in "ud" if p == "d" and operation not in ("vadd", "vpassa") else ("",):
            table[p + operation + half] = OpcodeInfo(
                p + operation + half,
                Unit.MAU,
                operation,
                p,
                half=half,
                ports=ports,
                widths=tuple(width_of[port] for port in ports),
                result_words=out,
                flags=_MAU_RESULTS[p],
                flag=Flag.SIGN_CLEAR,
                narrows=True,
            )
    return table


def _matrix() -> dict[str, OpcodeInfo]:
    """Matrix writes and transposed reads (SDM 3.6.10, 3.6.11)."""
    table: dict[str, OpcodeInfo] = {}
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
    for family in chip().l1bm_families:
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
        family = operation if operation in chip().l2bm_families else ""
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


OPCODES: dict[str, OpcodeInfo] = {**_control(), **_alu(), **_mau(), **_matrix(), **_transfers()}


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


__all__ = [
    "ELEMENT_BITS",
    "FLOAT_PRECISIONS",
    "INTEGER_PRECISIONS",
    "OPCODES",
    "REDUCTIONS",
    "TWO_LONG_ALU",
    "Flag",
    "OpcodeInfo",
    "Port",
    "Unit",
    "UnknownOpcode",
    "lookup",
    "split_mnemonic",
]
