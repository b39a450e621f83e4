"""Judging an answer by a testcase: memory set-up, the answer, and expectations in comments of ``d get`` lines.

A testcase is assembly text. The answer takes the place of `INSERTION_LINE`; without one it runs before the first
``d get``. What stands before prepares memory (``d set``, ``r`` presets, but any
statement may stand there), and every ``d get`` behind may carry an expectation (see `expectations`). Notation and rules
are those of the vendor's published judge.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from mnc.mncore_backend.assembly.parser import parse_line, parse_program
from mnc.mncore_backend.assembly.records import DebugGet, DebugSet, Quit, Statement
from mnc.mncore_backend.emulator.debug import read_values, units_of
from mnc.mncore_backend.emulator.element_types import BYTE_OF_TEXT, Number
from mnc.mncore_backend.emulator.errors import EmulationError
from mnc.mncore_backend.emulator.expectations import Element, Expectation, holds, read_expectation, shown_elements
from mnc.mncore_backend.emulator.simulator import Machine
from mnc.mncore_backend.emulator.statistics import Statistics

_ANY_GET = re.compile(r"[ \t]*d[ \t]+get")
_INSERTION = re.compile(r"[ \t]*#[ \t]*=+[ \t]*YOUR VSM WILL BE INSERTED HERE[ \t]*=+[ \t\r]*")
_OUTPUT = re.compile(r"[ \t]*#[ \t]*=+[ \t]*Output[ \t]*=+[ \t\r]*")
INSERTION_LINE = "# ======= YOUR VSM WILL BE INSERTED HERE ======="
OUTPUT_LINE = "# ======= Output ======="


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An element that differs from what was expected, with its position in the result if the testcase names it."""

    line: int
    index: int
    expected: Number
    found: Number
    pattern: str
    position: tuple[int, ...] = ()

    def render(self) -> str:
        """One line for people; numbers of any size."""
        where = f" at [{','.join(map(str, self.position))}]" if self.position else ""
        expected, found = number_text(self.expected), number_text(self.found)
        return f"element {self.index}{where}: expected {expected}, found {found} ({self.pattern})"


@dataclass(slots=True)
class Verdict:
    """Outcome of judging: mismatches, how many elements were compared, the counters of the answer alone. `invalid` says
    why an answer was not run at all."""

    compared: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)
    statistics: Statistics = field(default_factory=Statistics)
    dump: list[str] = field(default_factory=list)
    invalid: str = ""

    @property
    def passed(self) -> bool:
        """Did every expectation hold, and was there at least one?"""
        return self.compared > 0 and not self.mismatches and not self.invalid


@dataclass(slots=True)
class Testcase:
    """Statements before the answer, and what follows it. `warnings` are (line, text) about the testcase itself."""

    prepare: list[Statement]
    check: list[Statement | Expectation]
    file_name: str
    warnings: list[tuple[int, str]] = field(default_factory=list)


def number_text(value: Number) -> str:
    """A number in few characters, of any size."""
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 128 else f"an integer of {value.bit_length()} bits"
    return f"{value:g}"


def parse_testcase(text: str, file_name: str = "<testcase>") -> Testcase:
    """Split a testcase where the answer goes. Raises AsmSyntaxError, and EmulationError for a bad expectation."""
    lines = text.split("\n")
    insertions = [i for i, line in enumerate(lines) if "INSERTED" in line and _INSERTION.fullmatch(line)]
    first_get = next((i for i, line in enumerate(lines) if _ANY_GET.match(line)), len(lines))
    first = insertions[0] if insertions else first_get
    prepare = parse_program("\n".join(lines[:first]), file_name)
    case = Testcase(prepare, [], file_name)
    if prepare and isinstance(prepare[-1], Quit):
        return case  # the rest of the file is ignored, the answer included
    for line_number, raw in enumerate(lines[first:], first + 1):
        statement = parse_line(raw, line_number, file_name)
        if statement is None:
            continue
        expectation = None
        if isinstance(statement, DebugGet):
            expectation = _expectation(statement, raw.partition("#")[2], file_name)
        case.check.append(expectation or statement)
    _vendor_rules(case, lines, has_insertion=bool(insertions))
    return case


def _expectation(statement: DebugGet, comment: str, file_name: str) -> Expectation | None:
    try:
        return read_expectation(statement, comment)
    except ValueError as error:
        message = f"cannot read the expectation: {error}"
        raise EmulationError(message, statement.line, file_name, rule="testcase") from None


def _vendor_rules(case: Testcase, lines: Sequence[str], *, has_insertion: bool) -> None:
    """What the vendor's judge does with its own notation: the tolerances of the first judged line hold for all, and all
    values go to one result tensor, where a later line overwrites an earlier one."""
    judged = [item for item in case.check if isinstance(item, Expectation)]
    if not any(item.is_vendor for item in judged):
        return
    first = judged[0]
    line = first.statement.line
    if not any("Output" in raw and _OUTPUT.fullmatch(raw) for raw in lines[: line - 1]):
        case.warnings.append((line, f"the vendor's judge stops without the line '{OUTPUT_LINE}' before this one"))
    if not has_insertion:
        case.warnings.append((line, f"the vendor's judge inserts answers at the line '{INSERTION_LINE}'"))
    for item in judged:
        if item.tolerance != first.tolerance:
            text = f"the tolerances of line {line}, the first that is judged, hold for all lines"
            case.warnings.append((item.statement.line, text))
            break
    case.check = [i.with_tolerance(first.tolerance) if isinstance(i, Expectation) else i for i in case.check]
    _check_positions(case, judged)


def _check_positions(case: Testcase, judged: Sequence[Expectation]) -> None:
    """Warn where positions do not fit their values, or occur twice."""
    seen: dict[tuple[int, ...], int] = {}
    for item in judged:
        line = item.statement.line
        if item.positions and len(item.positions) != len(item.values):
            case.warnings.append((line, f"{len(item.values)} values, but {len(item.positions)} positions"))
        for position in item.positions:
            if position in seen:
                where = ",".join(map(str, position))
                text = f"position [{where}] occurs in line {seen[position]}, too; each line is compared by itself"
                case.warnings.append((line, text))
            seen[position] = line
    if len({len(position) for position in seen}) > 1:
        case.warnings.append((judged[0].statement.line, "the positions have different numbers of dimensions"))


def _compare(machine: Machine, expectation: Expectation, verdict: Verdict, file_name: str) -> None:
    wanted, line = expectation.values, expectation.statement.line
    try:
        machine.check_shown(expectation.statement)
        found = shown_elements(expectation, read_values(machine.engine.state, expectation.statement))
    except ValueError as error:  # a place that the machine does not have
        raise EmulationError(str(error), line, file_name, rule="testcase") from None
    is_text = expectation.element is BYTE_OF_TEXT
    if len(found) < len(wanted) or (len(found) > len(wanted) and not expectation.is_vendor):
        units = len(units_of(expectation.statement.operand))
        message = f"{len(wanted)} values expected, but d get shows {len(found)} ({units} instances)"
        raise EmulationError(message, line, file_name, rule="testcase")
    for index, element in enumerate(found):
        if index < len(wanted):
            verdict.compared += 1
            if not holds(expectation, index, element):
                verdict.mismatches.append(_mismatch(expectation, index, wanted[index], element))
        elif is_text and element.pattern:
            verdict.mismatches.append(_mismatch(expectation, index, 0, element))


def _mismatch(expectation: Expectation, index: int, wanted: Number, element: Element) -> Mismatch:
    position = expectation.positions[index] if index < len(expectation.positions) else ()
    pattern = f"0x{element.pattern:0{element.width // 4}x}"
    return Mismatch(expectation.statement.line, index, wanted, element.value, pattern, position)


def judge(testcase: Testcase, answer: list[Statement], answer_name: str = "<answer>", mode: str = "vendor") -> Verdict:
    """Run an answer between the two halves of a testcase. Debug lines of the answer are in `Verdict.dump`.

    An answer with a `d set` is invalid and not run. Raises EmulationError when the answer cannot be executed, or the
    testcase does not fit.
    """
    machine, verdict = Machine(mode), Verdict()
    for statement in answer:
        if isinstance(statement, DebugSet):
            verdict.invalid = f"line {statement.line}: an answer must not write memory by d set"
            return verdict
    machine.load(testcase.prepare, testcase.file_name)
    machine.run()
    before = machine.statistics.steps, machine.statistics.mv_lines, machine.statistics.cycles
    shown = len(machine.dump)
    _load_behind(machine, answer, answer_name)
    statistics = machine.run()
    verdict.statistics = Statistics(
        statistics.steps - before[0],
        statistics.mv_lines - before[1],
        statistics.cycles - before[2],
        statistics.stall_cycles,
        statistics.units.copy(),
        statistics.longs.copy(),
    )
    verdict.dump = machine.dump[shown:]
    for item in testcase.check:
        if isinstance(item, Expectation):
            _compare(machine, item, verdict, testcase.file_name)
        elif isinstance(item, Quit):
            break
        else:
            _load_behind(machine, [item], testcase.file_name)
            machine.run()
    return verdict


def _load_behind(machine: Machine, statements: list[Statement], file_name: str) -> None:
    """Load statements as a part of the same text: masks stay."""
    masks = machine.engine.context.masks
    machine.load(statements, file_name)
    machine.engine.context.set_masks(masks)
