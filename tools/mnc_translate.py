"""mnc-translate: ONNX -> MLIR, MLIR -> MN-Core 2 assembly or C++."""

from typing import Any

import click

from mnc.core.command_line import STANDARD_STREAM, errors_to_exit_codes, read_text, write_text
from mnc.core.diagnostics import CompileError, InternalError
from mnc.core.sequences import Shapes
from mnc.tools.commands.machine_option import machine_option
from mnc.tools.commands.shared import parse_shapes, parse_updates
from mnc.tools.interruptible import Interruptible

PROGRAMS = ("main", "initialise", "read_back")
"""What a scheduled module may hold."""
_STANDARD_INPUT = "/dev/stdin"


def _import_onnx(
    path: str, shapes: Shapes, updates: dict[str, str], limit: int | None, debug_info: bool
) -> str:
    from mnc.core.context import make_context
    from mnc.dialects.mncore.target import name_machine
    from mnc.lowering.onnx_to_graph import import_model
    from mnc.mncore_backend.target import chip

    source, name = (_STANDARD_INPUT, "<stdin>") if path == STANDARD_STREAM else (path, None)
    module = import_model(source, make_context(), shapes, name, updates=updates)
    name_machine(module, chip())
    text: Any = module.operation.get_asm(
        large_elements_limit=limit, large_resource_limit=limit, enable_debug_info=debug_info
    )
    return text.rstrip("\n") + "\n"


def _emit_vsm(path: str, program: str) -> str:
    from mnc.core.bindings import ir
    from mnc.core.context import make_context
    from mnc.core.opt_driver import errors_in, parse_module
    from mnc.dialects.mncore.target import reading
    from mnc.program_parts import program_text

    context, text = make_context(), read_text(path)
    with reading(text):
        module: ir.Module = parse_module(text, context, path)
        with errors_in(path):
            return program_text(module, program)


def _emit_cpp(path: str) -> str:
    from mnc.core.context import make_context
    from mnc.core.opt_driver import errors_in, parse_module
    from mnc.lowering.cpp import print_cpp

    context = make_context()
    module = parse_module(read_text(path), context, path)
    try:
        with errors_in(path):
            return print_cpp(module, "model").files["model.cpp"]
    except (InternalError, ValueError) as error:  # ValueError: a type that is no memref
        hint = "lower it first: graph-to-linalg,order-loops,tensor-to-memref,linalg-to-affine"
        message = f"C++ is printed from loops on buffers: {getattr(error, 'message', error)}"
        raise CompileError(message, location=path, hint=hint) from None


@click.command(cls=Interruptible, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("input_file", default="-")
@click.option("--import-onnx", is_flag=True, help="Read an ONNX model, print the graph dialect.")
@click.option("--emit-vsm", is_flag=True, help="Read scheduled mncore IR, print assembly.")
@click.option("--emit-cpp", is_flag=True, help="Read loops on buffers, print model.cpp.")
@click.option("-o", "output", default="-", help="Output file; default standard output.")
@click.option("--shape", "shapes", multiple=True, help="Shape of a model input: x=1,64. May be repeated.")
@click.option("--update", "updates", multiple=True, metavar="INPUT=OUTPUT",
              help="With --import-onnx: this output is the value of this input in the next run.")  # fmt: skip
@click.option("--program", type=click.Choice(PROGRAMS), default=PROGRAMS[0], show_default=True,
              help="With --emit-vsm: the program itself, or one that fills or reads what it keeps.")  # fmt: skip
@click.option("--large-elements-limit", type=int, help="Elide constants with more elements than this.")
@click.option("--mlir-print-debuginfo", "debug_info", is_flag=True, help="Print locations.")
@machine_option
def command(
    input_file: str,
    import_onnx: bool,
    emit_vsm: bool,
    emit_cpp: bool,
    output: str,
    shapes: tuple[str, ...],
    updates: tuple[str, ...],
    program: str,
    large_elements_limit: int | None,
    debug_info: bool,
) -> None:
    """Translate INPUT_FILE between formats; exactly one direction must be chosen."""
    if import_onnx + emit_vsm + emit_cpp != 1:
        message = "several directions at once" if import_onnx or emit_vsm or emit_cpp else "nothing to do"
        raise CompileError(message, hint="choose one of --import-onnx, --emit-vsm and --emit-cpp")
    if import_onnx:
        noted = parse_updates(updates)
        text = _import_onnx(input_file, parse_shapes(shapes), noted, large_elements_limit, debug_info)
    elif emit_vsm:
        text = _emit_vsm(input_file, program)
    else:
        text = _emit_cpp(input_file)
    write_text(output, text)


def main() -> None:
    """Entry point: errors become one message and an exit code."""
    with errors_to_exit_codes():
        command()


if __name__ == "__main__":
    main()
