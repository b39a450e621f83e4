"""mnc compile: ONNX file -> build directory, or C++."""

import contextlib
import sys
from pathlib import Path
from typing import Any

import click

from mnc.core.diagnostics import CompileError
from mnc.core.garbage import no_collection
from mnc.tools.commands.artifacts import (
    artifact_options,
    check_artifacts,
    decision_writer,
    refuse_artifacts,
    wants_complete_record,
    write_artifacts,
    write_graph_file,
)
from mnc.tools.commands.paths import GivenPath
from mnc.tools.commands.shared import (
    PREFERENCES,
    SHORTEST,
    effort_option,
    model_options,
    parse_layouts,
    parse_shapes,
    parse_updates,
    refuse_resident,
    resident_option,
    update_option,
)
from mnc.tools.json_output import format_option, print_json


@click.command()
@click.argument("model", type=GivenPath(str))
@click.option("-o", "--output", type=GivenPath(), default=Path("build"), show_default=True,
              help="Directory for program.vsm, memory_map.json, tensors.npz and report.json, or for C++.")  # fmt: skip
@click.option("--target", type=click.Choice(["mncore", "cpp"]), default="mncore", show_default=True,
              help="Assembly for MN-Core 2, or C++17 without dependencies.")  # fmt: skip
@click.option("--example", is_flag=True, help="With --target cpp: add a main.cpp that calls the model.")
@resident_option
@update_option
@click.option("--layouts", default=SHORTEST, show_default=True, metavar="shortest|plain|NAME,...",
              help="Rules for layouts: 'shortest' tries several on small programs and keeps the shortest program, "
                   f"'plain' uses none; or rules by name, of {', '.join(PREFERENCES)}.")  # fmt: skip
@effort_option
@click.option("--schedule", type=GivenPath(), help="Decisions from a file, as mnc tune writes it.")
@click.option("--dump-dir", type=GivenPath(), help="Write the IR after each stage here.")
@artifact_options
@format_option()
@model_options
def command(
    model: str,
    output: Path,
    target: str,
    example: bool,
    resident: Any,
    updates: tuple[str, ...],
    layouts: str,
    effort: Any,
    schedule: Path | None,
    dump_dir: Path | None,
    output_format: str,
    precision: Any,
    shapes: tuple[str, ...],
    **artifacts: Any,
) -> None:
    """Compile MODEL (an ONNX file) and write a build directory."""
    from mnc.options import Options, default_effort

    prefer = parse_layouts(layouts)
    own = parse_shapes(shapes)
    spent = effort or default_effort()
    options = Options(precision, own, dump_dir, resident, parse_updates(updates), prefer, effort=spent)
    if schedule is not None:
        if layouts != SHORTEST or target == "cpp":
            other = "--target cpp" if target == "cpp" else "--layouts"
            raise CompileError(f"--schedule does not go together with {other}", hint="leave one of them out")
        from mnc.tuning.schedule_file import read_schedule

        options = read_schedule(schedule, options)
    refuse_resident(resident, target, updates)
    if layouts != SHORTEST and target == "cpp":
        raise CompileError("--layouts belongs to --target mncore", hint="leave it out")
    if effort not in (None, "normal") and target == "cpp":
        raise CompileError("--effort belongs to --target mncore", hint="leave it out")
    if target == "cpp":
        refuse_artifacts(artifacts)
        _compile_cpp(model, output, options, example, output_format)
        return
    _compile(model, output, options, artifacts, example=example, output_format=output_format)


@no_collection(is_last=True)
def _compile(
    model: str, output: Path, options: Any, artifacts: dict[str, Any], *, example: bool, output_format: str
) -> None:
    """Assembly and what goes with it."""
    if example:
        raise CompileError("--example belongs to --target cpp", hint="leave it out, or add --target cpp")
    check_artifacts(artifacts, output)
    from mnc.build_directory import save
    from mnc.cached_compilation import report_of
    from mnc.record.compiling import compile_recorded
    from mnc.report import print_summary

    trace = decision_writer(artifacts)
    executable, record = compile_recorded(model, options, complete=wants_complete_record(artifacts), traced=trace)
    costs = report_of(executable)
    save(executable, output, costs)
    if output_format == "json":
        with contextlib.redirect_stdout(sys.stderr):  # where files went is not part of the object
            write_graph_file(model, options, artifacts)
            write_artifacts(executable, costs, record, output, artifacts)
        print_json({"model": model, "output": output, "target": "mncore", "report": costs})
        return
    print_summary(costs, f"{model} -> {output}")
    write_graph_file(model, options, artifacts)
    write_artifacts(executable, costs, record, output, artifacts)


def _compile_cpp(model: str, output: Path, options: object, example: bool, output_format: str) -> None:
    from mnc.cpp_target import generate_cpp, save_cpp

    source = generate_cpp(model, options, name=Path(model).stem, example=example)  # pyright: ignore[reportArgumentType]
    written = save_cpp(source, output)
    if output_format == "json":
        print_json({"model": model, "output": output, "target": "cpp", "files": written})
        return
    for path in written:
        click.echo(path)
    for role, parameters in (("input", source.inputs), ("output", source.outputs)):
        for parameter in parameters:
            click.echo(f"{role} {parameter.identifier}: {parameter.declaration}")
    files = " ".join(name for name in source.files if name.endswith(".cpp"))
    click.echo(f"build: g++ -std=c++17 -O2 {files} {'-o example' if example else '-c'}")
