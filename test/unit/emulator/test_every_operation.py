"""Every operation of the instruction table on the machine and in the slow definitions, on constructed hard cases.

A new opcode fails `test_no_operation_is_left_out` until it is compared here or named as a move with a mapping test.
"""

import random

import numpy as np
import pytest
from numerics_cases import pairs_of_specials, reduction_inputs, triples

from mnc.mncore_backend.assembly.isa import OPCODES, OpcodeInfo, Port, Unit
from mnc.mncore_backend.assembly.parser import parse_program
from mnc.mncore_backend.assembly.records import Memory, Step
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.emulator.numerics import rrn
from mnc.mncore_backend.emulator.numerics.formats import FORMATS, LANE_BITS, join
from mnc.mncore_backend.emulator.numerics.formats import elements as split_long

from .reference import Reference

CALCULATED = [m for m, i in OPCODES.items() if i.unit in (Unit.ALU, Unit.MAU, Unit.MWRITE, Unit.MREAD)]
REDUCED = [m for m, i in OPCODES.items() if i.reduction]
# What only moves bits is compared address by address in the tests of transfers.
MOVES = {
    "test_l1bm_transfers": {"l1bmp", "l1bmm", "l1bmm4", "l1bmd"},
    "test_l2bm_transfers": {"l2bmb", "l2bmb2", "l2bmd", "l2bm", "l2bmi", "l2bmdars", "l2bmdarw"},
    "test_mv_transfers": {"mvp", "mvd", "mvb", "mvb2", "mvb4", "mvnop"},
    "test_masks_and_latches": {"nop", "noforward", "wait"},
}
MABS = 4  # compared; every MAB of the chip computes
LONGS = 8  # per PE: two in each cycle


def test_no_operation_is_left_out() -> None:
    moves = set[str]().union(*MOVES.values())
    assert set(CALCULATED) | set(REDUCED) | moves == set(OPCODES)


# ---- calculations ----


def hard_longs(precision: str, rng: random.Random, count: int) -> list[tuple[int, int, int]]:
    """Longs x, y and addends z (elements of the accumulator) whose elements are hard for products and sums."""
    letter = precision if precision in FORMATS else "f"
    form = FORMATS[letter]
    bits = LANE_BITS[precision or "l"]
    per_long = 64 // bits
    if precision in ("l", "i", "s"):
        corners = [0, 1, 2, bits, bits + 1, 2 * bits - 1, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1]
        pick = lambda: rng.choice([*corners, rng.getrandbits(bits), rng.getrandbits(bits)])  # noqa: E731
        cases = [(pick(), pick(), pick()) for _ in range(count * per_long)]
    else:
        cases = triples(form, count=60, seed=rng.getrandbits(16))
        cases += [(a, b, rng.getrandbits(form.bits)) for a, b in pairs_of_specials(form)]
        cases = [rng.choice(cases) for _ in range(count * per_long)]
    wide = 32 if letter == "h" else bits
    longs = []
    for first in range(0, count * per_long, per_long):
        a, b, c = zip(*cases[first : first + per_long], strict=True)
        longs.append((join(list(a), bits), join(list(b), bits), join([x % (1 << wide) for x in c[: 64 // wide]], wide)))
    return longs


def bank_program(precision: str) -> list[str]:
    """Lines that fill bank x with block-float rows and leave a block-float vector in $aluf."""
    count = {"d": 1, "f": 2, "g": 2, "h": 4}[precision]
    convert = "hbfn/9" if precision == "h" else f"{precision}bfn"
    wide = "ll" if precision == "h" else "l"
    lines = []
    for i in range(count):
        lines += [f"{convert} ${wide}m{4 * i % 8}v4 $nowrite", f"{precision}mwrite $aluf $lx{4 * i}"]
    return [*lines, f"{convert} ${wide}n0v4 $nowrite"]


def programs(info: OpcodeInfo) -> list[str]:
    """The operation with every form that changes its arithmetic: r on the opcode, r and e on inputs, flags."""
    name, precision = info.mnemonic, info.precision
    flags = " $omr3" if info.flag else ""
    if info.unit is Unit.MWRITE or info.unit is Unit.MREAD:
        column = "$llx" if precision == "h" else "$lx"
        return ["\n".join([*bank_program(precision)[:-1], f"{precision}mread {column}{c} $lls0v"]) for c in (0, 2)]
    if info.ports[:1] == (Port.LITERAL,):
        literals = ('i"-3"', 'ui"0x40180000"', 's"-2"', 'us"0b101"', 'f"1.5"', 'h"-2"')
        return [f"{name} {literal} $lls0v" for literal in literals]
    bits = [f"/{n}" for n in range(6, 10)] if precision == "h" and info.operation in ("bfn", "bfe") else [""]
    operand = {Port.ALU_X: "$llm0v4", Port.ALU_Y: "$lln0v4", Port.MATRIX: "$lx", Port.VECTOR: "$aluf"}
    addend = "$llr0v4" if precision == "h" else "$lr0v4"
    products = iter(("$lm0v4", "$ln0v4"))
    inputs = [operand.get(p) or (addend if p is Port.ADDEND else next(products)) for p in info.ports]
    head = bank_program(precision) if Port.MATRIX in info.ports else []
    lines = [f"{name}{n} {' '.join(inputs)} $lls0v{flags}" for n in bits]
    if info.narrows:
        lines.append(f"{name}r {' '.join(inputs)} $lls0v{flags}")
    if info.half_inputs and Port.MATRIX not in info.ports:
        wide = [x.replace("$lm", "$llm").replace("$ln", "$lln") for x in inputs]
        narrowed = [x if x == addend else f"{x}r" for x in wide]
        lines.append(f"{name}{bits[-1]} {' '.join(narrowed)} $lls0v{flags}")
    if Port.ADDEND in info.ports:
        widened = [f"{'$lr0v4' if precision == 'h' else '$r0v4'}e" if x == addend else f"-{x}" for x in inputs]
        lines.append(f"{name} {' '.join(widened)} $lls0v{flags}".replace("-$lx", "$lx"))
    return ["\n".join([*head, line]) for line in lines]


@pytest.mark.parametrize("opcode", CALCULATED)
def test_calculation(machine: Machine, opcode: str) -> None:
    """Results in all words, and flags."""
    info = OPCODES[opcode]
    rng = random.Random(opcode)
    contents = np.zeros((3, MABS, 4, LONGS), np.uint64)
    for mab, pe in np.ndindex(MABS, 4):
        contents[:, mab, pe] = np.array(hard_longs(info.precision, rng, LONGS), np.uint64).T
    for text in programs(info):
        _compare(machine, text, contents)


@pytest.fixture(scope="module")
def machine() -> Machine:
    """One machine for all operations: every test overwrites what it reads."""
    return Machine("vendor")


def _compare(machine: Machine, text: str, contents: np.ndarray) -> None:
    machine.masks()[:] = 0
    memories = (Memory.LM0, Memory.LM1, Memory.GRF0)
    for memory, data in zip(memories, contents, strict=True):
        machine.longs(memory)[0, 0, :MABS, :, :LONGS] = data
    machine.run(text)
    steps = parse_program(text)
    for mab in range(MABS):
        reference = Reference()
        for memory, data in zip(memories, contents, strict=True):
            for pe in range(4):
                words = [w for long in data[mab, pe].tolist() for w in (long >> 32, long & 0xFFFFFFFF)]
                reference.memory[memory][pe][: len(words)] = words
        for step in steps:
            assert isinstance(step, Step)
            reference.run(step)
        expected = [reference.memory[Memory.GRF1][pe][:16] for pe in range(4)]
        got = machine.peek_words(Memory.GRF1, 0, 16)[0, 0, mab].tolist()
        assert got == expected, f"{text}: MAB {mab}"
        for pe, cycle in np.ndindex(4, 4):
            assert machine.masks()[0, 0, mab, pe, 3, cycle] == reference.masks[3][cycle][pe], f"{text}: flags"


# ---- reductions ----


def inputs_of(info: OpcodeInfo, count: int, longs: int, target: str = "") -> np.ndarray:
    """[count, longs]: elements of one position are the inputs of one reduction."""
    rng = random.Random(info.mnemonic + target)
    per_long = 64 // LANE_BITS[info.precision]
    found = np.zeros((count, longs), np.uint64)
    for at in range(longs):
        lanes = [reduction_inputs(info.reduction, info.precision, rng, count, target) for _ in range(per_long)]
        for k in range(count):
            found[k, at] = join([lane[k] for lane in lanes], LANE_BITS[info.precision])
    return found


def expected_of(info: OpcodeInfo, stacked: np.ndarray, *fans: int) -> list[int]:
    """Stages of the given numbers of inputs, one after another, element by element."""
    bits = LANE_BITS[info.precision]
    found = []
    for column in stacked.T.tolist():
        lanes = [list(lane) for lane in zip(*(split_long(long, bits) for long in column), strict=True)]
        for fan in fans:
            lanes = [
                [rrn.stage(info.reduction, info.precision, lane[i : i + fan]) for i in range(0, len(lane), fan)]
                for lane in lanes
            ]
        found.append(join([lane[0] for lane in lanes], bits))
    return found


@pytest.mark.parametrize("opcode", [m for m in REDUCED if m.startswith("l1bmr")])
def test_reduction_over_mabs(machine: Machine, opcode: str) -> None:
    """16 MABs, or 4 of a quad; half sums run through singles; r for single precision."""
    info = OPCODES[opcode]
    quads = info.operation == "l1bmr4"
    combine, members = (rrn.over_quad, 4) if quads else (rrn.over_mabs, 16)
    for suffix in ("", "r") if info.narrows else ("",):
        stacked = inputs_of(info, members, 64 if quads else 16, "h" if suffix else "")
        local = machine.lm(0)[3, 5]  # [MAB, PE, long]
        columns = iter(range(stacked.shape[1]))
        where = {}
        for c, p, q in np.ndindex(4, 4, 4 if quads else 1):
            at = next(columns)
            where[16 * c + 4 * q + p if quads else 4 * c + p] = at
            local[members * q : members * (q + 1), p, c] = stacked[:, at]
        machine.run(f"{opcode}{suffix} $lm0v $lb0")
        got = machine.l1bm()[3, 5]
        bits = LANE_BITS[info.precision]
        for long, at in where.items():
            lanes = zip(*(split_long(int(x), bits) for x in stacked[:, at]), strict=True)
            results = [combine(info.reduction, info.precision, list(lane), bool(suffix)) for lane in lanes]
            wanted = join(results, 16 if suffix else bits)
            assert int(got[long]) == wanted, (opcode, suffix, long)


@pytest.mark.parametrize("opcode", [m for m in REDUCED if m.startswith("l2bmr")])
def test_reduction_over_l1bs(machine: Machine, opcode: str) -> None:
    """8 L1Bs in one stage, or pairs."""
    info = OPCODES[opcode]
    pairs = info.operation == "l2bmr2"
    groups = [inputs_of(info, 2, 64) for _ in range(4)] if pairs else [inputs_of(info, 8, 64)]
    machine.l1bm()[6, :, :64] = np.concatenate(groups)
    machine.run(f"{opcode} $lb0 $lc0")
    got = machine.l2bm()[6]
    if not pairs:
        assert got[:64].tolist() == expected_of(info, groups[0], 8)
        return
    for t, stacked in enumerate(groups):
        expected = expected_of(info, stacked, 2)
        for at, value in enumerate(expected):
            assert int(got[64 * (at // 16) + 16 * t + at % 16]) == value


@pytest.mark.parametrize("opcode", [m for m in REDUCED if m.startswith("mvr")])
def test_reduction_over_l2bs(machine: Machine, opcode: str) -> None:
    """In-group pairs, then groups (OPEN-33)."""
    info = OPCODES[opcode]
    if info.operation == "mvr":
        stacked = inputs_of(info, 8, 64)
        machine.l2bm()[:, :64] = stacked
        machine.run(f"{opcode}/n64 $lc0 $p0@2")
        assert machine.read_pdm(2, 0, 64).tolist() == expected_of(info, stacked, 2, 4)
    elif info.operation == "mvr2":
        stacked = inputs_of(info, 2, 64)
        machine.l2bm()[2:4, :64] = stacked
        machine.run(f"{opcode}/n64 $lc0 $d0")
        assert machine.read_dram(1, 0, 64).tolist() == expected_of(info, stacked, 2)
    else:
        stacked = inputs_of(info, 4, 64)
        machine.l2bm()[1::2, :64] = stacked
        machine.run(f"{opcode}/n64 $lc0 $d0")
        found = [machine.read_dram(k // 16, 16 + k % 16, 1)[0] for k in range(64)]
        assert found == expected_of(info, stacked, 4)
