"""mnc-opt: MLIR text or bytecode -> passes -> MLIR text or bytecode."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from mnc.core.command_line import decoded, errors_to_exit_codes, read_bytes, write_text
from mnc.core.context import error_at
from mnc.core.diagnostics import CompileError
from mnc.core.expected_diagnostics import split_input
from mnc.core.explanation import explaining
from mnc.core.garbage import no_collection
from mnc.core.instrumentation import ELIDE_LIMIT, Instrumentation, Statistics, Timing
from mnc.core.ir_printing import PrintIR, PrintOptions
from mnc.core.opt_driver import BYTECODE_MAGIC, OptOptions, process
from mnc.core.pipeline import Pipeline
from mnc.core.pipeline_entries import entry_of_flag, load_pass
from mnc.core.pipeline_text import pretty
from mnc.core.reproducer import read_reproducer
from mnc.dialects.mncore.target import machine_of, name_machine, reading
from mnc.dialects.mncore.written_attributes import check_written_attributes
from mnc.registry import parse_pipeline, pass_table
from mnc.tools.commands.machine_option import asked_machine, machine_option
from mnc.tools.interruptible import Interruptible
from mnc.tools.opt_arguments import split_arguments
from mnc.tools.plugins import load_plugin

_MARKER = "// -----"
_OPTIONAL_VALUES = {"split-input-file": _MARKER, "verify-diagnostics": "all"}
"""Options whose value may be left out."""


def _list_passes(context: click.Context, _: click.Parameter, value: bool) -> None:
    if not value:
        return
    for name, path in sorted(pass_table().items()):
        summary = (load_pass(path).__doc__ or "").strip().splitlines()
        click.echo(f"{name:32} {summary[0] if summary else ''}")
    context.exit()


def _show_dialects(context: click.Context, _: click.Parameter, value: bool) -> None:
    if not value:
        return
    from mnc.core.context import available_dialects

    click.echo("Available Dialects: " + ",".join(available_dialects()))
    context.exit()


def _show_version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if not value:
        return
    from mnc.version import versions

    click.echo("\n".join(f"{name} {version}" for name, version in versions(("mnc", "torch-mlir")).items()))
    context.exit()


def _load_plugins(context: click.Context, _: click.Parameter, values: tuple[Path, ...]) -> None:
    for path in values:
        load_plugin(path)


def _names(context: click.Context, _: click.Parameter, values: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name.strip() for value in values for name in value.split(",") if name.strip())


def _eager(name: str, callback: Any, text: str) -> Any:
    return click.option(name, is_flag=True, is_eager=True, expose_value=False, callback=callback, help=text)


class _OptCommand(Interruptible):
    """Takes the spellings of ``mlir-opt``; the passes among them arrive in ``ctx.obj``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Tell options from passes."""
        arguments = split_arguments(args, self.get_params(ctx), _OPTIONAL_VALUES)
        ctx.obj = arguments.passes
        return super().parse_args(ctx, arguments.options)


_EPILOG = "Every pass is a flag, too: --cse --fold-constants --canonicalize='max-iterations=2'. One dash does as well."


@click.command(cls=_OptCommand, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("input_file", default="-")
@click.option("--pass-pipeline", "pipeline", help="Passes to run, ours and upstream ones: 'builtin.module(a,b{x=1})'.")
@click.option("-o", "output", default="-", help="Output file; default standard output.")
@click.option("--emit-bytecode", "bytecode", is_flag=True, help="Write bytecode in place of text.")
@click.option("--split-input-file", "marker", metavar="[=MARKER]",
              help="Treat the parts between '// -----' lines separately.")  # fmt: skip
@click.option("--verify-diagnostics", type=click.Choice(["all", "only-expected"]), metavar="[=all|only-expected]",
              help="Compare diagnostics with 'expected-error @+1 {{...}}'.")  # fmt: skip
@click.option("--verify-each/--no-verify-each", default=True, help="Verify the IR after each pass.")
@click.option("--allow-unregistered-dialect", "allow_unregistered", is_flag=True,
              help="Accept operations of unknown dialects.")  # fmt: skip
@click.option("--dump-pass-pipeline", "dump_pipeline", is_flag=True, help="Print the passes on stderr, then run them.")
@click.option("--run-reproducer", is_flag=True, help="Run the passes that are noted in the input file.")
@click.option("--mlir-pass-pipeline-crash-reproducer", "reproducer_file", type=click.Path(path_type=Path),
              help="Record a failure in this file.")  # fmt: skip
@click.option("--reproducer-dir", "reproducer_directory", type=click.Path(path_type=Path),
              help="Else record ours here (default: $MNC_REPRODUCER_DIR or ~/.local/state/mnc).")  # fmt: skip
@click.option("--load-pass-plugin", multiple=True, is_eager=True, expose_value=False, callback=_load_plugins,
              type=click.Path(path_type=Path), metavar="FILE.py",
              help="A Python file that registers passes of its own with mnc.register_pass.")  # fmt: skip
@click.option("--mlir-print-ir-before-all", "before_all", is_flag=True, help="Print the IR before each pass on stderr.")
@click.option("--mlir-print-ir-after-all", "after_all", is_flag=True, help="Print the IR after each pass on stderr.")
@click.option("--mlir-print-ir-before", "before", multiple=True, callback=_names, metavar="PASS,...",
              help="Print the IR before these passes.")  # fmt: skip
@click.option("--mlir-print-ir-after", "after", multiple=True, callback=_names, metavar="PASS,...",
              help="Print the IR after these passes.")  # fmt: skip
@click.option("--mlir-print-ir-after-change", "only_changed", is_flag=True,
              help="After a pass, print only if it changed the IR.")  # fmt: skip
@click.option("--mlir-print-ir-after-failure", "only_failed", is_flag=True,
              help="After a pass, print only if it failed.")  # fmt: skip
@click.option("--mlir-print-ir-tree-dir", "tree_directory", type=click.Path(path_type=Path),
              help="Write these prints to files below this directory.")  # fmt: skip
@click.option("--mlir-print-ir-module-scope", is_flag=True, expose_value=False, help="Always so here.")
@click.option("--mlir-disable-threading", is_flag=True, expose_value=False, help="Always so here.")
@click.option("--mlir-timing", "timing", is_flag=True, help="Print the time of each pass on stderr.")
@click.option("--mlir-pass-statistics", "statistics", is_flag=True, help="Print operations before and after each pass.")
@click.option("--mlir-print-op-generic", "generic", is_flag=True, help="Print every operation in generic form.")
@click.option("--mlir-print-debuginfo", "debug_info", is_flag=True, help="Print locations.")
@click.option("--mlir-pretty-debuginfo", "pretty_debug_info", is_flag=True, help="Print locations for reading only.")
@click.option("--mlir-print-local-scope", "local_scope", is_flag=True, help="Print without aliases.")
@click.option("--mlir-use-nameloc-as-prefix", "name_locations", is_flag=True, help="Name values after their locations.")
@click.option("--mlir-elide-elementsattrs-if-larger", "--large-elements-limit", "large_elements_limit", type=int,
              help="Elide constants with more elements than this.")  # fmt: skip
@click.option("--mlir-elide-resource-strings-if-larger", "large_resource_limit", type=int,
              help="Elide resources with more characters than this.")  # fmt: skip
@machine_option
@click.option("--explain", is_flag=True, help="Print on stderr which patterns refused what, and why.")
@_eager("--list-passes", _list_passes, "List our passes.")
@_eager("--show-dialects", _show_dialects, "List the dialects that can be read.")
@_eager("--version", _show_version, "Print the versions of mnc and of the MLIR wheel.")
@click.pass_context
def command(
    context: click.Context, input_file: str, pipeline: str | None, output: str, marker: str | None, explain: bool,
    timing: bool, statistics: bool, dump_pipeline: bool, run_reproducer: bool, **given: Any,
) -> None:  # fmt: skip
    """Read MLIR from INPUT_FILE (default: standard input), run passes, print the result."""
    with explaining() as explanation:
        text = _read(input_file, marker)
        if run_reproducer:
            pipeline = _from_reproducer(text, input_file, pipeline, context.obj, given)
        passes = _passes(pipeline, context.obj, context.command.params)
        if dump_pipeline:
            print(f"Pass Manager with {len(passes.all_entries)} passes:\n{pretty(str(passes))}", file=sys.stderr)
        reports = [*([Timing()] if timing else []), *([Statistics()] if statistics else [])]
        options = _options(input_file, passes, reports, given)
        try:
            with no_collection(is_last=True):
                _transform(text, output, marker, options)
        finally:
            if explain and explanation.lines:
                print(*explanation.lines, sep="\n", file=sys.stderr)
            for hook in reports:
                print(hook.report(), file=sys.stderr)


def _read(input_file: str, marker: str | None) -> str | bytes:
    data = read_bytes(input_file)
    if not data.startswith(BYTECODE_MAGIC):
        return decoded(data, input_file)
    if marker:
        raise CompileError("bytecode is not split", location=input_file, hint="leave --split-input-file out")
    return data


def _passes(pipeline: str | None, flags: Sequence[tuple[str, str]], parameters: Sequence[click.Parameter]) -> Pipeline:
    """The passes that were asked for, as text or as flags."""
    options = [name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts)]
    entries = tuple(entry_of_flag(name, text, pass_table(), options) for name, text in flags)
    if pipeline and entries:
        message = f"--pass-pipeline excludes passes as flags, such as '--{flags[0][0]}'"
        raise CompileError(message, hint="put all passes into one of the two")
    return parse_pipeline(pipeline) if pipeline else Pipeline(entries)


def _from_reproducer(
    text: str | bytes, input_file: str, pipeline: str | None, flags: Sequence[object], given: dict[str, Any]
) -> str:
    if pipeline or flags:
        raise CompileError("--run-reproducer takes the passes from the file", hint="leave out the other passes")
    found = read_reproducer(text if isinstance(text, str) else "", input_file)
    given["reproducer"] = False  # there is one
    given["verify_each"] = given["verify_each"] and found.verify_each
    return found.pipeline


def _options(
    input_file: str, passes: Pipeline, reports: Sequence[Instrumentation], given: dict[str, Any]
) -> OptOptions:
    """What `process` takes, from the options of the command line."""
    limit = given["large_elements_limit"]
    printing = PrintOptions(
        before_all=given.pop("before_all"), after_all=given.pop("after_all"), before=given.pop("before"),
        after=given.pop("after"), only_changed=given.pop("only_changed"), only_failed=given.pop("only_failed"),
        directory=given.pop("tree_directory"), limit=ELIDE_LIMIT if limit is None else limit,
    )  # fmt: skip
    if unknown := printing.names - {entry.name for entry in passes.all_entries}:
        hint = f"it has: {', '.join(dict.fromkeys(entry.name for entry in passes.all_entries)) or 'none'}"
        raise CompileError(f"no pass '{min(unknown)}' runs, so the IR cannot be printed there", hint=hint)
    how = given.pop("verify_diagnostics")
    return OptOptions(
        passes,
        file_name="<stdin>" if input_file == "-" else input_file,
        verify_diagnostics=how is not None,
        only_expected=how == "only-expected",
        check=_check,
        around=reading,
        instrumentation=(*reports, *([PrintIR(printing)] if printing.any else [])),
        **given,
    )


def _check(module: Any) -> None:
    """Refuse attributes that are not of their types. A module that names no machine is for that of --machine."""
    check_written_attributes(module)
    if (asked := asked_machine()) is None:
        return
    own = machine_of(module)
    if own is not None and own is not asked:
        message = f"the module is for the machine {own.name}, and --machine says {asked.name}"
        raise error_at(module.operation, message, hint="leave --machine out, or the attribute mncore.machine")
    name_machine(module, asked)


def _transform(text: str | bytes, output: str, marker: str | None, options: OptOptions) -> None:
    parts = split_input(text, marker) if marker and isinstance(text, str) else [text]
    if options.bytecode and len(parts) > 1:
        raise CompileError("bytecode holds one module", hint="leave --split-input-file or --emit-bytecode out")
    if options.bytecode and output == "-" and sys.stdout.isatty():
        raise CompileError("bytecode is not for a terminal", hint="give a file with -o")
    results = [process(part, options) for part in parts]
    first = results[0]
    if isinstance(first, bytes):
        write_text(output, first)
    else:
        write_text(output, f"{_MARKER}\n".join(str(result) for result in results))


def main() -> None:
    """Entry point: errors become one message and an exit code."""
    with errors_to_exit_codes():
        command()


if __name__ == "__main__":
    main()
