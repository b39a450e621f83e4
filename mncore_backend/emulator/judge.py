"""Judging an answer by a testcase: memory set-up, the answer, and expectations in comments of ``d get`` lines.

A testcase is assembly text. Its lines before the first ``d get`` prepare memory (``d set``, ``r`` presets, but any
statement may stand there), the answer runs next, then every ``d get`` may carry an expectation::

    d getd $lm0n0c0b0m0p0 4   # expect=[1.0, 2.0, -3.5, inf] atol=1e-6

``expect`` lists the elements in the order the statement prints them: numbers are compared as the dtype of the
statement reads them (without dtype: as 64-bit integers), hexadecimal literals as bit patterns. ``atol`` and ``rtol``
default to 0; ``dtype=`` (int64, uint32, float16, ...) overrides how the bits are read.
"""

import re
from dataclasses import dataclass, field

from mnc.mncore_backend.assembly.parser import parse_line, parse_program
from mnc.mncore_backend.assembly.records import DebugGet, Statement
from mnc.mncore_backend.emulator.debug import read_values, units_of
from mnc.mncore_backend.emulator.debug_format import block_number, elements, number
from mnc.mncore_backend.emulator.errors import EmulationError
from mnc.mncore_backend.emulator.simulator import Machine
from mnc.mncore_backend.emulator.statistics import Statistics

_EXPECT = re.compile(r"\bexpect(?:ed)?\s*=\s*\[([^\]]*)\]")
_OPTION = re.compile(r"\b(atol|rtol|dtype)\s*=\s*([^\s,;]+)")
_ANY_GET = re.compile(r"[ \t]*d[ \t]+get")
_INTEGER_TYPES = {"int64": 64, "int32": 32, "int16": 16, "uint64": 64, "uint32": 32, "uint16": 16}
_FLOAT_TYPES = {"float64": "d", "double": "d", "float32": "f", "float": "f", "float16": "h", "half": "h"}


@dataclass(frozen=True, slots=True)
class Expectation:
    """One ``d get`` with what it must show. `bits` marks values given as bit patterns."""

    statement: DebugGet
    values: tuple[float, ...]
    bits: tuple[bool, ...]
    atol: float = 0.0
    rtol: float = 0.0
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An element that differs from what was expected."""

    line: int
    index: int
    expected: float
    found: float
    pattern: str


@dataclass(slots=True)
class Verdict:
    """Outcome of judging: mismatches, how many elements were compared, the counters of the answer alone."""

    compared: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)
    statistics: Statistics = field(default_factory=Statistics)
    dump: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Did every expectation hold, and was there at least one?"""
        return self.compared > 0 and not self.mismatches


@dataclass(slots=True)
class Testcase:
    """Statements before the answer, and what follows it."""

    prepare: list[Statement]
    check: list[Statement | Expectation]
    file_name: str


def _values(text: str) -> tuple[tuple[float, ...], tuple[bool, ...]]:
    """Numbers of an ``expect`` list and which of them are bit patterns. Raises ValueError."""
    tokens = [token.strip().strip("'\"") for token in text.split(",") if token.strip()]
    bits = tuple(token.lower().startswith("0x") for token in tokens)
    parsed: list[float] = []
    for token, is_bits in zip(tokens, bits, strict=True):
        if is_bits:
            parsed.append(int(token, 16))
        else:
            parsed.append(int(token) if re.fullmatch(r"[+-]?\d+", token) else float(token))
    return tuple(parsed), bits


def _expectation(statement: DebugGet, comment: str, file_name: str) -> Expectation | None:
    found = _EXPECT.search(comment)
    if found is None:
        return None
    options = dict(_OPTION.findall(comment[found.end() :] + " " + comment[: found.start()]))
    try:
        values, bits = _values(found[1])
        atol, rtol = float(options.get("atol", 0)), float(options.get("rtol", 0))
        dtype = options.get("dtype", "")
        if dtype and dtype not in _INTEGER_TYPES and dtype not in _FLOAT_TYPES:
            raise ValueError(f"unknown dtype '{dtype}'")
    except ValueError as error:
        message = f"cannot read the expectation: {error}"
        raise EmulationError(message, statement.line, file_name, rule="testcase") from None
    return Expectation(statement, values, bits, atol, rtol, dtype)


def parse_testcase(text: str, file_name: str = "<testcase>") -> Testcase:
    """Split a testcase at its first ``d get``. Raises AsmSyntaxError, and EmulationError for a bad expectation."""
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if _ANY_GET.match(line)), len(lines))
    prepare = parse_program("\n".join(lines[:first]), file_name)
    check: list[Statement | Expectation] = []
    for line_number, raw in enumerate(lines[first:], first + 1):
        statement = parse_line(raw, line_number, file_name)
        if statement is None:
            continue
        expectation = None
        if isinstance(statement, DebugGet):
            expectation = _expectation(statement, raw.partition("#")[2], file_name)
        check.append(expectation or statement)
    return Testcase(prepare, check, file_name)


def _found(machine: Machine, expectation: Expectation) -> list[tuple[float, int, int]]:
    """(value, pattern, width in bits) of every element a ``d get`` shows, in its order."""
    statement = expectation.statement
    longs = read_values(machine.engine.state, statement)
    single = statement.operand.width == 1 and statement.operand.memory.value in ("m", "n", "r", "s")
    dtype = expectation.dtype
    letter = {64: "d", 32: "f", 16: "h"}.get(_INTEGER_TYPES.get(dtype, 0)) or _FLOAT_TYPES.get(dtype, "")
    letter = letter or statement.dtype[-1:] or ("f" if single else "d")
    width = {"d": 64, "f": 32, "g": 32, "h": 16}[letter]
    found: list[tuple[float, int, int]] = []
    for long in longs:
        parts = elements(long, letter)
        for pattern in parts[: len(parts) // 2] if single and letter != "d" else parts:
            if dtype in _INTEGER_TYPES or not (statement.dtype or dtype):
                value = pattern - (1 << width) if pattern >> (width - 1) and not dtype.startswith("u") else pattern
            else:
                value = (block_number if statement.dtype.startswith("b") else number)(pattern, letter)
            found.append((value, pattern, width))
    return found


def _holds(expectation: Expectation, index: int, value: float, pattern: int, width: int) -> bool:
    wanted = expectation.values[index]
    if expectation.bits[index]:
        return int(wanted) == pattern
    if isinstance(wanted, int) and isinstance(value, int):
        difference = abs(wanted - value)
        wrapped = min(difference, (1 << width) - difference) if difference < 1 << width else difference
        return wrapped <= expectation.atol + expectation.rtol * abs(wanted)
    if value == wanted:
        return True
    return abs(value - wanted) <= expectation.atol + expectation.rtol * abs(wanted)


def _compare(machine: Machine, expectation: Expectation, verdict: Verdict) -> None:
    found = _found(machine, expectation)
    line = expectation.statement.line
    if len(found) != len(expectation.values):
        units = len(units_of(expectation.statement.operand))
        message = f"{len(expectation.values)} values expected, but d get shows {len(found)} ({units} instances)"
        raise EmulationError(message, line, rule="testcase")
    for index, (value, pattern, width) in enumerate(found):
        verdict.compared += 1
        if not _holds(expectation, index, value, pattern, width):
            text = f"0x{pattern:0{width // 4}x}"
            verdict.mismatches.append(Mismatch(line, index, expectation.values[index], value, text))


def judge(testcase: Testcase, answer: list[Statement], answer_name: str = "<answer>", mode: str = "vendor") -> Verdict:
    """Run an answer between the two halves of a testcase. Debug lines of the answer are in `Verdict.dump`.

    Raises EmulationError when the answer cannot be executed, or the testcase does not fit.
    """
    machine, verdict = Machine(mode), Verdict()
    machine.load(testcase.prepare, testcase.file_name)
    machine.run()
    before = machine.statistics.steps, machine.statistics.mv_lines, machine.statistics.cycles
    machine.load(answer, answer_name)
    statistics = machine.run()
    verdict.statistics = Statistics(
        statistics.steps - before[0],
        statistics.mv_lines - before[1],
        statistics.cycles - before[2],
        statistics.stall_cycles,
        statistics.units.copy(),
        statistics.longs.copy(),
    )
    verdict.dump = list(machine.dump)
    for item in testcase.check:
        if isinstance(item, Expectation):
            _compare(machine, item, verdict)
        else:
            machine.load([item], testcase.file_name)
            machine.run()
    return verdict
