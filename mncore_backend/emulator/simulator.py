"""The emulator as its users see it: load assembly, run it, look at every memory."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from mnc.core.garbage import no_collection
from mnc.mncore_backend.assembly.parser import parse_program
from mnc.mncore_backend.assembly.records import Statement
from mnc.mncore_backend.emulator.engine import Engine
from mnc.mncore_backend.emulator.errors import HostAccessError
from mnc.mncore_backend.emulator.geometry import CYCLES
from mnc.mncore_backend.emulator.host_access import (
    check_choices,
    check_snapshot,
    check_statements,
    check_text,
    target_of,
)
from mnc.mncore_backend.emulator.memory_access import MemoryAccess, for_its_target
from mnc.mncore_backend.emulator.snapshot import Snapshot
from mnc.mncore_backend.emulator.statistics import Statistics
from mnc.mncore_backend.emulator.trace import Trace, read_part
from mnc.mncore_backend.target import Machine as Target
from mnc.mncore_backend.target import chip, use

Program = str | Sequence[Statement]


def _printer(dump: list[str], listener: Callable[[str], None] | None) -> Callable[[str], None]:
    """What `d get` prints goes to the list and to the listener."""
    if listener is None:
        return dump.append

    def write(line: str) -> None:
        dump.append(line)
        listener(line)

    return write


class Machine(MemoryAccess):
    """MN-Core 2, all 4096 PEs, or another machine of the kind.

    ``strict`` refuses what the machine does not define (memory never written, results nobody waited for, broken hazard
    distances, ...) with an `EmulationError`; ``vendor`` behaves as the vendor's emulator is documented to (SDM 1.2,
    3.4): transfers complete at issue, PE memories start at zero, debug reads see new values at once.

    Args:
        mode: "strict" or "vendor".
        threads: threads that share the work, by default two.
        output: receives every line that ``d get`` prints, besides `dump`.
        dirty: seed of random words that all memories start with (vendor mode only).
        target: the machine that is emulated, or its name; by default the one in use.

    All methods raise `CompileError`, which is a ValueError as well here, for what no machine has: another group, a run
    of addresses that leaves its memory (those of DRAM wrap), numbers that are no integers where bits are stored.

    Raises:
        CompileError: `dirty` in strict mode, or a machine that the kernels are not made for.
    """

    def __init__(
        self,
        mode: str = "strict",
        *,
        threads: int | None = None,
        output: Callable[[str], None] | None = None,
        dirty: int | None = None,
        target: Target | str | None = None,
    ) -> None:
        check_choices(mode, threads, output, dirty)
        self.mode = mode
        self.target = chip() if target is None else target_of(target)
        with use(self.target):
            self.engine = Engine(mode, threads)
            if dirty is not None:
                self.engine.state.fill_randomly(dirty)
        self.dump: list[str] = []
        self.engine.output = _printer(self.dump, output)
        self._program: Sequence[Statement] = []
        self._position = 0

    # ---- programs ----

    @for_its_target
    def load_text(self, text: str, file_name: str = "<program>") -> None:
        """Parse a program and make it the one to run; machine state stays. Raises `AsmSyntaxError`."""
        check_text(text)
        self.load(parse_program(text, file_name), file_name)

    @for_its_target
    def load(self, statements: Iterable[Statement], file_name: str = "<program>") -> None:
        """Make statements the program to run; machine state stays. In strict mode hazards are checked here."""
        self._program = check_statements(statements)
        self._position = 0
        self.engine.file_name = self.engine.shadow.file_name = file_name
        self.engine.stopped = False
        self.engine.context.set_masks({})
        if self.engine.strict:
            with no_collection():
                self.engine.checker.check_program(self._program, file_name)

    @for_its_target
    def run(self, program: Program | None = None, file_name: str = "<program>") -> Statistics:
        """Run a program (text or statements), or what is left of the loaded one, to its end."""
        if isinstance(program, str):
            self.load_text(program, file_name)
        elif program is not None:
            self.load(program, file_name)
        execute, total = self.engine.execute, len(self._program)
        with no_collection():  # a search walks all statements and plans that are alive
            while self._position < total and not self.engine.stopped:
                execute(self._program[self._position])
                self._position += 1
            self.engine.flush()
        return self.statistics

    @property
    def next_statement(self) -> Statement | None:
        """The statement `step` would execute, None at the end."""
        if self.engine.stopped or self._position >= len(self._program):
            return None
        return self._program[self._position]

    @for_its_target
    def step(self) -> Statement | None:
        """Execute one statement completely and return it; None at the end of the program."""
        statement = self.next_statement
        if statement is not None:
            self.engine.execute(statement)
            self.engine.flush()
            self._position += 1
        return statement

    @for_its_target
    def run_until(self, stop: int | Callable[["Machine"], bool]) -> Statement | None:
        """Run until the next statement is on line `stop` or later, or until the predicate holds before a statement.
        Returns the next statement, None if the program ended."""
        is_line = isinstance(stop, int | np.integer)
        if not is_line and not callable(stop):
            raise HostAccessError(f"no program stops at {stop!r}", hint="give the number of a line, or a function")
        while (statement := self.next_statement) is not None:
            if is_line:
                if statement.line >= stop:
                    break
                self.engine.execute(statement)
            else:
                self.engine.flush()
                if stop(self):
                    break
                self.engine.execute(statement)
            self._position += 1
        self.engine.flush()
        return statement

    @for_its_target
    def trace(self) -> Trace | None:
        """Execute one statement and return what it read (contents before) and wrote (contents after)."""
        statement = self.next_statement
        if statement is None:
            return None
        self.engine.flush()
        reads = read_part(self.engine.state, statement, write=False)
        self.step()
        return Trace(statement, (*reads, *read_part(self.engine.state, statement, write=True)))

    # ---- snapshots ----

    @for_its_target
    def snapshot(self) -> Snapshot:
        """A copy of the contents of every memory."""
        self.engine.flush()
        return Snapshot.take(self.engine.state, self.engine.context.banks)

    @for_its_target
    def restore(self, snapshot: Snapshot) -> None:
        """Put the contents of every memory back. Latches become idle, transfers in flight finished; every memory counts
        as written for the strict checks."""
        check_snapshot(snapshot)
        self.engine.flush()
        snapshot.put(self.engine.state)
        self.engine.reset_static_state(snapshot.banks)

    @for_its_target
    def compare(self, snapshot: Snapshot, limit: int = 20) -> list[str]:
        """Readable differences between now and a snapshot, empty if there is none."""
        check_snapshot(snapshot)
        return self.snapshot().differences(snapshot, limit)

    @property
    def statistics(self) -> Statistics:
        """Counters of everything run so far."""
        found, timeline = self.engine.statistics, self.engine.timeline
        found.cycles, found.stall_cycles = timeline.cycles, CYCLES * timeline.stalled
        return found
