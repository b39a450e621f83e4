"""mnc asm: check and format assembly files, explain opcodes."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mnc.core.command_line import read_text, write_text
from mnc.core.diagnostics import CompileError
from mnc.tools.commands.asm_explain import explain
from mnc.tools.commands.machine_option import machine_option, use_machine_of_file

if TYPE_CHECKING:
    from mnc.mncore_backend.assembly.isa import OpcodeInfo

_POINT = re.compile(r"(?:OPEN-)?([0-9]{1,2})", re.IGNORECASE)


def _points(texts: tuple[str, ...], option: str) -> frozenset[str]:
    """``OPEN-47``, ``47`` or, for --strict, ``all``."""
    found: set[str] = set()
    for text in ",".join(texts).split(",") if texts else ():
        match = _POINT.fullmatch(text.strip())
        if match is None and not (text.strip() == "all" and option == "--strict"):
            raise CompileError(f"'{text}' is not an open point", hint=f"write {option} OPEN-47")
        found.add(f"OPEN-{int(match[1]):02d}" if match else "all")
    return frozenset(found)


@click.group()
def command() -> None:
    """Check and format assembly files."""


def _opcodes(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    from mnc.mncore_backend.assembly.isa import OPCODES

    names = {*OPCODES, *(info.operation for info in OPCODES.values())}
    return sorted(name for name in names if name.startswith(begun))


@command.command(short_help="Check files against the rules of the machine.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--format", "output_format", type=click.Choice(["text", "json", "sarif"]), default="text", show_default=True,
    help="sarif: for code hosts and editors.",
)
@click.option(
    "--strict", multiple=True, metavar="OPEN-nn|all", help="Findings that hang on this open point are errors."
)
@click.option("--allow", multiple=True, metavar="OPEN-nn", help="Drop findings that hang on this open point.")
@click.option(
    "--mode",
    type=click.Choice(["strict", "vendor"]),
    default="strict",
    show_default=True,
    help="vendor: an MV completes where it stands, so a missing wait is a warning.",
)
@click.option(
    "--max-errors",
    type=click.IntRange(0),
    default=100,
    show_default=True,
    help="Errors, and again warnings, printed per file; 0 for all.",
)
@machine_option
def check(
    files: tuple[str, ...],
    output_format: str,
    strict: tuple[str, ...],
    allow: tuple[str, ...],
    mode: str,
    max_errors: int,
) -> None:
    """Check FILE (- for standard input) against the rules of the machine.

    Exit code 0: no errors; 1: errors; 2: a file cannot be read or has lines that are not assembly.
    """
    from mnc.mncore_backend.checker import CheckOptions, check_text
    from mnc.mncore_backend.checker.output import FORMATS, count_errors

    points = _points(strict, "--strict"), _points(allow, "--allow")
    options = CheckOptions(*points, mode == "vendor", limit=max_errors)
    results = {}
    for path in files:
        name = "<stdin>" if path == "-" else path
        use_machine_of_file(Path(path))
        results[name] = check_text(read_text(path), name, options)
    sys.stdout.write(FORMATS[output_format](results))
    if count_errors(results):
        sys.stdout.flush()
        if max_errors and any(count_errors({name: found}) >= max_errors for name, found in results.items()):
            click.echo(f"stopped after {max_errors} errors of a file; --max-errors 0 shows all", err=True)
        unreadable = any(finding.rule == "syntax" for found in results.values() for finding in found)
        click.get_current_context().exit(2 if unreadable else 1)


@command.command(short_help="Print a file in canonical spelling.")
@click.argument("file")
@click.option("-o", "output", help="Output file; default standard output.")
@click.option("--in-place", is_flag=True, help="Rewrite FILE.")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit code 1 if FILE would change.")
def fmt(file: str, output: str | None, in_place: bool, only_check: bool) -> None:
    """Print FILE (- for standard input) in canonical spelling; comments stay."""
    from mnc.mncore_backend.assembly.format import format_program

    if in_place and (file == "-" or output is not None):
        raise CompileError("--in-place needs a file and excludes -o", hint="leave out one of them")
    text = read_text(file)
    formatted = format_program(text, "<stdin>" if file == "-" else file)
    if only_check:
        if formatted != text:
            click.echo(f"{file} would change")
            click.get_current_context().exit(1)
        return
    if in_place and formatted == text:
        return
    write_text(file if in_place else output or "-", formatted)


@command.command(short_help="Explain an opcode, with a program that runs.")
@click.argument("name", shell_complete=_opcodes)
@click.option("--example", "only_example", is_flag=True, help="Print only the program, for `mnc run`.")
def opcode(name: str, only_example: bool) -> None:
    """Explain the opcode NAME: syntax, operands, unit, latency, flags, and a program that runs.

    NAME may also be an operation, such as max: then one of its opcodes is explained, and all are named.
    """
    from mnc.mncore_backend.assembly.opcode_reference.entry import markdown
    from mnc.mncore_backend.assembly.opcode_reference.examples import example

    info, others = _named(name)
    head = "" if only_example else f"{info.mnemonic}\n\n{markdown(info)}\nExample:\n\n"
    if others and not only_example:
        head = f"opcodes of {name}: {' '.join(others)}\n\n{head}"
    click.echo(head + example(info), nl=False)


def _named(name: str) -> "tuple[OpcodeInfo, list[str]]":
    """The opcode of this name, or the most common one of an operation with the names of all. Raises CompileError."""
    import difflib

    from mnc.mncore_backend.assembly.isa import OPCODES, UnknownOpcode, split_mnemonic
    from mnc.mncore_backend.assembly.opcode_reference.entry import opcodes_of, representative

    try:
        return split_mnemonic(name)[0], []
    except UnknownOpcode:
        infos = opcodes_of(name)
    if infos:
        return representative(infos), [info.mnemonic for info in infos]
    if (page := _page_of_statement(name)) is not None:
        raise CompileError(f"'{name}' is a statement, not an opcode", hint=f"{page} explains it")
    operations = {info.operation for info in OPCODES.values()}
    close = difflib.get_close_matches(name, [*OPCODES, *(operations - OPCODES.keys())], 3)
    hint = f"did you mean {', '.join(close)}?" if close else "docs/opcodes.md lists all of them"
    raise CompileError(f"'{name}' is not an opcode", hint=hint)


def _page_of_statement(name: str) -> str | None:
    """The document about statements that begin as `name` does; None if there is no such statement."""
    word = name.split()[0] if name.split() else ""
    if word.startswith("mask"):
        return "docs/machine-reference.md"
    return "docs/emulator.md" if word in ("d", "r") else None


command.add_command(explain)
