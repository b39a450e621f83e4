"""mnc explain: questions about a compiled program, or about layouts, answered from what was recorded meanwhile."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from mnc.core.diagnostics import CompileError, one_line
from mnc.tools.commands.paths import GivenPath


def _names(of: Callable[[dict[str, Any]], list[str]]) -> Any:
    """Completion of names of the program in BUILD, if it was given before."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
        from mnc.record.storage import load_record

        given = [context.params.get("build"), *context.args]  # click leaves arguments before an option unparsed
        try:
            record = load_record(Path(next(text for text in given if text)))
        except (StopIteration, CompileError):
            return []
        return sorted({name for node in record["graph"] for name in of(node) if name.startswith(begun)})

    return complete


_nodes = _names(lambda node: [node["name"]])
_tensors = _names(lambda node: [*node["inputs"], *node["outputs"]])


@click.command()
@click.argument("build", type=GivenPath())
@click.option("--node", metavar="NAME", shell_complete=_nodes,
              help="What a node costs, waits for, is fused with, and where its data lie.")  # fmt: skip
@click.option("--step", type=int, metavar="N", help="What is issued in step N, for whom, and what runs meanwhile.")
@click.option("--tensor", metavar="NAME", shell_complete=_tensors,
              help="Who makes and reads a tensor, and which places hold it when.")  # fmt: skip
@click.option("--why-layout", metavar="NODE", shell_complete=_nodes,
              help="The layouts that were compared for a node, with their prices.")  # fmt: skip
@click.option("--why-not-fused", nargs=2, metavar="A B", shell_complete=_nodes,
              help="Why two nodes do not run as one loop nest.")  # fmt: skip
@click.option("--loops", is_flag=True, help="Which operations repeat, how often a trip begins, and what binds that.")
def command(
    build: Path,
    node: str | None,
    step: int | None,
    tensor: str | None,
    why_layout: str | None,
    why_not_fused: tuple[str, str] | None,
    loops: bool,
) -> None:
    """Explain the program in BUILD, a directory that `mnc compile` wrote.

    BUILD may also be a trace of decisions that `mnc placement --trace` or `mnc compile --trace-decisions` wrote. Then
    all decisions about layouts are printed, or with --node those about one node: where its result lives, what that
    costs, the other candidates, and why they lost.
    """
    if build.is_file() and build.suffix in (".onnx", ".pb", ".mlir", ".vsm"):
        message = f"'{build}' is neither a build directory nor a trace of decisions"
        raise CompileError(message, hint="mnc compile MODEL -o DIR --report; then mnc explain DIR")
    if build.suffix == ".json" or build.is_file():
        if any(question is not None for question in (step, tensor, why_layout, why_not_fused, loops or None)):
            raise CompileError("a trace of decisions answers --node only", hint="give a build directory instead")
        from mnc.tools.commands.explain_trace import explain_trace

        explain_trace(build, node)
        return
    from mnc.build_directory import load, load_report
    from mnc.explanation import program, reasons
    from mnc.explanation.loops import explain_loops
    from mnc.record.storage import load_record
    from mnc.tools.commands.machine_option import use_machine_of

    asked = (node, step, tensor, why_layout, why_not_fused, loops or None)
    if all(question is None for question in asked):
        names = "--node, --step, --tensor, --why-layout, --why-not-fused or --loops"
        raise CompileError("nothing was asked", hint=f"add {names}; mnc explain --help says more")
    record = load_record(build)
    executable = load(build)
    use_machine_of(executable.machine, str(build))
    lines: list[str] = []
    if node is not None:
        lines += program.explain_node(record, load_report(build, executable), executable.text, node)
    if step is not None:
        lines += program.explain_step(executable, record, step)
    if tensor is not None:
        lines += program.explain_tensor(record, tensor)
    if why_layout is not None:
        lines += reasons.why_layout(record, why_layout)
    if why_not_fused is not None:
        lines += reasons.why_not_fused(record, *why_not_fused)
    if loops:
        lines += explain_loops(record)
    for line in lines:
        click.echo(one_line(line, len(line)))
