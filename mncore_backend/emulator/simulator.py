"""The emulator as its users see it: load assembly, run it, look at every memory."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Concatenate, NoReturn, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mnc.core.garbage import no_collection
from mnc.mncore_backend.assembly.parser import parse_program
from mnc.mncore_backend.assembly.records import DebugGet, Memory, Statement
from mnc.mncore_backend.emulator.engine import Engine
from mnc.mncore_backend.emulator.geometry import CYCLES, geometry
from mnc.mncore_backend.emulator.shown import check_shown
from mnc.mncore_backend.emulator.snapshot import Snapshot
from mnc.mncore_backend.emulator.state import PE_STORED, U64, longs_of, words_of
from mnc.mncore_backend.emulator.statistics import Statistics
from mnc.mncore_backend.emulator.taint import PATTERNS
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


P = ParamSpec("P")
R = TypeVar("R")


def _for_its_target(method: "Callable[Concatenate[Machine, P], R]") -> "Callable[Concatenate[Machine, P], R]":
    """A method that works with the numbers of the machine that is emulated, whatever machine is in use outside."""

    @wraps(method)
    def inside(self: "Machine", *args: P.args, **kwargs: P.kwargs) -> R:
        with use(self.target):
            return method(self, *args, **kwargs)

    return inside


class Machine:
    """MN-Core 2, all 4096 PEs, or another machine of the kind.

    ``strict`` refuses what the machine does not define (memory never written, results nobody waited for, broken hazard
    distances, ...) with an `EmulationError`; ``vendor`` behaves as the vendor's emulator is documented to (SDM 1.2,
    3.4): transfers complete at issue, PE memories start at zero, debug reads see new values at once.

    Args:
        mode: "strict" or "vendor".
        threads: threads that share the work, by default two.
        output: receives every line that ``d get`` prints, besides `dump`.
        dirty: seed of random words that all memories start with (vendor mode only).
        target: the machine that is emulated, by default the one in use.

    Raises:
        ValueError: `dirty` in strict mode, or a machine that the kernels are not made for.
    """

    def __init__(
        self,
        mode: str = "strict",
        *,
        threads: int | None = None,
        output: Callable[[str], None] | None = None,
        dirty: int | None = None,
        target: Target | None = None,
    ) -> None:
        if dirty is not None and mode != "vendor":
            raise ValueError("random words in memory are for vendor mode; strict mode follows what nobody wrote")
        self.mode = mode
        self.target = target or chip()
        with use(self.target):
            self.engine = Engine(mode, threads)
            if dirty is not None:
                self.engine.state.fill_randomly(dirty)
        self.dump: list[str] = []
        self.engine.output = _printer(self.dump, output)
        self._program: Sequence[Statement] = []
        self._position = 0

    # ---- programs ----

    @_for_its_target
    def load_text(self, text: str, file_name: str = "<program>") -> None:
        """Parse a program and make it the one to run; machine state stays. Raises `AsmSyntaxError`."""
        self.load(parse_program(text, file_name), file_name)

    @_for_its_target
    def load(self, statements: Iterable[Statement], file_name: str = "<program>") -> None:
        """Make statements the program to run; machine state stays. In strict mode hazards are checked here."""
        self._program = statements if isinstance(statements, Sequence) else list(statements)
        self._position = 0
        self.engine.file_name = self.engine.shadow.file_name = file_name
        self.engine.stopped = False
        self.engine.context.set_masks({})
        if self.engine.strict:
            with no_collection():
                self.engine.checker.check_program(self._program, file_name)

    @_for_its_target
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

    @_for_its_target
    def step(self) -> Statement | None:
        """Execute one statement completely and return it; None at the end of the program."""
        statement = self.next_statement
        if statement is not None:
            self.engine.execute(statement)
            self.engine.flush()
            self._position += 1
        return statement

    @_for_its_target
    def run_until(self, stop: int | Callable[["Machine"], bool]) -> Statement | None:
        """Run until the next statement is on line `stop` or later, or until the predicate holds before a statement.
        Returns the next statement, None if the program ended."""
        while (statement := self.next_statement) is not None:
            if isinstance(stop, int):
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

    @_for_its_target
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

    @_for_its_target
    def snapshot(self) -> Snapshot:
        """A copy of the contents of every memory."""
        self.engine.flush()
        return Snapshot.take(self.engine.state, self.engine.context.banks)

    @_for_its_target
    def restore(self, snapshot: Snapshot) -> None:
        """Put the contents of every memory back. Latches become idle, transfers in flight finished; every memory counts
        as written for the strict checks."""
        self.engine.flush()
        snapshot.put(self.engine.state)
        self.engine.reset_static_state(snapshot.banks)

    def compare(self, snapshot: Snapshot, limit: int = 20) -> list[str]:
        """Readable differences between now and a snapshot, empty if there is none."""
        return self.snapshot().differences(snapshot, limit)

    @property
    def statistics(self) -> Statistics:
        """Counters of everything run so far."""
        found, timeline = self.engine.statistics, self.engine.timeline
        found.cycles, found.stall_cycles = timeline.cycles, CYCLES * timeline.stalled
        return found

    # ---- upper memories ----

    @_for_its_target
    def write_dram(self, group: int, address: int, values: ArrayLike) -> None:
        """Store long words into the DRAM of a group, from a long-word address on."""
        self.engine.flush()
        self.engine.state.dram[group].write(address % geometry().dram_longs, np.asarray(values, np.uint64).reshape(-1))

    @_for_its_target
    def read_dram(self, group: int, address: int, count: int) -> U64:
        """Copy of long words of the DRAM of a group; never written ones are zero."""
        self.engine.flush()
        return self.engine.state.dram[group].read(address % geometry().dram_longs, count)

    @_for_its_target
    def check_shown(self, statement: DebugGet) -> None:
        """In strict mode, raise `UninitialisedRead` if what a ``d get`` shows depends on words that nobody wrote."""
        self.engine.flush()
        if self.engine.strict:
            check_shown(self.engine, statement.operand, statement.count)

    @_for_its_target
    def dram_poison(self, group: int, address: int, count: int) -> U64 | None:
        """Long words with ones where DRAM depends on words that nobody wrote. None in vendor mode, and if nothing does.
        `refuse_poison` says where it comes from."""
        self.engine.flush()
        dram = self.engine.state.dram[group]
        if not self.engine.strict or dram.first_unwritten(address, count) is None:
            return None
        return PATTERNS[dram.poison(address, count)]

    @_for_its_target
    def refuse_poison(self, what: str, group: int, address: int) -> NoReturn:
        """Raise `UninitialisedRead` for a result of the host that is poisoned at a long word of DRAM."""
        self.engine.shadow.fail(what, self.engine.shadow.origin_of_dram(group, address), f"n{group}")

    @_for_its_target
    def write_pdm(self, group: int, address: int, values: ArrayLike) -> None:
        """Store long words into the PDM of a group."""
        data = np.asarray(values, np.uint64).reshape(-1)
        self.longs(Memory.PDM)[group, address : address + len(data)] = data
        self.engine.shadow.pdm[group, address : address + len(data)] = True

    def read_pdm(self, group: int, address: int, count: int) -> U64:
        """Copy of long words of the PDM of a group."""
        return self.longs(Memory.PDM)[group, address : address + count].copy()

    # ---- every memory as arrays ----

    @_for_its_target
    def longs(self, memory: Memory) -> U64:
        """Writable view of a memory as long words: PE memories [L2B, L1B, MAB, PE, address], T the same with
        [..., cycle 4, MSB/LSB 2], matrix banks [L2B, L1B, MAB, PE, row 16], L1BM [L2B, L1B, address], L2BM [L2B,
        address], PDM [group, address]. Writing through the view does not count as a write for the strict checks; `poke`
        does."""
        self.engine.flush()
        return self.engine.state.longs(memory)

    def lm(self, which: int) -> U64:
        """View of LM0 or LM1, [L2B, L1B, MAB, PE, address] long words."""
        return self.longs((Memory.LM0, Memory.LM1)[which])

    def grf(self, which: int) -> U64:
        """View of GRF0 or GRF1, [L2B, L1B, MAB, PE, address] long words."""
        return self.longs((Memory.GRF0, Memory.GRF1)[which])

    def l1bm(self) -> U64:
        """View of the L1BMs, [L2B, L1B, address] long words."""
        return self.longs(Memory.L1BM)

    def l2bm(self) -> U64:
        """View of the L2BMs, [L2B, address] long words."""
        return self.longs(Memory.L2BM)

    @_for_its_target
    def masks(self) -> NDArray[np.uint8]:
        """View of the mask registers, [L2B, L1B, MAB, PE, entry 16, cycle 4]; bit 0 of the manual counts 8."""
        self.engine.flush()
        return self.engine.state.masks()

    def peek(self, memory: Memory, address: int, count: int) -> U64:
        """Copy of long words [..., count] from a long-word address on."""
        return self.longs(memory)[..., address : address + count].copy()

    def peek_words(self, memory: Memory, address: int, count: int) -> NDArray[np.uint32]:
        """Copy of 32-bit words [..., count] of a PE memory from a word address on."""
        first, last = address // 2, -(-(address + count) // 2)
        words = words_of(self.longs(memory)[..., first:last])
        return words[..., address - 2 * first :][..., :count]

    @_for_its_target
    def poke(self, memory: Memory, address: int, values: ArrayLike) -> None:
        """Store long words from a long-word address on; `values` broadcasts against [..., count] of `longs`."""
        data = np.asarray(values, np.uint64)
        count = data.shape[-1]
        self.longs(memory)[..., address : address + count] = data
        self.engine.shadow.mark_host(memory, address, count)

    def poke_words(self, memory: Memory, address: int, values: ArrayLike) -> None:
        """Store 32-bit words at an even word address of a PE memory; `values` [..., even count] broadcasts."""
        if memory not in PE_STORED or address % 2:
            raise ValueError("poke_words needs a PE memory and an even word address")
        self.poke(memory, address // 2, longs_of(np.asarray(values, np.uint32)))
