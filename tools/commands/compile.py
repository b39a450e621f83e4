"""mnc compile: ONNX file -> build directory, or C++."""

from pathlib import Path

import click

from mnc.core.diagnostics import CompileError
from mnc.tools.commands.shared import model_options, parse_shapes


@click.command()
@click.argument("model", type=click.Path())
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("build"), show_default=True,
              help="Directory for program.vsm, memory_map.json, tensors.npz and report.json, or for C++.")  # fmt: skip
@click.option("--target", type=click.Choice(["mncore", "cpp"]), default="mncore", show_default=True,
              help="Assembly for MN-Core 2, or C++17 without dependencies.")  # fmt: skip
@click.option("--example", is_flag=True, help="With --target cpp: add a main.cpp that calls the model.")
@click.option("--dump-dir", type=click.Path(path_type=Path), help="Write the IR after each stage here.")
@model_options
def command(
    model: str, output: Path, target: str, example: bool, dump_dir: Path | None, precision: str, shapes: tuple[str, ...]
) -> None:
    """Compile MODEL (an ONNX file) and write a build directory."""
    from mnc.options import Options

    options = Options(precision, parse_shapes(shapes), dump_dir)  # pyright: ignore[reportArgumentType]
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
