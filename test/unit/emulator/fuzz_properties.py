"""What must hold of every input: of files (whatever bytes), of programs (whatever statements), of both modes together.
The tests run a few hundred examples of each, `scripts/fuzz.py` as many as fit into its time."""

import tempfile
from pathlib import Path

import numpy as np
from assembly.hostile_text import HOSTILE
from assembly.legal import legal
from assembly.strategies import EXECUTED, STATEMENTS
from click.testing import CliRunner, Result
from hypothesis import strategies as st

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.assembly.records import Expression, Memory, RepeatedNop, Statement, Step, Transfer
from mnc.mncore_backend.checker import Severity, check_program
from mnc.tools.commands.asm import command as asm_command
from mnc.tools.commands.judge import command as judge_command

from .fuzzing import outcome, prepared, program_text, restore, watch, written_rows

SEEDS = st.integers(0, 255)
LEGAL_PROGRAMS = st.lists(EXECUTED.map(legal), min_size=1, max_size=8)
ANY_PROGRAMS = st.lists(STATEMENTS, min_size=1, max_size=6)
COMPARED = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1, Memory.T, Memory.MATRIX_X, Memory.MATRIX_Y)


def text_is_answered(data: bytes) -> None:
    """`mnc asm check`, `fmt` and `judge` end with an exit code or one message, never with another exception."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "fuzz.vsm"
        path.write_bytes(data)
        for command, arguments in (
            (asm_command, ["check", "--strict", "all"]),
            (asm_command, ["fmt"]),
            (judge_command, [__file__ if not data else str(path)]),
        ):
            if command is judge_command and len(data) > 2000:
                continue
            _clean(CliRunner().invoke(command, [*arguments, str(path)]))


def _clean(result: Result) -> None:
    if isinstance(result.exception, CompileError):
        assert len(result.exception.render()) < 1000
        return
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.exit_code in (0, 1, 2)


def program_stays_in_bounds(mode: str, statements: list[Statement], seed: int) -> None:
    """A program runs or ends with an error that names a line; it changes no memory that it does not name."""
    watch(mode, seed, statements)


def legal_program_runs(statements: list[Statement], seed: int) -> None:
    """Vendor mode refuses nothing that is legal: what the manual describes as an error of the vendor's emulator is only
    a tag asserted again (SDM 3.2.3)."""
    error = watch("vendor", seed, statements)
    assert error is None or getattr(error, "rule", "") == "tag-reused", f"{program_text(statements)}\n{error}"


def hazard_free(statements: list[Statement]) -> list[Statement]:
    """The statements with time between them and a wait after every tagged MV; those left out that read a latch, a bank
    or the turnaround register in a way that what stands before does not allow."""
    found: list[Statement] = []
    for statement in statements:
        added: list[Statement] = [statement, RepeatedNop(12)]
        if isinstance(statement, Transfer) and statement.tag is not None:
            added.append(Step((Expression("nop"), Expression("wait", tag=statement.tag))))
        if not any(f.severity is Severity.ERROR for f in check_program([*found, *added])):
            found += added
    return found


def modes_agree(statements: list[Statement], seed: int) -> bool:
    """What strict mode accepts gives the same memories, debug output and counters in vendor mode. Returns whether
    strict mode accepted the program."""
    machines = []
    guards = []
    try:
        for mode in ("strict", "vendor"):
            machine, guarded = prepared(mode, seed)
            guards.append(guarded)
            error = outcome(machine, statements)
            if error is not None:
                assert mode == "strict", f"only vendor mode refuses:\n{program_text(statements)}\n{error.render()}"
                return False
            machines.append(machine)
        strict, vendor = machines
        assert strict.dump == vendor.dump
        assert strict.statistics == vendor.statistics
        assert np.array_equal(strict.masks(), vendor.masks())
        for memory in (*COMPARED, Memory.L1BM, Memory.L2BM):
            assert np.array_equal(strict.longs(memory), vendor.longs(memory)), memory
        if any(isinstance(s, Transfer) for s in statements):
            _same_off_chip(strict, vendor)
    finally:
        for guarded in guards:
            restore(guarded, dict.fromkeys("mnrs", None) | written_rows(statements))
    return True


def _same_off_chip(strict, vendor) -> None:
    assert np.array_equal(strict.longs(Memory.PDM), vendor.longs(Memory.PDM))
    for group in range(4):
        first, second = strict.engine.state.dram[group].pages, vendor.engine.state.dram[group].pages
        assert first.keys() == second.keys()
        assert all(np.array_equal(first[page].longs, second[page].longs) for page in first)


__all__ = [
    "ANY_PROGRAMS",
    "HOSTILE",
    "LEGAL_PROGRAMS",
    "SEEDS",
    "hazard_free",
    "legal_program_runs",
    "modes_agree",
    "program_stays_in_bounds",
    "text_is_answered",
]
