"""Hypothesis strategies: every kind of statement that the grammar allows, with operands of every form."""

from hypothesis import HealthCheck
from hypothesis import strategies as st

from mnc.mncore_backend.assembly.isa import OPCODES, OpcodeInfo, Port, Unit
from mnc.mncore_backend.assembly.records import (
    FIXED_VALUES,
    LATCHES,
    DebugGet,
    DebugOperand,
    DebugSet,
    DramPreset,
    Expression,
    Literal,
    Mask,
    MaskSetting,
    Memory,
    Operand,
    Quit,
    RepeatedNop,
    Step,
    Transfer,
)

ALL_HEALTH_CHECKS = (
    *(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example),
)
WIDTHS = st.sampled_from((1, 2, 4))
PATTERNS = st.text("01", min_size=4, max_size=4)
LONGS = st.integers(0, 2**64 - 1)


@st.composite
def masks(draw: st.DrawFn, checks: bool = True) -> Mask:
    check = draw(st.sampled_from(("", "t", "p"))) if checks else ""
    two_long = draw(st.booleans())
    if draw(st.booleans()):
        return Mask(draw(PATTERNS), None, two_long, check)
    return Mask(None, draw(st.integers(0, 40)), two_long, check)


@st.composite
def pe_memory(draw: st.DrawFn) -> dict[str, object]:
    memory = draw(st.sampled_from((Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)))
    found: dict[str, object] = {"memory": memory, "width": draw(WIDTHS)}
    if draw(st.booleans()):
        found["flat"] = draw(st.tuples(*[st.integers(0, 5000)] * 4))
    else:
        found["address"] = draw(st.integers(0, 5000))
        found["stride"] = draw(st.none() | st.integers(0, 64))
    if memory in (Memory.LM0, Memory.LM1):
        found["t_indirect"] = draw(st.booleans())
        found["pe_offset"] = draw(st.none() | st.integers(0, 9))
    return found


@st.composite
def sources(draw: st.DrawFn) -> Operand:
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return Operand(draw(st.sampled_from(FIXED_VALUES)))
    negate, suffix = draw(st.booleans()), draw(st.sampled_from(("", "e", "r")))
    if kind == 1:
        return Operand(draw(st.sampled_from(LATCHES)), negate=negate, suffix=suffix)
    if kind == 2:
        return Operand(Memory.T, draw(WIDTHS), negate=negate, suffix=suffix)
    return Operand(**draw(pe_memory()), negate=negate, suffix=suffix)  # pyright: ignore[reportArgumentType]


@st.composite
def destinations(draw: st.DrawFn) -> Operand:
    kind = draw(st.integers(0, 4))
    mask = draw(st.none() | masks())
    if kind == 0:
        return Operand(Memory.NOWRITE)
    if kind == 1:
        return Operand(draw(st.sampled_from((Memory.BAR0, Memory.BAR1))), draw(st.sampled_from((1, 2))), mask=mask)
    if kind == 2:
        return Operand(Memory.MASK, 1, draw(st.integers(0, 40)), mask=mask)
    if kind == 3:
        return Operand(Memory.T, draw(WIDTHS), mask=mask)
    return Operand(**draw(pe_memory()), mask=mask)  # pyright: ignore[reportArgumentType]


@st.composite
def banks(draw: st.DrawFn, addressed: bool) -> Operand:
    bank = draw(st.sampled_from((Memory.MATRIX_X, Memory.MATRIX_Y)))
    return Operand(bank, draw(st.sampled_from((2, 4))), draw(st.integers(0, 20)) if addressed else -1)


DESTINATIONS = st.lists(destinations(), min_size=1, max_size=3).map(tuple)
INTEGERS = st.one_of(st.integers(0, 2**33).map(str), st.integers(0, 2**33).map(hex), st.integers(0, 2**33).map(bin))
LITERALS = st.one_of(
    st.builds(
        Literal, st.sampled_from(("f", "h")), st.sampled_from(("1", "-1.0", "0.333", "1e-3", "inf", "-inf", "8388608"))
    ),
    st.builds(Literal, st.sampled_from(("ui", "us")), INTEGERS),
    st.builds(Literal, st.sampled_from(("i", "s")), st.builds(str.__add__, st.sampled_from(("", "+", "-")), INTEGERS)),
)


@st.composite
def calculations(draw: st.DrawFn, info: OpcodeInfo) -> Expression:
    modifier = "r" if info.narrows and draw(st.booleans()) else ""
    block_float = info.precision == "h" and info.operation in ("bfn", "bfe")
    flush = None
    if block_float:
        modifier = f"/{draw(st.integers(6, 9))}"
    elif info.unit is not Unit.MWRITE:
        flush = draw(st.none() | masks(checks=False))
    if info.ports[:1] == (Port.LITERAL,):
        return Expression(info.mnemonic, (), draw(DESTINATIONS), "", flush, draw(LITERALS))
    read = []
    for port in info.ports:
        if port in (Port.MATRIX, Port.ROW):
            read.append(draw(banks(port is Port.ROW)))
        else:
            read.append(draw(sources()))
    written = (draw(banks(True)),) if info.unit is Unit.MWRITE else draw(DESTINATIONS)
    return Expression(info.mnemonic, tuple(read), written, modifier, flush)


L1BM_PLAIN = st.integers(0, 9000).map(lambda a: Operand(Memory.L1BM, 2, a))
L1BM_PORTS = st.one_of(
    st.builds(lambda w, a: Operand(Memory.L1BM, w, a), st.sampled_from((2, 4)), st.integers(0, 9000)),
    st.sampled_from((2, 4)).map(lambda w: Operand(Memory.TURNAROUND, w)),
)
L2BM = st.integers(0, 40000).map(lambda a: Operand(Memory.L2BM, 1, a))
SETS = st.sampled_from(("@0", "@7", "@0/7", "@3/4", "@0,1", "@[0,1]", "@[5]", "@0,1,2,3"))


@st.composite
def l1bm(draw: st.DrawFn, info: OpcodeInfo) -> Expression:
    shift = draw(st.sampled_from(("", "+1", "-15"))) if info.family == "d" else ""
    if "d" in info.directions and draw(st.booleans() if "u" in info.directions else st.just(True)):
        flush = draw(st.none() | masks(checks=False))
        return Expression(info.mnemonic, (draw(L1BM_PORTS),), draw(DESTINATIONS), shift, flush)
    modifier = shift
    if info.operation in ("l1bmm", "l1bmm4"):
        modifier = f"@{draw(st.integers(0, 20))}"
    elif info.narrows:
        modifier = draw(st.sampled_from(("", "r")))
    return Expression(info.mnemonic, (draw(sources()),), (draw(L1BM_PORTS),), modifier)


@st.composite
def l2bm(draw: st.DrawFn, info: OpcodeInfo) -> Expression:
    name = info.operation
    if name == "l2bmdars":
        staged = Operand(Memory.L2BM, 1, draw(st.integers(0, 40000)), l2b=draw(st.integers(0, 3)))
        return Expression(name, (staged,), (Operand(Memory.DAR, 1, draw(st.integers(0, 2000))),))
    if name == "l2bm":
        return Expression(name, (draw(L1BM_PLAIN),), (draw(L2BM),), f"@{draw(st.integers(0, 9))}")
    if name == "l2bmi":
        return Expression(name, (draw(L1BM_PLAIN),), (draw(L1BM_PLAIN),), draw(SETS))
    down = info.directions == "d" or (info.directions == "du" and draw(st.booleans()))
    sets = st.just("") if name == "l2bmr2" or (name == "l2bmd" and not down) else SETS | st.just("")
    pair = (L2BM, L1BM_PLAIN) if down else (L1BM_PLAIN, L2BM)
    return Expression(info.mnemonic, (draw(pair[0]),), (draw(pair[1]),), draw(sets))


@st.composite
def expressions_of(draw: st.DrawFn, info: OpcodeInfo) -> Expression:
    """Expressions of one opcode."""
    if info.unit is Unit.WAIT:
        return Expression("wait", tag=draw(st.integers(0, 255)))
    if info.unit in (Unit.NOP, Unit.NOFORWARD, Unit.L2BMDARW):
        return Expression(info.mnemonic)
    if info.unit is Unit.L1BM:
        return draw(l1bm(info))
    return draw(l2bm(info) if info.unit is Unit.L2BM else calculations(info))


def expressions() -> st.SearchStrategy[Expression]:
    """Expressions of every opcode."""
    names = [m for m, i in OPCODES.items() if i.unit is not Unit.MV]
    return st.sampled_from(names).flatmap(lambda name: expressions_of(OPCODES[name]))


@st.composite
def mv_operands(draw: st.DrawFn) -> Operand:
    memory = draw(st.sampled_from((Memory.PDM, Memory.DRAM, Memory.DRAM_INDIRECT, Memory.L2BM)))
    address, group = draw(st.integers(0, 2**30)), draw(st.none() | st.integers(0, 4))
    if memory is not Memory.L2BM:
        return Operand(memory, 1, address, group=group)
    l2b = draw(st.none() | st.integers(0, 2))
    return Operand(memory, 1, address, group=None if l2b is None else group, l2b=l2b)


MV_OPCODES = [m for m, i in OPCODES.items() if i.unit is Unit.MV]


@st.composite
def transfers(draw: st.DrawFn, opcodes: list[str] = MV_OPCODES) -> Transfer:
    opcode = draw(st.sampled_from(opcodes))
    if opcode == "mvnop":
        return Transfer("mvnop")
    tag, repeat = draw(st.none() | st.integers(0, 255)), draw(st.none() | st.integers(1, 9))
    priority = draw(st.none() | st.integers(0, 3))
    return Transfer(
        opcode, draw(st.integers(0, 10**6)), draw(mv_operands()), draw(mv_operands()), tag, repeat, priority
    )


@st.composite
def debug_operands(draw: st.DrawFn) -> DebugOperand:
    levels = {Memory.PDM: 1, Memory.DRAM: 1, Memory.L2BM: 2, Memory.L1BM: 3, Memory.MATRIX_X: 4, Memory.MATRIX_Y: 4}
    others = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1, Memory.T, Memory.MASK)
    memory = draw(st.sampled_from((*levels, *others)))
    if memory in (Memory.PDM, Memory.DRAM, Memory.L2BM, Memory.MASK):
        width = 1
    else:
        two_or_four = memory in (Memory.L1BM, Memory.MATRIX_X, Memory.MATRIX_Y)
        width = draw(st.sampled_from((2, 4)) if two_or_four else WIDTHS)
    limits = (4, 2, 8, 16, 4)
    n, c, b, m, p = (
        draw(st.none() | st.integers(0, limit - 1)) if i < levels.get(memory, 5) else None
        for i, limit in enumerate(limits)
    )
    address = 0 if memory is Memory.T else draw(st.integers(0, 5000))
    return DebugOperand(memory, width, address, (n, c, b, m, p))


PAYLOADS = st.lists(LONGS, min_size=1, max_size=4).map(tuple)
STEPS = st.lists(expressions(), min_size=1, max_size=4).map(lambda e: Step(tuple(e)))
MASK_SETTINGS = st.builds(
    lambda letters, entry, width: MaskSetting("".join(letters), entry, width == "ll", width),
    st.lists(st.sampled_from("rstmnk"), unique=True),
    st.integers(0, 40),
    st.sampled_from(("", "l", "ll")),
)
DEBUG_STATEMENTS = st.one_of(
    st.builds(
        DebugGet, st.sampled_from(("", "d", "f", "h", "bd", "bf", "bg", "bh")), debug_operands(), st.integers(0, 99)
    ),
    st.builds(DebugSet, debug_operands(), st.integers(0, 99), PAYLOADS),
    st.builds(DramPreset, st.integers(0, 3), st.integers(0, 16**9 - 1), PAYLOADS),
)
NOPS = st.builds(RepeatedNop, st.integers(1, 999))
STATEMENTS = st.one_of(STEPS, transfers(), NOPS, MASK_SETTINGS, st.just(Quit()), DEBUG_STATEMENTS)
EXECUTED = st.one_of(STEPS, STEPS, STEPS, STEPS, STEPS, STEPS, transfers(), MASK_SETTINGS, DEBUG_STATEMENTS)
