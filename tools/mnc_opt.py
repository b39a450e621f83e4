"""mnc-opt: MLIR text -> passes -> MLIR text."""

import sys
from pathlib import Path

import click

from mnc.core.command_line import errors_to_exit_codes, read_text, write_text
from mnc.core.expected_diagnostics import split_input
from mnc.core.instrumentation import Instrumentation, PrintAfterAll, Timing
from mnc.core.opt_driver import OptOptions, process
from mnc.core.pipeline import Pipeline, load_pass
from mnc.core.rewrite import explaining
from mnc.registry import parse_pipeline, pass_table


def _list_passes(context: click.Context, _: click.Parameter, value: bool) -> None:
    if not value:
        return
    for name, path in sorted(pass_table().items()):
        summary = (load_pass(path).__doc__ or "").strip().splitlines()
        click.echo(f"{name:32} {summary[0] if summary else ''}")
    context.exit()


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("input_file", default="-")
@click.option("--pass-pipeline", "pipeline", help="Passes to run, ours and upstream ones: 'builtin.module(a,b{x=1})'.")
@click.option("-o", "output", default="-", help="Output file; default standard output.")
@click.option("--split-input-file", is_flag=True, help="Treat the parts between '// -----' lines separately.")
@click.option("--verify-diagnostics", is_flag=True, help="Compare diagnostics with 'expected-error @+1 {{...}}'.")
@click.option("--verify-each/--no-verify-each", default=True, help="Verify the IR after each pass.")
@click.option("--allow-unregistered-dialect", is_flag=True, help="Accept operations of unknown dialects.")
@click.option("--mlir-print-ir-after-all", "print_after", is_flag=True, help="Print the IR after each pass on stderr.")
@click.option("--mlir-timing", "timing", is_flag=True, help="Print the time of each pass on stderr.")
@click.option("--mlir-print-op-generic", "generic", is_flag=True, help="Print every operation in generic form.")
@click.option("--mlir-print-debuginfo", "debug_info", is_flag=True, help="Print locations.")
@click.option("--explain", is_flag=True, help="Print on stderr which patterns refused what, and why.")
@click.option("--large-elements-limit", type=int, help="Elide constants with more elements than this.")
@click.option("--reproducer-dir", type=click.Path(path_type=Path), default=Path("."), help="Where to record failures.")
@click.option(
    "--list-passes", help="List our passes.", is_flag=True, is_eager=True, expose_value=False, callback=_list_passes
)
def command(
    input_file: str, pipeline: str | None, output: str, split_input_file: bool, verify_diagnostics: bool,
    verify_each: bool, allow_unregistered_dialect: bool, print_after: bool, timing: bool, generic: bool,
    debug_info: bool, explain: bool, large_elements_limit: int | None, reproducer_dir: Path,
) -> None:  # fmt: skip
    """Read MLIR from INPUT_FILE (default: standard input), run passes, print the result."""
    with explaining() as explanation:
        text = read_text(input_file)
        timer = Timing()
        hooks: list[Instrumentation] = [timer] if timing else []
        hooks += [PrintAfterAll(large_elements_limit=large_elements_limit)] if print_after else []
        options = OptOptions(
            pipeline=parse_pipeline(pipeline) if pipeline else Pipeline(),
            file_name="<stdin>" if input_file == "-" else input_file,
            verify_diagnostics=verify_diagnostics,
            verify_each=verify_each,
            allow_unregistered=allow_unregistered_dialect,
            instrumentation=tuple(hooks),
            reproducer_directory=reproducer_dir,
            large_elements_limit=large_elements_limit,
            generic=generic,
            debug_info=debug_info,
        )
        try:
            parts = split_input(text) if split_input_file else [text]
            write_text(output, "// -----\n".join([process(part, options) for part in parts]))
        finally:
            if explain and explanation.lines:
                print(*explanation.lines, sep="\n", file=sys.stderr)
            if timing:
                print(timer.report(), file=sys.stderr)


def main() -> None:
    """Entry point: errors become one message and an exit code."""
    with errors_to_exit_codes():
        command()


if __name__ == "__main__":
    main()
