"""mnc compile: ONNX file -> build directory."""

from pathlib import Path

import click

from mnc.tools.commands.shared import model_options, parse_shapes


@click.command()
@click.argument("model", type=click.Path())
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("build"), show_default=True,
              help="Directory for program.vsm, memory_map.json, tensors.npz and report.json.")  # fmt: skip
@click.option("--dump-dir", type=click.Path(path_type=Path), help="Write the IR after each stage here.")
@model_options
def command(model: str, output: Path, dump_dir: Path | None, precision: str, shapes: tuple[str, ...]) -> None:
    """Compile MODEL (an ONNX file) and write a build directory."""
    from mnc.build_directory import save
    from mnc.compiler import compile
    from mnc.options import Options
    from mnc.report import print_summary, report

    options = Options(precision, parse_shapes(shapes), dump_dir)  # pyright: ignore[reportArgumentType]
    executable = compile(model, options)
    costs = report(executable)
    save(executable, output, costs)
    print_summary(costs, f"{model} -> {output}")
