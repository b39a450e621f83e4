"""What `mnc compile` writes for people beside the program: pictures, traces, notes on every line."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from mnc.core.diagnostics import CompileError
from mnc.tools.commands.paths import GivenPath

REPORT = "page"
"""Parameter of ``--report``."""


def artifact_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of all artifacts."""
    page = click.option(
        "--report", REPORT, is_flag=True, help="Write report.html: costs, timeline, memories, graph, passes, decisions."
    )
    notes = click.option("--annotate", is_flag=True, help="Write annotated.vsm: the program with its nodes beside it.")
    trace = click.option(
        "--trace", type=GivenPath(), metavar="FILE.pftrace", help="Write a trace for Perfetto."
    )
    graph = click.option(
        "--dump-onnx", type=GivenPath(), metavar="FILE.onnx",
        help="Write the graph after its passes, for viewers such as Netron.",
    )  # fmt: skip
    decisions = click.option(
        "--trace-decisions", type=GivenPath(), metavar="FILE.json",
        help="Write every decision about layouts, with its candidates and why they lost; mnc explain reads it.",
    )  # fmt: skip
    return page(notes(trace(graph(decisions(command)))))


def check_artifacts(chosen: Mapping[str, Any], output: Path) -> None:
    """Say before the model is compiled what would be missing afterwards; raises CompileError. The build directory
    `output` may be made for it."""
    for name in ("trace", "dump_onnx", "trace_decisions"):
        path = chosen[name]
        if path is None:
            continue
        if path.is_dir() or not (path.parent.is_dir() or path.parent.resolve() == output.resolve()):
            reason = "it is a directory" if path.is_dir() else f"there is no directory '{path.parent}'"
            hint = f"choose another file with --{name.replace('_', '-')}"
            raise CompileError(f"cannot write '{path}': {reason}", hint=hint)
    if chosen["trace"] is not None:
        from mnc.perfetto_trace import trace_builder

        trace_builder()


def wants_complete_record(chosen: Mapping[str, Any]) -> bool:
    """Whether any artifact was asked for that needs addresses and loop nests."""
    return any(value for name, value in chosen.items() if name not in ("dump_onnx", "trace_decisions"))


def decision_writer(chosen: Mapping[str, Any]) -> Callable[[dict[str, Any]], None] | None:
    """What writes the decisions about layouts, if they were asked for; it raises CompileError."""
    path = chosen["trace_decisions"]
    if path is None:
        return None
    from mnc.core.files import replace_file

    return lambda trace: replace_file(path, json.dumps(trace, indent=1), "choose another file with --trace-decisions")


def refuse_artifacts(chosen: Mapping[str, Any]) -> None:
    """C++ has no steps and no addresses to show; raises CompileError."""
    if any(chosen.values()):
        names = {REPORT: "--report"}
        name = next(names.get(name, f"--{name.replace('_', '-')}") for name, value in chosen.items() if value)
        raise CompileError(f"{name} belongs to --target mncore", hint="leave it out")


def write_artifacts(
    executable: Any, costs: dict[str, Any], record: Any, output: Path, chosen: Mapping[str, Any]
) -> None:
    """Write the record, and what was asked for, into the build directory; raises CompileError."""
    from mnc.record.storage import save_record

    save_record(record, output)
    if chosen["annotate"]:
        from mnc.annotation import write_annotated

        click.echo(f"annotated: {write_annotated(executable, record.unpacked(), output)}")
    if chosen["trace"] is not None:
        from mnc.perfetto_trace import write_trace

        write_trace(chosen["trace"], executable.text, record.unpacked())
        click.echo(f"trace: {chosen['trace']} (open it in ui.perfetto.dev)")
    if chosen[REPORT]:
        from mnc.html_report.page import write_page

        click.echo(f"report: {write_page(executable, costs, record.unpacked(), output)}")


def write_graph_file(model: str, options: Any, chosen: Mapping[str, Any]) -> None:
    """Write the graph of a model where it was asked for; raises CompileError."""
    if chosen["dump_onnx"] is not None:
        from mnc.graph_export import write_graph

        write_graph(chosen["dump_onnx"], model, options)
        click.echo(f"graph: {chosen['dump_onnx']}")
