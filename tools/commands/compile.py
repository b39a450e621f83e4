"""mnc compile: ONNX file -> build directory, or C++."""

from pathlib import Path
from typing import Any

import click

from mnc.core.diagnostics import CompileError
from mnc.tools.commands.shared import PREFERENCES, SHORTEST, model_options, parse_layouts, parse_shapes, parse_updates


@click.command()
@click.argument("model", type=click.Path())
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("build"), show_default=True,
              help="Directory for program.vsm, memory_map.json, tensors.npz and report.json, or for C++.")  # fmt: skip
@click.option("--target", type=click.Choice(["mncore", "cpp"]), default="mncore", show_default=True,
              help="Assembly for MN-Core 2, or C++17 without dependencies.")  # fmt: skip
@click.option("--example", is_flag=True, help="With --target cpp: add a main.cpp that calls the model.")
@click.option("--resident", type=click.Choice(["nothing", "state", "batch"]), default="nothing", show_default=True,
              help="What stays in local memory from run to run: weights and updated inputs, or also the other inputs, "
                   "which a run then loads for the next one.")  # fmt: skip
@click.option("--update", "updates", multiple=True, metavar="INPUT=OUTPUT",
              help="With --resident: this output is the value of this input in the next run.")  # fmt: skip
@click.option("--layouts", default=SHORTEST, show_default=True, metavar="shortest|plain|NAME,...",
              help="What decides where tensors lie: 'shortest' tries several preferences on small programs, 'plain' "
                   f"has none; or preferences by name, of {', '.join(PREFERENCES)}.")  # fmt: skip
@click.option("--dump-dir", type=click.Path(path_type=Path), help="Write the IR after each stage here.")
@model_options
def command(
    model: str,
    output: Path,
    target: str,
    example: bool,
    resident: Any,
    updates: tuple[str, ...],
    layouts: str,
    dump_dir: Path | None,
    precision: Any,
    shapes: tuple[str, ...],
) -> None:
    """Compile MODEL (an ONNX file) and write a build directory."""
    from mnc.options import Options

    prefer = parse_layouts(layouts)
    options = Options(precision, parse_shapes(shapes), dump_dir, resident, parse_updates(updates), prefer)
    if resident != "nothing" and target == "cpp":
        raise CompileError("--resident belongs to --target mncore", hint="leave it out")
    if layouts != SHORTEST and target == "cpp":
        raise CompileError("--layouts belongs to --target mncore", hint="leave it out")
    if updates and resident == "nothing":
        raise CompileError("--update concerns what stays in local memory", hint="add --resident state")
    if target == "cpp":
        _compile_cpp(model, output, options, example)
        return
    if example:
        raise CompileError("--example belongs to --target cpp", hint="leave it out, or add --target cpp")
    from mnc.build_directory import save
    from mnc.compiler import compile
    from mnc.report import print_summary, report

    executable = compile(model, options)
    costs = report(executable)
    save(executable, output, costs)
    print_summary(costs, f"{model} -> {output}")


def _compile_cpp(model: str, output: Path, options: object, example: bool) -> None:
    from mnc.cpp_target import generate_cpp, save_cpp

    source = generate_cpp(model, options, name=Path(model).stem, example=example)  # pyright: ignore[reportArgumentType]
    for path in save_cpp(source, output):
        click.echo(path)
    for role, parameters in (("input", source.inputs), ("output", source.outputs)):
        for parameter in parameters:
            click.echo(f"{role} {parameter.identifier}: {parameter.declaration}")
    files = " ".join(name for name in source.files if name.endswith(".cpp"))
    click.echo(f"build: g++ -std=c++17 -O2 {files} {'-o example' if example else '-c'}")
