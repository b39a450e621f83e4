"""`mnc.compile`, its dumps, and `mnc-opt` with the printed pipeline make the same program, byte for byte."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import mnc

from .running import Shell

SHORT, LONG = 24, 120
"""Rows of a model whose tensors are tiny, and of one for which several programs are compared."""


def chain(rows: int, columns: int = 24) -> onnx.ModelProto:
    """Products with a softmax over rows in between, and a sum that reads the input again."""
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(rng.standard_normal((columns, columns)).astype(np.float32) / 5, f"w{i}")
        for i in range(2)
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"], name="first"),
        helper.make_node("Softmax", ["a"], ["b"], axis=0, name="over_rows"),
        helper.make_node("MatMul", ["b", "w1"], ["c"], name="second"),
        helper.make_node("Add", ["c", "x"], ["y"], name="sum"),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, columns]) for name in "xy")
    graph = helper.make_graph(nodes, "chain", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def layers(rows: int, columns: int, count: int) -> onnx.ModelProto:
    """Equal layers, and what comes after them."""
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(rng.standard_normal((columns, columns)).astype(np.float32) / 5, f"w{i}")
        for i in range(count)
    ]
    nodes, value = [], "x"
    for i in range(count):
        nodes.append(helper.make_node("MatMul", [value, f"w{i}"], [f"p{i}"], name=f"product{i}"))
        nodes.append(helper.make_node("Softmax", [f"p{i}"], [f"s{i}"], axis=0, name=f"softmax{i}"))
        value = f"s{i}"
    nodes.append(helper.make_node("Relu", [value], ["y"], name="last"))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, columns]) for name in "xy")
    graph = helper.make_graph(nodes, "layers", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (chain(LONG), {}),
        (chain(SHORT), {"precision": "single", "prefer": ("tensor-parallel", "cyclic")}),
        (chain(LONG), {"machine": "small"}),
        (layers(1024, 128, 12), {}),
        (layers(1024, 128, 12), {"prefer": ("cyclic",)}),
        (chain(SHORT), {"resident": "state", "updates": {"x": "y"}}),
    ],
    ids=["compared", "asked", "small", "layers", "layers asked", "resident"],
)
def test_one_path(model: onnx.ModelProto, options: dict[str, Any], shell: Shell) -> None:
    path = shell.directory / "model.onnx"
    onnx.save(model, path)
    program = mnc.compile(model, mnc.Options(**options))
    dumped = mnc.compile(model, mnc.Options(**options, dump_dir=shell.directory / "ir"))
    assert dumped.text == program.text and dumped.preferences == program.preferences
    in_layers = len(model.graph.node) > 20
    assert {file.name for file in (shell.directory / "ir").iterdir()} == set(IN_LAYERS if in_layers else NAMES)

    pipeline = str(mnc.default_pipeline(mnc.Options(**options)))
    asked = ["--machine", options["machine"]] if "machine" in options else []
    updates = [text for pair in options.get("updates", {}).items() for text in ("--update", "=".join(pair))]
    _done(shell, "mnc-translate", "--import-onnx", path.name, *asked, *updates, "-o", "graph.mlir")
    _done(shell, "mnc-opt", "graph.mlir", f"--pass-pipeline={pipeline}", "-o", "scheduled.mlir")
    companions = {"initialise": program.initialise, "read_back": program.read_back}
    assert all(companions.values()) == ("resident" in options)
    for name, made in {"main": program, **companions}.items():
        if made is not None:
            _done(shell, "mnc-translate", "--emit-vsm", "--program", name, "scheduled.mlir", "-o", "program.vsm")
            assert (shell.directory / "program.vsm").read_text() == made.text


def _done(shell: Shell, *command: str) -> None:
    done = shell(*command)
    assert (done.code, done.err) == (0, "")


SHARED = ("0-import.mlir", "1-graph.mlir", "2-linalg.mlir", "6-companions.mlir")
NAMES = (*SHARED, "3-spmd.mlir", "4-affine.mlir", "5-machine.mlir")
IN_LAYERS = (
    *SHARED,
    *(f"{stage}-{part}.mlir" for stage in ("3-spmd", "4-affine", "5-machine") for part in ("before", "layer", "after")),
)


def test_passes_inside_can_be_edited(tmp_path: Path) -> None:
    pipeline = mnc.default_pipeline().dump_after("distribute", tmp_path / "kept.mlir")
    program = mnc.compile(chain(LONG), pipeline=pipeline)
    assert program.text == mnc.compile(chain(LONG)).text and program.preferences
    plain = mnc.default_pipeline(mnc.Options(prefer=program.preferences))  # pyright: ignore[reportArgumentType]
    mnc.compile(chain(LONG), pipeline=plain.dump_after("distribute", tmp_path / "asked.mlir"))
    assert (tmp_path / "kept.mlir").read_text() == (tmp_path / "asked.mlir").read_text()

    without = mnc.default_pipeline().remove("verify-schedule").insert_before("distribute", "canonicalize")
    assert str(without).count("canonicalize,distribute") == 1 and "verify-schedule" not in str(without)
    assert "shortest{few-statements=7}(" in str(mnc.default_pipeline().replace("shortest", *_fewer(7)))


def _fewer(statements: int) -> list[Any]:
    from dataclasses import replace

    return [
        replace(entry, few_statements=statements)
        for entry in mnc.default_pipeline().all_entries
        if entry.name == "shortest"
    ]
