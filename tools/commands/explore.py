"""mnc explore: the model in Model Explorer, with what its nodes cost."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import click

from mnc.core.diagnostics import CompileError
from mnc.tools.commands.paths import GivenPath

OVERLAY = "costs.overlay.json"
_COLOURS = [{"stop": 0, "bgColor": "white"}, {"stop": 1, "bgColor": "#e15759"}]


_ADAPTER = "model_explorer_onnx"
_INSTALL = "pip install ai-edge-model-explorer model-explorer-onnx"


@click.command()
@click.argument("model", type=click.Path(path_type=Path, exists=True))
@click.argument("build", type=GivenPath())
@click.option("--write-only", is_flag=True, help="Write the costs for Model Explorer and do not open it.")
@click.option("--port", type=click.IntRange(1, 65535), default=8080, show_default=True,
              help="Port of Model Explorer's server on this machine.")  # fmt: skip
@click.option("--no-browser", is_flag=True, help="Start the server and print its address, but open no browser.")
def command(model: Path, build: Path, write_only: bool, port: int, no_browser: bool) -> None:
    """Open MODEL (an ONNX file) in Model Explorer, coloured by the cycles of its nodes in the program of BUILD.

    Needs two packages that are installed on their own: ai-edge-model-explorer and model-explorer-onnx.
    """
    from mnc.build_directory import load, load_report
    from mnc.core.files import replace_file
    from mnc.record.storage import load_record

    record = load_record(build)
    graph = read_named(model)
    path = build / OVERLAY
    if not {node.name for node in graph.graph.node} & {node["name"] for node in record["graph"]}:
        raise CompileError(f"{build} is not a program of {model}", hint=f"mnc compile {model} -o {build}")
    costs = overlay(load_report(build, load(build)), record, graph.graph.name)
    replace_file(path, json.dumps(costs, indent=1) + "\n")
    click.echo(f"costs: {path}")
    if not write_only:
        _open(model, graph, path, port, no_browser)


def read_named(path: Path) -> Any:
    """The model without its external data; nodes without a name get the one that the compiler gives them.

    Raises:
        CompileError: the file is no ONNX model.
    """
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load(str(path), load_external_data=False)
    except (OSError, DecodeError) as error:
        raise CompileError(f"cannot read {path}: {error}", hint="give the model that was compiled") from None
    for index, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type}_{index}"
    return model


def overlay(costs: dict[str, Any], record: dict[str, Any], graph: str) -> dict[str, Any]:
    """Cycles of nodes as Model Explorer reads them: by the name of the graph, then by names of nodes and of what they
    make."""
    outputs = {node["name"]: node["outputs"] for node in record["graph"]}
    results = {
        name: {"value": row["cycles"]}
        for row in costs["nodes"]
        for name in (row["node"], *outputs.get(row["node"], ()))
    }
    return {graph: {"results": results, "gradient": _COLOURS}}


def _open(model: Path, graph: Any, costs: Path, port: int, no_browser: bool) -> None:
    """Serve the model until Ctrl-C. Model Explorer knows nodes by name only, so that a model in which names are missing
    is shown as a copy with names."""
    try:
        import model_explorer  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise CompileError("Model Explorer is not installed", hint=_INSTALL) from None
    if importlib.util.find_spec(_ADAPTER) is None:
        raise CompileError("Model Explorer has no adapter for ONNX", hint=_INSTALL)
    import onnx

    from mnc.core.files import replace_file

    shown = model
    if any(not node.name for node in onnx.load(str(model), load_external_data=False).graph.node):
        shown = costs.with_name("named.onnx")
        replace_file(shown, graph.SerializeToString())
    config = model_explorer.config()
    config.add_model_from_path(str(shown.resolve()))
    config.add_node_data_from_path(str(costs.resolve()))
    model_explorer.visualize_from_config(config, extensions=[_ADAPTER], port=port, no_open_in_browser=no_browser)
