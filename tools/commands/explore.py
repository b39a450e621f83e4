"""mnc explore: the model in Model Explorer, with what its nodes cost."""

import json
from pathlib import Path
from typing import Any

import click

from mnc.core.diagnostics import CompileError

OVERLAY = "costs.overlay.json"
_COLOURS = [{"stop": 0, "bgColor": "white"}, {"stop": 1, "bgColor": "#e15759"}]


@click.command()
@click.argument("model", type=click.Path(path_type=Path, exists=True))
@click.argument("build", type=click.Path(path_type=Path))
@click.option("--write-only", is_flag=True, help="Write the costs for Model Explorer and do not open it.")
def command(model: Path, build: Path, write_only: bool) -> None:
    """Open MODEL (an ONNX file) in Model Explorer, coloured by the cycles of its nodes in the program of BUILD.

    Needs the package ai-edge-model-explorer with an adapter for ONNX, which are installed on their own.
    """
    from mnc.core.files import replace_file
    from mnc.record.storage import load_record

    record = load_record(build)
    path = build / OVERLAY
    replace_file(path, json.dumps(overlay(record), indent=1) + "\n")
    click.echo(f"costs: {path}")
    if not write_only:
        _open(model, path)


def overlay(record: dict[str, Any]) -> dict[str, Any]:
    """Cycles of nodes as Model Explorer reads them, by the names of nodes and of what they make."""
    outputs = {node["name"]: node["outputs"] for node in record["graph"]}
    results = {
        name: {"value": row["cycles"]}
        for row in record["nodes"]
        for name in (row["node"], *outputs.get(row["node"], ()))
    }
    return {"main": {"results": results, "gradient": _COLOURS}}


def _open(model: Path, costs: Path) -> None:
    try:
        import model_explorer  # pyright: ignore[reportMissingImports]
    except ImportError:
        hint = "pip install ai-edge-model-explorer, or open the model and the costs in it by hand (--write-only)"
        raise CompileError("Model Explorer is not installed", hint=hint) from None
    config = model_explorer.config()
    config.add_model_from_path(str(model))
    config.add_node_data_from_path(str(costs))
    model_explorer.visualize_from_config(config)
