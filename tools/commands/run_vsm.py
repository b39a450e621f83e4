"""The assembly part of `mnc run`: a .vsm file on the emulator, with its debug statements."""

from pathlib import Path

import click

from mnc.core.command_line import read_text
from mnc.core.files import replace_file


def run_vsm(program: Path, mode: str, dump: Path | None, dirty: int | None = None) -> None:
    """Run an assembly file. The lines of ``d get`` go to `dump` or standard output, the counters to standard error.
    `dirty` is the seed of random words in memory.

    Raises AsmSyntaxError and EmulationError with the line of the program, CompileError when `dump` cannot be written.
    """
    from mnc.mncore_backend.emulator import Machine

    text = read_text(str(program))
    machine = Machine(mode, dirty=dirty)
    machine.load_text(text, str(program))
    try:
        statistics = machine.run()
    finally:
        _write(machine.dump, dump)
    units = ", ".join(f"{unit} {count}" for unit, count in sorted(statistics.units.items()))
    click.echo(
        f"{statistics.steps} steps, {statistics.mv_lines} MV, {statistics.cycles} cycles "
        f"({statistics.stall_cycles} stalled)" + (f"; {units}" if units else ""),
        err=True,
    )


def _write(lines: list[str], dump: Path | None) -> None:
    if dump is None:
        if lines:
            click.echo("\n".join(lines))
        return
    replace_file(dump, "".join(line + "\n" for line in lines))
