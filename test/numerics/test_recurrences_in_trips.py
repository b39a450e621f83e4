"""Recurrences whose steps are compiled as one, on the strict emulator against the ONNX reference."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import mnc
from mnc.accuracy.probable import error_bounds
from mnc.core.context import make_context
from mnc.core.modules import parts_of
from mnc.lowering.linalg_to_spmd.outline_layers import OutlineLayers
from mnc.lowering.onnx_to_graph.importer import import_model
from mnc.reference import evaluate
from mnc.stages import stage_pipeline

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrence(
    kind: str,
    steps: int,
    inputs: int,
    hidden: int,
    batch: int,
    *,
    layers: int = 1,
    last: bool = False,
    **attributes: Any,
) -> onnx.ModelProto:
    """So many layers of a recurrence; the result is that of all steps, or of the `last` alone."""
    rng, nodes, weights, x = np.random.default_rng(3), [], [], "x"
    rows = GATES[kind] * hidden
    for layer in range(layers):
        read = inputs if layer == 0 else hidden
        shapes = {"w": (1, rows, read), "r": (1, rows, hidden), "b": (1, 2 * rows)}
        for name, shape in shapes.items():
            value = (rng.standard_normal(shape) / 3).astype(np.float32)
            weights.append(numpy_helper.from_array(value, f"{name}{layer}"))
        own = [x, *(f"{name}{layer}" for name in shapes)]
        attributes |= {"name": f"{kind}{layer}", "hidden_size": hidden}
        nodes.append(helper.make_node(kind, own, [f"y{layer}"], **attributes))
        nodes.append(helper.make_node("Squeeze", [f"y{layer}", "axis"], [f"h{layer}"], name=f"squeeze{layer}"))
        x = f"h{layer}"
    weights.append(numpy_helper.from_array(np.array([1], np.int64), "axis"))
    weights.append(numpy_helper.from_array(np.array(steps - 1, np.int64), "end"))
    end = helper.make_node("Gather", [x, "end"], ["y"], axis=0) if last else helper.make_node("Relu", [x], ["y"])
    nodes.append(end)
    entry = helper.make_tensor_value_info("x", TensorProto.FLOAT, [steps, batch, inputs])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [*([] if last else [steps]), batch, hidden])
    graph = helper.make_graph(nodes, "g", [entry], [result], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(made)
    return made


def in_trips(options: mnc.Options) -> str:
    """The default pipeline, which looks for recurrences in short programs, too."""
    short = "compile-layers{steps=0 percent=30}("
    return str(mnc.default_pipeline(options)).replace("compile-layers(", short)


def check(model: onnx.ModelProto) -> None:
    """The program is one of trips, and agrees with the reference."""
    assert "layer" in {name.partition(".")[0] for name in parts(model)}
    program = mnc.compile(model, pipeline=in_trips(mnc.Options(effort="quick")))
    lines = program.text.splitlines()
    assert program.line_nodes.count("") >= 2 and len(program.line_nodes) == len(lines)
    inputs = program.random_inputs(seed=5)
    got, want = program.run(inputs), evaluate(model, ["y"], inputs)
    bounds = error_bounds(model, inputs, "pseudo-single")
    assert np.abs(got["y"] - want["y"]).max() <= bounds["y"]


def parts(model: onnx.ModelProto) -> list[str]:
    """The parts of a model, by name."""
    module = import_model(model, make_context())
    for stage in ("graph", "linalg"):
        stage_pipeline(stage, mnc.Options()).run(module)
    OutlineLayers(steps=0, percent=30).run(module)
    return list(parts_of(module))


@pytest.mark.parametrize(
    ("kind", "steps", "attributes"),
    [
        ("LSTM", 11, {}),
        ("LSTM", 10, {"direction": "reverse"}),
        ("GRU", 9, {"linear_before_reset": 1}),
        ("GRU", 7, {"linear_before_reset": 0}),
        ("RNN", 13, {}),
        ("RNN", 12, {"direction": "reverse"}),
    ],
)
def test_a_recurrence(kind: str, steps: int, attributes: dict[str, Any]) -> None:
    check(recurrence(kind, steps, 5, 12, 3, **attributes))


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_recurrences_on_one_another(kind: str) -> None:
    """What the steps of the first leave is what the second reads a row of in each of its own."""
    model = recurrence(kind, 10, 7, 16, 1, layers=2)
    assert [name for name in parts(model) if name.startswith("layer")] == ["layer.0", "layer.1"]
    check(model)


def test_rows_that_nobody_reads_are_not_kept() -> None:
    """Where the last step alone is wanted, no rows are stacked."""
    module = import_model(recurrence("GRU", 11, 5, 12, 2, last=True), make_context())
    for stage in ("graph", "linalg"):
        stage_pipeline(stage, mnc.Options()).run(module)
    OutlineLayers(steps=0, percent=30).run(module)
    assert "stacked" not in str(module) and "scanned.0" in str(module)
    check(recurrence("GRU", 11, 5, 12, 2, last=True))
