"""Running a program statement by statement: where it stands, where it stops and why."""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from mnc.core.diagnostics import CompileError
from mnc.debugger.memory import operand
from mnc.mncore_backend.assembly.records import DebugGet, DebugOperand, Memory, Statement
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.emulator.debug import get_lines, units_of

WIDTH = 100
"""Characters of a source line that are shown."""


@dataclass
class Breakpoint:
    """Stops before a line, or after a statement that changed a place in memory."""

    number: int
    text: str
    line: int = 0
    place: DebugOperand | None = None
    value: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.number}: {self.text}"


@dataclass(frozen=True)
class Stop:
    """Why a run stopped; `statements` is how many ran."""

    reason: str
    statements: int


class Session:
    """A program loaded into a machine, with its source text.

    Args:
        machine: has the program loaded, nothing run.
        text: the source, for showing lines.
        nodes: name of the ONNX nodes of every line, empty for assembly by hand.
    """

    def __init__(self, machine: Machine, text: str, nodes: Sequence[str] = ()) -> None:
        self.machine = machine
        self.lines = text.splitlines()
        self.nodes = nodes
        self.breakpoints: dict[int, Breakpoint] = {}
        self._numbers = 0
        self._interrupted = False

    # ---- where it stands ----

    @property
    def next(self) -> Statement | None:
        """The statement that runs next, None at the end."""
        return self.machine.next_statement

    def line_text(self, number: int) -> str:
        """A source line with its number, and the nodes it works for."""
        node = self.nodes[number - 1] if 0 < number <= len(self.nodes) else ""
        mark = "=>" if self.next is not None and self.next.line == number else "  "
        text = self.lines[number - 1] if 0 < number <= len(self.lines) else ""
        text = text if len(text) <= WIDTH else text[: WIDTH - 4] + " ..."
        return f"{mark} {number:>4}  {text}" + (f"    [{node}]" if node else "")

    def check_line(self, number: int) -> None:
        """Raise CompileError if the program has no line of this number."""
        if not 1 <= number <= len(self.lines):
            raise CompileError(f"there is no line {number}", hint=f"the program has {len(self.lines)}")

    def check_ahead(self, number: int) -> None:
        """Raise CompileError unless a run can still get to a line: programs only go forwards."""
        self.check_line(number)
        if self.next is not None and self.next.line >= number:
            raise CompileError(f"line {number} is not ahead: the program is at line {self.next.line}")

    # ---- breakpoints ----

    def add_breakpoint(self, text: str) -> Breakpoint:
        """Of a line number or of a place such as ``$lr8n0c0b0m0p0``. Raises CompileError."""
        number = self._numbers + 1
        if text.isdecimal():
            self.check_line(int(text))
            found = Breakpoint(number, f"line {int(text)}", line=int(text))
        else:
            place = operand(text)
            try:
                count = len(units_of(place))
            except ValueError as error:
                raise CompileError(str(error), hint="name one place, such as $lr0n0c0b0m0p0") from None
            if count > 64:
                raise CompileError(f"{text} names {count} places", hint="give a scope: n0c0b0m0p0")
            found = Breakpoint(number, f"change of {text}", place=place)
            found.value = self._value(place)
        self._numbers = number
        self.breakpoints[number] = found
        return found

    def delete_breakpoint(self, number: int) -> None:
        """Raises CompileError when there is none of this number."""
        if self.breakpoints.pop(number, None) is None:
            raise CompileError(f"there is no breakpoint {number}", hint="'breaks' lists them")

    def _value(self, place: DebugOperand) -> tuple[str, ...]:
        """Its contents as ``d get`` prints them; matrix banks need a type."""
        self.machine.engine.flush()
        dtype = "d" if place.memory in (Memory.MATRIX_X, Memory.MATRIX_Y) else ""
        return tuple(get_lines(self.machine.engine.state, DebugGet(dtype, place, 1)))

    def _changed(self) -> Breakpoint | None:
        for found in self.breakpoints.values():
            if found.place is not None and (value := self._value(found.place)) != found.value:
                found.value = value
                return found
        return None

    # ---- running ----

    def advance(self, *, statements: int | None = None, line: int | None = None) -> Stop:
        """Run so many statements, or up to a line, or to the end; a breakpoint or Ctrl-C stops earlier.

        Raises EmulationError; the state is then that before the statement.
        """
        done = 0
        with self._interruptible():
            while (statement := self.next) is not None:
                if done and (reason := self._reason_before(statement, line)):
                    return Stop(reason, done)
                if statements is not None and done >= statements:
                    return Stop("", done)
                self.machine.step()
                done += 1
                if (found := self._changed()) is not None:
                    return Stop(f"breakpoint {found}, by line {statement.line}", done)
                if self._interrupted:
                    return Stop("interrupted", done)
        return Stop("end of the program", done)

    def _reason_before(self, statement: Statement, line: int | None) -> str:
        if line is not None and statement.line >= line:
            return f"line {statement.line}"
        for found in self.breakpoints.values():
            if found.line and found.line == statement.line:
                return f"breakpoint {found}"
        return ""

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Ctrl-C stops between two statements."""
        self._interrupted = False

        def note(signal_number: int, frame: object) -> None:
            self._interrupted = True

        before: Callable[..., object] | int | None = signal.getsignal(signal.SIGINT)
        try:
            signal.signal(signal.SIGINT, note)
        except ValueError:  # not in the main thread
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
